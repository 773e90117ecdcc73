"""Changing a channel or a credential: as a whole, by the one form that knows what is right.

Who must agree to a change is not asked here (see `reviews.proposing`). A pause is no change: see
`delivery.switches`.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

from django import forms
from django.db import connection, transaction
from django.db.models import Q

from delivery.errors import EditError
from delivery.forms import ChannelForm, CredentialForm
from ledgers import outbox
from ledgers.canonical import Json
from ledgers.models import Channel, Credential, Delivery, Message
from ledgers.states import OPEN
from ledgers.trail import log

Settings = Channel | Credential
Values = dict[str, Json]
# In quotes: at run time Django's forms take no type arguments.
Form: TypeAlias = "forms.ModelForm[Any]"
FORMS: "dict[type[Settings], type[Form]]" = {
    Channel: ChannelForm,
    Credential: CredentialForm,
}
# Said with a change, and no column of the row.
ACCEPT = "accept_secret"


@dataclass(frozen=True, slots=True)
class Author:
    """Who changes something, and what the trail keeps of why."""

    name: str
    detail: Mapping[str, Json]


def what(row: Settings) -> str:
    """What it is: `channel` or `credential`."""
    return "channel" if isinstance(row, Channel) else "credential"


def in_use(row: Settings) -> bool:
    """Whether anything was ever recorded through it.

    A first message that is being recorded at this very moment counts as one that comes later: its
    foreign key is checked when it commits.
    """
    by = Q(channel=row) if isinstance(row, Channel) else Q(channel__credential=row)
    return Message.objects.filter(by).exists()


def hold(row: Settings) -> Settings:
    """The row as it is now, locked until the transaction ends.

    A credential with its channels: so no change of a channel passes one of what it sends with.
    """
    kind = type(row)
    locked: Settings = kind.objects.select_for_update().get(pk=row.pk)
    if isinstance(locked, Credential):
        list(Channel.objects.select_for_update().filter(credential=locked).order_by("pk"))
    return locked


def values_of(row: Settings) -> Values:
    """What of a row can be changed, as JSON; a credential by its name."""
    names = [name for name in FORMS[type(row)].base_fields if name != ACCEPT]
    values = {name: getattr(row, name) for name in names}
    if isinstance(row, Channel):
        values["credential"] = row.credential.name
    else:
        values[ACCEPT] = False
    return values


def filled(row: Settings, data: Mapping[str, Any] | None = None) -> "Form":
    """The form of a row, saved or not; with `data`, as somebody filled it in."""
    return FORMS[type(row)](data, instance=row)


def wanted(form: "Form") -> Values:
    """What a valid form asks for, as JSON."""
    cleaned = form.cleaned_data
    return {
        name: value.name if isinstance(value, Credential) else value
        for name, value in cleaned.items()
    }


def posted(values: Mapping[str, Json]) -> dict[str, Any]:
    """Values as a browser sends them: the form reads them again."""
    return {
        name: json.dumps(value) if isinstance(value, list | dict) else value
        for name, value in values.items()
        if value is not False
    }


def change(row: Settings, values: Mapping[str, Json], author: Author) -> tuple[str, ...]:
    """Give a row these values, all or none; what they held back is looked at again at once.

    The trigger on its table writes the event.

    Args:
        row: which; it is read again, and locked.
        values: what of it is to be different, as `values_of` spells it.
        author: who, and why.

    Returns:
        the names of the columns that were written.

    Raises:
        EditError: it could not work like this; the field is named. Nothing was changed.
    """
    with transaction.atomic():
        row = hold(row)
        before = values_of(row)
        form = _sound(row, before | dict(values))
        row, read = form.instance, wanted(form)
        for name in values:
            if read[name] != values[name]:
                raise EditError(name, "It cannot be changed any more.")
        names = [name for name, value in read.items() if value != before[name]]
        _forget_fingerprint(row, names)
        if not names:
            raise EditError("", "Nothing would be different.")
        with _as(author):
            row.save(update_fields=names)
        _wake(row)
    return tuple(names)


def check(row: Settings, values: Mapping[str, Json]) -> None:
    """Whether a row could work with these values; nothing is written.

    Raises:
        EditError: it could not; the field is named.
    """
    _sound(type(row).objects.get(pk=row.pk), values_of(row) | dict(values))


def _forget_fingerprint(row: Settings, names: list[str]) -> None:
    """Another reference leads to another secret, and so does the same one after a renewal."""
    if isinstance(row, Credential) and {ACCEPT, "secret_ref"} & {*names}:
        row.fingerprint = ""
        names[:] = [*(name for name in names if name != ACCEPT), "fingerprint"]


def add(kind: type[Settings], values: Mapping[str, Json], author: Author) -> Settings:
    """Make a channel or a credential.

    Raises:
        EditError: it could not work like this; the field is named.
    """
    with transaction.atomic():
        row: Settings = _sound(kind(), values).save()
        log(f"add_{what(row)}", author.name, detail={what(row): str(row), **author.detail})
    return row


def _sound(row: Settings, values: Mapping[str, Json]) -> "Form":
    form = filled(row, posted(values))
    for field, texts in form.errors.items():
        raise EditError("" if field == "__all__" else field, " ".join(map(str, texts)))
    return form


@contextmanager
def _as(author: Author) -> Iterator[None]:
    """The trigger learns from the transaction who makes a change."""
    _say(author.name, json.dumps(dict(author.detail)))
    yield
    # What else the transaction writes was no part of it. One that fails forgets by itself.
    _say("", "")


def _say(person: str, why: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('counterfoil.person', %s, true),"
            " set_config('counterfoil.change', %s, true)",
            [person, why],
        )


def _wake(row: Settings) -> None:
    """What the old settings held back is looked at again at once."""
    by = (
        Q(message__channel=row) if isinstance(row, Channel) else Q(message__channel__credential=row)
    )
    owed = Delivery.objects.filter(by, status__in=OPEN, outbox_item__isnull=False)
    outbox.wake(owed.values_list("pk", flat=True))
