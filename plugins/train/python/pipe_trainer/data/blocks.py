"""Rows of the training split that the stage fetches while the training runs: plugins/train/rows/rows.md."""

import bisect
import json
import os
import time

from .. import hosts
from ..exits import RESUMABLE, Ended
from . import order

DIRECTORY = "PIPE_ROW_BLOCKS"  # names the directory of the blocks
FAILURE = "failure.json"       # the stage cannot fetch any more
LONGEST_LOOK_SECONDS = 0.05


class Stopped(Ended):
    """This process was asked to stop while it waited for rows, and no other process waits for it."""

    def __init__(self):
        super().__init__(RESUMABLE, "stopped before its rows were here; the same command goes on from the last "
                                    "checkpoint")


class Blocks:
    """`split`: the split whose rows are in blocks. `asked` tells whether to stop while rows are missing. `shared`:
    whether other processes use the directory."""

    def __init__(self, directory, split, events, asked, shared=False):
        self.directory, self.split = directory, split
        self._events, self._asked, self._shared = events, asked, shared
        self._ends, self._seed = [], 0
        self._number = 0  # of the last event
        self._at = None   # the part of the order whose rows are here

    @classmethod
    def of_environment(cls, environ, split, events, asked):
        """Returns None if all rows are here."""
        directory = environ.get(DIRECTORY)
        return cls(directory, split, events, asked, hosts.position(environ).workers > 1) if directory else None

    def of_shards(self, shards, seed):
        self._seed, total = seed, 0
        for shard in shards:
            total += shard.rows
            self._ends.append(total)
        return self

    def parts(self, shuffled, first, count):
        """Yields (offset, size) of the parts of a read of `count` samples, one window or one block each, when all rows
        of that window or block are here."""
        done = 0
        while done < count:
            at = first + done
            blocks, end = self._around(shuffled, at)
            if self._at != (shuffled, end):
                self._at = None
                self._bring(shuffled, at, blocks)
                self._at = shuffled, end
            size = min(count - done, end - at)
            yield done, size
            done += size
        if self._shared and count:  # the others may need the room, while this process waits for their step
            self._at = None
            self._say(shuffled, first + count, reading=False)

    def _around(self, shuffled, sample):
        """Returns (blocks, the first sample behind them)."""
        rows = self._ends[-1]
        if shuffled:
            return order.window_of(sample, rows, self._seed)
        block = sample // order.BLOCK
        return [block], min((block + 1) * order.BLOCK, rows)

    def _names(self, block):
        """Yields the files of a block, one for each shard that has rows of it."""
        begin, end = block * order.BLOCK, min((block + 1) * order.BLOCK, self._ends[-1])
        shard = bisect.bisect_right(self._ends, begin)
        while begin < end:
            if self._ends[shard] > begin:
                yield f"{block}-{shard}"
            begin, shard = max(begin, self._ends[shard]), shard + 1

    def _bring(self, shuffled, sample, blocks):
        """Tells the stage which rows are read next, and waits until they are here."""
        self._say(shuffled, sample)
        looks = 0
        while not self._heard():  # the stage may be removing blocks that it did not know to be needed
            self._look_again(looks)
            looks += 1
        missing = self._missing([name for block in blocks for name in self._names(block)])
        if not missing:
            return
        before = self._events.current_phase
        self._events.phase("fetch")
        while missing:
            self._look_again(looks)
            looks += 1
            missing = self._missing(missing)
        self._events.phase(before)

    def _say(self, shuffled, sample, **more):
        self._number += 1
        self._events.emit("rows", id=self._number, shuffled=shuffled, sample=sample, **more)

    def _heard(self):
        try:
            with open(f"{self.directory}/heard-{self._events.worker}", encoding="utf-8") as file:
                return int(file.read() or 0) == self._number
        except OSError:
            return False

    def _missing(self, names):
        return [name for name in names if not os.path.exists(f"{self.directory}/{name}")]

    def _look_again(self, looks):
        """Waits a little. Ends the process if nothing more will come, or if it was asked to stop."""
        try:
            with open(f"{self.directory}/{FAILURE}", encoding="utf-8") as file:
                said = json.load(file)
        except OSError:
            if self._asked():
                raise Stopped from None
            time.sleep(min(0.001 * (looks + 1), LONGEST_LOOK_SECONDS))
            return
        raise Ended(int(said["code"]), said["error"])
