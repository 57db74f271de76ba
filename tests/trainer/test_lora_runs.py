"""Trainings with low-rank adapters as processes: from a run, killed, on a mesh, in two processes, and the next one from
the merged export."""

import hashlib
import unittest

import runs
import session  # noqa: F401
from test_initial import write_export
from test_two_processes import free_port

from pipe_trainer.data.text import Text, rules_of_export
from pipe_trainer.eval.generation import continuation
from pipe_trainer.export import export


class WholeRuns(runs.WithTokenizer):
    LORA = {"rank": 4, "targets": ["wq", "wo", "w_up", "w_down"]}

    def test_a_training_with_adapters_from_a_run_and_the_next_one_from_it(self):
        first = self.run_here("first", steps=8, export=True, config=runs.TINY)
        self.assertEqual(first.end(), 0, first.log_end())
        plain = {"preset": "tiny", "batch": {"rows": 4}, "schedule": {"name": "const"}}
        adapted = {**plain, "lora": self.LORA, "optimizer": {"lr": 0.02}, "eval": {"temperature": 0}}
        self.config = adapted
        whole = self.goes_on_bit_for_bit_and_trains_on_a_mesh(
            delta=3e-5, init_from=str(first.run_dir), export=True, prompts=["猫が"])
        self.assertGreater(abs(whole.result()["final"]["loss"] - first.result()["final"]["loss"]), 1e-4)
        card = (whole.run_dir / "export/README.md").read_text(encoding="utf-8")
        learned = 2 * 4 * (2 * (32 + 32) + 2 * (32 + 64))
        for line in ("| began with | `first/run` |",
                     f"| low-rank adapters | rank 4, alpha 16, of w_down, w_up, wo, wq: {learned:,} parameters were learned",
                     hashlib.sha256((first.run_dir / "export/model.safetensors").read_bytes()).hexdigest()[:32]):
            self.assertIn(line, card)
        # The export is the model that was evaluated and sampled from: without a rate it stays.
        told = whole.result()["samples"][0]
        params, shape, facts = export.read(whole.run_dir / "export")
        text = Text(whole.run_dir / "export/tokenizer.model", facts["tokenizer"], rules_of_export(facts))
        self.assertEqual(continuation(params, shape, text, told["prompt"], 64, temperature=0.0), told["text"])
        third = self.run_here("third", steps=1, init_from=str(whole.run_dir), export=True, config={
            **plain, "optimizer": {"lr": 1e-12}, "lora": {"rank": 2}, "export": {"int8": True}})
        self.assertEqual(third.end(), 0, third.log_end())
        self.assertAlmostEqual(third.result()["final"]["loss"], whole.result()["final"]["loss"], places=5)
        self.assertAlmostEqual(third.of("price")[0]["loss"], third.result()["final"]["loss"], places=2)

    def test_two_processes_must_have_one_model(self):
        begin = [self.place / name for name in ("one", "two")]
        for seed, place in enumerate(begin):
            write_export(place, seed=seed)
        settings = {"preset": "tiny", "batch": {"rows": 4}, "schedule": {"name": "const"}, "lora": self.LORA}

        def pair(name, places):
            port = free_port()
            return [self.run_here(name, init_from=str(place), config=settings, steps=3, environ={
                "PIPE_WORKER_COUNT": "2", "PIPE_WORKER_INDEX": str(index), "PIPE_COORDINATOR": f"127.0.0.1:{port}"})
                for index, place in enumerate(places)]
        same = pair("same", [begin[0], begin[0]])
        for run in same:
            self.assertEqual(run.end(), 0, run.log_end())
        alone = self.run_here("alone", init_from=str(begin[0]), config=settings, steps=3)
        self.assertEqual(alone.end(), 0, alone.log_end())
        for number, value in alone.losses().items():
            self.assertAlmostEqual(same[0].losses()[number], value, places=5)
        waiting, other = pair("apart", begin)
        self.assertEqual(other.end(), 65, other.log_end())
        self.assertIn("is not the model that the first process has", other.log_end())
        waiting.kill()


if __name__ == "__main__":
    unittest.main()
