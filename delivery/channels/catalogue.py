"""What every adapter declares, as one document: `docs/channels.md` is this, written to a file."""

import inspect
import json
from collections.abc import Iterator, Sequence

from delivery.channels.contract import Adapter
from delivery.channels.declaration import TIERS, Declaration, in_words
from delivery.channels.registry import ADAPTERS
from delivery.channels.settings import Setting

_HEAD = """# Channels

A channel is a row that an operator configures; an adapter is the code behind it. This page is
written from what the adapters declare (`manage.py adapters --markdown`), and a test keeps it fresh.

What can be learnt about an unknown send depends on the provider, and so does what happens to it:

"""


def declared_at_least(adapter: type[Adapter]) -> Declaration:
    """What holds with nothing set but what must be."""
    return adapter({}, lambda: "").declare()


def declared_at_best(adapter: type[Adapter]) -> Declaration:
    """What holds with the settings under which the provider promises the most."""
    return adapter(adapter.best, lambda: "").declare()


def about(adapter: type[Adapter]) -> str:
    """The first sentence about an adapter."""
    module = inspect.getmodule(adapter)
    text = " ".join((inspect.getdoc(module) or "").split("\n\n")[0].split())
    return text.removesuffix(".") + "."


def catalogue() -> str:
    """The whole document, in Markdown."""
    tiers = "".join(f"* **{tier}**: {text}.\n" for tier, text in TIERS.items())
    each = "".join(f"\n{part}" for name in sorted(ADAPTERS) for part in _section(ADAPTERS[name]))
    return f"{_HEAD}{tiers}\n{_overview()}{each}"


def _overview() -> str:
    rows = [("adapter", "as it is", "at best", "key", "window", "how it was met")]
    for name, adapter in sorted(ADAPTERS.items()):
        least, best = declared_at_least(adapter), declared_at_best(adapter)
        window = f"{best.window.seconds:g} s" if best.window.seconds else "none"
        key = best.key.place if best.key else "none"
        rows.append((f"[`{name}`](#{name})", least.tier, best.tier, key, window, best.met))
    return _table(rows)


def _section(adapter: type[Adapter]) -> Iterator[str]:
    yield f"## {adapter.slug}\n\n{about(adapter)}\n"
    least = dict(in_words(declared_at_least(adapter)))
    best = dict(in_words(declared_at_best(adapter)))
    rows = [("it declares", "as it is", "at best")]
    rows += [(what, least[what], best[what] if best[what] != least[what] else "") for what in best]
    yield _table(rows)
    if adapter.best:
        yield f"At best: `{json.dumps(dict(adapter.best))}`\n"
    if adapter.known:
        settings = [_setting(name, one) for name, one in adapter.known.items()]
        yield _table([("setting", "what it does", "default"), *settings])


def _setting(name: str, one: Setting) -> tuple[str, str, str]:
    default = "**required**" if one.required else f"`{json.dumps(one.default)}`"
    return f"`{name}`", one.about, default


def _table(rows: Sequence[tuple[str, ...]]) -> str:
    head, *body = (f"| {' | '.join(map(_cell, row))} |" for row in rows)
    line = f"|{'---|' * len(rows[0])}"
    return "\n".join([head, line, *body]) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
