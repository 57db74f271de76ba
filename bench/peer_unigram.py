#!/usr/bin/env python3
"""A tokenizer of the type unigram by two other trainers, from text that is cut by spaces, and a measure of tokenizers.

    peer_unigram.py sentencepiece CUT MODEL     trains MODEL on CUT, a text per line with spaces between its words
    peer_unigram.py tokenizers CUT MODEL
    peer_unigram.py bits KIND MODEL LINES       prints bits per character of LINES

KIND `sentencepiece`: a .model file, else a tokenizer.json. The measure: each second line of LINES counts how frequent
an id is, with 1/2 added to each; the other lines are scored with these frequencies. Spaces are no characters.
"""

import collections
import math
import os
import sys

VOCABULARY = 32_000
BYTES = 256  # pieces for characters without a piece of their own


def by_sentencepiece(cut, model):
    import sentencepiece
    sentencepiece.SentencePieceTrainer.train(
        input=cut, model_prefix=model.removesuffix(".model"), model_type="unigram", vocab_size=VOCABULARY,
        byte_fallback=True, normalization_rule_name="identity", num_threads=os.cpu_count(), minloglevel=2,
        max_sentence_length=1 << 20)  # longer lines are left out


def by_tokenizers(cut, model):
    import json

    from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    made = Tokenizer(models.Unigram())
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    made.train([cut], trainers.UnigramTrainer(vocab_size=VOCABULARY - BYTES, unk_token="<unk>", special_tokens=["<unk>"],
                                              show_progress=False))
    pieces = [tuple(piece) for piece in json.loads(made.to_str())["model"]["vocab"]]
    # Its trainer makes no bytes; without them an unknown character would cost nothing.
    worst = min(score for _, score in pieces)
    pieces += [(f"<0x{byte:02X}>", worst) for byte in range(BYTES)]
    made.model = models.Unigram(pieces, 0, byte_fallback=True)
    made.save(model)


def encoder(kind, model):
    """Returns a function from lines to lists of ids, and the number of ids."""
    if kind == "sentencepiece":
        import sentencepiece
        loaded = sentencepiece.SentencePieceProcessor(model_file=model)
        return loaded.encode, len(loaded)
    from tokenizers import Tokenizer
    loaded = Tokenizer.from_file(model)
    return lambda lines: [one.ids for one in loaded.encode_batch(lines)], loaded.get_vocab_size()


def bits(kind, model, path):
    with open(path, encoding="utf-8") as file:
        lines = [line for line in file.read().split("\n") if line.strip()]
    encode, size = encoder(kind, model)
    ids = encode(lines)
    counts = collections.Counter(one for line in ids[::2] for one in line)
    whole = math.log2(sum(counts.values()) + size / 2)
    total = sum(whole - math.log2(counts[one] + 0.5) for line in ids[1::2] for one in line)
    return total / sum(not character.isspace() for line in lines[1::2] for character in line)


if __name__ == "__main__":
    if sys.argv[1] == "bits":
        print(bits(*sys.argv[2:]))
    else:
        {"sentencepiece": by_sentencepiece, "tokenizers": by_tokenizers}[sys.argv[1]](*sys.argv[2:])
