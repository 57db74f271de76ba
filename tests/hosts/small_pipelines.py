"""Pipelines of pipelines/ with small texts in a bucket, without their trainings, for runs by engines."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "pipelines"))

from shipped import japanese, korean  # noqa: E402
from start_lines import PIPELINES, without_training  # noqa: E402

from engine import check  # noqa: E402
from fake_buckets import BUCKET  # noqa: E402

INPUTS = 3
# Some seconds of work for all of them together, in units of which many take longer than a tenth of a second.
COMMON = {"limits.memory": "1GiB", "stages.lines.partition": "512KiB"}
KANA = {0x4e00 + 13 * number: 0x3042 + number for number in range(80)}  # to BERT an ideograph is a word of its own


def documents(seed, count):
    return "\n\n".join(japanese(seed, count)) + "\n\n"


# Name: the text of an input by its number, and settings.
SMALL = {
    "cc100_ja": (lambda seed: documents(seed, 400) * 10, {"vocab_size": 1000, "validation": 0.05, "seq_len": 128}),
    "kc_moe": (lambda seed: "\n".join(korean(seed, 3000)) * 16 + "\n", {"vocab_size": 1000}),
    "bert_ja": (lambda seed: documents(seed, 400).translate(KANA) * 4,
                {"vocab_size": 500, "validation": 0.05, "dupe_factor": 2, "model_size": "tiny"}),
}


class SmallPipeline:
    """A file of pipelines/, with its inputs in the bucket. `wanted`: what `pipe run` publishes on one machine."""

    def __init__(self, name, pipe, bucket, root):
        self.name, self.pipe, self.bucket = name, pipe, bucket
        text_of, settings = SMALL[name]
        names = [f"text/{name}-{number}.gz" for number in range(INPUTS)]
        for number, one in enumerate(names):
            bucket.put(BUCKET, one, gzip.compress(text_of(number).encode(), 1, mtime=0))
        urls = ", ".join(f"gs://{BUCKET}/{one}" for one in names)
        self.settings = {**COMMON, **settings, "stages.source.url": f"[{urls}]"}
        self.text = without_training(PIPELINES / f"{name}.yaml")
        self.wanted = self.run(root / f"alone-{name}", root / f"alone-{name}/work", f"alone-{name}")

    def words(self, directory, out):
        """Writes the file below `directory`; returns the words of a command on it. `out`: a prefix in the bucket."""
        directory.mkdir()
        file = directory / f"{self.name}.yaml"
        file.write_text(self.text, encoding="utf-8")
        settings = {**self.settings, "out": f"gs://{BUCKET}/{out}"}
        return [file, *(word for name, value in settings.items() for word in ("--set", f"{name}={value}"))]

    def run(self, directory, work, out, *words):
        """`pipe run` on this machine, to its end; returns what is published then. `work`: of --work."""
        environment = {**os.environ, "STORAGE_EMULATOR_HOST": self.bucket.url, "PIPE_LEASE": "1"}
        done = subprocess.run([self.pipe, "run", *self.words(directory, out), "--work", work, *words], cwd=directory,
                              env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=300, check=False)
        self.said = done.stdout
        check(done.returncode == 0, f"`pipe run` of {self.name} ended with {done.returncode}\n{self.said[-4000:]}")
        return self.published(out)

    def published(self, out):
        """{name below `out`: bytes}, without objects below .pipe/."""
        return {name.removeprefix(f"{out}/"): self.bucket.get(BUCKET, name)
                for name in self.bucket.items(BUCKET, f"{out}/") if "/.pipe/" not in name}
