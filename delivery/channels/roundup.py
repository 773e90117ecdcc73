"""Roundup: one new issue in a tracker, by an address that takes one post, found by its title.

It honours no key of ours. It hands out addresses of its own, each good for one post within half an
hour, so that whatever stands between and tries again makes no second issue. Its "POE token not
valid" does not say whether the address was used or had expired: the issue may exist, and the
tracker is searched. An error within Roundup is answered with 400 and a page; so a 400 is a refusal
only where it is the interface's own.

Source: Roundup 2.6.0, met in person (tests/real/test_roundup.py); its rest.py;
draft-nottingham-http-poe-00.
"""

import base64
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import ClassVar
from urllib.parse import urlsplit

from delivery.channels.answers import json_of, kept_text
from delivery.channels.api import (
    ApiAdapter,
    Listing,
    api_settings,
    clock_of,
    rate_limited,
    said_no,
    scan_settings,
    unclear,
)
from delivery.channels.contract import (
    Envelope,
    Finding,
    Introspection,
    Journal,
    Json,
    Query,
    Rendered,
)
from delivery.channels.declaration import Declaration, Surface
from delivery.channels.destinations import check_pattern
from delivery.channels.http import Call, Failure, exchange
from delivery.channels.looking import SilentJournal
from delivery.channels.reading import PartialAnswer
from delivery.channels.scanning import Page, Seen
from delivery.channels.settings import Settings, is_line, is_plain, matches, text
from delivery.channels.texts import text_of, visible_line
from delivery.channels.urls import is_http_url
from delivery.errors import BadContentError, SecretError
from delivery.outcomes import Accepted, NotSent, Outcome, Unauthorised
from ledgers.canonical import canonical_json

PAGE = 100
_RIGHT = "the name of a class of items that have a title, such as issue"
_TITLE_RIGHT = 'one line, or an object with one line under "title" and a text under "text"'
_DATE = "%Y-%m-%d.%H:%M:%S"
_USED = "POE token"
_REFUSALS = frozenset({400, 403, 404, 405, 413, 415})


