"""A recipient in a process of its own: it counts what really arrived, and misbehaves on demand.

A sender cannot prove by itself how often it was heard; only the other side can count. So this
process keeps its own store, outlives every sender that is killed, and needs no Django.

The life of one submission here: wire -> routes -> recipient (behaviour, store) -> wire.
"""
