"""Checkpoints, saved and restored by orbax. A checkpoint exists once its digests exist, never before."""

import contextlib
import errno
import logging
import os
import shutil
import threading
import time
from pathlib import Path

import jax
import orbax.checkpoint as ocp

from ..exits import BAD_DATA, TRANSIENT, Ended, first_line
from ..processes import agreed, meet
from . import digests

ASIDE, GONE = "damaged-", "removed-"  # beginnings of directory names; the step follows


class Checkpoints:
    """Each checkpoint is a directory `<directory>/<step>/`: `state` (arrays in parts, as the devices hold them) and
    `facts` (JSON). Only the first process writes digests and removes checkpoints. All processes call the functions
    without `_`."""

    def __init__(self, directory, keep, writes=None):
        """`writes`: whether this process writes digests and removes checkpoints; None: the first process does."""
        logging.getLogger("absl").setLevel(logging.WARNING)
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self._keep, self._saving, self._failure = max(keep, 1), None, None
        self._writes = jax.process_index() == 0 if writes is None else writes
        if self._writes:
            self._sweep()
        meet("what was never finished is gone")
        self._open()

    def _open(self):
        # Orbax would remove an old checkpoint before the new one has its digests.
        options = ocp.CheckpointManagerOptions(max_to_keep=None, cleanup_tmp_directories=True)
        self._manager = ocp.CheckpointManager(self.directory.absolute(), options=options)

    def _reload(self):
        """Orbax's manager saves no step that it believes to exist."""
        self._manager.reload()

    def path(self, step):
        return str(self.directory / str(step))

    def steps(self):
        """Returns the steps of the committed checkpoints, newest first."""
        self.wait()
        meet("the newest checkpoint is committed")
        self._reload()
        return self._here()

    def damaged(self):
        """Returns the names of the checkpoints that this run or an earlier one set aside."""
        return sorted(path.name for path in self.directory.glob(f"{ASIDE}*") if path.is_dir())

    def save(self, step, state, facts, committed, pinned=(), best=None):
        """Returns once the state may be changed. Calls `committed` with the step when the checkpoint is safe, on a
        thread of this object. If the save fails, does not call it, and `wait` raises the reason. `pinned`, `best`: as
        in digests.finish."""
        self.wait()
        with mapped(self.path(step)):
            self._begin(step, state, facts)

        def settle():
            try:
                with mapped(self.path(step)):
                    self._finish(step, facts, pinned, best)
                committed(step)
            except Ended as error:
                self._failure = error

        self._saving = threading.Thread(target=settle, name="checkpoint")
        self._saving.start()

    def _begin(self, step, state, facts):
        """Copies the state, and begins to write it."""
        if self._writes:
            digests.begin(self.directory / str(step))
        self._manager.save(step, force=True, args=ocp.args.Composite(
            state=ocp.args.StandardSave(state), facts=ocp.args.JsonSave(facts)))

    def _finish(self, step, facts, pinned, best):
        """Waits until all files are written, and makes the checkpoint count. On a thread of this object. Orbax has
        written the facts."""
        self._manager.wait_until_finished()
        self._manager.check_for_errors()
        if self._writes:
            digests.finish(self.directory / str(step), pinned, best)
            self._prune()

    def wait(self):
        """Waits until no save is in progress. Raises the failure of the save."""
        if self._saving is not None:
            self._saving.join()
            self._saving = None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def pin(self, step, name, best=None):
        """Pins a committed checkpoint under this name, and no other one under it."""
        self.wait()
        if self._writes:
            here = self.directory / str(step)
            with mapped(digests.place(here)):
                digests.pin(here, {*digests.pins(here), name}, best)
                self._prune()

    def pinned(self, name):
        """Returns the step of the checkpoint that is pinned under this name; None if there is none."""
        self.wait()
        return agreed(self._pinned(self._here()).get(name) if self._writes else None)

    def best(self):
        """Returns the scores for which a checkpoint is pinned, with its step. None if there is none, and on all but the
        first process."""
        self.wait()
        step = self._pinned(self._here()).get(digests.BEST) if self._writes else None
        return None if step is None else digests.best(self.directory / str(step))

    def drop_beyond(self, step):
        """Removes the checkpoints after `step`, from which this training does not continue."""
        self.wait()
        if self._writes:
            with mapped(self.directory):
                self._remove([later for later in self._here() if later > step])
        meet("what lies beyond is gone")
        self._reload()

    def verify(self, step):
        """Compares the files with their digests. Returns False if there are no digests. Raises digests.Damaged, on each
        process."""
        verified, why = None, f"{self.path(step)}: is damaged"
        if self._writes:
            try:
                verified = digests.verify(self.directory / str(step))
            except digests.Damaged as error:
                why = str(error)
        verified = agreed(verified)
        if verified is None:
            raise digests.Damaged(why)
        return verified

    def facts(self, step):
        restored = self._manager.restore(step, args=ocp.args.Composite(facts=ocp.args.JsonRestore()))
        return restored["facts"]

    def restore(self, step, like):
        """Returns the state, placed as the abstract `like` says. Its mesh may differ from the mesh of the save."""
        restored = self._manager.restore(step, args=ocp.args.Composite(state=ocp.args.StandardRestore(like)))
        return restored["state"]

    def set_aside(self, step):
        """Renames a damaged checkpoint, so that the next one of this step has its place."""
        if self._writes:
            here = self.directory / str(step)
            aside = self.directory / f"{ASIDE}{step}-{time.time_ns()}"
            os.replace(here, aside)
            with contextlib.suppress(FileNotFoundError):
                os.replace(digests.place(here), digests.place(aside))
        meet("a damaged checkpoint is set aside")
        self._reload()

    def _here(self):
        """Returns all steps that have a directory, newest first."""
        return sorted((int(path.name) for path in self.directory.iterdir()
                       if path.name.isdecimal() and path.is_dir()), reverse=True)

    def _pinned(self, steps):
        """Returns {name: step}. A kill may leave several checkpoints with one name: the newest counts."""
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
        """Renames each directory before it removes files: a directory named by a step has all of its files."""
        for step in steps:
            here, gone = self.directory / str(step), self.directory / f"{GONE}{step}"
            os.replace(here, gone)
            digests.place(here).unlink(missing_ok=True)
            shutil.rmtree(gone, ignore_errors=True)

    def _sweep(self):
        """Removes the leftovers of a kill: checkpoints that were being written or removed, and digests without a
        checkpoint."""
        for path in self.directory.glob(f"{GONE}*"):
            shutil.rmtree(path, ignore_errors=True)
        self._remove([step for step in self._here() if digests.is_unfinished(self.directory / str(step))])
        for path in self.directory.glob("*.json"):
            if path.stem.isdecimal() and not path.with_suffix("").is_dir():
                path.unlink(missing_ok=True)

    def close(self):
        self._manager.close()

    def abandon(self):
        """Closes after a failure that is already reported."""
        with contextlib.suppress(Exception):
            self.close()


