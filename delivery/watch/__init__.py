"""Alarms that reach a person: from figures to findings, from findings to one message per way.

The watch looks at the tables, not at logs, and sends by itself, not through the delivery worker:
a worker that never ran has an error rate of zero.

figures     what a look reads, as data; reading reads it
checks      pure: each finds ok, late or red, for each channel or for the whole
alarms      pure: what is owed to a person since the last look, and when calm counts as over
store       the alarms' rows, in the database; what is due for a way is claimed and settled
notebook    the same in a file, for the one alarm that the database cannot keep
message     pure: what a person reads
vetting     system checks of the settings
ways        where messages go
deadman     the switch outside that is pinged as long as a person would be told
rounds      look, keep, send
"""
