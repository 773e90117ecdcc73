"""What an agent's author pastes; printed by `up`, and the same as in the README."""

SNIPPET = """\
Save this as my_agent.py beside manage.py and run {python} my_agent.py as often as you like:
nothing is done twice, and nothing is sent twice.

    from delivery import agent

    with agent.run("report-2026-12-01", agent="reporter") as run:
        step = run.step("write", input={{"day": "2026-12-01"}})
        if not step.done:
            text = "All quiet."  # the work
            step.complete({{"text": text}}, [
                agent.Message("report", channel="{channel}", to=["ops", "board"], content=text),
            ])
        print(step.sent.wait(10))
"""
