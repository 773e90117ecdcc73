"""The harness itself: what it starts does not outlive it."""

import os
import signal

import pytest

from delivery.crashlab.processes import ChildError, WarmParent
from tests.crash.qcluster import alive
from tests.embedded.processes import until

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_stopped_child_dies_with_its_parent() -> None:
    with WarmParent() as parent:
        child = parent.fork("delivery.crashlab.tasks:work", channel=0, gated=True)
        child.wait_stopped()

        os.kill(parent.pid, signal.SIGKILL)

        until(lambda: not alive(child.pid), "the child is gone too")


def test_a_child_that_ends_instead_of_stopping_says_what_it_died_of() -> None:
    with WarmParent() as parent:
        child = parent.fork("delivery.crashlab.tasks:nothing")

        with pytest.raises(ChildError, match="has no attribute 'nothing'"):
            child.wait_stopped()
