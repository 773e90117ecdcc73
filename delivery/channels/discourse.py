"""Discourse: one post in a topic, found again in the topic's posts.

It refuses a post whose text equals one of ours of the last minutes (five, unless the site says
otherwise), which is no key but a sign: a 422 may mean that an equal post of ours exists. So no 422
counts as a refusal here; the topic tells.

Sources: discourse/discourse, app/models/post.rb, lib/validators/post_validator.rb,
config/site_settings.yml; docs.discourse.org. Known by contract only.
"""

from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import ClassVar

from delivery.channels.answers import Reading, json_of, outcome_of
from delivery.channels.api import (
    ApiAdapter,
    Listing,
    api_settings,
    clock_of,
    rate_limited,
    scan_settings,
)
from delivery.channels.contract import Envelope, Finding, Introspection, Json, Query, Rendered
from delivery.channels.declaration import Declaration, Surface
from delivery.channels.destinations import check_pattern
from delivery.channels.looking import bearer
from delivery.channels.reading import PartialAnswer
from delivery.channels.scanning import Page, Seen, moment
from delivery.channels.settings import Settings, is_plain, number, text
from delivery.channels.texts import VISIBLE_LINE, split_content, text_of, visible_line
from delivery.outcomes import Outcome
from ledgers.canonical import canonical_json

PAGE = 20  # posts that a topic gives at once
_RIGHT = "the number of a topic, such as 1234"
_REFUSALS = frozenset({400, 401, 403, 404, 405, 410, 413, 415})


class DiscourseAdapter(ApiAdapter):
    """One reply in a topic, as the user that the API key stands for."""

    slug = "discourse"
    known: ClassVar[Settings] = {
        **api_settings(""),
        **scan_settings(),
        "username": text(
            "The user that posts.", right="a user's name", is_right=is_plain, required=True
        ),
        "max_length": number(
            "Characters in a post, as the site allows.", default=32_000, least=200
        ),
    }
    reading: ClassVar[Reading] = Reading(refusals=_REFUSALS)

    best: ClassVar[Mapping[str, Json]] = {"surface_complete": True}

    def declare(self) -> Declaration:
        return Declaration(
            adapter=self.slug,
            on_duplicate="422 within some minutes (not for staff), then a second post",
            surface=Surface("the topic's posts", self.option("surface_complete"), "see the topic"),
            recognizer_places=("last line",),
            refusals="4xx but 408, 409, 422 and 429 are answered before acting",
            rate_limit_proves_rejection=True,
            ids_are_unique=True,
            processing_s=5.0,
            deadline_s=20.0,
            introspection="the session's user",
            questions_per_minute=20.0,
            met="contract only",
        )

    def normalise(self, destination: str) -> str:
        return check_pattern(destination.strip(), r"[1-9][0-9]{0,9}", _RIGHT)

    def check_content(self, content: Json) -> None:
        text_of(content)

    def split(self, content: Json) -> list[Json]:
        return split_content(content, int(self.option("max_length")) - VISIBLE_LINE, "code_points")

    def render(self, envelope: Envelope) -> Rendered:
        line = visible_line(envelope.recognizer, envelope.marker)
        post = {
            "raw": f"{text_of(envelope.content)}\n\n{line}",
            "topic_id": int(envelope.destination),
        }
        return Rendered(canonical_json(post, "content").encode(), envelope.destination)

    def headers(self, secret: str) -> dict[str, str]:
        bearer(secret)  # the same characters are allowed
        return {"Api-Key": secret, "Api-Username": self.option("username")}

    def path(self, rendered: Rendered, key: str, secret: str) -> str:
        del rendered, key, secret
        return "/posts.json"

    def outcome(self, answer: PartialAnswer, secret: str) -> Outcome:
        if answer.status_code == HTTPStatus.TOO_MANY_REQUESTS:
            said = json_of(answer)
            extras = said.get("extras") if isinstance(said, dict) else None
            wait_s = extras.get("wait_seconds") if isinstance(extras, dict) else None
            return rate_limited(answer, wait_s, secret)
        return outcome_of(answer, self.reading, [secret])

    def look_up(self, query: Query, deadline: float) -> Iterator[Finding]:
        surface = self.declare().surface
        if surface is None:
            return
        topic = f"/t/{query.destination}"

        def page(cursor: str | None) -> Page | str:
            """The posts from the end of the stream backwards; the cursor is how many were read."""
            said = self.told(f"{topic}.json", deadline)
            if isinstance(said, str):
                return said
            stream, read = said["post_stream"]["stream"], int(cursor or 0)
            chosen = stream[max(len(stream) - read - PAGE, 0) : len(stream) - read]
            asked = {"post_ids[]": chosen, "include_raw": "true"}
            posts = self.told(f"{topic}/posts.json", deadline, asked) if chosen else None
            if isinstance(posts, str):
                return posts
            listed = posts["post_stream"]["posts"] if posts else []
            if len(listed) != len(chosen):
                return f"{len(listed)} of {len(chosen)} posts could be read"
            left = len(stream) - read - len(chosen)
            return Page(
                messages=tuple(sorted(map(_seen, listed), key=lambda one: one.at, reverse=True)),
                next=str(read + len(chosen)) if left > 0 else None,
                reader=str(self.option("username")).lower(),
                may_read=True,  # without it the answer is 403
                whole_history=True,
            )

        yield from self.scanned(query, surface, Listing(f"{topic}/posts.json", page))

    def introspect(self, deadline: float) -> Introspection:
        answer = self.ask("/session/current.json", deadline)
        if isinstance(answer, str):
            return Introspection(why=answer)
        said = json_of(answer)
        user = said.get("current_user") if isinstance(said, dict) else None
        if answer.status_code != HTTPStatus.OK or not isinstance(user, dict):
            refused = answer.status_code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}
            return Introspection(refused=refused, why=f"answered {answer.status_code}")
        return Introspection(identity=str(user.get("username", "")), clock=clock_of(answer))


def _seen(one: Mapping[str, Json]) -> Seen:
    return Seen(
        id=str(one["id"]),
        author=str(one["username"]).lower(),
        at=moment(one["created_at"]),
        text=str(one.get("raw", "")),
    )
