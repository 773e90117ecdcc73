"""Pages as somebody without scripts uses them: links, forms, and what is said then."""

import re

from django.test import Client
from django.urls import reverse

from ledgers.models import Delivery
from reviews.records import Decision


def page(name: str, *args: object) -> str:
    """The address of a page of the console."""
    return reverse(f"admin:{name}", args=args)


def text(client: Client, url: str) -> str:
    """What a page says."""
    answer = client.get(url)
    assert answer.status_code == 200
    return answer.content.decode()


def decide(client: Client, row: Delivery, kind: str, **fields: str) -> Decision:
    """Fill in the form of the delivery's page, and get to the page that confirms."""
    form = {"kind": kind, "reason": "they wait for it", "version": str(row.row_version)} | fields
    answer = client.post(page("delivery_decide", row.delivery_id), form)
    assert answer.status_code == 302, answer.content.decode()
    return Decision.objects.latest("pk")


def confirm(client: Client, draft: Decision, **fields: str) -> str:
    """Press the button of that page, and read what is said then.

    Where it asks how many there are, that is typed as well.
    """
    html = text(client, page("decision", draft.pk))
    shown = re.search(r'name="wish" value="([^"]*)"', html)
    counted = re.search(r"Type the number of deliveries: <code>(\d+)</code>", html)
    fields = ({"typed": counted[1]} if counted else {}) | fields
    fields |= {"wish": shown.group(1)} if shown else {}
    answer = client.post(page("decision_confirm", draft.pk), fields, follow=True)
    draft.refresh_from_db()
    return answer.content.decode()
