"""Who is there: people in each role, credentials, and ways out with unlike promises.

Addresses are under `.example`, and numbers those that are kept for fiction: nobody has them.
"""

from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import Group, User

from delivery.simulator.client import Simulator
from ledgers.models import Channel, Credential
from reviews.people import Person, person_of

HOUR_S, DAY_S = 3600.0, 86_400.0

NAMES = (
    "amund", "birgit", "carla", "dmitri", "elif", "farah", "goran", "hanne", "ivo", "jonas",
    "karin", "liam", "mona", "nils", "olga", "pavel", "quinn", "rosa", "sven", "tuva", "ulla",
    "viktor", "wanda", "yara",
)  # fmt: skip
CUSTOMERS = tuple(
    f"{name}@{'nordlys' if n % 3 else 'havn'}.example" for n, name in enumerate(NAMES)
)
HOUSEHOLDS = tuple(f"sms:+44770090{n}" for n in range(1001, 1039))  # 38 of one street
CREWS = tuple(
    f"chat:{name}" for name in ("control", "dispatch", "field", "meters", "storm", "yard")
)
PARTNERS = tuple(f"partner:{name}" for name in ("gridco", "metering", "payments", "weather"))

TRIAGER, SECOND_TRIAGER = "nina.berg", "kai.moen"
APPROVER, OPERATOR_ADMIN = "omar.haddad", "ada.lind"
# Every role. A program's account may sign in nowhere.
ROLES = {
    TRIAGER: "triager",
    SECOND_TRIAGER: "triager",
    APPROVER: "approver",
    OPERATOR_ADMIN: "operator-admin",
    "vera.holm": "viewer",
    "ines.costa": "auditor",
    "billing-agent": "service",
}


@dataclass(frozen=True, slots=True)
class Way:
    """A credential and the channel that sends with it."""

    slug: str
    identity: str
    rules: tuple[str, ...]
    scopes: tuple[str, ...]
    adapter: str = "simulator"
    settings: dict[str, Any] = field(default_factory=dict)
    conduct: dict[str, Any] = field(default_factory=dict)


_NO_SEARCH = {"look_up_by_key": False, "look_up_by_id": False, "scan": False}

WAYS = (
    Way(
        "customer-mail",  # honours a key for a day, and cannot be searched
        "billing@fjordlight.example",
        ("*@nordlys.example", "*@havn.example"),
        ("mail.send",),
        settings={**_NO_SEARCH, "dedupe_window_s": DAY_S},
        conduct={
            "retry_schedule": [60, 300, 900],
            "look_up_schedule": [],
            "max_attempts": 3,
        },
    ),
    Way(
        "household-sms",  # blind: no key, no search
        "FJORDLIGHT",
        ("sms:+44*",),
        ("sms.send",),
        settings={**_NO_SEARCH, "recognizer_place": "visible"},
        conduct={"look_up_schedule": []},
    ),
    Way(
        "crew-chat",  # honours no key, and can be searched to the end
        "fjordlight-bot",
        ("chat:*",),
        ("chat.write", "chat.history"),
        settings={"look_up_by_key": False, "look_up_by_id": False, "part_limit": 260},
        conduct={"look_up_schedule": [120, 600]},
    ),
    Way(
        "partner-feed",  # can be asked by key
        "fjordlight-partner",
        ("partner:*",),
        ("feed.publish", "feed.read"),
        settings={"dedupe_window_s": HOUR_S, "scan": False},
        conduct={"retry_schedule": [30, 120], "max_attempts": 4},
    ),
    Way(
        "refunds",  # every try takes a person's approval
        "payments@fjordlight.example",
        ("account:*",),
        ("refund.create",),
        settings={"dedupe_window_s": DAY_S, "scan": False},
        conduct={"requires_approval": True},
    ),
    Way(
        "archive",  # a sender of the installation's own
        "archive",
        ("archive:*",),
        (),
        adapter="function",
        settings={"path": "config.demo.day.archive.keep"},
    ),
)  # fmt: skip


def set_up_ways(recipient: Simulator) -> None:
    """Make credentials and channels, and tell the recipient which keys it honours."""
    for way in WAYS:
        credential = Credential.objects.create(
            name=way.slug,
            identity=way.identity,
            destination_rules=list(way.rules),
            scopes=list(way.scopes),
        )
        url = {"url": recipient.url} if way.adapter == "simulator" else {}
        channel = Channel(
            slug=way.slug,
            adapter=way.adapter,
            credential=credential,
            settings=way.settings | url,
            scopes_required=list(way.scopes[:1]),
            **way.conduct,
        )
        channel.full_clean()
        channel.save()
    for to in CUSTOMERS:
        recipient.behave(to, dedupe_s=DAY_S)
    for to in PARTNERS:
        recipient.behave(to, dedupe_s=HOUR_S)


def set_up_people() -> dict[str, Person]:
    """Accounts that nobody can sign in with until they are given a password."""
    people = {}
    for name, role in ROLES.items():
        first, _, last = name.partition(".")
        user = User.objects.create_user(
            name, first_name=first.title(), last_name=last.title(), is_staff=role != "service"
        )
        user.groups.add(Group.objects.get(name=role))
        people[name] = person_of(user)
    return people
