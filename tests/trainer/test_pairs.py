"""Pairs for a decoder: hidden spans and ends of documents, held against a plain version that goes through each row."""

import dataclasses
import unittest

import session

import jax
import numpy as np

from pipe_trainer import config
from pipe_trainer.objectives import hidden_spans, pairs, registry, spans

LENGTH, VOCAB = 48, 61
SHAPE = config.Model(family="t5", layers=1, d=16, heads=2, ff=32, vocab=VOCAB + 100, seq_len=LENGTH).complete()
SPANS = config.ObjectiveKeys(name="spans", share=0.25, span=3.0, sentinel=VOCAB + 99, sentinels=100, start=0)
MARKS = pairs.Marks(0, SPANS.sentinel, SPANS.sentinels)


def documents_of(row, inside):
    """[[(place, id)]]: those of a row, each from its eos on."""
    found = [[]]
    for place, number in enumerate(row):
        if not inside[place]:
            break
        if number == session.EOS:
            found.append([])
        found[-1].append((place, number))
    return found


def plain_pair(row, inside, hidden, marks, slots):
    """(read, given, targets, which targets are text) as lists of documents."""
    read, given, targets, text, full, used = [], [], [], [], False, 0
    for document in documents_of(row, inside):
        shown, written, kinds, number, at = [], [], [], 0, 0
        while at < len(document):
            place, symbol = document[at]
            if not hidden[place]:
                shown.append(symbol)
                at += 1
                continue
            end = at
            while end < len(document) and hidden[document[end][0]]:
                end += 1
            span = [symbol for _, symbol in document[at:end]]
            cost = len(span) + (marks.count > 0) + (number == 0)
            at = end
            if marks.count and number >= marks.count:
                shown += span
                number += 1
                continue
            full = full or used + cost > slots
            if full:
                shown += span
                number += 1
                continue
            used += cost
            if marks.count:
                shown.append(marks.sentinel - number)
                written.append(marks.sentinel - number)
                kinds.append(False)
            written += span
            kinds += [True] * len(span)
            number += 1
        read.append(shown)
        if written:
            given.append([marks.start, *written])
            targets.append([*written, session.EOS])
            text.append([*kinds, False])
    return read, given, targets, text


def parts(values, segments):
    """Lists of the values of each segment, in order; nothing behind the last."""
    found, before = [], None
    for value, segment in zip(values.tolist(), segments.tolist()):
        if segment < 0:
            before = None
            continue
        if segment != before:
            found.append([])
        found[-1].append(value)
        before = segment
    return found


