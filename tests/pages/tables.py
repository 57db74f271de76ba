"""What the test of pages knows about their commands: programs of others, commands that are only parsed, smaller settings,
and how a page's places are those of the test."""

import json
import re
# Programs that a page names and the test does not start. `./dev` and scripts of the project have tests of their own;
# the others belong to other people, or make the places of a page, which the test makes itself.
PROGRAMS_OF_OTHERS = {
    "./dev": "the project's own tool: CI and `./dev fresh` run it",
    "cmake": "builds and installs the program: packaging.packages",
    "build/dev/bin/tests_dag": "a suite of the project's tests",
    "git": "clones a repository",
    ".": "goes into an environment",
    "pip": "installs the wheel: packaging.packages runs README's lines",
    "tar": "unpacks the folder: packaging.packages runs README's lines",
    "cd": "the test has a directory for each page",
    "export": "the test has the program in its PATH",
    "sleep": "a loop around another program",
    "python3": "makes an environment",
    "/opt/ray/bin/pip": "installs Ray: `./dev soak submit`",
    "/opt/ray/bin/ray": "Ray: `./dev soak submit`",
    "skopeo": "copies an image to a registry: `./dev fresh packages` unpacks the image and runs it",
    "gcloud": "Google Cloud; the test starts the workers of the job instead",
    "kubectl": "Kubernetes; the test starts the workers of the job instead",
}
RUN = {"pipe", "cc", "python", "tests/golden/make.sh"}
# These start the workers of a job that the command before has printed.
STARTS_WORKERS = {"gcloud", "kubectl"}

# (page, beginning of the command or of the block): (how it is parsed, the reason). At most ten; none of README.
PARSED = {
    ("plugins/train/README.md", "pipe trainer setup --extra tpu"): ("--help", "downloads 1.4 GB"),
    ("plugins/train/README.md", "pipe trainer fit"): ("--help", "needs the environment for TPUs, 1.4 GB: plugins.trainer_fit"),
    ("cli/tpu/tpu.md", "pipe tpu"): ("--help", "rents machines: cli.tpu, with a fake of the API"),
    ("plugins/train/README.md", "pipe tensorboard"): ("--help", "serves until a signal: oracle.tensorboard"),
    ("plugins/train/README.md", "pipe run FILE --set stages.train.hosts=4"): ("-n", "waits for three other hosts: tests/trainer/hosts_training.py"),
    ("plugins/train/python/README.md", "python -m pipe_trainer"): ("--help", "needs the job file of a stage: tests/trainer"),
    ("plugins/train/external/presets.md", "train:"): ("validate", "needs sources of another project: plugins.preset_run"),
    ("plugins/train/external/presets.md", "inputs:"): ("validate", "the same"),
    ("plugins/train/external/external.md", "command: [torchrun"): ("validate", "needs PyTorch on several hosts: plugins.hosts_run"),
    ("tests/golden/README.md", "tests/golden/make.sh"): ("bash -n", "makes files by a program of an earlier commit"),
}
NEVER_PARSED = ("README.md", "README.ko.md")

# Settings that make a pipeline small enough for a test. One that the page's command gives stays, except for steps.
SMALLER = {
    "pipelines/cc100_ja.yaml": {"corpus": "ja.txt.xz", "validation": "0.02", "vocab_size": "auto", "preset": "tiny",
                               "seq_len": "128", "steps": "3"},
    "pipelines/ttt_tweets.yaml": {"vocab_size": "auto", "rows": "8", "pretrain": "3", "steps": "3"},
    "pipelines/nsmc.yaml": {"vocab": "auto", "rows": "8", "pretrain": "3", "tune": "3"},
    "pipelines/kc_moe_nsmc.yaml": {"vocab_size": "auto", "rows": "8", "pretrain": "3", "tune": "3"},
    "tuned.yaml": {"steps": "3"},
    "mine.yaml": {"steps": "3"},
    "page.yaml": {"steps": "3"},
}
STEPS = {"steps", "pretrain", "tune"}
TAKE_SETTINGS = {"run", "submit", "status", "doctor", "retry", "plan", "report", "clean", "validate", "graph"}


def smaller(command):
    """The command with the settings that make its pipeline small, in front of `>` and `<`."""
    words = command.split()
    if words[0] != "pipe" or words[1] not in TAKE_SETTINGS:
        return command
    found = next((SMALLER[word] for word in words if word in SMALLER), {})
    given = {name for name in found if f"--set {name}=" in command}
    more = "".join(f" --set {name}={value}" for name, value in found.items() if name in STEPS or name not in given)
    parts = re.match(r"(.*?)( [<>].*)?$", command)
    return parts[1] + more + (parts[2] or "")


def placed(command, shared, bucket):
    """The command with the places of this test: a directory for /shared, a bucket of the fake server, this machine as
    the engine, and values for the words that a reader replaces."""
    for old, new in (
            (r"\[(--[^\]]*)\]", r"\1"),  # options that may be left out
            (r"\bFILE\b", "mine.yaml"), (r"\bDIR\b", "scratch"), (r"\bSIZE\b", "1GiB"),
            (r"/shared\b", str(shared)), (r"gs://BUCKET\b", f"gs://{bucket}"),
            (r"--on (slurm|ray)\b", "--on local"), (r" --python \S+", ""), (r" --engine-option=\S+", ""),
            (r"--workers \d+", "--workers 2"), (r"--cores \d+", "--cores 1")):
        command = re.sub(old, new, command)
    return command


