"""pipelines/nsmc.yaml from a table to a classifier that `pipe eval` scores and `pipe predict` uses, on labels that this
test makes: whether a sentence of the quick start's text has a word of four katakana.

    labelled_pipeline.py PIPE CORPUS ENVIRONMENT
"""

import json
import lzma
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WORD = re.compile("[ァ-ヴー]{4,}")
SENTENCES = 6000
SMALL = {"vocab": 2000, "pretrain": 60, "tune": 300, "stages.text.seq_len": 64, "stages.labelled.seq_len": 64}
LEAST = 0.85  # macro F1; the most frequent label alone has 0.41


def sentences(corpus):
    with lzma.open(corpus, "rt", encoding="utf-8") as lines:
        found = [one for line in lines for one in re.split("(?<=。)", line.strip()) if 12 <= len(one) <= 60]
    return list(dict.fromkeys(one.replace("\t", " ") for one in found))[:SENTENCES]


def told(pipe, *command, **more):
    done = subprocess.run([pipe, *map(str, command)], capture_output=True, check=False, cwd=ROOT, **more)
    if done.returncode:
        raise SystemExit(f"pipe {' '.join(map(str, command))}: {done.returncode}\n{done.stdout.decode()[-2000:]}\n"
                         f"{done.stderr.decode()[-4000:]}")
    return done.stdout.decode()


def check(condition, what):
    if not condition:
        raise SystemExit(f"labelled_pipeline.py: it does not hold that {what}")


def main(pipe, corpus, environment):
    with tempfile.TemporaryDirectory() as directory:
        at = Path(directory)
        rows = [f"{number}\t{text}\t{int(bool(WORD.search(text)))}\n" for number, text in enumerate(sentences(corpus))]
        (at / "reviews.txt").write_text("id\tdocument\tlabel\n" + "".join(rows), encoding="utf-8")
        settings = {**SMALL, "reviews": at / "reviews.txt", "out": at / "out",
                    "stages.pretrained.environment": environment, "stages.opinion.environment": environment}
        told(pipe, "run", "pipelines/nsmc.yaml", "--work", at / "work",
             *(part for name, value in settings.items() for part in ("--set", f"{name}={value}")))
        (run,) = (at / "out/runs").glob("opinion-*")
        result = json.loads((run / "result.json").read_text())
        best = max(result["best"]["macro_f1"], result["final"]["macro_f1"])
        check(result["best"]["macro_f1"] == best, f"the best evaluation is kept: {result}")

        scored = at / "scores.json"
        said = told(pipe, "eval", at / "out", at / "out/labelled", "--split", "test", "--environment", environment,
                    "--json", scored)
        found, majority = json.loads(scored.read_text()), result["baselines"]["majority"]
        print(f"macro F1 {found['macro_f1']:.3f}, balanced accuracy {found['balanced_accuracy']:.3f}; the most frequent "
              f"label has {majority['macro_f1']:.3f} and {majority['balanced_accuracy']:.3f}", flush=True)
        check(found["macro_f1"] >= LEAST, f"it learned the labels: {said}")
        check(len(found["mistakes"]) == 20 and f"{found['macro_f1']:.4f}  macro F1" in said, f"it shows them: {said}")

        lines = "コンピューターを使います。\n猫が庭を走ります。\n"
        answers = told(pipe, "predict", at / "out", "--environment", environment, input=lines.encode()).splitlines()
        check([line.split("\t")[0] for line in answers] == ["1", "0"], f"it labels new lines: {answers}")


if __name__ == "__main__":
    main(*sys.argv[1:])
