"""A SentencePiece model in the layout `pipe`, trained here once per process from a few lines."""

import functools
import tempfile
from pathlib import Path

LINES = ["猫が鳴く。", "犬が走る。", "猫と犬が庭を走る。", "ファイルを開く。", "ファイルを閉じる。",
         "the cat sleeps", "the dog runs  fast"]
VOCAB = 300
INFO = {"bos_id": 1, "eos_id": 2, "layout": "pipe", "model": "tokenizer.model", "model_digest": "0" * 32,
        "newline_id": 4, "pad_id": 0, "unk_id": 3, "vocab_size": VOCAB}


@functools.lru_cache(maxsize=1)
def path():
    import sentencepiece

    directory = tempfile.mkdtemp(prefix="pipe-tokenizer-")
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES * 20), model_prefix=f"{directory}/tokenizer", vocab_size=VOCAB,
        byte_fallback=True, pad_id=0, bos_id=1, eos_id=2, unk_id=3, user_defined_symbols=["\n"],
        normalization_rule_name="identity", add_dummy_prefix=False, remove_extra_whitespaces=False,
        character_coverage=1.0, hard_vocab_limit=False, minloglevel=2)
    return Path(directory, "tokenizer.model")
