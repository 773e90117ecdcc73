"""Real processes, really killed; effects counted at the recipient."""
