"""Whole runs with experts, as processes: the same after an interruption, and on several devices."""

import os
import unittest

import xla_flags

# Four devices on one core may wait for each other longer than the default of 40 seconds.
os.environ["XLA_FLAGS"] = xla_flags.and_these("--xla_cpu_collective_timeout_seconds=600",
                                              "--xla_cpu_collective_call_terminate_timeout_seconds=600")

import runs  # noqa: E402
from expert_shapes import PAIRS  # noqa: E402


class WholeRuns(runs.WithTokenizer):
    config = runs.small_pairs(PAIRS)

    def test_a_mix_of_corpora_with_other_rules_is_named(self):
        corpora = [{"name": form, "lineage": [{"type": "normalize", "config": {"form": form}}]} for form in ("nfc", "nfkc")]
        run = self.run_here("mix", lineage={"data": {"lineage": [{"type": "mix", "ports": corpora}]}}, steps=1, export=True)
        self.assertEqual(run.end(), 0)
        self.assertEqual(len([event for event in run.of("warn") if "different keys of `normalize`" in event["text"]]), 1)

    def test_a_killed_run_goes_on_bit_for_bit_and_a_mesh_changes_only_rounding(self):
        whole = self.goes_on_bit_for_bit_and_trains_on_a_mesh(delta=3e-5, export=True)
        self.assertEqual(whole.result()["export"], "export")
        for event in whole.of("step"):
            self.assertGreater(event["balance"], 1.9)
            self.assertTrue(0 <= event["dropped"] < 1)


if __name__ == "__main__":
    unittest.main()
