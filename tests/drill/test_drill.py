"""A practice incident is real, and its decisions are held against what the recipient has."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings

from config.demo import sample
from config.demo.scene import set_up_channels
from config.drill.incident import AGENT
from delivery.simulator.client import Simulator
from delivery.worker import Worker
from ledgers.models import Channel, Delivery, Run
from reviews import decisions
from reviews.kinds import Kind
from reviews.people import Person
from reviews.wishes import Wish
from tests.commands.shell import typed
from tests.factories import make_channel
from tests.reviews.people import person

WORKS = 600.0


@pytest.fixture
def recipient(
    transactional_db: None, settings: LazySettings, tmp_path: Path
) -> Iterator[Simulator]:
    """The recipient of a demo that is being served, but for its worker."""
    settings.COUNTERFOIL_DATA = tmp_path
    settings.COUNTERFOIL_UNDO_S = 0
    sample.mark()
    with Simulator.start() as simulator:
        set_up_channels(simulator.url)
        yield simulator
    sample.unmark()


@pytest.fixture
def nina(recipient: Simulator) -> Person:
    return person("nina", "triager")


def arrived(row: Delivery, by: Person) -> None:
    """She says so, with what she saw."""
    wish = Wish(Kind.ARRIVED, "they have it", note="they told me", link="call 7")
    decisions.decide(by, wish, [row])


def practice() -> list[Delivery]:
    rows = Delivery.objects.filter(message__step__run__agent=AGENT, generation=1)
    return list(rows.order_by("pk"))


def test_an_incident_alerts_with_a_link_and_ends_when_it_is_decided_rightly(nina: Person) -> None:
    made = typed("drill", "--kind", "arrived", "--seed", "3", "--console", "http://here:1/")
    undecided = typed("drill", "--check", "--json")
    for row in practice():
        arrived(row, nina)
    decided = typed("drill", "--check", "--json")

    assert made.code == 0, made.err
    assert "3 messages of run practice-" in made.out
    assert "http://here:1/triage/?channel=practice-" in made.out
    assert undecided.code == 1
    assert {one["judgement"] for one in undecided.json["deliveries"]} == {"undecided"}
    assert {one["arrived"] for one in undecided.json["deliveries"]} == {None}
    assert decided.code == 0, decided.out
    assert decided.json["good"]
    assert {one["judgement"] for one in decided.json["deliveries"]} == {"right"}
    assert 0 < decided.json["longest_s"] < WORKS


def test_calling_arrived_what_was_lost_is_told_as_a_loss(nina: Person) -> None:
    typed("drill", "--kind", "lost")
    rows = practice()
    for row in rows:
        arrived(row, nina)

    judged = typed("drill", "--check")

    assert judged.code == 1
    assert judged.out.count("it had not arrived, and now nobody sends it") == len(rows) == 3
    assert "3 lost; the last decision came" in judged.out


def test_sending_again_is_right_where_it_was_lost_and_a_duplicate_where_it_was_not(
    nina: Person, recipient: Simulator
) -> None:
    omar = person("omar", "approver")
    typed("drill", "--kind", "mixed", "--seed", "5")
    rows = practice()
    came = {row.destination: recipient.effects(row.destination) for row in rows}
    wish = Wish(Kind.SEND_OTHERWISE, "let us see", note="nobody knows", typed=str(len(rows)))
    asked = decisions.decide(nina, wish, rows)
    waiting = typed("drill", "--check", "--json").json
    decisions.approve(omar, asked.pk, "go on")
    under_way = typed("drill", "--check", "--json").json
    Worker().run_shift(WORKS)

    judged = typed("drill", "--check", "--json")

    assert {one["judgement"] for one in waiting["deliveries"]} == {"waiting"}
    assert {one["judgement"] for one in under_way["deliveries"]} == {"under way"}
    assert judged.code == 1
    words = {one["destination"]: one["judgement"] for one in judged.json["deliveries"]}
    assert words == {to: "duplicate" if n else "right" for to, n in came.items()}
    assert {one["by"] for one in judged.json["deliveries"]} == {"nina and omar"}


def test_a_complete_search_makes_sending_again_the_right_decision(nina: Person) -> None:
    typed("drill", "--kind", "absent")
    rows = practice()
    statuses = {row.status for row in rows}
    decisions.decide(nina, Wish(Kind.SEND_AFTER_ABSENT, "the search is complete"), rows)
    Worker().run_shift(WORKS)

    judged = typed("drill", "--check", "--json")

    assert statuses == {"pending"}
    assert judged.code == 0, judged.out
    assert {one["judgement"] for one in judged.json["deliveries"]} == {"right"}


def test_a_worker_is_really_killed_between_submissions_and_answers(
    nina: Person, recipient: Simulator
) -> None:
    told = typed("drill", "--kind", "killed", "--seed", "2")
    rows = practice()

    assert told.code == 0, told.err
    assert {row.status for row in rows} == {"unknown"}
    assert any(row.attempts.get().closed_at is None for row in rows)  # its worker wrote nothing
    assert sorted(recipient.effects(row.destination) for row in rows) == [0, 0, 1, 1]

    for row in rows:
        arrived(row, nina)
    judged = typed("drill", "--check", "--json").json
    assert [one["judgement"] for one in judged["deliveries"]].count("right") == 2
    assert [one["judgement"] for one in judged["deliveries"]].count("loss") == 2


def test_their_people_say_what_has_come(nina: Person) -> None:
    typed("drill", "--kind", "mixed", "--seed", "5")

    said = [typed("drill", "--ask", row.destination).out for row in practice()]

    assert sum("Yes, 1 of them" in one for one in said) == 3
    assert sum("No, nothing of that kind" in one for one in said) == 3


def test_waiting_ends_with_the_verdict_once_all_is_decided(
    nina: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decide_meanwhile(_: float) -> None:
        arrived(next(row for row in practice() if row.status == "unknown"), nina)

    # The pause between two looks is when the person acts.
    monkeypatch.setattr("config.management.commands.drill.pause", decide_meanwhile)

    told = typed("drill", "--kind", "arrived", "--wait")

    assert told.code == 0, told.err
    assert told.out.index("ALERT") < told.out.index("3 right")


@pytest.mark.usefixtures("transactional_db")
def test_a_drill_refuses_ledgers_that_are_not_the_demos() -> None:
    refused = typed("drill")

    assert refused.code == 2
    assert "These ledgers are not the demo's" in refused.err


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize("slug", ["real", "nowhere"])
def test_a_drill_refuses_a_channel_that_is_not_marked_for_testing(slug: str) -> None:
    make_channel(slug="real", adapter="simulator", settings={"url": "http://127.0.0.1:9"})

    refused = typed("drill", "--channel", slug)

    assert refused.code == 2
    assert "no simulated channel that is marked for testing" in refused.err
    assert not Run.objects.exists()


def test_a_channel_marked_for_testing_takes_a_drill_elsewhere(recipient: Simulator) -> None:
    sample.unmark()
    settings = {"url": recipient.url, "scan": False, "look_up_by_key": False}
    rules = ["practice:*"]
    make_channel(
        slug="staging", adapter="simulator", for_testing=True, settings=settings, rules=rules
    )

    told = typed("drill", "--channel", "staging", "--kind", "arrived")
    absent = typed("drill", "--channel", "staging", "--kind", "absent")

    assert told.code == 0, told.err
    assert "ALERT  staging: 3 messages" in told.out
    assert absent.code == 2
    assert not Channel.objects.filter(slug__startswith="practice").exists()


def test_without_the_demos_recipient_nothing_is_made(recipient: Simulator) -> None:
    recipient.stop()

    refused = typed("drill", "--kind", "lost")

    assert refused.code == 2
    assert "Start `make demo` in another window" in refused.err
    assert not Run.objects.exists()


@pytest.mark.usefixtures("recipient")
def test_there_is_nothing_to_judge_before_an_incident() -> None:
    assert typed("drill", "--check").code == 2
    assert typed("drill", "--seed", "x").code == 2
