# Every target sets up what it needs; all you need is make and Python 3.11 or newer.
.DEFAULT_GOAL := help
SHELL := /bin/sh
MAKEFLAGS += --no-print-directory
PY := .venv/bin/python
PIP := $(PY) -m pip --quiet --disable-pip-version-check

.PHONY: help setup
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.dev ## create .venv with the pinned requirements, for work on the project

.venv/bin/python:
	@sh .ci/find-python .venv

.venv/.runtime: requirements.txt constraints.txt | .venv/bin/python
	@echo "installing what Counterfoil needs ..."
	@$(PIP) install -r requirements.txt
	@touch $@

.venv/.dev: requirements-dev.txt .venv/.runtime
	@echo "installing what its checks need ..."
	@$(PIP) install -r requirements-dev.txt
	@touch $@
