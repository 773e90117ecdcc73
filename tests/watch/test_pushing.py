"""Looks that tell people: through a real mail server and a real recipient."""

import json
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from standardwebhooks import Webhook

from delivery.models import AlarmRow, AlarmWay
from delivery.watch import ways
from delivery.watch.alarms import CALM_S
from delivery.watch.checks import State
from delivery.watch.rounds import look
from delivery.watch.store import FIRST_BACKOFF_S, GATHER_S, LONGEST_BACKOFF_S, Ledger
from ledgers.models import Delivery
from tests.channels.peers import Peer
from tests.factories import make_channel, record
from tests.watch.people import OK, Hook, Mailbox
from tests.watch.scenes import beat, channels, installed, leave, overdue, pass_s, push, unknown

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.unverified_ledgers]


@pytest.fixture(autouse=True)
def worker() -> None:
    make_channel()
    beat()


def test_where_nothing_is_wrong_nobody_is_told(mailbox: Mailbox, hook: Hook) -> None:
    assert push().look.state is State.OK
    assert (mailbox.mails, hook.calls) == ([], [])


def test_an_unknown_delivery_is_told_at_five_minutes_and_again_at_an_hour(
    mailbox: Mailbox, hook: Hook
) -> None:
    row = unknown(310)
    for _ in range(3):
        push()
        pass_s(GATHER_S)
    assert mailbox.subjects == ["[Counterfoil local] late: unknown deliveries on alerts"]

    Delivery.objects.filter(pk=row.pk).update(unknown_since=_ago(3_601))
    for _ in range(3):
        push()
        pass_s(GATHER_S)

    assert mailbox.subjects[1:] == ["[Counterfoil local] red: unknown deliveries on alerts"]
    assert [one["alarms"][0]["state"] for one in hook.values] == ["late", "red"]
    assert mailbox.texts[1].startswith(
        "1 delivery on channel alerts is unknown, for 1 h 1 s.\n\nRED: "
    )


def _ago(seconds: float) -> Any:
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp() - make_interval(secs => %s)", [seconds])
        return cursor.fetchone()[0]


def test_a_mail_says_what_is_wrong_what_it_means_what_to_do_and_where(mailbox: Mailbox) -> None:
    unknown(310)

    push()

    (text,) = mailbox.texts
    assert text.splitlines()[0] == "1 delivery on channel alerts is unknown, for 5 min 10 s."
    assert "https://console.acme.test/triage/?channel=alerts" in text
    assert "\nWhat it means: They may have been accepted." in text
    assert "\nWhat to do: Open the list" in text
    assert mailbox.recipients == ["oncall@acme.test"]
    assert mailbox.mails[0]["Auto-Submitted"] == "auto-generated"


def test_neither_payload_nor_destination_nor_secret_is_in_an_alarm(
    mailbox: Mailbox, hook: Hook
) -> None:
    unknown(310)

    with override_settings(COUNTERFOIL_ALARM_WEBHOOK_SECRET="whsec_c2VjcmV0c2VjcmV0c2VjcmV0"):
        push()

    told = mailbox.mails[0].as_string() + hook.calls[0][1].decode()
    for kept_back in ("hello", "tg:1001", "whsec", "s3cr3t", "t0ken"):
        assert kept_back not in told


def test_the_webhooks_recipient_can_verify_who_calls(hook: Hook) -> None:
    secret = "whsec_c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0"
    unknown(310)

    with override_settings(COUNTERFOIL_ALARM_WEBHOOK_SECRET=secret):
        push()

    ((headers, body),) = hook.calls
    lower = {name.lower(): value for name, value in headers.items()}
    assert Webhook(secret).verify(body, lower) == json.loads(body)


def test_an_old_unknown_that_nobody_decides_hides_no_new_one(mailbox: Mailbox) -> None:
    unknown(3_700)
    push()
    pass_s(3_600)
    push()
    assert len(mailbox.mails) == 1

    unknown(310, "run-2")
    for _ in range(3):
        push()
        pass_s(GATHER_S)

    assert len(mailbox.mails) == 2
    assert mailbox.texts[1].startswith("2 deliveries on channel alerts are unknown, the oldest")


