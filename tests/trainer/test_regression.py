"""Labels that are numbers: which document has which, their scores, the head that gives them, finished models."""

import dataclasses
import json
import tempfile
import unittest
from pathlib import Path

import runs
import session
import test_labels
import tiny_tokenizer

import jax
import numpy as np
from packed_rows import write_packed

from pipe_trainer import exits
from pipe_trainer.checkpoints import resume, selection
from pipe_trainer.data import labels, number_labels, sentencepiece_model
from pipe_trainer.data.packed_info import read_packed_info
from pipe_trainer.eval.held_out import HeldOut
from pipe_trainer.export import export, initial
from pipe_trainer.model import model
from pipe_trainer.objectives import number_scores, registry

EOS, NEWLINE, VOCAB, LENGTH = session.EOS, 4, 61, 32
FIRST = 40  # the ids from here on are the characters of numbers
CHARACTERS = "-.0123456789e"
NUMBERS = number_labels.Numbers(texts=("?",) * FIRST + tuple(CHARACTERS) + ("?",) * (VOCAB - FIRST - len(CHARACTERS)))
COUNTED = 15
HEAD = {"model": {"family": "bert", "layers": 1, "d": 32, "heads": 2, "kv_heads": None, "ff": 64},
        "objective": {"name": "regression"}}


def row_of(documents, length=LENGTH):
    """(ids [T + 1], its length, weights [T + 1]) of documents, each (ids of text, ids of its number)."""
    ids, weights = [EOS], [0]
    for text, number in documents:
        ids += [*text, NEWLINE, *number, EOS]
        weights += [0] * (len(text) + 1) + [1] * (len(number) + 1)
    fill = length + 1 - len(ids)
    assert fill >= 0
    return ids + [0] * fill, len(ids), weights + [0] * fill


def ids_of(number):
    return [FIRST + CHARACTERS.index(one) for one in str(number)]


def rows_of(rows, named=NUMBERS):
    parts = [row_of([(text, ids_of(number)) for text, number in documents]) for documents in rows]
    return session.MemoryRows(*([part[at] for part in parts] for at in (0, 1)), vocab=VOCAB,
                              weights=[part[2] for part in parts], labels=named)


def corpus(count, seed, number_of=lambda occurrences: 400 - 25 * occurrences):
    """Rows of two documents of six ids. A number tells how often COUNTED occurs."""
    make = np.random.default_rng(seed)
    texts = np.where(make.random((count, 2, 6)) < make.random((count, 2, 1)), COUNTED, make.integers(16, 27, (count, 2, 6)))
    return rows_of([[(text.tolist(), number_of(int((text == COUNTED).sum()))) for text in row] for row in texts])


