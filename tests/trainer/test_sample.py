"""Samples: the cache changes nothing, a seed decides, documents end; also prompts, texts and the tokenizer."""

import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import jax
import numpy as np

import places  # noqa: F401
import tiny_tokenizer
from pipe_trainer import config as configs
from pipe_trainer import sample
from pipe_trainer.data.text import Rule, Text, rules_of, rules_of_export
from pipe_trainer.eval import generation
from pipe_trainer.eval.decoding import pick
from pipe_trainer.export import export
from pipe_trainer.model import model


def model_of(family="llama", **fields):
    """Weights large enough that earlier ids have a visible effect on later ones."""
    defaults = {"layers": 2, "d": 32, "heads": 4, "kv_heads": 2, "ff": 48, "vocab": tiny_tokenizer.VOCAB,
                "seq_len": 24}
    if family == "lm1b":
        defaults.update(family=family, kv_heads=4, tied=False)
    config = configs.Model(**{**defaults, **fields}).complete()
    params = model.init(config, jax.random.key(3))
    return jax.tree.map(lambda leaf: leaf * (8 if leaf.ndim > 1 else 1), params), config


class GenerateTest(unittest.TestCase):
    def test_cached_decoding_equals_decoding_without_a_cache(self):
        params, config = model_of()
        for ids in ([2], [2, 9, 40, 7], [5, 9, 2, 40, 7], list(range(5, 28)), list(range(5, 60))):
            plain = generation.generate(params, config, ids, 40, temperature=0, cached=False)
            self.assertEqual(generation.generate(params, config, ids, 40, temperature=0, cached=True), plain)
            self.assertGreater(len(set(plain)), 5)  # not the same id again and again
            plain = generation.generate(params, config, ids, 30, temperature=1.0, seed=4, cached=False)
            self.assertEqual(generation.generate(params, config, ids, 30, temperature=1.0, seed=4), plain)

    def test_ids_without_a_piece_are_never_drawn(self):
        params, config = model_of()
        for choices in ({"temperature": 0.0}, {"temperature": 3.0, "seed": 5}):
            for cached in (True, False):
                free, made = (generation.generate(params, config, [2, 9], 60, top_p=1.0, cached=cached, pieces=pieces,
                                                  **choices) for pieces in (None, 30))
                self.assertGreaterEqual(max(free), 30)
                self.assertLess(max(made), 30)

    def test_greedy_takes_the_likeliest_id(self):
        params, config = model_of()
        ids = [2, 9, 40, 7]
        made = generation.generate(params, config, ids, 16, temperature=0)

        @jax.jit
        def likeliest(x):
            return model.logits(params, config, model.forward(params, config, x)).argmax(-1)[0]

        self.assertEqual(made, likeliest(np.array([ids + made]))[len(ids) - 1:-1].tolist())

    def test_a_document_that_ended_is_forgotten(self):
        params, config = model_of()
        ids = [2, 9, 40, 7]
        for cached in (True, False):
            after = generation.generate(params, config, [2, 50, 60, 70, *ids], 8, temperature=0, cached=cached)
            self.assertEqual(after, generation.generate(params, config, ids, 8, temperature=0, cached=cached))

    def test_eos_inside_begins_a_document_anew(self):
        """Without a stop id, a generated eos hides the text before it, with the cache or without."""
        params, config = model_of()
        params["embed"] = params["embed"].at[2].multiply(4)  # makes eos frequent
        made, plain = (generation.generate(params, config, [2, 9], 22, temperature=1.5, seed=1, cached=cached)
                       for cached in (True, False))
        self.assertIn(2, made)
        self.assertEqual(made, plain)

    def test_a_seed_decides(self):
        params, config = model_of()
        made = [tuple(generation.generate(params, config, [2, 9], 20, seed=seed)) for seed in (1, 1, 2)]
        self.assertEqual(made[0], made[1])
        self.assertNotEqual(made[0], made[2])

    def test_ids_that_fill_the_vocabulary_never_come(self):
        params, config = model_of(vocab=290)
        made = generation.generate(params, config, [2], 300, temperature=100.0, top_p=1.0)
        self.assertLess(max(made), 290)
        self.assertGreater(len(set(made)), 100)

    def test_stops_behind_the_end_of_the_document(self):
        params, config = model_of()
        free = generation.generate(params, config, [2, 9], 20, temperature=0)
        stopped = generation.generate(params, config, [2, 9], 20, temperature=0, stop=free[3])
        self.assertEqual(stopped, free[:free.index(free[3]) + 1])

    def test_the_model_without_a_cache_can_be_sampled(self):
        params, config = model_of("lm1b")
        self.assertEqual(len(generation.generate(params, config, [2, 9], 30)), 30)

    def test_top_p_keeps_the_likeliest_that_reach_it(self):
        picks = jax.jit(jax.vmap(pick, (None, None, None, 0)))
        scores = np.log(np.array([0.05, 0.5, 0.15, 0.3], np.float32))
        for top_p, kept in ((0.0, {1}), (0.4, {1}), (0.6, {1, 3}), (0.9, {1, 2, 3}), (1.0, {0, 1, 2, 3})):
            found = picks(scores, 1.0, top_p, jax.random.split(jax.random.key(0), 120))
            self.assertEqual(set(found.tolist()), kept, top_p)


