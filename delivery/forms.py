"""The forms of channels and credentials: what a worker would hold or refuse is refused here."""

import json
from typing import Any

from django import forms
from django.forms.fields import InvalidJSONInput

from delivery.authority import rule_complaints
from delivery.channels.registry import ADAPTERS
from delivery.policy import objections
from delivery.spelled import capped_whole
from ledgers.canonical import canonical_json
from ledgers.errors import InvalidValueError
from ledgers.models import Channel, Credential

LONGEST_S = 86_400.0
# When the watch complains.
WATCHED = ("grace_s", "period_s", "expected_every_s", "probe_every_s")
# Fields that the form declares itself: Django then forgets the model's defaults.
DECLARED = (
    "settings", "deadline_s", "margin_s", "lease_s", "retry_schedule", "look_up_schedule",
    *WATCHED, "probe_to",
)  # fmt: skip
ATTEMPTS = (
    "After so many attempts that are known not to have been accepted it is failed, and a person"
    " may send it on. It costs one when the provider refuses for now, or when it could not be"
    ' reached. It costs none when the provider asks to come back later ("too many requests"), when'
    " the channel is paused, or when the worker itself holds back; and what may have arrived is"
    " never tried again on this account."
)


class Indented(json.JSONEncoder):
    """JSON that a person can read and edit."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs | {"indent": 2})


class Reader(json.JSONDecoder):
    """JSON whose whole numbers are too large, where Python would refuse to read them at all."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs | {"parse_int": capped_whole})


class JsonField(forms.JSONField):
    """JSON that every part of the chain can carry, and can be shown again where it cannot."""

    def __init__(self, *, decoder: type[json.JSONDecoder] | None = None, **kwargs: Any) -> None:
        super().__init__(decoder=decoder or Reader, **kwargs)

    def to_python(self, value: Any) -> Any:
        try:
            read = super().to_python(value)
            canonical_json(read, "value")
        except InvalidValueError as error:
            text = f"It {error.problem}. Right would be: {error.right}."
            raise forms.ValidationError(text, code="invalid") from None
        except RecursionError:
            raise forms.ValidationError("It is nested too deeply.", code="invalid") from None
        return read

    def bound_data(self, data: Any, initial: Any) -> Any:
        """What was typed is shown again as it was typed: reading it may be what failed."""
        return initial if self.disabled else InvalidJSONInput(data or "")

    def prepare_value(self, value: Any) -> Any:
        """A lone surrogate is no text that a page can hold: it is shown as its escape."""
        shown = super().prepare_value(value)
        return shown.encode("utf-8", "backslashreplace").decode() if shown else shown


def _seconds(label: str, help_text: str, least: float = 0.1, **options: Any) -> forms.FloatField:
    usual: dict[str, Any] = {"min_value": least, "max_value": LONGEST_S, "label": label}
    return forms.FloatField(**usual | options, help_text=f"{help_text} Seconds.")


def _schedule(help_text: str) -> forms.JSONField:
    return JsonField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 2}),
        help_text=f"{help_text} A list of seconds, such as [1, 5, 30].",
    )


