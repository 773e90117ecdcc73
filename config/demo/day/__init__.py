"""Three days in the life of an installation, so that a first visit to the console means something.

A small energy supplier: agents write to its customers, its crews and its partners. Every row is
made by the product's own code against a recipient that really counts, at a moment of the past.
"""
