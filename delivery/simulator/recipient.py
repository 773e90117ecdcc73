"""The recipient itself: what it does with a submission, and what it shows to those who look."""

import hashlib
import json
import time
from collections import Counter, defaultdict, deque
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from delivery.simulator.behaviour import PRESETS, Behaviour, parse_behaviour
from delivery.simulator.rewriting import REWRITES, rewrite
from delivery.simulator.store import Shown, Store, Submission

EVERYWHERE = "*"
ACCEPT = PRESETS["accept"]


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds until it is changed, for one destination or for all.

    Args:
        dedupe_s: seconds for which a key is honoured; 0 is never.
        key_scope: whether the same key from another author, or to another destination, is another.
        in_flight: what the same key is answered while an earlier one is held: `409`, or as `ignore`
            has it, whatever the behaviour says.
        mismatch: what the same key with another body is answered: `409`, or `ignore` the body.
        latency_s: seconds before each submission is looked at.
        rewrite: names out of `rewriting.REWRITES`, in order.
        hidden: whether the recognizer's hidden field is kept.
        look_up: look-ups by key or id answer truly (`ok`), 404 (`absent`), or 500 (`error`).
        listing: the same for the list; `empty` is 200 with nothing, as without permission.
        may_read: whether the reader is told to have the permission to read the history.
        visible_after_s: seconds until a message shows up in look-ups and lists.
        history_s: seconds that the list goes back; 0 is for ever.
        page_size: the most messages on one page, whatever is asked for.
        foreign_copies: how many copies by another author follow each message.
    """

    dedupe_s: float = 0.0
    key_scope: Literal["endpoint", "credential", "everywhere"] = "endpoint"
    in_flight: Literal["409", "ignore"] = "ignore"
    mismatch: Literal["409", "ignore"] = "409"
    latency_s: float = 0.0
    rewrite: tuple[str, ...] = ()
    hidden: bool = True
    look_up: Literal["ok", "absent", "error"] = "ok"
    listing: Literal["ok", "empty", "error"] = "ok"
    may_read: bool = True
    visible_after_s: float = 0.0
    history_s: float = 0.0
    page_size: int = 100
    foreign_copies: int = 0


_KNOWN = frozenset(one.name for one in fields(Settings))


@dataclass(slots=True)
class Manner:
    """How one destination (or every one) is told to behave."""

    script: deque[Behaviour] = field(default_factory=deque)
    always: Behaviour | None = None
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Arrival:
    """A complete submission as the wire brought it."""

    to: str
    key: str
    recognizer: str
    text: str
    author: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """What goes back, and how the call ends (see `Behaviour.ending`)."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)
    ending: str = "answer"
    signal: str = ""
    drip_s: float = 0.05


