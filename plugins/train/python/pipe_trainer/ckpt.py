"""Checkpoints: orbax behind five verbs. A checkpoint is there when it is committed, never before."""

import errno
import logging
from pathlib import Path

import jax
import orbax.checkpoint as ocp

from .exits import BAD_DATA, TRANSIENT, Ended


class Checkpoints:
    """`<directory>/<step>/` each: `state` (arrays in parts, as the devices hold them) and `facts` (JSON)."""

    def __init__(self, directory, keep):
        logging.getLogger("absl").setLevel(logging.WARNING)
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        options = ocp.CheckpointManagerOptions(max_to_keep=max(keep, 1), cleanup_tmp_directories=True)
        self._manager = ocp.CheckpointManager(self.directory.absolute(), options=options)
        self._saving = None

    def path(self, step):
        return str(self.directory / str(step))

    def steps(self):
        """Committed ones, newest first."""
        self.wait()
        return sorted(self._manager.all_steps(), reverse=True)

    def save(self, step, state, facts):
        """Returns once the state may be changed; `committed` tells when it is safe."""
        self.wait()
        with mapped(self.path(step), "cannot be written"):
            self._manager.save(step, args=ocp.args.Composite(
                state=ocp.args.StandardSave(state), facts=ocp.args.JsonSave(facts)))
        self._saving = step

    def committed(self):
        """The step whose save has ended since the last call, or None."""
        if self._saving is None or self._manager.is_saving_in_progress():
            return None
        return self._settle()

    def wait(self):
        """Until nothing is being saved; the step of that save, or None."""
        return None if self._saving is None else self._settle()

    def _settle(self):
        step, self._saving = self._saving, None
        with mapped(self.path(step), "cannot be written"):
            self._manager.wait_until_finished()
            self._manager.check_for_errors()
        return step

    def facts(self, step):
        restored = self._manager.restore(step, args=ocp.args.Composite(facts=ocp.args.JsonRestore()))
        return restored["facts"]

    def restore(self, step, like):
        """The state, placed as the abstract `like` says: another mesh than it was saved on is fine."""
        restored = self._manager.restore(step, args=ocp.args.Composite(state=ocp.args.StandardRestore(like)))
        return restored["state"]

    def close(self):
        self._manager.close()


class mapped:
    """Gives a failed save its exit code."""

    def __init__(self, where, what):
        self._where, self._what = where, what

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if error is None or isinstance(error, (Ended, KeyboardInterrupt, SystemExit)):
            return False
        full = getattr(error, "errno", None) == errno.ENOSPC or "No space left" in str(error) \
            or "RESOURCE_EXHAUSTED" in str(error)
        why = "the disk is full; free some space and start again" if full else str(error).splitlines()[0][:300]
        raise Ended(TRANSIENT, f"{self._where}: {self._what}: {why}") from error


def latest_good(checkpoints, like, warn):
    """(step, state, facts) of the newest checkpoint that can be read, or None where there is none at all."""
    steps = checkpoints.steps()
    for step in steps:
        try:
            return step, checkpoints.restore(step, like), checkpoints.facts(step)
        except (ValueError, OSError, KeyError) as error:
            warn(f"{checkpoints.path(step)}: damaged, going back to the one before: {str(error).splitlines()[0][:300]}")
    if steps:
        raise Ended(BAD_DATA, f"{checkpoints.directory}: none of {len(steps)} checkpoints can be read; remove the "
                              f"directory to start over")
    return None


def abstract(state, shardings):
    return jax.tree.map(lambda leaf, sharding: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding),
                        state, shardings)
