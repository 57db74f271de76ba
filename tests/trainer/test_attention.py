"""The kernels compared with the reference, as far as a CPU can, and the check at the start of every run."""

import dataclasses
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import runs
import session

import jax
import jax.numpy as jnp

from pipe_trainer import exits, processes
from pipe_trainer.model import attention, kernels, selfcheck
from pipe_trainer.run import job, memory, run, search, signals
from pipe_trainer.run.setup import prepare

REFERENCE = attention.reference


def setup_of(**model):
    rows = session.random_rows(8, model.pop("seq_len", 32))
    return prepare(session.small_job("-", {"model": model}), rows, rows)


def blind(q, k, v, segments):
    """Wrong in the way of a faulty kernel: documents see each other."""
    return REFERENCE(q, k, v, jnp.zeros_like(segments))


def nothing(q, k, v, segments):
    return jnp.nan * REFERENCE(q, k, v, segments)


def not_compiled(q, k, v, segments):
    raise jax.errors.JaxRuntimeError("INTERNAL: Mosaic failed to compile TPU kernel: E2001: matmul RHS bf16")


def too_large(q, k, v, segments):
    raise jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Ran out of memory in memory space hbm.")


def choice_that_fails(config, *others, choose=attention.choose):
    """With `auto`, chooses a kernel that does not compile."""
    return ("splash", not_compiled, None) if config.attention == "auto" else choose(config, *others)


def inputs_of(setup):
    model = setup.config.model
    q, k, v = (jnp.ones((1, model.seq_len, heads, model.head_dim), setup.compute)
               for heads in (model.heads, model.kv_heads, model.kv_heads))
    return q, k, v, jnp.zeros((1, model.seq_len), jnp.int32)


def kernel_types(form, setup):
    """The types of q, k and v in the call of the kernel."""
    found = set()

    def walk(jaxpr):
        for equation in jaxpr.eqns:
            if equation.primitive.name == "pallas_call":
                found.update(var.aval.dtype.type for var in equation.invars if jnp.issubdtype(var.aval.dtype, jnp.floating))
            for part in jax.tree.leaves(tuple(equation.params.values()), is_leaf=lambda leaf: hasattr(leaf, "eqns") or hasattr(leaf, "jaxpr")):
                inner = getattr(part, "jaxpr", part)
                if hasattr(inner, "eqns") and equation.primitive.name != "pallas_call":
                    walk(inner)

    with jax.set_mesh(setup.mesh):
        walk(jax.make_jaxpr(form)(*inputs_of(setup)).jaxpr)
    return {jnp.dtype(kind) for kind in found}


def cosines(setup):
    """How alike the form of a setup and its reference are."""
    return selfcheck.cosines_of(selfcheck.computed(setup, setup.attend), selfcheck.computed(setup, selfcheck.plain_form(setup)))


class Told(session.Recorder):
    def listen(self, listener):
        pass


