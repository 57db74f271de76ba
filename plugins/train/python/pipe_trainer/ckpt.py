"""Checkpoints: orbax behind five verbs. A checkpoint is there when its digests are, never before."""

import contextlib
import errno
import logging
import os
import shutil
import threading
import time
from pathlib import Path

import jax
from jax.experimental import multihost_utils
import numpy as np
import orbax.checkpoint as ocp

from . import digests
from .devices import first_line
from .exits import BAD_DATA, TRANSIENT, Ended


ASIDE, GONE = "damaged-", "removed-"  # and the step: names of directories


class Checkpoints:
    """`<directory>/<step>/` each: `state` (arrays in parts, as the devices hold them) and `facts` (JSON). Of several
    processes the first one writes digests and removes; the functions without `_` are called by all of them."""

    def __init__(self, directory, keep):
        logging.getLogger("absl").setLevel(logging.WARNING)
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._keep, self._main = max(keep, 1), jax.process_index() == 0
        if self._main:
            self._sweep()
        meet("what was never finished is gone")
        # Orbax would remove an old one before the new one has its digests.
        options = ocp.CheckpointManagerOptions(max_to_keep=None, cleanup_tmp_directories=True)
        self._manager = ocp.CheckpointManager(self.directory.absolute(), options=options)
        self._saving, self._failure = None, None

    def path(self, step):
        return str(self.directory / str(step))

    def steps(self):
        """Committed ones, newest first."""
        self.wait()
        meet("the newest checkpoint is committed")
        self._manager.reload()
        return self._here()

    def damaged(self):
        """The names of those that were set aside, here or by an earlier run."""
        return sorted(path.name for path in self.directory.glob(f"{ASIDE}*") if path.is_dir())

    def save(self, step, state, facts, committed, pinned=(), best=None):
        """Returns once the state may be changed. `committed` is called with the step when it is safe, on a thread
        of this object, and not at all when the save fails: `wait` tells why then. `pinned`, `best`: digests.pin."""
        self.wait()
        with mapped(self.path(step)):
            if self._main:
                digests.begin(self.directory / str(step))
            self._manager.save(step, force=True, args=ocp.args.Composite(
                state=ocp.args.StandardSave(state), facts=ocp.args.JsonSave(facts)))

        def settle():
            try:
                with mapped(self.path(step)):
                    self._manager.wait_until_finished()
                    self._manager.check_for_errors()
                    if self._main:
                        digests.finish(self.directory / str(step), pinned, best)
                        self._prune()
                committed(step)
            except Ended as error:
                self._failure = error

        self._saving = threading.Thread(target=settle, name="checkpoint")
        self._saving.start()

    def wait(self):
        """Until nothing is being saved any more; raises what the save failed with."""
        if self._saving is not None:
            self._saving.join()
            self._saving = None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def newest(self):
        return self._manager.latest_step()

    def pin(self, step, name, best=None):
        """Keeps a committed one under this name, and no other one under it."""
        self.wait()
        if self._main:
            here = self.directory / str(step)
            with mapped(digests.place(here)):
                digests.pin(here, {*digests.pins(here), name}, best)
                self._prune()

    def pinned(self, name):
        """The step of the one that is kept under this name; None where there is none."""
        self.wait()
        step = agree(self._pinned(self._here()).get(name, -1) if self._main else -1)
        return None if step < 0 else step

    def best(self):
        """The scores that one is pinned for, with their step. None where none is, and for all but the first process."""
        self.wait()
        step = self._pinned(self._here()).get(digests.BEST) if self._main else None
        return None if step is None else digests.best(self.directory / str(step))

    def drop_beyond(self, step):
        """What a training left that this one does not go on with."""
        self.wait()
        if self._main:
            with mapped(self.directory):
                self._remove([later for later in self._here() if later > step])
        meet("what lies beyond is gone")
        self._manager.reload()  # it saves no step that it believes to be there

    def verify(self, step):
        """False where nothing says what its files must be; raises digests.Damaged, on each process."""
        answer, why = 0, f"{self.path(step)}: is damaged"
        if self._main:
            try:
                answer = 1 if digests.verify(self.directory / str(step)) else 2
            except digests.Damaged as error:
                why = str(error)
        answer = agree(answer)
        if answer == 0:
            raise digests.Damaged(why)
        return answer == 1

    def facts(self, step):
        restored = self._manager.restore(step, args=ocp.args.Composite(facts=ocp.args.JsonRestore()))
        return restored["facts"]

    def restore(self, step, like):
        """The state, placed as the abstract `like` says: another mesh than it was saved on is fine."""
        restored = self._manager.restore(step, args=ocp.args.Composite(state=ocp.args.StandardRestore(like)))
        return restored["state"]

    def set_aside(self, step):
        """Keeps a damaged one under another name, out of the way of the next of this step."""
        if self._main:
            here = self.directory / str(step)
            aside = self.directory / f"{ASIDE}{step}-{time.time_ns()}"
            os.replace(here, aside)
            with contextlib.suppress(FileNotFoundError):
                os.replace(digests.place(here), digests.place(aside))
        meet("a damaged checkpoint is set aside")
        self._manager.reload()

    def _here(self):
        """Newest first."""
        return sorted((int(path.name) for path in self.directory.iterdir()
                       if path.name.isdecimal() and path.is_dir()), reverse=True)

    def _pinned(self, steps):
        """{name: step}: of several with one name, which a kill may leave, the newest counts."""
        return {name: step for step in sorted(steps) for name in digests.pins(self.directory / str(step))}

    def _prune(self):
        here = self._here()
        pinned = self._pinned(here)
        held = {*here[:self._keep], *pinned.values()}
        for step in held:
            place = self.directory / str(step)
            names = digests.pins(place)
            mine = [name for name in names if pinned[name] == step]
            if len(mine) < len(names):
                digests.pin(place, mine)
        self._remove([step for step in here if step not in held])

    def _remove(self, steps):
        """Each goes as a whole: what has the name of a step has all of its files."""
        for step in steps:
            here, gone = self.directory / str(step), self.directory / f"{GONE}{step}"
            os.replace(here, gone)
            digests.place(here).unlink(missing_ok=True)
            shutil.rmtree(gone, ignore_errors=True)

    def _sweep(self):
        """What a kill left: a checkpoint that was being written or removed, and digests without one."""
        for path in self.directory.glob(f"{GONE}*"):
            shutil.rmtree(path, ignore_errors=True)
        self._remove([step for step in self._here() if digests.is_unfinished(self.directory / str(step))])
        for path in self.directory.glob("*.json"):
            if path.stem.isdecimal() and not path.with_suffix("").is_dir():
                path.unlink(missing_ok=True)

    def close(self):
        self._manager.close()

    def abandon(self):
        """Closes after a failure, of which everything is told already."""
        with contextlib.suppress(Exception):
            self._manager.close()


