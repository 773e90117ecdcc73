"""What is open now, and waits for whoever looks: each card of the overview has its reason here."""

from collections.abc import Iterator

from config.demo.day.cast import CREWS, CUSTOMERS, HOUSEHOLDS, OPERATOR_ADMIN, PARTNERS, TRIAGER
from config.demo.day.playing import Day
from delivery import switches
from delivery.agent import Message
from ledgers import execution, runs
from ledgers.errors import CrashLoopError
from ledgers.models import Channel, Credential
from reviews import assigning, decisions, proposing
from reviews.kinds import Kind
from reviews.wishes import Wish

# Minutes for which a key still protects its letter when the day ends; its window is a day.
CLOSES_IN = 34
TAKEN = 6  # of an incident, by the person who has begun with it


def window_closing(day: Day) -> Iterator[float]:
    """Three answers in a row are lost: one key, no search, and a window that does not wait."""
    to = CUSTOMERS[2]
    day.recipient.behave(to, "accept_and_reset", "reset", "reset")
    run = day.record(
        f"reminder-{day.stamp()}",
        "billing-agent",
        [
            Message(
                "reminder", "customer-mail", [to], "A friendly reminder: 62.10 is due on Friday."
            )
        ],
        {"amount": "62.10"},
    )
    yield 3
    yield 9
    yield 20
    assigning.assign([row.pk for row in day.of(run)], TRIAGER)


def expired(day: Day) -> Iterator[float]:
    """A warning that would be wrong now: the room took nothing before its last moment."""
    day.recipient.behave("chat:storm", {"do": "rate_limit", "retry_after": "1800"})
    text = "Gusts of 24 m/s at the coast between 17:00 and 18:00. Lower the lifts."
    warning = Message("warning", "crew-chat", ["chat:storm"], text, not_after=day.hence(minutes=25))
    day.record(f"storm-{day.stamp()}", "storm-watch", [warning], {"gusts": 24})
    yield 26


def crash_loop(day: Day) -> Iterator[float]:
    """A step takes its process with it twice, while everything else gets on."""
    run = runs.open_run(f"load-model-{day.stamp()}", "load-model")
    for _ in range(runs.DEATHS_ALLOWED):
        execution.start_step(run, "fit", input={"days": 365}, lease_s=300)
        # What a killed process leaves: a lease that nobody ends.
        yield 62
    try:
        execution.start_step(run, "fit", input={"days": 365}, lease_s=300)
    except CrashLoopError:
        return


def failed_run(day: Day) -> Iterator[float]:
    """A run that ended with an error and was left so."""
    run = runs.open_run(f"price-import-{day.stamp()}", "price-import")
    lease = execution.start_step(run, "fetch", input={"zone": "NO2"})
    execution.fail_step(lease, "ValueError: 23 prices for a day of 24 hours")
    runs.end_run(run, "ValueError: 23 prices for a day of 24 hours")
    yield 0


def paused(day: Day) -> Iterator[float]:
    """A partner moves house: their channel is paused, and what is owed gathers behind it."""
    switches.pause(
        Channel.objects.get(slug="partner-feed"),
        "Partners move to the new gateway; resume when GridCo confirms (OPS-334)",
        OPERATOR_ADMIN,
    )
    while True:
        yield 70
        text = f"Balance of {day.hence():%H:%M}: within its band, no call for reserve."
        day.record(
            f"balance-{day.stamp()}",
            "grid-balance",
            [Message("balance", "partner-feed", PARTNERS[:3], text)],
            {"text": text},
        )


def later(day: Day) -> Iterator[float]:
    """What is owed tomorrow and not before."""
    plan = Message(
        "plan", "crew-chat", CREWS[:3], "Tomorrow: two crews east, one at the yard.",
        not_before=day.hence(hours=14),
    )  # fmt: skip
    day.record(f"plan-{day.stamp()}", "planner", [plan], {"crews": 3})
    yield 0


def waiting_for_a_second_person(day: Day) -> Iterator[float]:
    """One person has asked to send again what may have arrived; another is needed."""
    to = HOUSEHOLDS[20]
    day.recipient.behave(to, "reset")
    text = "The electrician comes at 18:30 today. Reply STOP to cancel."
    run = day.record(
        f"appointment-{day.stamp()}",
        "appointments",
        [Message("appointment", "household-sms", [to], text)],
        {"visit": "18:30"},
    )
    yield 206
    wish = Wish(
        Kind.SEND_OTHERWISE,
        "the visit is tonight, and somebody must be in",
        "OPS-341",
        note="called twice: nobody has answered; the gateway has no report",
        link="https://desk.fjordlight.example/calls/8917",
        typed=to,
    )
    decisions.decide(day.people[TRIAGER], wish, day.of(run))


def incident(day: Day) -> Iterator[float]:
    """The gateway takes a whole street's texts and hangs up on each."""
    for n, to in enumerate(HOUSEHOLDS):
        day.recipient.behave(to, "reset" if n % 7 == 3 else "accept_and_reset")
    text = "Planned work in your street tomorrow 9:00 to 11:00: the power is off for a while."
    run = day.record(
        f"outage-notice-{day.stamp()}",
        "outage-notices",
        [Message("notice", "household-sms", HOUSEHOLDS, text)],
        {"street": "Quay Street", "households": len(HOUSEHOLDS)},
    )
    yield 21
    assigning.assign([row.pk for row in day.of(run)[:TAKEN]], TRIAGER)


def change_of_rules(day: Day) -> Iterator[float]:
    """One person wants to reach more with a credential; another has to agree."""
    credential = Credential.objects.get(name="customer-mail")
    wider = [*credential.destination_rules, "*@fjell.example"]
    change = proposing.draft(
        day.people[OPERATOR_ADMIN],
        credential,
        {"destination_rules": wider},
        credential.row_version,
    )
    reason = "the customers of Fjell join us on the first (OPS-338)"
    proposing.request(day.people[OPERATOR_ADMIN], change.pk, reason)
    yield 0


def tries_to_approve(day: Day) -> Iterator[float]:
    """Money goes out only when somebody has looked."""
    for account, amount in (("4471", "19.80"), ("5120", "240.00")):
        day.record(
            f"refund-{account}-{day.stamp()}",
            "refunds",
            [Message("refund", "refunds", [f"account:{account}"], f"Refund of {amount}.")],
            {"amount": amount},
        )
    yield 0


def at_work(day: Day) -> Iterator[float]:
    """A run whose step is under its lease."""
    run = runs.open_run(f"month-end-{day.stamp()}", "bookkeeper")
    execution.start_step(run, "reconcile", input={"accounts": 48}, lease_s=3600)
    yield 0


SCENES = (
    (24 - CLOSES_IN / 60, window_closing),
    (19.2, expired),
    (17.6, crash_loop),
    (9.4, failed_run),
    (5.3, paused),
    (4.4, later),
    (3.65, waiting_for_a_second_person),
    (1.9, incident),
    (0.8, tries_to_approve),
    (0.45, change_of_rules),
    (0.2, at_work),
)
