"""The adapter of the simulated recipient (`delivery.simulator`): every promise can be switched on.

It is met as a chat service would be: a room as destination, a text, an idempotency key in a
header, look-ups by key and by id, and a list of messages to scan. Loopback only.
"""

import ipaddress
from collections.abc import Callable, Iterator, Mapping
from http import HTTPStatus
from typing import ClassVar
from urllib.parse import quote, urlencode, urlsplit

from delivery.channels.answers import Reading, json_of, outcome_of
from delivery.channels.contract import Adapter, Envelope, Finding, Journal, Json, Query, Rendered
from delivery.channels.declaration import Declaration, KeyForm, Surface, Window
from delivery.channels.destinations import MISSING, check_destination
from delivery.channels.http import Call, Failure, exchange
from delivery.channels.looking import ask, bearer, found_or_absent
from delivery.channels.reading import PartialAnswer
from delivery.channels.scanning import Page, Scan, Seen, moment
from delivery.channels.settings import Settings, budget, choice, flag, number, text
from delivery.channels.texts import VISIBLE_LINE, split_content, text_of, visible_line
from delivery.errors import BadDestinationError, SecretError
from delivery.outcomes import NotSent, Outcome
from ledgers.canonical import canonical_json

Headers = Mapping[str, str]
_Look = Callable[[Query, float, Headers], Finding]
_RIGHT = "the name of a room, such as room:ops, at most 1000 characters"


def _is_loopback(url: str) -> bool:
    parts = urlsplit(url)
    try:
        host = ipaddress.ip_address(parts.hostname or "")
        return parts.scheme == "http" and host.is_loopback and bool(parts.port)
    except ValueError:
        return False


