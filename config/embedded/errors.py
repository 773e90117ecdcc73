"""What can go wrong with the embedded server, one sentence per class."""


class EmbeddedError(Exception):
    """Base: the embedded server could not be made, started or stopped. Trying again may help."""


class ToolError(EmbeddedError):
    """One of PostgreSQL's programs is missing or failed; the text holds what it said."""


class UnsafeFolderError(EmbeddedError):
    """A folder that must be private belongs to somebody else. Permanent until it is removed."""
