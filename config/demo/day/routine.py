"""What goes as it should, hour by hour, with the small troubles of any day."""

from collections.abc import Iterator
from itertools import count

from config.demo.day.cast import CREWS, CUSTOMERS, HOUSEHOLDS, PARTNERS
from config.demo.day.playing import Day
from delivery.agent import Message

# Letters per run by the hour of the day (UTC): nights are quiet.
LETTERS = (1, 0, 1, 0, 1, 2, 4, 6, 9, 8, 7, 6, 5, 7, 8, 8, 6, 5, 4, 3, 3, 2, 2, 1)
NIGHT, MORNING = 2, 6
SHIFTS, FORECASTS, VISITS = (5, 13, 21), (4, 10, 16), (8, 14)
DIGEST = (
    "Good morning. {day}: the grid held through the night with no feeder over 82 percent."
    " Two planned works in the east, both confirmed by their crews.\n\n"
    "Meters: 1,204 readings came late and are estimated; the list is on the meters desk."
    " Storm desk: gusts up to 17 m/s after 15:00, the field crews keep their vans fuelled.\n\n"
    "Open from yesterday: the transformer at Quay Street waits for its part, expected on"
    " Thursday. Dispatch keeps one crew near it until then. Have a calm day."
)


def letters(day: Day) -> Iterator[float]:
    """Meter readings to customers, some of whom have moved."""
    while True:
        number = LETTERS[day.hence().hour]
        if number:
            lost = _write(day, day.chance.sample(CUSTOMERS, number))
            if lost:
                yield 2  # its key settles it
                yield 1
        yield 52 + 16 * day.chance.random()


def _write(day: Day, to: list[str]) -> bool:
    """One run's letters; whether the answer to one of them is lost."""
    lost = day.chance.random() < 0.15
    if day.chance.random() < 0.12:
        day.recipient.behave(to[0], "refuse")
    if lost:
        day.recipient.behave(to[-1], "accept_and_reset")
    text = f"Your meter reading of {day.hence():%d %B} has come in. Thank you."
    day.record(
        f"readings-{day.stamp()}",
        "meter-readings",
        [Message("reading", "customer-mail", to, text)],
        {"letters": len(to)},
    )
    return lost


def books(day: Day) -> Iterator[float]:
    """The day's books are closed at night."""
    while True:
        yield day.until(NIGHT) + 7
        page = {
            "day": f"{day.hence(hours=-NIGHT - 1):%Y-%m-%d}",
            "entries": day.chance.randrange(1900, 2200),
        }
        to = ["archive:finance", "archive:audit"]
        day.record(
            f"close-books-{day.stamp()}",
            "bookkeeper",
            [Message("ledger-page", "archive", to, page)],
            page,
        )


def digests(day: Day) -> Iterator[float]:
    """Out before the crews are, in parts."""
    while True:
        yield day.until(MORNING) + 2
        text = DIGEST.format(day=f"{day.hence():%A}")
        day.record(
            f"digest-{day.stamp()}",
            "morning-digest",
            [Message("digest", "crew-chat", CREWS, text)],
            {"text": text},
        )


def shifts(day: Day) -> Iterator[float]:
    """A note at every change of shift; now and then an answer is lost, and a search finds it."""
    for number in count(1):
        yield day.until(*SHIFTS) + 1
        if number % 3 == 0:
            day.recipient.behave("chat:dispatch", "accept_and_reset")
        text = "Change of shift: nothing is open that the board does not show."
        day.record(
            f"shift-{day.stamp()}",
            "shift-notes",
            [Message("shift-note", "crew-chat", CREWS[:4], text)],
            {"shift": number % 3},
        )
        yield 5
        yield 9


def forecasts(day: Day) -> Iterator[float]:
    """What partners plan by."""
    while True:
        yield day.until(*FORECASTS) + 10
        text = (
            f"Load forecast, {day.hence():%d %B}: {day.chance.randrange(380, 440)} MW at the peak."
        )
        day.record(
            f"forecast-{day.stamp()}",
            "load-forecast",
            [Message("forecast", "partner-feed", PARTNERS, text)],
            {"text": text},
        )


def appointments(day: Day) -> Iterator[float]:
    """Texts to households in whose cellars the meters hang."""
    while True:
        yield day.until(*VISITS) + 25
        to = day.chance.sample(HOUSEHOLDS, 3)
        text = f"Your meter is read {day.hence(days=1):%A} between 9 and 12. You need not be in."
        day.record(
            f"visits-{day.stamp()}",
            "appointments",
            [Message("visit", "household-sms", to, text)],
            {"households": len(to)},
        )


def restarts(day: Day) -> Iterator[float]:
    """Something ends the worker every six hours, to the minute."""
    while True:
        day.change_workers()
        yield 360


SCENES = (
    (71.9, restarts),
    (71.8, letters),
    (71.7, books),
    (71.6, digests),
    (71.5, shifts),
    (71.4, forecasts),
    (71.3, appointments),
)
