"""Every check, and what a person has to know about it. In the order in which they are told."""

from collections.abc import Iterable

from delivery.watch.checks import moving, origin, people, probes, whole, working
from delivery.watch.checks.finding import Check, Finding, State
from delivery.watch.figures import Figures

_LIVENESS = "admin:liveness"

CHECKS: tuple[Check, ...] = (
    Check(
        whole.DATABASE, whole.database_answers, "the database does not answer",
        "Agents cannot record, nothing is delivered, and nobody can see what is owed or unknown."
        " What was committed is safe.",
        "Bring PostgreSQL back. Workers go on by themselves. A backup that you restore is noticed,"
        " and held until a person has looked.",
        "admin:overview", per_channel=False,
    ),
    Check(
        "restored", origin.database_is_known, "a database that was restored",
        "Nothing is sent, on any channel: what was sent after the backup may be forgotten. No"
        " machine ends this.",
        "Open the page: it says what was noticed, what is in doubt, and what to do in which order."
        " Do not start the old database again.",
        "admin:restore", per_channel=False,
    ),
    Check(
        "worker", working.worker_lives, "no worker is alive",
        "Nothing is delivered, on any channel. Nothing is lost: it waits.",
        "Start a worker (manage.py deliver, or the service that runs it) and find out why it"
        " ended.",
        "admin:overview", anchor="workers", per_channel=False,
    ),
    Check(
        "deaf", working.workers_take, "workers beat and take nothing",
        "Nothing is delivered, on any channel, although all processes look well. Nothing is lost:"
        " it waits.",
        "Restart the workers, keep their log of the last minutes, and see that they use this very"
        " database.",
        _LIVENESS, anchor="workers", per_channel=False,
    ),
    Check(
        "elsewhere", working.agents_and_workers_meet, "agents and workers on different databases",
        "What an agent records there is owed for ever: no worker looks at it, and here all seems"
        " well.",
        "Compare DATABASE_URL and COUNTERFOIL_DATA of the agent with the workers'; manage.py"
        " workers, typed with the agent's, shows who works there.",
        _LIVENESS, anchor="workers", per_channel=False,
    ),
    Check(
        "scheduler", working.shifts_are_started, "the q cluster starts nothing",
        "Shifts of workers are not started, or what the cluster is handed stays where it is. What"
        " is due waits; nothing is lost.",
        "Restart the cluster (manage.py qcluster): signal its main process only. A resident worker"
        " (manage.py deliver) needs none.",
        _LIVENESS, anchor="scheduler", per_channel=False,
    ),
    Check(
        "unknown", people.nothing_unknown_for_long, "unknown deliveries",
        "They may have been accepted. They are not sent again before it is proven that they were"
        " not, or a person decides.",
        "Open the list, compare what the ledger knows with what the destination shows, and decide."
        " Do not send them again by other means.",
        "admin:triage",
    ),
    Check(
        "closing", people.no_window_closes, "a key that stops protecting",
        "Until then sending again with the same key makes no second message. Afterwards it may, and"
        " takes two people.",
        "Decide before: look whether it arrived, or send it again with the same key.",
        "admin:concern", ("closing",),
    ),
    Check(
        "overdue", moving.nothing_overdue, "overdue deliveries",
        "They are provably not sent yet, and wait although a worker is alive: it is too busy, is"
        " stuck, or lacks this channel's settings.",
        "See whether workers claim and settle; start more of them, or mend what they complain of.",
        "admin:concern", ("overdue",),
    ),
    Check(
        "stuck", moving.nothing_stuck, "leases that are over",
        "A worker took them and is gone, and no other has taken them since. Those that were being"
        " submitted become unknown once one does.",
        "See whether workers claim; restart those that do not.",
        "admin:concern", ("stuck",),
    ),
    Check(
        "success", moving.success_comes, "no success",
        "What is owed is tried and does not go through, or what was promised to come never came."
        " Nothing is lost: it waits.",
        "Read on the channel's page what holds its deliveries and what the last attempts came to;"
        " see whether its agents run.",
        "admin:overview", anchor="ways",
    ),
    Check(
        "probe", probes.probes_arrive, "probes that are not seen",
        "A synthetic message went the way of every other one and is not at its destination. Real"
        " ones may not arrive, either.",
        "Read on the run of the last probe what became of it. Where the destination cannot be"
        " searched from here, see that the watch has the channel's secret.",
        "admin:overview", anchor="ways",
    ),
    Check(
        "credential", moving.credential_is_let_in, "a credential that is refused",
        "Its provider does not let it in, or lacks a scope of it, or the secret is of another"
        " account. They are provably not sent, wait, and have cost no attempt.",
        "Run manage.py channel_check on the channel: it says what the provider wants. Then renew"
        " the secret, grant the scope, or agree on the credential's page to take the secret as it"
        " is.",
        "admin:concern", ("credential",),
    ),
    Check(
        "held", moving.nothing_held_by_accident, "deliveries that are held",
        "No person stopped them: a secret is missing or is another one than before, or the channel"
        " cannot work as it is set up. They are provably not sent, and have cost no attempt.",
        "Mend what the sentence names. They go on by themselves within half a minute.",
        "admin:overview", anchor="ways",
    ),
    Check(
        "announced", whole.nothing_announced_is_owed, "announced messages that are missing",
        "Work was completed and said that it owes a message; nobody has recorded it, so nobody will"
        " send it.",
        "Look at the run: start its agent again, which records what is missing, and tell the"
        " recipients if that cannot be.",
        _LIVENESS, anchor="announced", per_channel=False,
    ),
    Check(
        "orphans", whole.queue_and_ledger_agree, "queue and ledger disagree",
        "The product writes both in one commit, so somebody changed rows by hand, or there is a"
        " fault. What is not queued is never sent by itself.",
        "Run manage.py verify_ledgers, keep what it says, and report it. Queue nothing by hand.",
        _LIVENESS, anchor="due", per_channel=False,
    ),
    Check(
        "crash_loop", whole.no_run_is_in_a_crash_loop, "a run that kills its process",
        "A step killed its process twice, so nobody starts it any more. What earlier steps recorded"
        " is delivered all the same.",
        "Run manage.py show_run on it, mend the cause (memory, input), then manage.py resolve_run.",
        _LIVENESS, anchor="crash_loops", per_channel=False,
    ),
    Check(
        "failed", people.nothing_failed_unseen, "failed deliveries",
        "They were provably not accepted, and no machine tries them again.",
        "Read why, mend it, and try again what is still wanted. What is not leaves this alarm after"
        " a day.",
        "admin:concern", ("failed",),
    ),
    Check(
        "expired", people.nothing_expired_unseen, "expired deliveries",
        "They were provably not accepted before their last moment passed.",
        "Try them again, or discard them: either ends this alarm.",
        "admin:concern", ("expired",),
    ),
    Check(
        "disputed", people.nothing_disputed, "disputed deliveries",
        "They counted as not sent, and arrived. Whoever relied on that may have sent a second one.",
        "Find out who acted on “not sent”, and tell whoever runs the provider's account.",
        "admin:concern", ("disputed",),
    ),
    Check(
        "restarts", working.nobody_restarts_regularly, "workers that restart again and again",
        "At even intervals something outside ends them: a probe, a timer or a supervisor. Otherwise"
        " they crash. What is on the wire at that moment is in doubt.",
        "Find what ends them, in their log and in that of their supervisor. Whether a process is to"
        " be restarted is for /healthz to say, and never for /livez/delivery.",
        _LIVENESS, anchor="restarts", per_channel=False,
    ),
    Check(
        "clock", working.clocks_agree, "a worker's clock is off",
        "Leases go by the database's clock and are safe. What a provider is told of times, and what"
        " it tells, may be read wrongly.",
        "Set the clock of its host: see that its time service runs.",
        _LIVENESS, anchor="workers", per_channel=False,
    ),
    Check(
        "reports", people.providers_report, "accepted, and no report",
        "The provider accepts and reports nothing of it: its reports do not reach us, or it does"
        " not send what it accepts.",
        "Ask the provider's console for one of them, and see where its reports go. Do not send them"
        " again by other means.",
        "admin:overview", anchor="ways",
    ),
    Check(
        "unreported", people.nothing_lost_after_acceptance, "accepted long ago, and no report",
        "The provider took them and has said nothing for three days. On our side they are done.",
        "Ask the provider about them by the ids that stand on their pages.",
        "admin:overview", anchor="ways",
    ),
)  # fmt: skip
BY_NAME = {check.name: check for check in CHECKS}


def findings(figures: Figures) -> list[Finding]:
    """What every check finds."""
    return [finding for check in CHECKS for finding in check.look(figures)]


def worst(found: Iterable[Finding]) -> State:
    """The worst state among findings."""
    return max((finding.state for finding in found), key=lambda state: state.badness)
