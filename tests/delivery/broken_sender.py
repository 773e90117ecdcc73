"""A sender whose module cannot even be imported."""

raise RuntimeError("this module is broken")
