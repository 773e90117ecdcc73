"""A sender whose module ends the program when something is not set, as many scripts do."""

import builtins
import os

raise getattr(builtins, os.environ.get("LEAVES_WITH", "SystemExit"))("set MY_TOKEN first")