def test_its_end_is_told_once_with_its_span(mailbox: Mailbox) -> None:
    row = unknown(310)
    push()
    leave(row)

    for _ in range(4):
        pass_s(CALM_S)
        push()

    assert mailbox.subjects[1:] == ["[Counterfoil local] over: unknown deliveries on alerts"]
    assert mailbox.texts[1].startswith("It is over: unknown deliveries on channel alerts.")
    assert "It was from " in mailbox.texts[1]


def test_no_worker_is_one_alarm_however_many_channels_wait(mailbox: Mailbox) -> None:
    channels(30)
    for n in range(30):
        record(run_id=f"run-{n}", channel=f"alerts-{n:02d}")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ledgers_outboxitem SET due_at = due_at - interval '70 seconds'")
    beat(ago_s=70)
    push()
    assert mailbox.mails == []

    beat(ago_s=100)
    for _ in range(3):
        push()
        pass_s(GATHER_S)

    assert mailbox.subjects == ["[Counterfoil local] red: no worker is alive"]
    assert "; 30 deliveries wait." in mailbox.texts[0].splitlines()[0]
    assert "https://console.acme.test/#workers" in mailbox.texts[0]


def test_a_worker_that_never_ran_is_told(mailbox: Mailbox) -> None:
    from delivery.models import Worker

    Worker.objects.all().delete()
    installed(ago_s=100)

    assert push().look.state is State.RED
    assert "No worker has ever run here" in mailbox.texts[0]


def test_thirty_channels_that_fall_over_together_are_one_message(
    mailbox: Mailbox, hook: Hook
) -> None:
    channels(30)
    for n in range(30):
        record(run_id=f"run-{n}", channel=f"alerts-{n:02d}")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE ledgers_outboxitem SET due_at = due_at - interval '70 seconds'")

    push()

    assert mailbox.subjects == [
        "[Counterfoil local] late: overdue deliveries on alerts-00, and 29 more"
    ]
    assert mailbox.texts[0].count("What it means:") == 1
    assert "and 10 channels more" in mailbox.texts[0]
    assert len(hook.values[0]["alarms"]) == 30


def test_what_follows_a_message_within_moments_is_told_together(mailbox: Mailbox) -> None:
    unknown(310)
    push()
    make_channel("pager")
    overdue(70, "run-2")
    push()
    assert len(mailbox.mails) == 1

    pass_s(GATHER_S)
    push()

    assert mailbox.subjects[1] == "[Counterfoil local] late: overdue deliveries on alerts"


def test_a_server_that_refuses_for_a_while_is_tried_until_it_accepts(mailbox: Mailbox) -> None:
    unknown(310)
    mailbox.answers = [lambda: "451 later"] * 3

    for _ in range(6):
        push()
        pass_s(LONGEST_BACKOFF_S)

    assert len(mailbox.mails) == 1
    row = AlarmWay.objects.get()
    assert row.failures == 0
    assert row.failure.startswith("SMTPDataError: (451")
    assert row.accepted_at is not None


def test_failures_are_tried_again_ever_later(hook: Hook) -> None:
    unknown(310)
    hook.statuses = [503, 503]

    push()
    push()
    assert len(hook.statuses) == 1  # not before the back-off is over

    pass_s(FIRST_BACKOFF_S)
    push()
    pass_s(FIRST_BACKOFF_S)
    push()
    assert (hook.statuses, hook.calls) == ([], [])

    pass_s(FIRST_BACKOFF_S)
    push()
    assert len(hook.calls) == 1


def test_what_came_and_went_while_the_way_was_down_is_told_all_the_same(mailbox: Mailbox) -> None:
    row = unknown(310)
    mailbox.answers = [lambda: "451 later"]
    push()
    leave(row)
    mailbox.answers = [lambda: "451 later"] * 2

    for _ in range(5):
        pass_s(LONGEST_BACKOFF_S)
        push()

    assert mailbox.subjects == ["[Counterfoil local] over: unknown deliveries on alerts"]
    assert "1 delivery on channel alerts is unknown" in mailbox.texts[0]


def test_one_way_that_is_down_keeps_no_other_from_being_told_once(
    mailbox: Mailbox, hook: Hook
) -> None:
    unknown(310)
    mailbox.answers = [lambda: "554 never"] * 9

    for _ in range(4):
        push()
        pass_s(LONGEST_BACKOFF_S)

    assert (len(hook.calls), len(mailbox.mails)) == (1, 0)


