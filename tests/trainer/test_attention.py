"""The kernels against the reference, as far as a CPU goes, and the check that every run begins with."""

import dataclasses
import unittest
from unittest import mock

import session

import jax
import jax.numpy as jnp

from pipe_trainer import attention, exits, kernels, selfcheck
from pipe_trainer.setup import prepare


def setup_of(**model):
    rows = session.random_rows(8, model.pop("seq_len", 32))
    return prepare(session.small_job("-", {"model": model}), rows, rows)


def blind(q, k, v, segments):
    """Wrong as kernels are wrong: documents see each other."""
    return attention.reference(q, k, v, jnp.zeros_like(segments))


class Attention(unittest.TestCase):
    def test_splash_does_what_the_reference_does(self):
        setup = setup_of(seq_len=128, layers=1, heads=2, kv_heads=1, d=32)
        form = kernels.splash(setup.config.model, setup.mesh, interpret=True)
        for name, value in selfcheck.cosines(dataclasses.replace(setup, attend=form)).items():
            self.assertGreater(value, 0.99999, name)

    def test_the_check_finds_a_kernel_that_mixes_documents(self):
        setup = setup_of()
        selfcheck.check_attention(setup)
        with self.assertRaises(exits.Ended) as ended:
            selfcheck.check_attention(dataclasses.replace(setup, attend=blind, attention="blind"))
        self.assertEqual(ended.exception.code, exits.BUG)
        self.assertIn("attention blind disagrees", str(ended.exception))

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
