#!/usr/bin/env python3
"""Directories outside of the work directory that another user could have made first: the program trusts none of them.

    own_directories.py PIPE
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
from scenarios import check, play, scenario

REFUSED, PERMISSION = 2, 77


class Scenarios:
    def __init__(self, pipe, root):
        self.pipe, self.root = Path(pipe).resolve(), Path(root)
        (self.root / "text").write_text("x\n")

    def locations(self, name):
        """Yields (kind, message) for each kind of file or directory of that name that must not be used."""
        path = self.root / "tmp" / name
        for what, says in (("open", "can be written to by other users"), ("link", "is a link or a file"),
                           ("theirs", "belongs to another user")):
            if what == "theirs" and os.geteuid() != 0:
                continue
            shutil.rmtree(self.root / "tmp", ignore_errors=True)
            path.parent.mkdir()
            (self.root / "elsewhere").mkdir(exist_ok=True)
            if what == "link":
                path.symlink_to(self.root / "elsewhere")
            else:
                path.mkdir()
                path.chmod(0o777 if what == "open" else 0o700)
            if what == "theirs":
                os.chown(path, 65534, 65534)
            yield path, says
            check(not any((self.root / "elsewhere").iterdir()), f"{what}: something was put behind the link")
            check(path.is_symlink() or not any(path.iterdir()), f"{what}: something was put into it")

    def holds(self, done, code, path, says):
        check(done.returncode == code, f"exit {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
        check(f"{path}: {says}" in done.stderr, f"does not say '{says}':\n{done.stderr}")

    @scenario
    def a_spool_of_others_is_refused_before_anything_is_asked(self):
        environment = {**os.environ, "TMPDIR": str(self.root / "tmp"), "STORAGE_EMULATOR_HOST": "http://127.0.0.1:9"}
        for path, says in self.locations(f"pipe-spool-{os.geteuid()}"):
            done = subprocess.run([self.pipe, "cp", self.root / "text", "gs://bucket/text"], env=environment,
                                  capture_output=True, text=True, timeout=60, check=False)
            self.holds(done, REFUSED, path, says)

    @scenario
    def a_worker_puts_nothing_into_a_directory_of_others(self):
        (self.root / "line.yaml").write_text(
            "pipe: 1\nname: line\nstages:\n  source: { type: download, url: text }\n"
            "  lines: { type: decompress, input: source, keep: true }\n")
        planned = subprocess.run([self.pipe, "plan", "line.yaml", "-o", "plan"], cwd=self.root, capture_output=True,
                                 text=True, timeout=60, check=False)
        check(planned.returncode == 0, planned.stdout + planned.stderr)
        unit = json.loads((self.root / "plan/plan.json").read_text())["units"][0]["unit"]
        # The worker's directory has its process id in its name: the shell has that id before it becomes the worker.
        begin = 'rm -rf tmp elsewhere; mkdir tmp elsewhere; path=$PWD/tmp/pipe-worker-$$; '
        go_on = 'echo "$path"; exec "$0" worker --plan plan --unit "$1" --scratch tmp'
        for make, says in (('mkdir "$path"; chmod 777 "$path"; ', "can be written to by other users"),
                           ('ln -s "$PWD/elsewhere" "$path"; ', "is a link or a file"),
                           ('mkdir "$path"; chown 65534 "$path"; ', "belongs to another user")):
            if "chown" in make and os.geteuid() != 0:
                continue
            done = subprocess.run(["sh", "-c", begin + make + go_on, self.pipe, unit], cwd=self.root,
                                  capture_output=True, text=True, timeout=60, check=False)
            self.holds(done, PERMISSION, Path(done.stdout.strip()), says)
            check(not any((self.root / "elsewhere").iterdir()), "something was put behind the link")
        done = subprocess.run(["sh", "-c", begin + 'mkdir -m 700 "$path"; touch "$path/left"; ' + go_on, self.pipe, unit],
                              cwd=self.root, capture_output=True, text=True, timeout=60, check=False)
        check(done.returncode == 0, f"its own: exit {done.returncode}\n{done.stderr}")
        check(not any((self.root / "tmp").iterdir()), "its own was left")


def main():
    with tempfile.TemporaryDirectory() as root:
        play(Scenarios(sys.argv[1], root), sys.argv[2:])


if __name__ == "__main__":
    main()
