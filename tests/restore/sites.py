"""Whole installations on servers of their own: sent from, dumped, copied, replicated, killed."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from config.embedded import launcher, postmaster, tools
from config.embedded.cluster import PORT, SUPERUSER, Cluster
from config.recovery import plot
from config.recovery.copies import Copy, Hand, socket_url
from config.recovery.tools import Tools
from delivery.simulator.client import Simulator

DATABASE = "counterfoil"
PATIENCE_S = 40.0
LIMIT_S = 60.0


@dataclass(frozen=True)
class Site:
    """A host with a data folder, and the server that its processes connect to.

    After a failover that is another one than the server in the host's own folder.
    """

    cluster: Cluster
    data: Path
    database: str = DATABASE

    @property
    def copy(self) -> Copy:
        return Copy(socket_url(self.cluster.socket_folder, self.database), self.data)

    @property
    def tools(self) -> Tools:
        """PostgreSQL's programs, as they reach this server."""
        address = {"host": str(self.cluster.socket_folder), "port": str(PORT), "user": SUPERUSER}
        return Tools(tools.binaries(), address | {"dbname": self.database}, tools.environment())

    def ask(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """Rows of the database."""
        with psycopg.connect(self.cluster.conninfo(self.database), autocommit=True) as connection:
            found = connection.execute(query, values)
            return found.fetchall() if found.description else []

    def backup(self, file: Path) -> Path:
        """Of its database as it is now, whatever its schema."""
        with file.open("wb") as into:
            self.tools.dump(into)
        return file

    def put_back(self, file: Path) -> None:
        """In its own place: the database is dropped, made anew, and filled."""
        for statement in ("DROP DATABASE {} WITH (FORCE)", "CREATE DATABASE {} TEMPLATE template0"):
            with psycopg.connect(self.cluster.conninfo(), autocommit=True) as server:
                server.execute(statement.format(self.database))
        self.tools.restore(file, self.database)

    def kill_server(self) -> None:
        """SIGKILL, as when its host is gone."""
        pid = postmaster.running(self.cluster)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        until(lambda: postmaster.running(self.cluster) is None, "the server is gone")


@contextmanager
def standby(primary: Site, folder: Path) -> Iterator[Cluster]:
    """A physical standby that follows asynchronously, until `lose_the_rest` and `promote`."""
    cluster = Cluster(folder, fsync=False)
    owner = tools.owner_for(cluster.pgdata)
    folder.mkdir(mode=0o700)
    cluster.pgdata.mkdir(mode=0o700)
    os.chown(cluster.pgdata, owner, -1)
    words: list[str | Path] = ["--pgdata", cluster.pgdata, "--dbname", primary.cluster.conninfo()]
    words += ["--write-recovery-conf", "--checkpoint=fast", "--no-sync"]
    tools.run("pg_basebackup", words, owner, timeout_s=LIMIT_S)
    for lock in cluster.pgdata.glob(".s.PGSQL.*"):  # the primary's socket lies among its files
        lock.unlink()
    launcher.ensure_running(cluster)
    try:
        yield cluster
    finally:
        launcher.stop(cluster)


def catch_up(primary: Site, cluster: Cluster) -> None:
    """Wait until the standby has replayed all that the primary has written."""
    (written,) = primary.ask("SELECT pg_current_wal_lsn()")[0]
    follower = Site(cluster, cluster.folder)
    until(
        lambda: follower.ask("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", written)[0][0],
        "the standby has caught up",
    )


def lose_the_rest(cluster: Cluster) -> None:
    """Cut the standby off: what the primary commits from now on never reaches it."""
    follower = Site(cluster, cluster.folder, "postgres")
    follower.ask("ALTER SYSTEM SET primary_conninfo = ''")
    follower.ask("SELECT pg_reload_conf()")
    until(
        lambda: not follower.ask("SELECT 1 FROM pg_stat_wal_receiver"), "it receives nothing more"
    )


def promote(cluster: Cluster) -> None:
    """The standby becomes a primary, on a timeline of its own."""
    follower = Site(cluster, cluster.folder, "postgres")
    assert follower.ask("SELECT pg_promote(wait => true)") == [(True,)]


def copied(folder: Path, target: Path) -> Cluster:
    """A copy of a whole data folder, with owners and modes, as of a machine's disk."""
    subprocess.run(["cp", "-a", folder, target], check=True)
    return Cluster(target, fsync=False)


# --- Work, and what became of it


def sends(site: Site, hand: Hand, run: str, to: dict[str, list[str]]) -> None:
    """Record a run, and let a worker send all of it."""
    hand("record", run_id=run, messages=messages(to))
    with site.copy.worker():
        wait(hand, lambda told: delivered(told, run), f"{run} is sent")


def messages(to: dict[str, list[str]], content: str = "hello") -> list[dict[str, Any]]:
    """One message per channel."""
    return [
        {"name": "digest", "channel": channel, "to": rooms, "content": content}
        for channel, rooms in to.items()
    ]


def rows(told: dict[str, Any], run: str | None = None) -> list[dict[str, Any]]:
    """The deliveries of a run, or all."""
    return [row for row in told["deliveries"] if run in {None, row["run"]}]


def delivered(told: dict[str, Any], run: str) -> bool:
    return all(row["status"] == "delivered" for row in rows(told, run))


def statuses(told: dict[str, Any], run: str | None = None) -> dict[str, str]:
    """By destination."""
    return {row["to"]: row["status"] for row in rows(told, run)}


def wait(hand: Hand, fact: Callable[[dict[str, Any]], bool], what: str) -> dict[str, Any]:
    """Wait for a fact about an installation; the account in which it was found."""
    found: dict[str, Any] = {}

    def look() -> bool:
        found.update(hand("account"))
        return fact(found)

    until(look, lambda: f"{what}: {found}")
    return found


def until(fact: Callable[[], Any], what: str | Callable[[], str]) -> None:
    """Wait for a fact.

    Raises:
        AssertionError: it did not come.
    """
    give_up = time.monotonic() + PATIENCE_S
    while not fact():
        assert time.monotonic() < give_up, what if isinstance(what, str) else what()
        time.sleep(0.1)


def channels(hand: Hand, recipient: Simulator) -> None:
    """The three kinds of channel that a restore tells apart."""
    hand("channels", ways=plot.ways(recipient.url))


def migrations(app: str) -> list[str]:
    """The names of an app's migrations, in order."""
    folder = Path(__file__).parents[2] / app / "migrations"
    return sorted(path.stem for path in folder.glob("0*.py"))
