"""Small models with experts, for tests."""

import places  # noqa: F401

from pipe_trainer import config

LENGTH, VOCAB = 32, 61
SHAPE = config.Model(family="t5", layers=2, d=32, heads=4, ff=48, vocab=VOCAB + 10, seq_len=LENGTH, tied=False,
                     experts=4, expert_every=2).complete()
PAIRS = {"model": {"family": "t5", "layers": 2, "d": 32, "heads": 2, "kv_heads": None, "ff": 64, "tied": False,
                   "experts": 4, "expert_every": 2},
         "objective": {"name": "spans", "share": 0.25, "sentinel": VOCAB + 9, "sentinels": 10}}
