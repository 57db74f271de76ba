"""SIGTERM and SIGINT: the first signal asks for a checkpoint and an end, the second ends the process at once."""

import faulthandler
import os
import signal
import sys


class Stop:
    """`asked` becomes true at the first signal. Handlers run between two lines of the main thread."""

    def __init__(self):
        self.asked = False

    def install(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle)
        # The plugin's watchdog sends SIGQUIT to a silent run, for the stacks of its threads.
        faulthandler.register(signal.SIGQUIT, file=sys.stderr, all_threads=True, chain=False)

    def _handle(self, number, frame):
        del frame
        if self.asked:
            os._exit(128 + number)
        self.asked = True
