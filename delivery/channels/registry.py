"""Which name in a channel's row stands for which adapter."""

from collections.abc import Mapping
from typing import Any, Protocol

from delivery.channels.contract import Adapter
from delivery.channels.discord import DiscordAdapter
from delivery.channels.discourse import DiscourseAdapter
from delivery.channels.email import EmailAdapter
from delivery.channels.forum import ForumAdapter
from delivery.channels.function import FunctionAdapter
from delivery.channels.github import GithubAdapter
from delivery.channels.matrix import MatrixAdapter
from delivery.channels.pagerduty import PagerdutyAdapter
from delivery.channels.resend import ResendAdapter
from delivery.channels.roundup import RoundupAdapter
from delivery.channels.secrets import read_secret
from delivery.channels.ses import SesAdapter
from delivery.channels.simulator import SimulatorAdapter
from delivery.channels.slack import SlackAdapter
from delivery.channels.telegram import TelegramAdapter
from delivery.channels.twilio import TwilioAdapter
from delivery.channels.webhook import WebhookAdapter
from delivery.errors import UnknownAdapterError

ADAPTERS: Mapping[str, type[Adapter]] = {
    adapter.slug: adapter
    for adapter in (
        WebhookAdapter,
        EmailAdapter,
        MatrixAdapter,
        ForumAdapter,
        RoundupAdapter,
        ResendAdapter,
        SesAdapter,
        SlackAdapter,
        DiscordAdapter,
        TelegramAdapter,
        GithubAdapter,
        DiscourseAdapter,
        TwilioAdapter,
        PagerdutyAdapter,
        FunctionAdapter,
        SimulatorAdapter,
    )
}


class HasSecret(Protocol):
    """A credential's row, as far as an adapter needs it."""

    @property
    def secret_ref(self) -> str: ...


class HasAdapter(Protocol):
    """A channel's row, as far as an adapter needs it."""

    @property
    def adapter(self) -> str: ...
    @property
    def settings(self) -> Mapping[str, Any]: ...
    @property
    def credential(self) -> HasSecret: ...


def adapter_class(name: str) -> type[Adapter]:
    """The adapter of that name.

    Raises:
        UnknownAdapterError: listing the known ones.
    """
    try:
        return ADAPTERS[name]
    except KeyError:
        known = ", ".join(sorted(ADAPTERS))
        raise UnknownAdapterError(f"no adapter is named {name!r}; known are: {known}") from None


def adapter_for(channel: HasAdapter) -> Adapter:
    """The adapter of a channel, with its settings, and its secret read only when it is used."""
    credential = channel.credential
    return adapter_class(channel.adapter)(
        channel.settings, lambda: read_secret(credential.secret_ref)
    )
