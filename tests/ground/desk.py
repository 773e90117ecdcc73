"""What a test of the ground has at hand: work to record, workers, and what they come to."""

import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from django.db import connection

from delivery import agent
from ledgers.models import Delivery
from tests.embedded.processes import PROJECT, until
from tests.ground.crew import Crew, Member
from tests.ground.scene import Scene

DELIVER = ("deliver", "--concurrency", "4")
MANAGE = ("manage.py",)


@dataclass(slots=True)
class Desk:
    """One test's corner of a scene. `mark` is in the names of all that it records."""

    scene: Scene
    folder: Path
    mark: str
    crew: Crew = field(default_factory=Crew)

    def record(
        self, name: str = "a", channel: str = "blind", not_before: datetime | None = None
    ) -> str:
        """One message to a room of its own; the room."""
        room = f"room:{self.mark}-{name}"
        with agent.run(f"ground-{self.mark}-{name}", agent="ground") as run:
            message = agent.Message("note", channel, [room], "hello", not_before=not_before)
            run.step("send").complete("done", [message])
        return room

    def worker(
        self, *program: str, inside: Sequence[str] = (), env: Mapping[str, str] | None = None
    ) -> Member:
        """A resident worker behind the proxy, at work.

        Args:
            program: what runs `deliver`.
            inside: a command that runs Python elsewhere.
            env: what differs in its environment.
        """
        name = f"worker-{len(self.crew.members) + 1}"
        command = [*inside, sys.executable, *(program or MANAGE), *DELIVER]
        self.crew.add(name, command, {**self.scene.environment, **(env or {})}, self.folder)
        worker = self.crew.members[-1]
        until(lambda: worker.said("is working"), f"{name} is at work")
        return worker

    def manage(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """A command of manage.py behind the proxy, to its end."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=PROJECT,
            env=self.scene.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    def kill_server(self) -> None:
        """SIGKILL; this process's own connection does not outlive it either."""
        connection.close()
        self.scene.server.kill()

    # What it came to

    def row(self, room: str) -> Delivery:
        return Delivery.objects.get(destination=room)

    def until_status(self, room: str, *statuses: str) -> str:
        """Wait until it is one of these; which."""
        until(lambda: self.row(room).status in statuses, f"{room} is {' or '.join(statuses)}")
        return self.row(room).status

    def outcomes(self, room: str) -> Sequence[str]:
        """Those of its attempts, in order."""
        return list(self.row(room).attempts.order_by("number").values_list("outcome", flat=True))

    def seen(self, room: str) -> tuple[int, int]:
        """Submissions and effects at the recipient."""
        recipient = self.scene.recipient
        return recipient.submissions(room), recipient.effects(room)

    def clear(self) -> None:
        """Let everybody go on, come to rest, and go."""
        self.scene.heal()
        self.crew.resume()
        for member in self.crew.members:
            member.tell(signal.SIGTERM)
        for member in self.crew.members:
            if member.process is not None:
                member.process.wait(40)
        connection.close()
