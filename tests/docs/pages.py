"""The documentation as text: its commands, quotations, links and pictures."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings

ROOT: Path = settings.BASE_DIR
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
HANDBOOK = ROOT / "docs/operating.md"
# What stands for something of the reader's own.
STANDS_FOR = {"NUMBER": "17", "SECONDS": "15", "…": "whatever"}
# Text within a line's backticks; a block has three of them.
_SPAN = re.compile(r"(?<!`)`(?!`)[^`]+`(?!`)")
# A command ends where its explanation, a redirection, or its code does.
_END = re.compile(r"\s{2,}|\s[<>#&|]|`|$", re.MULTILINE)


@dataclass(frozen=True)
class Command:
    """One `manage.py …` as it is written."""

    page: Path
    words: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}: {shlex.join(self.words)}"


def commands() -> Iterator[Command]:
    """Every command that any page names, with what is a placeholder filled in."""
    for page in PAGES:
        # What is quoted within a sentence may be broken over two lines.
        text = _SPAN.sub(lambda span: re.sub(r"\s+", " ", span[0]), page.read_text("utf-8"))
        for found in re.finditer(r"manage\.py (?=[a-z])", text):
            end = _END.search(text, found.end())
            said = shlex.split(text[found.end() : end.start() if end else None].rstrip(".,:;"))
            yield Command(page, tuple(STANDS_FOR.get(word, word) for word in said))


def quoted(text: str) -> set[str]:
    """What is quoted from the console; what is left out of it is between the parts."""
    found = re.findall(r"“([^”]+)”", re.sub(r"\s+", " ", text))
    return {part.strip(" ,") for one in found for part in one.split("…") if part.strip(" ,")}


def shown() -> str:
    """Everything that the console can show, in one line: texts of templates and of code."""
    files = [*ROOT.glob("templates/**/*.html")]
    for app in ("reviews", "delivery", "ledgers"):
        files += ROOT.glob(f"{app}/**/*.py")
    joined = "\n".join(file.read_text("utf-8") for file in files)
    joined = re.sub(r'"\s*\n\s*f?"', "", joined)  # one text in several literals
    return with_places(re.sub(r"\s+", " ", joined)).lower()


def with_places(text: str) -> str:
    """A text with each number or value that a page fills in as the same mark."""
    return re.sub(r"\{\{[^}]*\}\}|\d+", "#", text)


def links(page: Path) -> list[str]:
    """The targets of a page's links that stay in the project."""
    found = re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8"))
    return [target for target in found if "://" not in target]


def anchors(page: Path) -> set[str]:
    """The anchors of its headings."""
    heads = re.findall(r"^#+ (.+)$", page.read_text("utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}
