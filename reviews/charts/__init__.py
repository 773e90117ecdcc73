"""Charts as plain geometry; templates draw them as SVG, with links and without styles."""
