"""Gradual pruning: when weights become 0, that the zeros stay, and that an interruption changes nothing."""

import tempfile
import unittest
from pathlib import Path

import session

import jax
import numpy as np
from continued import job, trained

from pipe_trainer import config, exits
from pipe_trainer.config import Pruning
from pipe_trainer.export import export, leaner
from pipe_trainer.optim import pruning
from pipe_trainer.run.loop import Loop

ROWS = session.random_rows()
KEYS = {"share": 0.5, "begin": 2, "end": 8, "every": 3}  # before the steps 3, 6 and 9
CONFIG = {"schedule": {"name": "const", "warmup": 0}, "pruning": KEYS}


def zeros(params):
    """{name: the share of zeros of each matrix} of the leaves that are pruned."""
    return {name: np.asarray([(matrix == 0).mean() for matrix in np.asarray(leaf).reshape(len(leaf), -1)])
            for name, leaf in params["blocks"].items() if name in pruning.PRUNED}


class Schedule(unittest.TestCase):
    def shares(self, steps=10, **keys):
        found = [pruning.share_before(Pruning(**{**KEYS, **keys}), update, steps) for update in range(steps)]
        return {update: round(share, 4) for update, share in enumerate(found) if share}

    def test_the_share_grows_fast_at_first_and_is_whole_at_the_end(self):
        self.assertEqual(self.shares(every=2), {4: 0.3519, 6: 0.4815, 8: 0.5})

    def test_begin_and_end_below_1_are_shares_of_the_steps(self):
        self.assertEqual(self.shares(begin=0.2, end=0.8), self.shares())
        self.assertEqual(sorted(self.shares(20, begin=0.2, end=0.8, every=4)), [8, 12, 16])

    def test_the_last_pruning_comes_even_if_the_distance_does_not_fit(self):
        self.assertEqual(sorted(self.shares(end=9, every=4)), [6, 9])

    def test_an_attempt_that_begins_behind_the_end_has_the_whole_share(self):
        for update, share in ((3, 0.0), (8, 0.5), (9, 0.5)):
            self.assertEqual(pruning.share_before(Pruning(**KEYS), update, 10, first=True), share)
        self.assertEqual(pruning.share_before(Pruning(), 9, 10, first=True), 0.0)

    def test_nothing_is_due_without_a_share(self):
        self.assertEqual(self.shares(share=0.0), {})


class Zeros(unittest.TestCase):
    def test_the_least_of_each_matrix_become_0(self):
        make = np.random.default_rng(0)
        leaf = make.normal(size=(3, 8, 2, 4)).astype(np.float32)
        made = np.asarray(pruning.pruned({"blocks": {"wq": leaf, "attn_norm": leaf[:, 0, 0]}}, 0.25)["blocks"]["wq"])
        for before, after in zip(leaf, made):
            least = np.sort(np.abs(before).ravel())[15]
            np.testing.assert_array_equal(after, np.where(np.abs(before) <= least, 0, before))

    def test_other_leaves_stay(self):
        ones = {"embed": np.ones((4, 4)), "head": np.ones((4, 4)), "attn_norm": np.ones(4), "router": np.ones((4, 2)),
                "relative": np.ones((4, 4)), "dense": np.ones((4, 4))}
        for name, leaf in pruning.pruned(ones, 0.5).items():
            np.testing.assert_array_equal(leaf, ones[name])

    def test_a_share_below_one_weight_prunes_none(self):
        leaf = np.ones((1, 2, 2), np.float32)
        np.testing.assert_array_equal(pruning.pruned({"w_up": leaf}, 0.24)["w_up"], leaf)


