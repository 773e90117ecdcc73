"""The Django backend: PostgreSQL's own, which has its server started when nobody answers."""

from pathlib import Path
from typing import Any

import psycopg
from django.db.backends.postgresql import base as postgresql

from config.embedded import launcher
from config.embedded.client import DatabaseClient
from config.embedded.cluster import PORT, SUPERUSER, Cluster
from config.embedded.errors import EmbeddedError


class DatabaseWrapper(postgresql.DatabaseWrapper):
    """Connects; if that fails, has the server started; connects again."""

    client_class = DatabaseClient

    @property
    def cluster(self) -> Cluster:
        """The server that this connection is to."""
        return cluster_of(self.settings_dict)

    def get_connection_params(self) -> dict[str, Any]:
        """Arguments for `psycopg.connect`; the socket may move when the server is restarted."""
        params = super().get_connection_params()
        return {
            **params,
            "host": str(self.cluster.socket_folder),
            "port": PORT,
            "user": SUPERUSER,
        }

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        try:
            return super().get_new_connection(conn_params)
        except psycopg.OperationalError:
            self._ensure_running()
        return super().get_new_connection({**conn_params, **self._address()})

    def _address(self) -> dict[str, Any]:
        return {"host": str(self.cluster.socket_folder)}

    def _ensure_running(self) -> None:
        """Only the main database is made on demand: a test's or a drill's is made by its owner."""
        main = self.settings_dict.get("MAIN_DATABASE")
        wanted = main if main == self.settings_dict["NAME"] else None
        try:
            launcher.ensure_running(self.cluster, wanted or "postgres")
        except EmbeddedError as error:
            # Callers that wait out a database outage know this class.
            raise psycopg.OperationalError(str(error)) from error


def cluster_of(settings: dict[str, Any]) -> Cluster:
    """The server that an entry of the DATABASES setting names."""
    return Cluster(Path(settings["DATA_FOLDER"]), fsync=settings["FSYNC"])
