"""Probes: synthetic messages through the whole path, seen at their destination.

sending     records the probe of each channel whose turn has come
seeing      asks the destination for it, once it was accepted
"""
