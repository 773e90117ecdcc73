"""A forum without an interface for programs: one comment by its HTML form, found on its pages.

It honours no key. It answers 200 with the form again where it did not take a comment, and 302 to
the comment where it did. For half an hour it answers the same text of the same writer with a 302,
too: to the topic's last comment, whoever wrote it, and even if it never saved ours. So a 302 counts
as acceptance only after the comment it names was read and carries our recognizer. Its pages tell
times in the reader's own words: no date is read, and a search reads the whole topic.

Source: django-spirit 0.14.3, met in person (tests/real/test_forum.py); comment/views.py (answers,
the double post), comment/templates (what a page looks like).
"""

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import ClassVar
from urllib.parse import urlencode, urlsplit

from delivery.channels.answers import kept_text
from delivery.channels.api import (
    ApiAdapter,
    Listing,
    api_settings,
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
from delivery.channels.forum_pages import ForumPage, read_page
from delivery.channels.forum_sessions import Account, Session, cookie, csrf_headers, sessions
from delivery.channels.http import Call, Failure, exchange
from delivery.channels.looking import SilentJournal
from delivery.channels.reading import PartialAnswer
from delivery.channels.scanning import Page, Seen
from delivery.channels.secrets import fingerprint
from delivery.channels.settings import Settings, is_plain, number, text
from delivery.channels.texts import VISIBLE_LINE, mentions, split_content, text_of, visible_line
from delivery.errors import SecretError
from delivery.outcomes import Accepted, Deferred, NotSent, Outcome, Refused, Unauthorised

_FORM = "application/x-www-form-urlencoded"
_LOGIN = "/user/login/"
_RIGHT = "the number of a topic, such as 1234"
_NOT_LET_IN = "the forum does not take this name and password"
_COMMENT = re.compile(r"/comment/([0-9]+)/find/")
_MOVED = frozenset({HTTPStatus.MOVED_PERMANENTLY, HTTPStatus.FOUND})


class ForumAdapter(ApiAdapter):
    """One comment in a topic, as the user whose password the credential holds."""

    slug = "forum"
    content_type: ClassVar[str] = _FORM
    known: ClassVar[Settings] = {
        **api_settings(""),
        **scan_settings(),
        "username": text(
            "The user that writes.", right="a user's name", is_right=is_plain, required=True
        ),
        "max_length": number(
            "Characters in a comment, as the forum allows.", default=3000, least=200
        ),
    }

    best: ClassVar[Mapping[str, Json]] = {"surface_complete": True}

    def declare(self) -> Declaration:
        return Declaration(
            adapter=self.slug,
            on_duplicate="302 to the topic's last comment for half an hour, then a second comment",
            surface=Surface(
                "the topic's pages",
                self.option("surface_complete"),
                "a view with every comment unremoved",
            ),
            recognizer_places=("last line",),
            refusals="200 with the form again, 302 to the sign-in, 403, 404",
            ids_are_unique=True,
            processing_s=5.0,
            deadline_s=20.0,
            introspection="signs in; the page names the user",
            questions_per_minute=20.0,
            met="real server",
        )

    def normalise(self, destination: str) -> str:
        return check_pattern(destination.strip(), r"[1-9][0-9]{0,9}", _RIGHT)

    def check_content(self, content: Json) -> None:
        text_of(content)

    def split(self, content: Json) -> list[Json]:
        return split_content(content, int(self.option("max_length")) - VISIBLE_LINE, "code_points")

    def render(self, envelope: Envelope) -> Rendered:
        line = visible_line(envelope.recognizer, envelope.marker)
        form = urlencode({"comment": f"{text_of(envelope.content)}\n\n{line}"})
        extra = {"recognizer": envelope.recognizer}
        return Rendered(form.encode(), envelope.destination, extra)

    def headers(self, secret: str) -> dict[str, str]:
        session = sessions.get(self._account(secret))
        return session.headers(self.endpoint()) if session else {}

    def path(self, rendered: Rendered, key: str, secret: str) -> str:
        del key, secret
        return f"/comment/{rendered.destination}/publish/"

    def submit(self, rendered: Rendered, key: str, journal: Journal) -> Outcome:
        """Sign in where nobody is, then post the form, once."""
        session = self._session(journal.deadline)
        if isinstance(session, str):
            return Unauthorised(session) if session.startswith(_NOT_LET_IN) else NotSent(session)
        headers = session.headers(self.endpoint())
        call = self._post(self.path(rendered, key, ""), headers, rendered.body)
        result = exchange(call, journal)
        if isinstance(result, Failure):
            return result.outcome
        if result.status_code == HTTPStatus.FOUND:
            return self._sent_on(result, rendered, journal.deadline)
        if result.status_code == HTTPStatus.OK:
            return _form_again(result)
        return self._by_status(result)

    def _by_status(self, answer: PartialAnswer) -> Outcome:
        status = answer.status_code
        if status == HTTPStatus.NOT_FOUND:
            return said_no(answer, "404: no such topic is open to this user", "")
        if status == HTTPStatus.FORBIDDEN:  # of the protection against foreign forms
            sessions.drop(self._account(self.secret()))
            return Refused(
                "403: the session was not taken", permanent=False, response=kept_text(answer)
            )
        return unclear(answer, f"{status} proves nothing about acceptance", "")

    def _sent_on(self, answer: PartialAnswer, rendered: Rendered, deadline: float) -> Outcome:
        to = urlsplit(answer.headers.get("Location", "")).path
        if to == _LOGIN:
            sessions.drop(self._account(self.secret()))
            return NotSent(
                "the session had ended: the next attempt signs in", response=kept_text(answer)
            )
        named = _COMMENT.fullmatch(to)
        if named is None:
            return unclear(answer, f"302 to {to}, which is no comment", "")
        page = self._page(to, deadline)
        if isinstance(page, str):
            return unclear(answer, f"302 to comment {named[1]}, which cannot be read: {page}", "")
        comment = page[1].comment(named[1])
        ours = comment is not None and comment.author == page[1].reader
        if comment is None or not ours or not mentions(comment.text, rendered.extra["recognizer"]):
            return unclear(answer, f"302 to comment {named[1]}, which is not ours", "")
        return Accepted(named[1], response=kept_text(answer))

    # --- Who asks

    def _account(self, secret: str) -> Account:
        return Account(self.endpoint(), self.option("username"), fingerprint(secret))

    def _session(self, deadline: float) -> Session | str:
        """The session that there is, or a new one, or why there is none."""
        try:
            secret = self._needed_secret()
        except SecretError as error:
            return str(error)
        return sessions.get(self._account(secret)) or self._sign_in(secret, deadline)

    def _sign_in(self, secret: str, deadline: float) -> Session | str:
        page = self.ask(_LOGIN, deadline)
        if isinstance(page, str):
            return f"cannot sign in: {page}"
        token = cookie(page, "csrftoken")
        form = urlencode({"username": self.option("username"), "password": secret})
        call = self._post(_LOGIN, csrf_headers(self.endpoint(), token), form.encode())
        answer = exchange(call, SilentJournal(deadline))
        if isinstance(answer, Failure):
            return f"cannot sign in: {getattr(answer.outcome, 'why', '')}"
        session_id = cookie(answer, "sessionid")
        if answer.status_code == HTTPStatus.OK and read_page(answer.text).errors:
            return f"{_NOT_LET_IN}: {read_page(answer.text).errors[0]}"[:300]
        if answer.status_code != HTTPStatus.FOUND or not session_id:  # as where too many were tried
            return f"cannot sign in: answered {answer.status_code}, and nobody is signed in"
        return sessions.put(self._account(secret), session_id, cookie(answer, "csrftoken") or token)

    # --- What the forum shows

    def _page(self, path: str, deadline: float) -> tuple[str, ForumPage] | str:
        """The page behind a path and where it really is; a comment's or a topic's own leads on."""
        session = self._session(deadline)
        if isinstance(session, str):
            return session
        said = ""
        for _ in range(3):
            answer = self.ask(path, deadline)
            if isinstance(answer, str):
                return answer
            if answer.status_code == HTTPStatus.OK:
                return path, self._shown(answer)
            said = f"answered {answer.status_code}"
            if answer.status_code not in _MOVED:
                break
            onward = urlsplit(answer.headers.get("Location", ""))
            path = onward.path + (f"?{onward.query}" if onward.query else "")
        return said

    def _shown(self, answer: PartialAnswer) -> ForumPage:
        shown = read_page(answer.text)
        if not shown.reader:  # the session had ended; whoever asks next signs in
            sessions.drop(self._account(self.secret()))
        return shown

    def look_up(self, query: Query, deadline: float) -> Iterator[Finding]:
        surface = self.declare().surface
        if surface is None:
            return
        topic = f"/topic/{query.destination}/"

        def page(cursor: str | None) -> Page | str:
            got = self._page(cursor or topic, deadline)
            if isinstance(got, str):
                return got
            path, shown = got
            if cursor is None and shown.last > 1:
                return page(f"{path}?page={shown.last}")
            return _listed(path, shown, query)

        yield from self.scanned(query, surface, Listing(topic, page))

    def introspect(self, deadline: float) -> Introspection:
        got = self._page("/", deadline)
        if isinstance(got, str):
            return Introspection(refused=got.startswith(_NOT_LET_IN), why=got)
        return Introspection(
            identity=got[1].reader, why="" if got[1].reader else "nobody is signed in"
        )

    def _post(self, path: str, headers: Mapping[str, str], body: bytes) -> Call:
        return Call(
            "POST",
            f"{self.endpoint()}{path}",
            {"Content-Type": _FORM, **headers},
            body,
            allow_private=self.option("allow_private"),
            ca_file=self.option("ca_file"),
        )


def _form_again(answer: PartialAnswer) -> Outcome:
    """A 200: the form comes back with what is wrong with it, or with a rate limit's notice."""
    page, shown = read_page(answer.text), kept_text(answer)
    if not page.has_form:
        return unclear(answer, "200 without the form proves nothing here", "")
    if page.errors:
        return Refused(f"the form came back: {page.errors[0]}"[:300], response=shown)
    if page.notices:  # it limits the rate, in the reader's own words
        return Deferred(f"the form came back: {page.notices[0]}"[:300], response=shown)
    return Refused("the form came back and does not say why", permanent=False, response=shown)


def _listed(path: str, shown: ForumPage, query: Query) -> Page | str:
    """One page of a topic, the newest comment first; the page before it follows."""
    here, _, numbered = path.partition("?page=")
    number = int(numbered or 1)
    if not shown.reader:
        return "nobody is signed in"
    return Page(
        messages=tuple(
            Seen(one.id, one.author, query.since, one.text)
            for one in reversed(shown.comments)
            if not one.removed
        ),
        next=f"{here}?page={number - 1}" if number > 1 else None,
        reader=shown.reader,
        may_read=not any(one.removed for one in shown.comments),
        whole_history=True,
    )
