"""What adapters of hosted JSON interfaces share: one request, one credential, lists to read.

A provider's own client library is not used: one call of the official ones was measured to submit
up to eleven times against a peer that acted and then reset the connection.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any, ClassVar
from urllib.parse import urlencode

from delivery.channels.answers import Reading, json_of, kept_text, outcome_of, retry_after_s
from delivery.channels.contract import Adapter, Finding, Journal, Json, Query, Rendered
from delivery.channels.declaration import Surface
from delivery.channels.http import Call, Failure, exchange
from delivery.channels.looking import ask, bearer
from delivery.channels.reading import PartialAnswer
from delivery.channels.scanning import Page, Scan
from delivery.channels.settings import Settings, budget, choice, flag, number, text
from delivery.channels.texts import visible_line
from delivery.channels.urls import is_file, is_http_url
from delivery.errors import SecretError
from delivery.outcomes import Ambiguous, Deferred, NotSent, Outcome, Refused

_MAX_PAGES = 20


def api_settings(home: str) -> dict[str, Any]:
    """The settings that every such adapter knows. `home`: the provider's own address."""
    return {
        "base_url": text(
            "Where the interface is.",
            default=home,
            right="an http(s) URL without a slash at its end",
            is_right=lambda url: is_http_url(url) and not url.endswith("/"),
            required=not home,
        ),
        "allow_private": flag("Whether an address in a private network may be called."),
        "questions_per_minute": budget(),
        "ca_file": text(
            "Certificates to trust instead of the usual ones.",
            right="the path of a readable PEM file",
            is_right=is_file,
        ),
    }


def scan_settings() -> dict[str, Any]:
    """The settings of adapters that read a list of messages."""
    return {
        "surface_complete": flag(
            "Whether nobody removes messages there, so that what is not seen was not accepted."
        ),
        "max_pages": number(
            "Pages read before a scan gives up.", default=_MAX_PAGES, least=1, most=1000
        ),
    }


def place_setting() -> dict[str, Any]:
    return {"recognizer_place": choice("Where the recognizer goes.", "both", "hidden", "visible")}


