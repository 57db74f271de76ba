"""The order of samples: the numbers of plugins/train/reader/ORDER.md, and the guarantees there."""

import hashlib
import re
import unittest
from pathlib import Path

import numpy as np

import places
from pipe_trainer.data import order

PAGE = (Path(places.ROOT) / "plugins/train/reader/ORDER.md").read_text(encoding="utf-8")
GOLDEN = (
    (1000, 0, 0, 3000, "8b713bd22859f976eaf5aebae8193ec71fea20c8cb44c168887073aa1184b1f7"),
    (2500, 7, 0, 5000, "729af4953cb83e11116c2f7688268ae50a3f6b149fd109a6a40dbf9376209863"),
    (40000, 0, 0, 80000, "9feaf95ec5b9ebf2bd1268e8e33ec4aea7d1f8a415866fd8ed775b12441aa041"),
    (1 << 33, 1 << 63, 5 * 10**12, 10**5, "c4c300b56653ca98c5e810ea19bb67f6b86a7de47cb93df943194ba2903c7cb0"),
)
SIZES = (*range(1, 40), 1023, 1024, 1025, 5000, 16383, 16384, 16385, 17 * 1024 - 1, 33 * 1024 + 5, 100000)


def slow_row(sample, rows, seed):
    """Implements the page literally, one sample at a time, with whole lists instead of its closed forms."""
    wrap = (1 << 64) - 1

    def mix(x):
        x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & wrap
        x = (x ^ x >> 27) * 0x94D049BB133111EB & wrap
        return x ^ x >> 31

    def key(*words):
        value = 0x706970656F726472
        for word in words:
            value = mix((value ^ word) + 0x9E3779B97F4A7C15 & wrap)
        return value

    def permuted(x, size, k):
        half = next(h for h in range(1, 33) if 4 ** h >= size)
        while size > 1:
            left, right = divmod(x, 2 ** half)
            for number in range(6):
                keyed = right + k + (number + 1) * 0x9E3779B97F4A7C15 & wrap
                left, right = right, left ^ mix(keyed) % 2 ** half
            x = 2 ** half * left + right
            if x < size:
                break
        return x

    epoch, index = divmod(sample, rows)
    blocks = [range(at, min(at + 1024, rows)) for at in range(0, rows, 1024)]
    placed = [blocks[permuted(at, len(blocks), key(seed, epoch, 0))] for at in range(len(blocks))]
    for window in range(0, len(placed), 16):
        held = [row for block in placed[window:window + 16] for row in block]
        if index < len(held):
            return held[permuted(index, len(held), key(seed, epoch, window // 16 + 1))]
        index -= len(held)
    raise AssertionError


class OrderTest(unittest.TestCase):
    def test_golden_digests_are_those_of_the_page(self):
        for rows, seed, first, count, digest in GOLDEN:
            found = order.rows_of(first, count, rows, seed).astype("<i8").tobytes()
            self.assertEqual(hashlib.sha256(found).hexdigest(), digest, (rows, seed, first))
            self.assertIn(digest, PAGE)

    def test_worked_example_of_the_page(self):
        self.assertEqual(int(order.mix(np.array([1], np.uint64))[0]), 0x5692161D100B05E5)
        for purpose in range(4):
            self.assertIn(f"{int(order.key(0, 0, purpose)):#x}", PAGE)
        blocks = order.permute(np.arange(40), 40, order.key(0, 0, 0)).tolist()
        listed = re.search(r"P₀ is (.*?)\.", PAGE, re.DOTALL)[1]
        listed = re.findall(r"\d+", re.sub(r"\(.*?\)", "", listed))
        self.assertEqual([int(number) for number in listed], blocks)
        row = re.search(r"^\| row \| (.*) \|$", PAGE, re.MULTILINE)[1].split(" | ")
        samples = (0, 1, 16383, 16384, 39999, 40000, 100000)
        found = [int(order.rows_of(sample, 1, 40000)[0]) for sample in samples]
        self.assertEqual([int(number) for number in row], found)

    def test_every_epoch_has_every_row_once(self):
        for rows in SIZES:
            for epoch in (0, 3):
                found = np.sort(order.rows_of(epoch * rows, rows, rows, seed=9))
                self.assertTrue((found == np.arange(rows)).all(), rows)

    def test_equals_the_page_read_word_for_word(self):
        for rows in (1, 2, 1000, 1025, 2500, 17 * 1024 - 1, 40000, 33 * 1024):
            for sample in {0, 1, rows // 2, rows - 1, rows, 5 * rows - 3}:
                found = int(order.rows_of(sample, 1, rows, 11)[0])
                self.assertEqual(found, slow_row(sample, rows, 11), (rows, sample))

    def test_short_block_stands_in_every_window(self):
        rows, found = 40 * 1024 - 77, set()
        for seed in range(30):
            found.add(order._short_block(rows, seed, 0)[0] // order.WINDOW)
            self.assertEqual(len(set(order.rows_of(0, rows, rows, seed).tolist())), rows)
        self.assertEqual(found, {0, 1, 2})

    def test_a_part_is_the_part_of_the_whole(self):
        whole = order.rows_of(0, 9000, 2600, 4)
        for first, count in ((0, 1), (2599, 2), (2500, 200), (7800, 1200), (1, 8999)):
            self.assertTrue((order.rows_of(first, count, 2600, 4) == whole[first:first + count]).all())

    def test_epochs_and_seeds_differ(self):
        orders = {order.rows_of(epoch * 500, 500, 500, seed).tobytes()
                  for epoch in range(5) for seed in range(5)}
        self.assertEqual(len(orders), 25)

    def test_samples_of_a_window_come_from_sixteen_blocks(self):
        rows = 600 * 16384
        for window in (0, 5, 599):
            found = order.rows_of(window * 16384, 16384, rows, 2)
            self.assertEqual(len(set((found // 1024).tolist())), 16)

    def test_permutations_are_even(self):
        """Over 20,000 keys each position gets each value equally often: chi-squared within 5 sigma."""
        for size in (16, 40, 100):
            keys = order.key(np.arange(20000), 0, 1)
            found = order.permute(np.arange(size)[None, :], size, keys[:, None]).astype(np.int64)
            counts = np.stack([np.bincount(found[:, place], minlength=size) for place in range(size)])
            freedom, expected = (size - 1) ** 2, len(keys) / size
            chi = ((counts - expected) ** 2 / expected).sum()
            self.assertLess(abs(chi - freedom), 5 * (2 * freedom) ** 0.5 + 0.1 * freedom, size)

    def test_the_way_back_leads_back(self):
        values = np.arange(3000)
        there = order.permute(values, 3000, order.key(1, 2, 0))
        self.assertTrue((order.permute(there, 3000, order.key(1, 2, 0), forward=False) == values).all())


if __name__ == "__main__":
    unittest.main()
