#!/usr/bin/env python3
"""`pipe run` from text to the files of a trainer of other people, by a preset. A stand-in has the place of its program
in the checkout: it takes the words of the command, looks for what they name, writes its steps and checkpoints as the
program does, and is killed once.

    preset_run.py PIPE
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "tests/cli"), str(ROOT / "tests/plugins/train")]

import replan_support as support  # noqa: E402

STEPS = 20
STAND_IN = '''
import json, os, signal, sys
sys.path.insert(0, {helpers!r})
from external_trainer import EventWriter
from pathlib import Path

flags = dict(word[2:].split("=", 1) for word in sys.argv[1:])
run = Path(flags["workdir"])
(run / "words.json").write_text(json.dumps(sys.argv[1:]))
name, version = flags["config.dataset_name"].split(":")
data = Path(os.environ["TFDS_DATA_DIR"], name, version)
for needed in (data / "features.json", run / "sentencepiece_model", Path(flags["config"])):
    if not needed.is_file():
        sys.exit(f"{{needed}} is missing")
done = max([int(path.name[11:]) for path in run.glob("checkpoint_[0-9]*")], default=-1)
print(f"continues from {{done}}", flush=True)
events = EventWriter(str(run))
for step in range(done + 1, int(flags["config.num_train_steps"])):
    events.scalar(step, 8 / (step + 1), b"train_loss")
    if step % 10 == 0 or step == int(flags["config.num_train_steps"]) - 1:
        part = run / f"part_{{step}}"
        part.mkdir()
        (part / "state").write_text(f"state at {{step}}")
        part.rename(run / f"checkpoint_{{step}}")
    if step == 12 and os.environ["PIPE_ATTEMPT"] == "1":
        os.kill(os.getpid(), signal.SIGKILL)
'''


def check(good, what):
    if not good:
        raise SystemExit(f"preset_run.py: {what}")


def told(*words):
    ended = subprocess.run([support.PIPE, *map(str, words)], capture_output=True, text=True, timeout=100, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def pipeline(sandbox):
    del sandbox.stages["text"]
    sandbox.source.write_text("\n\n".join(f"猫{number}は庭で{number % 7}回鳴いた。\n犬は眠った。" for number in range(400)))
    sandbox.stages.update({
        "tokenizer": {"type": "train_tokenizer", "input": "docs", "layout": "flax_lm1b", "vocab_size": 300,
                      "byte_fallback": True, "out": str(sandbox.out / "tokenizer")},
        "texts": {"type": "write_tfds", "input": "docs", "name": "texts", "version": "1.0.0", "out": str(sandbox.out)},
        "train": {"type": "train", "plugin": "train", "trainer": "transformer-lm-japanese", "steps": STEPS,
                  "inputs": {"tokenizer": "tokenizer", "data_set": "texts"}, "restarts": 1, "settle": 1,
                  "flags": {"transformer-lm-japanese": {"config.learning_rate": 0.001}},
                  "checkout": str(sandbox.root / "sources"), "prompts": ["猫"], "out": str(sandbox.out)},
    })


def main():
    support.PIPE = str(Path(sys.argv[1]).resolve())
    with support.Sandbox() as sandbox:
        pipeline(sandbox)
        sandbox.write_file()
        code, said = told("validate", sandbox.file)
        check(code == 0 and "trainer transformer-lm-japanese, FookieMonster/transformer-lm-japanese at c1a0fab: python3 "
              "{checkout}/transformer_lm/main.py" in said and "--config.learning_rate=0.001 " in said, said)
        check("does not read prompts" in said, said)
        code, said = told("run", sandbox.file, "--work", sandbox.work)
        check(code == 2 and re.search("sources is no directory: git clone .*FookieMonster/transformer-lm-japanese .* checkout "
                                      "c1a0fab00ca74ce31c458719ca2a2407b76ab3a1", said), said)
        check(not sandbox.out.exists(), "it began without the program")

        configs = sandbox.root / "sources/transformer_lm/configs"
        configs.mkdir(parents=True)
        (configs / "japanese_0.1b_v1.py").write_text("")
        (configs.parent / "main.py").write_text(STAND_IN.format(helpers=str(ROOT / "tests/plugins/train/external")))
        (sandbox.root / "sources/.git").mkdir()
        (sandbox.root / "sources/.git/HEAD").write_text("f" * 40 + "\n")
        code, said = told("run", sandbox.file, "--work", sandbox.work)
        check(code == 0 and "is not at c1a0fab00ca74ce31c458719ca2a2407b76ab3a1" in said, said)
        (directory,) = sandbox.out.glob("runs/*")
        check((directory / "logs/attempt-2.log").read_text().startswith("continues from 10"), "it began anew")
        result = json.loads((directory / "result.json").read_text())
        final = result["final"]
        check(final["step"] == STEPS - 1 and abs(final["loss"] - 8 / STEPS) < 1e-6, result)
        check(result["checkpoint"] == "checkpoints/19", result)
        published = {str(path.relative_to(directory / "export")) for path in (directory / "export").rglob("*") if path.is_file()}
        check({"checkpoint_19/state", "sentencepiece_model"} <= published, published)
        model = (sandbox.out / "tokenizer/tokenizer.model").read_bytes()
        check((directory / "export/sentencepiece_model").read_bytes() == model, "another tokenizer")
        print("the program of a preset finds its data, is killed and goes on: as it should be")

        job = json.loads((directory / "job.json").read_text())
        check(set(job["lineage"]) == {"tokenizer", "data_set"} and "data" not in job, job)
        check("{checkout}/transformer_lm/main.py" in job["external"]["command"], "a directory is in the recipe")
        os.rename(sandbox.root / "sources", sandbox.root / "elsewhere")
        code, said = told("run", sandbox.file, "--work", sandbox.work, "--set",
                          f"stages.train.checkout={sandbox.root / 'elsewhere'}")
        check(code == 0 and len(list(sandbox.out.glob("runs/*"))) == 1, f"the place of the program is in the recipe: {said}")
        code, said = told("run", sandbox.file, "--work", sandbox.work, "--set",
                          f"stages.train.checkout={sandbox.root / 'elsewhere'}", "--set",
                          "stages.train.flags={transformer-lm-japanese: {config.learning_rate: 0.002}}")
        check(code == 0 and len(list(sandbox.out.glob("runs/*"))) == 2, f"another flag is another recipe: {said}")
        print("flags are in the recipe, and places are not: as it should be")


if __name__ == "__main__":
    main()
