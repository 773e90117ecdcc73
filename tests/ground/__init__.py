"""What the ledgers stand on fails: the database server, the way to it, the machine's clock."""