class SimulatorAdapter(Adapter):
    """Speaks to a recipient process at `url`."""

    slug = "simulator"
    known: ClassVar[Settings] = {
        "url": text(
            "Where the recipient process listens.",
            right="http://127.0.0.1:PORT, an address of this machine",
            is_right=_is_loopback,
            required=True,
        ),
        "dedupe_window_s": number("Seconds for which it honours a key; 0: it has none.", default=0),
        "key_scope": choice("Within what a key is one.", "endpoint", "credential"),
        "look_up_by_key": flag("Whether it can be asked by key.", default=True),
        "look_up_by_id": flag("Whether it can be asked by message id.", default=True),
        "scan": flag("Whether its list of messages can be read.", default=True),
        "surface_complete": flag("Whether its list shows every message.", default=True),
        "page_size": number("Messages asked for per page.", default=100, least=1, most=1000),
        "max_pages": number("Pages read before a scan gives up.", default=20, least=1, most=1000),
        "control_text": text("The text of the control message in each room.", default="control"),
        "recognizer_place": choice("Where the recognizer goes.", "both", "hidden", "visible"),
        "part_limit": number("Most units of text in a message; 0: no limit.", default=0),
        "part_unit": choice("What the limit counts.", "utf16", "code_points", "bytes"),
        "processing_s": number("Seconds until a message can be found.", default=0),
        "questions_per_minute": budget(),
    }

    best: ClassVar[Mapping[str, Json]] = {"dedupe_window_s": 86_400}

    def endpoint(self) -> str:
        return str(self.option("url"))

    def declare(self) -> Declaration:
        window_s = float(self.option("dedupe_window_s"))
        return Declaration(
            adapter=self.slug,
            key=KeyForm("header Idempotency-Key"),
            window=Window(window_s, "channel setting", "operator") if window_s else Window(),
            key_scope=self.option("key_scope") if window_s else "none",
            on_duplicate="200 with the first one's id and Idempotent-Replayed: true",
            on_mismatch="409 with error: mismatch",
            on_in_flight="409 with error: in_flight",
            look_up_by_key=self.option("look_up_by_key"),
            look_up_by_id=self.option("look_up_by_id"),
            surface=self._surface(),
            recognizer_places=self._places(),
            refusals="400, 401, 403, 404, 405, 410, 413, 415 and 422 are answered before acting",
            rate_limit_proves_rejection=True,
            ids_are_unique=True,
            processing_s=float(self.option("processing_s")),
            met="real server",
        )

    def _surface(self) -> Surface | None:
        if not self.option("scan"):
            return None
        return Surface("the room's messages", self.option("surface_complete"), "read_history")

    def _places(self) -> tuple[str, ...]:
        place = self.option("recognizer_place")
        return ("hidden", "visible") if place == "both" else (place,)

    def normalise(self, destination: str) -> str:
        named = check_destination(destination, _RIGHT)
        if named.rpartition(":")[2].strip().lower() in MISSING:
            raise BadDestinationError("destination", f"{named!r} names no room", _RIGHT)
        return named.lower()

    def check_content(self, content: Json) -> None:
        text_of(content)

    def split(self, content: Json) -> list[Json]:
        return split_content(content, self._room_for_text(), self.option("part_unit"))

    def _room_for_text(self) -> int:
        """The limit, less what is kept free for the visible recognizer and mark."""
        limit = int(self.option("part_limit"))
        visible = "visible" in self._places()
        return max(limit - VISIBLE_LINE, 4) if limit and visible else limit

    def render(self, envelope: Envelope) -> Rendered:
        shown = text_of(envelope.content)
        if "visible" in self._places():
            shown += "\n" + visible_line(envelope.recognizer, envelope.marker)
        hidden = envelope.recognizer if "hidden" in self._places() else ""
        message = {"recognizer": hidden, "text": shown, "to": envelope.destination}
        return Rendered(canonical_json(message, "content").encode(), envelope.destination)

    def submit(self, rendered: Rendered, key: str, journal: Journal) -> Outcome:
        try:
            secret = self.secret()
            headers = {**bearer(secret), "Content-Type": "application/json", "Idempotency-Key": key}
        except (SecretError, ValueError) as error:
            return NotSent(str(error), tried=False)
        url = f"{self.option('url')}/v1/messages"
        result = exchange(Call("POST", url, headers, rendered.body, allow_private=True), journal)
        return outcome_of(result, _reading(result), [secret])

    def look_up(self, query: Query, deadline: float) -> Iterator[Finding]:
        try:
            headers = bearer(self.secret())
        except (SecretError, ValueError) as error:
            yield Finding("key_lookup", "inconclusive", "nothing", f"no credential: {error}")
            return
        for look in self._looks(query):
            finding = look(query, deadline, headers)
            yield finding
            if finding.verdict in {"found", "found_many"}:
                return

    def _looks(self, query: Query) -> Iterator[_Look]:
        if self.option("look_up_by_key") and query.key:
            yield self._by_key
        if self.option("look_up_by_id") and query.provider_message_id:
            yield self._by_id
        if self.option("scan"):
            yield self._scan

    def _by_key(self, query: Query, deadline: float, headers: Headers) -> Finding:
        asked = urlencode({"key": query.key, "to": query.destination})
        url = f"{self.option('url')}/v1/look_up?{asked}"
        return found_or_absent("key_lookup", url, ask(url, deadline, headers, allow_private=True))

    def _by_id(self, query: Query, deadline: float, headers: Headers) -> Finding:
        url = f"{self.option('url')}/v1/messages/{quote(query.provider_message_id, safe='')}"
        answer = ask(url, deadline, headers, allow_private=True)
        # An id that is not found was deleted; of other submissions that proves nothing.
        return found_or_absent("id_lookup", url, answer, authoritative=False)

    def _scan(self, query: Query, deadline: float, headers: Headers) -> Finding:
        asked = {"to": query.destination, "limit": int(self.option("page_size"))}
        url = f"{self.option('url')}/v1/messages?{urlencode(asked)}"

        def fetch(cursor: str | None) -> Page | str:
            more = "" if cursor is None else "&" + urlencode({"before": cursor})
            return _page(ask(url + more, deadline, headers, allow_private=True))

        surface = self._surface() or Surface("none", complete=False)
        scan = Scan(query, surface, self._is_control, int(self.option("max_pages")))
        return scan.read(fetch, f"GET {url}, every page, for {query.recognizer}")

    def _is_control(self, seen: Seen) -> bool:
        return bool(seen.text == self.option("control_text"))


def _reading(result: PartialAnswer | Failure) -> Reading:
    """Its 409 says which of the two conflicts it is."""
    if isinstance(result, Failure) or result.status_code != HTTPStatus.CONFLICT:
        return Reading()
    said = json_of(result)
    error = said.get("error") if isinstance(said, dict) else None
    return Reading(conflict=error if error in ("in_flight", "mismatch") else "ambiguous")


def _page(answer: PartialAnswer | str) -> Page | str:
    if isinstance(answer, str):
        return answer
    said = json_of(answer)
    if answer.status_code != HTTPStatus.OK or not isinstance(said, dict):
        return f"answered {answer.status_code}"
    try:
        return Page(
            messages=tuple(_seen(one) for one in said["messages"]),
            next=said["next"],
            reader=said["reader"]["author"],
            may_read="read_history" in said["reader"]["may"],
            whole_history=said["whole_history"] is True,
        )
    except (KeyError, TypeError, ValueError) as error:
        return f"its list cannot be read: {error!r}"


def _seen(one: Mapping[str, Json]) -> Seen:
    return Seen(one["id"], one["author"], moment(one["at"]), one["text"], one["recognizer"])
