"""A database that was put back, copied, or is of nobody knows where."""
