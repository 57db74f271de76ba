#!/usr/bin/env python3
"""`pipe trainer fit` and its numbers in `pipe run -n`, with a trainer that follows instructions.

    trainer_fit.py PIPE PIPELINE      the pipeline for CC-100
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# Replaces the interpreter of an environment: records the question, answers, and keeps an answer on request.
FAKE = """#!/usr/bin/env python3
import json, os, sys
words = sys.argv[1:]
with open(os.environ["SAID"], "w") as said:
    json.dump({"words": words, "input": sys.stdin.read()}, said)
if "FAILS" in os.environ:
    sys.exit(print("pipe_trainer.fit: " + os.environ["FAILS"], file=sys.stderr) or int(os.environ["CODE"]))
if "--keep" in words:
    at, mark = (words[words.index(name) + 1] for name in ("--keep", "--mark"))
    os.makedirs(os.path.dirname(at), exist_ok=True)
    with open(at, "w") as kept:
        json.dump({"mark": mark, "answers": {"v3-8": "fits v3-8: 9.97 of 15.48 GiB a device, with micro 4"}}, kept)
print("v3-8 (8 devices on 1 machine)")
"""


def check(good, what):
    if not good:
        raise SystemExit(f"trainer_fit.py: {what}")


class Shop:
    def __init__(self, pipe, pipeline, root):
        self.pipe, self.root = pipe, root
        shutil.copy(pipeline, root / "line.yaml")
        (root / "corpus.txt").write_text("吾輩は猫である\n\n名前はまだ無い\n" * 100)
        (root / "plugins/train").mkdir(parents=True)
        shutil.copy(pipe.parent / "plugins/pipe_train.so", root / "plugins")
        self.lock("jax==1\n")
        self.said = root / "said"

    def lock(self, text):
        (self.root / "plugins/train/requirements-tpu.txt").write_text(text)

    def environment(self, name):
        python = self.root / name / "bin/python"
        python.parent.mkdir(parents=True)
        python.write_text(FAKE)
        python.chmod(0o755)

    def run(self, *words, code, says, **more):
        self.said.unlink(missing_ok=True)
        run = subprocess.run([self.pipe, *words], cwd=self.root, capture_output=True, text=True, timeout=60,
                             env={**os.environ, "PIPE_PLUGINS": str(self.root / "plugins"), "SAID": str(self.said), **more})
        told = f"pipe {' '.join(words)}: exit {run.returncode}\n{run.stdout}{run.stderr}"
        check(run.returncode == code, f"{told}\nexpected exit {code}")
        for part in [says] if isinstance(says, str) else says:
            check(part in run.stdout + run.stderr, f"{told}\nnot said: {part}")
        return json.loads(self.said.read_text()) if self.said.exists() else None

    def told(self, *words):
        run = subprocess.run([self.pipe, *words], cwd=self.root, capture_output=True, text=True, timeout=60,
                             env={**os.environ, "PIPE_PLUGINS": str(self.root / "plugins")})
        return run.stdout + run.stderr

    def fit(self, *words, **more):
        return self.run("trainer", "fit", *words, **more)


SET = ("--set", "corpus=corpus.txt", "--set", "out=out")


def main():
    with tempfile.TemporaryDirectory() as root:
        shop = Shop(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), Path(root).resolve())
        dry = ("run", "-n", "line.yaml", *SET, "--set", "stages.source.text_size=1MB")

        shop.run(*dry, code=0, says="stage 'train': whether it fits a TPU, and how long it takes there: "
                                    "pipe trainer fit line.yaml --set corpus=corpus.txt --set out=out --set "
                                    "stages.source.text_size=1MB --on v3-8")
        shop.fit("line.yaml", *SET, "--on", "v3-8", code=1,
                 says="pipe trainer setup --dir .pipe/trainer-tpu --extra tpu")
        # This machine needs no libtpu, and no answer asks a bucket.
        large = ("--set", "corpus=corpus.txt", "--set", "preset=ja-1b", "--on", "cpu")
        shop.fit("line.yaml", *SET, *large[2:], code=0, says=["cpu (", " rows of 1024 ids a step", " for 20000 steps at best"])
        shop.fit("line.yaml", *large, "--set", "out=gs://shelf/out", code=0, says=" for 20000 steps at best", STORAGE_EMULATOR_HOST="127.0.0.1:1")
        shop.fit("line.yaml", *SET, "--on", "cpu,v3-8", code=1, says=["cpu (", "--extra tpu"])
        shop.run(*dry, "--set", "preset=ja-1b", code=0, says=["stage 'train': on the CPU of this machine (", " at best, ", "take a smaller preset"])
        check("on the CPU of this machine" not in shop.told(*dry, "--set", "preset=tiny"), "a small preset is named")
        shop.environment(".pipe/trainer-tpu")

        asked = shop.fit("line.yaml", *SET, "--on", "v3-8", "--price", "4.5", "--set=preset=ja-1b", code=0, says="v3-8 (8 dev")
        question = json.loads(asked["input"])
        check(question == {"config": {"preset": "ja-1b"}, "seq_len": 1024, "vocab": 32000, "steps": 20000}, question)
        check(asked["words"][:3] == ["-m", "pipe_trainer.fit", "-"], asked)
        check(asked["words"][-4:] == ["--on", "v3-8", "--price", "4.5"], asked)

        # The answer belongs to this question alone.
        shop.run(*dry, "--set", "preset=ja-1b", code=0, says="stage 'train': fits v3-8: 9.97 of 15.48 GiB a device")
        shop.run(*dry, code=0, says="pipe trainer fit line.yaml")
        kept = next((shop.root / ".pipe/fit").iterdir())
        for damaged in ("", "{", "[]", '{"mark": 3}', '{"mark": "", "answers": {"v3-8": "fits"}}', '{"answers": {"v3-8": "fits"}}'):
            kept.write_text(damaged)
            shop.run(*dry, "--set", "preset=ja-1b", code=0, says="pipe trainer fit line.yaml")
        shop.fit("line.yaml", *SET, "--set", "preset=ja-1b", code=0, says="v3-8")
        shop.lock("jax==2\n")
        shop.run(*dry, "--set", "preset=ja-1b", code=0, says="pipe trainer fit line.yaml")

        # If rows exist with the sequence length of the file, their tokenizer gives the size of the vocabulary.
        packed = shop.root / "out/packed"
        packed.mkdir(parents=True)
        for length, vocab in ((1024, 31990), (512, 32000)):
            (packed / "packed.json").write_text(json.dumps({"seq_len": length, "tokenizer": {"vocab_size": 31990}}))
            question = json.loads(shop.fit("line.yaml", *SET, code=0, says="v3-8")["input"])
            check((question["seq_len"], question["vocab"]) == (1024, vocab), question)
        (packed / "packed.json").write_text("{")
        shop.fit("line.yaml", *SET, code=0, says="v3-8")

        job = shop.root / "run.json"
        job.write_text("{}")
        check(shop.fit("run.json", code=0, says="v3-8")["words"] == ["-m", "pipe_trainer.fit", str(job)], "job.json")
        shop.fit("run.json", "--set", "a=b", code=2, says="is no pipeline file")

        shop.fit("line.yaml", *SET, code=1, says="it does not fit v2-8", FAILS="it does not fit v2-8", CODE="1")
        shop.fit("line.yaml", *SET, code=2, says="is no slice of", FAILS="--on v9: is no slice of v2", CODE="64")
        shop.fit("line.yaml", *SET, code=1, says="exit code 78", FAILS="no libtpu", CODE="78")
        shop.fit(code=2, says="pipe trainer fit FILE")
        shop.fit("line.yaml", "two.yaml", code=2, says="pipe trainer fit FILE")
        shop.fit("line.yaml", "--oon", "v3-8", code=2, says="did you mean --on?")
        shop.fit("line.yaml", "--set", "corpus", code=2, says="--set corpus: expected NAME=VALUE")
        shop.fit("line.yaml", *SET, "--set", "presett=x", code=2, says="presett")
        shop.fit("none.yaml", code=2, says="none.yaml: cannot open: No such file or directory\n")
        shop.fit("line.yaml", *SET, "--stage", "tain", code=2, says="has no stage `train` called tain; there are: train")
        (shop.root / "none.yaml").write_text("pipe: 1\nname: n\nstages: { s: { type: files, paths: [corpus.txt] } }\n")
        shop.fit("none.yaml", code=2, says="none.yaml")
    print("a question is asked, its answer kept and shown, and wrong words refused")


if __name__ == "__main__":
    main()
