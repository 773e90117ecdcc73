"""An acceptance that is about another message of ours is none of this one.

A provider that deduplicates by what it takes for the same message answers with the id of an earlier
one, and what was submitted never appears. Only a person, or a search for this very recognizer, can
then tell.
"""

from collections.abc import Sequence

from delivery.outcomes import Accepted, Ambiguous
from delivery.submit import Call
from ledgers.namesakes import namesakes


def doubt_borrowed_ids(calls: Sequence[Call]) -> None:
    """Turn acceptances that name another message into doubt, in place; one statement for all.

    Two that were answered alike in one wave are both doubted: either may be the one that is there.
    The id is kept in words only: as the delivery's own it would be looked up, and found.
    """
    named = {
        call.attempt_id: call.outcome.provider_message_id
        for call in calls
        if isinstance(call.outcome, Accepted)
        and call.outcome.provider_message_id
        and call.adapter.declare().ids_are_unique
    }
    others = namesakes(named) if named else {}
    for call in calls:
        if call.attempt_id in others:
            call.outcome = Ambiguous(
                f"the provider named another message of ours: {named[call.attempt_id]},"
                f" which is delivery {others[call.attempt_id]}",
                mismatch=True,
                response=call.outcome.response,
            )
