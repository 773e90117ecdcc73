"""Backups, and the proof that one can be restored: `manage.py backup`, `manage.py restore_drill`.

`tools` runs PostgreSQL's programs against a server; `backup` makes a file whole or not at all.
`scratch` makes databases and drops them, `copies` runs an installation in one, and `within` does
`acts` there. `drill` plays `plot`, `checking` proves a given file; both give a `report`.
"""
