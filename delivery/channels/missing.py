"""What stands in for an adapter that is not installed: it holds, and never sends."""

from delivery.channels.contract import Adapter, Envelope, Journal, Rendered
from delivery.channels.declaration import Declaration
from delivery.errors import UnknownAdapterError
from delivery.outcomes import NotSent, Outcome


class NoAdapter(Adapter):
    """The stand-in. Its channel is held, so `submit` is only reached by mistake."""

    slug = ""

    def declare(self) -> Declaration:
        return Declaration(adapter="")

    def normalise(self, destination: str) -> str:
        raise UnknownAdapterError(f"{destination}: the channel's adapter is not installed")

    def render(self, envelope: Envelope) -> Rendered:
        raise UnknownAdapterError(f"{envelope.destination}: the adapter is not installed")

    def submit(self, rendered: Rendered, key: str, journal: Journal) -> Outcome:
        del rendered, key, journal
        return NotSent("the channel's adapter is not installed", tried=False)
