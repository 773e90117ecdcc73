"""Kill the product where it hurts, in real processes, and count what the recipient got.

A warm parent forks children; a child does one thing (record, work), notes each point's name on
file before it dies there, and the next child finds the same database. Nothing in the product can
be armed from outside: a child listens to its own process and to no other.

The life of one drill: scene -> processes -> parent -> tasks -> points; then drills and report.
"""
