#!/usr/bin/env python3
"""`pipe trainer setup` and `check` with a Python that follows instructions: environments made, reused, made again,
refused.

    trainer_setup.py PIPE
"""

import hashlib
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
  "-m pip cache dir") [ -z "$NO_CACHE" ] || exit 1; echo "/tmp/pip" ;;
  "-m venv "*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
  *" pip install "*) [ -z "$PIP_HANGS" ] || sleep 30; [ -z "$PIP_SLOW" ] || sleep 1
    [ -z "$NET_FAILS" ] || { printf 'ERROR: before\\nerror: connection-failed\\n\\n× Could not connect\\n\\nhint: try\\n'; exit 1; }
    [ -z "$PIP_FAILS" ] || { echo "hashes do not match"; exit 1; } ;;
  "-c import "*) [ -z "$IMPORT_FAILS" ] || { echo "Illegal instruction"; exit 132; } ;;
esac
"""

ALONE = FAKE.replace("#!/bin/sh\n", "#!/bin/sh\nPATH=/usr/bin:/bin\n")  # needs nothing of the PATH that it is found in


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
        (self.plugins / "train/installer.txt").write_text("pip==1\n")
        self.sizes("cpu 1000 2000\n")
        self.python = root / "python3"
        self.python.write_text(FAKE)
        self.python.chmod(0o755)
        self.said = root / "said"

    def lock(self, extra, text):
        (self.plugins / f"train/requirements-{extra}.txt").write_text(text)

    def sizes(self, text):
        (self.plugins / "train/sizes.txt").write_text(text)

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
    check(len(shop.run(*setup, code=0, says=".pipe/trainer: made", VERSION="3 12 1")) == 5, "not made again for 3.12")
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
    check(len(shop.run(*setup, code=0, says="made")) == 5, "not made again")

    install = "install one: apt install python3.11 python3.11-venv; or name one: --python PATH"
    for version, what in (("3 10 1", "is Python 3.10"), ("3 14 1", "is Python 3.14"), ("2 7 0", "is Python 2.7")):
        said = shop.run(*setup, "--dir", "new", code=1, says=f"{shop.python} {what}; {install}", VERSION=version)
        check(said == [] and not (shop.root / "new").exists(), f"{version}: something was begun")
    shop.run(*setup, "--dir", "new", code=1, says="apt install python3.12-venv", VERSION="3 12 0")
    shop.run(*setup, "--dir", "new", code=1, says="it does not tell its version", VERSION="Python")
    shop.run("setup", "--python=3.12", "--dir", "new", code=1, PATH=str(shop.root / "nowhere"),
             says="python3.12 is not on PATH, nor is uv, which could fetch it; install it: apt install python3.12 "
                  "python3.12-venv")

    path = shop.root / "path"
    path.mkdir()
    shop.run("setup", "--dir", "new", code=1, says=f"no python3 is on PATH; {install}", PATH=str(path))

    def offer(name, version):
        file = path / name
        file.write_text(ALONE.replace("${VERSION:-3 11 1}", version))
        file.chmod(0o755)

    def taken(says, code=0):
        return shop.run("setup", "--dir", "found", code=code, says=says, PATH=str(path))

    offer("python3", "3 10 1")
    taken("wants Python 3.11, 3.12 and 3.13, and python3 is Python 3.10; install one: apt install python3.11", code=1)
    offer("python3.12", "3 12 0")
    taken("python3 is Python 3.10, python3.12 is Python 3.12 without ensurepip; install the rest of it: apt install "
          "python3.12-venv", code=1)
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


def brought(shop, setup):
    """Remedies where no Python fits, and the archive of CPython that the release has."""
    path = shop.root / "bare"
    path.mkdir()
    for name in ("sha256sum", "tar", "gzip"):
        (path / name).symlink_to(shutil.which(name))

    def told(says, *words, code=1, **more):
        return shop.run("setup", "--dir", "it", *words, code=code, says=says, PATH=str(path), **more)

    archive = shop.root / "text2lm-python-3.11.2-linux-x86_64.tar.gz"
    inside = shop.root / "python/bin"
    inside.mkdir(parents=True)
    (inside / "python3.11").write_text(ALONE)
    (inside / "python3.11").chmod(0o755)
    subprocess.run(["tar", "-czf", archive, "-C", shop.root, "python"], check=True)
    told("was built without the digest of an archive; unpack it and name its bin/python3", f"--python={archive}")
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    (shop.plugins / "train/python.txt").write_text(f"{archive.name} {digest}\n")
    told(f"and no python3 is on PATH; this release has one, the file {archive.name}: "
         f"pipe trainer setup --dir it --python {archive.name}\n")
    told(f"python3.11 is not on PATH, nor is uv, which could fetch it; this release has one, the file {archive.name}: "
         f"pipe trainer setup --dir it --python {archive.name}\n", "--python=3.11")
    told("absent.tar.gz: there is no such file", "--python=absent.tar.gz")
    told("from text2lm-python-3.11.2-linux-x86_64.tar.gz", f"--python={archive.name}", code=0)
    check((shop.root / "it/made-from").read_text().endswith(" 3.11\n"), "not made")
    check((shop.root / "it/python/bin/python3.11").exists(), "not unpacked in the environment")
    other = shop.root / "other.tar.gz"
    other.write_bytes(archive.read_bytes() + b"\0")
    shop.lock("cpu", "jax==4\n")
    found = hashlib.sha256(other.read_bytes()).hexdigest()
    told(f"other.tar.gz: has the SHA-256 {found}, and {archive.name} of this program's release has {digest}; take that "
         "file", f"--python={other}")

    (path / "uv").write_text("""#!/bin/sh
