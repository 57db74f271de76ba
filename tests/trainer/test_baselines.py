"""Baselines compared with counting one by one, and as distributions; cases in which bits are refused."""

import math
import tempfile
import time
import unittest
from collections import Counter, defaultdict
from unittest import mock

import numpy as np

import places  # noqa: F401
import packed_rows
from pipe_trainer.data.rows import Batch, Rows
from pipe_trainer.eval import baselines, evaluate, tally

VOCAB = 30


def slow_bigram(train, vocab):
    """P(after | before) by the textbook formula, with dictionaries."""
    pairs = Counter(train)
    followers, contexts, times = defaultdict(set), defaultdict(set), Counter()
    for (before, after), count in pairs.items():
        followers[before].add(after)
        contexts[after].add(before)
        times[before] += count

    def discount(counts):
        ones, twos = (sum(1 for count in counts if count == number) for number in (1, 2))
        return ones / (ones + 2 * twos) if ones else 0.5

    of_pairs, of_contexts = discount(pairs.values()), discount([len(held) for held in contexts.values()])

    def continuation(after):
        held = max(len(contexts[after]) - of_contexts, 0) if after in contexts else 0
        return held / len(pairs) + of_contexts * len(contexts) / len(pairs) / vocab

    rest = [continuation(after) for after in range(vocab)]

    def probability(before, after):
        if not times[before]:
            return rest[after]
        held = max(pairs.get((before, after), 0) - of_pairs, 0) / times[before]
        return held + of_pairs * len(followers[before]) / times[before] * rest[after]

    return probability


def markov(count, seed, low=5, high=VOCAB):
    """Ids with a strong bigram."""
    chance, ids = np.random.default_rng(seed), [2]
    for _ in range(count):
        ids.append(int(low + (ids[-1] * 7 + min(chance.geometric(0.3), high - low) - 1) % (high - low)))
    return ids


class BaselinesTest(unittest.TestCase):
    def rows(self, train, held_out, vocab=VOCAB, seq_len=16):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        splits = {name: [list(packed_rows.stream_rows(ids, seq_len))]
                  for name, ids in (("train", train), ("validation", held_out))}
        packed_rows.write_packed(directory.name, splits, seq_len, vocab, ids={"unk_id": -1})
        return [Rows(directory.name, name, native=False) for name in splits]

    def test_equals_counting_one_by_one(self):
        train, held_out = markov(700, 1), markov(150, 2)
        held_out[20], held_out[90] = 3, 4  # ids that train lacks as context and as target
        found = {scores["name"]: scores for scores in baselines.compute(*self.rows(train, held_out), VOCAB)}
        probability = slow_bigram(list(zip(train, train[1:])), VOCAB)
        expected = -sum(math.log(probability(*pair)) for pair in zip(held_out, held_out[1:])) / 150
        self.assertAlmostEqual(found["bigram_kn"]["nats_per_token"], expected, places=10)
        times = Counter(train[1:])
        expected = -sum(math.log((times[after] + 1) / (700 + VOCAB)) for after in held_out[1:]) / 150
        self.assertAlmostEqual(found["unigram"]["nats_per_token"], expected, places=10)
        self.assertAlmostEqual(found["uniform"]["nats_per_token"], math.log(VOCAB), places=12)
        for scores in found.values():
            self.assertEqual((scores["targets"], scores["bytes"], scores["chars"]), (150, 450, 150))
            self.assertAlmostEqual(scores["bits_per_char"], scores["nats_per_token"] / math.log(2), places=12)
            self.assertAlmostEqual(scores["bits_per_byte"], scores["bits_per_char"] / 3, places=12)
            self.assertEqual((scores["train_targets"], scores["train_targets_of"]), (700, 700))
        self.assertLess(found["bigram_kn"]["nats_per_token"], 0.9 * found["unigram"]["nats_per_token"])

    def test_probabilities_of_every_context_sum_to_one(self):
        for train in (markov(700, 3), markov(5, 3), [2, 7], [2, 7, 7, 7, 7], [2, 5, 6] * 40):
            codes = np.array([before * VOCAB + after for before, after in zip(train, train[1:])])
            counts = baselines.Counts(*np.unique(codes, return_counts=True), VOCAB)
            every = np.arange(VOCAB)
            self.assertAlmostEqual(counts.unigram(every).sum(), 1, places=12)
            for before in range(VOCAB):
                held = counts.bigram(np.full(VOCAB, before), every)
                self.assertAlmostEqual(held.sum(), 1, places=12)
                self.assertGreater(held.min(), 0)

    def test_filled_ids_are_no_targets(self):
        train = markov(705, 1)  # the last row of 16 is filled
        rows = self.rows(train, train)[0]
        codes, times, counted = tally.count((baselines.pair_codes(batch, VOCAB) for batch in baselines.batches(rows, rows.count)), VOCAB)
        self.assertEqual(np.repeat(codes, times).tolist(), sorted(a * VOCAB + b for a, b in zip(train, train[1:])))
        self.assertEqual(counted, 705)

    def test_both_ways_of_counting_agree_however_it_comes_in_parts(self):
        codes = np.random.default_rng(0).zipf(1.3, 20000) % VOCAB ** 2
        expected = np.unique(codes, return_counts=True)
        for table in (VOCAB ** 2, 0):
            for at_once in (1, 700, 10 ** 6):
                with mock.patch.multiple(tally, TABLE=table, AT_ONCE=at_once):
                    *found, counted = tally.count(np.array_split(codes, 40), VOCAB)
                for ours, theirs in zip(found, expected):
                    np.testing.assert_array_equal(ours, theirs)
                self.assertEqual(counted, 20000)

    def test_counting_ends_where_memory_or_time_do_and_says_so(self):
        parts = np.array_split(np.arange(1000) % 500, 10)
        for bounds, expected in (({"PAIRS": 300}, 300), ({"SORTED": 250}, 300), ({}, 1000)):
            with mock.patch.multiple(tally, TABLE=0, AT_ONCE=1, **bounds):
                with mock.patch.object(tally._Sorted, "most", tally.SORTED):
                    self.assertEqual(tally.count(iter(parts), VOCAB)[2], expected, bounds)

    def test_no_more_targets_are_counted_than_asked_for(self):
        rows = self.rows(markov(100000, 1), markov(50, 1))
        few = baselines.compute(*rows, VOCAB, train_targets=20000, eval_count=2)[0]
        self.assertEqual((few["train_targets"], few["train_targets_of"], few["targets"]), (2 * 1024 * 16, 100000, 32))

    def test_five_million_targets_of_a_large_vocabulary_are_quick(self):
        chance, vocab = np.random.default_rng(0), 32000
        tokens = np.minimum(chance.zipf(1.2, (4900, 1025)), vocab - 1).astype(np.int32)

        class Made:
            tokenizer = {"unk_id": -1}

            def __init__(self, tokens):
                self.tokens, self.count, self.targets = tokens, len(tokens), tokens[:, 1:].size

            def in_order(self, first, n):
                part = self.tokens[first:first + n]
                ones = np.full(len(part), 1024, np.int64)
                return Batch(part, np.full(len(part), 1025, np.int32), ones, ones)

        begin = time.process_time()
        found = baselines.compute(Made(tokens), Made(tokens[:300]), vocab)
        spent = time.process_time() - begin
        self.assertEqual(found[0]["train_targets"], 4900 * 1024)
        self.assertLess(spent, 6, "two seconds on a free core")
        print(f"baselines of 5.0 M targets, V=32,000: {spent:.2f} s of CPU")


