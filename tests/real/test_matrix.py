"""Matrix, met in person: Synapse keeps transaction ids, and its rooms tell what became of them."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from delivery.channels.contract import Envelope, Finding, Query, Rendered
from delivery.channels.matrix import LIMIT, REF, MatrixAdapter
from delivery.outcomes import Accepted, Ambiguous, Deferred, NotSent, Outcome, Refused, Unauthorised
from delivery.timing import boottime
from tests.channels.notebook import Notebook
from tests.real.replies import Loss, losing_replies
from tests.real.synapse import BURST, Member, Synapse

TOKENS = iter(f"k7q2mx9kvb3r5t8w{number:05d}"[:24] for number in range(1, 99_999))
TAKEN = b'"event_id"'


class Lab:
    """A room with our device and a witness in it, and one message."""

    def __init__(self, server: Synapse) -> None:
        self.server = server
        self.me, self.witness = server.register(), server.register()
        self.room = self.witness.make_room(self.me)
        self.token, self.key = next(TOKENS), str(uuid.uuid4())
        self.began = datetime.now(UTC)

    def adapter(self, me: Member | None = None, **settings: Any) -> MatrixAdapter:
        given = {"base_url": self.server.url, "allow_private": True, **settings}
        return MatrixAdapter(given, lambda: (me or self.me).token)

    def rendered(self, content: Any = "All quiet.", **settings: Any) -> Rendered:
        return self.adapter(**settings).render(Envelope(content, self.room, 1, 1, self.token))

    def send(
        self,
        content: Any = "All quiet.",
        *,
        me: Member | None = None,
        journal: Notebook | None = None,
        **settings: Any,
    ) -> Outcome:
        rendered = self.rendered(content, **settings)
        return self.adapter(me, **settings).submit(
            rendered, self.key, journal or Notebook(seconds=30)
        )

    def look(self, *, me: Member | None = None, key: str = "", **settings: Any) -> Finding:
        since = self.began - timedelta(seconds=1)
        query = Query("id", key or self.key, self.token, self.room, "", since)
        (finding,) = self.adapter(me, **settings).look_up(query, boottime() + 30)
        return finding

    @property
    def events(self) -> list[dict[str, Any]]:
        """What the witness sees of us, the newest first."""
        return [one for one in self.witness.events(self.room) if one["sender"] == self.me.user]


@pytest.fixture
def lab(homeserver: Synapse) -> Lab:
    return Lab(homeserver)


def accepted(outcome: Outcome) -> str:
    assert isinstance(outcome, Accepted), outcome
    return outcome.provider_message_id


def test_an_accepted_message_is_one_event_that_is_found_again(lab: Lab) -> None:
    event_id = accepted(lab.send("Ça va? “quoted” ✅\n\n<b>no HTML</b>  "))

    (event,) = lab.events
    assert event["event_id"] == event_id
    assert event["content"][REF] == lab.token
    assert event["content"]["body"].endswith(f"ref {lab.token}")
    finding = lab.look()
    assert (finding.verdict, finding.provider_message_id) == ("found", event_id)


def test_the_same_key_gives_the_first_event_whatever_is_in_the_body(lab: Lab) -> None:
    first = accepted(lab.send("first"))

    assert accepted(lab.send("first")) == first
    assert accepted(lab.send("another body")) == first
    assert [one["content"]["body"].partition("\n")[0] for one in lab.events] == ["first"]


def test_eight_submissions_at_once_are_one_event(lab: Lab) -> None:
    with ThreadPoolExecutor(8) as pool:
        ids = {accepted(outcome) for outcome in pool.map(lambda _: lab.send(), range(8))}

    assert ids == {one["event_id"] for one in lab.events}
    assert len(ids) == 1


@pytest.mark.parametrize("loss", ["reset", "close", "hang"])
def test_after_a_lost_reply_the_same_key_sends_nothing_twice(lab: Lab, loss: Loss) -> None:
    with losing_replies(lab.server.port, loss, TAKEN) as port:
        lost = lab.send(base_url=f"http://127.0.0.1:{port}", journal=Notebook(seconds=3))
    (event,) = lab.events
    found = lab.look()
    again = lab.send()

    assert isinstance(lost, Ambiguous)
    assert (found.verdict, found.provider_message_id) == ("found", event["event_id"])
    assert accepted(again) == event["event_id"]
    assert len(lab.events) == 1


def test_the_key_is_honoured_for_one_device_only(lab: Lab) -> None:
    other = lab.me.another_device()
    lab.send()

    lab.send(me=other)

    assert len(lab.events) == 2
    assert lab.look().verdict == "found_many"
    assert lab.adapter().declare().key_scope == "device"


def test_the_device_is_told_its_transaction_where_nothing_else_carries_the_message(
    lab: Lab,
) -> None:
    lab.me.say(lab.room, {"body": "without any mark"}, lab.key)

    assert lab.look().verdict == "found"
    assert lab.look(me=lab.me.another_device()).verdict == "inconclusive"


@pytest.mark.parametrize("place", ["hidden", "visible"])
def test_the_recognizer_stands_where_the_channel_says(lab: Lab, place: str) -> None:
    lab.send(recognizer_place=place)

    (event,) = lab.events
    assert (REF in event["content"]) == (place == "hidden")
    assert (lab.token in event["content"]["body"]) == (place == "visible")
    assert lab.look(me=lab.me.another_device()).verdict == "found"


def test_keys_outlive_a_restart_and_end_with_the_window(lab: Lab, homeserver: Synapse) -> None:
    kept, expired = lab, Lab(homeserver)
    first, second = accepted(kept.send()), accepted(expired.send())

    homeserver.stop()
    assert homeserver.forget_keys(second) == 1
    homeserver.start()

    assert accepted(kept.send()) == first
    assert len(kept.events) == 1
    assert expired.look().verdict == "found"  # by the mark in the event: the key is gone
    assert accepted(expired.send()) != second
    assert len(expired.events) == 2
    assert expired.look().verdict == "found_many"


def test_too_many_messages_are_deferred_for_as_long_as_the_server_says(lab: Lab) -> None:
    outcomes = []
    for number in range(BURST + 10):
        lab.key = f"key-{number}"
        outcomes.append(lab.send())

    deferred = [one for one in outcomes if isinstance(one, Deferred)]
    assert deferred
    assert "M_LIMIT_EXCEEDED" in deferred[0].response
    waits = [one.retry_after_s for one in deferred]  # of whole milliseconds: 0 is one of them
    assert all(wait is not None and 0 <= wait <= 10 for wait in waits)
    assert len(lab.events) == len(outcomes) - len(deferred)


def _in_no_room(lab: Lab) -> Outcome:
    lab.me.call("POST", f"/rooms/{lab.room}/leave", {})
    return lab.send()


def _not_allowed_to_speak(lab: Lab) -> Outcome:
    path = f"/rooms/{lab.room}/state/m.room.power_levels"
    levels = lab.witness.call("GET", path)
    lab.witness.call("PUT", path, {**levels, "events_default": 50})
    return lab.send()


def _signed_out(lab: Lab) -> Outcome:
    lab.me.call("POST", "/logout", {})
    return lab.send()


def _too_long(lab: Lab) -> Outcome:
    return lab.send("x" * 70_000)


@pytest.mark.parametrize(
    ("refused", "errcode"),
    [
        (_in_no_room, "403 M_FORBIDDEN"),
        (_not_allowed_to_speak, "403 M_FORBIDDEN"),
        (_signed_out, "401 M_UNKNOWN_TOKEN"),
        (_too_long, "413 M_TOO_LARGE"),
    ],
)
def test_a_refusal_has_no_event(lab: Lab, refused: Any, errcode: str) -> None:
    outcome = refused(lab)

    kind = Unauthorised if refused is _signed_out else Refused
    assert isinstance(outcome, kind), outcome
    assert errcode in outcome.why
    assert lab.events == []
    assert lab.me.token not in repr(outcome)


@pytest.mark.parametrize("char", ["\U0001f600", "\x01", '"', "\n"])
def test_the_longest_part_of_any_character_is_taken(lab: Lab, char: str) -> None:
    (part,) = lab.adapter().split(char * (LIMIT - 1) + "x")

    accepted(lab.send(part))


def test_what_is_not_there_is_absent_only_if_the_room_is_declared_complete(lab: Lab) -> None:
    lab.me.say(lab.room, {"body": "the control"}, "another-key")

    assert lab.look().verdict == "inconclusive"
    absent = lab.look(surface_complete=True)
    assert absent.verdict == "absent"
    assert absent.why.startswith("all of it was read")


def test_a_message_beyond_the_first_page_is_found(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("delivery.channels.matrix.PAGE", 5)
    lab.send()
    for number in range(12):
        lab.witness.say(lab.room, {"body": "chatter"}, f"chatter-{number}")

    finding = lab.look()

    assert finding.verdict == "found"
    assert finding.pages > 2
    assert lab.look(max_pages=2).verdict == "inconclusive"


def test_our_mark_in_somebody_elses_message_is_no_match(lab: Lab) -> None:
    lab.witness.say(lab.room, {"body": f"what is ref {lab.token}?", REF: lab.token}, "question")

    finding = lab.look(surface_complete=True)

    assert finding.verdict == "inconclusive"
    assert "carries the recognizer but is by" in finding.why


def test_what_was_redacted_is_not_taken_for_absent(lab: Lab) -> None:
    event_id = accepted(lab.send())
    lab.me.say(lab.room, {"body": "the control"}, "another-key")
    lab.witness.call("PUT", f"/rooms/{lab.room}/redact/{event_id}/redaction", {"reason": "no"})

    by_another_key = lab.look(surface_complete=True, key=str(uuid.uuid4()))

    assert by_another_key.verdict == "inconclusive"
    assert "redacted" in by_another_key.why


def test_a_room_that_cannot_be_read_proves_nothing(lab: Lab) -> None:
    stranger = lab.server.register()

    finding = lab.look(me=stranger, surface_complete=True)

    assert finding.verdict == "inconclusive"
    assert "403" in finding.why


def test_introspection_names_the_user(lab: Lab) -> None:
    me = lab.adapter().introspect(boottime() + 30)
    lab.me.call("POST", "/logout", {})
    gone = lab.adapter().introspect(boottime() + 30)

    assert me.identity == lab.me.user
    assert me.clock is not None
    assert abs(me.clock - datetime.now(UTC)) < timedelta(minutes=1)
    assert gone.refused


def test_a_server_that_does_not_listen_was_not_sent_to(lab: Lab) -> None:
    assert isinstance(lab.send(base_url="http://127.0.0.1:1"), NotSent)
