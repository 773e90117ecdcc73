"""Which request means what. Submissions and look-ups as a service has them, control beside it.

POST /v1/messages             {"to", "text", "recognizer"}, header Idempotency-Key
POST /hook/NAME               any body; the key from Idempotency-Key or webhook-id
GET  /v1/look_up?key=&to=     200 {"found": true, "id": …} or 404 {"found": false}
GET  /v1/messages/ID          200 the message, or 404
GET  /v1/messages?to=&limit=&before=     one page, newest first
POST /control/behave          {"to", "script", "always", "settings"}
POST /control/release|clock|inject|forget
GET  /control/totals|effects|submissions|wait
"""

import asyncio
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from delivery.simulator.behaviour import Behaviour
from delivery.simulator.looking import Looking
from delivery.simulator.recipient import EVERYWHERE, Answer, Arrival, Recipient
from delivery.simulator.wire import Reply, Request

Query = dict[str, str]


class Routes:
    """Dispatches requests to the recipient and keeps those who wait for something."""

    def __init__(self, recipient: Recipient) -> None:
        self.recipient = recipient
        self._looking = Looking(recipient)
        self._held: defaultdict[str, list[Callable[[], None]]] = defaultdict(list)
        self._waiting: list[Callable[[], bool]] = []

    def __call__(self, request: Request, reply: Reply) -> None:
        target = urlsplit(request.target)
        query = dict(parse_qsl(target.query, keep_blank_values=True))
        try:
            if request.method == "POST" and not target.path.startswith("/control/"):
                self._submit(target.path, request, reply)
            elif target.path == "/control/wait":
                self._wait(query, reply)
            elif target.path.startswith("/control/"):
                reply(self._control(target.path[9:], query, request))
            else:
                reply(self._looking.at(target.path, query, author_of(request)))
        except (ValueError, KeyError, TypeError) as problem:
            reply(answer_json(400, {"error": repr(problem)}))

    def _submit(self, path: str, request: Request, reply: Reply) -> None:
        arrival = read_arrival(path, request)
        behaviour = self.recipient.next_behaviour(arrival.to)
        wait_s = behaviour.after_s + self.recipient.settings(arrival.to).latency_s
        if wait_s:
            loop = asyncio.get_running_loop()
            loop.call_later(wait_s, self._receive, arrival, behaviour, request, reply)
        else:
            self._receive(arrival, behaviour, request, reply)

    def _receive(
        self, arrival: Arrival, behaviour: Behaviour, request: Request, reply: Reply
    ) -> None:
        answer = self.recipient.receive(arrival, behaviour)
        if 300 <= answer.status < 400:
            answer = answer_again_at(request.target, answer)
        if answer.ending == "wait":
            self._hold(arrival, answer, reply)
        else:
            reply(answer)
        self._tell_waiting()

    def _hold(self, arrival: Arrival, answer: Answer, reply: Reply) -> None:
        """Keep the answer back until its signal; the key is in flight meanwhile."""
        held, key = self.recipient.held, (arrival.to, arrival.key)
        held[key] += 1

        def let_go() -> None:
            held[key] -= 1
            reply(as_answered(answer))

        self._held[answer.signal].append(let_go)

    def _tell_waiting(self) -> None:
        if self._waiting:
            self._waiting = [told for told in self._waiting if not told()]

    def _control(self, name: str, query: Query, request: Request) -> Answer:
        if request.method == "GET":
            return answer_json(200, self._count(name, query))
        said = json.loads(request.body or b"{}")
        return answer_json(200, self._command(name, said))

    def _command(self, name: str, said: dict[str, Any]) -> Any:
        if name == "behave":
            self.recipient.behave(said.pop("to", EVERYWHERE), said)
        elif name == "release":
            return {"released": self._release(said.get("signal", "go"))}
        elif name == "clock":
            self.recipient.clock_offset_s = float(said["offset_s"])
        elif name == "inject":
            return {"id": self._inject(said)}
        elif name == "forget":
            self._held.clear()
            self.recipient.forget()
        else:
            raise ValueError(f"unknown command {name!r}")
        return {}

    def _inject(self, said: dict[str, Any]) -> str:
        shown = self.recipient.inject(
            said["to"],
            said.get("text", ""),
            said.get("author", "someone-else"),
            said.get("recognizer", ""),
            said.get("at"),
        )
        return shown.id

    def _release(self, signal: str) -> int:
        held = self._held.pop(signal, [])
        for answer in held:
            answer()
        return len(held)

    def _count(self, name: str, query: Query) -> Any:
        store, to = self.recipient.store, query.get("to")
        if name == "totals":
            effects = sum(store.effects.values())
            return {"effects": effects, "submissions": store.submission_count}
        if name == "effects":
            return dict(store.effects) if to is None else {to: store.effects[to]}
        if name == "submissions":
            last = -int(query.get("last", 20))
            return [as_dict(one) for one in self._submissions(to)[last:]]
        raise ValueError(f"unknown count {name!r}")

    def _submissions(self, to: str | None) -> list[Any]:
        kept = self.recipient.store.submissions
        return (
            kept.get(to, []) if to is not None else [one for all_ in kept.values() for one in all_]
        )

    def _reached(self, query: Query) -> int:
        store, to = self.recipient.store, query.get("to")
        if query["what"] == "held":
            return len(self._held.get(query.get("signal", "go"), ()))
        if query["what"] == "effects":
            return sum(store.effects.values()) if to is None else store.effects[to]
        return store.submission_count if to is None else len(store.submissions.get(to, ()))

    def _wait(self, query: Query, reply: Reply) -> None:
        """Answer once `what` (effects, submissions, held) reached `count`, or at the timeout."""
        wanted, loop = int(query["count"]), asyncio.get_running_loop()
        open_until = loop.time() + float(query.get("timeout_s", 10))

        def told() -> bool:
            reached = self._reached(query)
            if reached < wanted and loop.time() < open_until:
                return False
            reply(answer_json(200, {"reached": reached, "enough": reached >= wanted}))
            return True

        if not told():
            self._waiting.append(told)
            loop.call_at(open_until, self._tell_waiting)


