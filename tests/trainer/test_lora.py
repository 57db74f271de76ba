"""Low-rank adapters: the model that they make, what is learned and kept, the merged export, and what is refused."""

import ast
import dataclasses
import hashlib
import json
import unittest
from types import SimpleNamespace
from unittest import mock

import continued
import session
import test_labels
import tiny_tokenizer
from test_initial import write_export

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

from pipe_trainer import config, exits, fit
from pipe_trainer.config import Lora, Optimizer
from pipe_trainer.export import export, safetensors
from pipe_trainer.model import attention, lora, model, sharding
from pipe_trainer.optim import step
from pipe_trainer.run import candidates, compiled, job, memory

SHAPE = config.Model(layers=2, d=32, heads=4, kv_heads=2, ff=64, vocab=tiny_tokenizer.VOCAB, seq_len=32).complete()
FAMILIES = {
    "llama": (SHAPE, 7), "lm1b": (dataclasses.replace(SHAPE, family="lm1b", kv_heads=4, tied=False), 6),
    "bert": (dataclasses.replace(SHAPE, family="bert", kv_heads=4), 7),
    "t5": (dataclasses.replace(SHAPE, family="t5", kv_heads=4), 18)}
ALL = ("wq", "wk", "wv", "wo", "w_gate", "w_up", "w_down", "dense")
IDS = jnp.asarray([[2, 7, 260, 299, 5, 31, 8, 100, 2, 77, 12, 45]])


def random(tree, seed, size=0.15):
    make = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: np.asarray(make.normal(size=leaf.shape) * size, np.float32), tree)


def of_shape(shape, rank=3, targets=ALL):
    """Returns (config.Lora, frozen parameters, adapters of which nothing is 0)."""
    wanted, base = Lora(rank=rank, alpha=6.0, targets=targets), model.shapes(shape)
    adapters = jax.eval_shape(lambda: lora.fresh(wanted, base, jax.random.key(0)))
    return wanted, random(base, 0), random(adapters, 1)


def logits_of(params, shape):
    more = {}
    if shape.family == "t5":
        more = {"layout": (jnp.zeros_like(IDS), None), "given": (IDS[:, :7], jnp.zeros((1, 7), jnp.int32))}
    hidden = model.forward(params, shape, IDS, **more)
    return model.logits(params, shape, hidden)[..., :shape.vocab]


def logits(params, shape):
    return np.asarray(logits_of(params, shape))


class Models(unittest.TestCase):
    def test_fresh_adapters_change_no_bit_in_any_family(self):
        for name, (shape, count) in FAMILIES.items():
            wanted, base, _ = of_shape(shape)
            adapters = lora.fresh(wanted, base, jax.random.key(3))
            self.assertEqual(len(jax.tree.leaves(adapters)), 2 * count, name)
            np.testing.assert_array_equal(logits(base, shape), logits(lora.attached(wanted, base, adapters), shape), name)

    def test_merged_ones_make_the_model_that_applied_ones_make(self):
        for name, (shape, _) in FAMILIES.items():
            wanted, base, adapters = of_shape(shape)
            compiled_logits = jax.jit(lambda params, shape=shape: logits_of(params, shape))
            applied, merging = (compiled_logits(lora.attached(wanted, base, adapters, merges)) for merges in (False, True))
            whole = lora.merged(lora.attached(wanted, base, adapters))
            self.assertTrue(all(isinstance(leaf, np.ndarray) for leaf in jax.tree.leaves(whole)))
            merged = compiled_logits(whole)
            self.assertGreater(np.abs(merged - compiled_logits(base)).max(), 0.01, name)
            np.testing.assert_allclose(applied, merged, rtol=0, atol=1e-5 * np.abs(merged).max(), err_msg=name)
            np.testing.assert_allclose(merging, merged, rtol=0, atol=1e-5 * np.abs(merged).max(), err_msg=name)

    def test_a_merged_matrix_is_the_sum_of_the_paper(self):
        shape = SHAPE
        wanted, base, adapters = of_shape(shape, targets=("wo", "w_up"))
        whole = lora.merged(lora.attached(wanted, base, adapters))["blocks"]
        there = adapters["blocks"]
        self.assertEqual(set(there), {"wo_a", "wo_b", "w_up_a", "w_up_b"})
        np.testing.assert_allclose(
            whole["wo"], base["blocks"]["wo"] + 2.0 * np.einsum("lnhr,lrd->lnhd", there["wo_a"], there["wo_b"]), atol=1e-6)
        np.testing.assert_allclose(whole["w_up"], base["blocks"]["w_up"] + 2.0 * there["w_up_a"] @ there["w_up_b"],
                                   atol=1e-6)
        self.assertIs(whole["wq"], base["blocks"]["wq"])

    def test_an_evaluation_merges_before_it_rounds(self):
        """With gradients in the type of activations, too: the matrix is that of the export, in 16 bits."""
        shape = dataclasses.replace(SHAPE, gradients="compute")
        wanted, base, adapters = of_shape(shape)
        found, right = (model.forward(params, shape, IDS, compute=jnp.bfloat16) for params in (
            lora.attached(wanted, base, adapters, merges=True), lora.merged(lora.attached(wanted, base, adapters))))
        np.testing.assert_allclose(*(np.asarray(one, np.float32) for one in (found, right)), rtol=0, atol=0.02)

    def test_adapters_differ_by_matrix_and_seed(self):
        wanted, base, _ = of_shape(SHAPE)
        one, other = (lora.fresh(wanted, base, jax.random.key(seed))["blocks"] for seed in (0, 1))
        self.assertFalse(np.array_equal(one["wq_a"], other["wq_a"]))
        self.assertFalse(np.array_equal(one["wk_a"], one["wv_a"]))
        self.assertAlmostEqual(float(jnp.std(one["w_down_a"])), 64 ** -0.5, delta=0.02)
        self.assertFalse(np.any(one["wq_b"]))


