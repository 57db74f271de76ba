"""A model in the forms of other programs, written and read."""
