"""What the watch looks for. Each check is one pure function over the figures.

To add one: a function that yields a finding per channel (or one with the channel "" for the whole
installation), and its line in `delivery.watch.checks.catalogue` with what a person has to know.
"""

from delivery.watch.checks.catalogue import BY_NAME, CHECKS, findings, worst
from delivery.watch.checks.finding import Check, Finding, State
from delivery.watch.checks.whole import DATABASE, database_fails

__all__ = [
    "BY_NAME",
    "CHECKS",
    "DATABASE",
    "Check",
    "Finding",
    "State",
    "database_fails",
    "findings",
    "worst",
]