class Facts(unittest.TestCase):
    def test_each_document_has_its_number(self):
        rows = rows_of([[([20, 21], "4.5"), ([], "-3")], [([22] * 20, "1e-05")]])
        batch = rows.in_order(0, 2)
        self.assertEqual(list(NUMBERS.of_documents(batch, EOS)), [(0, 0, "4.5"), (0, 1, "-3"), (1, 0, "1e-05")])
        known = number_labels.measured(NUMBERS, rows)
        given = np.array([4.5, -3, 1e-5])
        self.assertEqual((known.documents, known.least, known.largest), (3, -3, 4.5))
        self.assertAlmostEqual(known.mean, given.mean(), places=12)
        self.assertAlmostEqual(known.deviation, given.std(), places=12)
        found = known.standard(rows, batch)
        self.assertEqual(found.shape, (2, LENGTH // 2))
        np.testing.assert_allclose(found[[0, 0, 1], [0, 1, 0]], (given - given.mean()) / given.std(), rtol=1e-6)
        self.assertFalse(found[0, 2:].any() or found[1, 1:].any())

    def test_numbers_that_nothing_can_be_learned_from_are_refused(self):
        for said, words in ((["4", "4.0"], "its labels are all 4, so that there is nothing to learn"),
                            (["1e40", "1"], "its labels go from 1 to 1e+40, and a model has room for"),
                            (["1", "4-5"], "a label is '4-5', and no finite number"),
                            (["1", "e"], "a label is 'e'"), (["1", "1e999"], "a label is '1e999'")):
            with self.assertRaises(exits.Ended) as caught:
                number_labels.measured(NUMBERS, rows_of([[([20], one)] for one in said]))
            self.assertIn(words, str(caught.exception))
            self.assertEqual(caught.exception.code, exits.BAD_DATA)

    def test_a_description_of_rows_has_them(self):
        ids, length, weights = row_of([([20, 21], [7])])
        with tempfile.TemporaryDirectory() as place:
            made = write_packed(place, {"train": [[(ids, length, 3, 1, weights)]]}, LENGTH, VOCAB, weights=True,
                                labels="numbers")
            self.assertEqual(read_packed_info(made).labels, number_labels.Numbers())

    def test_pieces_have_the_text_of_digits(self):
        pieces = sentencepiece_model.read(tiny_tokenizer.path().read_bytes()).pieces
        texts = number_labels.texts_of(pieces)
        ids = test_labels.Text(tiny_tokenizer.path(), tiny_tokenizer.INFO).prompt_ids("-12.5e-07")[1:]
        self.assertEqual("".join(texts[one] for one in ids).strip(), "-12.5e-07")


class Scores(unittest.TestCase):
    def test_they_follow_from_the_documents(self):
        given, answered = np.array([1.0, 2.0, 2.0, 5.0, 9.0]), np.array([1.5, 1.0, 3.0, 3.0, 7.0])
        found = number_scores.score(given, answered)
        self.assertEqual(found["documents"], 5)
        self.assertAlmostEqual(found["rmse"], np.sqrt((0.25 + 1 + 1 + 4 + 4) / 5), places=12)
        self.assertAlmostEqual(found["mae"], 6.5 / 5, places=12)
        self.assertAlmostEqual(found["pearson"], np.corrcoef(given, answered)[0, 1], places=12)
        ranked = np.corrcoef([1, 2.5, 2.5, 4, 5], [2, 1, 3.5, 3.5, 5])[0, 1]
        self.assertAlmostEqual(found["spearman"], ranked, places=12)
        self.assertEqual(number_scores.score(given, np.full(5, 3.0))["pearson"], 0.0)

    def test_errors_fall_and_correlations_rise(self):
        for metric, better, worse in (("rmse", 1.0, 2.0), ("mae", 1.0, 2.0), ("pearson", 0.9, 0.1),
                                      ("spearman", 0.9, 0.1)):
            self.assertLess(selection.judged({metric: better}, metric), selection.judged({metric: worse}, metric))
            early = selection.EarlyStop({"patience": 1}, 10, metric)
            for value in (better, worse):
                early.note(1, selection.judged({metric: value}, metric))
            self.assertIn("fall" if metric in registry.FALLING else "rise", early.reason)
            self.assertIn(f"{better:.4f}", early.reason)


class Learning(unittest.TestCase):
    def test_a_head_learns_how_often_an_id_occurs(self):
        train, held = corpus(512, 0), corpus(48, 1)
        with tempfile.TemporaryDirectory() as place:
            sections = {**HEAD, "batch": {"rows": 32}, "optimizer": {"lr": 5e-3, "b2": 0.99}}
            loop = session.trained(session.small_job(place, sections, steps=200, log_every=50), train)
            held.labels = loop.setup.rows.labels
            scorer = HeldOut(dataclasses.replace(loop.setup, eval_rows=held), loop.events)
            found = scorer.score(loop.state["params"], lambda: False)
            (baseline,) = scorer.baselines(Path(place) / "baselines.json")
        self.assertEqual((found["documents"], baseline["name"], baseline["documents"]), (96, "mean", 96))
        self.assertLess(found["rmse"], 0.2 * baseline["rmse"], (found, baseline))
        self.assertLess(found["mae"], found["rmse"])
        self.assertGreater(min(found["pearson"], found["spearman"]), 0.97, found)
        self.assertAlmostEqual(found["loss"], (found["rmse"] / train.labels.deviation) ** 2, places=5)
        self.assertIsNone(found["ppl"])


class Mistakes(unittest.TestCase):
    def refused(self, base, rows, *words, **sections):
        with tempfile.TemporaryDirectory() as place, self.assertRaises(exits.BadJob) as caught:
            session.setup_of(base, place, rows, **sections)
        for word in words:
            self.assertIn(word, str(caught.exception))

    def test_numbers_and_classes_are_not_mixed(self):
        classes = test_labels.corpus(8, 0)
        self.refused(HEAD, session.random_rows(), "config.objective.name: regression", "write_packed the key `labels`")
        self.refused(HEAD, classes, "regression learns numbers, and the labels of the rows are the classes bad, good, so")
        for base in (test_labels.HEAD, {}):
            self.refused(base, corpus(8, 0), "learns labels that are classes, and those of the rows are numbers")

    def test_a_job_that_asks_for_other_scores_or_penalties_is_refused(self):
        session.refused(self, {**HEAD, "eval": {"metric": "macro_f1"}}, "config.eval.metric: macro_f1", "regression")
        session.refused(self, {**test_labels.HEAD, "eval": {"metric": "rmse"}}, "config.eval.metric: rmse",
                        "it is for regression")
        session.refused(self, {**HEAD, "regularizers": {"label_smoothing": 0.1}}, "config.regularizers.label_smoothing")
        session.refused(self, {"objective": {"name": "regression"}}, "regression is for bert")


class Units(unittest.TestCase):
    def test_a_training_does_not_go_on_in_other_units(self):
        with tempfile.TemporaryDirectory() as place:
            first, other = (session.setup_of(HEAD, place, corpus(8, seed), data={"allow_change": True}) for seed in (0, 1))
        facts = json.loads(json.dumps(resume.facts_of(first)))
        resume.check(first, "step 4", facts)
        with self.assertRaises(exits.Ended) as caught:
            resume.check(other, "step 4", facts)
        self.assertIn(f"step 4: its head learned labels of mean {first.rows.labels.mean:g}", str(caught.exception))

    def test_a_program_is_compiled_without_rows(self):
        with tempfile.TemporaryDirectory() as place:
            setup = session.setup_of(HEAD, place, corpus(8, 0))
        without = registry.of(setup.config)
        shape, tokens = setup.config.model, np.full((2, LENGTH + 1), 20, np.int32)
        loss = jax.eval_shape(lambda params: session.summed_loss(
            params, shape, setup.attend, np.float32, setup.positions, tokens, np.full(2, LENGTH + 1), objective=without),
            model.shapes(shape))
        self.assertEqual((loss.shape, loss.dtype), ((), np.float32))


class BeginsWithAModel(unittest.TestCase):
    SHAPE = dataclasses.replace(test_labels.BeginsWithAModel.SHAPE, classes=1)

    def test_the_head_goes_on_in_the_units_of_other_numbers(self):
        params = jax.device_get(model.init(self.SHAPE, jax.random.key(0)))
        mine = NUMBERS._replace(mean=400.0, deviation=25.0)
        with tempfile.TemporaryDirectory() as place:
            export.write(params, self.SHAPE, {**tiny_tokenizer.INFO, "path": tiny_tokenizer.path()}, {},
                         Path(place) / "export", named=mine)
            start = initial.Initial(place)
            self.assertEqual(start.shape.classes, 1)
            same, other = (start.parameters(self.SHAPE, 1, named)["readout"] for named in
                           (mine, NUMBERS._replace(mean=-1.0, deviation=2.0)))
            fresh = start.parameters(dataclasses.replace(self.SHAPE, classes=3), 1, test_labels.NAMED)["readout"]
        wanted = params["readout"]["labels"][:, 0]
        np.testing.assert_allclose(same["labels"][:, 0], wanted, rtol=1e-6)
        np.testing.assert_allclose(same["labels_bias"][0], 0.0, atol=1e-6)
        np.testing.assert_allclose(other["labels"][:, 0], wanted * 12.5, rtol=1e-6)
        np.testing.assert_allclose(other["labels_bias"][0], 200.5, rtol=1e-6)
        self.assertGreater(np.abs(fresh["labels"][:, 0] - wanted).max(), 0)


class WholeRuns(runs.WithRows):
    """As processes, with the tokenizer of tiny_tokenizer. A text with 猫 has a larger number than one with 犬."""

    NUMBERS = {"猫が走る。": -18.25, "猫が鳴く。": -18.5, "犬が走る。": -19.75, "犬が鳴く。": -20}

    config = {**HEAD, "batch": {"rows": 4}, "optimizer": {"lr": 5e-3}, "schedule": {"name": "const"},
              "eval": {"metric": "rmse", "each_epoch": True}}

    @classmethod
    def rows_at(cls, directory):
        text = test_labels.Text(tiny_tokenizer.path(), tiny_tokenizer.INFO)
        make = np.random.default_rng(0)

        def row():
            said = make.choice(list(cls.NUMBERS), 2).tolist()
            ids, length, weights = row_of([(text.prompt_ids(one)[1:], text.prompt_ids(f"{cls.NUMBERS[one]:g}")[1:])
                                           for one in said])
            return ids, length, 9, 9, weights
        return write_packed(directory, {"train": [[row() for _ in range(24)]], "validation": [[row() for _ in range(6)]]},
                            LENGTH, tiny_tokenizer.VOCAB, model=tiny_tokenizer.path().read_bytes(), weights=True,
                            labels="numbers")

    def test_a_killed_run_goes_on_bit_for_bit_and_a_mesh_changes_only_rounding(self):
        whole = self.goes_on_bit_for_bit_and_trains_on_a_mesh(delta=2e-5)
        self.assertEqual(set(whole.result()["baselines"]), {"mean"})

    def test_a_run_keeps_its_best_evaluation_and_its_export_gives_the_number(self):
        run = self.run_here("best", config={**self.config, "export": {"int8": True}}, steps=60, keep_best=True, export=True, checkpoint_every=60, log_every=10)
        self.assertEqual(run.end(), 0, run.log_end())
        scores, found = run.of("eval"), run.result()
        best = min(scores, key=lambda one: one["rmse"])
        self.assertEqual(found["best"]["rmse"], best["rmse"])
        self.assertEqual(found.get("export_step", 60), best["step"])
        self.assertLess(best["rmse"], 0.3 * found["baselines"]["mean"]["rmse"])
        mistakes = run.of("mistakes")[-1]["documents"]
        self.assertEqual(len(mistakes), 12)
        for one in mistakes:
            self.assertEqual(float(one["label"]), self.NUMBERS[one["text"]])
            self.assertAlmostEqual(float(one["answer"]) - float(one["label"]), one["error"], delta=1e-3)
        place = run.run_dir / "export"
        settings = json.loads((place / "config.json").read_text())
        self.assertEqual((settings["problem_type"], len(settings["id2label"])), ("regression", 1))
        measured, leaner = (place / "README.md").read_text().split("## Leaner forms")
        self.assertIn("root mean square error", measured)
        self.assertIn("root mean square error", leaner)

        code, said, error = runs.asked("score", "--run", run.run_dir, "--data", self.data, "--json", self.place / "s")
        self.assertEqual(code, 0, error)
        scored = json.loads((self.place / "s").read_text())
        for name in ("loss", "documents", *registry.OBJECTIVES["regression"].answering.metrics):
            self.assertAlmostEqual(scored[name], best[name], delta=1e-4, msg=name)
        self.assertIn(f"{scored['mae']:.6g}  mean absolute error", said)
        self.assertEqual(len(scored["mistakes"]), 12)

        lines = "猫が走る。\n犬が鳴く。\n\n".encode()
        code, said, error = runs.asked("predict", "--run", run.run_dir, lines=lines)
        self.assertEqual(code, 0, error)
        cat, dog, _ = map(float, said.splitlines())
        self.assertLess(abs(cat + 18.25) + abs(dog + 20), 0.8, said)

        other = self.place / "classes"
        listed = [{"name": name, "ids": [ids]} for name, ids in (("a", 8), ("b", 9))]
        ids, length, weights = row_of([([20], [8])])
        write_packed(other, {"validation": [[(ids, length, 9, 9, weights)]]}, LENGTH, tiny_tokenizer.VOCAB,
                     model=tiny_tokenizer.path().read_bytes(), weights=True, labels=listed)
        code, _, error = runs.asked("score", "--run", run.run_dir, "--data", other)
        self.assertEqual((code, error.count("\n")), (65, 1), error)
        self.assertIn("its labels are a, b, and the model answers with numbers", error)


if __name__ == "__main__":
    unittest.main()