# (page, beginning of a command): what its output must look like. `world` has the files and the earlier outputs.
def lines(count):
    return lambda said, world: len(said.splitlines()) == count


def begins_with(text):
    return lambda said, world: said.startswith(text)


def answers(labels):
    def good(said, world):
        rows = (world.home / "answers.tsv").read_text(encoding="utf-8").splitlines()
        return len(rows) == 5 and all(row.split("\t")[0] in labels for row in rows)
    return good


def is_job(said, world):
    return (world.home / "job.json").exists() and "pipe" in json.dumps(json.loads((world.home / "job.json").read_text()))


SAYS = {
    ("README.md", "pipe cat out/novels/cc100_ja/1.1.0 --limit 5"): lines(5),
    ("README.md", "pipe run mine.yaml -n"): lambda said, world: "steps" in said or "train" in said,
    ("README.md", "pipe cat out/mine/jsonl --limit 2"): lines(2),
    ("README.md", "pipe sample out/mine --prompt 猫"): begins_with("猫"),
    ("README.ko.md", "pipe cat out/novels/cc100_ja/1.1.0 --limit 5"): lines(5),
    ("README.ko.md", "pipe cat out/mine/jsonl --limit 2"): lambda said, world: len(said.splitlines()) == 2 and "ㅋㅋ" in said and "광고" not in said,
    ("README.ko.md", "pipe sample out/mine --prompt 고양이"): begins_with("고양이"),
    ("cli/commands/README.md", "pipe cat"): lines(5),
    ("cli/commands/README.md", "pipe ls -l"): lambda said, world: "cc100_ja" in said,
    ("cli/submit/batch.md", "pipe submit"): is_job,
    ("plugins/ABI.md", "cc "): lambda said, world: "greet" in world.run("PIPE_PLUGINS=. pipe plugins").stdout,
    ("storage/remote/README.md", "pipe ls -l"): lambda said, world: "packed/" in said and "tokenizer/" in said,
    ("plugins/train/README.md", "pipe sample"): begins_with("猫"),
    ("plugins/train/README.md", "pipe predict"): answers({"0", "1"}),
    ("pipelines/README.md", "pipe predict"): answers({"good", "bad", "news"}),
    ("plugins/train/python/labels.md", "pipe predict"): answers({"0", "1"}),
    ("plugins/train/python/fine_tuning.md", "pipe predict"): lambda said, world: all(line[:2] in ("0\t", "1\t") for line in said.splitlines())
    and len(said.splitlines()) == 5,
}

# Stages around the parts of a pipeline file that a page shows: the stages of a part replace those of the same name.
TEXT = """\
pipe: 1
name: page
vars: { out: out, steps: 3 }
stages:
  source: { type: download, url: ja.txt.xz }
  lines: { type: decompress, input: source }
  docs: { type: split, input: lines, splits: { train: rest, validation: 0.05 } }
  pick: { type: sample, input: docs, split: train, bytes: 200MB }
  tokenizer: { type: train_tokenizer, input: pick, vocab_size: auto, byte_fallback: true, out: "${out}/tokenizer" }
  tokens: { type: encode, input: docs, tokenizer: tokenizer }
  packed: { type: write_packed, input: tokens, seq_len: 32, encoding: raw16, out: "${out}/packed" }
  ids: { type: write_tfdata, input: tokens, name: ids, out: "${out}/ids" }
  text: { type: write_tfds, input: docs, name: page, version: 1.0.0, out: "${out}" }
"""
EXTERNAL = """\
  train:
    type: train
    plugin: train
    trainer: external
    inputs: { data: packed, tokenizer: tokenizer }
    steps: 3
    out: "${out}"
"""
BUNDLED = EXTERNAL.replace("    trainer: external\n", "    config: { preset: tiny }\n")
# {page: [(beginning of the block, stages before it, indentation of the block, the command)]}
PARTS = {
    "formats/examples.md": [("source:", TEXT, 2, "pipe run page.yaml --until lines")],
    "stages/lines/exec.md": [("upper:", TEXT, 2, "pipe run page.yaml --until upper")],
    "plugins/train/external/external.md": [
        ("train:", TEXT, 2, "pipe run page.yaml --until train --set stages.train.steps=3"),
        ("command: [/usr/bin/python3", TEXT + EXTERNAL, 4, "pipe run page.yaml --until train"),
        ("command: [torchrun", TEXT + EXTERNAL + "    success: [model.pt]\n", 4, "pipe validate page.yaml")],
    "plugins/train/external/presets.md": [
        ("train:", TEXT, 2, "pipe validate page.yaml"),
        ("inputs:", TEXT + BUNDLED.replace("    inputs: { data: packed, tokenizer: tokenizer }\n", ""), 4, "pipe validate page.yaml")],
    "plugins/train/python/objectives.md": [
        ("examples:", re.sub("(  tokenizer: .*)byte_fallback: true", r"\1layout: bert, model: wordpiece, boundaries: none", TEXT)
         .split("  packed:")[0], 2,
         "pipe run page.yaml --until train --set stages.train.steps=3 --set stages.examples.seq_len=32 "
         "--set stages.train.config.preset=tiny-masked")],
    # The stages before `opinion` of this file, which the page names; they are done where its own commands ran before.
    "plugins/train/python/labels.md": [
        ("rows:", "pipelines/nsmc.yaml", 2, "pipe run page.yaml --set reviews=ratings_train.txt --set vocab=auto --set pretrain=3 "
         "--set stages.opinion.steps=3 --until opinion")],
}