class Recipient:
    """Takes submissions, remembers effects, answers look-ups. One thread."""

    def __init__(self, path: Path | None = None) -> None:
        self.clock_offset_s = 0.0
        self.store = Store(path, self.now())
        self._manners: defaultdict[str, Manner] = defaultdict(Manner)
        self._settings: dict[str, Settings] = {}
        self.held: Counter[tuple[str, str]] = Counter()

    def now(self) -> float:
        """Seconds since 1970 on this recipient's own, settable clock."""
        return time.time() + self.clock_offset_s

    def behave(self, to: str, written: Mapping[str, Any]) -> None:
        """Take up `script` (one behaviour per submission), `always` and `settings` for `to`.

        Raises:
            ValueError: naming what is unknown; nothing was taken up.
        """
        script = [parse_behaviour(one) for one in written.get("script", ())]
        always = written.get("always")
        parsed = None if always is None else parse_behaviour(always)
        settings = dict(written.get("settings", {}))
        _check_settings(settings)
        manner = self._manners[to]
        manner.script.extend(script)
        manner.always = parsed or manner.always
        manner.settings.update(settings)
        self._settings.clear()

    def forget(self) -> None:
        """Be as new: no effects, no submissions, no behaviour, the true clock."""
        self.clock_offset_s = 0.0
        self._manners.clear()
        self._settings.clear()
        self.held.clear()
        self.store.forget(self.now())

    def settings(self, to: str) -> Settings:
        """What holds for this destination: its own settings over those for all."""
        known = self._settings.get(to)
        if known is None:
            own = self._manners[to].settings if to in self._manners else {}
            merged = {**self._manners[EVERYWHERE].settings, **own}
            merged["rewrite"] = tuple(merged.get("rewrite", ()))
            known = self._settings[to] = replace(Settings(), **merged)
        return known

    def next_behaviour(self, to: str) -> Behaviour:
        """The next one of this destination's script, else of everyone's, else what holds always."""
        manners = [self._manners[name] for name in (to, EVERYWHERE) if name in self._manners]
        for manner in manners:
            if manner.script:
                return manner.script.popleft()
        return next((manner.always for manner in manners if manner.always), ACCEPT)

    def receive(self, arrival: Arrival, behaviour: Behaviour) -> Answer:
        """Act on a submission as `behaviour` says, unless the key shows it was acted on before."""
        body_hash = hashlib.sha256(arrival.body).hexdigest()
        if self.settings(arrival.to).in_flight == "409" and self.held[arrival.to, arrival.key]:
            self._note(arrival, body_hash, "in_flight", None)
            return _answer(PRESETS["in_flight"])
        earlier = self._earlier(arrival)
        if earlier is not None and self._is_mismatch(earlier, body_hash):
            self._note(arrival, body_hash, "mismatch", None)
            return _answer(PRESETS["mismatch"])
        shown = self._shown(arrival, body_hash) if behaviour.effect and earlier is None else None
        self._note(arrival, body_hash, behaviour.name, shown)
        done = shown or (earlier if behaviour.effect else None)
        if behaviour.names_last:
            done = next(iter(self.store.shown[arrival.to][-1:]), None)
        return _answer(behaviour, done, replayed=earlier is not None)

    def _is_mismatch(self, earlier: Shown, body_hash: str) -> bool:
        strict = self.settings(earlier.to).mismatch == "409"
        return strict and earlier.body_hash != body_hash

    def _earlier(self, arrival: Arrival) -> Shown | None:
        settings = self.settings(arrival.to)
        if not arrival.key or settings.dedupe_s <= 0:
            return None
        oldest = self.now() - settings.dedupe_s
        for one in self.store.by_key.get(arrival.key, ()):
            same = settings.key_scope == "everywhere" or one.to == arrival.to
            ours = settings.key_scope != "credential" or one.author == arrival.author
            if same and ours and one.at > oldest:
                return one
        return None

    def _shown(self, arrival: Arrival, body_hash: str) -> Shown:
        settings = self.settings(arrival.to)
        return Shown(
            id=self.store.next_id(),
            to=arrival.to,
            author=arrival.author,
            at=self.now(),
            text=rewrite(arrival.text, settings.rewrite),
            recognizer=arrival.recognizer if settings.hidden else "",
            key=arrival.key,
            body_hash=body_hash,
        )

    def _note(self, arrival: Arrival, body_hash: str, did: str, shown: Shown | None) -> None:
        submission = Submission(
            to=arrival.to,
            key=arrival.key,
            body_hash=body_hash,
            recognizer=arrival.recognizer,
            author=arrival.author,
            at=self.now(),
            did=did,
            effect=shown.id if shown else "",
        )
        self.store.add(submission, shown)
        if shown is not None:
            for _ in range(self.settings(arrival.to).foreign_copies):
                self.inject(arrival.to, shown.text, "someone-else", shown.recognizer, None)

    def inject(self, to: str, text: str, author: str, recognizer: str, at: float | None) -> Shown:
        """Put a message here that no submission brought; it is shown, and counts as no effect."""
        shown = Shown(self.store.next_id(), to, author, at or self.now(), text, recognizer)
        self.store.add(None, shown)
        return shown


def _check_settings(settings: Mapping[str, Any]) -> None:
    unknown = set(settings) - _KNOWN
    if unknown:
        raise ValueError(f"unknown settings {sorted(unknown)}; known are {sorted(_KNOWN)}")
    rewrites = set(settings.get("rewrite", ())) - set(REWRITES)
    if rewrites:
        raise ValueError(f"unknown rewrites {sorted(rewrites)}; known are {sorted(REWRITES)}")


def _answer(behaviour: Behaviour, shown: Shown | None = None, *, replayed: bool = False) -> Answer:
    headers = dict(behaviour.headers)
    if shown is not None and replayed:
        headers["Idempotent-Replayed"] = "true"
    body = behaviour.body
    if body is None:
        body = json.dumps({"id": shown.id} if shown and behaviour.status < 300 else {})
    return Answer(
        behaviour.status,
        body.encode(),
        headers,
        behaviour.ending,
        behaviour.signal,
        behaviour.drip_s,
    )
