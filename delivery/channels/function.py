"""Bring your own sender: the channel calls a Python function that you have already.

    def send(*, destination, payload, key, recognizer, deadline): …
        return "the provider's id"        # or None, or an Outcome

Your function must submit once: switch its client's own retries off. It may raise
`delivery.errors.NotSentError` where nothing left, `RefusedError` where the recipient said no for
good; after any other exception nobody can tell, so it counts as possibly accepted. An `async def`
works too.

A function cannot be killed. It runs in a thread of its own; if it has not returned at its
deadline the worker waits `overrun_s` longer, since a late answer is still an answer, and then
reports it as possibly accepted and goes on without it. Its thread lives on until it returns;
while `MAX_OVERDUE` such threads of one function exist the channel is not ready.
"""

import asyncio
import inspect
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any, ClassVar

from delivery.channels.answers import storable
from delivery.channels.contract import (
    Adapter,
    Declaration,
    Envelope,
    Finding,
    Journal,
    Json,
    KeyForm,
    Query,
    Rendered,
    Window,
)
from delivery.channels.destinations import check_destination
from delivery.channels.settings import Setting, Settings, choice, flag, number, text
from delivery.channels.texts import split_content
from delivery.errors import HeldBackError, NotSentError, RefusedError
from delivery.outcomes import Accepted, Ambiguous, NotSent, Outcome, Refused
from delivery.timing import boottime
from ledgers.canonical import canonical_json

MAX_OVERDUE = 8
_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_ARGUMENTS = ("destination", "payload", "key", "recognizer", "deadline")
_RIGHT = "a text that your function understands, at most 1000 characters"

_overdue: Counter[str] = Counter()
_lock = threading.Lock()


def _path(about: str, *, required: bool = False) -> Setting:
    right = "a dotted path such as my_app.sending.send"
    return text(about, right=right, is_right=_is_path, required=required)


def _is_path(path: str) -> bool:
    return _PATH.fullmatch(path) is not None


class FunctionAdapter(Adapter):
    """Calls the function at `path` with keyword arguments."""

    slug = "function"
    known: ClassVar[Settings] = {
        "path": _path("The function that sends.", required=True),
        "look_up_path": _path("A function that tells whether a message arrived."),
        "look_up_authoritative": flag("Whether its False proves that nothing was accepted."),
        "dedupe_window_s": number("Seconds for which the provider honours the key.", default=0),
        "dedupe_window_source": text("Where that is written.", default="channel setting"),
        "processing_s": number("Seconds until the look-up knows of a message.", default=0),
        "part_limit": number("Most units of text in a message; 0: no limit.", default=0),
        "part_unit": choice("What the limit counts.", "utf16", "code_points", "bytes"),
        "overrun_s": number("Seconds past the deadline to wait for it.", default=30, most=600),
    }

    def declare(self) -> Declaration:
        window_s = float(self.option("dedupe_window_s"))
        source = self.option("dedupe_window_source")
        return Declaration(
            adapter=self.slug,
            key=KeyForm("argument key"),
            window=Window(window_s, source, "operator") if window_s else Window(),
            key_scope="endpoint" if window_s else "none",
            look_up_by_key=bool(self.option("look_up_path")),
            recognizer_places=("argument recognizer",),
            refusals="RefusedError, as the function raises it",
            processing_s=float(self.option("processing_s")),
        )

    def normalise(self, destination: str) -> str:
        return check_destination(destination, _RIGHT)

    def split(self, content: Json) -> list[Json]:
        limit = int(self.option("part_limit"))
        return split_content(content, limit, self.option("part_unit")) if limit else [content]

    def render(self, envelope: Envelope) -> Rendered:
        extra = {"recognizer": envelope.recognizer}
        body = canonical_json(envelope.content, "content").encode()
        return Rendered(body, envelope.destination, extra)

    def ready(self) -> str:
        path = self.option("path")
        if _overdue[path] >= MAX_OVERDUE:
            return f"{MAX_OVERDUE} calls of {path} have not returned since their deadlines"
        try:
            inspect.signature(load(path)).bind(**dict.fromkeys(_ARGUMENTS))
        except Exception as error:  # noqa: BLE001  importing runs a stranger's code
            return f"{path} cannot be called with {', '.join(_ARGUMENTS)}: {worded(error)}"
        return ""

    def submit(self, rendered: Rendered, key: str, journal: Journal) -> Outcome:
        if why := self.ready():
            return NotSent(why, tried=False)
        path = self.option("path")
        arguments = {
            "destination": rendered.destination,
            "payload": json.loads(rendered.body),
            "key": key,
            "recognizer": rendered.extra["recognizer"],
        }
        running = _Running(load(path), arguments, journal)
        return running.outcome_within(self.option("overrun_s"), path)

    def look_up(self, query: Query, deadline: float) -> Iterator[Finding]:
        path = self.option("look_up_path")
        if not path:
            return
        searched = f"{path}(key={query.key!r}, recognizer={query.recognizer!r})"
        try:
            said = load(path)(
                key=query.key,
                recognizer=query.recognizer,
                destination=query.destination,
                provider_message_id=query.provider_message_id,
                since=query.since,
                deadline=max(deadline - boottime(), 0.0),
            )
        except Exception as error:  # noqa: BLE001  a stranger's code: whatever it raises proves nothing
            yield Finding("key_lookup", "inconclusive", searched, worded(error))
            return
        yield self._finding(said, searched)

    def _finding(self, said: object, searched: str) -> Finding:
        """An id or True: found. False: absent, if declared authoritative. None proves nothing."""
        if isinstance(said, Finding):
            return said
        if said is True or (isinstance(said, str) and said):
            return Finding(
                "key_lookup", "found", searched, "", said if isinstance(said, str) else ""
            )
        if said is False and self.option("look_up_authoritative"):
            return Finding("key_lookup", "absent", searched)
        return Finding("key_lookup", "inconclusive", searched, f"the function said {said!r}"[:300])


