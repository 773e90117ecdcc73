"""Every combination of facts against the properties that any rule must keep."""
