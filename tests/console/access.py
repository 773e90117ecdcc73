"""Who may open what: one line per page, fragment, action and export of the console."""

from dataclasses import dataclass, field
from typing import Any

from reviews.roles import ROLES

SEES = frozenset({"viewer", "triager", "approver", "operator-admin", "auditor", "superuser"})
NOT_LET_IN = frozenset({"outsider", "anonymous"})


@dataclass(frozen=True)
class Access:
    """`args`: of its address; what stands in braces is made by `tests.console.things`."""

    roles: frozenset[str] = SEES
    args: tuple[str, ...] = ()
    query: dict[str, str] = field(default_factory=dict)
    form: dict[str, Any] = field(default_factory=dict)


EDITS = frozenset({"operator-admin", "superuser"})
OPERATES = frozenset({"operator-admin", "superuser"})
EXPORTS = frozenset({"auditor", "superuser"})
TRIAGES = frozenset({"triager", "superuser"})
APPROVES = frozenset({"approver", "superuser"})
# What each kind of decision takes is asked where it is made: pages, commands and code alike.
DECIDES = TRIAGES | APPROVES

# The forms as they come, with one field made narrower.
CHANNEL: dict[str, Any] = {
    "slug": "alerts",
    "adapter": "function",
    "credential": "alerts-key",
    "settings": '{"path": "tests.delivery.senders.send"}',
    "scopes_required": '["chat:write", "files:read"]',
    "retry_schedule": "[0]",
    "look_up_schedule": "[]",
    "max_attempts": "8",
    "deadline_s": "5",
    "margin_s": "1",
    "lease_s": "60",
    "concurrency": "0",
    "rate_per_s": "5",
    "resend_after_absent": "ask",
    "grace_s": "60",
    "period_s": "1800",
    "expected_every_s": "0",
    "probe_to": "",
    "probe_every_s": "3600",
}
CREDENTIAL: dict[str, Any] = {
    "name": "alerts-key",
    "secret_ref": "",
    "identity": "",
    "scopes": "[]",
    "destination_rules": '["tg:*"]',
}

ACCESS: dict[str, Access] = {
    "overview": Access(),
    "overview_live": Access(),
    "liveness": Access(),
    "liveness_live": Access(),
    "concern": Access(args=("overdue",)),
    "jump": Access(query={"q": "nothing-of-this-name"}),
    "channels": Access(),
    "channel": Access(args=("alerts",)),
    "channel_edit": Access(EDITS, args=("alerts",)),
    "channel_propose": Access(EDITS, args=("alerts",), form=CHANNEL | {"version": "1"}),
    "channel_new": Access(EDITS),
    "channel_add": Access(EDITS, form=CHANNEL | {"slug": "{new}", "reason": "a new room"}),
    "credentials": Access(),
    "credential": Access(args=("alerts-key",)),
    "credential_edit": Access(EDITS, args=("alerts-key",)),
    "credential_propose": Access(EDITS, args=("alerts-key",), form=CREDENTIAL | {"version": "1"}),
    "credential_new": Access(EDITS),
    "credential_add": Access(EDITS, form=CREDENTIAL | {"name": "{new}", "reason": "new"}),
    "proposal": Access(args=("{proposal}",)),
    "proposal_request": Access(EDITS, args=("{proposal}",), form={"reason": "audit"}),
    "proposal_approve": Access(APPROVES, args=("{proposal}",)),
    "proposal_refuse": Access(EDITS | APPROVES, args=("{proposal}",), form={"answer": "no"}),
    "pause": Access(OPERATES, args=("alerts",), form={"reason": "audit"}),
    "resume": Access(OPERATES, args=("alerts",), form={"reason": "audit is over"}),
    "hold": Access(OPERATES, form={"reason": "fire drill"}),
    "release": Access(OPERATES, form={"reason": "drill is over"}),
    "restore": Access(),
    "restore_select": Access(TRIAGES, form={"group": "alerts:meanwhile:unsearched"}),
    "restore_confirm": Access(OPERATES, form={"reason": "it never moved"}),
    "restore_declare": Access(OPERATES, form={"reason": "put back by hand"}),
    "restore_lift": Access(OPERATES, form={"reason": "all is decided"}),
    "trail": Access(),
    "trail_export": Access(EXPORTS, args=("csv",)),
    "retention": Access(),
    "retention_purge": Access(OPERATES, form={"reason": "the year is over"}),
    "triage": Access(),
    "triage_news": Access(query={"since": "2026-12-01T00:00:00+00:00"}),
    "triage_take": Access(TRIAGES),
    "triage_next": Access(TRIAGES),
    "triage_select": Access(DECIDES),
    "delivery": Access(args=("{delivery}",)),
    "delivery_decide": Access(
        DECIDES, args=("{delivery}",), form={"kind": "leave", "reason": "nobody needs it"}
    ),
    "delivery_look": Access(TRIAGES, args=("{delivery}",)),
    "delivery_later": Access(TRIAGES, args=("{delivery}",), form={"minutes": "5"}),
    "delivery_take": Access(TRIAGES, args=("{delivery}",)),
    "delivery_hand": Access(TRIAGES, args=("{delivery}",), form={"person": "triager"}),
    "run": Access(args=("{run}",)),
    "approvals": Access(),
    "decision": Access(args=("{decision}",)),
    "decision_live": Access(args=("{decision}",)),
    "decision_fill": Access(DECIDES, args=("{decision}",)),
    "decision_confirm": Access(DECIDES, args=("{decision}",)),
    "decision_approve": Access(APPROVES, args=("{decision}",)),
    "decision_refuse": Access(DECIDES, args=("{decision}",)),
    "decision_undo": Access(DECIDES, args=("{decision}",)),
}

# Lists and records of the stock admin: which roles see them at all.
RECORDS = frozenset(ROLES) - {"service"} | {"superuser"}
CONTENTS = frozenset({"triager", "approver", "auditor", "superuser"})
