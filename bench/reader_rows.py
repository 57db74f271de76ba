#!/usr/bin/env python3
"""How many tokens a second the trainer's reader gives, alone; run with the trainer's Python (numpy).

    reader_rows.py [PACKED_DIR] [--split train] [--rows 32] [--times 5] [--json]

Without a directory, writes and reads rows of made ids: 1,024 targets each, ids by Zipf's law. Measures the CPU time of
this process with batches of --rows and a warm page cache; the best of --times passes counts. PIPE_READER_LIBRARY names
the library. Compares it with the twin in numpy, and with reading the same bytes in rows without looking at them.
"""

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "plugins/train/python"), str(ROOT / "tests/trainer")]

import packed_rows  # noqa: E402
from pipe_trainer.data.rows import Rows  # noqa: E402

VOCAB, SEQ_LEN, MADE_ROWS = 32000, 1024, 2000


def made(directory):
    ids = np.minimum(np.random.default_rng(0).zipf(1.2, SEQ_LEN * MADE_ROWS) + 4, VOCAB - 1).tolist()
    rows = list(packed_rows.stream_rows([2, *ids], SEQ_LEN))
    return packed_rows.write_packed(directory, {"train": [rows]}, SEQ_LEN, VOCAB)


def least_time(times, work):
    found = []
    for _ in range(times):
        begin = time.process_time()
        work()
        found.append(time.process_time() - begin)
    return min(found)


def passes(rows, size):
    """Returns (count, {name: function that reads `count` samples})."""
    count = rows.count // size * size

    def shuffled():
        for first in range(0, count, size):
            rows.shuffled(first, size)

    def in_order():
        for first in range(0, count, size):
            rows.in_order(first, size)

    return count, {"shuffled": shuffled, "in order": in_order}


def bare_reads(directory, split):
    shards = sorted(directory.glob(f"{split}-*.tfrecord"))

    def work():
        for shard in shards:
            index = np.fromfile(shard.with_suffix(".idx"), "<u8,<u4,<u4,<u4")["f0"].tolist()
            index.append(shard.stat().st_size)
            descriptor = os.open(shard, os.O_RDONLY)
            for begin, end in zip(index, index[1:]):
                os.pread(descriptor, end - begin, begin)
            os.close(descriptor)
    return work


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packed", type=Path, nargs="?")
    parser.add_argument("--split", default="train")
    parser.add_argument("--rows", type=int, default=32)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="one object: tokens a second by name")
    options = parser.parse_args(argv)
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        directory = options.packed or made(temporary)
        for native in (True, False):
            rows = Rows(directory, options.split, 0, native)
            count, readers = passes(rows, min(options.rows, rows.count))
            tokens = count * rows.seq_len
            for name, work in readers.items():
                spent = least_time(options.times, work)
                found[f"{rows.reader} {name}"] = tokens / spent
        spent = least_time(options.times, bare_reads(directory, options.split))
        found["bare reads"] = rows.count * rows.seq_len / spent
    if options.json:
        print(json.dumps(found))
    else:
        for name, rate in found.items():
            print(f"{name:16} {rate / 1e6:8.1f} M tokens/s of CPU")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
