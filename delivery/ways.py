"""Channels as they are now: their adapter, their promises, and what holds everything on them."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from delivery import credentials
from delivery.authority import rule_complaints
from delivery.channels.contract import Adapter
from delivery.channels.missing import NoAdapter
from delivery.channels.registry import adapter_for
from delivery.channels.secrets import SecretError, fingerprint, read_secret
from delivery.errors import UnknownAdapterError
from delivery.facts import Policy
from delivery.policy import unsound
from delivery.rechecks import Rechecks
from delivery.timing import boottime
from ledgers.canonical import sha256
from ledgers.models import Channel, Credential

REMEMBERED_S = 1.0


@dataclass(slots=True)
class Way:
    """A channel as it is now: its row, its adapter, and what holds everything on it."""

    channel: Channel
    adapter: Adapter
    fingerprint: str
    held: tuple[str, ...]
    read_at: float
    policies: dict[str, Policy] = field(default_factory=dict)
    # Why the provider's refusals of this secret hold it, by route.
    refused: Mapping[str, str] = field(default_factory=dict)
    # The secret is another one than before, and its provider can tell whose it is.
    unverified: bool = False
    # How many questions a minute its provider is asked; 0 is no limit. See `delivery.questions`.
    questions_per_minute: float = 0.0

    @property
    def holds(self) -> bool:
        """Whether anything about the channel itself holds rows of it now."""
        return bool(self.held or self.refused or self.channel.requires_approval)

    def refuses(self, destination: str) -> str:
        """Why the provider does not let this credential through to there; empty where it does."""
        route = (self.channel.pk, self.adapter.route(destination))
        return credentials.against(self.refused, route, self.fingerprint)


@dataclass(slots=True)
class Ways:
    """The channels, remembered for a second: a pause or another credential counts from then on."""

    ways: dict[int, Way] = field(default_factory=dict)
    rechecks: Rechecks = field(default_factory=Rechecks)
    # Those of which something was held when they were last read; at first, any may be.
    _held: set[int] = field(default_factory=set)
    _read: set[int] = field(default_factory=set)

    def of(self, channel_id: int) -> Way:
        way = self.ways.get(channel_id)
        if way is None or boottime() - way.read_at > REMEMBERED_S:
            channel = Channel.objects.select_related("credential").get(pk=channel_id)
            way = self.ways[channel_id] = open_way(channel)
            self._notice(way)
        return way

    def _notice(self, way: Way) -> None:
        """A channel that opens wakes its rows. One that this worker never read may have opened."""
        channel_id = way.channel.pk
        if way.holds:
            self._held.add(channel_id)
        elif channel_id in self._held or channel_id not in self._read:
            self._held.discard(channel_id)
            self.rechecks.lifted(channel_id)
        self._read.add(channel_id)

    def all_lifted(self) -> None:
        """What held everything does not any more."""
        for channel_id in self._read - self._held:
            self.rechecks.lifted(channel_id)

    def forget(self, channel_ids: Iterable[int]) -> None:
        """Read these anew when they are next wanted."""
        for channel_id in channel_ids:
            self.ways.pop(channel_id, None)


def open_way(channel: Channel) -> Way:
    """A channel with its adapter and everything that holds all of its deliveries now.

    Never raises: a row that cannot be worked with holds its own deliveries, and nobody else's.
    """
    adapter, reasons = _open_adapter(channel)
    if channel.paused_at is not None:
        reasons.append(f"channel paused: {channel.pause_reason}")
    mark, why = _credential_mark(channel.credential)
    reasons.extend(filter(None, (why, *rule_complaints(channel.credential.destination_rules))))
    try:
        reasons.extend(f"misconfigured: {c.field} {c.text}" for c in unsound(channel))
        reasons.extend(f"not ready: {why}" for why in [adapter.ready()] if why)
    except Exception as error:  # noqa: BLE001  whatever an operator's settings make it raise
        reasons.append(f"misconfigured: {type(error).__name__}: {error}")
    way = Way(channel, adapter, mark, tuple(reasons), boottime())
    way.refused = credentials.holds_of(channel, mark)
    way.unverified = "" not in way.refused and credentials.renewed(channel, adapter, mark)
    way.questions_per_minute = budget_of(adapter)
    return way


def budget_of(adapter: Adapter) -> float:
    """Questions a minute: what the provider takes, or fewer if the channel says so; 0: any."""
    try:
        declared = float(adapter.declare().questions_per_minute)
        own = float(adapter.settings.get("questions_per_minute") or 0.0)
    except Exception:  # noqa: BLE001  whatever an operator's settings make it raise
        return 0.0
    return min((one for one in (declared, own) if one > 0), default=0.0)


def _open_adapter(channel: Channel) -> tuple[Adapter, list[str]]:
    try:
        return adapter_for(channel), []
    except UnknownAdapterError as error:
        return NoAdapter(channel.settings, str), [str(error)]
    except Exception as error:  # noqa: BLE001  whatever an operator's settings make it raise
        return NoAdapter({}, str), [f"misconfigured: {type(error).__name__}: {error}"]


def _credential_mark(credential: Credential) -> tuple[str, str]:
    """The fingerprint of the secret that is there now, and what speaks against using it.

    The first use remembers it. Another secret may be another account, with other destinations
    and other keys: what is owed waits until people have agreed to take it.
    """
    try:
        secret = read_secret(credential.secret_ref)
    except SecretError as error:
        return "", f"credential {credential.name} unavailable: {error}"
    mark = fingerprint(secret) if secret else "none"
    if not credential.fingerprint:
        if Credential.objects.filter(pk=credential.pk, fingerprint="").update(fingerprint=mark):
            credentials.lift(credential)  # people have just agreed to take it: it is tried again
    elif credential.fingerprint != mark:
        return mark, (
            f"{credentials.HELD_BY}{credential.name} is of another identity than before, or was"
            " renewed: on its page people may agree to take it, if it is of the same account"
        )
    return mark, ""


def policy_of(way: Way, contract: str) -> Policy:
    """The channel's policy now, with the promises that its provider gave when recorded."""
    if contract not in way.policies:
        way.policies[contract] = _new_policy(way, contract)
    return way.policies[contract]


def _new_policy(way: Way, contract: str) -> Policy:
    declared = json.loads(contract)
    channel = way.channel
    surface = declared["surface"] is not None
    return Policy(
        retry_schedule=tuple(channel.retry_schedule),
        look_up_schedule=tuple(channel.look_up_schedule),
        max_attempts=channel.max_attempts,
        deadline_s=channel.deadline_s,
        margin_s=channel.margin_s,
        processing_s=declared["processing_s"],
        key_honoured=declared["key"] is not None,
        key_scope=key_scope(declared["key_scope"], way.fingerprint, way.adapter.endpoint()),
        window_s=declared["window"]["seconds"],
        can_look_up=declared["look_up_by_key"] or declared["look_up_by_id"] or surface,
        resend_after_absent=channel.resend_after_absent == "automatic",
    )


def key_scope(kind: str, mark: str, endpoint: str) -> str:
    """Within whose name, and at which endpoint, a key is honoured: elsewhere it is a new one.

    Written on every attempt, also where no key is honoured: a search must look where it went.
    """
    who = kind if kind in {"none", "endpoint"} else f"{kind}:{mark}"
    return f"{who}@{sha256(endpoint)[:12]}" if endpoint else who