class ApiAdapter(Adapter):
    """One request per submission. Subclasses say where, with which headers, and what it proves."""

    known: ClassVar[Settings] = api_settings("")
    method: ClassVar[str] = "POST"
    content_type: ClassVar[str] = "application/json"
    # Bytes of an answer to a question that are read; a list of long messages can be a long one.
    most_read: ClassVar[int] = 4 * 1024 * 1024
    # Which statuses prove that nothing was accepted; see `answers.Reading`.
    reading: ClassVar[Reading] = Reading()

    def endpoint(self) -> str:
        return str(self.option("base_url"))

    @abstractmethod
    def path(self, rendered: Rendered, key: str, secret: str) -> str:
        """Where the submission goes, from the base URL on."""

    def headers(self, secret: str) -> dict[str, str]:
        """Who asks.

        Raises:
            ValueError: if the secret cannot be carried by a header.
        """
        return bearer(secret)

    def key_headers(self, key: str) -> Mapping[str, str]:
        """The key, where it goes into a header."""
        del key
        return {}

    def signature(self, method: str, url: str, body: bytes, secret: str) -> dict[str, str]:
        """Header fields that are made for each request, where the provider wants it signed."""
        del method, url, body, secret
        return {}

    def body(self, rendered: Rendered, secret: str) -> bytes:
        """The body as it is sent; only a secret may be added to what was rendered."""
        del secret
        return rendered.body

    def outcome(self, answer: PartialAnswer, secret: str) -> Outcome:
        """What an answer proves."""
        return outcome_of(answer, self.reading, [secret])

    def ready(self) -> str:
        try:
            self.headers(self._needed_secret())
        except (SecretError, ValueError) as error:
            return str(error)
        return ""

    def _needed_secret(self) -> str:
        secret = self.secret()
        if not secret:
            raise SecretError("the channel's credential has no secret, and the provider needs one")
        return secret

    def submit(self, rendered: Rendered, key: str, journal: Journal) -> Outcome:
        try:
            secret = self._needed_secret()
            url = self.option("base_url") + self.path(rendered, key, secret)
            body = self.body(rendered, secret)
            headers = {
                "Content-Type": self.content_type,
                **self.headers(secret),
                **self.key_headers(key),
                **self.signature(self.method, url, body, secret),
            }
        except (SecretError, ValueError) as error:
            return NotSent(str(error), tried=False)
        call = Call(
            self.method,
            url,
            headers,
            body,
            allow_private=self.option("allow_private"),
            ca_file=self.option("ca_file"),
        )
        result = exchange(call, journal)
        return result.outcome if isinstance(result, Failure) else self.outcome(result, secret)

    def ask(
        self, path: str, deadline: float, parameters: Mapping[str, Json] | None = None
    ) -> PartialAnswer | str:
        """One question by GET: its whole answer, or why there is none."""
        if not path.startswith("/"):  # behind a host it would lead to another one, with the secret
            return f"{path!r} is no path"[:300]
        query = f"?{urlencode(parameters, doseq=True)}" if parameters else ""
        url = f"{self.option('base_url')}{path}{query}"
        try:
            secret = self._needed_secret()
            headers = {**self.headers(secret), **self.signature("GET", url, b"", secret)}
        except (SecretError, ValueError) as error:
            return f"no credential: {error}"
        return ask(
            url,
            deadline,
            headers,
            allow_private=self.option("allow_private"),
            ca_file=self.option("ca_file"),
            most=self.most_read,
        )

    def told(
        self, path: str, deadline: float, parameters: Mapping[str, Json] | None = None
    ) -> Json | str:
        """The JSON of a 200, or why there is none."""
        answer = self.ask(path, deadline, parameters)
        if isinstance(answer, str):
            return answer
        if answer.status_code != HTTPStatus.OK:
            return f"answered {answer.status_code}"
        said = json_of(answer)
        return said if said is not None else "answered 200 with something that is no JSON"

    def scanned(self, query: Query, surface: Surface, listing: "Listing") -> Iterator[Finding]:
        """Read a list until the time is covered. Any other message there is the control."""

        def fetch(cursor: str | None) -> Page | str:
            try:
                return listing.page(cursor)
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                return f"its list cannot be read: {error!r}"[:300]

        scan = Scan(
            query,
            surface,
            lambda seen: not seen.carries(query.recognizer),
            int(self.option("max_pages")),
        )
        yield scan.read(fetch, f"GET {listing.url}, every page, for {query.recognizer}")

    def with_line(self, shown: str, recognizer: str, marker: str) -> str:
        """A text with the visible recognizer; the mark of an approved resend is always shown."""
        if self.option("recognizer_place") == "hidden" and not marker:
            return shown
        return f"{shown}\n{visible_line(recognizer, marker)}"


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of messages that is read page by page.

    `url`: what a person could repeat. `page`: the page at a cursor (None is the first), or why it
    could not be had; it may raise what reading a malformed answer raises.
    """

    url: str
    page: Callable[[str | None], Page | str]


def rate_limited(answer: PartialAnswer, wait_s: Any, secret: str) -> Deferred:
    """A rate limit whose wait, in seconds, stands in the body; else in the usual header."""
    named = isinstance(wait_s, int | float) and not isinstance(wait_s, bool) and wait_s >= 0
    seconds = float(wait_s) if named else retry_after_s(answer)
    return Deferred("429: the provider limits the rate", seconds, kept_text(answer, [secret]))


def said_no(answer: PartialAnswer, why: str, secret: str) -> Refused:
    return Refused(why[:300], response=kept_text(answer, [secret]))


def unclear(answer: PartialAnswer, why: str, secret: str, *, mismatch: bool = False) -> Ambiguous:
    return Ambiguous(why[:300], mismatch=mismatch, response=kept_text(answer, [secret]))


def clock_of(answer: PartialAnswer | str) -> datetime | None:
    """The provider's time, from an answer."""
    if isinstance(answer, str):
        return None
    try:
        return parsedate_to_datetime(answer.headers.get("Date", ""))
    except ValueError:
        return None
