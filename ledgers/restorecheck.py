"""What holds of a ledger that was restored; `ledgers.verify` names it."""

# Rewound is a fact that sends nothing and asks people much: the trail says who made it one.
UNEXPLAINED_DOUBT = """
SELECT d.delivery_id, d.rewound_at FROM ledgers_delivery d
LEFT JOIN LATERAL (
    SELECT e.kind FROM ledgers_event e
    WHERE e.delivery_id = d.id AND e.kind IN ('rewind', 'unwind')
    ORDER BY e.row_version DESC LIMIT 1
) AS last ON true
WHERE d.rewound_at IS NOT NULL AND last.kind IS DISTINCT FROM 'rewind'
"""

# Once all that was open has been gone through, and as long as its hold stands. A second copy that
# people decided on since was not open then.
TAKEN_AT_ITS_WORD = """
SELECT d.delivery_id, d.status FROM ledgers_delivery d, ledgers_installation i
WHERE i.restored_at IS NOT NULL AND i.doubt_until IS NULL AND i.rewound_to IS NULL
  AND d.status IN ('pending', 'submitting') AND d.rewound_at IS NULL
  AND NOT EXISTS (SELECT FROM ledgers_event e WHERE e.delivery_id = d.id AND e.kind = 'unwind')
  AND NOT (d.generation > 1 AND d.created_at > i.restored_at)
"""

# Each restore that was found is one epoch; nothing else makes one, and none is taken back.
UNCOUNTED_EPOCHS = """
SELECT i.epoch, f.found FROM ledgers_installation i,
    (SELECT count(*) AS found FROM ledgers_event WHERE kind = 'restore_found') AS f
WHERE i.epoch <> f.found + 1
"""
