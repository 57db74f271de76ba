#!/usr/bin/env python3
"""The classifier of pipelines/nsmc.yaml beside the most frequent label and logistic regression, on its split `test`.

    .pipe/trainer/bin/python bench/labelled.py build/release/bin/pipe ratings.tsv.xz [--seeds 5] [--set NAME=VALUE]

For each seed: the pipeline as it is, and without the training on text, so that the same training on labels begins with
random weights. Logistic regression reads how often each character and each pair of characters occurs; its penalty, and
whether labels weigh alike, are chosen by macro F1 on the split `validation`. Prints a line for each, then the means and
the paired difference. Everything is fitted in this run.
"""

import argparse
import collections
import json
import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import scipy.optimize
import scipy.sparse
import scipy.special

ROOT = Path(__file__).resolve().parents[1]
PIPELINE = ROOT / "pipelines/nsmc.yaml"
BEGINS = "inputs: { data: labelled, tokenizer: tokenizer, init_from: pretrained }"
PENALTIES = (0.1, 0.3, 1.0, 3.0, 10.0)
LEAST = 2  # documents of the training with a character or a pair that counts
sys.path.insert(0, str(ROOT / "plugins/train/python"))

from pipe_trainer import label_scores, labels  # noqa: E402


def documents_of(place, split):
    """Returns (texts, numbers of labels) of a split, as the pipeline wrote them."""
    lines = (place / f"docs/{split}.json").read_text(encoding="utf-8").split("\n")[:-1]
    rows = [json.loads(line) for line in lines]
    return [row["text"] for row in rows], np.array([int(row["label"]) for row in rows])


class Counted:
    """Characters and pairs of characters, counted; each document has the length 1."""

    def __init__(self, texts):
        met = collections.Counter(one for text in texts for one in set(self.parts(text)))
        kept = (one for one, count in met.items() if count >= LEAST)
        self.columns = {one: number for number, one in enumerate(sorted(kept))}

    @staticmethod
    def parts(text):
        return [*text, *(text[at:at + 2] for at in range(len(text) - 1))]

    def matrix(self, texts):
        rows, columns, values = [], [], []
        for number, text in enumerate(texts):
            found = collections.Counter(self.columns[one] for one in self.parts(text) if one in self.columns)
            length = math.sqrt(sum(math.log1p(count) ** 2 for count in found.values())) or 1.0
            for column, count in found.items():
                rows.append(number), columns.append(column), values.append(math.log1p(count) / length)
        return scipy.sparse.csr_matrix((values, (rows, columns)), (len(texts), len(self.columns)))


def fitted(matrix, numbers, penalty, alike):
    """Returns a function from a matrix to answers: logistic regression for two labels."""
    signs = 2.0 * numbers - 1
    shares = np.bincount(numbers, minlength=2) / len(numbers)
    weights = 1 / (2 * shares[numbers]) if alike else np.ones(len(numbers))

    def cost(values):
        margins = signs * (matrix @ values[:-1] + values[-1])
        slopes = -signs * weights * scipy.special.expit(-margins)
        return (weights @ np.logaddexp(0, -margins) + 0.5 * penalty * values[:-1] @ values[:-1],
                np.append(matrix.T @ slopes + penalty * values[:-1], slopes.sum()))
    found = scipy.optimize.minimize(cost, np.zeros(matrix.shape[1] + 1), jac=True, method="L-BFGS-B").x
    return lambda other: (other @ found[:-1] + found[-1] > 0).astype(int)


def confusion(numbers, answers):
    found = np.zeros((2, 2), np.int64)
    np.add.at(found, (numbers, answers), 1)
    return found


def regression(train, validation, test):
    counted = Counted(train[0])
    matrices = [counted.matrix(part[0]) for part in (train, validation, test)]
    tried = [(fitted(matrices[0], train[1], penalty, alike), penalty, alike)
             for penalty in PENALTIES for alike in (False, True)]
    best, penalty, alike = max(tried, key=lambda one: label_scores.score(
        confusion(validation[1], one[0](matrices[1])))["macro_f1"])
    found = label_scores.score(confusion(test[1], best(matrices[2])))
    return {**found, "features": len(counted.columns), "penalty": penalty, "alike": alike}


def run(pipe, file, *settings):
    subprocess.run([pipe, "run", file, *(part for one in settings for part in ("--set", one))], check=True,
                   stdout=subprocess.DEVNULL)


def scored(pipe, place, data):
    """Returns the scores of the only run below a place."""
    (found,) = sorted(place.glob("runs/opinion-*"))
    out = place / "scores.json"
    subprocess.run([pipe, "eval", found, data, "--split", "test", "--json", out], check=True, stdout=subprocess.DEVNULL)
    return json.loads(out.read_text(encoding="utf-8"))


def say(name, scores, **more):
    print(json.dumps({"name": name, **more, **{key: round(scores[key], 4) for key in labels.METRICS}}), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("pipe", type=Path)
    parser.add_argument("reviews", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--set", dest="sets", action="append", default=[])
    asked = parser.parse_args()
    pipe = asked.pipe.resolve()
    text = PIPELINE.read_text(encoding="utf-8")
    assert text.count(BEGINS) == 1
    with tempfile.TemporaryDirectory() as directory:
        at = Path(directory)
        (at / "nsmc.yaml").write_text(text + JSONL, encoding="utf-8")
        (at / "fresh.yaml").write_text(text.replace(BEGINS, BEGINS.replace(", init_from: pretrained", "")),
                                       encoding="utf-8")
        found = {"pretrained": [], "fresh": []}
        for seed in range(asked.seeds):
            for name, file in (("pretrained", "nsmc.yaml"), ("fresh", "fresh.yaml")):
                place = at / f"{name}{seed}"
                run(pipe, at / file, f"reviews={asked.reviews.resolve()}", f"out={at / 'out'}",
                    f"stages.pretrained.seed={seed}", f"stages.opinion.seed={seed}", f"stages.opinion.out={place}",
                    *asked.sets)
                found[name].append(scored(pipe, place, at / "out/labelled"))
                say(name, found[name][-1], seed=seed)
        parts = [documents_of(at / "out", split) for split in ("train", "val", "test")]
    say("majority", label_scores.majority(np.bincount(parts[0][1]), np.diag(np.bincount(parts[2][1]))))
    say("logistic regression", regression(*parts))
    for name, scores in found.items():
        say(f"{name}, mean", {key: statistics.mean(one[key] for one in scores) for key in labels.METRICS})
    for key in ("balanced_accuracy", "macro_f1"):
        differences = [one[key] - other[key] for one, other in zip(found["pretrained"], found["fresh"])]
        spread = statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else None
        print(json.dumps({"name": f"pretrained less fresh: {key}", "mean": round(statistics.mean(differences), 4),
                          "standard_error": spread and round(spread, 4),
                          "each": [round(one, 4) for one in differences]}))


JSONL = """
  plain:                    # for the regression
    type: write_jsonl
    input: docs
    out: "${out}/docs"
"""

if __name__ == "__main__":
    main()
