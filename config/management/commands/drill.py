"""`manage.py drill`: a practice incident, and afterwards whether its decisions were right."""

import secrets
from argparse import ArgumentTypeError
from time import sleep as pause
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core.management.base import CommandError, CommandParser
from django.urls import reverse

from config.demo import sample
from config.demo.scene import CHANNELS
from config.drill.incident import (
    AGENT,
    ALERT,
    CONSOLE,
    Scene,
    deliveries,
    new_tag,
    practice_channel,
    stage,
)  # fmt: skip
from config.drill.kinds import KINDS, SEEDS, Kind, fates
from config.drill.result import Result, result_of
from config.management.commands.up import as_typed
from delivery.management.commands.deliver import refuse_unmigrated
from delivery.simulator.client import Simulator
from ledgers.management.command import Answer, LedgerCommand, MisuseError
from ledgers.models import Channel, Run
from reviews.incidents import incidents

LOOK_S = 1.0


class Command(LedgerCommand):
    help = (
        "Practise an incident: real messages end in doubt, you are alerted, and you decide in the\n"
        "console that `make demo` serves. Afterwards you are told, by what the recipient really\n"
        "has, whether each decision was right, safe, or doubled or lost something, and how long\n"
        "it took. You are not told beforehand what has happened."
    )
    lesson = """
        The kinds: {kinds}

        A blind recipient tells a sender nothing; its own people know. `--ask` stands for a call
        to them, and what they say is evidence for "it arrived".

        Exit codes: 0 an incident was made; or all is decided, and nothing was doubled or lost
                    1 something is undecided yet, or was doubled or lost
                    2 these are not the demo's ledgers, or its recipient does not run
                    3 the database does not answer

        Examples:
          make demo                              in another window; leave it serving
          manage.py drill                        make an incident, of a kind that chance picks
          manage.py drill --kind lost --wait     wait for your decisions, then judge them
          manage.py drill --ask practice:fern-6-1f0a
          manage.py drill --check                judge the decisions about the last incident
        """

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--kind", choices=sorted(KINDS), help="what happens (chance)")
        parser.add_argument("--seed", type=_seed, help="play the same variant again (chance)")
        parser.add_argument("--wait", action="store_true", help="until all is decided, then judge")
        parser.add_argument("--check", action="store_true", help="judge the last incident, now")
        parser.add_argument("--ask", metavar="TO", help="ask a destination's people what came")
        parser.add_argument(
            "--channel", help="elsewhere: a simulated channel that is marked for testing"
        )
        parser.add_argument("--console", default=CONSOLE, help="where it is served (%(default)s)")

    def create_parser(self, prog_name: str, subcommand: str, **kwargs: Any) -> CommandParser:
        kinds = "".join(f"\n          {k.name:<9} {k.means}" for k in KINDS.values())
        kwargs["epilog"] = _dedented(self.lesson.format(kinds=kinds))
        return super().create_parser(prog_name, subcommand, **kwargs)

    def answer(self, options: dict[str, Any]) -> Answer:
        if options["channel"] is None:
            sample.refuse_unless_sample()
        refuse_unmigrated()
        url = _recipient_url(options["channel"])
        recipient = _answering(url)
        if options["ask"]:
            return _asked(recipient, options["ask"])
        if options["check"]:
            return _judged(result_of(_last_run(), recipient))
        run, told = self._stage(options, url, recipient)
        if not options["wait"]:
            return told
        if not options["json"]:
            self.stdout.write(told.text)
            self.stdout.flush()
        return _judged(_decided(run, recipient))

    def _stage(self, options: dict[str, Any], url: str, recipient: Simulator) -> tuple[Run, Answer]:
        seed = secrets.randbelow(SEEDS) if options["seed"] is None else options["seed"]
        kind = KINDS[options["kind"] or sorted(KINDS)[seed % len(KINDS)]]
        tag = new_tag()
        channel = _channel(options["channel"], kind, url, tag)
        try:
            scene = Scene(channel, recipient, settings.COUNTERFOIL_DATA)
            run = stage(kind, fates(kind, seed, tag), scene)
        except (TimeoutError, RuntimeError, OSError) as error:
            log = settings.COUNTERFOIL_DATA / "drill.log"
            raise CommandError(f"{error}; what its worker said is in {log}") from error
        link = options["console"].rstrip("/") + _place(channel)
        count = len(deliveries(run))
        value = {"run_id": run.run_id, "seed": seed, "deliveries": count, "link": link}
        return run, Answer(value, _alert(run, channel, count, link, seed))


