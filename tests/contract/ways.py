"""The adapters that are known by contract, and how each reaches its vendor's fake."""

from dataclasses import dataclass, field
from typing import Any

from delivery.channels.api import ApiAdapter
from delivery.channels.discord import DiscordAdapter
from delivery.channels.discourse import DiscourseAdapter
from delivery.channels.github import GithubAdapter
from delivery.channels.pagerduty import PagerdutyAdapter
from delivery.channels.resend import ResendAdapter
from delivery.channels.slack import SlackAdapter
from delivery.channels.telegram import TelegramAdapter
from delivery.channels.twilio import TwilioAdapter
from tests.contract import vendors
from tests.contract.vendor import SECRET, Vendor


@dataclass(slots=True)
class Way:
    """One adapter, its vendor, and where its message goes."""

    vendor: type[Vendor]
    adapter: type[ApiAdapter]
    to: str
    settings: dict[str, Any] = field(default_factory=dict)
    secret: str = SECRET


WAYS = {
    "slack": Way(vendors.Slack, SlackAdapter, "C0123ABCDEF"),
    "discord": Way(vendors.Discord, DiscordAdapter, "112233445566778899"),
    "telegram": Way(
        vendors.Telegram, TelegramAdapter, "-1001234567890", secret=vendors.Telegram.token
    ),
    "github": Way(vendors.Github, GithubAdapter, "acme/ops#12"),
    "discourse": Way(vendors.Discourse, DiscourseAdapter, "77", {"username": "counterfoil"}),
    "resend": Way(vendors.Resend, ResendAdapter, "ops@acme.test", {"sender": "agent@acme.test"}),
    "twilio": Way(
        vendors.Twilio,
        TwilioAdapter,
        "+4930123456",
        {"account_sid": vendors.Twilio.account, "sender": vendors.Twilio.me},
    ),
    "pagerduty": Way(vendors.Pagerduty, PagerdutyAdapter, "db-3.acme.test"),
}
