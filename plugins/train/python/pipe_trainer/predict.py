"""Answers of a finished run to lines of text: `python -m pipe_trainer.predict --run DIR --in FILE --out FILE`.

Each line is a document. A model that learned labels writes a label, a tab, and the share of this label among all
labels; one that learned numbers writes a number. Another model that continues text writes the likeliest continuation of
the line, up to the end of the line.
"""

import argparse
import codecs
import contextlib
import os
import select
import sys
from functools import partial
from pathlib import Path

from .exits import BAD_DATA, Ended
from .model import families
from .run import finished
from .run.finished import bounded

LINES_AT_A_TIME = 64
READ = 1 << 16  # bytes at a time
STANDARD = "-"
LEAST = 8  # positions of a program


def options_of(argv):
    parser = argparse.ArgumentParser(prog="pipe_trainer.predict", description=__doc__, allow_abbrev=False)
    parser.add_argument("--run", type=Path, required=True, help="the directory of a run, or of an export")
    parser.add_argument("--in", dest="lines", default=STANDARD, metavar="FILE",
                        help="lines; -: the standard input (-)")
    parser.add_argument("--out", default=STANDARD, metavar="FILE",
                        help="gets a line for each; -: the standard output (-)")
    parser.add_argument("--length", type=bounded(int, 1, 1_000_000), default=64,
                        help="ids of a continuation, at most (64)")
    return parser.parse_args(argv)


class Cut:
    """Counts the texts that were too long for the model, and the ids that they lost. `part`: of a text, for people."""

    def __init__(self, most, part):
        self._most, self._part = most, part
        self.texts = self.cut = self.ids = self.lost = 0

    def count(self, ids, read):
        self.texts, self.ids = self.texts + 1, self.ids + ids
        self.cut, self.lost = self.cut + (read < ids), self.lost + ids - read

    def warning(self):
        """One line; None: no text was cut."""
        if not self.cut:
            return None
        have = "has" if self.cut == 1 else "have"
        return (f"{self.cut:,} of {self.texts:,} texts {have} more ids than the model takes ({self._most:,}) and lost "
                f"{self._part}: {self.lost:,} of {self.ids:,} ids")


class Labelling:
    """Answers with labels. A text that is too long for the model loses its end."""

    def __init__(self, run):
        import jax

        from .objectives import registry
        self._run, self._text, self._objective = run, run.text(), registry.of(run.config())
        self._text.prompt_ids("")  # refuses before the first line comes
        self._behind = self._objective.label_begins(run.labels, self._text.newline)
        self._room = run.model.seq_len - len(self._behind) - 1
        if self._room < 1:
            raise Ended(BAD_DATA, f"{run.place}: a text has no room beside a label in {run.model.seq_len} ids")
        self.cut = Cut(self._room, "the end")
        self._predicted = jax.jit(partial(self._objective.predicted, labels=run.labels))
        # The room that experts have for a text depends on the positions of its row: not on the texts beside it.
        self._least = run.model.seq_len if run.model.experts else LEAST

    def __call__(self, lines):
        import numpy as np

        whole = [self._text.prompt_ids(line)[1:] for line in lines]
        texts = [ids[:self._room] for ids in whole]
        for ids, text in zip(whole, texts):
            self.cut.count(len(ids), len(text))
        length = self._least
        while length < max(map(len, texts)) + len(self._behind) + 1:
            length *= 2
        # Rows as long as those of a training cost too much to compute them for nothing.
        rows = 1 << (len(lines) - 1).bit_length() if self._run.model.experts else LINES_AT_A_TIME
        ids, ends = np.full((rows, length), self._text.eos, np.int32), np.ones(rows, np.int32)
        for number, text in enumerate(texts):
            row = [self._text.begin, *text, *self._behind]
            ids[number, :len(row)], ends[number] = row, len(row)
        found = np.asarray(self._predicted(self._run.params, ids=ids, ends=ends))[:len(lines)]
        return self._objective.written(found, self._run.labels)


class Continuing:
    """Answers with the likeliest continuation. Of a text that is too long for the model, the end is read."""

    def __init__(self, run, length):
        self._run, self._text, self._length = run, run.text(), length
        self.cut = Cut(max(run.model.seq_len, 2) - 1, "the beginning")

    def __call__(self, lines):
        return [self._continued(line) for line in lines]

    def _continued(self, line):
        from .eval.generation import generate, read_of
        stop, ids = self._text.line_end, self._text.prompt_ids(line)
        self.cut.count(len(ids), read_of(self._run.model, len(ids)))
        made = generate(self._run.params, self._run.model, ids, self._length, temperature=0.0, stop=stop,
                        pieces=self._text.pieces)
        ends = (at for at, one in enumerate(made) if one in (self._text.eos, stop))
        return self._text.text_of(made[:next(ends, len(made))])


def answering(run, length):
    if run.labels is not None:
        return Labelling(run)
    if not families.of(run.model).causal:
        raise Ended(BAD_DATA, f"{run.place}: a model of the family {run.model.family} that learned no labels neither "
                              f"answers nor continues text")
    return Continuing(run, length)


@contextlib.contextmanager
def opened(name, mode, other):
    """A file by its name, or `other`. A file that is written gets its name at the end."""
    if name == STANDARD:
        yield other
        return
    if "r" in mode:
        with open(name, mode) as file:
            yield file
        return
    part = Path(f"{name}.part")
    try:
        with open(part, mode) as file:
            yield file
        os.replace(part, name)
    finally:
        part.unlink(missing_ok=True)


def groups(file):
    """Yields the lines of a file, up to LINES_AT_A_TIME of those that are there: someone who writes a line and waits
    gets its answer."""
    lines, parts = [], []  # whole lines, and the parts of the next
    while read := file.read1(READ):
        *whole, rest = read.split(b"\n")
        if whole:
            lines += [b"".join([*parts, whole[0]]), *whole[1:]]
            parts = []
        parts.append(rest)
        while len(lines) >= LINES_AT_A_TIME or lines and not select.select([file], [], [], 0)[0]:
            yield lines[:LINES_AT_A_TIME]
            del lines[:LINES_AT_A_TIME]
    last = b"".join(parts)
    lines += [last] if last else []
    for first in range(0, len(lines), LINES_AT_A_TIME):
        yield lines[first:first + LINES_AT_A_TIME]


def main(argv):
    options = options_of(argv)

    def work():
        answer = answering(finished.find(options.run), options.length)
        with (opened(options.lines, "rb", sys.stdin.buffer) as lines,
              opened(options.out, "wb", sys.stdout.buffer) as out):
            for number, some in enumerate(groups(lines)):
                if number == 0:
                    some[0] = some[0].removeprefix(codecs.BOM_UTF8)
                texts = [line.decode("utf-8", "replace").rstrip("\r") for line in some]
                out.write("".join(f"{one}\n" for one in answer(texts)).encode())
                out.flush()
        if warning := answer.cut.warning():
            from .run.events import Warnings
            Warnings.of_environment(os.environ).emit("warn", text=warning)
    return finished.reported("pipe_trainer.predict", work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
