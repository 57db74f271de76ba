"""pipelines/bert_ja.yaml from the quick start's text to an encoder that predicts masked ids better than their unigram.

    masked_pipeline.py PIPE CORPUS ENVIRONMENT [SEEDS]    SEEDS: how many runs, for the gate
"""

import json
import sys
import tempfile
from pathlib import Path

from labelled_pipeline import check, told

SMALL = {"vocab_size": 2000, "validation": 0.03, "seq_len": 24, "steps": 120, "stages.train.eval_every": 0,
         "stages.train.config": "{ preset: tiny-masked, objective: { name: next_sentence }, batch: { rows: 64 } }"}
LEAST = 0.2  # nats for each masked id below the unigram; four seeds had 0.28 to 0.32

MOST = 0.6  # nats for an answer about the next sentence: a head that learns nothing has 0.69, the shares of the answers 0.52


def one(pipe, corpus, environment, at, seed):
    settings = {**SMALL, "corpus": corpus, "out": at / f"out{seed}", "stages.train.environment": environment,
                "stages.train.seed": seed}
    told(pipe, "run", "pipelines/bert_ja.yaml", "--until", "train", "--work", at / f"work{seed}",
         *(part for name, value in settings.items() for part in ("--set", f"{name}={value}")))
    (run,) = (at / f"out{seed}/runs").glob("train-*")
    result = json.loads((run / "result.json").read_text())
    loss, unigram = result["final"]["loss"], result["baselines"]["unigram"]["nats_per_token"]
    print(f"seed {seed}: {loss:.3f} nats, {unigram - loss:.3f} below the unigram", flush=True)
    check(unigram - loss >= LEAST, f"it learned to predict hidden ids: {result}")
    answer = result["final"]["next_sentence_loss"]
    print(f"seed {seed}: {answer:.3f} nats for an answer about the next sentence", flush=True)
    check(answer <= MOST, f"it learned whether sentences follow: {result}")
    architectures = json.loads((run / "export/config.json").read_text())["architectures"]
    check(architectures == ["BertForPreTraining"], f"it is exported: {architectures}")


def main(pipe, corpus, environment, seeds="1"):
    with tempfile.TemporaryDirectory() as directory:
        for seed in range(int(seeds)):
            one(pipe, corpus, environment, Path(directory), seed)


if __name__ == "__main__":
    main(*sys.argv[1:])
