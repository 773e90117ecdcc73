"""Backups, and the proof that one can be restored: `manage.py backup`, `manage.py restore_drill`.

`tools` runs PostgreSQL's programs against a server, `backup` makes a file whole or not at all.
"""
