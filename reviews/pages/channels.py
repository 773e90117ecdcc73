"""Channels and credentials: what each can do, how far it reaches, and its switch."""

from typing import Any

from django.http import Http404, HttpRequest
from django.http.response import HttpResponseBase

from delivery.channels.secrets import SecretError, fingerprint, read_secret
from delivery.credentials import shut_channels
from delivery.editing import Settings, what
from delivery.models import CredentialHold, Probe
from delivery.reported import standing_of
from delivery.switches import HELD, PAUSED
from ledgers.clock import database_now
from ledgers.models import Channel, Credential, Event, Installation
from ledgers.models.trail import OF_SETTINGS
from reviews.capability import capability
from reviews.charts.schedule import schedule_of
from reviews.foresight import foresee
from reviews.kinds import Stage
from reviews.numbers import per_channel
from reviews.pages.registry import Menu, may, page
from reviews.pages.shown import show
from reviews.proposals import Proposal

HISTORY = 12


@page("channels", "channels/", menu=Menu("Ways out", "Channels", 10, "paused"))
def channels(request: HttpRequest) -> HttpResponseBase:
    """All ways out, and the switch of everything."""
    numbers = per_channel()
    rows = [
        (capability(one), numbers.get(one.pk))
        for one in Channel.objects.select_related("credential")
    ]
    held = Installation.objects.filter(held_at__isnull=False).first()
    context: dict[str, Any] = {
        "rows": rows,
        "held": held,
        "shut": shut_channels(),
        "foresight": foresee([one.channel.pk for one, _ in rows], HELD) if held else None,
        "may_switch": may(request, "operate_channels"),
        "may_edit": may(request, "edit_channels"),
    }
    return show(request, "console/channels.html", "Channels", context)


@page("channel", "channels/<slug:slug>/")
def channel(request: HttpRequest, slug: str) -> HttpResponseBase:
    """One way out."""
    row = find_channel(slug)
    one = capability(row)
    context: dict[str, Any] = {
        "one": one,
        "schedule": schedule_of(one) if one.drawable else None,
        "numbers": per_channel().get(row.pk),
        "foresight": foresee([row.pk], PAUSED) if row.paused_at else None,
        "receipts": standing_of(row),
        "probe": Probe.objects.filter(channel=row).first(),
        "holds": CredentialHold.objects.filter(channel=row),
        "waiting": waiting_for(row),
        "events": history_of(row),
        "may_switch": may(request, "operate_channels"),
        "may_edit": may(request, "edit_channels"),
    }
    return show(request, "console/channel.html", f"Channel {row.slug}", context)


@page("credentials", "credentials/", menu=Menu("Ways out", "Credentials", 20))
def credentials(request: HttpRequest) -> HttpResponseBase:
    """All authorities, by reference; the secrets themselves are nowhere here."""
    rows = Credential.objects.prefetch_related("channels")
    context = {"rows": rows, "may_edit": may(request, "edit_channels")}
    return show(request, "console/credentials.html", "Credentials", context)


@page("credential", "credentials/<slug:name>/")
def credential(request: HttpRequest, name: str) -> HttpResponseBase:
    """One authority: how far it reaches, who uses it, and what was done to it."""
    row = find_credential(name)
    context: dict[str, Any] = {
        "row": row,
        "channels": row.channels.all(),
        "readable": readable(row),
        "waiting": waiting_for(row),
        "events": history_of(row),
        "may_edit": may(request, "edit_channels"),
    }
    return show(request, "console/credential.html", f"Credential {row.name}", context)


def readable(row: Credential) -> str:
    """Whether this process finds the secret; a worker may not. Never the secret itself."""
    try:
        secret = read_secret(row.secret_ref)
    except SecretError as error:
        return f"not found: {error}"
    return f"found, fingerprint {fingerprint(secret)}" if secret else "none is needed"


def waiting_for(row: Settings) -> list[Proposal]:
    """What people have asked to change of it, and nobody has answered yet."""
    waiting = {"stage": Stage.REQUESTED, "expires_at__gt": database_now()}
    return list(Proposal.objects.filter(**{what(row): row}, **waiting))


def history_of(row: Settings) -> list[Event]:
    """What was done to it, the latest first."""
    about = {f"detail__{what(row)}": str(row)}
    return list(Event.objects.filter(kind__in=OF_SETTINGS, **about).order_by("-pk")[:HISTORY])


def find_channel(slug: str) -> Channel:
    """The channel of this name, or a 404."""
    rows = Channel.objects.select_related("credential")
    row = None if "\x00" in slug else rows.filter(slug=slug).first()
    if row is None:
        raise Http404(f"There is no channel {slug}.")
    return row


def find_credential(name: str) -> Credential:
    """The credential of this name, or a 404."""
    row = Credential.objects.filter(name=name).first()
    if row is None:
        raise Http404(f"There is no credential {name}.")
    return row