@contextlib.contextmanager
def mapped(where):
    """Turns the failure of a save into Ended, with its exit code."""
    try:
        yield
    except Ended:
        raise
    except Exception as error:  # orbax and tensorstore have no common exception
        full = getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error) \
            or "RESOURCE_EXHAUSTED" in str(error)
        why = "the disk is full; free some space and start again" if full else first_line(error)
        raise Ended(TRANSIENT, f"{where}: cannot be written: {why}") from error


def latest_good(checkpoints, like, check, warn, instead=lambda step, facts: None):
    """Returns (step, state, facts) of the newest checkpoint with undamaged files, or None if there never was a
    checkpoint. `check(path, facts)` raises if the run must not continue from it. `instead(step, facts)` may name an
    earlier checkpoint that takes its place. Raises Ended if every checkpoint is damaged."""
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
    """Returns the state of this checkpoint; None if it is damaged."""
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
    """Returns the result of `read`. If the checkpoint cannot be read: sets it aside and returns None."""
    try:
        return read()
    except Ended:
        raise
    except Exception as error:  # orbax and tensorstore have no common exception for "damaged"
        warn(f"{checkpoints.path(step)}: damaged, going back to the one before: {first_line(error)}")
        checkpoints.set_aside(step)
        return None


def abstract(state, shardings):
    return jax.tree.map(lambda leaf, sharding: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding),
                        state, shardings)
