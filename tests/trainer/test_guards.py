"""Bad steps are left out, many of them send the run back to a checkpoint, and going back in vain ends it."""

import tempfile
import unittest
from pathlib import Path
from unittest import mock

import session

import jax
import jax.numpy as jnp
import numpy as np

from pipe_trainer import exits
from pipe_trainer.config import Guard
from pipe_trainer.optim import guard, step
from pipe_trainer.run import events as told
from pipe_trainer.run.loop import Loop
from pipe_trainer.run.setup import prepare
from pipe_trainer.run.signals import Stop

BAD = 60  # a row that begins with it is harmful
GUARD = {"window": 8, "max_skips": 2, "max_rewinds": 1}


def harmful(what):
    """Replaces the loss: the loss of a batch with a bad row is multiplied by `what`."""
    real = step.summed_loss

    def summed(params, objective, attend, compute, positions, batch, *keys, **more):
        factor = jnp.where(jnp.any(batch[0][:, 0] == BAD), what, 1.0)
        nats, loads = real(params, objective, attend, compute, positions, batch, *keys, **more)
        return factor * nats, loads
    return mock.patch.object(step, "summed_loss", summed)


def rows_with(bad_steps, steps, size=8):
    """Rows for so many steps; the rows of `bad_steps` (from 1) are harmful."""
    rows = session.random_rows(steps * size)
    rows.tokens[:, 0] = session.EOS
    for number in bad_steps:
        rows.tokens[(number - 1) * size:number * size, 0] = BAD
    return rows


