"""Seals over what may never change again: events, closed attempts and evidence."""

from django.contrib.postgres.fields import ArrayField
from django.db import models


class Unsealed(models.Model):
    """One row of the record that waits for its seal. A trigger puts it here with the row itself.

    So a row that drew its number early and is committed late is in a later seal: nothing is
    concluded from the order of numbers or of clocks.
    """

    pk = models.CompositePrimaryKey("kind", "row_id")
    kind = models.CharField(max_length=8)  # event, attempt or evidence
    row_id = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.kind} {self.row_id}"


class Seal(models.Model):
    """A hash tree over some rows of the record, and the seal before it. Append-only.

    Its leaves stay when the rows are purged, so that the tree can be built again for ever. They
    stand in the order events, attempts, evidence, each by number.
    """

    number = models.BigIntegerField(primary_key=True)
    sealed_at = models.DateTimeField()
    events = ArrayField(models.BigIntegerField())
    attempts = ArrayField(models.BigIntegerField())
    evidence = ArrayField(models.BigIntegerField())
    leaves = models.BinaryField()  # 32 bytes each
    root = models.BinaryField(max_length=32)
    previous = models.BinaryField(max_length=32)
    hash = models.BinaryField(max_length=32)

    class Meta:
        ordering = ("number",)
        constraints = (
            models.CheckConstraint(name="seal_counts_from_one", condition=models.Q(number__gte=1)),
        )

    def __str__(self) -> str:
        return f"seal {self.number}"