def meet(where):
    """Several processes go on together."""
    if jax.process_count() > 1:
        multihost_utils.sync_global_devices(where)


def agree(number):
    """What the first process says, on each of them. Whoever reads files that it changes sees another state."""
    if jax.process_count() == 1:
        return int(number)
    return int(multihost_utils.broadcast_one_to_all(np.int32(number)))


class mapped:
    """Gives a failed save its exit code."""

    def __init__(self, where):
        self._where = where

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if error is None or isinstance(error, Ended) or not isinstance(error, Exception):
            return False
        full = getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error) \
            or "RESOURCE_EXHAUSTED" in str(error)
        why = "the disk is full; free some space and start again" if full else first_line(error)
        raise Ended(TRANSIENT, f"{self._where}: cannot be written: {why}") from error


def latest_good(checkpoints, like, check, warn, instead=lambda step, facts: None):
    """(step, state, facts) of the newest checkpoint whose files are as they were written, or None where there was never
    one. `check(path, facts)` raises for one that must not be gone on with; `instead(step, facts)` may name an earlier
    one that is taken for it."""
    steps = checkpoints.steps()
    while steps:
        step, facts = steps[0], _facts_of(checkpoints, steps[0], check, warn)
        if facts is not None:
            earlier = instead(step, facts)
            if earlier is not None:
                step, facts = earlier, _facts_of(checkpoints, earlier, check, warn)
        state = None if facts is None else _unless_damaged(
            checkpoints, step, warn, lambda step=step: checkpoints.restore(step, like))
        if state is not None:
            return step, state, facts
        steps = checkpoints.steps()
    damaged = checkpoints.damaged()
    if damaged:
        raise Ended(BAD_DATA, f"{checkpoints.directory}: none of {len(damaged)} checkpoints can be read, they are set "
                              f"aside there as {', '.join(damaged)}; remove the directory to start over")
    return None


def good(checkpoints, step, like, warn):
    """The state of this checkpoint; None where it is not as it was written."""
    if _facts_of(checkpoints, step, lambda path, facts: None, warn) is None:
        return None
    return _unless_damaged(checkpoints, step, warn, lambda: checkpoints.restore(step, like))


def _facts_of(checkpoints, step, check, warn):
    path = checkpoints.path(step)

    def look():
        if not checkpoints.verify(step):
            warn(f"{path}: has no digests beside it, as an earlier version left them: it is gone on from as it is")
        facts = checkpoints.facts(step)
        check(path, facts)
        return facts
    return _unless_damaged(checkpoints, step, warn, look)


def _unless_damaged(checkpoints, step, warn, read):
    """What `read` gives; None for a checkpoint that cannot be read, which is set aside."""
    try:
        return read()
    except Ended:
        raise
    except Exception as error:  # orbax and tensorstore have no common base for "damaged"
        warn(f"{checkpoints.path(step)}: damaged, going back to the one before: {first_line(error)}")
        checkpoints.set_aside(step)
        return None


def abstract(state, shardings):
    return jax.tree.map(lambda leaf, sharding: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding),
                        state, shardings)
