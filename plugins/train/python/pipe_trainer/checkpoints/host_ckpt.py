"""Checkpoints of several hosts with a disk each. plugins/train/hosts/checkpoints.md says why this form was chosen."""

import contextlib
import json
import os
import shutil
import time

import jax
import orbax.checkpoint as ocp
from orbax.checkpoint import options, type_handlers

from ..atomic import write_json
from ..exits import RESUMABLE, TRANSIENT, Ended, first_line
from ..processes import meet, of_all
from . import ckpt, digests, parts

FACTS = "facts/metadata"  # where orbax writes JSON
LOOK_SECONDS = 0.1


class HostCheckpoints(ckpt.Checkpoints):
    """As Checkpoints, for a process of one of several hosts: `<directory>/<step>/` has all shards that the devices of
    this host hold, in a file for each chunk. The first process of each host writes digests and removes checkpoints of
    its own disk."""

    def __init__(self, directory, keep, like, position, ask, asked):
        """`like`: the abstract state, with its shardings. `ask(step, names)` sends the event `need` and returns its id;
        `asked()`: whether the process was asked to stop."""
        self._like, self._position, self._ask, self._asked = like, position, ask, asked
        super().__init__(directory, keep, position.leads_host)

    def _open(self):
        apart = options.MultiprocessingOptions(primary_host=None)
        arrays = type_handlers.ArrayHandler(primary_host=None, replica_id=None, use_replica_parallel=False)
        registry = type_handlers.create_type_handler_registry((jax.Array, arrays))
        self._handler = ocp.PyTreeCheckpointHandler(use_ocdbt=False, multiprocessing_options=apart,
                                                    type_handler_registry=registry)
        self._saver = ocp.AsyncCheckpointer(self._handler, multiprocessing_options=apart)

    def _reload(self):
        pass  # every step is looked for on the disk

    def begin_at(self, step):
        """Removes the checkpoints after this step (None: all) from this disk."""
        if self._writes:
            with ckpt.mapped(self.directory):
                self._remove([later for later in self._here() if step is None or later > step])
                shutil.rmtree(self._answers(), ignore_errors=True)
        meet("what lies beyond is gone")

    def _begin(self, step, state, facts):
        if self._writes:
            digests.begin(self.directory / str(step), self._part())
        place = self._place_of(step)
        place.mkdir(parents=True, exist_ok=True)
        self._saver.save((place / parts.STATE).absolute(), args=ocp.args.PyTreeSave(state), force=True)

    def _finish(self, step, facts, pinned, best):
        self._saver.wait_until_finished()
        self._saver.check_for_errors()
        self._gather(step, self._place_of(step))
        if self._writes:
            here = self.directory / str(step)
            (here / FACTS).parent.mkdir(exist_ok=True)
            write_json(here / FACTS, facts)
            digests.finish(here, pinned, best, self._part(),
                           parts.owned(self._like, self._position.host, self._position.host_of))
            self._prune()

    def _sweep(self):
        super()._sweep()
        for leftover in self.directory.glob("worker-*"):
            shutil.rmtree(leftover, ignore_errors=True)

    def _part(self):
        return {"attempt": self._position.attempt, "host": self._position.host, "hosts": self._position.hosts}

    def _place_of(self, step):
        """Returns the directory into which this process saves: several of one host must not commit one directory."""
        here = self.directory / str(step)
        return here if self._position.workers == 1 else here.with_name(f"worker-{self._position.worker}-{step}")

    def _gather(self, step, place):
        """Moves the files of all processes of this host into one directory. Equal names have equal contents."""
        if self._position.workers == 1:
            return
        (place / "whole").touch()
        if not self._writes:
            return
        here = self.directory / str(step)
        for worker in range(self._position.workers):
            other = here.with_name(f"worker-{worker}-{step}")
            while not (other / "whole").exists():  # or the stage ends all of them
                time.sleep(LOOK_SECONDS)
            for path in sorted((other / parts.STATE).rglob("*")):
                if path.is_file():
                    target = here / path.relative_to(other)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    os.replace(path, target)
            shutil.rmtree(other, ignore_errors=True)

    def pinned(self, name):
        """As of Checkpoints; None also if a host lacks the checkpoint."""
        step = super().pinned(name)
        return None if step is None or self.lacks(step) else step

    def lacks(self, step):
        """Returns whether a host has no checkpoint of this step."""
        return not all(of_all((self.directory / str(step)).is_dir()))

    def verify(self, step):
        """Compares the files with their digests, on each host. If one is damaged, all processes end."""
        here, problem = self.directory / str(step), None
        try:
            if digests.fetched(here) is None and self._writes:
                digests.verify(here)
        except digests.Damaged as error:
            problem = str(error)
        self._agree_on(step, problem)
        return True

    def facts(self, step):
        return json.loads((self.directory / str(step) / FACTS).read_bytes())

    def restore(self, step, like):
        here, problem, state = self.directory / str(step), None, None
        try:
            self._fetch(step, here, like)
            arguments = ocp.args.PyTreeRestore(
                item=like, restore_args=ocp.checkpoint_utils.construct_restore_args(like))
            state = self._handler.restore(here / parts.STATE, args=arguments)
        except Ended:
            raise
        except Exception as error:  # orbax and tensorstore have no common exception for "damaged"
            problem = f"{here}: cannot be read: {first_line(error)}"
        self._agree_on(step, problem)
        return state

    def set_aside(self, step):
        """Not for one host alone: a damaged checkpoint ends the processes in _agree_on."""
        raise Ended(TRANSIENT, f"{self.path(step)}: cannot be read on host {self._position.host}")

    def close(self):
        self._saver.close()

    def _agree_on(self, step, problem):
        """Ends all processes if one of them has a problem with the checkpoint; that host sets it aside. The stage then
        takes a checkpoint that all hosts have."""
        if not any(of_all(problem is not None)):
            return
        here = self.directory / str(step)
        if problem is None:
            raise Ended(TRANSIENT, f"{here}: another host cannot read its part")
        with contextlib.suppress(FileNotFoundError):  # another process of this host was faster
            aside = self.directory / f"{ckpt.ASIDE}{step}-{time.time_ns()}"
            os.replace(digests.place(here), digests.place(aside))
            os.replace(here, aside)
        raise Ended(TRANSIENT, f"host {self._position.host}: {problem}; it is set aside")

    def _fetch(self, step, here, like):
        """Asks the stage for the chunks that this process needs and that are not here yet."""
        if digests.fetched(here) is None:
            return
        missing = [name for name in parts.needed(here, like) if not (here / name).exists()]
        while missing:
            some, size = [], 0
            while missing and size < 200_000:
                some.append(missing.pop())
                size += len(some[-1]) + 4
            self._wait_for(self._ask(step, some))

    def _answers(self):
        return self.directory.parent / "answers"

    def _wait_for(self, number):
        answer = self._answers() / f"{number}.json"
        while not answer.exists():
            if self._asked():
                raise Ended(RESUMABLE, "stopped before the checkpoint was here; the same command goes on from it")
            time.sleep(LOOK_SECONDS)
        said = json.loads(answer.read_bytes())
        answer.unlink()
        if "error" in said:
            raise Ended(int(said["code"]), said["error"])
