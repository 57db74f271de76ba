"""Whole runs that choose by memory, as processes on a CPU with an assumed limit of memory."""

import json
import tempfile
import unittest
from pathlib import Path

import places

import runs
from runs import Run

MIB = 1 << 20
BOUNDED = "from pipe_trainer.run import memory\nmemory.of_device = lambda device: {limit}\n"
# A device of another process tells nothing of its memory.
BOUNDED_OWN = """from pipe_trainer.run import memory
def of_device(device):
    import jax
    return {limit} if device.process_index == jax.process_index() else None
memory.of_device = of_device
"""


class Bounded(runs.WithRows):
    def run_in(self, name, mib, bounded=BOUNDED, **members):
        """Sets the limit in sitecustomize, which Python imports before anything else. Each run has its own: a process
        that starts must not read a file that is being written."""
        patch = Path(tempfile.mkdtemp(prefix="memory-", dir=self.place))
        (patch / "sitecustomize.py").write_text(bounded.format(limit=mib and int(mib * MIB)))
        environ = {"PYTHONPATH": f"{patch}:{places.PACKAGE}", **members.pop("environ", {})}
        run = Run(self.place / name, self.data, environ=environ, **{"steps": 4, **members})
        self.addCleanup(run.process.kill)
        return run

    def told(self, run, kept, first):
        fit = run.of("hello")[0]["fit"]
        self.assertEqual(fit["kept"], kept)
        self.assertEqual(json.loads((run.run_dir / "config.json").read_text())["fit"], fit)
        self.assertEqual(run.result()["fit"], fit)
        self.assertEqual(bool(run.of("fit")), not kept)
        self.assertEqual(run.of("hello")[0]["config"]["batch"]["micro"], fit["chosen"]["batch.micro"])
        self.assertEqual([event["step"] for event in run.of("restore")], [] if first else [4])
        return fit

    def test_a_choice_is_told_and_kept_and_another_machine_goes_on_with_its_own(self):
        first = self.run_in("run", 2000)
        self.assertEqual(first.end(), 0, first.log_end())
        wide = self.told(first, kept=False, first=True)
        self.assertEqual((wide["chosen"]["batch.micro"], wide["chosen"]["model.remat"]), (1, "none"))

        again = self.run_in("run", 2000, steps=8)
        self.assertEqual(again.end(), 0, again.log_end())
        self.assertEqual({**self.told(again, kept=True, first=False), "kept": False}, wide)

        # Without the figure of the other machine: a run directory from a bucket would have none.
        (again.run_dir / "fit.json").unlink()
        tight = wide["peak_gib"] * 1024 / 0.96 * 0.98
        smaller = self.run_in("run", tight, steps=12)
        self.assertEqual(smaller.end(), 0, smaller.log_end())
        fit = smaller.of("hello")[0]["fit"]
        self.assertNotEqual(fit["chosen"], wide["chosen"])
        self.assertLess(fit["peak_gib"], wide["peak_gib"])
        self.assertEqual([event["step"] for event in smaller.of("restore")], [8])
        self.assertEqual(smaller.result()["tokens"], 12 * 4 * runs.SEQ_LEN)  # a step has as many rows as before

    def test_nothing_fits(self):
        run = self.run_in("none", 0.01)
        self.assertEqual(run.end(), 64, run.log_end())
        message = json.loads(run.error_file.read_text())["message"]
        self.assertEqual(len(message.splitlines()), 1)
        self.assertIn("is the smallest that was tried", message)

    def pair_in(self, name, limits):
        from test_two_processes import free_port
        port = free_port()
        return [self.run_in(name, mib, BOUNDED_OWN, config={**runs.TINY, "mesh": "auto"}, environ={
            "PIPE_WORKER_COUNT": "2", "PIPE_WORKER_INDEX": str(index), "PIPE_COORDINATOR": f"127.0.0.1:{port}"})
            for index, mib in enumerate(limits)]

    def test_two_processes_take_the_same_way_and_keep_to_the_least_memory(self):
        pair = self.pair_in("two", (2000, 1500))
        for run in pair:
            self.assertEqual(run.end(100), 0, run.log_end())
        fits = [run.of("hello")[0]["fit"] for run in pair]
        self.assertEqual(fits[0], fits[1])
        self.assertEqual((fits[0]["devices"], fits[0]["usable_gib"]), ("cpu x 2", round(1500 / 1024, 3)))
        self.assertTrue((pair[0].run_dir / "fit.json").is_file())

    def test_two_processes_take_the_same_way_if_one_does_not_know_its_memory(self):
        pair = self.pair_in("unknown", (2000, None))
        for run in pair:
            self.assertEqual(run.end(100), 0, run.log_end())
            self.assertNotIn("usable_gib", run.of("hello")[0]["fit"])


if __name__ == "__main__":
    unittest.main()
