#!/usr/bin/env python3
"""Counts the lines of the product's code by room, without comments and blank lines, as a commit has them.

    tests/code_lines.py              the working tree
    tests/code_lines.py COMMIT       that commit
    tests/code_lines.py FROM TO      both, and the difference

A line that is neither blank nor a comment alone counts. Sentences between three quotes in Python are comments. Data
(JSON, YAML, tables in files of their own), tests, fuzzers, benchmarks and pages do not count.
"""
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CODE = {".cc", ".h", ".c", ".py"}
OUTSIDE = ("tests/", "bench/", "build/", ".")
COMMENTS = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(?P<tag>\w*)\(.*?\)(?P=tag)"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)


def lines_of_cpp(text):
    """Strings stay, comments go; a comment's line ends stay, so that no two lines become one."""
    def without(found):
        token = found.group(0)
        return token if token[0] in "\"'R" else "\n" * token.count("\n")
    return sum(1 for line in COMMENTS.sub(without, text).splitlines() if line.strip())


def lines_of_python(text):
    """A text that is a statement of its own is a comment."""
    lines, at_start = set(), True
    quiet = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in quiet:
            at_start = at_start or token.type in (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
            continue
        if not (at_start and token.type == tokenize.STRING):
            lines.update(range(token.start[0], token.end[0] + 1))
        at_start = False
    return len(lines)


def files(commit):
    """Yields the path and the text of each file of the product."""
    if commit is None:
        names = subprocess.check_output(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"], text=True).splitlines()
        read = lambda name: (ROOT / name).read_text()
    else:
        names = subprocess.check_output(["git", "-C", ROOT, "ls-tree", "-r", "--name-only", commit], text=True).splitlines()
        read = lambda name: subprocess.check_output(["git", "-C", ROOT, "show", f"{commit}:{name}"], text=True)
    for name in names:
        if Path(name).suffix in CODE and not name.startswith(OUTSIDE) and (commit or (ROOT / name).is_file()):
            yield name, read(name)


def count(commit):
    rooms = Counter()
    for name, text in files(commit):
        room = str(Path(name).parent)
        rooms[room] += lines_of_python(text) if name.endswith(".py") else lines_of_cpp(text)
    return rooms


def main(commits):
    if len(commits) > 2 or any(word.startswith("-") for word in commits):
        sys.exit(__doc__)
    counts = [count(commit) for commit in commits or [None]]
    for room in sorted(set().union(*counts)) + ["all"]:
        row = [sum(rooms.values()) if room == "all" else rooms[room] for rooms in counts]
        if len(row) < 2 or row[0] != row[1] or room == "all":
            print(f"{room:44}", *(f"{lines:8}" for lines in row), f"{row[1] - row[0]:+8}" if len(row) > 1 else "")


if __name__ == "__main__":
    main(sys.argv[1:])
