"""Who may open what: one line per page, fragment, action and export of the console."""

from dataclasses import dataclass, field
from typing import Any

from reviews.roles import ROLES

SEES = frozenset({"viewer", "triager", "approver", "operator-admin", "auditor", "superuser"})
NOT_LET_IN = frozenset({"outsider", "anonymous"})


@dataclass(frozen=True)
class Access:
    """`args`: of its address; `channel` stands for a channel's slug, and so on."""

    roles: frozenset[str] = SEES
    args: tuple[str, ...] = ()
    query: dict[str, str] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)


OPERATES = frozenset({"operator-admin", "superuser"})
EXPORTS = frozenset({"auditor", "superuser"})

ACCESS: dict[str, Access] = {
    "overview": Access(),
    "overview_live": Access(),
    "concern": Access(args=("overdue",)),
    "jump": Access(query={"q": "nothing-of-this-name"}),
    "channels": Access(),
    "channel": Access(args=("alerts",)),
    "credentials": Access(),
    "pause": Access(OPERATES, args=("alerts",), form={"reason": "audit"}),
    "resume": Access(OPERATES, args=("alerts",), form={"reason": "audit is over"}),
    "hold": Access(OPERATES, form={"reason": "fire drill"}),
    "release": Access(OPERATES, form={"reason": "drill is over"}),
    "trail": Access(),
    "trail_export": Access(EXPORTS, args=("csv",)),
}

# Lists and records of the stock admin: which roles see them at all.
RECORDS = frozenset(ROLES) - {"service"} | {"superuser"}
CONTENTS = frozenset({"triager", "approver", "auditor", "superuser"})
