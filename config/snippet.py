"""What an agent's author pastes; printed by `up`. `{python}` is the interpreter to run it with."""

SNIPPET = """\
In the console add a channel named "alerts". Then save this as my_agent.py beside manage.py and
run {python} my_agent.py as often as you like: nothing is done or sent twice.

    from delivery import agent

    with agent.run("report-2026-12-01", agent="my-agent") as run:
        step = run.step("write", input={{"day": "2026-12-01"}})
        if not step.done:
            text = "All quiet."  # the work
            step.complete({{"text": text}}, [
                agent.Message("report", channel="alerts", to=["ops"], content=text),
            ])
        print(step.sent.wait(10))
"""
