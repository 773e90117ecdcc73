"""`python -m config.demo.agent RUN_ID`: the agent of the demo, as any agent is written.

With `--linger` it waits after its commit, so that it can be killed right there.
"""

import argparse
import sys

from delivery import agent

from config.demo.scene import AGENT, CHANNELS  # isort: skip  after Django is configured


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("run_id")
    parser.add_argument("--linger", action="store_true")
    given = parser.parse_args()
    with agent.run(given.run_id, agent=AGENT) as run:
        step = run.step("write", input={"run": given.run_id})
        known = step.done
        if not known:
            text = f"Digest of {given.run_id}: all quiet."  # the work
            step.complete({"text": text}, messages(text))
        sys.stdout.write("known\n" if known else "recorded\n")
        sys.stdout.flush()
        if given.linger:
            sys.stdin.read()


def messages(text: str) -> list[agent.Message]:
    """One digest for everybody, through two channels."""
    return [
        agent.Message("digest", channel=channel.slug, to=channel.destinations, content=text)
        for channel in CHANNELS
    ]


if __name__ == "__main__":
    main()
