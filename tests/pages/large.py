#!/usr/bin/env python3
"""README's commands as they are printed, on 300 MB of text: a corpus with a blank line after each document, and a table.

    large.py PIPE ENVIRONMENT [MEGABYTES]
"""

import json
import lzma
import sys
import tempfile
import time
from pathlib import Path

import own_text
from blocks import pages
from pages import Home, Mistake, Reader, check

PATIENCE = 7200  # seconds for one command
PAGE = "README.md"
SEED = 7


def until(parts, size):
    """Parts of text until they have this many bytes."""
    made = 0
    for part in parts:
        yield part
        made += len(part)
        if made >= size:
            return


class Large(Reader):
    """Takes the commands as they are, and a large table in the place of README's rows."""

    def __init__(self, home, size):
        super().__init__(home, pages(), smaller=str)
        self.size = size

    def put(self, block, name):
        if name != "articles.jsonl":
            super().put(block, name)
            return
        rows = (json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in own_text.articles(self.size, SEED))
        with (self.home.home / name).open("wb") as table:
            table.writelines(until(rows, self.size))


def main(pipe, environment, megabytes="300"):
    began, size = time.monotonic(), int(megabytes) * 1_000_000
    with tempfile.TemporaryDirectory() as directory:
        home = Home(pipe, environment, Path(directory) / "person")
        home.patience = PATIENCE
        with lzma.open(home.home / "novels.txt.xz", "wb", preset=0) as packed:
            for part in until((("\n".join(lines) + "\n\n").encode() for lines in own_text.documents(size, SEED)), size):
                packed.write(part)
        print(f"{megabytes} MB made in {time.monotonic() - began:.0f} s", flush=True)
        reader = Large(home, size)
        reader.read(PAGE)
        check(not reader.mistakes, "mistakes", "\n" + "\n".join(map(str, reader.mistakes)))
    print(f"{PAGE} on {megabytes} MB: {reader.counts['run']} commands, {reader.counts['files']} files ({time.monotonic() - began:.0f} s)")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Mistake as found:
        raise SystemExit(f"large.py: {found}")