def load(path: str) -> Callable[..., Any]:
    """The function at a dotted path.

    Raises:
        ImportError, AttributeError, ValueError: if there is none.
        TypeError: if what is there cannot be called.
        Exception: whatever its module raises when it is imported.
    """
    module, _, name = path.rpartition(".")
    function = getattr(import_module(module), name)
    if not callable(function):
        raise TypeError("it is not callable")
    called: Callable[..., Any] = function
    return called


def worded(error: BaseException) -> str:
    return storable(f"{type(error).__name__}: {error}"[:300])


class _Running:
    """One call of a sender, in a daemon thread: it may hang without keeping the process alive."""

    def __init__(
        self, function: Callable[..., Any], arguments: dict[str, Any], journal: Journal
    ) -> None:
        self._function = function
        self._arguments = arguments
        self._journal = journal
        self._outcome: Outcome | None = None
        self._done = threading.Event()
        self._left_behind = False
        self._called = False

    def outcome_within(self, overrun_s: float, path: str) -> Outcome:
        """What it ended in, if it does so by the deadline and `overrun_s` seconds more."""
        seconds = max(self._journal.deadline - boottime(), 0.0) + overrun_s
        threading.Thread(target=self._run, args=(path,), name=f"send {path}", daemon=True).start()
        if self._done.wait(seconds) and self._outcome is not None:
            return self._outcome
        with _lock:
            if self._outcome is not None:
                return self._outcome
            self._left_behind = True
            _overdue[path] += 1
        return Ambiguous(f"{path} has not returned {overrun_s:g} s after its deadline")

    def _run(self, path: str) -> None:
        try:
            outcome: Outcome = self._call()
        except BaseException as error:  # noqa: BLE001  SystemExit too must not end it in silence
            ended = f"{path} ended with {worded(error)}"
            outcome = Ambiguous(ended) if self._called else NotSent(ended)
        with _lock:
            self._outcome = outcome
            if self._left_behind:
                _overdue[path] -= 1
        self._done.set()

    def _call(self) -> Outcome:
        try:
            self._journal.reached("connected")
            self._journal.before_first_byte()
        except HeldBackError as held:
            return NotSent(str(held), tried=False)
        self._called = True
        self._journal.reached("writing")
        try:
            said = self._say()
        except NotSentError as error:
            return NotSent(worded(error))
        except RefusedError as error:
            return Refused(worded(error))
        self._journal.reached("status")
        return _outcome_of(said)

    def _say(self) -> object:
        """Call it; an `async def` under a real deadline, since a coroutine can be cancelled."""
        left_s = max(self._journal.deadline - boottime(), 0.0)
        said = self._function(**self._arguments, deadline=left_s)
        if not inspect.isawaitable(said):
            return said

        async def finish() -> object:
            return await asyncio.wait_for(said, left_s)

        return asyncio.run(finish())


def _outcome_of(said: object) -> Outcome:
    """It returned, so it was accepted, unless it says otherwise by an outcome of its own."""
    if isinstance(said, Outcome):
        return said
    if said is None or isinstance(said, str | int):
        return Accepted("" if said is None else storable(str(said))[:200])
    return Accepted(response=f"returned a {type(said).__name__}, which names no id")
