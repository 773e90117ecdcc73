"""The provider: what becomes of what was sent to it."""

from collections.abc import Iterator

from tests.model.world import Effect, OnWire, Provider, Setup


def arrivals(
    setup: Setup, provider: Provider, t: int
) -> Iterator[tuple[str, Provider, OnWire, str]]:
    """What becomes of each submission on the wire: (label, provider, submission, answer)."""
    for sent in provider.wire:
        wire = list(provider.wire)
        wire.remove(sent)
        rest = provider._replace(wire=tuple(wire))
        yield "the provider accepts", _accepted(setup, rest, sent, t), sent, "accepted"
        for answer in setup.answers:
            if answer != "not_sent":
                yield f"the provider answers {answer}", rest, sent, answer


def _accepted(setup: Setup, provider: Provider, sent: OnWire, t: int) -> Provider:
    effect = provider.effects[sent.g]
    if setup.window and effect.received and t < effect.first + setup.window:
        return provider  # the same key: the first one's answer again
    first = effect.first if effect.received else t
    more = Effect(effect.received + 1, first, effect.outlived or sent.outlived)
    effects = (more, provider.effects[1]) if sent.g == 0 else (provider.effects[0], more)
    return provider._replace(effects=effects)


def later(provider: Provider, t: int) -> Provider:
    """The provider at the next tick: what has not arrived by then never does."""
    wire = tuple(sent for sent in provider.wire if sent.arrive_by >= t)
    return provider if len(wire) == len(provider.wire) else provider._replace(wire=wire)
