"""The console as people use it: who may open what, what pages say, and what they refuse."""
