"""Troubles that people have dealt with: each leaves a decision, its reasons and its trail."""

from collections.abc import Iterator

from config.demo.day.cast import APPROVER, CUSTOMERS, HOUSEHOLDS, SECOND_TRIAGER, TRIAGER
from config.demo.day.playing import Day
from delivery import agent
from delivery.agent import Message
from reviews import decisions
from reviews.kinds import Kind
from reviews.wishes import Wish

_UNDO_OVER = 1.0  # minutes


def absent_then_sent(day: Day) -> Iterator[float]:
    """A note that never reached its room: a complete search says so, and a person sends it."""
    day.recipient.behave("chat:yard", "reset")
    note = "Van 7 is back from the workshop; its keys are with the duty lead."
    run = day.record(
        f"van-note-{day.stamp()}",
        "fleet",
        [Message("note", "crew-chat", ["chat:yard"], note)],
        note,
    )
    yield 7  # when it is searched
    yield 1
    decisions.decide(
        day.people[SECOND_TRIAGER],
        Wish(Kind.SEND_AFTER_ABSENT, "the room's whole history does not show it", "OPS-311"),
        day.of(run),
    )
    yield _UNDO_OVER


def in_a_second_generation(day: Day) -> Iterator[float]:
    """A text that nobody got: sent again by two people, with a mark that says so."""
    to = HOUSEHOLDS[4]
    day.recipient.behave(to, {"do": "reset"})
    text = "Your meter is exchanged tomorrow between 8 and 10. Please keep the cellar open."
    run = day.record(
        f"appointment-{day.stamp()}",
        "appointments",
        [Message("appointment", "household-sms", [to], text)],
        {"visit": "07:00-09:00"},
    )
    yield 3
    yield 11
    wish = Wish(
        Kind.SEND_OTHERWISE,
        "a visit in vain costs a day; a second text costs nothing",
        "OPS-318",
        note="called the household at their number: nothing has come",
        link="https://desk.fjordlight.example/calls/8842",
        typed=to,
    )
    asked = decisions.decide(day.people[TRIAGER], wish, day.of(run))
    yield 6
    decisions.approve(
        day.people[APPROVER], asked.pk, "the call is on file; better twice than never"
    )
    yield _UNDO_OVER


def refused_then_found_to_have_arrived(day: Day) -> Iterator[float]:
    """The second person does not agree, and asks for evidence; there is some."""
    to = HOUSEHOLDS[11]
    day.recipient.behave(to, "accept_and_reset")
    text = "Your contract has been renewed for a year. No action is needed."
    run = day.record(
        f"renewal-{day.stamp()}",
        "contracts",
        [Message("renewal", "household-sms", [to], text)],
        {"contract": "H-20931"},
    )
    yield 3
    yield 22
    note = "no delivery report was found"
    wish = Wish(Kind.SEND_OTHERWISE, "probably lost", note=note, typed=to)
    asked = decisions.decide(day.people[TRIAGER], wish, day.of(run))
    yield 9
    decisions.refuse(
        day.people[APPROVER], asked.pk, "probably is no evidence: ask the gateway first"
    )
    yield 31
    seen = Wish(
        Kind.ARRIVED,
        "the gateway's own log has it",
        note="report 5531-A: handed to the handset 3 s after our call",
        link="https://gateway.example/reports/5531-A",
    )
    decisions.decide(day.people[TRIAGER], seen, day.of(run))


def failed_then_tried(day: Day) -> Iterator[float]:
    """A refused letter is tried again; the first try is taken back in time."""
    to = CUSTOMERS[6]
    day.recipient.behave(to, {"do": "refuse", "body": '{"error":"mailbox is closed"}'})
    run = day.record(
        f"bill-{day.stamp()}",
        "billing-agent",
        [
            Message(
                "bill", "customer-mail", [to], "Your bill for November: 84.20. It is paid by debit."
            )
        ],
        {"amount": "84.20"},
    )
    yield 47
    again = Wish(Kind.TRY_AGAIN, "the customer says that the mailbox is open again", "OPS-325")
    first = decisions.decide(day.people[SECOND_TRIAGER], again, day.of(run))
    decisions.undo(day.people[SECOND_TRIAGER], first.pk)
    yield 12
    later = Wish(Kind.TRY_AGAIN, "asked back: it is this mailbox, and it is open now", "OPS-325")
    decisions.decide(day.people[SECOND_TRIAGER], later, day.of(run))
    yield _UNDO_OVER


def disputed(day: Day) -> Iterator[float]:
    """The provider said no, and kept the letter all the same: the customer has it."""
    to = CUSTOMERS[15]
    day.recipient.behave(to, {"do": "refuse", "effect": True})
    run = day.record(
        f"tariff-{day.stamp()}",
        "contracts",
        [Message("tariff", "customer-mail", [to], "From 1 January your tariff is Calm 24.")],
        {"tariff": "Calm 24"},
    )
    yield 160
    wish = Wish(
        Kind.ARRIVED,
        "the customer answered it, so the provider's refusal was none",
        "OPS-329",
        note="the answer quotes our letter, mark included",
        link="https://desk.fjordlight.example/mail/20417",
    )
    decisions.decide(day.people[TRIAGER], wish, day.of(run))


def cancelled(day: Day) -> Iterator[float]:
    """A notice for tomorrow is withdrawn in time."""
    messages = [
        Message("works", "crew-chat", ["chat:field"], "Works at Quay Street from 7:00.",
                not_before=day.hence(hours=9)),
    ]  # fmt: skip
    run = day.record(f"works-{day.stamp()}", "planner", messages, {"site": "Quay Street"})
    yield 90
    agent.cancel(run, actor="planner", reason="the part did not come: the works are put off")


def refund_approved(day: Day) -> Iterator[float]:
    """Money that somebody has looked at goes out."""
    run = day.record(
        f"refund-3318-{day.stamp()}",
        "refunds",
        [Message("refund", "refunds", ["account:3318"], "Refund of 55.00.")],
        {"amount": "55.00"},
    )
    yield 36
    wish = Wish(Kind.APPROVE_TRY, "the meter was read twice: the difference is theirs", "OPS-320")
    decisions.decide(day.people[APPROVER], wish, day.of(run))
    yield _UNDO_OVER


SCENES = (
    (50.9, refund_approved),
    (58.3, absent_then_sent),
    (46.6, in_a_second_generation),
    (41.2, refused_then_found_to_have_arrived),
    (33.4, failed_then_tried),
    (27.1, disputed),
    (15.7, cancelled),
)
