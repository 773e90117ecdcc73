"""What arrived, in an append-only file: one line per submission, written before it is answered.

A line that was written survives the death of every process (the page cache keeps it), which is
all that is claimed: this store is not made to survive the loss of the machine.
"""

import json
import os
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Shown:
    """A message that exists here: the effect of a submission, or one put here by a test."""

    id: str
    to: str
    author: str
    at: float
    text: str
    recognizer: str
    key: str = ""
    body_hash: str = ""


@dataclass(frozen=True, slots=True)
class Submission:
    """One complete request on the wire, whether it was acted on or not. `at`: this clock's time."""

    to: str
    key: str
    body_hash: str
    recognizer: str
    author: str
    at: float
    did: str
    effect: str


class Store:
    """Effects and submissions, by destination, by id and by key. One process, one thread."""

    def __init__(self, path: Path | None, now: float) -> None:
        self._file: int | None = None
        self._forget(now)
        if path is not None:
            self._load(path)
            self._file = os.open(path, os.O_APPEND | os.O_CREAT | os.O_WRONLY, 0o600)
            self._append({"created": self.created})

    def _forget(self, now: float) -> None:
        self.created = now
        self.shown: defaultdict[str, list[Shown]] = defaultdict(list)
        self.by_id: dict[str, Shown] = {}
        self.by_key: defaultdict[str, list[Shown]] = defaultdict(list)
        self.submissions: defaultdict[str, list[Submission]] = defaultdict(list)
        self.submission_count = 0
        self.effects: Counter[str] = Counter()

    def forget(self, now: float) -> None:
        """Start again, empty, as created at `now`."""
        self._forget(now)
        if self._file is not None:
            os.ftruncate(self._file, 0)
            self._append({"created": now})

    def next_id(self) -> str:
        return f"m{len(self.by_id) + 1:08d}"

    def add(self, submission: Submission | None, shown: Shown | None) -> None:
        """Keep a submission, its effect, or both; on file first."""
        if self._file is not None:
            self._append(
                {
                    "submission": submission and asdict(submission),
                    "shown": shown and asdict(shown),
                }
            )
        self._index(submission, shown)

    def _append(self, line: object) -> None:
        if self._file is not None:
            os.write(self._file, json.dumps(line).encode() + b"\n")

    def _index(self, submission: Submission | None, shown: Shown | None) -> None:
        if submission is not None:
            self.submissions[submission.to].append(submission)
            self.submission_count += 1
        if shown is None:
            return
        self.shown[shown.to].append(shown)
        self.by_id[shown.id] = shown
        if shown.key:
            self.by_key[shown.key].append(shown)
        if submission is not None:
            self.effects[shown.to] += 1

    def _load(self, path: Path) -> None:
        if not path.exists():
            return
        whole, _, _torn = path.read_bytes().rpartition(b"\n")
        os.truncate(path, len(whole) + bool(whole))
        for number, raw in enumerate(whole.splitlines()):
            line = json.loads(raw)
            if "created" in line:
                self.created = line["created"] if number == 0 else self.created
                continue
            submission, shown = line["submission"], line["shown"]
            self._index(submission and Submission(**submission), shown and Shown(**shown))
