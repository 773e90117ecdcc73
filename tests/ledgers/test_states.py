"""The statuses and their moves, as data and as the page that is drawn from it."""

import pytest
from django.conf import settings

from ledgers import states
from ledgers.states import DeliveryStatus as S


def test_the_page_about_states_is_drawn_from_the_table() -> None:
    page = settings.BASE_DIR / "docs" / "states.md"

    assert page.read_text() == states.drawn(), "run manage.py draw_states"


def test_every_status_says_what_it_means() -> None:
    for choices in (states.DeliveryStatus, states.RunStatus, states.StepStatus):
        for status in choices:
            assert len(status.label.split()) >= 2


def test_submitting_only_times_out_to_unknown_and_never_to_pending_by_time_alone() -> None:
    clearing = [m for m in states.MOVES if S.SUBMITTING in m.sources and m.target == S.PENDING]

    assert clearing == [states.CLEAR]
    assert "proven" in states.CLEAR.meaning


def test_delivered_is_final() -> None:
    assert not [move for move in states.MOVES if S.DELIVERED in move.sources]


@pytest.mark.parametrize("status", list(S))
def test_every_status_can_be_reached(status: S) -> None:
    assert [move for move in states.MOVES if move.target == status]


def test_whatever_claims_not_sent_is_disputed_by_an_acceptance() -> None:
    assert {*states.NOT_SENT, S.PENDING} == set(states.ACCEPT.disputes)
