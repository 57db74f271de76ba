#!/usr/bin/env python3
"""Runs cases: files, commands of a person, and the output that is expected of them. cases/README.md has the format.

    cases.py PIPE [--update] [CASE...]   a CASE is a file or a folder below tests/cli/cases; without any, all cases run
    cases.py --self-test                 shows that each kind of difference is found

--update writes what the commands said into the cases that differ. An expected line that still holds stays as it is.
"""

import concurrent.futures
import difflib
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CASES = Path(__file__).resolve().parent / "cases"
SECTION = re.compile(r"-- (\S+)(?: \((\S+)\))?(?: \* (\d+))? --\n?")
EXPECTED = re.compile(r"(exit|err|out|no err|no out)(?: (.*))?\n?")
STREAMS = {"err": "standard error", "out": "standard output"}


def line_pattern(text):
    return ".*".join(map(re.escape, text.split("...")))


def matches(text, line):
    return re.fullmatch(line_pattern(text), line) is not None


def match_whole(wanted, said):
    """Whether the lines are the expected ones. A line `...` stands for any lines."""
    pattern = "".join(r"(?:.*\n)*" if text == "..." else line_pattern(text) + r"\n" for text in wanted)
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in said)) is not None


def kept(wanted, said):
    """The lines that were said; in the place of one that an expected line matches, the expected line."""
    return [next((text for text in wanted if text != "..." and matches(text, line)), line) for line in said]


class Command:
    def __init__(self, number, text):
        self.number, self.text, self.end = number, text, number  # `end` is the number of its last expectation
        self.expected = {"exit": [], "err": [], "out": [], "no err": [], "no out": []}

    def run(self, directory, environment):
        done = subprocess.run(["sh", "-c", self.text], cwd=directory, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=100, check=False)
        self.code = done.returncode if done.returncode >= 0 else 128 - done.returncode  # as a shell counts a signal
        self.said = {"err": done.stderr.decode(errors="backslashreplace").splitlines(),
                     "out": done.stdout.decode(errors="backslashreplace").splitlines()}

    def differences(self):
        wanted_code = int(*self.expected["exit"] or [0])
        if self.code != wanted_code:
            yield f"exit status {self.code}, expected {wanted_code}"
        for stream, name in STREAMS.items():
            wanted, said = self.expected[stream], self.said[stream]
            results = stream == "out" and wanted_code != 0  # a command that fails has none
            if (wanted or results) and not match_whole(wanted, said):
                yield f"{name}, expected (-) and got (+):"
                yield from (line for line in difflib.ndiff(wanted, kept(wanted, said)) if line != "- ..." and line[0] != "?")
            for text in self.expected[f"no {stream}"] + ["...[this is a bug]..."]:
                yield from (f"{name} has what it must not have: {line}" for line in said if matches(text, line))

    def updated(self):
        """The expectations that hold for what the command did."""
        yield from [f"exit {self.code}"] if self.code else []
        for stream in STREAMS:
            wanted, lines = self.expected[stream], kept(self.expected[stream], self.said[stream])
            if "..." in wanted:
                lines = [text if text in ["...", *lines] else nearest(text, lines) for text in wanted]
            yield from (f"{stream} {line}".rstrip() for line in lines if wanted)
            yield from (f"no {stream} {text}" for text in self.expected[f"no {stream}"])


def nearest(text, lines):
    return max(lines, key=lambda line: difflib.SequenceMatcher(None, text, line).ratio(), default="")


