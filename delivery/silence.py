"""When silence is too long, and which rows are overdue: for the watch and the console alike."""

# A delivery that is due waits no longer than this where a worker is well.
GRACE_S = 60
# A worker beats every five seconds; a q cluster starts a shift every minute.
SILENT_S = 90.0
# Unknown for so long, a delivery needs a person: machines have looked for it by then.
UNKNOWN_LATE_S = 300

# From `FROM` on, with the outbox item as `o` and the delivery as `d`. The array lets the index by
# channel be used.
OVERDUE = (
    "ledgers_outboxitem o JOIN ledgers_delivery d ON d.id = o.delivery_id"
    " WHERE o.channel_id = ANY (ARRAY(SELECT id FROM ledgers_channel)) AND NOT o.leased"
    f" AND o.due_at < (SELECT clock_timestamp()) - interval '{GRACE_S} seconds'"
)
