"""Whether the functions that a channel names can be imported here. A worker may see others."""

from delivery.channels.function import FunctionAdapter, load, worded
from ledgers.models import Channel

PATHS = ("path", "look_up_path")


def unimportable(channel: Channel) -> list[str]:
    """What is wrong with each path that leads to no function; for adapters that call functions."""
    if channel.adapter != FunctionAdapter.slug:
        return []
    return [text for name in PATHS if (text := _complaint(name, channel.settings.get(name, "")))]


def _complaint(name: str, path: str) -> str:
    if not path:
        return ""
    try:
        load(path)
    except BaseException as error:  # noqa: BLE001  importing runs a stranger's code, sys.exit() too
        return f"{name} {path} cannot be imported ({worded(error)})"
    return ""
