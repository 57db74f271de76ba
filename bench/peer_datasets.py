#!/usr/bin/env python3
"""The chain that users of `datasets` and `tokenizers` write: xz, NFKC, ids, rows of 1,024.

    peer_datasets.py TEXT.xz TOKENIZER.model PLACE PROCESSES     prints the number of ids
"""

import shutil
import sys
from itertools import chain

import datasets

import peer_tokenizer

SEQ_LEN = 1024
END = 2  # an id behind each line; only the number of ids is compared
tokenizer = None


def rows(batch, model):
    """Returns rows of ids, without the rest of the batch, as the examples of transformers do."""
    global tokenizer
    if tokenizer is None:
        tokenizer = peer_tokenizer.of_model(model)
    lines = [line for line in map(str.strip, batch["text"]) if line]
    ids = list(chain.from_iterable(one.ids + [END] for one in tokenizer.encode_batch(lines)))
    whole = len(ids) // SEQ_LEN * SEQ_LEN
    return {"input_ids": [ids[first:first + SEQ_LEN] for first in range(0, whole, SEQ_LEN)]}


def main(text, model, place, processes):
    shutil.rmtree(place, ignore_errors=True)
    lines = datasets.load_dataset("text", data_files=text, split="train", cache_dir=place)
    made = lines.map(rows, batched=True, batch_size=10_000, num_proc=processes, remove_columns=["text"],
                     fn_kwargs={"model": model})
    print(len(made) * SEQ_LEN)
    shutil.rmtree(place)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
