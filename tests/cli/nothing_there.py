#!/usr/bin/env python3
"""Commands where nothing is: one exit status, and one line that says what is missing.

    nothing_there.py PIPE
"""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from scenarios import check

DONE, REFUSED = 0, 2
FILE = """pipe: 1
name: mine
stages:
  source: {type: download, url: corpus.txt}
  lines: {type: decompress, input: source}
  out: {type: write_jsonl, input: lines, out: out}
"""
# The program that an `exec` runs, and whether it is told before anything runs that it is not there.
COMMANDS = (("[python3, drop.py]", True), ("[python3, -u, drop.py]", True), ("[./drop.py]", True), ("[sh, -c, cat]", False))


class Place:
    def __init__(self, pipe, root):
        self.pipe, self.root = Path(pipe).resolve(), Path(root)
        self.write("mine.yaml", FILE)
        self.write("corpus.txt", "a\n\nb\n")
        (self.root / "empty").mkdir()

    def write(self, name, text):
        (self.root / name).write_text(text, encoding="utf-8")

    def ends(self, line, code):
        """What a command writes, which ends with this status."""
        done = subprocess.run([self.pipe, *line.split()], cwd=self.root, capture_output=True, text=True, timeout=60, check=False)
        check(done.returncode == code, f"pipe {line}: exit {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr


def where_nothing_ran(place):
    for command in ("status", "report", "runs", "retry", "clean"):
        said = place.ends(f"{command} mine.yaml", REFUSED)
        check("`pipe run mine.yaml` begins" in said, f"{command}: {said}")
    for line in ("status mine.yaml --json", "runs mine.yaml --json", "submit mine.yaml --cancel"):
        place.ends(line, REFUSED)
    for line in ("status", "report", "runs", "retry", "retry -n", "clean", "clean -n", "clean --all"):
        place.ends(f"{line} mine.yaml --work work/here", REFUSED)
    check(not (place.root / "work").exists() and not (place.root / ".pipe").exists(), "a command that only asks made a directory")


def where_nothing_is(place):
    for line in ("verify absent", "verify empty", "cat absent", "cat empty", "stats absent", "stats empty", "ls absent",
                 "cp absent there", "cp -r absent there", "cp -r empty there", "sample absent", "sample empty",
                 "eval absent absent", "eval empty empty", "predict absent", "predict empty", "trainer check"):
        said = place.ends(line, REFUSED)
        check(said.startswith("error: ") and said.count("\n") == 1, f"{line}: {said}")
    place.ends("ls empty", DONE)  # the directory is there
    said = place.ends("worker --plan absent --next", 64)
    check(said == "error: absent: holds no work package; `pipe plan FILE -o absent` makes one\n", said)
    said = place.ends("trainer fit absent.yaml", REFUSED)
    check(said.count("\n") == 1, f"told twice: {said}")


def what_is_done(place):
    for command in ("run", "run", "status", "report", "runs", "clean"):
        place.ends(f"{command} mine.yaml", DONE)
    check("nothing failed" in place.ends("retry mine.yaml", REFUSED), "nothing failed")


def what_is_in_the_way(place):
    place.write("file", "")
    for out in ("file", "file/below"):
        said = place.ends(f"run mine.yaml --set stages.out.out={out}", REFUSED)
        check("file: is a file, and the stage needs a directory there" in said, said)


def programs(place):
    for number, (command, is_told) in enumerate(COMMANDS):
        place.write("exec.yaml", FILE.replace("name: mine", f"name: exec{number}").replace("out: out}", f"out: out{number}}}").replace(
            "  out: {type: write_jsonl, input: lines", f"  drop: {{type: exec, input: lines, command: {command}}}\n"
            f"  out: {{type: write_jsonl, input: drop"))
        said = place.ends("run exec.yaml", REFUSED if is_told else DONE)
        check(not is_told or "stage 'drop': command: " in said and "drop.py is not there; " in said, said)


def a_warning(place):
    """A warning names the file once, and the workers of a run do not repeat it."""
    place.write("warned.yaml", FILE.replace("name: mine\n", "name: warned\nvars: {rate: 1}\n").replace("out: out}", "out: warned}"))
    warning = "warning: warned.yaml:3:8: nothing uses the variable 'rate'"
    check(place.ends("validate warned.yaml", DONE).count("warned.yaml:3:8") == 1, "the file is named twice")
    check(warning in place.ends("plan warned.yaml -o package", DONE), "the plan tells no warning")
    said = place.ends("worker --plan package --next", DONE)
    check("nothing uses" not in said, f"a worker repeats the warning: {said}")


def main(pipe):
    with tempfile.TemporaryDirectory() as root:
        place = Place(pipe, root)
        for scene in (where_nothing_ran, where_nothing_is, what_is_done, what_is_in_the_way, programs, a_warning):
            scene(place)
    print("one exit status where nothing is")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
