"""An explicit-state model of the protocol, with the real rules and the real moves in it."""
