"""How values are written on every page."""
