"""Alarms, against a real mail server, a real recipient, real processes and a real database."""
