"""How a run may end. The plugin decides by these numbers whether to start the trainer again."""

DONE = 0
RESUMABLE = 42  # stopped by a signal after a committed checkpoint
BAD_JOB = 64
BAD_DATA = 65
NO_DEVICE = 69
BUG = 70
TRANSIENT = 75
HELD = 76  # another program has the device
ENVIRONMENT = 78
DIVERGED = 86


class Ended(Exception):
    """Ends the run with a code and one line for people: where, what, why, what to do."""

    def __init__(self, code, message):
        super().__init__(message)
        self.code = code


class BadJob(Ended):
    """Every mistake of a job at once, one a line."""

    def __init__(self, mistakes):
        super().__init__(BAD_JOB, "\n".join(mistakes))
        self.mistakes = list(mistakes)


def first_line(error):
    return (str(error).splitlines() or [type(error).__name__])[0][:300]
