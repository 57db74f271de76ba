"""Checkpoints: orbax behind five verbs. A checkpoint is there when it is committed, never before."""

import contextlib
import errno
import logging
import os
import threading
import time
from pathlib import Path

import jax
from jax.experimental import multihost_utils
import orbax.checkpoint as ocp

from .devices import first_line
from .exits import BAD_DATA, TRANSIENT, Ended


class Checkpoints:
    """`<directory>/<step>/` each: `state` (arrays in parts, as the devices hold them) and `facts` (JSON)."""

    def __init__(self, directory, keep):
        logging.getLogger("absl").setLevel(logging.WARNING)
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        options = ocp.CheckpointManagerOptions(max_to_keep=max(keep, 1), cleanup_tmp_directories=True)
        self._manager = ocp.CheckpointManager(self.directory.absolute(), options=options)
        self._saving, self._failure = None, None

    def path(self, step):
        return str(self.directory / str(step))

    def steps(self):
        """Committed ones, newest first."""
        self.wait()
        return sorted(self._manager.all_steps(), reverse=True)

    def save(self, step, state, facts, committed):
        """Returns once the state may be changed. `committed` is called with the step when it is safe, on a thread
        of this object, and not at all when the save fails: `wait` tells why then."""
        self.wait()
        with mapped(self.path(step)):
            self._manager.save(step, args=ocp.args.Composite(
                state=ocp.args.StandardSave(state), facts=ocp.args.JsonSave(facts)))

        def settle():
            try:
                with mapped(self.path(step)):
                    self._manager.wait_until_finished()
                    self._manager.check_for_errors()
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

    def facts(self, step):
        restored = self._manager.restore(step, args=ocp.args.Composite(facts=ocp.args.JsonRestore()))
        return restored["facts"]

    def restore(self, step, like):
        """The state, placed as the abstract `like` says: another mesh than it was saved on is fine."""
        restored = self._manager.restore(step, args=ocp.args.Composite(state=ocp.args.StandardRestore(like)))
        return restored["state"]

    def set_aside(self, step):
        """Keeps a damaged one under another name, out of the way of the next of this step."""
        if jax.process_index() == 0:
            os.replace(self.directory / str(step), self.directory / f"damaged-{step}-{time.time_ns()}")
        if jax.process_count() > 1:
            multihost_utils.sync_global_devices("set aside")
        self._manager.reload()

    def close(self):
        self._manager.close()

    def abandon(self):
        """Closes after a failure, of which everything is told already."""
        with contextlib.suppress(Exception):
            self._manager.close()


class mapped:
    """Gives a failed save its exit code."""

    def __init__(self, where):
        self._where = where

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if error is None or isinstance(error, (Ended, KeyboardInterrupt, SystemExit)):
            return False
        full = getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error) \
            or "RESOURCE_EXHAUSTED" in str(error)
        why = "the disk is full; free some space and start again" if full else first_line(error)
        raise Ended(TRANSIENT, f"{self._where}: cannot be written: {why}") from error


def latest_good(checkpoints, like, check, warn):
    """(step, state, facts) of the newest checkpoint that can be read, or None where there is none at all.
    `check(path, facts)` raises for one that must not be gone on with."""
    steps = checkpoints.steps()
    for step in steps:
        path = checkpoints.path(step)
        try:
            facts = checkpoints.facts(step)
            check(path, facts)
            return step, checkpoints.restore(step, like), facts
        except Ended:
            raise
        except Exception as error:  # orbax and tensorstore have no common base for "damaged"
            warn(f"{path}: damaged, going back to the one before: {first_line(error)}")
            checkpoints.set_aside(step)
    if steps:
        raise Ended(BAD_DATA, f"{checkpoints.directory}: none of {len(steps)} checkpoints can be read; remove the "
                              f"directory to start over")
    return None


def abstract(state, shardings):
    return jax.tree.map(lambda leaf, sharding: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding),
                        state, shardings)
