"""A recipient in a process of its own, which counts what really arrived and can misbehave on demand.

A sender cannot prove by itself how often it was heard; only the other side can count. So this
process keeps its own store, outlives every sender that is killed, and needs no Django.

The life of one submission here: wire -> routes -> recipient (behaviour, store) -> wire.
"""
