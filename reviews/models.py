"""What people may do here, and what they decided.

Permissions need a model to hang on; `Console` has no table.
"""

from django.db import models

from reviews.proposals import Proposal
from reviews.records import Assignment, DecidedRow, Decision

__all__ = ["Assignment", "Console", "DecidedRow", "Decision", "Proposal"]


PERMISSIONS = (
    ("view_console", "see the console, without contents"),
    ("view_payload", "see contents, answers and results; each look is in the trail"),
    ("triage", "take an unknown delivery, look again, add evidence"),
    ("decide", "decide what one person may decide, request what takes two"),
    ("approve", "approve or refuse what another person requested"),
    ("operate_channels", "pause and resume channels, and hold everything"),
    ("edit_channels", "change channels and credentials, request what takes two people"),
    ("export_trail", "export the trail"),
    ("purge", "remove records that are older than the policy"),
)


class Console(models.Model):
    """The console's own permissions; `reviews.roles` says which role has which."""

    class Meta:
        managed = False
        default_permissions = ()
        permissions = PERMISSIONS

    def __str__(self) -> str:
        return "console"
