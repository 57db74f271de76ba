"""SIGTERM and SIGINT: the first signal asks for a checkpoint and an end, the second ends the process at once.

Two SIGTERM within a second are one: a scheduler or systemd signals every process of a job, and the stage stops its
trainer, too. Two SIGINT within half a second are one: `timeout` signals a process and its group. cli/terminal/signals.h
has the same rule.
"""

import faulthandler
import os
import signal
import sys
import time

ONE = {signal.SIGTERM: 1.0, signal.SIGINT: 0.5}  # seconds in which two signals are one


class Stop:
    """`asked` becomes true at the first signal. Handlers run between two lines of the main thread."""

    def __init__(self):
        self.asked = False
        self._first = (0, 0.0)  # signal, and when it came

    def install(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._handle)
        # A scheduler sends them to every process of a job. The stage takes them for SIGTERM, and sends that.
        for number in (signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)
        # The plugin's watchdog sends SIGQUIT to a silent run, for the stacks of its threads.
        faulthandler.register(signal.SIGQUIT, file=sys.stderr, all_threads=True, chain=False)

    def _handle(self, number, _):
        now = time.monotonic()
        if self.asked:
            first, came = self._first
            if first == number and now - came < ONE[number]:
                return
            os._exit(128 + number)
        self.asked, self._first = True, (number, now)