class ChannelForm(forms.ModelForm):
    """A channel, with every complaint at the field that it is about."""

    adapter = forms.ChoiceField(choices=[(name, name) for name in ADAPTERS])
    # By its name: that is what a proposed change shows to whoever is to approve it.
    credential = forms.ModelChoiceField(Credential.objects.all(), to_field_name="name")
    settings = JsonField(
        required=False,
        encoder=Indented,
        widget=forms.Textarea(attrs={"rows": 8, "class": "vLargeTextField"}),
        help_text=(
            "What the adapter is to know, as a JSON object; see below. How a function of your own"
            " becomes a channel, by its path, is in docs/your-own-sender.md."
        ),
    )
    deadline_s = _seconds("Deadline", "The whole call must have ended after this.", least=0.05)
    margin_s = _seconds("Margin", "Kept free for clocks and networks.", least=0)
    lease_s = _seconds("Lease", "How long a worker holds a delivery: more than both together.")
    grace_s = _seconds(
        "Grace",
        "What is due for longer, and no worker takes, is an alarm; red after five times as long.",
        least=1,
        required=False,
    )
    period_s = _seconds(
        "Usual interval",
        "While something is owed, nothing delivered for so long is an alarm; red after twice as"
        " long. Leave room for the retries of an ordinary outage.",
        least=10,
        max_value=30 * LONGEST_S,
        required=False,
    )
    expected_every_s = _seconds(
        "Expected every",
        "Something is delivered at least so often, whether or not an agent recorded anything: so"
        " an agent that never ran is noticed, too. 0: no such promise.",
        least=0,
        max_value=400 * LONGEST_S,
        required=False,
    )
    probe_to = forms.CharField(
        required=False,
        max_length=1000,
        label="Probe to",
        help_text=(
            "A synthetic message goes there now and then, all the way, and is looked for: name a"
            " destination where it disturbs nobody, such as a mailbox or a room of its own. Empty:"
            " none is sent."
        ),
    )
    probe_every_s = _seconds(
        "Probe every", "How often.", least=60, max_value=30 * LONGEST_S, required=False
    )
    retry_schedule = _schedule("Pauses after attempts that are known not to have been accepted.")
    look_up_schedule = _schedule("When to search after an attempt that may have been accepted.")

    class Meta:
        model = Channel
        # A pause is a switch (`delivery.switches`), and no field of a form.
        exclude = ("paused_at", "pause_reason", "created_at")  # noqa: DJ006  all others
        field_classes = {"scopes_required": JsonField}
        help_texts = {"max_attempts": ATTEMPTS}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is None:
            for name in DECLARED:
                self.initial.setdefault(name, getattr(self.instance, name))
        else:
            self.initial["credential"] = self.instance.credential
            # The slug is part of identities: once a message went through it, it never changes.
            self.fields["slug"].disabled = self.instance.messages.exists()
        self.fields["scopes_required"].widget.attrs["rows"] = 2

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        _check_texts(self, "scopes_required", cleaned)
        for name in WATCHED:  # whoever says nothing of them leaves them as they are
            if name in cleaned and cleaned[name] is None:
                cleaned[name] = getattr(self.instance, name)
        if cleaned.get("rate_per_s") is not None and cleaned["rate_per_s"] < 0:
            self.add_error("rate_per_s", "Write 0 for no limit, or a number above it.")
        return cleaned

    def _post_clean(self) -> None:
        """The instance now has the new values: ask what is wrong with them, as a whole."""
        super()._post_clean()  # type: ignore[misc]  # not in the stubs
        if self.errors:
            return
        for field, texts in objections(self.instance).items():
            for text in texts:
                self.add_error(field if field in self.fields else None, text)


class CredentialForm(forms.ModelForm):
    """A credential: a reference to a secret, and how far it reaches."""

    accept_secret = forms.BooleanField(
        required=False,
        label="Take the secret that is there now",
        help_text=(
            "Its fingerprint is forgotten, and the next use remembers that of whatever secret the"
            " reference leads to. Without it a secret that was replaced holds what is owed."
        ),
    )

    class Meta:
        model = Credential
        fields = ("name", "secret_ref", "identity", "scopes", "destination_rules")
        field_classes = {"scopes": JsonField, "destination_rules": JsonField}

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        _check_texts(self, "scopes", cleaned)
        if "destination_rules" in cleaned:
            for complaint in rule_complaints(cleaned["destination_rules"]):
                self.add_error("destination_rules", complaint.removeprefix("destination_rules: "))
        return cleaned


def _check_texts(form: forms.ModelForm, field: str, cleaned: dict[str, Any]) -> None:
    value = cleaned.get(field, [])
    if not isinstance(value, list) or not all(isinstance(one, str) and one for one in value):
        form.add_error(field, 'Write a list of texts, such as ["chat:write"], or [].')
