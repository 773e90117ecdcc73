"""Whether everything is held because of where the database comes from."""

from delivery.watch.figures import Origin
from ledgers.models import Installation


def read() -> Origin:
    """The hold, or an empty one; what a person holds is none of it."""
    here = Installation.objects.get()
    if not (here.restoring or here.unsure_at):
        return Origin()
    return Origin(here.held_reason, here.held_at)
