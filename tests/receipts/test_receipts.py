"""Reports: verified, kept, matched in any order, and never a reason to send again."""

import threading
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from delivery import receipts
from delivery.models import Receipt, ReceiptTally
from delivery.settle import settle
from ledgers.models import Attempt, Channel, Delivery, Event, Evidence
from tests.contract.vendor import Answer
from tests.crash.clock import pass_s
from tests.delivery.waves import take_call
from tests.factories import delivery, make_due, record, sweep
from tests.receipts.mailing import TO, SlowResend, lost, sent
from tests.receipts.posting import post, resend_report


def tallies() -> dict[str, int]:
    return dict(ReceiptTally.objects.values_list("reason", "count"))


# --- What they prove ---------------------------------------------------------------------------
def test_a_report_of_acceptance_resolves_an_unknown(mail: Channel, mailer: SlowResend) -> None:
    row = lost(mailer)

    assert post(resend_report("sent", "re_9", ref=row.recognizer)) == 204

    row.refresh_from_db()
    found = Evidence.objects.get()
    assert (row.status, row.provider_message_id) == ("delivered", "re_9")
    assert (found.method, found.verdict, found.seen_by) == ("receipt", "found", "receipts:alerts")
    assert mailer.effects == len(mailer.submissions) == 1


def test_c103_a_bounce_after_acceptance_is_a_fact_and_no_resend(
    mail: Channel, mailer: SlowResend, admin_client: Client
) -> None:
    row = sent(mailer)

    assert post(resend_report("bounced", row.provider_message_id)) == 204
    pass_s(48 * 3600)
    sweep()

    row.refresh_from_db()
    page = admin_client.get(reverse("admin:delivery", args=[row.delivery_id])).content.decode()
    assert (row.status, row.disputed_at, row.attempt_count) == ("delivered", None, 1)
    assert mailer.effects == len(mailer.submissions) == 1
    assert "bounced: email.bounced" in page
    assert Event.objects.get(kind="receipt").detail["kind"] == "bounced"


def test_c136_a_failure_after_hand_over_of_an_unknown_sends_nothing_again(
    mail: Channel, mailer: SlowResend
) -> None:
    row = lost(mailer)

    post(resend_report("failed", "re_9", ref=row.recognizer))
    make_due()
    sweep()

    row.refresh_from_db()
    assert (row.status, mailer.effects, len(mailer.submissions)) == ("delivered", 1, 1)


def test_an_acceptance_of_what_counted_as_not_sent_is_disputed(
    mail: Channel, mailer: SlowResend
) -> None:
    mailer.instead = Answer(422, {"name": "validation_error"})
    record([TO])
    sweep()
    row = delivery(TO)
    assert row.status == "failed"

    post(resend_report("delivered", "re_9", ref=row.recognizer))

    row.refresh_from_db()
    assert row.status == "delivered"
    assert row.disputed_at is not None


def test_one_identity_under_two_names_was_accepted_twice(mail: Channel, mailer: SlowResend) -> None:
    row = sent(mailer)

    post(resend_report("sent", "re_another", ref=row.recognizer))

    assert Evidence.objects.get().verdict == "found_many"
    assert row.provider_message_id in Evidence.objects.get().why


# --- Once, and in any order --------------------------------------------------------------------
def test_the_same_report_posted_again_counts_once(mail: Channel, mailer: SlowResend) -> None:
    row = sent(mailer)
    report = resend_report("delivered", row.provider_message_id)

    assert [post(report) for _ in range(3)] == [204, 204, 204]

    assert Evidence.objects.count() == Receipt.objects.count() == 1
    assert tallies() == {"repeated": 2}


@pytest.mark.parametrize("order", [("bounced", "sent"), ("sent", "bounced")])
def test_the_order_of_reports_does_not_matter(
    mail: Channel, mailer: SlowResend, order: tuple[str, str]
) -> None:
    row = lost(mailer)

    for number, kind in enumerate(order):
        post(resend_report(kind, "re_9", named=f"msg_{number}", ref=row.recognizer))

    row.refresh_from_db()
    assert (row.status, row.disputed_at) == ("delivered", None)
    kinds = Receipt.objects.filter(delivery=row).values_list("kind", flat=True)
    assert sorted(kinds) == ["accepted", "bounced"]


