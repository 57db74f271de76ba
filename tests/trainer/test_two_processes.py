"""Two processes on loopback are one run."""

import json
import signal
import socket
import unittest
from pathlib import Path

import places  # noqa: F401

import llama_forward
import runs
import tensor_files
import tiny_tokenizer
from pipe_trainer.data.rows import Rows
from runs import Run

STEPS = 6
WITHOUT_COMPARING = str(Path(__file__).with_name("without_comparing.py"))


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class TwoProcesses(runs.WithRows):
    def pair(self, name, resume=None, **members):
        """`resume`: the members are two hosts with a directory each, which restore this step, or "none"."""
        port, pair = free_port(), []
        for index in range(2):
            environ = {"PIPE_WORKER_COUNT": "2", "PIPE_WORKER_INDEX": str(index),
                       "PIPE_COORDINATOR": f"127.0.0.1:{port}"}
            place = self.place / name
            if resume is not None:
                place /= str(index)
                environ |= {"PIPE_HOST_COUNT": "2", "PIPE_HOST_INDEX": str(index), "PIPE_RESUME": str(resume)}
            pair.append(Run(place, self.data, environ=environ, **{"steps": STEPS, "checkpoint_every": 3, **members}))
            self.addCleanup(pair[-1].process.kill)
        return pair

    def test_their_losses_are_those_of_one_process(self):
        alone = Run(self.place / "alone", self.data, steps=STEPS)
        self.assertEqual(alone.end(), 0, alone.log_end())
        pair = self.pair("two", config={**runs.TINY, "mesh": {"fsdp": 2}}, program=(WITHOUT_COMPARING,))
        for run in pair:
            self.assertEqual(run.end(), 0, run.log_end())
            self.assertEqual(sorted(run.losses()), list(range(1, STEPS + 1)))
            for step, loss in run.losses().items():
                self.assertAlmostEqual(loss / alone.losses()[step], 1.0, delta=1e-6, msg=f"step {step}")
        self.assertEqual([event["worker"] for event in pair[1].of("hello")], [1])
        self.assertAlmostEqual(pair[0].result()["final"]["loss"] / alone.result()["final"]["loss"], 1.0, delta=1e-6)

    def test_they_find_the_prices_of_a_leaner_export_together(self):
        self.data = runs.make_rows(self.place / "pieces", vocab=tiny_tokenizer.VOCAB,
                                   model=tiny_tokenizer.path().read_bytes())
        config = {**runs.TINY, "mesh": {"fsdp": 2}, "export": {"prune": 0.5, "int8": True}}
        pair = self.pair("both", config=config, export=True, steps=2, program=(WITHOUT_COMPARING,))
        for run in pair:
            self.assertEqual(run.end(), 0, run.log_end())
        place, prices = pair[0].run_dir / "export", pair[0].result()["leaner"]
        settings = json.loads((place / "config.json").read_text())
        rows = Rows(str(self.data), "validation", 0, False).in_order(0, 5).tokens.tolist()
        for price, weights in zip(prices[1:], (tensor_files.read(place / "model.safetensors"),
                                               tensor_files.read_int8(place / "int8.safetensors"))):
            nats = sum(llama_forward.nats(settings, weights, row, runs.EOS) for row in rows)
            self.assertAlmostEqual(nats / price["targets"], price["loss"], delta=1e-5, msg=price["file"])

    def test_a_port_that_is_taken_ends_the_first_one_as_a_temporary_failure(self):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            address = f"127.0.0.1:{other.getsockname()[1]}"
            run = Run(self.place / "taken", self.data, environ={
                "PIPE_WORKER_COUNT": "2", "PIPE_WORKER_INDEX": "0", "PIPE_COORDINATOR": address}, steps=STEPS)
            self.addCleanup(run.process.kill)
            self.assertEqual(run.end(), 75, run.log_end())
        self.assertIn(f"{address}: the port of the coordinator cannot be used (Address already in use)", run.log_end())

    def test_a_failure_of_one_ends_it_at_once_with_its_own_code(self):
        """JAX would keep it until the other one ends, too: its stage would take it for a process that hangs."""
        address = f"127.0.0.1:{free_port()}"
        for index, data in enumerate((self.data, self.place / "nowhere")):
            run = Run(self.place / f"fails-{index}", data, environ={
                "PIPE_WORKER_COUNT": "2", "PIPE_WORKER_INDEX": str(index), "PIPE_COORDINATOR": address}, steps=STEPS)
            self.addCleanup(run.kill)
        run.wait_for("error")
        self.assertEqual(run.end(timeout=12), 65, run.log_end())

    def test_a_stop_of_one_stops_both_at_the_same_step_and_they_go_on(self):
        """Both also go back together if the newest checkpoint was changed after it was written."""
        pair = self.pair("stopped", steps=40, checkpoint_every=2)
        pair[1].wait_for("step", step=3)
        pair[1].process.send_signal(signal.SIGTERM)
        for run in pair:
            self.assertEqual(run.end(), 42, run.log_end())
        stopped = {run.of("preempt")[0]["step"] for run in pair}
        self.assertEqual(len(stopped), 1)
        stopped = stopped.pop()
        checkpoints = pair[0].run_dir / "checkpoints"
        before = max(int(path.name) for path in checkpoints.iterdir() if path.name.isdecimal() and path.name != str(stopped))
        path = max((checkpoints / str(stopped)).rglob("*"), key=lambda path: path.stat().st_size * path.is_file())
        data = path.read_bytes()
        path.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
        again = self.pair("stopped", steps=stopped + 2, checkpoint_every=1000)
        for run in again:
            self.assertEqual(run.end(), 0, run.log_end())
            self.assertEqual([event["step"] for event in run.of("restore")], [before])
            self.assertEqual(len(run.losses()), stopped + 2 - before)
        self.assertIn(f"{path}: has CRC-32C", again[0].of("warn")[0]["text"])

    def test_more_steps_go_back_together_and_end_together(self):
        config = {**runs.TINY, "schedule": {"name": "wsd", "warmup": 0, "decay": 0.5}, "mesh": {"fsdp": 2}}
        judged = {"config": config, "keep_best": True, "eval_every": 2, "keep_checkpoints": 1,
                  "early_stop": {"patience": 3, "min_delta": 100.0}}
        for run in self.pair("longer", **judged):
            self.assertEqual(run.end(), 0, run.log_end())
        pair = self.pair("longer", **{**judged, "steps": 20})
        for run in pair:
            self.assertEqual(run.end(), 0, run.log_end())
            self.assertEqual([(event["from"], event["to"]) for event in run.of("extend")], [(6, 3)])
            self.assertEqual([event["step"] for event in run.of("restore")], [3])
            self.assertEqual(sorted(run.losses()), list(range(4, max(run.losses()) + 1)))
        self.assertEqual(pair[0].losses(), pair[1].losses())
        self.assertEqual(pair[0].result()["stopped_early"]["step"], max(pair[0].losses()))
        pinned = [path for path in (pair[0].run_dir / "checkpoints").glob("*.json") if '"best"' in path.read_text()]
        self.assertEqual(len(pinned), 1)

    def test_hosts_that_start_again_after_the_last_step_end_together(self):
        """Only the first one has result.json; the other must not wait for it in an evaluation."""
        for resume in ("none", STEPS):
            pair = self.pair("ended", resume)
            for run in pair:
                self.assertEqual(run.end(100), 0, run.log_end())
            self.assertEqual([(pair[index].run_dir / "result.json").is_file() for index in range(2)], [True, False])
        for run in pair:
            self.assertEqual([event["step"] for event in run.of("restore")], [STEPS])
            self.assertEqual(run.of("step") + run.of("eval"), [])


if __name__ == "__main__":
    unittest.main()
