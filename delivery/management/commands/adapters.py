"""`manage.py adapters`: which kinds of channels there are, and what each can promise."""

from typing import Any

from django.core.management.base import CommandParser

from delivery.channels.catalogue import about, catalogue, declared_at_best, declared_at_least
from delivery.channels.declaration import TIERS, in_words
from delivery.channels.registry import ADAPTERS, adapter_class
from delivery.errors import UnknownAdapterError
from ledgers.management.command import Answer, LedgerCommand, MisuseError
from ledgers.management.words import table

HEADERS = ("adapter", "as it is", "at best", "what it is")


class Command(LedgerCommand):
    help = (
        "List the adapters that a channel can use, and how much of the truth about an unknown\n"
        "send each provider lets one have: as it is, and with the best settings. Asks no database."
    )
    lesson = """
        Exit codes: 0 · 2 no such adapter

        Examples:
          manage.py adapters
          manage.py adapters webhook                 all that one of them declares, and its settings
          manage.py adapters --markdown > docs/channels.md
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("adapter", nargs="?", help="only this one, in full")
        parser.add_argument("--markdown", action="store_true", help="all of them, as a document")

    def answer(self, options: dict[str, Any]) -> Answer:
        if options["markdown"]:
            return Answer({"markdown": catalogue()}, catalogue().rstrip("\n"))
        if options["adapter"]:
            return _one(options["adapter"])
        rows = [
            (name, declared_at_least(one).tier, declared_at_best(one).tier, about(one))
            for name, one in sorted(ADAPTERS.items())
        ]
        tiers = "\n".join(f"{tier}  {text}" for tier, text in TIERS.items())
        value = {
            "adapters": [{"name": n, "tier": least, "best": best} for n, least, best, _ in rows],
            "tiers": TIERS,
        }
        return Answer(value, f"{table(HEADERS, rows)}\n\n{tiers}")


def _one(name: str) -> Answer:
    try:
        adapter = adapter_class(name)
    except UnknownAdapterError as error:
        raise MisuseError(str(error), "adapter") from error
    words = in_words(declared_at_best(adapter))
    settings = [
        (name, "required" if one.required else one.default, one.about)
        for name, one in adapter.known.items()
    ]
    text = "\n\n".join(
        [
            about(adapter),
            table(("it declares, at best", ""), words),
            table(("setting", "default", "what it does"), settings),
        ]
    )
    value = {
        "name": name,
        "declares": declared_at_best(adapter).frozen(),
        "settings": {name: {"default": default, "about": said} for name, default, said in settings},
    }
    return Answer(value, text)
