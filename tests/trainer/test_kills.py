"""SIGKILL at changes of files: while checkpoints are pinned and removed, while a training stops early, and while a
training with more steps goes back. Kills processes with all their threads; continued.killed_at stops inside one
process."""

import json
import os
import random
import shutil
import signal
import tempfile
import traceback
import unittest
from pathlib import Path

import session

import continued

SEED = int(os.environ.get("PIPE_KILLS_SEED", "1"))
POINTS = int(os.environ.get("PIPE_KILLS_POINTS", "4"))  # per case; 0: all
FAILED, DONE = 70, 0


def in_child(action):
    """Exit status of a process that runs `action`; JAX must not have started anything here that does not survive a
    fork."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = FAILED
    try:
        action()
        code = DONE
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


class Kills(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)

    def train(self, name, kill_at=None, **members):
        """(exit code, {changes, losses, restored, kept, result}); None for the second if it was killed."""
        answer = self.place / "answer.json"
        answer.unlink(missing_ok=True)

        def action():
            with continued.killed_at(kill_at, lambda: os.kill(os.getpid(), signal.SIGKILL)) as made:
                losses = members.pop("evaluations", None)
                loop = continued.trained(continued.job(self.place / name, **members), session.random_rows(), losses)
            answer.write_text(json.dumps({
                "changes": made.count, "losses": loop.events.losses(), "done": loop.done,
                "restored": [event["step"] for event in loop.events.of("restore")], "best": loop.selection.best,
                "kept": sorted(continued.kept(self.place / name).items())}))
        code = in_child(action)
        return code, json.loads(answer.read_text()) if code == DONE else None

    def whole(self, name, **members):
        code, told = self.train(name, **members)
        self.assertEqual(code, DONE)
        return told

    def killed_everywhere(self, begin, **members):
        """`begin(name)` makes a run directory. Then a training is killed at its changes of files, one after the other,
        and each time continues like an uninterrupted one."""
        begin("whole")
        wanted = self.whole("whole", **members)
        points = list(range(wanted["changes"]))
        if POINTS:
            points = sorted(random.Random(SEED).sample(points, min(POINTS, len(points))))
        for at in points:
            name = f"killed-{at}"
            begin(name)
            self.assertEqual(self.train(name, kill_at=at, **members)[0], -signal.SIGKILL, at)
            told = self.whole(name, **members)
            where = f"seed {SEED}, killed at change {at} of {wanted['changes']}"
            for step, loss in told["losses"].items():
                self.assertEqual(loss, wanted["losses"][step], where)
            self.assertEqual([told[key] for key in ("done", "best")], [wanted[key] for key in ("done", "best")], where)
            # A checkpoint that was due for removal after the last step may be left.
            spare = [one for one in told["kept"] if one not in wanted["kept"]]
            self.assertEqual([one for one in told["kept"] if one not in spare], wanted["kept"], where)
            self.assertTrue(len(spare) <= 1 and all(names == [] for _, names in spare), (where, spare))
            shutil.rmtree(self.place / name)
        print(f"{self.id()}: killed at {len(points)} of {wanted['changes']} changes of files")

    def test_pinned_and_removed(self):
        self.killed_everywhere(lambda name: None, steps=10, checkpoint_every=2, eval_every=2, keep_best=True,
                               evaluations={2: 5.0, 4: 3.0, 6: 4.0, 8: 2.0, 10: 2.5})

    def test_stopped_early(self):
        self.killed_everywhere(lambda name: None, steps=20, checkpoint_every=2, eval_every=2, keep_best=True,
                               early_stop={"patience": 2}, evaluations={2: 5.0, 4: 3.0, 6: 4.0, 8: 3.5})

    def test_extended(self):
        self.whole("before", steps=10)

        def begin(name):
            shutil.copytree(self.place / "before", self.place / name)
        self.killed_everywhere(begin, steps=15, checkpoint_every=3)


if __name__ == "__main__":
    unittest.main()
