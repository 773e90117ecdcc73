"""The network between the processes and their server, which can be cut, stalled and slowed.

It listens on a port, of the loopback unless told otherwise, and passes bytes on to the server's
socket.
"""

import asyncio
import socket
import struct
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CHUNK = 65_536
Pair = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(slots=True, eq=False)
class _Link:
    """One connection: the client's end and the server's."""

    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    seen: bytes = b""
    losing: bool = False

    def cut(self) -> None:
        """End both with a reset, as a middlebox that forgot them would."""
        for end in (self.client, self.server):
            raw = end.get_extra_info("socket")
            with suppress(OSError):
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.transport.abort()


@dataclass(slots=True)
class _State:
    refusing: bool = False
    delay_s: float = 0.0
    # What a connection must have sent, in this order, for the answer to be lost; None: no trap.
    trap: tuple[bytes, ...] | None = None
    sprung: threading.Event = field(default_factory=threading.Event)


class Proxy:
    """Passes on what comes to `port`. Every method may be called from any thread."""

    def __init__(self, target: Path, host: str = "127.0.0.1") -> None:
        self._target = target
        self._host = host
        self._state = _State()
        self._links: set[_Link] = set()
        self._loop = asyncio.new_event_loop()
        self._open = asyncio.Event()  # cleared: bytes are held, in both directions
        self._open.set()
        self._ready, self._ended = threading.Event(), asyncio.Event()
        self.port = 0
        self._thread = threading.Thread(target=self._run, daemon=True, name="proxy")
        self._thread.start()
        self._ready.wait()

    # Faults

    def cut(self) -> None:
        """Reset every connection, and every new one, until `heal`."""
        self._do(self._cut)

    def stall(self) -> None:
        """Pass nothing on, and tell nobody, until `heal`."""
        self._do(self._open.clear)

    def slow(self, delay_s: float) -> None:
        """Hold everything back for so many seconds, each way, until `heal`."""
        self._state.delay_s = delay_s

    def lose_answer_after(self, *said: bytes) -> threading.Event:
        """Once: a connection that sent these, in this order, is cut before the answer to the last.

        The server has done what it was told; nobody hears of it.

        Returns:
            is set when that has happened.
        """
        self._state.sprung = threading.Event()
        self._state.trap = said
        return self._state.sprung

    def heal(self) -> None:
        """Be a network again."""
        self._state.refusing, self._state.delay_s, self._state.trap = False, 0.0, None
        self._do(self._open.set)

    def close(self) -> None:
        self._do(self._cut)
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(10)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # The loop's side

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, self._host, 0))
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_until_complete(self._ended.wait())
        server.close()
        serving = asyncio.all_tasks(self._loop)
        for task in serving:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*serving, return_exceptions=True))
        self._loop.close()

    def _do(self, what: Any) -> None:
        async def done() -> None:
            what()

        asyncio.run_coroutine_threadsafe(done(), self._loop).result(10)

    def _cut(self) -> None:
        self._state.refusing = True
        for link in list(self._links):
            link.cut()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server = None if self._state.refusing else await self._dial()
        if server is None:
            _Link(writer, writer).cut()
            return
        link = _Link(writer, server[1])
        self._links.add(link)
        try:
            await asyncio.gather(
                self._pump(reader, link.server, link, from_client=True),
                self._pump(server[0], link.client, link, from_client=False),
            )
        except OSError:
            link.cut()
        finally:
            self._links.discard(link)
            link.client.close()
            link.server.close()

    async def _dial(self) -> Pair | None:
        try:
            return await asyncio.open_unix_connection(str(self._target))
        except OSError:
            return None

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        link: _Link,
        *,
        from_client: bool,
    ) -> None:
        while data := await reader.read(CHUNK):
            if self._state.delay_s:
                await asyncio.sleep(self._state.delay_s)
            await self._open.wait()
            if from_client:
                self._watch(link, data)
            elif link.losing:
                self._state.sprung.set()
                raise ConnectionResetError("the answer is lost")
            writer.write(data)
            await writer.drain()
        writer.close()

    def _watch(self, link: _Link, data: bytes) -> None:
        trap = self._state.trap
        if trap is None:
            return
        link.seen += data
        place = 0
        for word in trap:
            place = link.seen.find(word, place) + 1
            if not place:
                return
        link.losing, self._state.trap = True, None
