"""The next generation of a delivery: the same content once more, under an identity of its own.

Only a person's decision makes one, of something that may have arrived already. It carries a key and
a recognizer of its own, and a visible mark wherever the channel shows text.
"""

import logging
from collections.abc import Iterable, Mapping

from delivery.authority import allowed_by
from delivery.channels.contract import Envelope
from delivery.contents import Content, read_contents
from delivery.history import Case
from delivery.submit import RESENT_MARKER
from delivery.ways import Ways
from ledgers.canonical import sha256
from ledgers.identity import Place, delivery_id, idempotency_key, recognizer
from ledgers.models import Installation, Message
from ledgers.rulings import Successor

logger = logging.getLogger(__name__)


def successors(cases: Iterable[Case], ways: Ways) -> dict[int, Successor | str]:
    """What the next generation of each case would be, or why there can be none.

    Args:
        cases: the newest generation of each destination and part.
        ways: the channels.
    """
    wanted = list(cases)
    contents = read_contents({case.message_id for case in wanted}, ways)
    messages = Message.objects.select_related("step__run", "channel").in_bulk(
        case.message_id for case in wanted
    )
    installation = Installation.objects.get()
    return {
        case.id: _successor(case, contents[case.message_id], messages, installation, ways)
        for case in wanted
    }


def _successor(
    case: Case,
    content: Content,
    messages: Mapping[int, Message],
    installation: Installation,
    ways: Ways,
) -> Successor | str:
    message, way = messages[case.message_id], ways.of(case.channel_id)
    if not content.parts:
        return content.unreadable or content.changed
    if allowed_by(case.destination, way.channel.credential.destination_rules) is None:
        return "its destination is outside the credential's rules now"
    step = message.step
    place = Place(
        step.run.run_id, step.step_id, step.version, message.name, message.channel.slug,
        case.destination, case.part, case.generation + 1,
    )  # fmt: skip
    identity = delivery_id(installation.namespace, place)
    token = recognizer(identity, bytes(installation.recognizer_secret))
    parts = len(content.parts)
    form = message.contract["key"] or {"form": "uuid", "max_length": 255}
    key = idempotency_key(identity, form["form"], form["max_length"])
    envelope = Envelope(
        content.parts[case.part - 1], case.destination, case.part, parts, token, RESENT_MARKER, key
    )
    try:
        body = way.adapter.render(envelope).body
    except Exception as error:
        logger.exception("rendering the next generation of %s failed", case.delivery_id)
        return f"it cannot be rendered again: {type(error).__name__}"
    return Successor(
        id=case.id,
        version=case.version,
        delivery_id=identity,
        body_hash=sha256(body),
        key=key,
        recognizer=token,
    )
