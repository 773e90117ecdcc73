"""Whether one given backup can be restored, is consistent, and would be held. Sends nothing."""

from pathlib import Path

from config.recovery.copies import Copy
from config.recovery.report import Report
from config.recovery.scratch import Scratch


def check(place: Scratch, file: Path) -> Report:
    """Restore a backup into a scratch database and look at it; no worker is started there.

    Raises:
        RecoveryError: it cannot be restored; the text holds what `pg_restore` said.
    """
    report, name = Report(place.where), place.new_name()
    place.create(name)
    place.tools.restore(file, name)
    report.claim("it can be restored", holds=True, said=f"{file.stat().st_size:,} bytes")
    copy = place.copy(name, "backup")
    report.claim("it can be brought to this version's schema", _migrated(copy))
    with copy.hand() as hand:
        told, would = hand("sums"), hand("judge")
    said = ", ".join(f"{count:,} {status}" for status, count in told["statuses"].items())
    report.claim("its ledgers can be read", holds=True, said=said or "no delivery")
    report.claim(
        "every invariant of its ledgers holds", not told["broken"], ", ".join(told["broken"])
    )
    why = "there is nothing in it yet" if would["empty"] else would["why"]
    report.claim("a worker would send nothing", would["held"] or would["empty"], why)
    return report


def _migrated(copy: Copy) -> bool:
    return copy.manage("migrate", "-v0", "--no-input").returncode == 0
