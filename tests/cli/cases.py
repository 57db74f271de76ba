#!/usr/bin/env python3
"""Runs cases: files, commands of a person, and the output that is expected of them. cases/README.md has the format.

    cases.py PIPE [--update] [CASE...]   a CASE is a file or a folder; without any, all cases run
    cases.py --self-test                 shows that each kind of difference is found
"""

import concurrent.futures
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SECTION = re.compile(r"-- (\S+)(?: \((\S+)\))?(?: \* (\d+))? --\n?")
EXPECTED = re.compile(r"(exit|err|out|no err|no out)(?: (.*))?\n?")
STREAMS = {"err": "standard error", "out": "standard output"}


def pattern(text):
    """For a line and its end; a text `...` is for any number of lines."""
    return r"(?:.*\n)*" if text == "..." else ".*".join(map(re.escape, text.split("..."))) + r"\n"


def matches(text, line):
    return re.fullmatch(pattern(text), f"{line}\n") is not None


def kept(wanted, said):
    """The lines that were said; in the place of one that an expected line matches, the expected line."""
    return [next((text for text in wanted if text != "..." and matches(text, line)), line) for line in said]


class Command:
    def __init__(self, number, text):
        self.number, self.text, self.end = number, text, number  # `end` is the number of its last expectation
        self.expected = {kind: [] for kind in ("exit", "err", "out", "no err", "no out")}

    def run(self, directory, environment):
        done = subprocess.run(["timeout", "100", "sh", "-c", self.text], cwd=directory, env=environment, check=False,
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.code, streams = done.returncode, {"err": done.stderr, "out": done.stdout}
        self.said = {name: data.decode(errors="backslashreplace").splitlines() for name, data in streams.items()}

    def differences(self):
        wanted_code = int(*self.expected["exit"] or [0])
        if self.code != wanted_code:
            yield f"exit status {self.code}, expected {wanted_code}"
        for stream, name in STREAMS.items():
            wanted, said = self.expected[stream], self.said[stream]
            has_no_results = stream == "out" and wanted_code != 0
            if (wanted or has_no_results) and not re.fullmatch("".join(map(pattern, wanted)), "\n".join([*said, ""])):
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
                lines = [text if text in ["...", *lines] else (difflib.get_close_matches(text, lines, 1, 0) or [""])[0] for text in wanted]
            yield from (f"{stream} {line}".rstrip() for line in lines if wanted)
            yield from (f"no {stream} {text}" for text in self.expected[f"no {stream}"])


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
        assert self.commands, f"{name}: has no command"
        self.files = {}
        for path, form, times, content in sections:
            self.files[path] = self.files.get(path, b"") + section_bytes(content, form, times)

    def play(self, environment):
        """Runs the commands in an empty directory with the files. Returns what differs, as lines for people."""
        self.differences = []
        with tempfile.TemporaryDirectory(prefix="pipe-case-") as directory:
            for path, data in self.files.items():
                file = Path(directory, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(data)
            for command in self.commands:
                command.run(directory, {**environment, "HOME": directory})
                if found := list(command.differences()):
                    self.differences += [f"{self.name}:{command.number}: $ {command.text}", *(f"    {line}" for line in found)]
        return self.differences

    def updated(self):
        for command in reversed(self.commands):
            self.lines[command.number:command.end] = [f"{line}\n" for line in command.updated()]
        return "".join(self.lines)


def section_bytes(content, form, times):
    numbered = (content.replace("<n>", str(number)) for number in range(int(times or 1)))
    text = "".join(numbered) if times and "<n>" in content else content * int(times or 1)
    return text.encode(form or "utf-8") if form != "bytes" else re.sub(
        rb"\\(?:x([0-9a-f]{2})|\n)", lambda found: bytes.fromhex((found[1] or b"").decode()), text.encode())


def self_test():
    wrong = {"exit status 1, expected 0": "$ exit 1", "exit status 0, expected 2": "$ true\nexit 2", "- b": "$ echo a b\nout b",
             "+ b": "$ printf 'a\\nb\\n'\nout a", "+ a": "$ echo a; exit 1\nexit 1", "- c": "$ echo a >&2\nerr ...\nerr c",
             "must not have: a1": "$ echo a1\nno out a...", "this is a bug": "$ echo '[this is a bug]' >&2",
             "- a2": "$ printf 'a2\\na1\\n'\nout a1\nout a2", "- x": "$ cat x\nout x\n-- x (bytes) --\n\\x79"}
    for part, text in wrong.items():
        found = Case("wrong", f"A case.\n{text}\n").play(os.environ)
        assert any(part in line for line in found), f"not found: {part}\n{found}"
    files = "-- x (bytes) --\na\\x62\\\n-- x * 4 --\nc<n>\n"  # abc0 to c3
    assert not Case("right", f"A case.\n$ cat x; exit 3\nexit 3\nout a...c0\nout ...\nout c3\n{files}").play(os.environ)
    old = Case("old", f"A case.\n# why\n$ cat x\nexit 3\nout a...\nout c1\nout d\n{files}")
    assert old.play(os.environ) and old.updated() == f"A case.\n# why\n$ cat x\nout a...\nout c1\nout c2\nout c3\n{files}", old.updated()
    print(f"{len(wrong)} differences looked for and found")


def main(pipe, *words):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PIPE_")}
    environment.update(PATH=f"{Path(pipe).resolve().parent}:{os.environ['PATH']}", PIPE_TEST_REASONS="1")
    places = [Path(word).resolve() for word in words if word != "--update"] or [Path(__file__).with_name("cases")]
    paths = [path for place in places for path in (sorted(place.rglob("*.case")) if place.is_dir() else [place])]
    cases = [Case(os.path.relpath(path), path.read_text(encoding="utf-8")) for path in paths]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for path, case, differences in zip(paths, cases, pool.map(lambda case: case.play(environment), cases)):
            print("\n".join(differences) or f"ok: {case.lines[0].strip()}", flush=True)
            if differences and "--update" in words:
                path.write_text(case.updated(), encoding="utf-8")
    print(f"{len(cases)} cases, {sum(bool(case.differences) for case in cases)} wrong")
    return 0 if cases and not any(case.differences for case in cases) else 1


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1:] == ["--self-test"] else main(*sys.argv[1:]))
