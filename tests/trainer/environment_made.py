#!/usr/bin/env python3
"""`pipe trainer setup` with a real Python, pip and uv, on an index of its own: a file that breaks off is gone on with;
a setup that was stopped fetches no file again; wheels in a directory need no network, and a changed wheel is refused; a
Python comes from an archive, or from the mirror that uv is told to use.

    environment_made.py PIPE ENVIRONMENT UV     ENVIRONMENT: of the trainer; its pip is in the index
"""

import base64
import contextlib
import csv
import hashlib
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
import unittest
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

PIPE, ENVIRONMENT, UV = (Path(os.path.abspath(word)) for word in sys.argv[1:4])
ROOT = Path(__file__).resolve().parent.parent.parent
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
LARGE = 3 << 20  # bytes, of the largest wheel
# The packages of the trainer's imports: each is a module that says its name.
ALL = "jax numpy optax orbax-checkpoint"
MODULES = {"jax": "jax", "numpy": "numpy", "optax": "optax", "orbax-checkpoint": "orbax/checkpoint"}


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write_wheel(directory, name, version, files, tag="py3-none-any"):
    """`files`: {path in site-packages: bytes}."""
    name = name.replace("-", "_")
    info = f"{name}-{version}.dist-info"
    files = {**files, f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
             f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n".encode()}
    lines = []
    path = directory / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for place, content in files.items():
            wheel.writestr(place, content)
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
            lines.append(f"{place},sha256={digest},{len(content)}\n")
        wheel.writestr(f"{info}/RECORD", "".join([*lines, f"{info}/RECORD,,\n"]))
    return path


def wheel_of_pip(directory):
    """The pip of the trainer's environment, as a wheel again."""
    (site,) = ENVIRONMENT.glob("lib/python3.*/site-packages")
    (info,) = site.glob("pip-*.dist-info")
    version = info.name.removesuffix(".dist-info").removeprefix("pip-")
    if f"pip=={version} " not in (ROOT / "plugins/train/python/installer.txt").read_text():
        raise SystemExit(f"{ENVIRONMENT}: has pip {version}, not that of the lock; remove it, and ./dev makes another")
    with open(info / "RECORD", encoding="utf-8", newline="") as record:
        names = [row[0] for row in csv.reader(record)]
    kept = [name for name in names if not name.startswith("..") and not name.endswith(".pyc")
            and not name.startswith(info.name)]
    return version, write_wheel(directory, "pip", version, {name: (site / name).read_bytes() for name in kept})


class Index:
    """A package index on loopback, and a mirror of Pythons. `breaks`: the file of this name breaks off in the middle at
    its first request. `waits_for`: the name of a file that is not sent while the event `sends` is not set."""

    def __init__(self, directory):
        self.directory, self.requests, self.breaks, self.waits_for = directory, [], None, None
        self.sends = threading.Event()
        index = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                kind, _, name = self.path.strip("/").partition("/")
                if kind == "simple":
                    wheels = sorted(index.directory.glob(f"{name.replace('-', '_')}-*.whl"))
                    links = [f'<a href="/files/{path.name}#sha256={sha256(path)}">{path.name}</a>\n' for path in wheels]
                    self.say("".join(links).encode(), "text/html")
                    return
                begin = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0])
                index.requests.append((name, begin))
                if name == index.waits_for:
                    index.sends.wait(60)
                data = (index.directory / name).read_bytes()
                breaks = name == index.breaks and [one for one, _ in index.requests].count(name) == 1
                self.say(data, "application/octet-stream", begin, len(data) // 2 if breaks else 0)

            def say(self, data, kind, begin=0, breaks_at=0):
                self.send_response(206 if begin else 200)
                if begin:
                    self.send_header("Content-Range", f"bytes {begin}-{len(data) - 1}/{len(data)}")
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data) - begin))
                self.send_header("Accept-Ranges", "bytes")
                self.send_header("ETag", f'"{len(data)}"')
                self.send_header("Cache-Control", "max-age=365000000, immutable")
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # a pip that was stopped reads no more
                    self.wfile.write(data[begin:breaks_at or None])
                if breaks_at:
                    self.close_connection = True

            def log_message(self, *words):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def fetched(self, name):
        """The first bytes of the requests for a file."""
        return [begin for one, begin in self.requests if one.startswith(name)]


