#!/usr/bin/env python3
"""`pipe run` from text to a model of torch_lm.py, the example of `trainer: external` in PyTorch: it is killed and goes
on, ends with the bytes of a run that was not killed, and learns.

    torch_run.py PIPE
"""

import json
import math
import os
import random
import signal
import struct
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "tests/cli"), str(ROOT / "tests/plugins/train")]

import replan_support as support  # noqa: E402
import train_run  # noqa: E402

STEPS, EVERY = 120, 20


def check(good, what):
    if not good:
        raise SystemExit(f"torch_run.py: {what}")


def text(seed=5):
    """Sentences in which each word depends on the one before."""
    draw = random.Random(seed)
    people, things, verbs = ("猫", "犬", "先生", "学生"), ("本", "魚", "手紙"), {"本": "読む", "魚": "食べる", "手紙": "書く"}
    end = {"猫": "ニャー", "犬": "ワン", "先生": "です", "学生": "だよ"}
    documents = []
    for _ in range(400):
        lines = []
        for _ in range(8):
            person, thing = draw.choice(people), draw.choice(things)
            lines.append(f"{person}は{thing}を{verbs[thing]}{end[person]}。")
        documents.append("\n".join(lines) + "\n\n")
    return "".join(documents)


def unigram(directory):
    """The loss in nats of a model that knows only how often each id occurs among the rows that are held out."""
    packed = json.loads((directory / "packed.json").read_text())
    counts = Counter()
    for shard in packed["splits"]["validation"]["shards"]:
        rows = struct.iter_unpack(f"<{packed['seq_len'] + 1}H", (directory / shard["object"]).read_bytes())
        index = struct.iter_unpack("<QIII", (directory / shard["index"]).read_bytes())
        for row, (_, length, _, _) in zip(rows, index):
            counts.update(row[1:length])
    total = sum(counts.values())
    return -sum(n / total * math.log(n / total) for n in counts.values())


def pipeline(sandbox):
    del sandbox.stages["text"]
    sandbox.source.write_text(text())
    sandbox.stages.update({
        "tokenizer": {"type": "train_tokenizer", "input": "docs", "vocab_size": 300, "byte_fallback": True,
                      "out": str(sandbox.out / "tokenizer")},
        "tokens": {"type": "encode", "input": "docs", "tokenizer": "tokenizer"},
        "packed": {"type": "write_packed", "input": "tokens", "seq_len": 32, "encoding": "raw16",
                   "out": str(sandbox.out / "packed")},
        "train": {"type": "train", "plugin": "train", "inputs": {"data": "packed", "tokenizer": "tokenizer"},
                  "trainer": "external", "steps": STEPS, "log_every": 10, "restarts": 1,
                  "command": ["/usr/bin/python3", str(ROOT / "plugins/train/external/torch_lm.py"), "--data", "{data}",
                              "--out", "{run_dir}", "--steps", "{steps}", "--seed", "{seed}", "--save-every", str(EVERY)],
                  "recognise": {"step": "step ([0-9]+) loss", "loss": "loss ([0-9.]+)",
                                "checkpoint": {"directory": "checkpoints", "step": "step-([0-9]+)", "commit": "state.pt"}},
                  "success": ["model.pt", "metrics.json"], "out": str(sandbox.out)},
    })


def events(directory):
    path = directory / "events.jsonl"
    return [json.loads(line) for line in support.read(path).splitlines() if line.endswith("}")]


def killed(sandbox):
    """Runs the pipeline, and kills the program once, after its first checkpoint."""
    sandbox.write_file()
    process = subprocess.Popen([support.PIPE, "run", str(sandbox.file), "--work", str(sandbox.work)], cwd=sandbox.root,
                               stderr=subprocess.PIPE, text=True)
    end, victim = time.monotonic() + 90, None
    while victim is None and time.monotonic() < end and process.poll() is None:
        for directory in sandbox.out.glob("runs/*"):
            if any(event["kind"] == "ckpt_commit" for event in events(directory)):
                victim = next(iter(train_run.trainers_of(directory, "program")), None)
        time.sleep(0.02)
    check(victim, process.poll() is None or process.communicate()[1])
    os.kill(int(victim), signal.SIGKILL)
    _, err = process.communicate(timeout=90)
    check(process.returncode == 0, err)
    (directory,) = sandbox.out.glob("runs/*")
    log = (directory / "logs/attempt-2.log").read_text()
    check(log.startswith("continues from step "), log[:200])
    check("starting it again" in err and int(log.split()[3]) >= EVERY, err)
    return directory


def main():
    support.PIPE = str(Path(sys.argv[1]).resolve())
    os.environ["OMP_NUM_THREADS"] = "1"
    with support.Sandbox() as sandbox:
        pipeline(sandbox)
        first = killed(sandbox)
        result = json.loads((first / "result.json").read_text())
        check(result["final"]["step"] == STEPS and result["checkpoint"] == f"checkpoints/{STEPS}", result)
        metrics = json.loads((first / "export/metrics.json").read_text())
        baseline = unigram(sandbox.out / "packed")
        print(f"held out: {metrics['validation_loss']:.3f} nats, unigram {baseline:.3f}")
        check(metrics["validation_loss"] < baseline - 1, "it learned nothing from the context")
        print("a program that is killed goes on: as it should be")

        # Another work directory: in this one, the model would be copied.
        sandbox.stages["train"]["out"], sandbox.work = str(sandbox.root / "undisturbed"), sandbox.root / "other-work"
        sandbox.ok(timeout=150)
        (second,) = (sandbox.root / "undisturbed/runs").iterdir()
        check([path.name for path in second.glob("logs/attempt-*")] == ["attempt-1.log"], "it was not trained once")
        for name in ("model.pt", "metrics.json"):
            check((first / "export" / name).read_bytes() == (second / "export" / name).read_bytes(), f"{name} differs")
        print("the same bytes as without the kill: as it should be")


if __name__ == "__main__":
    main()
