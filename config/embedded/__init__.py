"""A PostgreSQL that the project starts itself, as a Django database backend.

`base` connects, and has the `launcher` start the server if that fails. `cluster` knows where
everything lies, `tools` runs PostgreSQL's programs as a user that may, `postmaster` tells whether
a server is there. Only `base` and `client` need Django. Nothing starts on import, and no process
stops the server by ending: `python -m config.embedded stop FOLDER` does.
"""