class RoundupAdapter(ApiAdapter):
    """One issue, by the user whose password the credential holds."""

    slug = "roundup"
    known: ClassVar[Settings] = {
        **api_settings(""),
        **scan_settings(),
        "username": text(
            "The user that writes.", right="a user's name", is_right=is_plain, required=True
        ),
        "text_property": text(
            "The property that takes a text; without one, an issue has a title only.",
            right="a property's name, such as description",
            is_right=matches(r"[a-z][a-z0-9_]{0,39}"),
        ),
        "web_url": text(
            "The tracker's address as its own configuration has it, where base_url is another.",
            right="an http(s) URL without a slash at its end",
            is_right=lambda url: is_http_url(url) and not url.endswith("/"),
        ),
    }

    best: ClassVar[Mapping[str, Json]] = {"surface_complete": True}

    def declare(self) -> Declaration:
        has_text = bool(self.option("text_property"))
        return Declaration(
            adapter=self.slug,
            on_duplicate="a second issue",
            surface=Surface(
                "the tracker's list", self.option("surface_complete"), "a view of every issue"
            ),
            recognizer_places=("title", *(("last line of the text",) if has_text else ())),
            refusals="400, 403, 404, 405, 413, 415 as the interface's own error, not of an address",
            rate_limit_proves_rejection=True,
            ids_are_unique=True,
            processing_s=5.0,
            deadline_s=20.0,
            introspection="the user of that name; roles are not listed",
            questions_per_minute=60.0,
            scopes=("Rest Access", "Create issue", "View issue"),
            met="real server",
        )

    def normalise(self, destination: str) -> str:
        return check_pattern(destination.strip(), r"[a-z][a-z0-9_]{0,39}", _RIGHT)

    def check_content(self, content: Json) -> None:
        self._read(content)

    def _read(self, content: Json) -> tuple[str, str]:
        """Title and text.

        Raises:
            BadContentError: if there is no title of one line, or a text and no place for it.
        """
        has_both = isinstance(content, dict) and "title" in content
        title = content["title"] if has_both else text_of(content)
        said = text_of(content) if has_both and "text" in content else ""
        if not isinstance(title, str) or not is_line(title):
            raise BadContentError("content", "has no title of one line", _TITLE_RIGHT)
        if said and not self.option("text_property"):
            raise BadContentError("content", "has a text, and text_property is not set", "a title")
        return title, said

    def render(self, envelope: Envelope) -> Rendered:
        title, said = self._read(envelope.content)
        line = visible_line(envelope.recognizer, envelope.marker)
        issue = {"title": f"{title} [{line}]"}
        if said:
            issue[self.option("text_property")] = f"{said}\n\n{line}"
        return Rendered(canonical_json(issue, "content").encode(), envelope.destination)

    def headers(self, secret: str) -> dict[str, str]:
        pair = base64.b64encode(f"{self.option('username')}:{secret}".encode()).decode()
        web = urlsplit(self.option("web_url") or self.endpoint())
        return {
            "Authorization": f"Basic {pair}",
            # Its protection against foreign forms; a request without them is refused.
            "X-Requested-With": "rest",
            "Origin": f"{web.scheme}://{web.netloc}",
            "Referer": f"{web.geturl()}/",
        }

    def path(self, rendered: Rendered, key: str, secret: str) -> str:
        del key, secret
        return f"{_items(rendered.destination)}/@poe/{rendered.extra['token']}"

    def submit(self, rendered: Rendered, key: str, journal: Journal) -> Outcome:
        """Ask for an address that takes one post, and post to it, once."""
        token = self._token(rendered.destination, journal.deadline)
        if not isinstance(token, str):
            return token
        return super().submit(replace(rendered, extra={"token": token}), key, journal)

    def _token(self, destination: str, deadline: float) -> str | Outcome:
        """What makes the address, or why there is none; nothing was posted then."""
        try:
            secret = self._needed_secret()
        except SecretError as error:
            return NotSent(str(error), tried=False)
        call = Call(
            "POST",
            f"{self.endpoint()}{_items(destination)}/@poe",
            {"Content-Type": "application/json", **self.headers(secret)},
            b"{}",
            allow_private=self.option("allow_private"),
            ca_file=self.option("ca_file"),
        )
        answer = exchange(call, SilentJournal(deadline))
        if isinstance(answer, Failure):
            return NotSent(f"no address to post to: {getattr(answer.outcome, 'why', '')}")
        data = _data(json_of(answer))
        token = str(data.get("link", "")).rpartition("/@poe/")[2]
        if answer.status_code == HTTPStatus.OK and is_plain(token) and "/" not in token:
            return token
        return _without_address(answer, secret)

    def outcome(self, answer: PartialAnswer, secret: str) -> Outcome:
        status, said = answer.status_code, json_of(answer)
        if 200 <= status < 300:
            return Accepted(_created(said), response=kept_text(answer, [secret]))
        if status == HTTPStatus.TOO_MANY_REQUESTS:
            return rate_limited(answer, None, secret)
        if status == HTTPStatus.UNAUTHORIZED:
            return Unauthorised("401: not let in", response=kept_text(answer, [secret]))
        message = _message(said)
        if message.startswith(_USED):
            return unclear(answer, f"{status}: the address was used or has expired", secret)
        if message and status in _REFUSALS:
            return said_no(answer, f"{status}: {message}", secret)
        return unclear(answer, f"{status} proves nothing about acceptance", secret)

    def look_up(self, query: Query, deadline: float) -> Iterator[Finding]:
        surface = self.declare().surface
        if surface is None:
            return
        me = self._user_id(deadline)
        path = _items(query.destination)
        asked: dict[str, Json] = {"@fields": "title,creator,creation"}

        def page(cursor: str | None) -> Page | str:
            """First what has our word in its title, then the whole list, newest first."""
            if not me.isdigit():
                return f"who reads is not known: {me}"
            listed = {"@sort": "-creation", "@page_size": PAGE, "@page_index": cursor}
            said = self.told(
                path, deadline, asked | (listed if cursor else {"title": query.recognizer})
            )
            if isinstance(said, str):
                return said
            data, number = _data(said), int(cursor or 0)
            more = number * PAGE < data["@total_size"] or not number
            return Page(
                messages=tuple(
                    sorted(map(_seen, data["collection"]), key=lambda one: one.at, reverse=True)
                ),
                next=str(number + 1) if more else None,
                reader=me,
                may_read=True,  # without it the answer is 403
                whole_history=True,
            )

        yield from self.scanned(query, surface, Listing(f"{path}?title={query.recognizer}", page))

    def _user_id(self, deadline: float) -> str:
        """Our user's number in the tracker, or why it is not known."""
        asked = {"username": self.option("username"), "@fields": "username"}
        said = self.told("/rest/data/user", deadline, asked)
        if isinstance(said, str):
            return said
        users = _data(said).get("collection", [])
        ours = [one for one in users if one.get("username") == self.option("username")]
        return str(ours[0]["id"]) if len(ours) == 1 else "the tracker shows no such user"

    def introspect(self, deadline: float) -> Introspection:
        answer = self.ask("/rest/", deadline)
        if isinstance(answer, str):
            return Introspection(why=answer)
        if answer.status_code != HTTPStatus.OK:
            refused = answer.status_code == HTTPStatus.UNAUTHORIZED
            return Introspection(refused=refused, why=f"answered {answer.status_code}")
        found = self._user_id(deadline)
        if not found.isdigit():
            return Introspection(clock=clock_of(answer), why=found)
        return Introspection(identity=self.option("username"), clock=clock_of(answer))


def _without_address(answer: PartialAnswer, secret: str) -> Outcome:
    """The tracker gives none. Nothing was posted, whatever the reason."""
    shown, status = kept_text(answer, [secret]), answer.status_code
    if status == HTTPStatus.UNAUTHORIZED:
        return Unauthorised("401: not let in", response=shown)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return rate_limited(answer, None, secret)
    return NotSent(
        f"no address to post to: answered {status} {_message(json_of(answer))}"[:300],
        response=shown,
    )


def _items(destination: str) -> str:
    return f"/rest/data/{destination}"


def _data(said: Json) -> Mapping[str, Json]:
    data = said.get("data") if isinstance(said, dict) else None
    return data if isinstance(data, dict) else {}


def _created(said: Json) -> str:
    return str(_data(said).get("id", ""))[:200]


def _message(said: Json) -> str:
    """The interface's own error; empty for whatever else answered."""
    error = said.get("error") if isinstance(said, dict) else None
    return str(error.get("msg") or "") if isinstance(error, dict) else ""


def _seen(one: Mapping[str, Json]) -> Seen:
    return Seen(
        id=str(one["id"]),
        author=str(one["creator"]["id"]),
        at=datetime.strptime(one["creation"][:19], _DATE).replace(tzinfo=UTC),
        text=str(one.get("title") or ""),
    )
