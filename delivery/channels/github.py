"""GitHub: one comment on an issue or a pull request, found again by a hidden mark in its source.

It honours no key. A comment's source is returned as it was posted, so an HTML comment, which
readers do not see, carries the recognizer; the list of an issue's comments runs from old to new.

Source: docs.github.com, REST, issue comments (version 2022-11-28). Known by contract only.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from typing import ClassVar

from delivery.channels.answers import Reading, json_of, kept_text, outcome_of, retry_after_s
from delivery.channels.api import (
    ApiAdapter,
    Listing,
    api_settings,
    clock_of,
    place_setting,
    rate_limited,
    scan_settings,
)
from delivery.channels.contract import Envelope, Finding, Introspection, Json, Query, Rendered
from delivery.channels.declaration import Declaration, Surface
from delivery.channels.destinations import check_pattern
from delivery.channels.looking import bearer
from delivery.channels.reading import PartialAnswer
from delivery.channels.scanning import CLOCK_TOLERANCE, Page, Seen, moment
from delivery.channels.settings import Settings
from delivery.channels.texts import split_content, text_of
from delivery.outcomes import Outcome, Unauthorised
from ledgers.canonical import canonical_json

LIMIT = 65_536 - 300  # characters of a body, less what is added to it
PAGE = 100
_RIGHT = "an issue or pull request, such as owner/repository#12"
_FORM = r"[a-z0-9](?:[a-z0-9-]{0,38})/[a-z0-9._-]{1,100}#[1-9][0-9]{0,9}"
_MARK = re.compile(r"<!-- counterfoil ([a-z0-9]{20,25}) -->")
_SCOPES = "X-OAuth-Scopes"
# Any one of these is enough for the request, as GitHub says with every answer.
_WANTED = "X-Accepted-OAuth-Scopes"
_HOUR_S = 3600.0  # after which its limits begin anew
_NO_SCOPE = frozenset({403, 404})


class GithubAdapter(ApiAdapter):
    """One comment with a personal or an app's token."""

    slug = "github"
    known: ClassVar[Settings] = {
        **api_settings("https://api.github.com"),
        **place_setting(),
        **scan_settings(),
    }
    reading: ClassVar[Reading] = Reading(
        refusals=frozenset({400, 401, 403, 404, 410, 413, 415, 422})
    )

    best: ClassVar[Mapping[str, Json]] = {"surface_complete": True}

    def declare(self) -> Declaration:
        return Declaration(
            adapter=self.slug,
            on_duplicate="a second comment",
            surface=Surface(
                "the issue's comments", self.option("surface_complete"), "read access to issues"
            ),
            recognizer_places=_places(self.option("recognizer_place")),
            refusals="4xx but 408, 409 and 429 are answered before acting",
            rate_limit_proves_rejection=True,
            ids_are_unique=True,
            processing_s=5.0,
            deadline_s=20.0,
            introspection="X-OAuth-Scopes, for classic tokens only",
            questions_per_minute=60.0,
            scopes=("repo",),
            met="contract only",
        )

    def normalise(self, destination: str) -> str:
        return check_pattern(destination.strip().lower(), _FORM, _RIGHT)

    def check_content(self, content: Json) -> None:
        text_of(content)

    def split(self, content: Json) -> list[Json]:
        return split_content(content, LIMIT, "code_points")

    def render(self, envelope: Envelope) -> Rendered:
        shown = self.with_line(text_of(envelope.content), envelope.recognizer, envelope.marker)
        if self.option("recognizer_place") != "visible":
            shown += f"\n<!-- counterfoil {envelope.recognizer} -->"
        body = canonical_json({"body": shown}, "content").encode()
        return Rendered(body, envelope.destination)

    def headers(self, secret: str) -> dict[str, str]:
        return {
            **bearer(secret),
            "Accept": "application/vnd.github+json",
            "User-Agent": "counterfoil",
            "X-GitHub-Api-Version": "2022-11-28",
        }

    def path(self, rendered: Rendered, key: str, secret: str) -> str:
        del key, secret
        return _comments(rendered.destination)

    def outcome(self, answer: PartialAnswer, secret: str) -> Outcome:
        """A 403 is a rate limit where it says so: both kinds come with that status."""
        if answer.status_code == HTTPStatus.FORBIDDEN and _is_limit(answer):
            return rate_limited(answer, _wait_s(answer), secret)
        granted, wanted = _scopes(answer, _SCOPES), _scopes(answer, _WANTED)
        lacks = granted and wanted and not set(granted) & set(wanted)
        if answer.status_code in _NO_SCOPE and lacks:
            why = f"{answer.status_code}: the token lacks a scope"
            return Unauthorised(why, wanted, granted, kept_text(answer, [secret]))
        return outcome_of(answer, self.reading, [secret])

    def look_up(self, query: Query, deadline: float) -> Iterator[Finding]:
        surface = self.declare().surface
        if surface is None:
            return
        me = self.introspect(deadline)
        since = query.since - CLOCK_TOLERANCE - timedelta(seconds=1)
        asked = {"per_page": PAGE, "since": since.strftime("%Y-%m-%dT%H:%M:%SZ")}
        path = _comments(query.destination)

        def page(cursor: str | None) -> Page | str:
            if not me.identity:
                return f"who reads is not known: {me.why}"
            number = int(cursor or 1)
            said = self.told(path, deadline, {**asked, "page": number})
            if isinstance(said, str):
                return said
            return Page(
                messages=tuple(_seen(one) for one in said),
                next=str(number + 1) if len(said) == PAGE else None,
                reader=me.identity,
                may_read=True,  # without it the answer is 404
                whole_history=False,
                since=since,
            )

        yield from self.scanned(query, surface, Listing(f"{path}?since={asked['since']}", page))

    def introspect(self, deadline: float) -> Introspection:
        answer = self.ask("/user", deadline)
        if isinstance(answer, str):
            return Introspection(why=answer)
        said = json_of(answer)
        if answer.status_code != HTTPStatus.OK or not isinstance(said, dict):
            refused = answer.status_code == HTTPStatus.UNAUTHORIZED
            return Introspection(refused=refused, why=f"answered {answer.status_code}")
        return Introspection(
            identity=str(said.get("login", "")),
            scopes=_scopes(answer, _SCOPES) or None,
            clock=clock_of(answer),
        )


