"""The embedded PostgreSQL, with real processes and real kills."""
