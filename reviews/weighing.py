"""A proposed change, weighed: what it makes different, who must agree, whether it still stands."""

from collections.abc import Mapping

from delivery import editing
from delivery.editing import Settings
from ledgers.canonical import Json
from ledgers.models import Credential
from reviews.differences import Line, differences
from reviews.kinds import Gate
from reviews.proposals import Proposal
from reviews.seeing import conduct


def lines_of(proposal: Proposal) -> list[Line]:
    """What it makes different."""
    if proposal.is_new:
        return []
    return differences(proposal.what, proposal.before, proposal.after)


def gate_of(row: Settings, lines: list[Line]) -> Gate:
    """Who must agree."""
    if not any(line.why for line in lines) or not editing.in_use(row):
        return Gate.ONE
    return Gate.TWO if conduct().approvers > 1 else Gate.ALONE


def moved(proposal: Proposal) -> bool:
    """Whether what it is about has been changed since it was looked at."""
    row = proposal.row
    now = (row.row_version, authority_version(row, proposal.after))
    return now != (proposal.row_version, proposal.authority_version)


def authority_version(row: Settings, after: Mapping[str, Json]) -> int:
    """The version of the credential that a channel is to use; 0 for a credential itself."""
    if isinstance(row, Credential):
        return 0
    name = after.get("credential", row.credential.name)
    found = Credential.objects.filter(name=name).values_list("row_version", flat=True).first()
    return found or 0
