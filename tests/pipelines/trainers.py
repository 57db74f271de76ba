#!/usr/bin/env python3
"""Each file in pipelines/ that ends in a stage `train`, with the bundled trainer and with the preset that it is made
for: it has no mistake, and the training reads the artifacts of that trainer and no others. shipped.py plans both.

    trainers.py PIPE
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

ROWS = {"tokenizer", "packed"}
# {file: {trainer: the stages that the training reads}}
TRAINERS = {
    "cc100_ja": {"bundled": ROWS, "transformer-lm-japanese": {"tokenizer", "text"}},
    "wiki40b_ja": {"bundled": ROWS, "transformer-lm-japanese": {"tokenizer", "text"}},
    "lm1b": {"bundled": ROWS, "transformer-lm-japanese": {"tokenizer", "text"}},
    "bert_ja": {"bundled": {"tokenizer", "examples"}, "bert": {"examples"}},
    "jestimator_bert": {"bundled": ROWS, "jestimator": {"ids"}},
    "kc_moe": {"bundled": ROWS, "kc-moe": {"text"}},
    "kc_moe_nsmc": {"bundled": {"tokenizer", "labelled", "pretrained"}},
    "ttt_tweets": {"bundled": {"tokenizer", "labelled", "pretrained"}, "ttt": {"classification"}},
    "maxtext": {"bundled": ROWS, "maxtext": {"packed"}},
    "quickstart": {"bundled": ROWS},
}
OTHERS = {"nsmc"}  # its two trainings are ours, and have other names


def words_for(trainer):
    return ["--set", f"trainer={trainer}"] if trainer != "bundled" else []


def check(good, what):
    if not good:
        raise SystemExit(f"trainers.py: {what}")


def main(pipe):
    def told(*words):
        ended = subprocess.run([pipe, *words], cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
        check(ended.returncode == 0, f"{' '.join(words)}: exit code {ended.returncode}\n{ended.stderr}")
        return ended.stdout + ended.stderr

    names = {path.stem for path in (ROOT / "pipelines").glob("*.yaml")}
    check(names == {*TRAINERS, *OTHERS}, f"not the pipelines that this test knows: {sorted(names)}")
    for name, trainers in TRAINERS.items():
        for trainer, reads in trainers.items():
            said = told("validate", f"pipelines/{name}.yaml", *words_for(trainer))
            shown = re.search(r"trainer ([\w-]+), \S+ at [0-9a-f]{7}: python3 \S+", said)
            check(shown and shown[1] == trainer if trainer != "bundled" else not shown, f"{name} with {trainer}: {said}")
            edges = re.findall(r'"([\w-]+)" -> "train"', told("graph", f"pipelines/{name}.yaml", "--format", "dot",
                                                               *words_for(trainer)))
            check(set(edges) == reads, f"{name}: {trainer} reads {sorted(edges)}, and not {sorted(reads)}")
    print(f"{sum(map(len, TRAINERS.values()))} trainings read what they need: as it should be")


if __name__ == "__main__":
    main(*sys.argv[1:])
