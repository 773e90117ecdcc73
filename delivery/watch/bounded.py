"""Work that ends in time, or is left behind.

A database that is frozen answers nothing and breaks nothing: a read from it waits for ever. A name
server does the same to a mail. The watch must outlive both.
"""

import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from django.db import connection

T = TypeVar("T")
# Work of one name that was left behind and has not ended: more of it would only pile up.
MOST_LEFT_BEHIND = 8
_under_way: Counter[str] = Counter()
_lock = threading.Lock()


def bounded(seconds: float, work: Callable[[], T], name: str = "database") -> T:
    """What `work` returns or raises, on a thread and a database connection of its own.

    Args:
        name: what it may be stuck in.

    Raises:
        TimeoutError: it did not end in so many seconds. It goes on, and nobody waits for it. Or
            too much of the same name goes on like that already.
    """
    with _lock:
        if _under_way[name] >= MOST_LEFT_BEHIND:
            raise TimeoutError(f"{MOST_LEFT_BEHIND} earlier ones have not ended")
        _under_way[name] += 1
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:  # noqa: BLE001  raised again where it is waited for
            answer.set_exception(error)
        finally:
            connection.close()
            with _lock:
                _under_way[name] -= 1

    threading.Thread(target=run, name="bounded", daemon=True).start()
    return answer.result(timeout=seconds)
