"""Freezing what a decision is about: ids, row versions and the evidence that was there."""

from collections.abc import Iterable, Mapping
from datetime import timedelta

from django.db import transaction

from delivery.errors import InvalidInputError
from ledgers.clock import database_now
from ledgers.models import Delivery, Evidence
from reviews import gates
from reviews.people import Person
from reviews.records import DecidedRow, Decision


def select(
    person: Person, versions: Mapping[int, int], about: str = "", cap: int = gates.CAP
) -> Decision:
    """Freeze a list of deliveries as they were seen, to be looked at and decided about.

    Args:
        person: who selects; only they can ask for a decision about it.
        versions: the rows' versions that they saw, by id.
        about: why they belong together.
        cap: how many there may be.

    Raises:
        InvalidInputError: none, or more than a decision may be about.
    """
    if not 1 <= len(versions) <= cap:
        right = f"1 to {cap} in one decision"
        raise InvalidInputError("deliveries", f"are {len(versions)}", right)
    with transaction.atomic():
        draft = Decision.objects.create(
            about=about[:300],
            requested_by=person.name,
            requester=person.user,
            expires_at=database_now() + timedelta(seconds=gates.DRAFT_S),
        )
        rows = Delivery.objects.filter(pk__in=versions).order_by("pk")
        evidence = _evidence_of(versions)
        DecidedRow.objects.bulk_create(
            _frozen(draft, row, versions[row.pk], evidence.get(row.pk, [])) for row in rows
        )
    return draft


def _frozen(draft: Decision, row: Delivery, version: int, evidence: list[int]) -> DecidedRow:
    return DecidedRow(
        decision=draft,
        delivery=row,
        row_version=version,
        status=row.status,
        evidence=evidence,
        decision_before=row.decision,
        decided_before=row.decided_at,
        withdrawn_before=row.withdrawn_at is not None,
    )


def _evidence_of(ids: Iterable[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    seen = Evidence.objects.filter(delivery__in=list(ids)).order_by("pk")
    for row_id, pk in seen.values_list("delivery_id", "pk"):
        found.setdefault(row_id, []).append(pk)
    return found