def test_c134_a_report_that_is_quicker_than_the_answer_is_not_lost(
    mail: Channel, mailer: SlowResend
) -> None:
    mailer.slow = True
    record([TO])
    call = take_call()
    thread = threading.Thread(target=call.run)
    thread.start()
    assert mailer.accepted.wait(20)
    first = post(resend_report("delivered", mailer.entries[0].id))
    before = (delivery(TO).status, Receipt.objects.get().delivery_id)
    mailer.go.set()
    thread.join(20)

    settle([call], "worker-1")

    row = delivery(TO)
    assert (first, before) == (204, ("submitting", None))
    assert row.status == "delivered"
    assert Receipt.objects.get().delivery_id == row.pk
    assert Evidence.objects.get().method == "receipt"


def test_c134_with_our_own_mark_it_counts_while_the_attempt_is_open(
    mail: Channel, mailer: SlowResend
) -> None:
    record([TO])
    call = take_call()
    row = delivery(TO)
    assert row.status == "submitting"
    post(resend_report("delivered", "re_9", ref=row.recognizer))
    during = delivery(TO).status
    call.run()

    settle([call], "worker-1")

    assert (during, delivery(TO).status) == ("delivered", "delivered")
    assert Attempt.objects.get().outcome == "accepted"
    assert mailer.effects == 1


def test_c134_reports_that_race_with_settles_are_never_lost(
    mail: Channel, mailer: SlowResend
) -> None:
    rooms = [f"ops{n}@acme.test" for n in range(6)]
    for number, to in enumerate(rooms):
        record([to], run_id=f"run-{number}")
        call = take_call()
        call.run()
        report = resend_report("delivered", mailer.entries[-1].id, named=f"msg_{number}")
        both = threading.Barrier(2)

        def report_it(barrier: threading.Barrier = both, said: Any = report) -> None:
            barrier.wait(10)
            assert post(said) == 204
            connection.close()

        thread = threading.Thread(target=report_it)
        thread.start()
        both.wait(10)
        settle([call], "worker-1")
        thread.join(20)

    assert Receipt.objects.filter(delivery=None).count() == 0
    assert Evidence.objects.filter(method="receipt").count() == len(rooms)
    assert set(Delivery.objects.values_list("status", flat=True)) == {"delivered"}


def test_a_report_whose_taker_was_killed_is_matched_when_the_provider_repeats_it(
    mail: Channel, mailer: SlowResend, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = lost(mailer)
    report = resend_report("delivered", "re_9", ref=row.recognizer)
    with monkeypatch.context() as killed:
        killed.setattr(receipts, "match", lambda row_id, *, wait: False)
        post(report)
    before = delivery(TO).status

    assert post(report) == 204

    assert (before, delivery(TO).status) == ("unknown", "delivered")
    assert tallies() == {"repeated": 1}


def test_what_a_killed_worker_did_not_match_the_next_one_matches(
    mail: Channel, mailer: SlowResend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(receipts, "match_answers", lambda answers: None)
        mailer.report_first = lambda name: post(resend_report("bounced", name))
        row = sent(mailer)
    before = Receipt.objects.get().delivery_id

    sweep()

    assert (before, Receipt.objects.get().delivery_id) == (None, row.pk)


def test_a_report_by_our_mark_brings_those_by_the_providers_name(
    mail: Channel, mailer: SlowResend
) -> None:
    row = lost(mailer)
    post(resend_report("bounced", "re_9", named="msg_1"))
    before = Receipt.objects.get().delivery_id

    post(resend_report("sent", "re_9", named="msg_2", ref=row.recognizer))

    assert before is None
    assert set(Receipt.objects.values_list("delivery_id", flat=True)) == {row.pk}


def test_reports_about_mail_of_others_cost_no_search_of_their_own(
    mail: Channel, mailer: SlowResend, django_assert_max_num_queries: Any
) -> None:
    for number in range(60):
        post(resend_report("sent", f"re_other_{number}", named=f"msg_{number}"))

    with django_assert_max_num_queries(20):
        post(resend_report("sent", "re_other_60", named="msg_60"))

    assert Receipt.objects.filter(delivery=None).count() == 61
