"""Importing a stranger's module for a bounded time: one that hangs must not hold up the worker.

Each module is imported in a thread of its own, which cannot be stopped. In its first seconds
whoever asks waits for it; after that everybody hears at once that it still goes on.
"""

import asyncio
import os
import sys
import threading
from importlib import import_module
from types import ModuleType

from delivery.channels.deadly import deadly, running
from delivery.timing import boottime

# Seconds. Long enough for a large client library on a busy machine. In a worker it is the main
# thread that waits: once per module, not once per wave.
IMPORT_S = 5.0


class StillImportingError(ImportError):
    """The module has not been imported yet, and may never be."""


class DeadlyModuleError(ImportError):
    """Importing it has ended one process after the other; see `delivery.channels.deadly`."""


class _Import:
    """One import, under way or ended. `raised`: what the module ended with instead."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.module: ModuleType | None = None
        self.raised: BaseException | None = None
        self.patience_ends = boottime() + IMPORT_S
        # A client of the old kind asks for the loop while it is imported, and keeps it.
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, daemon=True, name=f"import {name}")
        self.thread.start()

    @property
    def is_forgotten(self) -> bool:
        """It was imported and has been taken out again, as for a reload."""
        return self.module is not None and sys.modules.get(self.name) is not self.module

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            with running(self.name):
                self.module = import_module(self.name)
        except BaseException as error:  # noqa: BLE001  a stranger's code: sys.exit() too
            self.raised = error
            self.loop.close()


_imports: dict[str, _Import] = {}
_lock = threading.Lock()
os.register_at_fork(after_in_child=_imports.clear)  # the threads are the parent's


def import_bounded(name: str) -> ModuleType:
    """The module at a dotted path.

    Raises:
        StillImportingError: it is still being imported.
        DeadlyModuleError: importing it ends the process.
        BaseException: whatever the module raised. Whoever asks next imports it once more.
    """
    with _lock:
        one = _imports.get(name)
        if one is None or one.is_forgotten:
            if name not in sys.modules and (why := deadly(name)):
                raise DeadlyModuleError(why)
            one = _imports[name] = _Import(name)
    one.thread.join(max(0.0, one.patience_ends - boottime()))
    if one.module is not None:
        return one.module
    if one.raised is None:
        raise StillImportingError(f"the module {name} is still being imported")
    with _lock:
        if _imports.get(name) is one:
            del _imports[name]
    raise one.raised
