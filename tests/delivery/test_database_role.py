"""A role that owns nothing delivers as any other, and cannot lift the guards of the trail."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from delivery.checks import role_cannot_lift_the_guards
from ledgers.models import Channel
from tests.delivery.senders import Desk
from tests.factories import delivery, record, sweep

pytestmark = pytest.mark.django_db(transaction=True)
DOCUMENT = Path(__file__).parents[2] / "docs" / "database-role.md"


@pytest.fixture
def unprivileged() -> Iterator[None]:
    """Connected as the role that the document makes, statement for statement."""
    made = re.search(r"```sql\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert made is not None
    with connection.cursor() as cursor:
        cursor.execute(made[1])
        cursor.execute("SET ROLE counterfoil_app")
    yield
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
        cursor.execute("DROP OWNED BY counterfoil_app")
        cursor.execute("DROP ROLE counterfoil_app")


@pytest.mark.usefixtures("unprivileged")
def test_it_records_and_delivers(alerts: Channel, desk: Desk) -> None:
    record()

    sweep()

    assert delivery().status == "delivered"
    assert desk.effects("tg:1001") == 1


@pytest.mark.usefixtures("unprivileged")
@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE ledgers_event DISABLE TRIGGER ALL",
        "SET session_replication_role = replica",
        "TRUNCATE ledgers_event CASCADE",
        "DROP TABLE ledgers_event CASCADE",
        "DELETE FROM ledgers_event",
        "UPDATE ledgers_event SET kind = 'x'",
    ],
)
def test_it_cannot_lift_the_guards(alerts: Channel, desk: Desk, statement: str) -> None:
    record()

    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)


@pytest.mark.usefixtures("unprivileged")
def test_nothing_is_said_about_it(settings: Any) -> None:
    settings.COUNTERFOIL_MODE = "production"

    assert role_cannot_lift_the_guards(["default"]) == []


def test_a_superuser_is_warned_of_in_production_only(settings: Any) -> None:
    assert role_cannot_lift_the_guards(["default"]) == []
    settings.COUNTERFOIL_MODE = "production"

    (warning,) = role_cannot_lift_the_guards(["default"])

    assert warning.id == "delivery.W016"
    assert "superuser" in warning.msg


@pytest.mark.usefixtures("unprivileged")
def test_an_owner_is_warned_of_as_well(settings: Any) -> None:
    settings.COUNTERFOIL_MODE = "production"
    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
        cursor.execute("SELECT tableowner FROM pg_tables WHERE tablename = 'ledgers_event'")
        (owner,) = cursor.fetchone()
        cursor.execute("ALTER TABLE ledgers_event OWNER TO counterfoil_app")
        cursor.execute("SET ROLE counterfoil_app")

    (warning,) = role_cannot_lift_the_guards(["default"])

    with connection.cursor() as cursor:
        cursor.execute("RESET ROLE")
        cursor.execute(f"ALTER TABLE ledgers_event OWNER TO {owner}")
    assert "owns the ledgers' tables" in warning.msg
