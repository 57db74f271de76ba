#!/usr/bin/env python3
"""`pipe trainer setup` and `check` with a Python that follows instructions: environments made, reused, made again,
refused.

    trainer_setup.py PIPE
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

# Replaces python3 and the interpreter of the environment; records its arguments in $SAID, except --version.
FAKE = """#!/bin/sh
case "$*" in
  "-c import sys, importlib"*) echo ${VERSION:-3 11 1}; exit ;;
esac
echo "$@" >> "$SAID"
case "$*" in
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  *" pip install "*) [ -z "$PIP_HANGS" ] || sleep 30; [ -z "$PIP_FAILS" ] || { echo "hashes do not match"; exit 1; } ;;
  "-c import "*) [ -z "$IMPORT_FAILS" ] || { echo "Illegal instruction"; exit 132; } ;;
esac
"""


def check(good, what):
    if not good:
        raise SystemExit(f"trainer_setup.py: {what}")


class Shop:
    def __init__(self, pipe, root):
        self.pipe, self.root = pipe, root
        self.plugins = root / "plugins"
        (self.plugins / "train").mkdir(parents=True)
        shutil.copy(pipe.parent / "plugins/pipe_train.so", self.plugins)
        self.lock("cpu", "jax==1\n")
        self.python = root / "python3"
        self.python.write_text(FAKE)
        self.python.chmod(0o755)
        self.said = root / "said"

    def lock(self, extra, text):
        (self.plugins / f"train/requirements-{extra}.txt").write_text(text)

    def command(self, *words):
        return [self.pipe, "trainer", *words]

    def environment(self, **more):
        return {**os.environ, "PIPE_PLUGINS": str(self.plugins), "SAID": str(self.said), **more}

    def run(self, *words, code, says, **more):
        self.said.write_text("")
        run = subprocess.run(self.command(*words), cwd=self.root, capture_output=True, text=True, timeout=60,
                             env=self.environment(**more))
        told = f"pipe trainer {' '.join(words)}: exit {run.returncode}\n{run.stdout}{run.stderr}"
        check(run.returncode == code, f"{told}\nexpected exit {code}")
        check(says in run.stdout + run.stderr, f"{told}\nnot said: {says}")
        return self.said.read_text().splitlines()


def chosen(shop, setup, made):
    """The chosen Python: the one named, or the first on PATH that fits; others are refused with advice."""
    # The record of the previous version counts while its requirements are the same; another Python is another
    # environment.
    now = made.read_text()
    made.write_text(now.rsplit(" ", 1)[0] + "\n")
    shop.run("check", code=0, says="right")
    check(shop.run(*setup, code=0, says="is right already") == [], "made it again for nothing")
    made.write_text(now)
    check(len(shop.run(*setup, code=0, says=".pipe/trainer: made", VERSION="3 12 1")) == 3, "not made again for 3.12")
    check(made.read_text().endswith(" 3.12\n"), made.read_text())
    check(shop.run("setup", code=0, says="is right already", PATH="/nowhere") == [], "it looked for a Python")

    # The interpreter is gone, or another one has its name.
    python = made.parent / "bin/python"
    real = shop.root / "python3.12"
    python.rename(real)
    python.symlink_to(real)
    shop.run("check", code=0, says="right")
    other = real.rename(shop.root / "python3.13")
    shop.run("check", code=1, says="was made with Python 3.12, which is gone; make it with: pipe trainer setup\n")
    python.unlink()
    python.symlink_to(other)
    shop.run("check", code=1, says="was made with Python 3.12, and has 3.13 now; make it with: pipe trainer setup\n")
    check(len(shop.run(*setup, code=0, says="made")) == 3, "not made again")

    install = "install one: apt install python3.11 python3.11-venv; or name one: --python PATH"
    for version, what in (("3 10 1", "is Python 3.10"), ("3 14 1", "is Python 3.14"), ("2 7 0", "is Python 2.7")):
        said = shop.run(*setup, "--dir", "new", code=1, says=f"{shop.python} {what}; {install}", VERSION=version)
        check(said == [] and not (shop.root / "new").exists(), f"{version}: something was begun")
    shop.run(*setup, "--dir", "new", code=1, says="apt install python3.12-venv", VERSION="3 12 0")
    shop.run(*setup, "--dir", "new", code=1, says="it does not tell its version", VERSION="Python")

    path = shop.root / "path"
    path.mkdir()
    shop.run("setup", "--dir", "new", code=1, says=f"no python3 is on PATH; {install}", PATH=str(path))

    def offer(name, version):
        file = path / name
        file.write_text(FAKE.replace("${VERSION:-3 11 1}", version).replace("#!/bin/sh\n", "#!/bin/sh\nPATH=/usr/bin:/bin\n"))
        file.chmod(0o755)

    def taken(says, code=0):
        return shop.run("setup", "--dir", "found", code=code, says=says, PATH=str(path))

    offer("python3", "3 10 1")
    taken("wants Python 3.11, 3.12 and 3.13, and python3 is Python 3.10; install one: apt install python3.11", code=1)
    offer("python3.12", "3 12 0")
    taken("python3 is Python 3.10, python3.12 is Python 3.12 without ensurepip; install one: apt install python3.12-venv;", code=1)
    (path / "python3.13").write_text("#!/bin/sh\nexit 127\n")  # like a wrapper for a version that is not installed
    (path / "python3.13").chmod(0o755)
    offer("python3.11", "3 11 1")
    taken("with python3.11, Python 3.11")
    offer("python3.12", "3 12 1")
    shutil.rmtree(shop.root / "found")
    taken("with python3.12, Python 3.12")
    offer("python3", "3 11 1")
    shutil.rmtree(shop.root / "found")
    taken("with python3, Python 3.11")


def main():
    library = Path(sys.argv[1]).resolve().parent / "plugins/pipe_train.so"
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    check([line.split()[-1] for line in symbols.splitlines()] == ["pipe_native_build", "pipe_native_plugin"], symbols)
    with tempfile.TemporaryDirectory() as root:
        shop = Shop(Path(sys.argv[1]).resolve(), Path(root).resolve())
        setup = ("setup", "--python", str(shop.python))
        made = shop.root / ".pipe/trainer/made-from"

        shop.run("check", code=2, says="there is no environment for the trainer; make it with: pipe trainer setup\n")
        said = shop.run(*setup, code=0, says=".pipe/trainer: made")
        check(said[0] == "-m venv .pipe/trainer", said)
        check(said[1].startswith("-m pip install") and "--require-hashes --no-deps -r" in said[1] and
              said[1].endswith("/plugins/train/requirements-cpu.txt") and "index" not in said[1], said)
        check(said[2].startswith("-c import jax"), said)
        check(re.fullmatch(r"cpu [0-9a-f]{32} 3\.11\n", made.read_text()), made.read_text())
        check("--only-binary=:all:" in said[1], said)
        shop.run("check", code=0, says=".pipe/trainer: right, its interpreter is")
        check(shop.run(*setup, code=0, says="is right already") == [], "made it again for nothing")

        chosen(shop, setup, made)
        shop.lock("cpu", "jax==2\n")
        shop.run("check", code=1, says="made from other requirements than this program's; make it with: pipe trainer setup\n")
        shop.run(*setup, code=1, says="hashes do not match", PIP_FAILS="1")
        check(made.read_text() == "unfinished\n", made.read_text())
        shop.run("check", code=1, says="is unfinished; make it with: pipe trainer setup\n")
        shop.run(*setup, code=1, says="the first import ended with exit code 132", IMPORT_FAILS="1")
        shop.run("check", code=1, says="is unfinished")
        check(len(shop.run(*setup, code=0, says="made")) == 3, "not made again")
        shop.run("check", code=0, says="right")

        shop.lock("tpu", "jax[tpu]==2\n")
        shop.run(*setup, "--extra", "cuda", code=2, says="there are no requirements for 'cuda'; there are: cpu, tpu")
        shop.run(*setup, "--extra=tpu", "--dir", "elsewhere", code=0, says="elsewhere: made")
        if not any(os.path.exists(node) for node in ("/dev/accel0", "/dev/vfio/0")):
            shop.run(*setup, "--extra=tpu", "--dir", "warned", code=0, says="this machine has no TPU (no /dev/accel0")
        shop.lock("tpu", "jax[tpu]==3\n")
        shop.run("check", "--dir", "elsewhere", code=1, says="pipe trainer setup --dir 'elsewhere' --extra tpu\n")

        own = shop.root / "own/bin"
        own.mkdir(parents=True)
        shutil.copy(shop.python, own / "python")
        shop.run("check", "--dir", "own", code=0, says="own: right")
        shop.run(*setup, "--dir", "own", code=1, says="own: is there, and was not made by this command")
        check((own / "python").exists(), "somebody's own was removed")
        shop.run(*setup[:2], "no-such-python", "--dir", "new", code=1, says="no-such-python")
        shop.run("setup", "--dri", "x", code=2, says="there is no --dri; did you mean --dir?")

        process = subprocess.Popen(shop.command(*setup, "--dir", "late"), cwd=shop.root, stderr=subprocess.PIPE,
                                   text=True, env=shop.environment(PIP_HANGS="1"))
        end = time.monotonic() + 30
        while time.monotonic() < end and "pip install" not in shop.said.read_text():
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=30)
        check(process.returncode == 130, f"exit {process.returncode} after Ctrl-C\n{err}")
        shop.run("check", "--dir", "late", code=1, says="is unfinished")
    print("the environment is made, left alone, made again and refused as it should be")


if __name__ == "__main__":
    main()
