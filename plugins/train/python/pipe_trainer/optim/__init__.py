"""From a loss to the next state: one step as one program."""
