"""A SentencePiece model in the layout `pipe`: the words of a few lines, their characters, and the bytes."""

import collections
import functools
import tempfile
from pathlib import Path

import piece_models

LINES = ["猫が鳴く。", "犬が走る。", "猫と犬が庭を走る。", "ファイルを開く。", "ファイルを閉じる。",
         "the cat sleeps", "the dog runs  fast"]
WORDS = ["ファイル", "が", "を", "走る。", "▁", "the", "▁dog", "▁cat"]
VOCAB = 300
INFO = {"bos_id": 1, "eos_id": 2, "layout": "pipe", "model": "tokenizer.model", "model_digest": "0" * 32,
        "newline_id": 4, "pad_id": 0, "unk_id": 3, "vocab_size": VOCAB}


@functools.lru_cache(maxsize=1)
def path():
    characters = collections.Counter("".join(LINES).replace(" ", ""))
    texts = list(dict.fromkeys([*WORDS, *(character for character, _ in characters.most_common())]))
    room = VOCAB - len(piece_models.SPECIAL) - len(piece_models.BYTES)
    model = piece_models.model_of([(text, -1.0 - place / 4) for place, text in enumerate(texts[:room])])
    place = Path(tempfile.mkdtemp(prefix="pipe-tokenizer-"), "tokenizer.model")
    place.write_bytes(model)
    return place
