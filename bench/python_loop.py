#!/usr/bin/env python3
"""The loop that a user writes without us: xz, NFKC, ids, rows, by a pool of processes. Needs the package
`sentencepiece`.

    python_loop.py TEXT.xz TOKENIZER.model SEQ_LEN OUT PROCESSES     prints the number of ids

The parent decompresses and writes. Lines are normalised and stripped; each line with text ends with eos, others are
dropped. The rows go to OUT as int32, which is less work than the framed and indexed rows of `write_packed`.
"""

import array
import lzma
import multiprocessing
import sys
import unicodedata

import sentencepiece

LINES_AT_ONCE = 2000
processor = None


def load(model):
    global processor
    processor = sentencepiece.SentencePieceProcessor(model_file=model)


def encode(lines):
    """Returns the ids of the lines with text, each with its eos. Collects them in a list, as the package makes them."""
    clean = (" ".join(unicodedata.normalize("NFKC", line).split()) for line in lines)
    made = []
    for ids in processor.encode([line for line in clean if line]):
        made += ids
        made.append(processor.eos_id())
    return array.array("i", made)


def chunks(path):
    with lzma.open(path, "rt", encoding="utf-8", newline="\n") as text:
        held = []
        for line in text:
            held.append(line)
            if len(held) == LINES_AT_ONCE:
                yield held
                held = []
        yield held


def main(text, model, seq_len, out, processes):
    total, rest = 0, array.array("i")
    with multiprocessing.Pool(processes, load, (model,)) as pool, open(out, "wb") as rows:
        for ids in pool.imap(encode, chunks(text)):
            total += len(ids)
            rest.extend(ids)
            first = 0
            while len(rest) - first > seq_len:
                rest[first:first + seq_len + 1].tofile(rows)  # the last id of a row is the first of the next
                first += seq_len
            rest = rest[first:]
    print(total)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], int(sys.argv[5]))
