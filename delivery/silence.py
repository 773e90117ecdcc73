"""When silence is too long, and which rows are overdue: for the watch and the console alike."""

# A delivery that is due waits no longer than this where a worker is well; each channel has its own.
GRACE_S = 60.0
# While something is owed, a channel brings something through at least so often; each has its own.
PERIOD_S = 1_800.0
# A worker beats every five seconds; a q cluster starts a shift every minute.
SILENT_S = 90.0
# Unknown for so long, a delivery needs a person: machines have looked for it by then.
UNKNOWN_LATE_S = 300
# What a look out for silence is about, and no message of anybody's: see `delivery.probing`.
PROBE = "counterfoil-probe"
PROBE_TEXT = "Counterfoil probe: nothing to do. It shows that messages arrive."

# From when a key's window counts, as `Facts.key_protects_until` reckons: its first use, or what a
# restore may have forgotten of it.
KEY_USED_FROM = """LEAST(d.key_first_used_at,
    CASE WHEN d.rewound_at IS NOT NULL THEN COALESCE(d.rewound_from, d.rewound_at) END)"""
# The last moment at which the same key may still be used, as the rules reckon: the call has to end
# before the window does. With the delivery as `d`, its message as `m` and its channel as `c`.
KEY_CLOSES = f"""CASE WHEN m.contract->>'key' IS NOT NULL THEN {KEY_USED_FROM}
    + make_interval(secs => (m.contract->'window'->>'seconds')::float8 - c.deadline_s - c.margin_s)
    END"""
# Channels on which nobody but a machine keeps anything waiting. What a person holds is late by
# their word, and what is practised wakes nobody. The channel is `c`.
LEFT_TO_MACHINES = (
    "c.paused_at IS NULL AND NOT c.for_testing"
    " AND NOT EXISTS (SELECT FROM ledgers_installation WHERE held_at IS NOT NULL)"
)
# A try that takes a person's approval and has none: none of `facts.GO_ON`.
UNAPPROVED = (
    "d.status = 'pending' AND d.decision NOT IN ('try_again', 'send_again') AND c.requires_approval"
)

# Beyond so many a person does not care how many more there are, and reading all takes seconds.
COUNTED = 1_000

# Its rate lets workers take nothing for longer than they may be silent.
PACED = f"(c.rate_per_s > 0 AND c.rate_per_s * {SILENT_S} < 2)"

# From `FROM` on, with the channel as `c`, the outbox item as `o` and the delivery as `d`. From the
# channels on, so that the index by channel is used.
OVERDUE = (
    "ledgers_channel c JOIN ledgers_outboxitem o ON o.channel_id = c.id AND NOT o.leased"
    " AND o.due_at < (SELECT clock_timestamp()) - make_interval(secs => c.grace_s)"
    " JOIN ledgers_delivery d ON d.id = o.delivery_id"
    f" WHERE {LEFT_TO_MACHINES} AND NOT ({UNAPPROVED})"
)
