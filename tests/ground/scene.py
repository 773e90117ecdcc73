"""Where it takes place: a server, the way to it, a recipient and three channels to it."""

import os
import signal
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from django.core.management import call_command
from django.db import connection

from delivery.simulator.client import Simulator
from ledgers.models import Channel, Credential
from tests.ground.proxy import Proxy
from tests.ground.server import APP, NAME, Server
from tests.ground.surroundings import environment

# Seconds. Short, so that a minute holds many lives of a lease; no shorter than two shared
# processors keep up with.
LEASE_S, DEADLINE_S, MARGIN_S = 4.0, 1.5, 0.5
PROCESSING_S = 2.0  # what a search must wait longer: the recipient itself is frozen, too
WINDOW_S = 86_400

MANNERS: Mapping[str, dict[str, Any]] = {
    "keyed": {"dedupe_window_s": WINDOW_S},
    "blind": dict.fromkeys(("look_up_by_key", "look_up_by_id", "scan"), False),
    "looked-up": {"processing_s": PROCESSING_S},
}


class Scene:
    """All of it, in a scratch folder."""

    def __init__(self, folder: Path) -> None:
        self._stack = ExitStack()
        self.folder = folder
        self.server = Server(self.folder / "data")

    def __enter__(self) -> Self:
        self.server.start()
        self._stack.callback(self.server.stop)
        self.server.wait_for_no_disk()
        self.proxy = self._stack.enter_context(Proxy(self.server.socket))
        self.recipient = self._stack.enter_context(Simulator.start(self.folder / "recipient"))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.thaw_recipient()  # a frozen one does not hear that it is to end
        self._stack.__exit__(kind, error, trace)

    def heal(self) -> None:
        """Whatever was done to the ground is over."""
        self.proxy.heal()
        self.server.start()
        self.server.tell(signal.SIGCONT, *self.server.backends())
        self.server.read_only(on=False)
        self.server.limit_connections(-1)
        self.thaw_recipient()
        self.recipient.behave("*", always="accept")

    def freeze_recipient(self) -> None:
        self._tell_recipient(signal.SIGSTOP)

    def thaw_recipient(self) -> None:
        self._tell_recipient(signal.SIGCONT)

    def _tell_recipient(self, number: signal.Signals) -> None:
        if self.recipient.process is not None:
            self.recipient.process.send_signal(number)

    @property
    def environment(self) -> dict[str, str]:
        """What the processes find: the application's role, through the proxy."""
        return {
            **os.environ,
            **environment(self.folder),
            "DATABASE_URL": f"postgres://{APP}@127.0.0.1:{self.proxy.port}/{NAME}?sslmode=disable",
            "PYTHONUNBUFFERED": "1",
        }

    def fill(self) -> None:
        """Migrate, make the application's role and the channels. Needs Django on the server."""
        call_command("migrate", verbosity=0, interactive=False)
        self.server.make_role()
        Channel.objects.all().delete()
        credential = Credential.objects.create(name="chaos", destination_rules=["room:*"])
        for slug, promises in MANNERS.items():
            Channel.objects.create(
                slug=slug,
                adapter="simulator",
                credential=credential,
                settings={"url": self.recipient.url, **promises},
                lease_s=LEASE_S,
                deadline_s=DEADLINE_S,
                margin_s=MARGIN_S,
                retry_schedule=[0.2, 0.5, 1],
                look_up_schedule=[] if slug == "blind" else [0, 2, 4, 6, 8, 10, 15, 20, 25, 30],
                max_attempts=100,
                resend_after_absent="automatic",
            )
        connection.close()  # it would not outlive the first fault
