#!/usr/bin/env python3
"""The installed program works from a prefix that was moved: with its plugin, its pipelines and its trainer.

    installed.py BUILD
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

WANTED = ("bin/pipe", "lib/pipe/plugins/pipe_train.so", "lib/pipe/plugins/train/pipe_trainer/__main__.py",
          "lib/pipe/plugins/train/requirements-cpu.txt", "share/pipe/pipelines/quickstart.yaml",
          "share/pipe/dictionaries.txt", "share/doc/pipe/README.md")


def run(*words, cwd=None, code=0):
    env = {"PATH": os.environ["PATH"], "HOME": str(cwd or "/nonexistent"), "LANG": "C.UTF-8"}
    told = subprocess.run([str(word) for word in words], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    if told.returncode != code:
        sys.exit(f"{words}: {told.returncode} instead of {code}\n{told.stdout}{told.stderr}")
    return told.stdout + told.stderr


def expect(text, *parts):
    for part in parts:
        if part not in text:
            sys.exit(f"no {part!r} in\n{text}")


def main(build):
    with tempfile.TemporaryDirectory() as folder:
        first, prefix, root = (Path(folder) / name for name in ("first", "moved", "place"))
        run("cmake", "--install", build, "--prefix", first)
        shutil.move(first, prefix)
        root.mkdir()
        for name in WANTED:
            if not (prefix / name).is_file():
                sys.exit(f"{name} is not installed")
        pipe = prefix / "bin/pipe"
        lines = run(pipe, "--version").splitlines()
        if not lines[0].startswith("pipe ") or not lines[1].startswith("commit ") or not lines[2].startswith("plugin ABI "):
            sys.exit(f"--version says {lines}")
        expect(run(pipe, "plugins", cwd=root), "train", str(prefix))
        # The trainer's requirements are found beside the plugin.
        expect(run(pipe, "trainer", "check", "--dir", "absent", cwd=root, code=2), "pipe trainer setup")
        # A run through the whole program.
        (root / "text.txt").write_text("".join(f"{number}匹の猫が鳴く。\n犬も鳴く。\n\n" for number in range(200)),
                                       encoding="utf-8")
        expect(run(pipe, "validate", prefix / "share/pipe/pipelines/quickstart.yaml", "--set", "corpus=text.txt", cwd=root),
               "quickstart.yaml")
        run(pipe, "run", prefix / "share/pipe/pipelines/quickstart.yaml", "--set", "corpus=text.txt", "--set", "out=out",
            "--until", "text", cwd=root)
        run(pipe, "verify", "out/quickstart_ja/1.0.0", cwd=root)


if __name__ == "__main__":
    main(*sys.argv[1:])