class Steps(unittest.TestCase):
    def trained(self, shape, **sections):
        """Returns (config, base, adapters before, state after two steps)."""
        wanted, base, _ = of_shape(shape)
        whole = dataclasses.replace(session.small_job("-").config, model=shape, lora=wanted, **sections)
        state = step.new_state(whole, jax.random.key(0))
        before = jax.device_get(state["params"])
        rows = session.random_rows(8, vocab=shape.vocab).shuffled(0, 8)
        program = jax.jit(step.make_train_step(whole, attention.reference, jnp.float32, 32, 7))
        for _ in range(2):
            state, metrics = program(state, (rows.tokens[None], rows.lengths[None], None), jnp.float32(1e-2), jnp.zeros(1),
                                     base)
            self.assertEqual(float(metrics[3]), 0.0)
        return whole, base, before, state

    def test_gradients_are_those_of_the_merged_model(self):
        wanted, base, adapters = of_shape(SHAPE)
        rows = session.random_rows(4, vocab=SHAPE.vocab).shuffled(0, 4)

        def nats(adapters, merges):
            return session.summed_loss(lora.attached(wanted, base, adapters, merges), SHAPE, None, jnp.float32, 32,
                                       rows.tokens, rows.lengths)
        one, two = (session.flat(jax.jit(jax.grad(lambda tree, merges=merges: nats(tree, merges)))(adapters))
                    for merges in (False, True))
        self.assertLess(np.linalg.norm(one - two) / np.linalg.norm(two), 1e-5)

    def test_optimisers_keep_arrays_of_adapters_alone(self):
        for name in ("adamw", "adafactor", "muon"):
            whole, _, before, state = self.trained(SHAPE, optimizer=Optimizer(name=name),
                                                   regularizers=config.Regularizers(ema=0.9))
            for old, new, mean in zip(*map(jax.tree.leaves, (before, state["params"], state["average"]))):
                self.assertFalse(np.array_equal(old, new), name)
                self.assertFalse(np.array_equal(mean, new), name)
            most = 2 * model.count(before) + 2
            self.assertLessEqual(model.count(state["optimizer"]), most, name)
            self.assertEqual(candidates.learned(whole.model, whole.lora), model.count(before))
            if name != "adamw":  # beside its counter
                self.assertEqual(candidates.kept_by(whole.optimizer, whole.model, whole.lora),
                                 4 * model.count(state["optimizer"]))

    def test_the_compiled_step_takes_less_memory_and_fit_knows_it(self):
        def both(settings):
            mistakes = []
            whole = fit.shaped(job.parse_config({
                "model": {"layers": 8, "d": 256, "heads": 4, "ff": 512, "unroll": 1, "remat": "full"},
                "batch": {"rows": 2, "micro": 1}, "lora": settings}, mistakes), 32, 4000)
            self.assertEqual(mistakes, [])
            whole = candidates.unbounded(whole, 1)
            figure = compiled.figure_of(whole, jax.devices()[:1])
            self.assertIsNone(figure.error)
            one = candidates.Candidate(1, "full", 1, 1, 1)
            return figure.peak, candidates.bytes_of(whole, one), candidates.operations(whole)[0], whole
        full, adapted = both({}), both({"rank": 4, "targets": ["wq", "w_up"]})
        weights = 4 * candidates.count(full[3].model)
        # Two moments and a gradient of everything: three times the weights.
        self.assertGreater(full[0] - adapted[0], 2.8 * weights)
        self.assertGreater(full[1] - adapted[1], 2.8 * weights)
        self.assertLess(adapted[0], 1.6 * weights)
        self.assertAlmostEqual(adapted[2] / full[2], 2 / 3, delta=0.02)


    def test_a_merged_copy_needs_room_on_one_device_too(self):
        whole = dataclasses.replace(session.small_job("-").config, model=SHAPE)
        adapted = dataclasses.replace(whole, lora=Lora(rank=2))
        size = 4 * candidates.count(SHAPE)
        for wanted, times, said in ((whole, 1.1, True), (adapted, 1.5, False), (adapted, 2.5, True), (adapted, None, True)):
            setup = SimpleNamespace(config=wanted, mesh=sharding.make_mesh(wanted.mesh, jax.devices()[:1]))
            with mock.patch.object(memory, "of_each", lambda devices, times=times: times and int(times * size)):
                self.assertEqual(candidates.holds_whole(setup), said, (wanted.lora, times))

    def test_adapters_lie_like_their_matrices(self):
        self.assertEqual({name: sharding.axes_of(name) for name in ("wq_a", "wq_b", "wo_a", "wo_b", "w_down_a", "dense_a")},
                         {"wq_a": P(None, "fsdp", None), "wq_b": P(None, None, "tensor", None),
                          "wo_a": P(None, "tensor", None, None), "wo_b": P(None, None, "fsdp"),
                          "w_down_a": P(None, "tensor", None), "dense_a": P()})
        self.assertEqual(sharding.axes_of("wq"), sharding.PARAMETERS["wq"])


