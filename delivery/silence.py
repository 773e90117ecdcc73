"""When silence is too long, and which rows are overdue: for the watch and the console alike."""

# A delivery that is due waits no longer than this where a worker is well.
GRACE_S = 60
# A worker beats every five seconds; a q cluster starts a shift every minute.
SILENT_S = 90.0
# Unknown for so long, a delivery needs a person: machines have looked for it by then.
UNKNOWN_LATE_S = 300

# Channels on which nobody but a machine keeps anything waiting. What a person holds is late by
# their word, and what is practised wakes nobody.
_LEFT_TO_MACHINES = (
    "SELECT id FROM ledgers_channel WHERE paused_at IS NULL AND NOT for_testing"
    " AND NOT EXISTS (SELECT FROM ledgers_installation WHERE held_at IS NOT NULL)"
)
# A try that takes a person's approval and has none: none of `facts.GO_ON`.
_UNAPPROVED = (
    "d.status = 'pending' AND d.decision NOT IN ('try_again', 'send_again')"
    " AND (SELECT requires_approval FROM ledgers_channel WHERE id = o.channel_id)"
)

# From `FROM` on, with the outbox item as `o` and the delivery as `d`. The array lets the index by
# channel be used.
OVERDUE = (
    "ledgers_outboxitem o JOIN ledgers_delivery d ON d.id = o.delivery_id"
    f" WHERE o.channel_id = ANY (ARRAY({_LEFT_TO_MACHINES})) AND NOT o.leased"
    f" AND o.due_at < (SELECT clock_timestamp()) - interval '{GRACE_S} seconds'"
    f" AND NOT ({_UNAPPROVED})"
)
