"""The same few lines in async code, which never blocks and never meets Django's guard."""

import asyncio

import pytest

from delivery import agent
from ledgers.models import Channel, Run, Step
from tests.delivery.senders import Desk
from tests.factories import delivery, message, sweep

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_async_agent_does_records_waits_asks_and_withdraws(alerts: Channel, desk: Desk) -> None:
    async def work() -> tuple[agent.Standing, agent.Owed]:
        async with agent.run("run-1", agent="tester") as run:
            step = await run.astep("write", input={"day": 1})
            await step.arenew(60)
            await step.acomplete({"text": "hi"}, [message(["tg:1"])], announces=["alarm"])
            await step.arecord([message(["tg:2"], name="alarm")])
            await agent.acancel("run-1", message="alarm")
            await asyncio.to_thread(sweep)
            standing = await step.sent.await_(60)
            assert str(await run.astanding()) == str(await step.sent.astanding())
        return standing, await agent.aowed("run-1")

    standing, owed = asyncio.run(work())

    assert standing.counts == {"delivered": 1, "cancelled": 1}
    assert (owed.status, owed.done[0].result) == ("completed", {"text": "hi"})
    assert [call.destination for call in desk.received] == ["tg:1"]


def test_waiting_lets_other_tasks_of_the_loop_go_on(alerts: Channel, desk: Desk) -> None:
    async def work() -> list[str]:
        order: list[str] = []

        async def wait() -> None:
            async with agent.run("run-1", agent="tester") as run:
                step = await run.astep("write")
                await step.acomplete(None, [message()])
                await step.sent.await_(0.3)
            order.append("waited")

        async def query() -> None:
            while not await Step.objects.filter(status="completed").aexists():
                await asyncio.sleep(0)
            order.append("queried")

        await asyncio.gather(wait(), query())
        return order

    assert asyncio.run(work()) == ["queried", "waited"]


def test_an_error_in_async_code_fails_step_and_run(alerts: Channel) -> None:
    async def work() -> None:
        async with agent.run("run-1", agent="tester") as run:
            await run.astep("write")
            raise ValueError("no luck")

    with pytest.raises(ValueError, match="no luck"):
        asyncio.run(work())

    assert Step.objects.get().status == "failed"
    assert Run.objects.get().status == "failed"


def test_a_cancelled_task_gives_its_steps_back(alerts: Channel) -> None:
    async def work() -> None:
        started = asyncio.Event()

        async def step() -> None:
            async with agent.run("run-1", agent="tester") as run:
                await run.astep("write")
                started.set()
                await asyncio.Event().wait()

        task = asyncio.create_task(step())
        await started.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()

    asyncio.run(work())

    assert (Step.objects.get().status, Step.objects.get().error) == ("failed", "CancelledError")
    assert (Run.objects.get().status, Run.objects.get().error) == ("failed", "CancelledError")


def test_waiting_for_a_held_step_lets_its_holder_go_on(alerts: Channel) -> None:
    async def work() -> bool:
        async with agent.run("run-1", agent="tester") as first:
            held = await first.astep("write")

            async def finish() -> None:
                await held.acomplete("done")

            async with agent.run("run-1", agent="tester") as second:
                with pytest.raises(agent.LeaseHeldError):
                    await second.astep("write", wait_s=0.1)
                waiting = asyncio.create_task(second.astep("write", wait_s=30))
                await asyncio.create_task(finish())
                return (await waiting).done

    assert asyncio.run(work())


def test_an_async_agent_may_give_a_step_up(alerts: Channel) -> None:
    async def work() -> None:
        async with agent.run("run-1", agent="tester") as run:
            step = await run.astep("write")
            await step.afail("no paper")
            again = await run.astep("write")
            await again.acomplete(None, [message()])

    asyncio.run(work())

    assert (Step.objects.get().starts, delivery().status) == (2, "pending")