class Guards(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.place = Path(place.name)

    def train(self, bad, what, steps=24, **job):
        events = session.Recorder()
        with harmful(what):
            place = tempfile.mkdtemp(dir=self.place)
            loop = session.trained(session.small_job(place, {"guard": GUARD}, steps=steps, **job),
                                   rows_with(bad, 64), events)
        return loop, events

    def test_a_step_without_a_finite_gradient_changes_nothing(self):
        _, one = self.train([], 1.0, steps=3)
        loop, events = self.train([3], float("nan"), steps=3)
        self.assertEqual(one.losses()[2], events.losses()[2])
        self.assertNotEqual(events.losses()[3], events.losses()[3])
        self.assertEqual(events.of("step")[-1]["skipped"], 1)
        self.assertTrue(np.isfinite(session.flat(loop.state["params"])).all())
        self.assertIn("step 3: left out", events.of("warn")[0]["text"])

    def test_a_loss_far_above_those_before_is_left_out_once_there_are_enough_of_those(self):
        loop, events = self.train([2, 15], 50.0)
        self.assertEqual([event["text"].split(":")[0] for event in events.of("warn")], ["step 15"])
        self.assertLess(loop.evaluated["loss"] + events.losses()[24], 5.0)

    def test_many_bad_steps_send_the_run_back_and_on_behind_them(self):
        loop, events = self.train([12, 13, 14], float("nan"), checkpoint_every=5)
        back = events.of("rewind")
        self.assertEqual([(event["from"], event["to"]) for event in back], [(15, 10)])
        self.assertEqual(loop.done, 24)
        self.assertEqual(loop.consumed, (24 + 5) * 8)
        self.assertEqual(loop.rate_scale, 0.5)

    def test_without_a_checkpoint_it_goes_back_to_the_beginning(self):
        loop, events = self.train([3, 4, 5], float("nan"), steps=8)
        self.assertEqual([(event["from"], event["to"]) for event in events.of("rewind")], [(6, 0)])
        self.assertEqual(loop.done, 8)

    def test_going_back_in_vain_ends_the_run(self):
        with self.assertRaises(exits.Ended) as ended:
            self.train(range(3, 40), float("nan"))
        self.assertEqual(ended.exception.code, exits.DIVERGED)
        self.assertIn("config.optimizer.lr", str(ended.exception))

    def begun(self, place, config, **job):
        """Returns a loop that has restored its newest checkpoint."""
        setup = prepare(session.small_job(place, config, **job), rows_with([], 64), rows_with([], 64))
        loop = Loop(setup, session.Recorder(), told.Clock(), Stop(), lambda params, told: {"loss": 0.0})
        self.addCleanup(loop.checkpoints.close)
        loop.begin()
        return loop

    def test_weights_that_are_not_finite_are_not_saved(self):
        class Poisoned(Loop):
            def _take(self, batch):
                super()._take(batch)
                if self.done == 7 and not self.rewinds:
                    self.state = {**self.state, "params": jax.tree.map(lambda leaf: leaf * jnp.nan, self.state["params"])}

        events, config = session.Recorder(), {"guard": GUARD}
        job = session.small_job(self.place, config, steps=12, checkpoint_every=2)
        loop = session.trained(job, rows_with([], 64), events, loop_type=Poisoned)
        self.assertEqual([(event["from"], event["to"]) for event in events.of("rewind")], [(8, 6)])
        self.assertEqual([event["text"] for event in events.of("warn") if "left out" not in event["text"]],
                         ["step 8: its weights are not finite"])
        self.assertEqual((loop.done, self.begun(self.place, config, steps=12).done), (12, 12))
        self.assertTrue(np.isfinite(session.flat(loop.state)).all())

    def test_while_updates_are_left_out_nothing_is_saved(self):
        events = self.train([11, 12], float("nan"), checkpoint_every=2)[1]
        saved = [event["step"] for event in events.of("ckpt_begin")]
        self.assertEqual(saved, [2, 4, 6, 8, 10, 14, 16, 18, 20, 22, 24])

    def test_a_checkpoint_from_which_no_update_is_taken_is_left(self):
        """The rows behind step 10 are harmful whatever the checkpoint; those behind step 5 are only behind step 10."""
        with self.assertRaises(exits.Ended):
            self.train(range(11, 64), float("nan"), checkpoint_every=5)
        kept, = self.place.glob("*/checkpoints")
        self.assertEqual(sorted(int(path.name) for path in kept.iterdir() if path.name.isdecimal()), [5])

    def test_a_checkpoint_of_an_earlier_version_with_broken_weights_is_passed_over(self):
        place, config = self.place / "run", {"guard": GUARD}
        loop = session.trained(session.small_job(place, config, steps=6, checkpoint_every=3), rows_with([], 64))
        state = {**loop.state, "params": jax.tree.map(lambda leaf: leaf * jnp.nan, loop.state["params"])}
        again = self.begun(place, config, steps=12)
        again.checkpoints.save(9, state, again.checkpoints.facts(6), lambda step: None)
        again.checkpoints.wait()
        later = self.begun(place, config, steps=12)
        self.assertEqual((later.done, [event["text"].split(": ")[1] for event in later.events.of("warn")]),
                         (6, ["its weights are not finite; going back to the one before"]))

    def taken(self, clip, norms):
        """For each norm of a gradient: whether the step was taken, with a steady loss."""
        config, watch, taken = Guard(window=8), guard.fresh(Guard(window=8)), []
        judge = jax.jit(lambda watch, norm: guard.judge(config, watch, jnp.float32(1.0), guard.unheld(norm, clip)))
        for norm in norms:
            watch, take = judge(watch, jnp.float32(norm))
            taken.append(bool(take))
        return taken

    def test_a_gradient_that_clipping_holds_is_left_out_only_where_it_is_not_finite(self):
        norms = [0.2 + 0.001 * (number % 3) for number in range(20)] + [1.7, 300.0, float("inf"), 0.2, float("nan"), 0.2]
        self.assertEqual(self.taken(1.0, norms)[20:], [True, True, False, True, False, True])
        self.assertEqual(self.taken(0.7, [0.9] * 20 + [50.0] * 3), [True] * 23)

    def test_a_gradient_that_nothing_clips_is_judged(self):
        norms = [0.2 + 0.001 * (number % 3) for number in range(20)] + [1.7, 0.2]
        self.assertEqual(self.taken(0.0, norms)[20:], [False, True])

    def test_a_lasting_new_level_is_taken_in_the_end(self):
        watch, config = guard.fresh(Guard(window=8)), Guard(window=8)
        judge = jax.jit(lambda watch, loss: guard.judge(config, watch, loss, jnp.float32(1.0)))
        taken = []
        for number in range(40):
            watch, take = judge(watch, jnp.float32(1.0 + 0.01 * (number % 3) + 5.0 * (number >= 20)))
            taken.append(bool(take))
        self.assertFalse(taken[20])
        self.assertTrue(all(taken[:20]) and all(taken[-10:]))


if __name__ == "__main__":
    unittest.main()
