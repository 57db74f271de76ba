#!/usr/bin/env python3
"""The classifier of pipelines/nsmc.yaml beside the most frequent label and logistic regression, on its split `test`.

    .pipe/trainer/bin/python bench/labelled.py build/release/bin/pipe ratings.tsv.xz [--seeds 5] [--few 1000]
        [--set NAME=VALUE]

For each seed, and for all labels of the training and a few of them: the pipeline as it is, and without the training on
text, so that the same training on labels begins with random weights. Logistic regression reads how often each character
and each pair of characters occurs; its penalty, and whether labels weigh alike, are chosen by macro F1 on the split
`validation`. Prints a line for each, then the means and the paired differences. Everything is fitted in this run.
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
LEAST = 2          # documents of the training with a character or a pair that counts
FEW_STEPS = 200    # on the few labels
sys.path.insert(0, str(ROOT / "plugins/train/python"))

from pipe_trainer.data import labels  # noqa: E402
from pipe_trainer.objectives import label_scores  # noqa: E402
from pipe_trainer.objectives.objective import BY_CLASS  # noqa: E402


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
    sets = (part for one in settings for part in ("--set", one))
    subprocess.run([pipe, "run", file, "--work", file.parent / "work", *sets], check=True, cwd=ROOT,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def scored(pipe, place, data):
    """Returns the scores of the only run below a place."""
    (found,) = place.glob("runs/opinion-*")
    out = place / "scores.json"
    subprocess.run([pipe, "eval", found, data, "--split", "test", "--json", out], check=True, stdout=subprocess.DEVNULL,
                   cwd=ROOT)
    return json.loads(out.read_text(encoding="utf-8"))


def say(name, scores, **more):
    print(json.dumps({"name": name, **more, **{key: round(scores[key], 4) for key in BY_CLASS.metrics}}), flush=True)


def drawn(part, count):
    """Returns so many documents of a part, drawn once."""
    chosen = np.random.default_rng(0).permutation(len(part[0]))[:count]
    return [part[0][one] for one in chosen], part[1][chosen]


def table(path, part):
    lines = [f"{number}\t{text}\t{label}\n" for number, (text, label) in enumerate(zip(*part))]
    path.write_text("id\tdocument\tlabel\n" + "".join(lines), encoding="utf-8")


def files(at):
    """Writes the pipelines by name: with all labels or a few, that begin with the encoder or with random weights."""
    text = PIPELINE.read_text(encoding="utf-8")
    assert all(text.count(part) == 1 for part in (BEGINS, LABELLED, VARS))
    for name, few in (("all", False), ("few", True)):
        made = text + PLAIN + (FEW if few else "")
        if few:
            made = made.replace(LABELLED, LABELLED.replace("tokens", "few_tokens"))
            made = made.replace(VARS, VARS + "  few: few.tsv\n")
        for kind, begins in (("pretrained", BEGINS), ("fresh", BEGINS.replace(", init_from: pretrained", ""))):
            (at / f"{kind}-{name}.yaml").write_text(made.replace(BEGINS, begins), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("pipe", type=Path)
    parser.add_argument("reviews", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--few", type=int, default=1000, help="labels of the training (1000)")
    parser.add_argument("--compare", nargs="+", choices=("all", "few"), default=("all", "few"))
    parser.add_argument("--set", dest="sets", action="append", default=[])
    asked = parser.parse_args()
    pipe = asked.pipe.resolve()
    with tempfile.TemporaryDirectory() as directory:
        at = Path(directory)
        files(at)
        settings = [f"reviews={asked.reviews.resolve()}", f"out={at / 'out'}", f"few={at}/few-*.tsv", *asked.sets]
        subprocess.run([pipe, "run", at / "fresh-all.yaml", "--until", "plain", "--work", at / "work",
                        *(part for one in settings if not one.startswith("few=") for part in ("--set", one))],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT)
        parts = [documents_of(at / "out", split) for split in ("train", "val", "test")]
        few = drawn(parts[0], asked.few)
        for split, part in zip(("train", "validation", "test"), (few, *parts[1:])):
            table(at / f"few-{split}.tsv", part)
        for name in asked.compare:
            compared(pipe, at, name, asked.seeds, [one for one in settings if name == "few" or one[:4] != "few="])
        say("majority", label_scores.majority(np.bincount(parts[0][1]), np.diag(np.bincount(parts[2][1]))))
        say("logistic regression, all", regression(*parts))
        say("logistic regression, few", regression(few, *parts[1:]))


def compared(pipe, at, name, seeds, settings):
    found = {"pretrained": [], "fresh": []}
    for seed in range(seeds):
        for kind, scores in found.items():
            place = at / f"{kind}-{name}-{seed}"
            run(pipe, at / f"{kind}-{name}.yaml", *settings, f"stages.pretrained.seed={seed}",
                f"stages.opinion.seed={seed}", f"stages.opinion.out={place}", f"stages.labelled.out={at / name}",
                *([f"tune={FEW_STEPS}", "stages.opinion.eval_every=50"] if name == "few" else []))
            scores.append(scored(pipe, place, at / name))
            say(f"{kind}, {name}", scores[-1], seed=seed)
    for kind, scores in found.items():
        say(f"{kind}, {name}, mean", {key: statistics.mean(one[key] for one in scores) for key in BY_CLASS.metrics})
    for key in ("balanced_accuracy", "macro_f1"):
        differences = [one[key] - other[key] for one, other in zip(found["pretrained"], found["fresh"])]
        spread = statistics.stdev(differences) / math.sqrt(len(differences)) if len(differences) > 1 else None
        print(json.dumps({"name": f"pretrained less fresh, {name}: {key}",
                          "mean": round(statistics.mean(differences), 4), "standard_error": spread and round(spread, 4),
                          "each": [round(one, 4) for one in differences]}), flush=True)


VARS = "vars:                       # `--set NAME=VALUE` changes one\n"
LABELLED = """    type: write_packed
    input: tokens
    seq_len: 96
    packing: best_fit
"""
PLAIN = """
  plain:                    # for the regression
    type: write_jsonl
    input: docs
    out: "${out}/docs"
"""
FEW = """
  few_source:
    type: download
    url: "${few}"

  few_reviews:
    type: read_rows
    input: few_source
    format: tsv
    text: document
    label: label
    partition: 16MiB
    splits: { train: "few-train*", validation: "few-validation*", test: "few-test*" }

  few_tokens:
    type: encode
    input: few_reviews
    tokenizer: tokenizer
"""

if __name__ == "__main__":
    main()
