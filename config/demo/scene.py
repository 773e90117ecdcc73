"""Who plays: two channels with opposite promises, and a recipient that misbehaves as told."""

from dataclasses import dataclass
from typing import Any

from delivery.simulator.client import Simulator
from ledgers.models import Channel, Credential

AGENT = "demo-digest"
CREDENTIAL = "demo"
# What a dead worker's lease costs in waiting. Real channels take a minute.
LEASE_S, DEADLINE_S, MARGIN_S = 3.0, 1.0, 0.5
WINDOW_S = 600.0

# Killed after the recipient accepted: settled by the key, by a search.
KEPT_BY_KEY = "team:oslo"
KEPT_BY_SEARCH = "room:ops"
# Killed before the recipient acted: proven absent by a search, then sent.
NEVER_ARRIVED = "room:sales"
# Accepts, loses the answer, hides its history, honours no key.
HIDING = "room:vault"


@dataclass(frozen=True, slots=True)
class Way:
    """One channel of the demo."""

    slug: str
    destinations: tuple[str, ...]
    settings: dict[str, Any]


CHANNELS = (
    Way(
        "demo-teams",  # honours a key, and cannot be searched
        ("team:berlin", "team:cairo", "team:delhi", "team:lima", "team:oslo", "team:tokyo"),
        {
            "dedupe_window_s": WINDOW_S,
            "look_up_by_key": False,
            "look_up_by_id": False,
            "scan": False,
        },
    ),
    Way(
        "demo-rooms",  # honours no key, and can be searched
        ("room:board", "room:finance", "room:legal", "room:ops", "room:sales", "room:support",
         "room:vault"),
        {"look_up_by_key": False, "look_up_by_id": False},
    ),
)  # fmt: skip
DESTINATIONS = tuple(to for way in CHANNELS for to in way.destinations)


def set_up_channels(url: str) -> None:
    """Make the demo's channels, or lead them to this recipient."""
    credential, _ = Credential.objects.update_or_create(
        name=CREDENTIAL,
        defaults={"identity": "counterfoil", "destination_rules": ["team:*", "room:*"]},
    )
    for way in CHANNELS:
        Channel.objects.update_or_create(
            slug=way.slug,
            defaults={
                "adapter": "simulator",
                "credential": credential,
                "settings": way.settings | {"url": url},
                "retry_schedule": [1, 1, 2, 5],
                "look_up_schedule": [1, 5],
                "lease_s": LEASE_S,
                "deadline_s": DEADLINE_S,
                "margin_s": MARGIN_S,
                "resend_after_absent": "automatic",
            },
        )


def give_nature(recipient: Simulator) -> None:
    """Tell the recipient what it always is: who honours keys, and who hides its history."""
    for team in CHANNELS[0].destinations:
        recipient.behave(team, dedupe_s=WINDOW_S)
    recipient.behave(HIDING, listing="empty", may_read=False)


def give_script(recipient: Simulator) -> None:
    """Tell the recipient how to misbehave, once each; then it just accepts."""
    for to in (KEPT_BY_KEY, KEPT_BY_SEARCH):
        recipient.behave(to, {"do": "accept_and_wait", "signal": "accepted"})
    recipient.behave(
        NEVER_ARRIVED,
        {"do": "rate_limit", "retry_after": "2"},
        {"do": "accept_and_wait", "effect": False, "signal": "ignored"},
    )
    recipient.behave(HIDING, "accept_and_reset")