class Attention(unittest.TestCase):
    def test_splash_does_what_the_reference_does(self):
        setup = setup_of(seq_len=128, layers=1, heads=2, kv_heads=1, d=32)
        form = kernels.splash(setup.config.model, setup.mesh, interpret=True)
        for name, value in cosines(dataclasses.replace(setup, attend=form)).items():
            self.assertGreater(value, 0.99999, name)

    def test_splash_computes_in_float32_where_a_chip_multiplies_nothing_else(self):
        setup = setup_of(seq_len=128, layers=1, heads=2, kv_heads=1, d=32, compute="bfloat16")
        for kind, inside in (("TPU v2", jnp.float32), ("TPU v3", jnp.float32), ("TPU v4", jnp.bfloat16),
                             ("TPU v5 lite", jnp.bfloat16)):
            form = kernels.splash(setup.config.model, setup.mesh, interpret=True, kind=kind)
            self.assertEqual(kernel_types(form, setup), {jnp.dtype(inside)}, kind)
        form = kernels.splash(setup.config.model, setup.mesh, interpret=True, kind="TPU v3")
        for name, value in cosines(dataclasses.replace(setup, attend=form)).items():
            self.assertGreater(value, 0.9999, name)

    def test_splash_keeps_no_float32_copy_of_its_input(self):
        setup = setup_of(seq_len=128, layers=1, heads=2, kv_heads=1, d=32, compute="bfloat16")
        q, k, v, segments = inputs_of(setup)
        form = kernels.splash(setup.config.model, setup.mesh, interpret=True, kind="TPU v3")
        with jax.set_mesh(setup.mesh):
            kept = jax.eval_shape(lambda *qkv: jax.vjp(lambda *qkv: form(*qkv, segments), *qkv)[1], q, k, v)
        wide = [leaf.shape for leaf in jax.tree.leaves(kept) if leaf.dtype == jnp.float32 and len(leaf.shape) == 4]
        self.assertLessEqual(len(wide), 1, wide)  # the output

    def test_a_check_that_fails_falls_back_to_the_reference_and_says_why(self):
        setup = setup_of()
        self.assertIs(selfcheck.check_attention(setup), setup)
        for form, why in ((blind, "blind on cpu disagrees with its reference: cosines output 0."),
                          (nothing, "disagrees with its reference: cosines output nan"),
                          (not_compiled, "fails: INTERNAL: Mosaic failed to compile TPU kernel"),
                          (too_large, "fails: RESOURCE_EXHAUSTED")):
            found = selfcheck.check_attention(dataclasses.replace(setup, attend=form, attention=form.__name__))
            self.assertEqual((found.attention, found.attend), ("reference", attention.reference), form)
            self.assertIn(why, found.lack)

    def test_a_form_whose_reference_does_not_fit_is_kept_and_said_to_be_unchecked(self):
        setup = setup_of()
        with mock.patch.object(attention, "reference", too_large):
            found = selfcheck.check_attention(setup)
        self.assertEqual((found.attention, found.attend), ("dense", attention.dense))
        self.assertIn("is not checked: its reference fails: RESOURCE_EXHAUSTED", found.lack)

    def test_what_fails_for_one_process_fails_for_all(self):
        with mock.patch.object(jax, "process_count", lambda: 2), \
                mock.patch.object(processes.multihost_utils, "process_allgather",
                                  lambda mine: [mine, processes.written(True)]):
            self.assertEqual(selfcheck.together(lambda: "mine"), (None, "fails for worker 1"))
        with mock.patch.object(jax, "process_count", lambda: 2), \
                mock.patch.object(processes.multihost_utils, "process_allgather",
                                  lambda mine: [mine, processes.written(False)]):
            self.assertEqual(selfcheck.together(lambda: "mine"), ("mine", None))

    def test_a_run_whose_kernel_fails_says_what_it_uses_and_ends_well(self):
        chosen = mock.patch.object(attention, "choose", choice_that_fails)
        with tempfile.TemporaryDirectory() as place, chosen:
            data = runs.make_rows(Path(place) / "rows")
            events = Told()
            run.run(job.parse({"pipe_job": 1, "run_dir": f"{place}/run", "steps": 2, "export": False, "config": runs.TINY,
                               "data": {"dir": str(data), "train": "train", "validation": "validation"}}),
                    events, signals.Stop())
        self.assertEqual([event["attention"] for event in events.of("hello")], ["reference"])
        self.assertIn("splash on cpu fails: INTERNAL: Mosaic", events.of("warn")[0]["text"])
        self.assertEqual(events.of("bye")[0]["summary"]["steps"], 2)

    def test_auto_chooses_by_the_memory_of_the_form_that_is_left(self):
        rows, searched = session.random_rows(8), []

        def measured(config, devices):
            searched.append(config.model.attention)
            return memory.Figure(peak=5)
        with tempfile.TemporaryDirectory() as place, mock.patch.object(attention, "choose", choice_that_fails), \
                mock.patch.object(memory, "of_device", lambda device: memory.GIB), \
                mock.patch.object(search, "measured", measured):
            setup = prepare(session.small_job(place), rows, rows, check=selfcheck.check_attention)
            again = prepare(session.small_job(place), rows, rows, check=selfcheck.check_attention)
        self.assertEqual(searched, ["reference"])
        self.assertEqual((setup.attention, setup.attend, again.fit["kept"]), ("reference", attention.reference, True))
        self.assertIn("splash on cpu fails: INTERNAL: Mosaic", setup.lack)

    def test_a_kernel_that_is_not_here_is_refused_by_name_and_replaced_otherwise(self):
        for name in ("splash", "cudnn"):
            with self.assertRaisesRegex(exits.BadJob, f"config.model.attention: {name}: "):
                setup_of(attention=name, compute="bfloat16")
        model = setup_of().config.model
        for platform in ("tpu", "gpu"):
            name, form, lack = attention.choose(model, platform, setup_of().mesh, jnp.bfloat16)
            self.assertEqual((name, form), ("reference", attention.reference))
            self.assertIn("slower", lack)

    def test_a_cpu_takes_the_dense_form(self):
        with mock.patch.object(jax, "default_backend", lambda: "cpu"):
            setup = setup_of()
        self.assertEqual((setup.attention, setup.lack), ("dense", None))


if __name__ == "__main__":
    unittest.main()
