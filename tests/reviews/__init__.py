"""Decisions of people, and the gates before them."""
