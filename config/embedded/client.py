"""`manage.py dbshell`, with the psql that came with the server."""

from collections.abc import Iterable
from typing import Any

from django.db.backends.postgresql import client as postgresql

from config.embedded import tools
from config.embedded.cluster import PORT, SUPERUSER


class DatabaseClient(postgresql.DatabaseClient):
    """Starts the server first if need be, then psql on its socket."""

    def runshell(self, parameters: Iterable[str]) -> None:
        self.connection.ensure_connection()
        self.connection.close()
        super().runshell(parameters)

    @classmethod
    def settings_to_cmd_args_env(
        cls, settings_dict: dict[str, Any], parameters: Iterable[str]
    ) -> tuple[list[str], dict[str, str] | None]:
        from config.embedded.base import cluster_of  # noqa: PLC0415  base imports this module

        host = str(cluster_of(settings_dict).socket_folder)
        address = {"HOST": host, "PORT": str(PORT), "USER": SUPERUSER}
        words, env = super().settings_to_cmd_args_env({**settings_dict, **address}, parameters)
        return [str(tools.binaries() / "psql"), *words[1:]], env