PATH=/usr/bin:/bin
[ "$1" = --version ] && exit
echo "uv $@ $UV_PYTHON_INSTALL_BIN" >> "$SAID"
[ -z "$UV_EMPTY" ] || exit 0
mkdir -p "$UV_PYTHON_INSTALL_DIR/cpython-$3.7/bin" && cp "$FAKE" "$UV_PYTHON_INSTALL_DIR/cpython-$3.7/bin/python$3"
ln -s "cpython-$3.7" "$UV_PYTHON_INSTALL_DIR/cpython-$3"
""")
    (path / "uv").chmod(0o755)
    told("and no python3 is on PATH; uv fetches one: pipe trainer setup --dir it --python 3.13\n")
    told("uv python install 3.12: left no bin/python3.12 in", "--python=3.12", UV_EMPTY="1")
    said = told("with Python 3.12, which uv fetches", "--python=3.12", code=0, VERSION="3 12 1",
                FAKE=str(inside / "python3.11"))
    check(said[0] == "uv python install 3.12 0", said)
    check((shop.root / "it/python/cpython-3.12.7/bin/python3.12").exists(), "not in the environment")

    # Files that have arrived wait for the next attempt, if pip has no cache of its own.
    shop.lock("cpu", "jax==5\n")
    said = shop.run(*setup, "--dir", "it", code=1, says="hashes do not match", NO_CACHE="1", PIP_FAILS="1")
    check(all(f"--cache-dir {shop.root}/it/cache" in line for line in said if " pip install " in line), said)
    (shop.root / "it/cache").mkdir()
    (shop.root / "it/cache/file").write_text("arrived")
    shop.run(*setup, "--dir", "it", code=1, says="hashes do not match", NO_CACHE="1", PIP_FAILS="1")
    check((shop.root / "it/cache/file").exists(), "what had arrived is gone")
    shop.run(*setup, "--dir", "it", code=0, says="made", NO_CACHE="1")
    check(not (shop.root / "it/cache").exists(), "the cache stayed")

    shop.sizes("tpu 1 2\ncpu 1000 2000000000000000\n")
    shop.lock("cpu", "jax==6\n")
    shop.run(*setup, "--dir", "it", code=1, says="it: 1.78 PiB will lie there, and ")
    check((shop.root / "it/made-from").read_text().startswith("cpu "), "a refusal took the environment away")
    shop.run("wheels", "some", "--python", str(shop.python), code=0, says="has the wheels now; on the other machine: "
             "pipe trainer setup --wheels some\n")
    shop.sizes("cpu 1048576 2097152\n")
    shop.run(*setup, "--dir", "it", "--wheels", "absent", code=1, says="--wheels: absent: there is no such directory; on a machine with a network: pipe trainer wheels absent --for 3.11\n")
    shop.run(*setup, "--dir", "it", code=0, says="1.00 MiB to download, 2.00 MiB on the disk")


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
        check(said[1] == "-m pip cache dir", said)
        for line, lock in ((said[2], "installer"), (said[3], "requirements-cpu")):
            check(line.startswith("-m pip install") and "--require-hashes --no-deps " in line and
                  line.endswith(f"/plugins/train/{lock}.txt") and "index" not in line and "cache" not in line, said)
            check("--only-binary=:all:" in line, said)
        check("--progress-bar raw --resume-retries 20" in said[3], said)
        check(said[4].startswith("-c import jax"), said)
        check(re.fullmatch(r"cpu [0-9a-f]{32} 3\.11\n", made.read_text()), made.read_text())
        shop.run("check", code=0, says=".pipe/trainer: right, its interpreter is")
        check(shop.run(*setup, code=0, says="is right already") == [], "made it again for nothing")

        chosen(shop, setup, made)
        brought(shop, setup)
        shop.lock("cpu", "jax==2\n")
        shop.run("check", code=1,
                 says="made from other requirements than this program's; make it with: pipe trainer setup\n")
        shop.run(*setup, code=1, says="hashes do not match", PIP_FAILS="1")
        check(made.read_text() == "unfinished\n", made.read_text())
        shop.run("check", code=1, says="is unfinished; make it with: pipe trainer setup\n")
        shop.run(*setup, code=1, says="ended with exit code 1: Could not connect; its whole output: ", NET_FAILS="1")
        shop.run(*setup, code=1, says="the first import ended with exit code 132", IMPORT_FAILS="1")
        shop.run("check", code=1, says="is unfinished")
        check(len(shop.run(*setup, code=0, says="made")) == 5, "not made again")
        shop.run("check", code=0, says="right")

        shop.lock("tpu", "jax[tpu]==2\n")
        shop.run(*setup, "--extra", "cuda", code=2, says="there are no requirements for 'cuda'; there are: cpu, tpu")
        shop.run(*setup, "--extra=tpu", "--dir", "elsewhere", code=0, says="elsewhere: made")
        if not any(os.path.exists(node) for node in ("/dev/accel0", "/dev/vfio/0")):
            shop.run(*setup, "--extra=tpu", "--dir", "warned", code=0, says="this machine has no TPU (no /dev/accel0")
        shop.lock("tpu", "jax[tpu]==3\n")
        shop.run("check", "--dir", "elsewhere", code=1, says="pipe trainer setup --dir elsewhere --extra tpu\n")

        own = shop.root / "own/bin"
        own.mkdir(parents=True)
        shutil.copy(shop.python, own / "python")
        shop.run("check", "--dir", "own", code=0, says="own: right")
        shop.run(*setup, "--dir", "own", code=1, says="own: is there, and was not made by this command")
        check((own / "python").exists(), "somebody's own was removed")
        shop.run(*setup[:2], "no-such-python", "--dir", "new", code=1, says="no-such-python")
        shop.run("setup", "--dri", "x", code=2, says="there is no --dri; did you mean --dir?")

        for words in (("setup", "--wheels="), ("setup", "--dir="), ("wheels", "")):
            shop.run(*words, code=2, says="must name a directory")
        shop.run("wheels", code=2, says="DIR")
        shop.run("wheels", "it", "--for", "3.14", code=2, says="--for: '3.14' is none of 3.11, 3.12, 3.13")

        # Two at once: the second one waits, and finds the environment of the first.
        both = [subprocess.Popen(shop.command(*setup, "--dir", "both"), cwd=shop.root, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, text=True, env=shop.environment(PIP_SLOW="1")) for _ in range(2)]
        told = sorted(process.communicate(timeout=60)[0].splitlines()[-1] for process in both)
        check([process.returncode for process in both] == [0, 0] and told == ["both: is right already", "both: made"], told)

        shop.said.write_text("")
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
