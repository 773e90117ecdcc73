"""Bring your own sender: the channel calls a Python function that you have already.

    def send(*, destination, payload, key, recognizer, deadline): …
        return "the provider's id"        # or True or None where it names none, or an Outcome

Your function must submit once: switch its client's own retries off. It may raise
`delivery.errors.NotSentError` where nothing left, `RefusedError` where the recipient said no for
good; after any other exception, and after any other answer, nobody can tell, so it counts as
possibly accepted. An `async def` works too.

A function cannot be killed, and while it runs it may still send: the call lasts until it returns,
and a late answer is an answer. An `async def` is cancelled at its deadline. While `MAX_OVERDUE`
calls of one function are past their deadlines the channel is not ready.
"""

import asyncio
import inspect
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from reprlib import Repr
from typing import Any, ClassVar

from delivery.channels.answers import storable
from delivery.channels.bounded_import import import_bounded
from delivery.channels.contract import Adapter, Envelope, Finding, Journal, Json, Query, Rendered
from delivery.channels.deadly import deadly, running
from delivery.channels.declaration import Declaration, KeyForm, Window
from delivery.channels.destinations import check_destination
from delivery.channels.settings import Setting, Settings, budget, choice, flag, number, text
from delivery.channels.texts import split_content
from delivery.errors import HeldBackError, NotSentError, RefusedError
from delivery.outcomes import Accepted, Ambiguous, NotSent, Outcome, Refused
from delivery.timing import boottime
from ledgers.canonical import canonical_json

MAX_OVERDUE = 8
_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_ARGUMENTS = ("destination", "payload", "key", "recognizer", "deadline")
_RIGHT = "a text that your function understands, at most 1000 characters"

_WANTED = (
    "return the provider's id (a text, or a whole number above 0), True or None where it names"
    " none, or an Outcome; raise NotSentError or RefusedError where it was not accepted"
)


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
        "questions_per_minute": budget(),
    }

    best: ClassVar[Mapping[str, Json]] = {
        "path": "my_sender.send",
        "look_up_path": "my_sender.look_up",
        "look_up_authoritative": True,
        "dedupe_window_s": 86_400,
    }

    def endpoint(self) -> str:
        return str(self.option("path"))

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
        if why := _hanging(path) or deadly(path):
            return why
        try:
            inspect.signature(load(path)).bind(**dict.fromkeys(_ARGUMENTS))
        except BaseException as error:  # noqa: BLE001  importing runs a stranger's code: a script's sys.exit() must not end the worker
            return f"{path} cannot be called with {', '.join(_ARGUMENTS)}: {worded(error)}"
        return ""

    def submit(self, rendered: Rendered, key: str, journal: Journal) -> Outcome:
        if why := self.ready():
            return NotSent(why, tried=False)
        path = self.option("path")
        try:
            function = load(path)
            arguments = {
                "destination": rendered.destination,
                "payload": json.loads(rendered.body),
                "key": key,
                "recognizer": rendered.extra["recognizer"],
            }
            journal.reached("connected")
            journal.before_first_byte()
        except HeldBackError as held:
            return NotSent(str(held), tried=False)
        except BaseException as error:  # noqa: BLE001  it was not called, whatever this is
            return NotSent(f"{path} was not called: {worded(error)}")
        return _outcome(path, function, arguments, journal)

    def look_up(self, query: Query, deadline: float) -> Iterator[Finding]:
        path = self.option("look_up_path")
        if not path:
            return
        searched = f"{path}(key={query.key!r}, recognizer={query.recognizer!r})"
        if why := _hanging(path) or deadly(path):
            yield Finding("key_lookup", "inconclusive", searched, why)
            return
        arguments = {
            "key": query.key,
            "recognizer": query.recognizer,
            "destination": query.destination,
            "provider_message_id": query.provider_message_id,
            "since": query.since,
        }
        try:
            finding = self._finding(_said(path, load(path), arguments, deadline), searched)
        except BaseException as error:  # noqa: BLE001  a stranger's code: whatever it raises proves nothing
            finding = Finding("key_lookup", "inconclusive", searched, worded(error))
        yield finding

    def _finding(self, said: object, searched: str) -> Finding:
        """An id or True: found. False: absent, if declared authoritative. None proves nothing."""
        if isinstance(said, Finding):
            return said
        if said is True or (isinstance(said, str) and said.strip()):
            return Finding(
                "key_lookup", "found", searched, "", said if isinstance(said, str) else ""
            )
        if said is False and self.option("look_up_authoritative"):
            return Finding("key_lookup", "absent", searched)
        return Finding("key_lookup", "inconclusive", searched, f"the function said {_shown(said)}")


