"""Trying again: when, how often, how many at a time, and when no more."""
