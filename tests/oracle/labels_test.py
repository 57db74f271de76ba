#!/usr/bin/env python3
"""Tables of reviews through the Korean pipeline, read back with tensorflow_datasets: texts, numbers, names, splits.

    labels_test.py PIPE PIPELINE
"""

import lzma
import os
import random
import re
import sys
import tempfile
import unicodedata
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True
from program import ran, told

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
SPACE = re.compile("[\x00-\x20\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+")
JAMO = re.compile("([\u3131-\u318e])")  # the pipeline keeps these
ROWS = 4000


def reviews(seed):
    """(text, label) of each row; some with quotes, single jamo, odd spaces, or no text."""
    chance = random.Random(seed)
    syllables = [chr(code) for code in range(0xac00, 0xd7a4, 7)]
    for number in range(ROWS):
        text = "".join(chance.choices([*syllables, " "], k=chance.randrange(1, 40)))
        text += chance.choice(['"', '""', "\u1112\u1161\u11ab", " \u3000", "ㅋㅋㅋ", "", "ｗｏｗ"]) + str(number)
        yield (text if chance.random() > 0.005 else ""), chance.choice("0111")


def cleaned(rows):
    wanted = Counter()
    for text, label in rows:
        kept = "".join(part if JAMO.fullmatch(part) else unicodedata.normalize("NFKC", part) for part in JAMO.split(text))
        clean = SPACE.sub(" ", kept).strip(" ")
        if clean:
            wanted[clean, label] += 1
    return wanted


def main(pipe, pipeline):
    import tensorflow_datasets as tfds

    tables = {name: list(reviews(seed)) for seed, name in enumerate(("train", "test"), 3)}
    wanted = {name: cleaned(rows) for name, rows in tables.items()}
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        settings = []
        for name, rows in tables.items():
            table = "id\tdocument\tlabel\n" + "".join(f"{at}\t{text}\t{label}\n"
                                                      for at, (text, label) in enumerate(rows))
            path = root / f"ratings_{name}.txt.xz"
            path.write_bytes(lzma.compress(table.encode()))
            settings += ["--set", f"{name}={path}"]
        ran(pipe, "run", pipeline, "--work", root / "work", *settings, "--set", f"out={root / 'out'}", "--until", "text")
        made = root / "out" / "nsmc" / "1.0.0"
        builder = tfds.builder_from_directory(str(made))
        label = builder.info.features["label"]
        problems = []
        if type(label).__name__ != "ClassLabel" or label.names != ["0", "1"]:
            problems.append(f"label is {label}")
        found = {}
        for split, info in builder.info.splits.items():
            examples = list(builder.as_dataset(split=split).as_numpy_iterator())
            if len(examples) != info.num_examples:
                problems.append(f"{split}: {len(examples)} examples, dataset_info.json counts {info.num_examples}")
            found[split] = Counter((one["text"].decode(), label.int2str(int(one["label"]))) for one in examples)
        if set(builder.info.splits) != {"train", "test"}:
            problems.append(f"splits are {list(builder.info.splits)}; kc-moe reads train and test alone")
        for name, rows in wanted.items():
            if found[name] != rows:
                problems.append(f"{name}: missing {list((rows - found[name]).items())[:5]}, "
                                f"extra {list((found[name] - rows).items())[:5]}")
    return told(problems, f"{sum(map(Counter.total, found.values()))} reviews with their labels, by name")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
