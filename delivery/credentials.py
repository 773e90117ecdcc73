"""When a provider does not let a credential in: one failure, and the rest waits.

What is owed on the same way is held for as long as the secret is the one that was refused. It goes
on when the secret has become another one of the same account, when a check finds that the provider
accepts it again (`delivery.checking`), or when a person saves the credential again.
"""

import json
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from django.db import connection

from delivery import switches
from delivery.channels.contract import Adapter
from delivery.models import CredentialHold
from delivery.outcomes import Unauthorised
from ledgers.canonical import storable
from ledgers.models import Channel, Credential
from ledgers.trail import log

Kind = Literal["refused", "scope", "identity"]
# Every reason begins so; who lifts a hold wakes what it kept.
HELD_BY = "credential "
MAX_WHY = 200  # characters: a row's cause has 300


@dataclass(frozen=True, slots=True)
class Refusal:
    """One answer of a provider about a credential. `route`: what else it holds; empty is all."""

    channel_id: int
    route: str
    fingerprint: str
    kind: Kind
    why: str
    needed: tuple[str, ...] = ()


def refusal_of(said: Unauthorised, route: tuple[int, str], fingerprint: str) -> Refusal:
    """What an answer to a submission says about the credential, in an operator's words."""
    kind: Kind = "scope" if said.needed else "refused"
    refused = f"{HELD_BY}refused: {said.why}"
    why = lacking(said.needed, said.granted) if said.needed else refused
    return Refusal(*route, fingerprint, kind, storable(why)[:MAX_WHY], said.needed)


def lacking(needed: Sequence[str], granted: Sequence[str]) -> str:
    """A scope is missing: what is needed against what there is."""
    has = f"; granted are {', '.join(granted)}" if granted else ""
    return f"{HELD_BY}lacks a scope: needed is {', '.join(needed)}{has}"


class Sign:
    """What this process has just learned and not yet written: it stops calls handed out before."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._refused: dict[tuple[int, str, str], str] = {}

    def put_up(self, refusal: Refusal) -> None:
        with self._lock:
            self._refused[refusal.channel_id, refusal.route, refusal.fingerprint] = refusal.why

    def take_down(self, refusals: Iterable[Refusal]) -> None:
        """Once they are written, or cannot be: from here on the rows tell."""
        with self._lock:
            for one in refusals:
                self._refused.pop((one.channel_id, one.route, one.fingerprint), None)

    def against(self, channel_id: int, route: str, fingerprint: str) -> str:
        """Why nothing may be sent on this way with this secret; empty where nothing is known."""
        with self._lock:
            return self._refused.get((channel_id, route, fingerprint), "")


sign = Sign()


def holds_of(channel: Channel, fingerprint: str) -> dict[str, str]:
    """Why nothing leaves with this secret, by route; a secret that is another one is not held."""
    rows = CredentialHold.objects.filter(channel=channel, fingerprint=fingerprint)
    return dict(rows.values_list("route", "why"))


def shut_channels() -> frozenset[int]:
    """The channels through which nothing leaves, since their credential is not let in."""
    rows = CredentialHold.objects.filter(route="")
    return frozenset(rows.values_list("channel_id", flat=True))


def against(holds: Mapping[str, str], route: tuple[int, str], fingerprint: str) -> str:
    """Why a delivery on this route is held; empty where nothing is known against its secret."""
    return holds.get("") or holds.get(route[1]) or sign.against(*route, fingerprint)


def renewed(channel: Channel, adapter: Adapter, mark: str) -> bool:
    """Whether the secret is another one of, perhaps, the same account, which can be asked for."""
    credential = channel.credential
    known = bool(mark and credential.fingerprint and credential.identity)
    return known and credential.fingerprint != mark and can_introspect(adapter)


def can_introspect(adapter: Adapter) -> bool:
    """Whether the provider can tell who a credential is."""
    try:
        return adapter.declare().introspection != "none"
    except Exception:  # noqa: BLE001  whatever an operator's settings make it raise
        return False


def keep(refusals: Iterable[Refusal], actor: str) -> None:
    """Hold what goes the same way, and say so in the trail: once, however many were refused."""
    for refusal in sorted(set(refusals), key=lambda one: (one.channel_id, one.route)):
        with connection.cursor() as cursor:
            cursor.execute(
                _KEEP,
                [
                    refusal.channel_id, refusal.route, refusal.fingerprint, refusal.kind,
                    refusal.why, json.dumps(refusal.needed),
                ],
            )  # fmt: skip
            new = cursor.fetchone() is not None
        if new:
            log("credential_hold", actor, detail=_told(refusal))


def _told(refusal: Refusal) -> dict[str, str]:
    channel = Channel.objects.select_related("credential").get(pk=refusal.channel_id)
    return {
        "channel": channel.slug,
        "credential": channel.credential.name,
        "fingerprint": refusal.fingerprint,
        "kind": refusal.kind,
        "why": refusal.why,
    }


_KEEP = """
INSERT INTO delivery_credentialhold (channel_id, route, fingerprint, kind, why, needed, since)
VALUES (%s, %s, %s, %s, %s, %s::jsonb, clock_timestamp())
ON CONFLICT (channel_id, route) DO UPDATE SET fingerprint = EXCLUDED.fingerprint,
    kind = EXCLUDED.kind, why = EXCLUDED.why, needed = EXCLUDED.needed, since = EXCLUDED.since
WHERE (delivery_credentialhold.fingerprint, delivery_credentialhold.kind)
    <> (EXCLUDED.fingerprint, EXCLUDED.kind)
RETURNING 1"""


def lift(credential: Credential, *, granted: Sequence[str] | None = None) -> None:
    """End the holds of a credential, and look at once at what waited.

    Args:
        credential: which.
        granted: the scopes that the provider says it has, or None where nobody knows: a hold for
            want of another one stays. Where a provider names several, one of them is enough.
    """
    rows = CredentialHold.objects.filter(channel__credential=credential)
    over = [
        row.pk
        for row in rows
        if row.kind != "scope" or granted is None or set(row.needed) & set(granted)
    ]
    rows.filter(pk__in=over).delete()
    switches.wake(list(credential.channels.values_list("pk", flat=True)), HELD_BY)
