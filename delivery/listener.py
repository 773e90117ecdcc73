"""A connection of its own that listens for wake-ups.

On the claiming connection a notification that arrives during another query came late or never.
"""

import logging
from typing import Any

import psycopg
from django.db import DatabaseError, connections

from ledgers.outbox import NOTIFY_CHANNEL

logger = logging.getLogger(__name__)

# What a lost connection raises: Django's errors from its cursors, the driver's own elsewhere.
LOST = (DatabaseError, psycopg.Error, OSError)


class Listener:
    """LISTEN on the ledger's channel. Without a connection it is silent, and polling goes on."""

    def __init__(self) -> None:
        self._django = connections.create_connection("default")
        self._listening = False
        self._said = False  # once until it listens again

    def fileno(self) -> int | None:
        """What a selector can wait on, or None while there is no connection."""
        try:
            if not self._listening:
                self._listen()
            return int(self._raw.fileno())
        except LOST as error:
            if not self._said:
                logger.warning("cannot listen for wake-ups now; polling goes on (%s)", error)
            self._said = True
            self.close()
            return None

    def drain(self) -> bool:
        """Take what has arrived; tell whether there was anything."""
        if not self._listening:
            return False
        try:
            return len(list(self._raw.notifies(timeout=0))) > 0
        except LOST:
            self.close()
            return False

    def close(self) -> None:
        self._listening = False
        self._django.close()

    @property
    def _raw(self) -> Any:
        return self._django.connection

    def _listen(self) -> None:
        self._django.ensure_connection()
        with self._django.cursor() as cursor:
            cursor.execute(f"LISTEN {NOTIFY_CHANNEL}")
        self._listening, self._said = True, False
