"""A note to paste into the incident's channel: what happened, and what happens next."""

from reviews.dossier import Dossier
from reviews.wording import clock, duration


def note(one: Dossier, url: str) -> str:
    """Plain text. It names the destination and no content."""
    row, message = one.row, one.row.message
    since = row.unknown_since
    lines = [
        f"{row.status}: {message.name} to {row.destination} through {message.channel.slug}",
        one.sentence,
        f"Unknown for {duration((one.now - since).total_seconds())}." if since else "",
        f"The key protects until {clock(one.window_until, one.now)}." if one.window_until else "",
        one.if_left,
        one.if_sent_again,
        f"Run {message.step.run.run_id}. {url}",
    ]
    return "\n".join(line for line in lines if line)
