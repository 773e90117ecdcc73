"""The one table of how a status looks: a glyph, its word, and a tone. Never colour alone.

Unknown is violet with an outline, and nothing else is.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Look:
    """`glyph`: a symbol of `console/partials/glyphs.html`. `tone`: a class of the style sheet."""

    glyph: str
    tone: str
    word: str


_TABLE = {
    # deliveries
    "pending": ("clock", "wait"),
    "submitting": ("up", "busy"),
    "unknown": ("ask", "unknown"),
    "delivered": ("check", "good"),
    "failed": ("cross", "bad"),
    "expired": ("glass", "off"),
    "cancelled": ("slash", "off"),
    "disputed": ("alert", "warn"),
    # runs and steps
    "running": ("up", "busy"),
    "completed": ("check", "good"),
    "crash_loop": ("loop", "bad"),
    # attempts
    "open": ("up", "busy"),
    "accepted": ("check", "good"),
    "refused": ("cross", "bad"),
    "unauthorised": ("cross", "bad"),
    "deferred": ("clock", "wait"),
    "not_sent": ("minus", "off"),
    "not_tried": ("minus", "off"),
    "in_flight": ("up", "busy"),
    "mismatch": ("alert", "warn"),
    "ambiguous": ("alert", "warn"),
    # receipts
    "bounced": ("alert", "bad"),
    "complained": ("alert", "warn"),
    # evidence
    "found": ("check", "good"),
    "found_many": ("alert", "warn"),
    "absent": ("minus", "off"),
    "inconclusive": ("tilde", "warn"),
    "cannot look": ("slash", "off"),
    "error": ("cross", "bad"),
    # decisions
    "draft": ("minus", "off"),
    "requested": ("clock", "wait"),
    "approved": ("check", "good"),
    "executed": ("check", "good"),
    "void": ("slash", "off"),
    "undone": ("slash", "off"),
    # workers and channels
    "alive": ("check", "good"),
    "silent": ("cross", "bad"),
    "late": ("alert", "warn"),
    "red": ("cross", "bad"),
    "ok": ("check", "good"),
    "stopped": ("minus", "off"),
    "open to send": ("check", "good"),
    "paused": ("pause", "warn"),
    "held": ("pause", "bad"),
}
TABLE = {
    value: Look(glyph, tone, value.replace("_", " ")) for value, (glyph, tone) in _TABLE.items()
}


def look(value: str) -> Look:
    """How this status looks; one that the table does not know is shown as a plain word."""
    return TABLE.get(value, Look("minus", "off", value.replace("_", " ")))
