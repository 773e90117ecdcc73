"""The console's own pages, one small module each; the stock admin carries lists and records."""