class EvaluateTest(unittest.TestCase):
    def batch(self):
        tokens = np.array([[2, 5, 6, 7], [7, 3, 2, 0]], np.int32)
        return Batch(tokens, np.array([4, 3], np.int32), np.array([9, 4]), np.array([3, 2]))

    def test_scores_are_the_sums(self):
        sums = evaluate.Sums()
        sums.add(self.batch(), 10.0, unk_id=-1)
        scores = evaluate.score(sums)
        self.assertEqual((scores["targets"], scores["bytes"], scores["chars"]), (5, 13, 5))
        self.assertAlmostEqual(scores["loss"], 2.0)
        self.assertAlmostEqual(scores["ppl"], math.e ** 2)
        self.assertAlmostEqual(scores["bits_per_byte"], 10 / math.log(2) / 13)
        self.assertAlmostEqual(scores["bits_per_char"], 2 / math.log(2))

    def test_parts_add_up(self):
        whole = evaluate.Sums()
        whole.add(self.batch(), 10.0, 3)
        whole.add(self.batch(), 4.0, 3)
        self.assertEqual(whole, evaluate.Sums(14.0, 10, 26, 10, 2))

    def test_unknown_ids_refuse_bits(self):
        sums = evaluate.Sums()
        sums.add(self.batch(), 10.0, unk_id=3)
        scores = evaluate.score(sums)
        self.assertIsNone(scores["bits_per_byte"])
        self.assertIsNone(scores["bits_per_char"])
        self.assertAlmostEqual(scores["unk_rate"], 0.2)
        self.assertAlmostEqual(scores["loss"], 2.0)

    def test_fill_that_equals_the_unknown_id_does_not_count(self):
        sums = evaluate.Sums()
        sums.add(self.batch(), 10.0, unk_id=0)
        self.assertEqual(sums.unknown, 0)

    def test_a_loss_that_no_float_holds_has_no_perplexity(self):
        self.assertIsNone(evaluate.score(evaluate.Sums(8000.0, 10, 1, 1))["ppl"])
        self.assertRaises(ValueError, evaluate.score, evaluate.Sums())


if __name__ == "__main__":
    unittest.main()
