"""Rows of a vocab.txt: a document is [CLS] text [SEP], for a model of the family bert."""

import tempfile
import unittest
from dataclasses import replace
from pathlib import Path

import packed_rows
import places  # noqa: F401

import jax
import jax.numpy as jnp
import numpy as np

from pipe_trainer import config as configs
from pipe_trainer.data import labels, number_labels, packed_info, vocabulary
from pipe_trainer.data.text import Rule, Text, dictionary_of
from pipe_trainer.exits import BadJob
from pipe_trainer.export import word_pieces
from pipe_trainer.model import attention, model
from pipe_trainer.objectives import hiding, labelled, masked, registry
from pipe_trainer.run import setup

PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "ねこ", "##が", "犬", "!", "no", "yes", "1", "##2", ".", "##5"]
PAD, UNK, CLS, SEP, MASK = range(5)
IDS = {"layout": "bert", "model": "vocab.txt", "pad_id": PAD, "unk_id": UNK, "eos_id": SEP, "bos_id": -1, "newline_id": -1,
       "cls_id": CLS, "sep_id": SEP, "mask_id": MASK, "vocab_size": len(PIECES)}
SHAPE = configs.Model(family="bert", layers=1, d=16, heads=2, ff=32, vocab=len(PIECES), seq_len=11, eos=SEP, begin=CLS).complete()
# Two documents, ねこが! and 犬, behind an eos, then padding.
ROW = jnp.array([[SEP, CLS, 5, 6, 8, SEP, CLS, 7, SEP, PAD, PAD, PAD]])
LABELS = labels.parse([{"name": "no", "ids": [9]}, {"name": "yes", "ids": [10]}])


class WithVocabulary(unittest.TestCase):
    def setUp(self):
        root = tempfile.TemporaryDirectory()
        self.addCleanup(root.cleanup)
        self.path = Path(root.name, "vocab.txt")
        self.path.write_text("".join(f"{piece}\n" for piece in PIECES), encoding="utf-8")
        self.pieces = vocabulary.pieces_of(self.path)


class Documents(WithVocabulary):
    def test_a_document_counts_from_its_cls_and_has_its_sep(self):
        segments, positions = model.documents(SHAPE, ROW[:, :-1])
        self.assertEqual(segments[0].tolist(), [0, 1, 1, 1, 1, 1, 2, 2, 2, 3, 3])
        self.assertEqual(positions[0].tolist(), [0, 0, 1, 2, 3, 4, 0, 1, 2, 0, 1])
        whole, _ = model.documents(replace(SHAPE, begin=None), ROW[:, :-1])
        self.assertEqual(whole[0].tolist(), [1, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3])

    def test_the_rest_of_a_document_stays_apart_from_the_one_before(self):
        segments, positions = model.documents(SHAPE, jnp.array([[7, 7, SEP, CLS, 7, SEP, 7, 7, SEP, CLS]]))
        self.assertEqual(segments[0].tolist(), [0, 0, 0, 1, 1, 1, 2, 2, 2, 3])
        self.assertEqual(positions[0].tolist(), [0, 1, 2, 0, 1, 2, 0, 1, 2, 0])

    def test_cls_and_sep_are_never_hidden_and_words_are_hidden_as_a_whole(self):
        self.assertEqual(masked.mask_id(self.pieces, len(PIECES)), MASK)
        begins = hiding.begins_of(self.pieces, len(PIECES))
        self.assertEqual([piece for piece, one in zip(PIECES, begins) if not one], ["##が", "##2", "##5"])
        options = configs.ObjectiveKeys(name="masked", share=0.5, random=0.0, keep=0.0, mask_id=MASK, whole_words=True)
        hidden = set()
        for seed in range(40):
            read, *_ = hiding.hide(SHAPE, options, 5, begins, ROW, jnp.array([9]), None, jax.random.split(jax.random.key(seed), 1))
            places = tuple(np.flatnonzero(np.asarray(read[0]) == MASK).tolist())
            hidden |= set(places)
            self.assertEqual(2 in places, 3 in places, places)
        self.assertEqual(hidden, {2, 3, 4, 7})

    def test_a_head_reads_cls_and_sees_sep_and_no_label(self):
        tokens = jnp.array([[SEP, CLS, 5, SEP, 10, SEP, CLS, 7, SEP, 9, SEP, PAD]])
        weights = jnp.array([[0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 0]])
        shape = replace(SHAPE, classes=2)
        _, (segments, positions), places, numbers, there = labelled.read(shape, LABELS, -1, tokens, jnp.array([11]), weights)
        self.assertEqual(segments[0].tolist(), [0, 1, 1, 1, -1, 2, 3, 3, 3, -1, 4])
        self.assertEqual(positions[0].tolist()[6:9], [0, 1, 2])
        self.assertEqual((places[0, :2].tolist(), numbers[0, :2].tolist(), there[0, :3].tolist()), ([1, 6], [1, 0], [True, True, False]))
        chosen = registry.of(configs.Config(model=shape, objective=configs.ObjectiveKeys(name="classes")))
        self.assertEqual(chosen.label_begins(LABELS, -1), [SEP])

    def test_a_label_and_its_length_change_nothing_that_is_read(self):
        shape = replace(SHAPE, classes=2)
        params = jax.tree.map(lambda leaf: leaf * (9 if leaf.ndim > 1 else 1), model.init(shape, jax.random.key(0)))
        found = []
        for label in ([9], [10], [9, 10, 9]):
            row = [SEP, CLS, 5, 7, SEP, *label, SEP]
            weights = [0] * 5 + [1] * (len(label) + 1)
            tokens, weights = (jnp.array([part + [0] * (12 - len(part))]) for part in (row, weights))
            ids, layout, places, *_ = labelled.read(shape, None, -1, tokens, jnp.array([len(row)]), weights)
            hidden = model.forward(params, shape, ids, attention.plain(causal=False), layout=layout)
            self.assertEqual(int(places[0, 0]), 1)
            found.append(np.asarray(hidden[0, 1]))
        np.testing.assert_array_equal(found[0], found[1])
        np.testing.assert_array_equal(found[0], found[2])
        alone = model.forward(params, shape, jnp.array([[CLS, 5, 7, SEP]]), attention.plain(causal=False))
        np.testing.assert_allclose(found[0], alone[0, 0], atol=1e-5)

    def test_the_text_of_a_number_has_no_spaces(self):
        texts = number_labels.texts_of(self.pieces)
        self.assertEqual("".join(texts[one] for one in (11, 12, 13, 11, 14)), "12.15")


