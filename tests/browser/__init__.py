"""The console in a real browser: how it looks, reads, moves, and what it never does."""