def _dedented(text: str) -> str:
    return "\n".join(line.removeprefix("        ") for line in text.strip("\n").splitlines())


def _seed(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text[:9]) >= SEEDS:
        raise ArgumentTypeError(f"{text!r} is not a whole number from 0 to {SEEDS - 1}")
    return int(text)


def _recipient_url(slug: str | None) -> str:
    """Where the recipient listens: the demo's, or that of a channel marked for testing.

    Raises:
        MisuseError: that channel is not for drills.
    """
    if slug is None:
        found = Channel.objects.filter(slug=CHANNELS[0].slug).first()
    else:
        found = Channel.objects.filter(slug=slug).first()
        if found is None or not found.for_testing or found.adapter != "simulator":
            raise MisuseError(
                f"--channel: {slug!r} is no simulated channel that is marked for testing. A drill"
                " doubles and loses messages, so it is never run where people read them.",
                "channel",
            )
    return str(found.settings.get("url", "")) if found else ""


def _answering(url: str) -> Simulator:
    try:
        recipient = Simulator(url)
        recipient.effects()
    except OSError as error:
        raise MisuseError(
            "The recipient does not answer: it runs while the demo does. Start `make demo` in"
            " another window and leave it serving."
        ) from error
    return recipient


def _channel(slug: str | None, kind: Kind, url: str, tag: str) -> Channel:
    if slug is None:
        return practice_channel(kind, url, tag)
    if kind.search:
        raise MisuseError(f"--kind: {kind.name} needs the demo's own channel.", "kind")
    return Channel.objects.get(slug=slug)


def _last_run() -> Run:
    runs = Run.objects.filter(agent=AGENT, events__kind=ALERT).order_by("-pk")
    run = runs.first()
    if run is None:
        raise MisuseError("There is no incident to judge yet: `manage.py drill` makes one.")
    return run


def _place(channel: Channel) -> str:
    """The page on which it is decided: its incident, the latest of its channel."""
    page = reverse("admin:triage")
    mine = [one for one in incidents() if one.channel == channel.slug]
    if not mine:
        return page
    return f"{page}?{urlencode(max(mine, key=lambda one: one.last).fields)}"


def _alert(run: Run, channel: Channel, count: int, link: str, seed: int) -> str:
    return (
        f"ALERT  {channel}: {count} messages of run {run.run_id} may or may not have arrived.\n"
        "       No answer was written down. Nothing sends them again by itself;\n"
        "       whether they are sent again, counted as arrived or left is for you to decide.\n\n"
        f"       {link}\n\n"
        f"Their people can be asked:  {as_typed()} drill --ask DESTINATION\n"
        f"When you have decided:      {as_typed()} drill --check      (this was seed {seed})"
    )


def _asked(recipient: Simulator, to: str) -> Answer:
    """What somebody at the destination sees, by their own eyes."""
    seen = [one for one in recipient.last_submissions(to) if one["effect"]]
    if not seen:
        return Answer({"to": to, "seen": []}, f'{to}: "No, nothing of that kind has come."')
    ids = ", ".join(one["effect"] for one in seen)
    text = f'{to}: "Yes, {len(seen)} of them." Their number for it, for your evidence: {ids}'
    return Answer({"to": to, "seen": [one["effect"] for one in seen]}, text)


def _decided(run: Run, recipient: Simulator) -> Result:
    """The result, once there is one; Ctrl-C ends the waiting."""
    while not (result := result_of(run, recipient)).over:
        pause(LOOK_S)
    return result


def _judged(result: Result) -> Answer:
    return Answer(result.as_json(), result.as_text(), finding=not result.good)