class Use(WithVocabulary):
    def test_text_gets_the_ids_of_the_rows(self):
        text = Text(self.path, IDS)
        self.assertEqual(text.prompt_ids("ねこが! 犬?"), [CLS, 5, 6, 8, 7, UNK])
        self.assertEqual(text.text_of([CLS, 5, 6, 8, SEP, 7]), "ねこが !\n犬")
        with self.assertRaisesRegex(RuntimeError, "which this program does not cut"):
            Text(self.path, {**IDS, "morphemes": True}).prompt_ids("猫")

    def test_the_lineage_tells_whether_words_are_morphemes(self):
        def lineage(words):
            return {"data": {"lineage": [{"type": "mix", "ports": [{"lineage": [
                {"type": "segment_words", "config": {"dictionary": "ipadic"}}, {"type": "encode", "config": {"words": words}}]}]}]}}
        self.assertEqual(dictionary_of(lineage("morphemes"), IDS), "ipadic")
        self.assertIsNone(dictionary_of(lineage("auto"), IDS))
        self.assertEqual(dictionary_of(lineage("auto"), {**IDS, "morphemes": True}), "ipadic")
        self.assertIsNone(dictionary_of(lineage("text"), {**IDS, "morphemes": True}))
        self.assertIsNone(dictionary_of(None, IDS))

    def test_an_export_of_morphemes_is_for_the_tokenizer_that_cuts_them(self):
        settings, special = word_pieces.files({**IDS, "morphemes": True}, self.pieces, 11, "[MASK]", "ipadic")
        self.assertEqual(settings["tokenizer_class"], "BertJapaneseTokenizer")
        self.assertEqual(settings["mecab_kwargs"], {"normalize_text": False, "mecab_dic": "ipadic"})
        self.assertEqual(special, {"unk_token": "[UNK]", "pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]",
                                   "mask_token": "[MASK]"})
        for given, package, more in (("/py/unidic_lite/dicdir", "unidic_lite", {}),
                                     ("unidic", None, {"mecab_option": "-r /dev/null -d unidic"})):
            self.assertEqual(word_pieces.mecab(given, [Rule("nfkc")]), {"normalize_text": True, "mecab_dic": package, **more})


class Rows(WithVocabulary):
    def packed(self, ids=None, **more):
        place = packed_rows.write_packed(self.path.parent / "rows", {"train": [[(ROW[0].tolist(), 9, 9, 5)]]}, 11, len(PIECES),
                                         ids={**IDS, **(ids or {})})
        info = {**packed_rows.json.loads((place / "packed.json").read_text()), "pipe_packed": 5, **more}
        (place / "packed.json").write_text(packed_rows.json.dumps(info))
        packed_rows.write_manifest(place)
        return place

    def test_rows_of_version_5_are_those_of_a_vocabulary(self):
        self.assertEqual(packed_info.read_packed_info(self.packed()).tokenizer["cls_id"], CLS)
        for wrong in ({"ids": {"model": "tokenizer.model"}}, {"pipe_packed": 1}):
            with self.assertRaisesRegex(packed_info.DataError, "its file is not as version"):
                packed_info.read_packed_info(self.packed(**wrong))
        with self.assertRaisesRegex(packed_info.DataError, "cls_id: -1, which is out of range"):
            packed_info.read_packed_info(self.packed(ids={"cls_id": -1}))

    def test_a_model_of_another_family_does_not_read_them(self):
        class OfRows:
            tokenizer, seq_len, labels, weights, predictions = IDS, 11, None, False, None
        config = configs.Config(model=configs.Model(family="bert"), objective=configs.ObjectiveKeys(name="masked"))
        found = setup.fill_in(config, OfRows, self.pieces).model
        self.assertEqual((found.eos, found.begin, found.vocab), (SEP, CLS, len(PIECES)))
        with self.assertRaisesRegex(BadJob, "a model of the family bert reads"):
            setup.fill_in(configs.Config(), OfRows, self.pieces)


if __name__ == "__main__":
    unittest.main(verbosity=2)
