#!/usr/bin/env python3
"""Trainings that an earlier version finished stay finished, and go on from their checkpoints when they get more steps.

    released_checkpoints.py PIPE FAKE_GCS ENVIRONMENT               those of each tests/golden/NAME/trained.tar.xz
    released_checkpoints.py PIPE FAKE_GCS ENVIRONMENT make NAME     makes that archive by the program of a release

The archive has a pipeline file, its text, and for each form of a checkpoint its place: `directory/` is that of a run on
one host, `bucket/` and `slice/` have the objects of a run into a bucket, on one host and on two. `losses.json` has the
losses of the further steps, as the release computed them.
"""

import json
import shutil
import signal
import sys
import tarfile
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))

import machines  # noqa: E402
from fake_buckets import BUCKET  # noqa: E402
from released_work import GOLDEN, sentences, write_archive  # noqa: E402

FILE = """\
pipe: 1
name: released
vars: { out: out, environment: none }
stages:
  source: { type: download, url: text.txt }
  lines: { type: decompress, input: source }
  docs: { type: split, input: lines, splits: { train: rest, validation: 0.2 } }
  tokenizer: { type: train_tokenizer, input: docs, vocab_size: 310, max_piece_length: 4, out: "${out}/tokenizer" }
  tokens: { type: encode, input: docs, tokenizer: tokenizer }
  packed: { type: write_packed, input: tokens, seq_len: 32, shards: 2, out: "${out}/packed" }
  train:
    type: train
    plugin: train
    inputs: { data: packed, tokenizer: tokenizer }
    config: { preset: tiny, model: { layers: 1, d: 16, heads: 2, ff: 32 }, batch: { rows: 4 },
              schedule: { name: const, warmup: 0 }, mesh: { fsdp: HOSTS } }
    steps: 8
    log_every: 1
    eval_every: 0
    checkpoint_every: 8
    keep_checkpoints: 1
    environment: "${environment}"
    out: "${out}"
"""
FORMS = {"directory": 1, "bucket": 1, "slice": 2}  # and their hosts
STEPS, MORE = 8, 12


def check(good, what):
    if not good:
        raise SystemExit(f"released_checkpoints.py: {what}")


class Place:
    """Where the training of one form is: a directory for each host, and a bucket if the form has one."""

    def __init__(self, program, network, environment, form, text):
        self.program, self.form = program, form
        self.bucket = network.bucket
        self.hosts = network.add(FORMS[form])
        self.in_bucket = form != "directory"
        self.out = f"gs://{BUCKET}/{form}" if self.in_bucket else "out"
        for host in self.hosts:
            (host.disk / "text.txt").write_bytes(text)
            (host.disk / "trainer").symlink_to(environment)  # so no path of this machine gets into what is stored
            (host.disk / "released.yaml").write_text(FILE.replace("HOSTS", str(len(self.hosts))))

    def run(self, *words):
        """What all hosts say; each ends with 0."""
        words = [self.program, "run", "released.yaml", "--work", "work", "--set", f"out={self.out}", "--set",
                 "environment=trainer", *words]
        said = [host.disk / "said" for host in self.hosts]
        for path in said:
            path.write_bytes(b"")
        started = [host.start(words, path, JAX_PLATFORMS="cpu", PIPE_LEASE="0.5", XLA_FLAGS="", PIPE_TEST_REASONS="1")
                   for host, path in zip(self.hosts, said)]
        codes = [process.wait(timeout=400) for process in started]
        text = "".join(path.read_text() for path in said)
        check(not any(codes), f"{self.form}: exit codes {codes}\n{text}")
        return text

    def trainings(self):
        """The files with a trainer's events, one for each run that trained."""
        return sorted(self.hosts[0].disk.glob("work/runs/*/plugin_events.jsonl"))

    def losses(self):
        """{step: loss} of the newest run that trained, by the trainer's own events."""
        newest = max(self.trainings(), key=lambda path: path.stat().st_mtime)
        events = [json.loads(line)["event"] for line in newest.read_text().splitlines()]
        return {event["step"]: event["loss"] for event in events if event["kind"] == "step"}

    def save(self, directory):
        """Stores what a later version continues: objects of the bucket, or the directory of the run."""
        if self.in_bucket:
            for name, (_, data) in self.bucket.objects().items():
                if name.startswith(f"{self.form}/"):
                    path = directory / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(data)
        else:
            for part in ("work", "out"):
                shutil.copytree(self.hosts[0].disk / part, directory / self.form / part)

    def restore(self, directory):
        """Every host has an empty disk, but for the directory of a run that has no bucket."""
        if not self.in_bucket:
            shutil.copytree(directory / self.form, self.hosts[0].disk, dirs_exist_ok=True)
            return
        for path in sorted((directory / self.form).rglob("*")):
            if path.is_file():
                self.bucket.put(BUCKET, str(path.relative_to(directory)), path.read_bytes())


def make(network, program, environment, name):
    text = sentences(1, 12_000)
    with tempfile.TemporaryDirectory() as temporary:
        root, losses = Path(temporary), {}
        (root / "text.txt").write_bytes(text)
        (root / "released.yaml").write_text(FILE)
        for form in FORMS:
            place = Place(program, network, environment, form, text)
            place.run()
            place.save(root)
            place.run("--set", f"stages.train.steps={MORE}")
            losses[form] = {step: loss for step, loss in place.losses().items() if step > STEPS}
        for unneeded in (*root.glob("**/report.html"), *root.glob("**/tensorboard/*")):
            unneeded.unlink()
        (root / "losses.json").write_text(json.dumps(losses, indent=1))
        write_archive(root, name, "trained")


def play(network, program, environment, archive):
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        with tarfile.open(archive) as packed:
            packed.extractall(root)
        wanted = json.loads((root / "losses.json").read_text())
        for form in FORMS:
            place = Place(program, network, environment, form, (root / "text.txt").read_bytes())
            place.restore(root)
            before = place.trainings()
            said = place.run()
            check(place.trainings() == before, f"{form}: a finished training was made again\n{said}")
            said = place.run("--set", f"stages.train.steps={MORE}")
            found = place.losses()
            check(sorted(found) == list(range(STEPS + 1, MORE + 1)), f"{form}: took the steps {sorted(found)}\n{said}")
            apart = max(abs(found[int(step)] - loss) / loss for step, loss in wanted[form].items())
            check(apart < 1e-4, f"{form}: the losses are {found}, and were {wanted[form]}")
            print(f"ok: {form}: goes on at step {STEPS + 1}; losses differ by {apart:.1e} at most", flush=True)


def main():
    pipe, fake, environment = (Path(word).absolute() for word in sys.argv[1:4])
    machines.isolate()
    with tempfile.TemporaryDirectory() as directory, machines.Network(fake, Path(directory)) as network:
        if sys.argv[4:5] == ["make"]:
            make(network, pipe, environment, sys.argv[5])
            return
        archives = sorted(GOLDEN.glob("*/trained.tar.xz"))
        check(archives, "no training of an earlier version")
        for archive in archives:
            print(f"trainings of {archive.parent.name}", flush=True)
            play(network, pipe, environment, archive)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    main()
