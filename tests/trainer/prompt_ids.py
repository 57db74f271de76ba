#!/usr/bin/env python3
"""A prompt gets the same ids as the text in the stage `encode`, with models in which most segmentations of a line have
the same score; there versions of SentencePiece differ. Works with any Python.

    prompt_ids.py PIPE LIBPIPE_PIECES
"""

import itertools
import json
import os
import random
import subprocess
import sys
import tempfile
from array import array
from pathlib import Path

import piece_models
import places  # noqa: F401
from piece_models import BPE, EOS, NEWLINE, UNIGRAM

LINES = 2000
SEQ_LEN = 1 << 17  # more than the ids of all lines


def ties(longest, score):
    """(text, score) for every text of one to `longest` letters, out of three letters."""
    texts = ["".join(letters) for size in range(1, longest + 1) for letters in itertools.product("ab▁", repeat=size)]
    return [(text, score(text)) for text in texts]


MODELS = {
    # The score of a segmentation depends only on its length in letters: all segmentations of a line are equal, except
    # for the last bit of sums of 0.1. SentencePiece 0.1 and 0.2 add in different orders: two lines in three would
    # differ.
    "unigram of tenths": (ties(4, lambda text: -0.1 * len(text)), UNIGRAM),
    "unigram of thirds": (ties(4, lambda text: -len(text) / 3), UNIGRAM),
    # The number of pieces decides, whichever they are.
    "unigram of one score": (ties(3, lambda text: -1.0), UNIGRAM),
    # All merges have one score: where they overlap, the first or the last may win.
    "bpe": (ties(4, lambda text: -1.0), BPE),
}


def lines():
    make = random.Random(7)
    return ["a" + "".join(make.choices("aab b猫Ω", k=make.randrange(1, 40))) for _ in range(LINES)]


def check(good, what):
    if not good:
        raise SystemExit(f"prompt_ids.py: {what}")


def encoded(pipe, root, text):
    """The ids that the program's own stages make of each line; one row has them all."""
    (root / "corpus.txt").write_text("\n".join(text) + "\n")
    model = str(root / "tokenizer.model")
    file = {"pipe": 1, "name": "ties", "stages": {
        "source": {"type": "download", "url": str(root / "corpus.txt")},
        "lines": {"type": "decompress", "input": "source"},
        "docs": {"type": "split", "input": "lines", "splits": {"train": "rest"}},
        "tokens": {"type": "encode", "input": "docs", "tokenizer": model},
        "packed": {"type": "write_packed", "input": "tokens", "seq_len": SEQ_LEN, "encoding": "raw16", "shards": 1,
                   "tokenizer": model, "out": str(root / "packed")}}}
    (root / "ties.yaml").write_text(json.dumps(file))
    run = subprocess.run([pipe, "run", root / "ties.yaml", "--work", root / "work"], capture_output=True, text=True)
    check(run.returncode == 0, run.stderr)
    shard, = (root / "packed").glob("train-*.bin")
    ids, found = array("H", shard.read_bytes()), [[]]
    for token in ids[1:ids.tolist().index(EOS, 1) + 1]:
        if token in (EOS, NEWLINE):
            found.append([])
        else:
            found[-1].append(token)
    return found[:-1]


def main():
    pipe = Path(sys.argv[1]).absolute()
    os.environ["PIPE_PIECES_LIBRARY"] = str(Path(sys.argv[2]).absolute())
    from pipe_trainer.data.text import Text
    text = lines()
    for name, (pieces, kind) in MODELS.items():
        with tempfile.TemporaryDirectory() as root:
            model = Path(root, "tokenizer.model")
            model.write_bytes(piece_models.model_of(pieces, kind))
            wanted = encoded(pipe, Path(root), text)
            check(len(wanted) == len(text), f"{name}: {len(wanted)} lines of {len(text)}")
            prompts = Text(model, {"eos_id": EOS, "newline_id": NEWLINE})
            for line, ids in zip(text, wanted):
                check(prompts.prompt_ids(line) == [EOS, *ids], f"{name}: {line!r}: {prompts.prompt_ids(line)}, and "
                                                              f"`encode` gives {ids}")
                check(prompts.text_of(ids) == line, f"{name}: {line!r} comes back as {prompts.text_of(ids)!r}")
            whole = [token for ids in wanted for token in [*ids, NEWLINE]][:-1]
            check(prompts.prompt_ids("\n".join(text)) == [EOS, *whole], f"{name}: all lines as one prompt")
            print(f"{name}: {len(text)} lines, {sum(map(len, wanted))} ids of {len(pieces)} pieces, the same")


if __name__ == "__main__":
    main()
