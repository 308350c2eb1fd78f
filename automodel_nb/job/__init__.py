"""Jobs: their records, their states, and the handle that a user holds.

The room is called `job`, since `automodel_nb.jobs` is a function that users call.
"""
