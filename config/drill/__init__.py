"""A practice incident: something happens to real messages, and a new person on call decides.

The recipient is simulated and counts, so afterwards it can be said whether each decision was right.
"""
