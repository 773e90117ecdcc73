"""The commands as a shell sees them: what they print, and the exit code they leave."""