class Mistakes(unittest.TestCase):
    def lines(self, sections, init_from="model"):
        try:
            session.small_job("/nowhere", sections, **({"init_from": init_from} if init_from else {}))
        except exits.BadJob as error:
            return error.mistakes
        return []

    def test_adapters_need_a_model(self):
        found = self.lines({"lora": {"rank": 4}}, init_from=None)
        self.assertEqual(len(found), 1)
        self.assertIn("config.lora.rank: 4, and there is no model for the adapters; name it as the input init_from", found[0])
        self.assertEqual(self.lines({"lora": {"rank": 0, "alpha": 8}}, init_from=None), [])

    def test_other_values_are_refused(self):
        for settings, said in (
                ({"rank": -1}, "config.lora.rank: wants at least 0"), ({"rank": 4.0}, "config.lora.rank: wants a whole number"),
                ({"rank": 4, "alpha": 0}, "config.lora.alpha: wants more than 0.0"),
                ({"rank": 4, "targets": "wq"}, "config.lora.targets: wants a list of names, and is \"wq\""),
                ({"rank": 4, "targets": []}, "config.lora.targets: wants a list of names"),
                ({"rank": 4, "targets": ["wq", 3]}, "config.lora.targets: wants a list of names"),
                ({"rank": 4, "target": ["wq"]}, "config.lora.target: there is no such key; did you mean targets?"),
                ({"alpha": 8}, "config.lora.alpha: is read with a rank alone")):
            found = self.lines({"lora": settings})
            self.assertEqual(len(found), 1, (settings, found))
            self.assertIn(said, found[0])

    def test_targets_and_rank_must_be_of_the_model(self):
        def refused(settings, family="llama", **sections):
            whole = dataclasses.replace(session.small_job("-").config, model=FAMILIES[family][0], lora=Lora(**settings),
                                        **sections)
            return list(job.disagreements_of_lora(whole))
        self.assertIn("config.lora.targets: a model of family bert has no matrix \"w_gate\"; there are wq, wk, wv, wo, w_up, "
                      "w_down, dense", refused({"rank": 2, "targets": ["w_gate"]}, "bert")[0].replace("; did you mean wo?", ""))
        self.assertIn("did you mean w_down?", refused({"rank": 2, "targets": ["wdown"]})[0])
        self.assertEqual([line.split(",")[0] for line in refused({"rank": 17})],
                         ["config.lora.rank: 17 is more than wk has", "config.lora.rank: 17 is more than wv has"])
        self.assertIn("which is 32 x 16; take at most 16", refused({"rank": 17})[0])
        self.assertIn("amos", refused({"rank": 4}, optimizer=Optimizer(name="amos"))[0])
        for family, (shape, _) in FAMILIES.items():
            self.assertEqual(refused({"rank": 4}, family), [])

    def test_it_goes_through_json(self):
        whole = dataclasses.replace(config.Config(), lora=Lora(rank=2, targets=("wq",)))
        values = json.loads(json.dumps(dataclasses.asdict(whole)))
        self.assertEqual(hash(config.of_dict(values)), hash(whole))
        del values["lora"]
        self.assertEqual(config.of_dict(values), config.Config())


