"""Vendors' own clients, called once each; run by the Python that has them, not by the tests' own.

Reads from its standard input which vendor, at which address, with which secret, and what to post;
writes what the client made of the answers: the id that it names, and the texts that it lists.
"""

# What it imports is in another environment.
# mypy: ignore-errors

import asyncio
import json
import sys
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx2
import requests


def here(url: str) -> None:
    """Lead clients that know their vendor's address only to this one."""
    send = requests.adapters.HTTPAdapter.send

    def send_here(self: Any, request: Any, **how: Any) -> Any:
        parts = urlsplit(request.url)
        request.url = f"{url}{parts.path}" + (f"?{parts.query}" if parts.query else "")
        return send(self, request, **how)

    requests.adapters.HTTPAdapter.send = send_here
    handle, to = httpx2.HTTPTransport.handle_request, urlsplit(url)

    def handle_here(self: Any, request: Any) -> Any:
        request.url = request.url.copy_with(scheme="http", host=to.hostname, port=to.port)
        return handle(self, request)

    httpx2.HTTPTransport.handle_request = handle_here


def slack(said: dict[str, Any]) -> dict[str, Any]:
    from slack_sdk import WebClient

    client = WebClient(said["secret"], base_url=f"{said['url']}/api/", retry_handlers=[])
    metadata = {"event_type": "counterfoil", "event_payload": {"ref": said["ref"]}}
    made = client.chat_postMessage(channel=said["to"], text=said["text"], metadata=metadata)
    listed = client.conversations_history(channel=said["to"], limit=200, include_all_metadata=True)
    who = client.auth_test()
    return {
        "id": made["ts"],
        "texts": [m["text"] for m in listed["messages"]],
        "who": who["bot_id"],
    }


def discord(said: dict[str, Any]) -> dict[str, Any]:
    from discord.http import HTTPClient, Route, handle_message_parameters
    from discord.mentions import AllowedMentions

    async def call() -> dict[str, Any]:
        client = HTTPClient(asyncio.get_running_loop())
        me = await client.static_login(said["secret"])
        mentions = AllowedMentions.none()
        with handle_message_parameters(
            said["text"],
            nonce=said["key"],
            allowed_mentions=mentions,
            previous_allowed_mentions=None,
        ) as parameters:
            made = await client.send_message(said["to"], params=parameters)
        listed = await client.logs_from(said["to"], limit=100)
        await client.close()
        return {"id": made["id"], "texts": [m["content"] for m in listed], "who": me["id"]}

    Route.BASE = f"{said['url']}{urlsplit(Route.BASE).path}"
    return asyncio.run(call())


def telegram(said: dict[str, Any]) -> dict[str, Any]:
    from telegram import Bot, LinkPreviewOptions

    async def call() -> dict[str, Any]:
        async with Bot(said["secret"], base_url=f"{said['url']}/bot") as bot:
            off = LinkPreviewOptions(is_disabled=True)
            made = await bot.send_message(
                chat_id=said["to"], text=said["text"], link_preview_options=off
            )
            return {"id": str(made.message_id), "texts": [], "who": bot.username}

    return asyncio.run(call())


def github(said: dict[str, Any]) -> dict[str, Any]:
    from github import Auth, Github
    from github.Issue import Issue

    client = Github(
        base_url=said["url"], auth=Auth.Token(said["secret"]), retry=None, per_page=100,
        seconds_between_requests=0, seconds_between_writes=0,
    )  # fmt: skip
    repository, _, number = said["to"].partition("#")
    path = f"{said['url']}/repos/{repository}/issues/{number}"
    issue = Issue(client.requester, {}, {"url": path, "number": int(number)}, completed=True)
    made = issue.create_comment(said["text"])
    listed = issue.get_comments(since=datetime.now(UTC) - timedelta(minutes=5))
    return {"id": str(made.id), "texts": [c.body for c in listed], "who": client.get_user().login}


def discourse(said: dict[str, Any]) -> dict[str, Any]:
    from pydiscourse import DiscourseClient

    client = DiscourseClient(said["url"], api_username="counterfoil", api_key=said["secret"])
    made = client.create_post(said["text"], topic_id=int(said["to"]))
    return {"id": str(made["id"]), "texts": [], "who": "counterfoil"}


def resend(said: dict[str, Any]) -> dict[str, Any]:
    import resend as client

    client.api_url, client.api_key = said["url"], said["secret"]
    made = client.Emails.send(
        {
            "from": "agent@acme.test",
            "to": [said["to"]],
            "subject": "Message",
            "text": said["text"],
            "headers": {"X-Counterfoil-Ref": said["ref"]},
        },
        {"idempotency_key": said["key"]},
    )
    return {"id": made["id"], "texts": [], "who": ""}


def twilio(said: dict[str, Any]) -> dict[str, Any]:
    from twilio.request_validator import RequestValidator
    from twilio.rest import Client

    client = Client(said["account"], said["secret"])
    made = client.messages.create(
        to=said["to"], from_=said["from"], body=said["text"], status_callback=said["callback"]
    )
    since = datetime.now(UTC) - timedelta(days=1)
    listed = client.messages.list(to=said["to"], date_sent_after=since, page_size=50)
    form = {"MessageSid": made.sid, "MessageStatus": "delivered", "AccountSid": said["account"]}
    signed = RequestValidator(said["secret"]).compute_signature(said["callback"], form)
    return {
        "id": made.sid,
        "texts": [m.body for m in listed],
        "who": client.api.v2010.accounts(said["account"]).fetch().sid,
        "callback": {"form": form, "signature": signed},
    }


def pagerduty(said: dict[str, Any]) -> dict[str, Any]:
    from pagerduty import EventsApiV2Client

    client = EventsApiV2Client(said["secret"])
    made = client.trigger(
        said["text"], said["to"], dedup_key=said["key"], severity="critical",
        custom_details={"ref": said["ref"]},
    )  # fmt: skip
    return {"id": made, "texts": [], "who": ""}


CLIENTS = {
    one.__name__: one
    for one in (slack, discord, telegram, github, discourse, resend, twilio, pagerduty)
}


if __name__ == "__main__":
    wanted = json.load(sys.stdin)
    here(wanted["url"])
    sys.stdout.write(json.dumps(CLIENTS[wanted["vendor"]](wanted)))