class PairsOfRows(unittest.TestCase):
    def check(self, tokens, inside, hidden, marks, slots):
        made = jax.device_get(jax.jit(lambda *given: pairs.pair(SHAPE, marks, slots, *given))(tokens, inside, hidden))
        for row in range(len(tokens)):
            read, given, targets, text = plain_pair(tokens[row], inside[row], hidden[row], marks, slots)
            self.assertEqual(parts(made.read[row], made.read_in[row]), [part for part in read if part])
            self.assertEqual(parts(made.given[row], made.given_in[row]), given)
            self.assertEqual(parts(made.targets[row], made.given_in[row]), targets)
            self.assertEqual(parts(made.text[row], made.given_in[row]), text)
            self.assertEqual(made.used[row].sum(), sum(map(len, given)))
            if marks.count:  # each document that is written has a part that is read, with its segment
                for part in np.unique(made.given_in[row][made.used[row]]):
                    self.assertIn(part, made.read_in[row])
        return made

    def random(self, seed, share=0.3):
        make = np.random.default_rng(seed)
        rows = session.random_rows(count=60, seq_len=LENGTH - 1, seed=seed)
        lengths = make.integers(1, LENGTH + 1, 60)
        lengths[::2] = LENGTH
        inside = np.arange(LENGTH) < lengths[:, None]
        smooth = np.repeat(make.random((60, LENGTH // 2)) < share, 2, axis=1)
        return rows.tokens, inside, smooth & inside & (rows.tokens != session.EOS)

    def test_they_are_those_of_a_plain_version(self):
        for seed in range(4):
            self.check(*self.random(seed), MARKS, 2 * LENGTH)

    def test_without_sentinels(self):
        self.check(*self.random(5), pairs.Marks(0), 2 * LENGTH)

    def test_spans_that_the_slots_do_not_suffice_for_stay_visible(self):
        made = self.check(*self.random(6), MARKS, 16)
        self.assertTrue(made.used.all(axis=1).any())

    def test_spans_beyond_the_sentinels_stay_visible(self):
        self.check(*self.random(7), MARKS._replace(count=2), 2 * LENGTH)

    def test_the_example_of_the_page(self):
        eos, row = session.EOS, [session.EOS, 11, 12, 13, 14, 15, session.EOS, 16, 17, 18]
        hidden = np.isin(row, (12, 13, 15, 17))
        made = jax.device_get(pairs.pair(SHAPE, MARKS, 12, np.array([row]), np.ones((1, 10), bool), hidden[None]))
        first, second = MARKS.sentinel, MARKS.sentinel - 1
        self.assertEqual(parts(made.read[0], made.read_in[0]), [[eos, 11, first, 14, second], [eos, 16, first, 18]])
        self.assertEqual(parts(made.targets[0], made.given_in[0]), [[first, 12, 13, second, 15, eos], [first, 17, eos]])
        self.assertEqual(parts(made.given[0], made.given_in[0]), [[0, first, 12, 13, second, 15], [0, first, 17]])


def hidden_of(options, tokens, lengths=None, weights=None, seed=0):
    """(ids that may be hidden, hidden ids), bool [R, T]."""
    tokens = np.asarray(tokens)
    free = tokens[:, :-1] != session.EOS
    if lengths is not None:
        free &= np.arange(tokens.shape[1] - 1) < np.asarray(lengths)[:, None]
    if weights is not None:
        free &= weights[:, :-1] == 1
    keys = jax.random.split(jax.random.key(seed), len(tokens))
    return free, np.asarray(jax.vmap(lambda *row: hidden_spans.hide_spans(options, *row))(free, keys))


class Spans(unittest.TestCase):
    def setUp(self):
        self.rows = session.random_rows(count=400, seq_len=LENGTH)

    def test_the_share_is_hidden_in_spans_of_the_mean_length(self):
        free, hidden = hidden_of(SPANS, self.rows.tokens)
        there = free.sum(axis=1)
        np.testing.assert_array_equal(hidden.sum(axis=1), np.floor(0.25 * there + 0.5))
        self.assertFalse((hidden & ~free).any())
        begins = 0
        for row, may in zip(hidden, free):  # a span goes over the begin of a document as over nothing
            among = row[may]
            begins += (among & ~np.concatenate([[False], among[:-1]])).sum()
            self.assertFalse(among[0])
            self.assertTrue(among[-1])
        self.assertAlmostEqual(hidden.sum() / begins, 3.0, delta=0.25)

    def test_every_composition_is_equally_likely(self):
        made = np.asarray(jax.vmap(lambda key: hidden_spans.random_lengths(5, 3, 12, 4, key))(
            jax.random.split(jax.random.key(0), 3000)))
        self.assertTrue((made.sum(axis=1) == 5).all() and (made[:, 3] == 0).all() and (made[:, :3] > 0).all())
        found, times = np.unique(made, axis=0, return_counts=True)
        self.assertEqual(len(found), 6)
        self.assertLess(np.abs(times - 500).max(), 90)

    def test_other_keys_hide_others_and_the_same_keys_the_same(self):
        first, again, other = (hidden_of(SPANS, self.rows.tokens, seed=seed)[1] for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, again)
        self.assertLess((first & other).sum() / first.sum(), 0.45)

    def test_short_rows_and_rows_without_text(self):
        lengths = np.arange(400) % 5
        free, hidden = hidden_of(SPANS, self.rows.tokens, lengths)
        there = free.sum(axis=1)
        np.testing.assert_array_equal(hidden.sum(axis=1) > 0, there > 1)
        self.assertFalse((hidden.sum(axis=1) >= np.maximum(there, 1)).any())

    def test_a_full_row_fits_into_the_slots(self):
        for options in (SPANS, dataclasses.replace(SPANS, share=0.15), dataclasses.replace(SPANS, share=0.5, span=1.0)):
            tokens = np.full((50, LENGTH + 1), 9)
            _, hidden = hidden_of(options, tokens)
            slots = hidden_spans.slots_of(options, LENGTH)
            made = pairs.pair(SHAPE, MARKS, slots, tokens[:, :-1], np.ones((50, LENGTH), bool), hidden)
            self.assertEqual(int(made.text.sum()), hidden.sum())

    def test_sentinels_are_those_of_the_tokenizer_or_behind_it(self):
        pieces = [("a", 0, 1)] * 4 + [(f"▁<extra_id_{number}>", 0, 4) for number in (2, 1, 0)]
        self.assertEqual(spans.sentinels(pieces, 7), (6, 3))
        self.assertEqual(spans.sentinels(pieces, 7, 2), (6, 2))
        self.assertEqual(spans.sentinels(pieces[::-1], 7), (106, 100), "in another order")
        self.assertEqual(spans.sentinels((), 7), (106, 100))
        self.assertEqual(spans.sentinels((), 7, 20), (26, 20))


class Ends(unittest.TestCase):
    OPTIONS = config.ObjectiveKeys(name="prefix", start=0)

    def made(self, tokens, lengths=None, weights=None):
        lengths = np.full(len(tokens), tokens.shape[1]) if lengths is None else lengths
        whole = config.Config(model=SHAPE, objective=self.OPTIONS)
        keys = jax.random.split(jax.random.key(0), len(tokens))
        return registry.of(whole).examples(tokens, lengths, weights, keys)

    def test_each_document_is_cut_once_and_both_parts_have_text(self):
        tokens = session.random_rows(count=100, seq_len=LENGTH).tokens
        found = self.made(tokens)
        for row in range(100):
            cut = dict(zip(np.unique(found.given[1][row][found.given[1][row] >= 0]),
                           parts(np.asarray(found.given[0][row]), np.asarray(found.given[1][row]))))
            read = parts(np.asarray(found.ids[row]), np.asarray(found.layout[0][row]))
            whole = [[symbol for _, symbol in part] for part in documents_of(tokens[row, :-1], np.ones(LENGTH)) if part]
            first = int(found.layout[0][row][0])
            for number, (shown, document) in enumerate(zip(read, whole)):
                written = cut.get(first + number, [0])[1:]
                self.assertEqual(shown + written, document)
                text = sum(symbol != session.EOS for symbol in document)
                self.assertEqual(len(written) > 0, text > 1)

    def test_with_loss_weights_the_answers_are_written(self):
        tokens = np.array([[session.EOS, 11, 12, 13, session.EOS, 14, 15, 16, 17]])
        weights = np.array([[0, 0, 1, 1, 0, 0, 0, 1, 1]], np.uint8)
        found = self.made(tokens, weights=weights)
        self.assertEqual(parts(np.asarray(found.given[0][0]), np.asarray(found.given[1][0])), [[0, 12, 13], [0, 16]])
        targets, counted = found.answers()
        self.assertEqual(np.asarray(targets)[0][np.asarray(counted)[0] == 1].tolist(),
                         [12, 13, session.EOS, 16, session.EOS])
        self.assertEqual(float(found.judged()[1].sum()), 3)


if __name__ == "__main__":
    unittest.main()