class Runs(continued.Runs):
    """In this process, from a model that the test wrote."""

    LORA = {"rank": 4, "alpha": 8.0}

    def setUp(self):
        super().setUp()
        self.rows = session.random_rows(vocab=tiny_tokenizer.VOCAB)
        self.rows.model_path = tiny_tokenizer.path()
        self.begin = self.write("begin", 3)

    def write(self, name, seed):
        write_export(self.place / name, SHAPE, seed)
        return self.place / name

    def train(self, name="run", settings=None, stop_at=None, **members):
        sections = {"lora": self.LORA if settings is None else settings, **members.pop("sections", {})}
        return super().train(name, stop_at=stop_at, **{"init_from": str(self.begin), "config": sections, **members})

    def test_a_stopped_run_goes_on_bit_for_bit_and_its_checkpoints_have_adapters_alone(self):
        sections = {"regularizers": {"dropout": 0.1, "ema": 0.9}, "optimizer": {"name": "muon"}}
        whole = self.train("whole", sections=sections)
        self.stopped(5, sections=sections)
        again = self.train(sections=sections)
        self.assertEqual(self.restored(again), [5])
        for one, other in zip(jax.tree.leaves(whole.state), jax.tree.leaves(again.state)):
            np.testing.assert_array_equal(one, other)
        # The size of the files depends on the moments of their writers: the names of the tensors do not.
        kept = json.loads((self.place / "run/checkpoints/10/state/_METADATA").read_text())["tree_metadata"]
        names = [ast.literal_eval(name) for name in kept]
        weights = [name[-1] for name in names if "blocks" in name or name[0] in ("params", "average")]
        self.assertGreater(len(weights), 20)
        self.assertEqual([name for name in weights if not name.endswith(("_a", "_b"))], [])

    def test_the_base_stays_as_it_is_and_the_export_is_the_merged_model(self):
        file = self.begin / "model.safetensors"
        before, digest = safetensors.read(file), hashlib.sha256(file.read_bytes()).hexdigest()
        loop = self.train(settings={**self.LORA, "targets": ["wq", "w_down"]})
        (base,) = loop.programs.base()
        start = loop.setup.start.parameters(loop.config.model)
        jax.tree.map(np.testing.assert_array_equal, jax.device_get(base), start)
        place = self.place / "merged"
        export.write(loop.whole_parameters(), loop.config.model, {**tiny_tokenizer.INFO, "path": tiny_tokenizer.path()}, {},
                     place)
        self.assertEqual(hashlib.sha256(file.read_bytes()).hexdigest(), digest)
        after = safetensors.read(place / "model.safetensors")
        changed = {name for name, values in after.items() if not np.array_equal(values, before[name])}
        self.assertEqual(changed, {f"model.layers.{layer}.{name}.weight" for layer in (0, 1)
                                   for name in ("self_attn.q_proj", "mlp.down_proj")})
        params, shape, _ = export.read(place)
        applied = lora.attached(loop.config.lora, base, loop.state["params"])
        found = [logits(tree, dataclasses.replace(shape, seq_len=32)) for tree in (applied, params)]
        np.testing.assert_allclose(*found, rtol=0, atol=1e-5)

    def test_the_first_loss_is_that_of_the_model(self):
        adapted, whole = self.train("adapted", steps=2), self.train("full", settings={}, steps=2)
        self.assertEqual(adapted.events.losses()[1], whole.events.losses()[1])
        self.assertNotEqual(adapted.events.losses()[2], whole.events.losses()[2])

    def test_what_a_loop_tells_is_of_the_whole_model(self):
        adapted, whole = self.train("adapted", steps=2), self.train("full", settings={}, steps=2)
        self.assertEqual(adapted.plan()["params"], whole.plan()["params"])
        self.assertLess(adapted.plan()["flops_per_token"], 0.75 * whole.plan()["flops_per_token"])
        self.assertLess(adapted.programs.learned, 0.1 * whole.programs.learned)

    def test_checkpoints_of_other_adapters_or_of_none_are_refused(self):
        self.train(steps=4)
        for settings, words in (({"rank": 2, "alpha": 8.0}, "made with lora.rank 4, and the job says 2"),
                                ({"rank": 4, "alpha": 4.0}, "made with lora.alpha 8.0, and the job says 4.0"),
                                ({**self.LORA, "targets": ["wq"]}, "made with lora.targets wk, wo, wq, wv, and the job says wq"),
                                ({}, "made with lora.rank 4, and the job says 0")):
            self.refused(words, settings=settings)
        self.train("full", settings={}, steps=4)
        self.refused("made with lora.rank 0, and the job says 4", name="full")
        again = self.train(settings={**self.LORA, "targets": ["wv", "wq", "wo", "wk"]}, steps=6)
        self.assertEqual(self.restored(again), [4])

    def test_what_the_model_does_not_have_is_refused_before_a_step(self):
        self.refused("config.lora.rank: 17 is more than wk has, which is 32 x 16; take at most 16", settings={
            "rank": 17, "targets": ["wk"]})
        self.refused("a model of family llama has no matrix \"dense\"", settings={"rank": 2, "targets": ["dense"]})
        self.refused("amos", sections={"optimizer": {"name": "amos"}})

    def test_a_head_over_labels_is_learned_as_a_whole(self):
        write_export(self.place / "encoder", FAMILIES["bert"][0], 5)
        self.rows = test_labels.corpus(64, 0)
        self.rows.model_path = tiny_tokenizer.path()
        members = {"init_from": str(self.place / "encoder"), "settings": {"rank": 2}, "steps": 40}
        sections = {"model": {"family": "bert", "kv_heads": None}, "objective": {"name": "classes"}}
        loop = self.train(sections=sections, **members)
        losses = loop.events.losses()
        self.assertLess(losses[40], 0.6 * losses[1])
        (base,), whole = loop.programs.base(), loop.whole_parameters()
        for name, leaf in whole["readout"].items():
            self.assertFalse(np.array_equal(leaf, base["readout"][name]), name)
        np.testing.assert_array_equal(whole["blocks"]["w_up"], base["blocks"]["w_up"])
        self.assertEqual(candidates.learned(loop.config.model, loop.config.lora), loop.programs.learned)
        sections["data"] = {"allow_change": True}
        with self.assertRaisesRegex(exits.Ended, "with a fresh head of seed 0, and that of .* with a fresh head of seed 1"):
            self.train(sections=sections, seed=1, **members)

    def test_a_checkpoint_goes_on_with_its_own_model_alone(self):
        self.train(steps=4)
        self.begin = self.write("other", 4)
        with self.assertRaises(exits.Ended) as ended:
            self.train()
        self.assertEqual(ended.exception.code, exits.BAD_DATA)
        self.assertRegex(str(ended.exception), r"checkpoints/4: has adapters for a model of digest [0-9a-f]{32}, and that "
                                               r"of init_from \(.*other\) has [0-9a-f]{32}; bring the first one back")


if __name__ == "__main__":
    unittest.main()
