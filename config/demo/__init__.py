"""The demo: one digest, thirteen destinations, three kills, and one recipient that hides.

Everything in it is real: processes, SIGKILL, a recipient in a process of its own that counts.
"""
