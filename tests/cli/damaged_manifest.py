#!/usr/bin/env python3
"""A damaged MANIFEST.json of a published artifact: only stages that need the artifact do not run, and the message says
how to continue.

    damaged_manifest.py PIPE [NAME...]
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from pipe_run import Run, differences, hold
from replan_support import corpus
from scenarios import play, scenario

FILE = """\
pipe: 1
name: damaged
vars: { out: "", corpus: "", form: nfkc }
stages:
  source: { type: download, url: "${corpus}" }
  lines: { type: decompress, input: source, partition: 64KiB }
  clean: { type: normalize, input: lines, form: "${form}" }
  one: { type: write_jsonl, input: clean, shards: 2, out: "${out}/one" }
  two: { type: write_tfds, input: clean, name: two, version: 1.0.0, shards: 2, out: "${out}" }
  pieces: { type: train_tokenizer, input: lines, model: wordpiece, layout: bert, vocab_size: 200, out: "${out}/pieces" }
  ids: { type: encode, input: lines, tokenizer: pieces }
  rows: { type: write_bert, input: ids, seq_len: 64, max_predictions: 10, shards: 1, out: "${out}/rows" }
"""
KEEPING = "--keep-intermediates"
LOCATIONS = {"one": "one", "two": "two/1.0.0", "pieces": "pieces", "rows": "rows"}


def flipped(data):
    at = data.rindex(b'"version":') + len(b'"version":')  # the last one, in the lineage
    return data[:at] + (b"7" if data[at:at + 1] != b"7" else b"8") + data[at + 1:]


DAMAGE = {"no JSON": lambda data: b"hello\n", "a wrong digit": flipped, "truncated": lambda data: data[: len(data) // 2],
          "empty": lambda data: b"", "of another program": lambda data: data.replace(b'"pipe_manifest": 1', b'"pipe_manifest": 2')}


class Damaged(Run):
    def __init__(self, program, root):
        super().__init__(program, root, FILE)
        (root / "corpus.txt").write_bytes(corpus())
        self.options = ("--set", f"corpus={root / 'corpus.txt'}")
        hold(self.finish(*self.options, KEEPING) == 0, self, "failed")
        self.whole = self.published()

    def manifest(self, stage):
        return self.out / LOCATIONS[stage] / "MANIFEST.json"

    def damage(self, stage, how):
        self.manifest(stage).write_bytes(how(self.manifest(stage).read_bytes()))

    def does(self, code, *options, says=()):
        told = len(self.messages())
        found = self.finish(*self.options, KEEPING, *options)
        told = self.messages()[told:]
        hold(found == code, self, f"{options} ended with {found}")
        for words in says:
            hold(words in told, self, f"{options} did not say: {words}")

    def command(self, *words):
        """Exit code and output of another command on the pipeline file."""
        done = subprocess.run([self.program, words[0], str(self.file), "--work", str(self.work), "--set", f"out={self.out}",
                               *self.options, *words[1:]], capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    def is_whole(self):
        found = differences(self.whole, self.published())
        hold(not found, self, f"other objects: {found}")


class Scenarios:
    @scenario
    def force_of_its_stage_replaces_it(self, run):
        for how in DAMAGE.values():
            run.damage("two", how)
            run.does(2, says=[f"stage 'two' is left out: {run.manifest('two')}: "])
            if how is not DAMAGE["of another program"]:
                run.does(2, "-n", says=["let `pipe run FILE --force STAGE` make the artifact again"])
            run.does(0, "--force", "two")
            run.is_whole()

    @scenario
    def what_does_not_need_it_runs(self, run):
        run.damage("two", DAMAGE["truncated"])
        shutil.rmtree(run.out / "one")
        run.does(1, says=["stage 'two' is left out: "])
        hold((run.out / "one/MANIFEST.json").exists(), run, "what does not need it did not run")
        shutil.rmtree(run.out / "one")
        run.does(0, "--only", "one")
        run.does(2, "--only", "two")
        run.does(0, "--force", "one", "--until", "one")
        run.does(0, "--force", "two")
        run.is_whole()

    @scenario
    def what_needs_it_is_left_out(self, run):
        run.damage("pieces", DAMAGE["a wrong digit"])
        run.does(2, says=["stage 'pieces' is left out: "])
        shutil.rmtree(run.out / "rows")
        shutil.rmtree(run.out / "one")
        run.does(1, says=["stage 'pieces' is left out: ", "stage 'rows' is left out: it needs 'pieces'"])
        hold(not run.manifest("rows").exists() and run.manifest("one").exists(), run, "the wrong stages ran")
        run.does(0, "--force", "pieces")
        run.is_whole()

    @scenario
    def other_commands_go_on(self, run):
        for how in DAMAGE.values():
            run.damage("two", how)
            for words in (("status",), ("report",), ("clean",), ("clean", "-n")):
                code, told = run.command(*words)
                hold(code == 0, run, f"{words} ended with {code}: {told}")
            hold(run.verify(run.out / "one") == 0, run, "another location does not verify")
            told = len(run.messages())
            hold(run.verify(run.out / "two/1.0.0") == 1, run, "what is damaged was verified")
            hold(str(run.manifest("two")) in run.messages()[told:], run, "verify did not name the file")
            run.does(0, "--force", "two")
        run.is_whole()

    @scenario
    def a_directory_of_that_name(self, run):
        for stage in ("one", "pieces"):
            run.manifest(stage).unlink()
            run.manifest(stage).mkdir()
            for options in ((), ("--force", stage), ("-n",)):
                run.does(2, *options, says=["MANIFEST.json"])
            run.does(0, "--force", "two", "--only", "two")
            run.manifest(stage).rmdir()
            run.does(0)
            run.is_whole()


def main():
    pipe, *names = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        play(Scenarios(), names, lambda name: (Damaged(Path(pipe).resolve(), Path(directory) / name),))


if __name__ == "__main__":
    main()