class Case:
    def __init__(self, name, text):
        self.name, self.lines, self.commands, sections = name, text.splitlines(keepends=True), [], []
        for number, line in enumerate(self.lines[1:], 2):
            if section := SECTION.fullmatch(line):
                sections.append([*section.groups(), ""])
            elif sections:
                sections[-1][-1] += line
            elif line.startswith("$ "):
                self.commands.append(Command(number, line[2:].rstrip("\n")))
            elif (found := EXPECTED.fullmatch(line)) and self.commands:
                self.commands[-1].expected[found[1]].append(found[2] or "")
                self.commands[-1].end = number
            elif line.strip() and not line.startswith("#"):
                raise SystemExit(f"{name}:{number}: is no command and no expectation: {line}")
        self.files = {}
        for path, form, times, content in sections:
            self.files[path] = self.files.get(path, b"") + section_bytes(content, form, times)

    def play(self, environment):
        """Runs the commands in an empty directory with the files. Returns what differs, as lines for people."""
        self.differences, began = [], time.monotonic()
        with tempfile.TemporaryDirectory(prefix="pipe-case-") as directory:
            for path, data in self.files.items():
                file = Path(directory, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            for command in self.commands:
                command.run(directory, {**environment, "HOME": directory})
                if found := list(command.differences()):
                    self.differences += [f"{self.name}:{command.number}: $ {command.text}", *(f"    {line}" for line in found)]
        self.seconds = time.monotonic() - began
        return self.differences

    def updated(self):
        for command in reversed(self.commands):
            self.lines[command.number:command.end] = [f"{line}\n" for line in command.updated()]
        return "".join(self.lines)


def section_bytes(content, form, times):
    text = "".join(content.replace("<n>", str(number)) for number in range(int(times))) if times else content
    if form != "bytes":
        return text.encode(form or "utf-8")
    return re.sub(rb"\\(?:x([0-9a-f]{2})|\n)", lambda found: bytes.fromhex((found[1] or b"").decode()), text.encode())


def self_test():
    wrong = {"exit status 1, expected 0": "$ exit 1\n", "exit status 0, expected 2": "$ true\nexit 2\n", "- b": "$ echo a b\nout b\n",
             "+ b": "$ printf 'a\\nb\\n'\nout a\n", "+ a": "$ echo a; exit 1\nexit 1\n", "- c": "$ echo a >&2\nerr ...\nerr c\n",
             "must not have: a1": "$ echo a1\nno out a...\n", "this is a bug": "$ echo '[this is a bug]' >&2\n",
             "- a2": "$ printf 'a2\\na1\\n'\nout a1\nout a2\n", "- x": "$ cat x\nout x\n-- x (bytes) --\n\\x79\n"}
    for part, text in wrong.items():
        found = Case("wrong", f"A case.\n{text}").play(os.environ)
        assert any(part in line for line in found), f"not found: {part}\n{found}"
    right = Case("right", "A case.\n$ cat x; exit 3\nexit 3\nout a...c0\nout ...\nout c3\n-- x (bytes) --\na\\x62\\\n-- x * 4 --\nc<n>\n")
    assert not right.play(os.environ), right.differences
    old = Case("old", "A case.\n# why\n$ printf 'a1\\nb\\n'; exit 3\nout a...\nout c\n-- x --\n")
    old.play(os.environ)
    assert old.updated() == "A case.\n# why\n$ printf 'a1\\nb\\n'; exit 3\nexit 3\nout a...\nout b\n-- x --\n", old.updated()
    print(f"{len(wrong)} differences looked for and found")


def main(pipe, *words):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIPE_")}
    environment.update(PATH=f"{Path(pipe).resolve().parent}:{os.environ['PATH']}", PIPE_TEST_REASONS="1")
    places = [Path(word).resolve() for word in words if word != "--update"] or [CASES]
    paths = [path for place in places for path in (sorted(place.rglob("*.case")) if place.is_dir() else [place])]
    cases = [Case(os.path.relpath(path), path.read_text(encoding="utf-8")) for path in paths]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, case, differences in zip(paths, cases, pool.map(lambda case: case.play(environment), cases)):
            print("\n".join(differences) or f"ok: {case.lines[0].strip()} ({case.seconds:.1f} s)", flush=True)
            if differences and "--update" in words:
                path.write_text(case.updated(), encoding="utf-8")
    wrong = sum(bool(case.differences) for case in cases)
    print(f"{len(cases)} cases, {wrong} wrong")
    return 1 if wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1:] == ["--self-test"] else main(*sys.argv[1:]))
