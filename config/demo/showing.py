"""What a first visitor of the served console is told: accounts, and three things to look at."""

import secrets

from django.contrib.auth.models import User
from django.urls import reverse

from config.demo.day.cast import APPROVER, OPERATOR_ADMIN, ROLES, TRIAGER
from config.drill.incident import CONSOLE
from config.management.commands.up import OPERATOR
from ledgers.models import Delivery

READERS = ", ".join(name for name, role in ROLES.items() if role in {"viewer", "auditor"})


def new_password() -> str:
    """One password for all accounts of this showing; the demo guards nothing."""
    password = secrets.token_urlsafe(9)
    User.objects.get_or_create(username=OPERATOR, defaults={"is_staff": True, "is_superuser": True})
    for user in User.objects.filter(is_staff=True):
        user.set_password(password)
        user.save()
    return password


def greeting(address: tuple[str, int], password: str, manage: str) -> str:
    """The lines below the verdict. `manage`: how somebody in this folder types `manage.py`."""
    host, port = address
    site = f"http://{host}:{port}"
    # Another console may have the usual port, and its incidents are not this one's.
    elsewhere = "" if site == CONSOLE else f" --console {site}"
    triage, approvals = reverse("admin:triage"), reverse("admin:approvals")
    return (
        f"\nConsole:  {site}/\n"
        f"Login:    {OPERATOR}  {password}   (may do everything)\n"
        f"          {TRIAGER} decides, {APPROVER} approves, {OPERATOR_ADMIN} runs the channels,\n"
        f"          {READERS} look on; the same password for all\n"
        f"Look at:  38 texts that may have arrived, one decision  {site}{triage}\n"
        f"          a request that waits for a second person      {site}{approvals}\n"
        f"          a key that stops protecting in half an hour   {site}{_closing()}\n"
        f"Practise: {manage} drill{elsewhere}\n"
        "Ctrl-C stops the console, the worker and the recipient. The next demo begins anew."
    )


def _closing() -> str:
    row = Delivery.objects.filter(
        status="unknown", message__channel__slug="customer-mail"
    ).earliest("unknown_since")
    return reverse("admin:delivery", args=[row.delivery_id])