def load(path: str) -> Callable[..., Any]:
    """The function at a dotted path.

    Raises:
        ImportError, AttributeError, ValueError: if there is none, or it is still being imported.
        TypeError: if what is there cannot be called.
        BaseException: whatever its module raises when it is imported.
    """
    module, _, name = path.rpartition(".")
    function = getattr(import_bounded(module), name)
    if not callable(function):
        raise TypeError("it is not callable")
    called: Callable[..., Any] = function
    return called


def worded(error: BaseException) -> str:
    try:
        said = str(error)
    except BaseException:  # noqa: BLE001  a stranger's __str__
        said = "it cannot be shown"
    return storable(f"{type(error).__name__}: {said}"[:300])


# --- One call ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class _Running:
    """A call that has not returned. `deadline`: on `boottime()`."""

    path: str
    deadline: float


_running: set[_Running] = set()
os.register_at_fork(after_in_child=_running.clear)  # the threads of these calls are the parent's


@contextmanager
def _counted(path: str, deadline: float) -> Iterator[None]:
    call = _Running(path, deadline)
    _running.add(call)
    try:
        yield
    finally:
        _running.discard(call)


def _hanging(path: str) -> str:
    """Why this function must not be called now: too many calls of it are past their deadlines."""
    now = boottime()
    # Copied in one step: other threads add and discard meanwhile.
    overdue = sum(call.path == path and call.deadline < now for call in tuple(_running))
    if overdue < MAX_OVERDUE:
        return ""
    return f"{overdue} calls of {path} have not returned since their deadlines"


def _outcome(
    path: str, function: Callable[..., Any], arguments: dict[str, Any], journal: Journal
) -> Outcome:
    try:
        journal.reached("writing")
        said = _said(path, function, arguments, journal.deadline)
        journal.reached("status")
        return _meaning(path, said)
    except NotSentError as error:
        return NotSent(worded(error))
    except RefusedError as error:
        return Refused(worded(error))
    except BaseException as error:  # noqa: BLE001  SystemExit too: it may have sent before
        return Ambiguous(f"{path} ended with {worded(error)}")


def _said(
    path: str, function: Callable[..., Any], arguments: dict[str, Any], deadline: float
) -> object:
    """Call it in this very thread. An `async def` is cancelled at the deadline, as it can be."""
    left_s = max(deadline - boottime(), 0.0)
    with _counted(path, deadline), running(path):
        said = function(**arguments, deadline=left_s)
        if not inspect.isawaitable(said):
            return said

        async def finish() -> object:
            return await asyncio.wait_for(said, left_s)

        return asyncio.run(finish())


def _meaning(path: str, said: object) -> Outcome:
    """Accepted only if it says so: a client that returns its errors must not pass for a success."""
    if isinstance(said, Outcome):
        return said
    if said is None or said is True:
        return Accepted()
    is_id = isinstance(said, int) and said > 0
    if is_id or (isinstance(said, str) and said.strip()):
        return Accepted(storable(str(said))[:200])
    return Ambiguous(f"{path} returned {_shown(said)}, which tells nothing: {_WANTED}")


def _shown(said: object) -> str:
    """What a function returned, in a few words. Never raises."""
    shortened = Repr()
    shortened.maxstring = shortened.maxother = 120
    try:
        shown = shortened.repr(said)[:300]
    except BaseException:  # noqa: BLE001  a stranger's __repr__
        shown = "something that cannot be shown"
    return storable(f"{shown} ({type(said).__name__})")