def as_dict(one: Any) -> dict[str, Any]:
    """The fields of a slotted dataclass, without the deep copy of `dataclasses.asdict`."""
    return {name: getattr(one, name) for name in one.__slots__}


def author_of(request: Request) -> str:
    """Who speaks: a name derived from the bearer token, so that another token is another author."""
    token = request.headers.get("authorization", "").removeprefix("Bearer ")
    if not token:
        return "counterfoil"
    return "author-" + hashlib.sha256(token.encode()).hexdigest()[:8]


def read_arrival(path: str, request: Request) -> Arrival:
    """The submission in a request. Raises ValueError or KeyError if it is none."""
    headers = request.headers
    key = headers.get("idempotency-key") or headers.get("webhook-id", "")
    if path.startswith("/hook/"):
        to, text = unquote(path[6:]), request.body.decode("utf-8", "replace")
        recognizer = headers.get("counterfoil-ref", "")
    elif path == "/v1/messages":
        said = json.loads(request.body)
        to, text, recognizer = said["to"], said["text"], said.get("recognizer", "")
    else:
        raise ValueError(f"nothing takes submissions at {path!r}")
    return Arrival(to, key.strip('"'), recognizer, text, author_of(request), request.body)


def answer_json(status: int, value: Any) -> Answer:
    return Answer(status, json.dumps(value).encode(), {"Content-Type": "application/json"})


def answer_again_at(target: str, answer: Answer) -> Answer:
    """The same answer with a Location that leads back to where it came from: an endless loop."""
    return Answer(answer.status, answer.body, {**answer.headers, "Location": target}, answer.ending)


def as_answered(answer: Answer) -> Answer:
    return Answer(answer.status, answer.body, answer.headers)
