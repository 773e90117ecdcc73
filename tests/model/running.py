"""Exploring all setups on two processes."""

import gc
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, replace
from multiprocessing import get_context
from typing import Any

from tests.model.setups import MOST, SETUPS
from tests.model.world import Setup

PROCESSES = 2


def explore_all(most: int) -> list[dict[str, Any]]:
    setups = [replace(setup, most=most or MOST) for setup in SETUPS]
    # Fresh processes: what one remembers would not be given back to the machine.
    context = get_context("spawn")
    with ProcessPoolExecutor(PROCESSES, mp_context=context, max_tasks_per_child=1) as pool:
        return list(pool.map(explore_one, setups))


def explore_one(setup: Setup) -> dict[str, Any]:
    ready()
    from tests.model.search import Explorer

    gc.disable()  # nothing that is made here is ever given up
    return asdict(Explorer(setup).explore())


def ready() -> None:
    """The rules import the models' module, which needs the app registry, but no database."""
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")
    django.setup()
