"""Trainings that continue: a loop with evaluations chosen by the test, killed at a point chosen by the test, in one
process."""

import contextlib
import json
import os
import shutil
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import session

from pipe_trainer import atomic, exits
from pipe_trainer.checkpoints import ckpt, digests
from pipe_trainer.run import events as told
from pipe_trainer.run.loop import Loop
from pipe_trainer.run.programs import Programs
from pipe_trainer.run.setup import prepare
from pipe_trainer.run.signals import Stop

WSD = {"schedule": {"name": "wsd", "warmup": 0, "decay": 0.4}}


def job(place, **members):
    return session.small_job(place, members.pop("config", WSD), **{
        "steps": 10, "checkpoint_every": 4, "keep_checkpoints": 1, **members})


class Compiled(Programs):
    """Programs that are compiled once, and then used by all trainings with the same config and seed. One that begins
    with a model has programs of its own: they hold its parameters."""

    _all = {}

    @classmethod
    def of(cls, setup):
        if setup.start is not None:
            return Programs(setup)
        key = repr((setup.config, setup.job.seed))
        if key not in cls._all:
            cls._all[key] = cls(setup)
        return cls._all[key]

    def __init__(self, setup):
        super().__init__(setup)
        self._is_compiled = False

    def compile(self, state, batch):
        if not self._is_compiled:
            super().compile(state, batch)
        self._is_compiled = True


def trained(job_, rows, losses=None, stop_at=None):
    """Returns the loop after its last step, with its events. `losses`: of evaluations, by step; default: the number of
    the step. `stop_at`: the step after which the loop is asked to stop."""
    events, stop = session.Recorder(), Stop()

    class Stopped(Loop):
        def _take(self, batch):
            super()._take(batch)
            stop.asked = stop.asked or self.done == stop_at

    with mock.patch("pipe_trainer.run.loop.Programs", Compiled.of):
        loop = Stopped(prepare(job_, rows, rows), events, told.Clock(), stop,
                       lambda params, told: {"loss": float((losses or {}).get(loop.done, loop.done))})
    try:
        loop.begin()
        loop.run()
        loop.settle()
    finally:
        loop.checkpoints.abandon()
    return loop


def kept(place):
    """{step: the names under which it is pinned} of the existing checkpoints; each must verify."""
    found = {}
    for path in sorted(Path(place, "checkpoints").iterdir()):
        if path.name.isdecimal():
            assert digests.verify(path), path
            found[int(path.name)] = list(digests.pins(path))
    return found


def without_members(place, *members):
    """Changes checkpoints into those of the previous version: markers without `pinned`, facts without these members."""
    with_facts(place, lambda facts: {key: value for key, value in facts.items() if key not in members})


def with_facts(place, changed):
    """Gives each checkpoint the facts that `changed` makes of its own."""
    for path in Path(place, "checkpoints").iterdir():
        if not path.name.isdecimal():
            continue
        facts = path / "facts/metadata"
        facts.write_text(json.dumps(changed(json.loads(facts.read_text()))))
        digests.finish(path)


class Killed(BaseException):
    """No handler catches it."""


def kill():
    raise Killed


@contextlib.contextmanager
def killed_at(number, kill=kill):
    """Stops the change of files with this number and every later one; None: stops none. Yields an object that says
    whether a change was stopped (`killed`), and how many were made (`count`)."""
    made = SimpleNamespace(count=0, killed=False)

    def counted(change):
        def checked(*arguments, **named):
            if number is not None and made.count >= number:
                made.killed = True
                kill()
            made.count += 1
            return change(*arguments, **named)
        return checked

    class Os:
        replace = staticmethod(counted(os.replace))

        def __getattr__(self, name):
            return getattr(os, name)

    class Shutil:
        rmtree = staticmethod(counted(shutil.rmtree))

    with mock.patch.object(atomic, "os", Os()), mock.patch.object(ckpt, "os", Os()), \
            mock.patch.object(ckpt, "shutil", Shutil()), mock.patch("threading.excepthook", lambda arguments: None), \
            mock.patch.object(Path, "unlink", counted(Path.unlink)):
        yield made


class Runs(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)
        self.rows = session.random_rows()

    def train(self, name="run", losses=None, stop_at=None, **members):
        return trained(job(self.place / name, **members), self.rows, losses, stop_at)

    def stopped(self, at, **members):
        with self.assertRaises(exits.Ended) as ended:
            self.train(stop_at=at, **members)
        self.assertEqual(ended.exception.code, exits.RESUMABLE)

    def refused(self, words, **members):
        with self.assertRaises(exits.Ended) as ended:
            self.train(**members)
        self.assertEqual(ended.exception.code, exits.BAD_JOB)
        self.assertIn(words, str(ended.exception))
        self.assertEqual(len(str(ended.exception).splitlines()), 1)

    def restored(self, loop):
        return [event["step"] for event in loop.events.of("restore")]
