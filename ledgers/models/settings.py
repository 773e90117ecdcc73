"""Through what is sent, and with which authority."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import ClassVar

from django.core.exceptions import ValidationError
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models.functions import Now


def default_retry_schedule() -> list[float]:
    """Seconds to wait after each attempt that is known not to have been accepted."""
    return [1, 5, 30, 120, 600, 1800]


def default_look_up_schedule() -> list[float]:
    """Seconds after an ambiguous attempt at which the destination is searched."""
    return [30, 300, 3600]


def default_destination_rules() -> list[str]:
    """No destination is allowed until a person says which."""
    return []


class Installation(models.Model):
    """The one row that tells this installation from every other, a restored copy included."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    # Identities are derived in it: two installations never share a key.
    namespace = models.UUIDField(default=uuid.uuid4)
    # Recognizers are derived with it. It is kept with the ledger, so that a restored ledger still
    # recognises its own messages; it opens nothing else.
    recognizer_secret = models.BinaryField(max_length=32)
    epoch = models.PositiveIntegerField(default=1)
    held_at = models.DateTimeField(null=True, blank=True)
    held_reason = models.CharField(max_length=300, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    # Which database this was when workers last knew it: a copy finds that it is another.
    instance = models.JSONField(null=True, blank=True)
    # When workers could not tell where this comes from. Held until a person says (`confirmed_at`).
    unsure_at = models.DateTimeField(null=True, blank=True)
    confirmed_at = models.DateTimeField(null=True, blank=True)
    # The latest restore: when it was noticed, and the moment before which nothing is forgotten.
    restored_at = models.DateTimeField(null=True, blank=True)
    restore_point = models.DateTimeField(null=True, blank=True)
    # Up to which delivery all were rewound; None: all are.
    rewound_to = models.BigIntegerField(null=True, blank=True)
    # Runs that began until then may have been recorded before, and that be forgotten. None with a
    # restore: its hold is not lifted, so all of them may.
    doubt_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.CheckConstraint(name="installation_is_one_row", condition=models.Q(id=1)),
            # Lifting the hold in any other way than by deciding what it is about is a mistake.
            models.CheckConstraint(
                name="installation_restored_is_held",
                condition=models.Q(restored_at__isnull=True)
                | models.Q(doubt_until__isnull=False)
                | models.Q(held_at__isnull=False),
            ),
            models.CheckConstraint(
                name="installation_unsure_is_held",
                condition=models.Q(unsure_at__isnull=True) | models.Q(held_at__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return str(self.namespace)

    @property
    def restoring(self) -> bool:
        """Whether the hold of a restore stands."""
        return self.restored_at is not None and self.doubt_until is None


class Credential(models.Model):
    """An authority, by reference. The secret itself is never stored, logged or shown."""

    name = models.SlugField(max_length=60, unique=True)
    secret_ref = models.CharField(
        max_length=300,
        blank=True,
        validators=[
            RegexValidator(
                r"^(env:[A-Za-z_][A-Za-z0-9_]*|file:/.+)$", "write env:NAME or file:/path"
            )
        ],
        help_text="Where the secret is read at the moment of use: env:NAME or file:/path.",
    )
    identity = models.CharField(
        max_length=200, blank=True, help_text="The account it belongs to, as the provider names it."
    )
    fingerprint = models.CharField(max_length=64, blank=True, editable=False)
    scopes = models.JSONField(default=list, blank=True, help_text="Scopes granted to it.")
    destination_rules = models.JSONField(
        default=default_destination_rules,
        blank=True,
        help_text='Destinations it may reach, as patterns: ["https://hooks.example.com/*"].',
    )
    verified_at = models.DateTimeField(null=True, blank=True, editable=False)
    # Raised by a trigger with every change of what it may do, whoever makes it.
    row_version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name


class Channel(models.Model):
    """A way out that an operator configured. Its slug is part of identities: it never changes."""

    slug = models.SlugField(max_length=60, unique=True)
    adapter = models.CharField(max_length=40)
    credential = models.ForeignKey(Credential, on_delete=models.PROTECT, related_name="channels")
    settings = models.JSONField(default=dict, blank=True)
    scopes_required = models.JSONField(default=list, blank=True)
    retry_schedule = models.JSONField(default=default_retry_schedule)
    look_up_schedule = models.JSONField(default=default_look_up_schedule, blank=True)
    max_attempts = models.PositiveIntegerField(default=8, validators=[MinValueValidator(1)])
    # Seconds. The lease outlives the call's deadline by more than the margin.
    lease_s = models.FloatField(default=60, validators=[MinValueValidator(0.1)])
    # As long as the slowest adapter's provider may take: no channel starts with a warning.
    deadline_s = models.FloatField(default=20, validators=[MinValueValidator(0.05)])
    margin_s = models.FloatField(default=5, validators=[MinValueValidator(0)])
    concurrency = models.PositiveIntegerField(default=0, help_text="Calls at once; 0: no limit.")
    rate_per_s = models.FloatField(default=0, help_text="Submissions per second; 0: no limit.")
    resend_after_absent = models.CharField(
        max_length=10,
        choices=[("ask", "ask a person"), ("automatic", "send again by machine")],
        default="ask",
    )
    requires_approval = models.BooleanField(default=False)
    paused_at = models.DateTimeField(null=True, blank=True)
    pause_reason = models.CharField(max_length=300, blank=True)
    for_testing = models.BooleanField(
        default=False, help_text="Crash drills may send through it. Never set it on a real channel."
    )
    # When the watch complains, in seconds; `delivery.forms` says what each means. The database has
    # the defaults, too: an older version of the code may add a channel.
    grace_s = models.FloatField(default=60, db_default=60, validators=[MinValueValidator(1)])
    period_s = models.FloatField(default=1800, db_default=1800, validators=[MinValueValidator(10)])
    # 0: nothing was promised.
    expected_every_s = models.FloatField(default=0, db_default=0, validators=[MinValueValidator(0)])
    # Where a synthetic message goes, and how often, in seconds; empty: none is sent.
    probe_to = models.CharField(max_length=1000, blank=True, default="", db_default="")
    probe_every_s = models.FloatField(
        default=3600, db_default=3600, validators=[MinValueValidator(60)]
    )
    created_at = models.DateTimeField(db_default=Now())
    # Raised by a trigger with every change but a pause, whoever makes it.
    row_version = models.PositiveIntegerField(default=1, editable=False)

    # What the layers above know to be wrong with a channel, by field. They add to it, since
    # imports run one way.
    objections: ClassVar[list[Callable[["Channel"], Mapping[str, list[str]]]]] = []

    class Meta:
        ordering = ("slug",)

    def __str__(self) -> str:
        return self.slug

    def full_clean(
        self,
        exclude: Iterable[str] | None = None,
        validate_unique: bool = True,  # noqa: FBT001, FBT002  Django's
        validate_constraints: bool = True,  # noqa: FBT001, FBT002
    ) -> None:
        """Once every field is right by itself, also what the layers above object to.

        A form leaves some fields out here, and asks by itself when all of its own are right.

        Raises:
            ValidationError: by field.
        """
        super().full_clean(exclude, validate_unique, validate_constraints)
        if exclude:
            return
        found: dict[str, list[str]] = {}
        for objection in self.objections:
            for field, texts in objection(self).items():
                found.setdefault(field, []).extend(texts)
        if found:
            raise ValidationError(found)
