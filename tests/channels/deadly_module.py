"""A module that ends its process when it is imported, if it is told to."""

import os

if os.environ.get("DIES_WHEN_IMPORTED"):
    os._exit(9)
