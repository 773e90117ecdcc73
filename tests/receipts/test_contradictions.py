"""A report that says otherwise than the ledger, or comes while a person decides."""

from collections.abc import Callable

import pytest

from delivery.cancel import cancel
from ledgers.models import Attempt, Channel, Delivery
from reviews import decisions
from reviews.errors import VoidError
from reviews.kinds import Kind, Stage
from tests.contract.vendor import Answer
from tests.crash.clock import pass_s
from tests.factories import delivery, make_due, record, sweep
from tests.receipts.mailing import TO, SlowResend, lost
from tests.receipts.posting import post, resend_report
from tests.reviews.people import person
from tests.reviews.scenes import wish

DAY = 86_400
Scene = Callable[[SlowResend], Delivery]


def refused(mailer: SlowResend) -> Delivery:
    mailer.instead = Answer(422, {"name": "validation_error"})
    record([TO])
    sweep()
    return delivery(TO)


def cancelled(mailer: SlowResend) -> Delivery:
    record([TO])
    cancel("run-1", reason="not wanted")
    return delivery(TO)


@pytest.mark.parametrize(("scene", "before"), [(refused, "failed"), (cancelled, "cancelled")])
@pytest.mark.parametrize("kind", ["sent", "bounced"])
def test_an_acceptance_of_what_counted_as_not_sent_makes_it_delivered_and_disputed(
    mail: Channel, mailer: SlowResend, scene: Scene, before: str, kind: str
) -> None:
    row = scene(mailer)
    assert row.status == before

    assert post(resend_report(kind, "re_9", ref=row.recognizer)) == 204
    make_due()
    sweep()

    row.refresh_from_db()
    assert row.status == "delivered"
    assert row.disputed_at is not None
    assert mailer.effects == 0


def test_a_report_that_comes_while_two_people_decide_makes_their_decision_void(
    mail: Channel, mailer: SlowResend
) -> None:
    alice, bob = person("alice", "triager"), person("bob", "triager", "approver")
    row = lost(mailer)
    pass_s(2 * DAY)  # the key protects no more
    asked = decisions.decide(alice, wish(Kind.SEND_OTHERWISE, typed=TO), [row])

    assert post(resend_report("delivered", "re_9", ref=row.recognizer)) == 204

    with pytest.raises(VoidError):
        decisions.approve(bob, asked.pk)
    asked.refresh_from_db()
    assert (asked.stage, delivery(TO).status) == (Stage.VOID, "delivered")
    assert mailer.effects == len(mailer.submissions) == 1


def test_what_people_left_undelivered_is_settled_by_a_late_report(
    mail: Channel, mailer: SlowResend
) -> None:
    row = lost(mailer)
    decisions.decide(person("alice", "triager"), wish(Kind.LEAVE), [row])

    assert post(resend_report("delivered", "re_9", ref=row.recognizer)) == 204

    assert delivery(TO).status == "delivered"
    assert Attempt.objects.count() == 1