@pytest.mark.parametrize("status", [302, 400, 500])
def test_only_a_2xx_is_an_acceptance(hook: Hook, status: int) -> None:
    unknown(310)
    hook.statuses = [status]

    (told,) = push().told

    assert f"answered {status}" in told.why_not


def test_a_webhook_that_cannot_be_reached_is_named_without_its_path(settings: Any) -> None:
    settings.COUNTERFOIL_ALARM_WEBHOOK = "http://127.0.0.1:9/hook/s3cr3t-path?token=t0ken"
    unknown(310)

    (told,) = push().told

    assert "refused" in told.why_not
    row = AlarmWay.objects.get()
    for hidden in ("s3cr3t", "t0ken"):
        assert hidden not in row.name + row.failure + told.way + told.why_not


def test_names_that_are_hostile_cannot_make_a_header_or_a_line(
    mailbox: Mailbox, hook: Hook
) -> None:
    bad = "x\r\nBcc: all@acme.test\r\n\r\nevil\u202e<b>&a=1"
    unknown(310)
    with connection.cursor() as cursor:  # as a careless script with too many rights would
        cursor.execute("SET session_replication_role = replica")
        cursor.execute("UPDATE ledgers_channel SET slug = %s", [bad])
        cursor.execute("SET session_replication_role = origin")

    push()

    (mail,) = mailbox.mails
    assert mail["Bcc"] is None
    assert mailbox.recipients == ["oncall@acme.test"]
    assert "\\r\\nBcc" in mail["Subject"].replace(" ", "")
    lines = mailbox.texts[0].splitlines()
    assert not [line for line in lines if line.startswith(("Bcc", "evil"))]
    assert "channel=x%0D%0ABcc" in hook.values[0]["alarms"][0]["link"]


@pytest.mark.parametrize("every_s", [0.05, 60])
def test_a_mail_server_that_hangs_or_drips_holds_up_nobody(
    settings: Any, monkeypatch: pytest.MonkeyPatch, hook: Hook, every_s: float
) -> None:
    monkeypatch.setattr(ways, "SEND_LIMIT_S", 1.5)
    unknown(310)
    with Peer(lambda talk: talk.drip(b"220-" + b"x" * 5_000, every_s)) as slow:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", slow.port
        settings.EMAIL_TIMEOUT = 5
        settings.COUNTERFOIL_ALARM_MAIL = ["oncall@acme.test"]

        mail, webhook = push().told

    assert mail.why_not == "not accepted within 1.5 s"
    assert (webhook.why_not, len(hook.calls)) == ("", 1)


def test_an_address_that_is_none_fails_alone(settings: Any, mailbox: Mailbox) -> None:
    settings.COUNTERFOIL_ALARM_MAIL = ["a@acme.test\nBcc: b@acme.test", "oncall@acme.test"]
    unknown(310)

    told = {one.way: one.why_not for one in push().told}

    assert mailbox.recipients == ["oncall@acme.test"]
    assert [bool(why) for why in told.values()] == [True, False]


def test_an_older_look_of_a_slower_watch_changes_nothing(mailbox: Mailbox) -> None:
    slow = look()
    unknown(310)
    push()

    Ledger().keep(slow.in_ledger, slow.at, [])

    assert AlarmRow.objects.get(check_name="unknown").better_since is None


def test_a_message_that_is_sent_again_has_the_same_id(mailbox: Mailbox, hook: Hook) -> None:
    unknown(310)
    push()
    first = mailbox.mails[0]["Message-ID"]
    AlarmRow.objects.update(told={})
    pass_s(GATHER_S)
    AlarmRow.objects.filter(check_name="unknown").update(since=_since())

    push()

    assert {mail["Message-ID"] for mail in mailbox.mails} == {first}
    assert len({headers["webhook-id"] for headers, _ in hook.calls}) == 1


def _since() -> Any:
    return Delivery.objects.get().unknown_since


def test_without_a_way_the_alarm_waits_for_one(settings: Any) -> None:
    unknown(310)
    assert push().told == ()

    with Mailbox() as late:
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", late.port
        settings.COUNTERFOIL_ALARM_MAIL = ["oncall@acme.test"]
        push()

        assert len(late.mails) == 1


def test_a_mail_server_that_only_says_ok_is_enough(mailbox: Mailbox) -> None:
    mailbox.answers = [lambda: OK]
    unknown(310)

    assert [one.why_not for one in push().told] == [""]
