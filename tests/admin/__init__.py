"""The admin: both ledgers to look at, channels and credentials to edit."""
