"""Ask a provider who a channel's credential is, and keep what follows from that.

Nothing is submitted. The worker asks by itself when a secret has become another one: of the same
account it goes on with it, of another one it holds everything that is owed. A person asks by
`manage.py channel_check`. To take another account is for people, on the credential's page.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from django.db import transaction

from delivery import credentials, questions
from delivery.channels.contract import Adapter, Introspection
from delivery.channels.looking import asked
from delivery.channels.redacting import without_secrets
from delivery.channels.secrets import fingerprint, read_secret
from delivery.credentials import HELD_BY, MAX_WHY, Refusal
from delivery.timing import boottime
from delivery.ways import Way, budget_of
from ledgers.canonical import storable
from ledgers.clock import ClockTimestamp
from ledgers.models import Channel, Credential
from ledgers.trail import log

logger = logging.getLogger(__name__)

ASK_AGAIN_S = 30.0  # after a provider that did not say
MAX_IDENTITY, MAX_SCOPES = 200, 100


@dataclass(slots=True, eq=False)
class Verification:
    """One question about one channel's credential: asked in a thread, kept by the main one.

    `mark`: the fingerprint of the secret that is asked about.
    """

    channel_id: int
    adapter: Adapter
    mark: str
    deadline_s: float
    said: Introspection = field(default_factory=Introspection)
    asked_at: datetime | None = None
    took_s: float = 0.0
    asked: int = 0
    _ends_by: float = float("inf")

    @property
    def overdue(self) -> bool:
        return boottime() > self._ends_by

    def run(self) -> None:
        """Ask. Never raises."""
        began, before = boottime(), asked.count
        self._ends_by = began + self.deadline_s
        try:
            said = self.adapter.introspect(self._ends_by)
            secret = self.adapter.secret()
            self.said = _vetted(said, secret)
            if _mark_of(secret) != self.mark:
                self.said = Introspection(why="the secret changed while it was asked about")
        except BaseException as error:  # a stranger's SystemExit would end a thread of the pool
            logger.exception("asking about the credential of channel %s failed", self.channel_id)
            self.said = Introspection(why=f"asking failed: {type(error).__name__}")
        self.took_s, self.asked = boottime() - began, asked.count - before


def _mark_of(secret: str) -> str:
    return fingerprint(secret) if secret else "none"


def _vetted(said: Introspection, secret: str) -> Introspection:
    """Right types, sane lengths, and never the secret itself."""
    scopes = said.scopes
    return Introspection(
        identity=_text(said.identity, secret, MAX_IDENTITY),
        scopes=(
            None if scopes is None else tuple(_text(s, secret, 80) for s in scopes[:MAX_SCOPES])
        ),
        clock=said.clock if said.clock is not None and said.clock.tzinfo else None,
        refused=said.refused is True,
        why=_text(said.why, secret, MAX_WHY),
    )


def _text(said: str, secret: str, most: int) -> str:
    text = storable(str(said))
    return (without_secrets(text, secret) if secret else text)[:most]


def verification_of(way: Way) -> Verification:
    """The question about the secret that this channel has now."""
    return Verification(way.channel.pk, way.adapter, way.fingerprint, way.channel.deadline_s)


class Questions:
    """What a worker asks by itself: once at a time per channel, and not again at once."""

    def __init__(self) -> None:
        self._next: dict[int, float] = {}

    def due(self, ways: Iterable[Way]) -> list[Verification]:
        now = boottime()
        wanted = [
            way for way in ways if way.unverified and self._next.get(way.channel.pk, 0.0) <= now
        ]
        for way in wanted:
            self._next[way.channel.pk] = now + ASK_AGAIN_S
        return [verification_of(way) for way in wanted]


@dataclass(frozen=True, slots=True)
class Kept:
    """What was concluded. `stored`: the account it was of, until now. `missing`: scopes."""

    state: Literal["same", "learned", "accepted", "another", "refused", "untold"]
    stored: str
    said: Introspection
    why: str = ""
    missing: tuple[str, ...] = ()


def keep_all(verified: Sequence[Verification], actor: str) -> None:
    """Keep what a worker was told about secrets that had changed."""
    for one in verified:
        if one.said.identity or one.said.refused:
            keep(one, actor)
        else:
            _charge(one)
            logger.warning(
                "whose secret channel %d has is not told: %s", one.channel_id, one.said.why
            )


def keep(one: Verification, actor: str) -> Kept:
    """Store what the provider said, and hold or let go what is owed; one transaction.

    Args:
        one: the question, after it ran.
        actor: who asked.
    """
    with transaction.atomic():
        _charge(one)
        channel = Channel.objects.select_related("credential").get(pk=one.channel_id)
        row = Credential.objects.select_for_update().get(pk=channel.credential_id)
        kept = _concluded(one, channel, row)
        if kept.state in {"same", "learned", "accepted"}:
            _store(row, one, kept)
            credentials.lift(row, granted=kept.said.scopes)
        elif kept.state in {"another", "refused"}:
            kind: credentials.Kind = "identity" if kept.state == "another" else "refused"
            credentials.keep([Refusal(channel.pk, "", one.mark, kind, kept.why)], actor)
        log("channel_check", actor, detail=_detail(channel, one, kept))
    return kept


def _charge(one: Verification) -> None:
    questions.charge_one(one.channel_id, one.asked, budget_of(one.adapter))


def _concluded(one: Verification, channel: Channel, row: Credential) -> Kept:
    said, stored = one.said, row.identity
    missing = () if said.scopes is None else _missing(channel, said.scopes)
    if said.refused:
        return Kept("refused", stored, said, f"{HELD_BY}refused: {said.why}"[:MAX_WHY])
    if not said.identity:
        return Kept("untold", stored, said, said.why or "the provider names no account")
    # People took this very secret after another one had been verified: then its account is right.
    taken = row.verified_at is not None and row.fingerprint == one.mark
    if stored and said.identity != stored and not taken:
        why = f"{HELD_BY}of another identity: it is {said.identity}, and was {stored}"
        return Kept("another", stored, said, why[:MAX_WHY], missing)
    same = stored == said.identity
    return Kept("same" if same else "accepted" if stored else "learned", stored, said, "", missing)


def _missing(channel: Channel, granted: Sequence[str]) -> tuple[str, ...]:
    return tuple(one for one in channel.scopes_required if one not in granted)


def _store(row: Credential, one: Verification, kept: Kept) -> None:
    row.identity, row.fingerprint = kept.said.identity, one.mark
    if kept.said.scopes is not None:
        row.scopes = list(kept.said.scopes)
    Credential.objects.filter(pk=row.pk).update(
        identity=row.identity, fingerprint=row.fingerprint, scopes=row.scopes,
        verified_at=ClockTimestamp(),
    )  # fmt: skip


def _detail(channel: Channel, one: Verification, kept: Kept) -> dict[str, Any]:
    return {
        "channel": channel.slug,
        "credential": channel.credential.name,
        "fingerprint": one.mark,
        "state": kept.state,
        "identity": kept.said.identity,
        "was": kept.stored,
        "scopes": None if kept.said.scopes is None else list(kept.said.scopes),
        "why": kept.why,
    }


def mark_now(channel: Channel) -> str:
    """The fingerprint of the secret that this process finds now.

    Raises:
        SecretError: there is none where the reference leads.
    """
    return _mark_of(read_secret(channel.credential.secret_ref))
