# Every target sets up what it needs; all you need is make and Python 3.11 to 3.14.
.DEFAULT_GOAL := help
SHELL := /bin/sh
MAKEFLAGS += --no-print-directory
PY := .venv/bin/python
BIN := .venv/bin
PIP := $(PY) -m pip --quiet --disable-pip-version-check
SOURCES := manage.py ledgers delivery reviews config tests $(wildcard benchmarks)
# Checks look at the project, not at this machine's .env, and never at real data.
CLEAN := COUNTERFOIL_ENV_FILE=/dev/null COUNTERFOIL_DATA=.data/test DATABASE_URL=

.PHONY: help setup demo run stop pictures test test-real real conformance browser crash laboratory \
	chaos check lint types django coverage fmt lock
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.dev ## create .venv with the pinned requirements, for work on the project

demo: .venv/.runtime ## sample data, three kills that double nothing, and the console
	@$(PY) manage.py demo

run: .venv/.runtime ## start the console, a worker and the watch for real use; Ctrl-C stops all
	@exec $(PY) manage.py up

stop: .venv/.runtime ## stop what runs here, and the embedded database of every data folder
	@$(PY) -m config.supervisor stop $(dir $(wildcard .data/*/up.lock))
	@$(PY) -m config.embedded stop $(dir $(wildcard .data/*/postgres))

# What is slow is left to make check, which runs it with coverage.
test: .venv/.dev ## run the tests but for browser, real servers and laboratory (under 6 minutes)
	@$(BIN)/pytest -q -n 3 -m "not laboratory and not browser and not slow" --ignore tests/real

test-real: .venv/.dev ## run the adapters against real servers (as root, on Debian)
	@sh .ci/install-servers
	@$(BIN)/pytest -q -n 2 --dist loadfile tests/real

real: .venv/.dev
	@echo "== adapters against real servers"
	@if [ "$$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then $(MAKE) test-real; \
	else echo "left out: the servers start as root, on Debian or Ubuntu"; fi

# ADAPTER=slack takes one alone.
conformance: .venv/.dev ## call every adapter under every fault and count what the peer saw
	@$(CLEAN) $(PY) -m tests.conformance $(ADAPTER)

browser: .venv/.dev ## see and use every page of the console in a browser (under 3 minutes)
	@sh .ci/install-browser
	@$(BIN)/pytest -q -n 2 tests/browser

# CONSOLE=http://127.0.0.1:8001 where the demo says that it is served there.
pictures: .venv/.dev ## take the pictures of the handbook anew, while make demo serves
	@$(PY) -m tests.browser.pictures $(if $(CONSOLE),--console $(CONSOLE))

# EVERY=1 takes every point of a decision, and not a sample of them (about 6 minutes more).
crash: .venv/.dev ## kill real processes at every point and count effects (under 6 minutes)
	@CRASH_EVERY_POINT=$(EVERY) $(BIN)/pytest -q -n 4 tests/crash tests/restore/test_killed.py

# What make crash runs besides has been run with coverage.
laboratory: .venv/.dev
	@echo "== every point of the laboratory"
	@$(BIN)/pytest -q -n 4 -m laboratory tests/crash tests/restore

# SEED repeats the faults of an earlier run, not the moments at which they meet the work.
chaos: .venv/.dev ## random faults of server, network, clocks and processes, for SECONDS (60)
	@$(PY) -m tests.chaos --seconds $(or $(SECONDS),60) $(if $(SEED),--seed $(SEED))

check: lint types django coverage conformance real browser laboratory chaos ## run all that CI runs (about 25 minutes)

lint: .venv/.dev
	@echo "== format, lint, imports, templates"
	@$(BIN)/ruff format --check --output-format concise $(SOURCES)
	@$(BIN)/ruff check $(SOURCES)
	@$(BIN)/lint-imports
	@sh .ci/check-templates
	@sh .ci/check-idioms $(SOURCES)

types: .venv/.dev
	@echo "== types"
	@$(CLEAN) $(BIN)/mypy

django: .venv/.dev
	@echo "== migrations, system checks"
	@$(CLEAN) $(PY) manage.py makemigrations --check --dry-run
	@$(CLEAN) $(PY) manage.py check --fail-level WARNING
	@$(CLEAN) COUNTERFOIL_MODE=production COUNTERFOIL_ALLOWED_HOSTS=console.example.com \
		COUNTERFOIL_ALARM_MAIL=oncall@example.com DEFAULT_FROM_EMAIL=counterfoil@example.com \
		SECRET_KEY="$$($(PY) -c 'import secrets; print(secrets.token_urlsafe(50))')" \
		$(PY) manage.py check --deploy --fail-level WARNING

# Child processes write their share wherever they run, so the place is absolute.
coverage: export COVERAGE_FILE := $(CURDIR)/.data/coverage/data
coverage: .venv/.dev
	@echo "== tests, with coverage"
	@mkdir -p .data/coverage && $(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -q -n 3 -m "not laboratory and not browser" --ignore tests/real
	@$(BIN)/coverage combine -q
	@$(BIN)/coverage report

fmt: .venv/.dev ## format code and templates, and mend what can be mended
	@$(BIN)/ruff check --fix --quiet $(SOURCES) || true
	@$(BIN)/ruff format $(SOURCES)
	@sh .ci/check-templates --mend

lock: ## pin anew what the requirements pull in, after changing them
	@rm -rf .data/lock && sh .ci/find-python .data/lock
	@sed '/^-c /d' requirements.txt > .data/lock/requirements.txt
	@sed '/^-c /d' requirements-dev.txt > .data/lock/requirements-dev.txt
	@.data/lock/bin/python -m pip --quiet install -r .data/lock/requirements-dev.txt
	@{ head -1 constraints.txt; .data/lock/bin/python -m pip freeze; } > .data/lock/constraints.txt
	@mv .data/lock/constraints.txt constraints.txt && rm -rf .data/lock

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