def _is_limit(answer: PartialAnswer) -> bool:
    said = json_of(answer)
    message = str(said.get("message", "")) if isinstance(said, dict) else ""
    return retry_after_s(answer) is not None or _is_used_up(answer) or "rate limit" in message


def _is_used_up(answer: PartialAnswer) -> bool:
    return answer.headers.get("X-RateLimit-Remaining", "").strip() == "0"


def _wait_s(answer: PartialAnswer) -> float:
    """As its documents want it: what it says, else until the hour is over, else a minute."""
    asked_s = retry_after_s(answer)
    reset = answer.headers.get("X-RateLimit-Reset", "").strip()
    if asked_s is None and _is_used_up(answer) and re.fullmatch(r"[0-9]{1,12}", reset):
        now = clock_of(answer) or datetime.now(UTC)
        return min(max(int(reset) - now.timestamp(), 0.0), _HOUR_S) + 1.0
    return 60.0 if asked_s is None else asked_s


def _scopes(answer: PartialAnswer, field: str) -> tuple[str, ...]:
    """The scopes that a header field lists; none for the kinds of tokens that have no scopes."""
    return tuple(filter(None, answer.headers.get(field, "").replace(" ", "").split(",")))


def _places(place: str) -> tuple[str, ...]:
    places = {"hidden": "HTML comment in the source", "visible": "last line"}
    return tuple(places.values()) if place == "both" else (places[place],)


def _comments(destination: str) -> str:
    repository, _, number = destination.partition("#")
    return f"/repos/{repository}/issues/{number}/comments"


def _seen(one: Mapping[str, Json]) -> Seen:
    body = str(one["body"] or "")
    marked = _MARK.findall(body)  # a quotation brings the marks of what it quotes before our own
    return Seen(
        id=str(one["id"]),
        author=one["user"]["login"],
        at=moment(one["created_at"]),
        text=body,
        hidden=marked[-1] if marked else "",
    )