class TextTest(unittest.TestCase):
    def setUp(self):
        self.text = Text(tiny_tokenizer.path(), tiny_tokenizer.INFO)

    def test_a_prompt_is_the_beginning_of_a_document(self):
        ids = self.text.prompt_ids("猫が鳴く。\n犬")
        self.assertEqual(ids[0], 2)
        self.assertEqual(ids.count(4), 1)
        self.assertEqual(self.text.prompt_ids(""), [2])

    def test_lines_come_back_as_they_were(self):
        for line in ("猫が鳴く。\n犬", " two  spaces \n\n", "未知の字 Ω", ""):
            self.assertEqual(self.text.text_of(self.text.prompt_ids(line)[1:]), line)

    def test_half_a_character_is_replaced(self):
        half = [token for token in self.text.prompt_ids("Ω")[1:]][:1]
        self.assertEqual(self.text.text_of(half), "\ufffd")

    def test_layouts_without_a_newline_end_lines_with_eos(self):
        text = Text(tiny_tokenizer.path(), {**tiny_tokenizer.INFO, "newline_id": -1})
        ids = text.prompt_ids("猫\n犬")
        self.assertEqual(ids.count(2), 2)
        self.assertEqual(text.text_of(ids[1:]), "猫\n犬")

    def test_prompts_take_the_form_of_the_corpus(self):
        text = Text(tiny_tokenizer.path(), tiny_tokenizer.INFO, [Rule("nfkc", "lower_ascii"), Rule("nfc")])
        self.assertEqual(text.prompt_ids("ｆＩle　 x"), text.prompt_ids("file x"))

    def test_rules_are_those_of_the_stages_before_the_rows(self):
        def of(*stages):
            return rules_of({"data": {"lineage": list(stages)}})

        def stage(**config):
            return {"type": "normalize", "config": config}

        def mix(*corpora):
            return {"type": "mix", "ports": [{"name": str(at), "lineage": list(part)} for at, part in enumerate(corpora)]}
        lower = stage(form="nmt_nfkc", case="lower_ascii", keep_jamo=True, whitespace="keep")
        told = Rule("nmt_nfkc", "lower_ascii", True, "keep")
        self.assertEqual((rules_of(None), rules_of({}), of({"type": "filter"})), ((), (), ()))
        self.assertEqual(of(stage(), {"type": "filter", "config": {"form": "nfc"}}, lower), (Rule(), told))
        self.assertEqual(of(mix([lower, {"type": "split"}], [lower]), stage(form="nfc")), (told, Rule("nfc")))
        self.assertIsNone(of(mix([lower], [stage()]), stage(form="nfc")))
        self.assertEqual(of({"type": "encode", "ports": [{"name": "tokenizer", "lineage": [lower]}]}), ())

    def test_exports_of_earlier_versions_name_the_form_alone(self):
        self.assertEqual(rules_of_export({"form": "NFKC"}), (Rule("nfkc", whitespace="keep"),))
        self.assertEqual((rules_of_export({"form": None}), rules_of_export({})), ((), ()))
        told = (Rule("nfc"), Rule("none", "lower"))
        self.assertEqual(rules_of_export({"normalize": [rule._asdict() for rule in told]}), told)


class CommandTest(unittest.TestCase):
    def run_main(self, *argv):
        out, errors = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
            code = sample.main(list(argv))
        out.seek(0)
        return code, out.read(), errors.getvalue()

    def test_a_run_that_has_ended_is_sampled(self):
        params, config = model_of()
        with tempfile.TemporaryDirectory() as run:
            tokenizer = {**tiny_tokenizer.INFO, "path": tiny_tokenizer.path()}
            export.write(params, config, tokenizer, {}, Path(run, "export"))
            arguments = ("--run", run, "--prompt", "猫が", "--length", "12", "--seed", "3")
            code, out, _ = self.run_main(*arguments)
            self.assertEqual(code, 0)
            self.assertTrue(out.startswith("猫が") and len(out) > 4, out)
            self.assertEqual(self.run_main(*arguments)[1], out)
            text = Text(tiny_tokenizer.path(), tiny_tokenizer.INFO)
            self.assertEqual(generation.continuation(params, config, text, "猫が", 12, seed=3), out[2:-1])
            (Path(run, "export/model.safetensors")).write_bytes(b"\1" * 30)
            code, out, errors = self.run_main(*arguments)
            self.assertEqual((code, out), (65, ""))
            self.assertIn("model.safetensors: damaged at byte 0", errors)

    def test_a_directory_without_an_export_is_named(self):
        with tempfile.TemporaryDirectory() as run:
            code, _, errors = self.run_main("--run", run)
            self.assertEqual(code, 65)
            self.assertIn(run, errors)
            self.assertEqual(errors.count("\n"), 1)


if __name__ == "__main__":
    unittest.main()
