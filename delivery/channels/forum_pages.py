"""What stands on a forum's pages: comments, who is signed in, and what a form complains about."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser

_PROFILE = re.compile(r"/user/[0-9]+/[^/?#]+/")
_PAGE = re.compile(r"\?page=([0-9]{1,6})")


@dataclass(slots=True)
class Comment:
    """One comment, or what is left of it. `author`: the path of the profile of who wrote it."""

    id: str
    removed: bool
    author: str = ""
    text: str = ""


@dataclass(slots=True)
class ForumPage:
    """One page.

    `reader`: the profile's path of who is signed in, or empty. `last`: the number of the list's
    last page. `has_form`: whether it asks for a comment. `errors`: what the form complains about;
    `notices`: what the forum says besides.
    """

    comments: list[Comment] = field(default_factory=list)
    reader: str = ""
    last: int = 1
    has_form: bool = False
    errors: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)

    def comment(self, comment_id: str) -> Comment | None:
        return next((one for one in self.comments if one.id == comment_id), None)


def read_page(html: str) -> ForumPage:
    """The page in this HTML; what is not there is simply missing."""
    reading = _Reading()
    reading.feed(html)
    reading.close()
    page = reading.page
    page.reader = reading.first_profile if reading.can_sign_out else ""
    return page


class _Reading(HTMLParser):
    """Follows the tags; `_into` is the list that texts go to at the moment."""

    def __init__(self) -> None:
        super().__init__()
        self.page = ForumPage()
        self.first_profile = ""
        self.can_sign_out = False
        self._into: list[str] | None = None
        self._depth = 0  # of blocks within a comment's text

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        classes = set(given.get("class", "").split())
        if self._depth:
            self._depth += tag == "div"
            return  # whatever a writer made of a comment, it says nothing about the page
        if tag == "a":
            self._link(given.get("href", ""), classes)
        elif tag == "textarea" and given.get("name") == "comment":
            self.page.has_form = True
        elif tag == "ul":
            self._list(classes)
        elif tag == "div":
            self._block(given, classes)

    def _link(self, href: str, classes: set[str]) -> None:
        if _PROFILE.fullmatch(href):
            self.first_profile = self.first_profile or href
            if "comment__info__username__link" in classes and self.page.comments:
                self.page.comments[-1].author = href
        self.can_sign_out |= href.startswith("/user/logout/")
        if number := _PAGE.match(href):
            self.page.last = max(self.page.last, int(number[1]))

    def _list(self, classes: set[str]) -> None:
        if "errorlist" in classes:
            self._into = self.page.errors
        elif "message_text" in classes:
            self._into = self.page.notices

    def _block(self, given: dict[str, str], classes: set[str]) -> None:
        if "js-comment" in classes:
            removed = "comments_list__comment" not in classes
            self.page.comments.append(Comment(given.get("data-pk", ""), removed))
        elif "js-comment-text" in classes and self.page.comments:
            self._depth = 1

    def handle_endtag(self, tag: str) -> None:
        if self._depth:
            self._depth -= tag == "div"
        elif tag == "ul":
            self._into = None

    def handle_data(self, data: str) -> None:
        if self._depth:
            self.page.comments[-1].text += data
        elif self._into is not None and data.strip():
            self._into.append(data.strip())