def pack_python(path):
    """An archive of this machine's Python with its standard library, in the layout that uv and setup know."""
    library = Path(sysconfig.get_paths()["stdlib"])
    with tempfile.TemporaryDirectory() as place:
        root = Path(place, "python")
        (root / "bin").mkdir(parents=True)
        shutil.copy(os.path.realpath(sys.executable), root / f"bin/python{VERSION}")
        for name in ("python3", "python"):
            (root / "bin" / name).symlink_to(f"python{VERSION}")
        left_out = shutil.ignore_patterns("*-packages", "test", "__pycache__", "config-*", "idlelib", "tkinter")
        shutil.copytree(library, root / f"lib/python{VERSION}", ignore=left_out, ignore_dangling_symlinks=True)
        subprocess.run(["tar", "-C", place, "--use-compress-program", "gzip -1", "-cf", path, "python"], check=True)


class Environments(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.root)
        files = cls.root / "files"
        files.mkdir()
        large = random.Random(1).randbytes(LARGE)
        wheels = {"pip": wheel_of_pip(files)}
        for name, module in MODULES.items():
            content = {f"{module}/__init__.py": f"name = {name!r}\n".encode()}
            if name == "jax":
                content["jax/program.bin"] = large
            wheels[name] = "1.0", write_wheel(files, name, "1.0", content)
        cls.bundled = cls.root / "plugins/train"
        cls.bundled.mkdir(parents=True)
        shutil.copy(PIPE.parent / "plugins/pipe_train.so", cls.bundled.parent)
        lines = {name: f"{name}=={version} --hash=sha256:{sha256(path)}\n" for name, (version, path) in wheels.items()}
        (cls.bundled / "installer.txt").write_text(lines.pop("pip"))
        (cls.bundled / "requirements-cpu.txt").write_text("".join(lines.values()))
        (cls.bundled / "sizes.txt").write_text(f"cpu {LARGE + 4000} {LARGE + 8000}\n")
        cls.archive = files / f"text2lm-python-{platform.python_version()}-linux-{platform.machine()}.tar.gz"
        pack_python(cls.archive)
        (cls.bundled / "python.txt").write_text(f"{cls.archive.name} {sha256(cls.archive)}\n")
        cls.index = Index(files)

    def setUp(self):
        self.place = Path(tempfile.mkdtemp(dir=self.root))
        self.index.requests.clear()
        self.index.breaks = self.index.waits_for = None
        self.environment = {
            "PATH": "/usr/bin:/bin", "HOME": "/nowhere", "PIPE_PLUGINS": str(self.bundled.parent), "LANG": "C.UTF-8",
            "PIP_INDEX_URL": f"{self.index.address}/simple", "PIP_CONFIG_FILE": "/dev/null", "PIP_NO_CACHE_DIR": "1",
            "PIP_RETRIES": "0", "PIP_NO_COMPILE": "1",
            "PIP_TRUSTED_HOST": "127.0.0.1"}  # pip keeps no file of a host that it does not trust

    def start(self, *words, **more):
        return subprocess.Popen([PIPE, "trainer", *map(str, words)], cwd=self.place, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, env={**self.environment, **more})

    def run_here(self, *words, code=0, **more):
        process = self.start(*words, **more)
        told, _ = process.communicate(timeout=120)
        self.assertEqual(process.returncode, code, told)
        return told

    def names(self, directory):
        """The modules that the interpreter of an environment imports."""
        program = "import jax, numpy, optax, orbax.checkpoint as o; print(jax.name, numpy.name, optax.name, o.name)"
        return subprocess.run([self.place / directory / "bin/python", "-c", program], capture_output=True, text=True,
                              check=True, cwd=self.place).stdout.strip()

    def test_a_file_that_breaks_off_is_gone_on_with_and_a_stopped_setup_fetches_no_file_again(self):
        self.index.breaks, self.index.waits_for = "jax-1.0-py3-none-any.whl", "numpy-1.0-py3-none-any.whl"
        words = ("setup", "--dir", "場所 one")
        process = self.start(*words)
        end = time.monotonic() + 60
        while not self.index.fetched("numpy-") and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        told, _ = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, told)
        self.index.sends.set()
        begins = self.index.fetched("jax-")
        self.assertEqual((len(begins), begins[0]), (2, 0))
        self.assertGreater(begins[1], 0)
        self.run_here(*words)
        self.assertEqual(self.names("場所 one"), ALL)
        self.assertEqual((len(self.index.fetched("jax-")), len(self.index.fetched("pip-"))), (2, 1))
        self.assertFalse((self.place / "場所 one/cache").exists())
        self.assertIn("is right already", self.run_here(*words))

    def test_wheels_in_a_directory_and_an_archive_of_python_need_no_network(self):
        (self.place / "wheels").mkdir()
        shutil.copy(self.index.directory / "jax-1.0-py3-none-any.whl", self.place / "wheels")
        told = self.run_here("wheels", "wheels", "--for", VERSION)
        self.assertIn("on the other machine: pipe trainer setup --wheels wheels\n", told)
        self.assertEqual(sorted(path.name for path in (self.place / "wheels").iterdir()),
                         sorted(["lock", *(path.name for path in self.index.directory.glob("*.whl"))]))
        self.assertEqual((len(self.index.fetched("jax-")), len(self.index.fetched("numpy-"))), (0, 1))
        self.environment["PIP_INDEX_URL"] = "http://127.0.0.1:1/simple"
        self.run_here("setup", "--wheels", "wheels", "--python", self.archive)
        self.assertEqual(self.names(".pipe/trainer"), ALL)
        self.assertEqual(os.path.realpath(self.place / ".pipe/trainer/bin/python"),
                         os.path.realpath(self.place / f".pipe/trainer/python/bin/python{VERSION}"))
        told = self.run_here("setup", "--dir", "other", code=1)
        self.assertIn("No matching distribution found for pip", told.splitlines()[-1])
        self.assertIn("a machine without a network needs --wheels DIR", told.splitlines()[-1])
        write_wheel(self.place / "wheels", "numpy", "1.0", {"numpy/__init__.py": b"name = 'changed'\n"})
        told = self.run_here("setup", "--dir", "other", "--wheels", "wheels", code=1)
        self.assertIn("DO NOT MATCH THE HASHES", told.splitlines()[-1])
        self.assertIn(f"`pipe trainer wheels wheels --for {VERSION}`", told.splitlines()[-1])

    def test_uv_fetches_a_python_from_the_mirror_that_it_is_told_to_use(self):
        programs = self.place / "programs"
        programs.mkdir()
        (programs / "uv").symlink_to(UV)  # and no Python
        major, minor, patch = map(int, platform.python_version_tuple())
        kind = {"family": platform.machine(), "variant": None}
        entry = {"name": "cpython", "arch": kind, "os": "linux",
                 "libc": "gnu", "major": major, "minor": minor, "patch": patch, "prerelease": "",
                 "sha256": sha256(self.archive),
                 "variant": None, "build": "20260101", "url": f"{self.index.address}/files/{self.archive.name}"}
        key = f"cpython-{platform.python_version()}-linux-{platform.machine()}-gnu"
        table = self.place / "pythons.json"
        mirror = {"PATH": str(programs), "UV_PYTHON_DOWNLOADS_JSON_URL": str(table),
                  "UV_CACHE_DIR": str(self.place / "uv")}
        table.write_text(json.dumps({key: {**entry, "sha256": "0" * 64}}))
        told = self.run_here("setup", "--python", VERSION, code=1, **mirror)
        self.assertIn("uv python install ended with exit code", told.splitlines()[-1])
        table.write_text(json.dumps({key: entry}))
        self.run_here("setup", "--python", VERSION, **mirror)
        self.assertEqual(self.names(".pipe/trainer"), ALL)
        self.assertIn(f"{self.place}/.pipe/trainer/python/cpython-",
                      os.path.realpath(self.place / ".pipe/trainer/bin/python"))
        self.assertEqual(self.run_here("check").split(": ")[1].split(",")[0], "right")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