class Trainings(unittest.TestCase):
    def setUp(self):
        self.place = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def train(self, name, config=None, **more):
        members = {key: more.pop(key) for key in ("losses", "stop_at") if key in more}
        return trained(job(self.place / name, config={**CONFIG, **(config or {})}, **more), ROWS, **members)

    def test_each_matrix_has_its_share_of_zeros_and_they_stay(self):
        loop = self.train("run", steps=10)
        self.assertEqual([(event["step"], round(event["share"], 4)) for event in loop.events.of("prune")],
                         [(5, 0.4375), (8, 0.5)])
        for name, shares in zeros(loop.state["params"]).items():
            np.testing.assert_allclose(shares, 0.5, atol=1e-3, err_msg=name)

    def test_no_weight_that_was_0_has_another_value_later(self):
        zeros_at = {}

        class Watched(Loop):
            def _observe(self, report):
                zeros_at[self.done] = {name: np.asarray(self.state["params"]["blocks"][name]) == 0
                                       for name in pruning.PRUNED if name in self.state["params"]["blocks"]}
                return super()._observe(report)
        session.trained(job(self.place / "run", config=CONFIG), ROWS, loop_type=Watched)
        steps = sorted(zeros_at)
        self.assertGreater(len(steps), 5)
        for before, after in zip(steps, steps[1:]):
            for name, gone in zeros_at[before].items():
                self.assertTrue(zeros_at[after][name][gone].all(), f"{name} between steps {before} and {after}")

    def test_a_stop_between_two_prunings_changes_no_weight(self):
        with self.assertRaises(exits.Ended):
            self.train("run", stop_at=6)
        stopped, whole = self.train("run"), self.train("whole")
        for one, other in zip(jax.tree.leaves(stopped.state), jax.tree.leaves(whole.state)):
            np.testing.assert_array_equal(one, other)

    def test_the_average_of_the_weights_has_the_zeros_too(self):
        loop = self.train("run", {"regularizers": {"ema": 0.9}})
        for name, leaf in loop.state["params"]["blocks"].items():
            if name in pruning.PRUNED:
                gone = np.asarray(leaf) == 0
                self.assertTrue(gone.any())
                self.assertFalse(np.asarray(loop.state["average"]["blocks"][name])[gone].any(), name)

    def test_a_training_without_pruning_is_as_before(self):
        plain = {"schedule": CONFIG["schedule"]}
        one = trained(job(self.place / "plain", config=plain), ROWS)
        other = trained(job(self.place / "none", config={**plain, "pruning": {"share": 0.0}}), ROWS)
        self.assertEqual(one.events.losses(), other.events.losses())
        self.assertNotIn("pruning", config.as_dict(one.config))
        self.assertFalse(any(shares.any() for shares in zeros(one.state["params"]).values()))

    def test_another_number_of_steps_brings_no_weight_back_and_the_whole_share(self):
        some = {"pruning": {**KEYS, "begin": 0.2, "end": 0.8}}
        with self.assertRaises(exits.Ended):  # of 20: before the steps 5, 8, 11, 14 and 17
            self.train("less", some, steps=20, stop_at=12)
        before = zeros(trained(job(self.place / "less", config={**CONFIG, **some}, steps=14), ROWS).state["params"])
        for name, shares in before.items():
            np.testing.assert_allclose(shares, 0.5, atol=1e-3, err_msg=name)
        loop = self.train("less", some, steps=24)
        for name, shares in zeros(loop.state["params"]).items():
            np.testing.assert_allclose(shares, 0.5, atol=1e-3, err_msg=name)

    def test_the_guard_compares_no_step_with_those_before_a_pruning(self):
        loop = self.train("run", {"guard": {"window": 8}}, steps=12)  # before the steps 6 and 9; it sees 9 to 12
        self.assertEqual(int(loop.state["guard"]["seen"]), 4)
        plain = trained(job(self.place / "plain", config={"schedule": CONFIG["schedule"]}, steps=12), ROWS)
        self.assertEqual(int(plain.state["guard"]["seen"]), 12)

    def test_the_export_has_them(self):
        loop = self.train("run")
        model = loop.config.model
        tensors = list(export.FORMS[model.family].tensors_of(jax.device_get(loop.whole_parameters()), model))
        self.assertAlmostEqual(leaner.zeros(tensors), 0.5, delta=1e-3)


class Refusals(unittest.TestCase):
    def refused(self, sections, *words, **members):
        with self.assertRaises(exits.BadJob) as caught:
            session.small_job("/nowhere", sections, **members)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_an_end_before_the_beginning_or_behind_the_last_step(self):
        self.refused({"pruning": {"share": 0.5, "begin": 0.6, "end": 5}},
                     "config.pruning: begins after 6 of 10 steps and ends after 5")
        self.refused({"pruning": {"share": 0.5, "begin": 1, "end": 10}}, "an end before the last step")
        self.refused({"pruning": {"share": 0.5, "begin": 0.51, "end": 0.59}}, "begins after 6", "ends after 6")
        self.refused({"pruning": {"share": 0.5}}, "ends after 1", steps=1)

    def test_an_evaluation_that_would_prefer_the_model_before_the_pruning(self):
        self.refused({"pruning": {"share": 0.5}}, "job.keep_best", "leave out one of", keep_best=True)
        self.refused({"pruning": {"share": 0.5}}, "job.early_stop", early_stop={"patience": 2}, eval_every=2)

    def test_a_share_of_all_and_adapters(self):
        self.refused({"pruning": {"share": 1.0}}, "config.pruning.share")
        self.refused({"pruning": {"share": 0.5}, "lora": {"rank": 2}}, "adapters leave the weights as they are",
                     init_from="/a/model")


if __name__ == "__main__":
    unittest.main()
