#!/usr/bin/env python3
"""Uses the packages for arm64 on this machine, by an emulator.

    run_package.py PACKAGES PIPE       e.g. build/packages-arm64 build/release/bin/pipe

The loader of arm64 must find the libraries of the folder in the folder. The program brings text, compressed and over
HTTP, to verified artifacts, each byte of which is that of the artifacts of PIPE, a program of this machine. pip must
refuse the wheel for this machine, and take it for one of arm64 with glibc 2.34.

The kernel starts the emulator for each program of arm64 where a user may say so for programs of his own (binfmt_misc in
a user namespace: Linux 6.7). Elsewhere the program cannot start itself (not_run.txt): it makes the data set alone.
"""

import contextlib
import functools
import http.server
import json
import lzma
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from run_suites import EMULATOR, ROOT, SYSROOT

sys.path.insert(0, str(ROOT / "packaging"))
from symbols import OF_THE_SYSTEM  # noqa: E402

PIPELINE = """pipe: 1
name: emulated
vars: { url: there }
stages:
  source: { type: download, url: "${url}" }
  lines: { type: decompress, input: source }
  clean: { type: normalize, input: lines, form: nfkc }
  words: { type: segment_words, input: clean, dictionary: ipadic }
  docs: { type: split, input: words, splits: { train: rest, validation: 0.1 } }
  set: { type: write_tfds, input: docs, name: cats, version: 1.0.0, shards: 2, out: made }
  tokenizer: { type: train_tokenizer, input: docs, vocab_size: 400, byte_fallback: true, out: made/tokenizer }
  tokens: { type: encode, input: docs, tokenizer: tokenizer }
  packed: { type: write_packed, input: tokens, seq_len: 64, out: made/packed }
"""
ARTIFACTS = ("made/cats/1.0.0", "made/tokenizer", "made/packed")
PROGRAMS = ("bin/pipe", "lib/pipe/plugins/pipe_train.so", "lib/pipe/plugins/train/libpipe_pieces.so")
# A program of arm64 by the beginning of its file, and where two bits may differ (the documentation of the kernel:
# binfmt-misc).
FORMAT = (r":arm64:M::\x7fELF\x02\x01\x01" + r"\x00" * 9 + r"\x02\x00\xb7\x00:" + r"\xff" * 7 + r"\x00" + r"\xff" * 8 +
          r"\xfe\xff\xff\xff:/usr/bin/qemu-aarch64:")
BY_THE_KERNEL = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", """
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf %s "$0" >/proc/sys/fs/binfmt_misc/register
exec "$@\"""", FORMAT]


def start(*words, cwd):
    return subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False, env={
        "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(cwd), "QEMU_LD_PREFIX": str(SYSROOT)})


def run(*words, cwd, code=0):
    told = start(*words, cwd=cwd)
    if told.returncode != code:
        sys.exit(f"{words}: {told.returncode} instead of {code}\n{told.stdout}{told.stderr}")
    return told.stdout + told.stderr


def check(holds, what):
    if not holds:
        sys.exit(f"run_package.py: {what}")


@contextlib.contextmanager
def serve(directory):
    """The address of a server of the files in a directory."""
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=directory))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def check_libraries(folder):
    """What ldd does: the loader of arm64 names the file of each library, and the symbols that it does not find."""
    loader = SYSROOT / "lib/ld-linux-aarch64.so.1"
    for program in PROGRAMS:
        told = run(*EMULATOR, "-E", "LD_TRACE_LOADED_OBJECTS=1", "-E", "LD_WARN=yes", "-E", "LD_BIND_NOW=yes", loader,
                   folder / program, cwd=folder)
        found = re.findall(r"(\S+) => (.+?)(?: \(0x|$)", told, re.M)
        check(len(found) > 3 and "undefined symbol" not in told, f"{program}: {told}")
        for name, path in found:
            inside = Path(os.path.realpath(path)).is_relative_to(folder)
            check(inside == (Path(name).name not in OF_THE_SYSTEM), f"{program}: {name} is {path}")
        print(f"{program}: {len(found)} libraries, no symbol is missing")


def make(program, url, work, *until):
    """{name: bytes} of the artifacts' files."""
    work.mkdir()
    (work / "pipeline.yaml").write_text(PIPELINE, encoding="utf-8")
    began = time.monotonic()
    run(*program, "run", "pipeline.yaml", "--set", f"url={url}", *until, cwd=work)
    print(f"{work.name}: {time.monotonic() - began:.1f} s")
    files = {}
    for artifact in (path for path in ARTIFACTS if (work / path).is_dir()):
        check(": good:" in run(*program, "verify", artifact, cwd=work), f"{artifact} is not good")
        files |= {f"{artifact}/{path.name}": path.read_bytes()
                  for path in (work / artifact).iterdir() if path.is_file()}
    for name in sorted(name for name in files if name.endswith("/MANIFEST.json")):
        print(f"  {name}: content {json.loads(files[name])['content']}")
    return files


def main():
    packages, native = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory).resolve()
        run("tar", "xf", next(packages.glob("*.tar.gz")), cwd=place)
        folder = next(place.iterdir())
        check_libraries(folder)
        pipe, until = [*EMULATOR, folder / "bin/pipe"], ["--until", "set"]
        version = run(*pipe, "--version", cwd=place)
        print(version, end="")
        if start(*BY_THE_KERNEL, "true", cwd=place).returncode == 0:
            pipe, until = [*BY_THE_KERNEL, folder / "bin/pipe"], []
            check("lib/pipe/plugins/pipe_train.so" in run(*pipe, "plugins", cwd=place), "the plugin is not found")
            run(*pipe, "validate", "pipelines/quickstart.yaml", cwd=place)
        else:
            print("not run, because the program starts itself for them: plugins, and the training of a tokenizer")
        text = "".join(f"{number}匹の猫が鳴く。\nｶﾅも鳴く。\n\n" for number in range(20000))
        (place / "text.txt.xz").write_bytes(lzma.compress(text.encode()))
        with serve(place) as url:
            made = make(pipe, f"{url}/text.txt.xz", place / "arm64", *until)
            expected = make([native], f"{url}/text.txt.xz", place / "native", *until)
        differ = sorted(name for name in made.keys() | expected.keys() if made.get(name) != expected.get(name))
        check(not differ, f"files that differ: {differ}")
        print(f"{len(made)} files are equal")
        run(sys.executable, "-m", "venv", "venv", cwd=place)
        install = ("venv/bin/python", "-m", "pip", "install", "--no-index", next(packages.glob("*.whl")))
        said = run(*install, cwd=place, code=1)
        check("is not a supported wheel on this platform" in said, said)
        print(said.strip().splitlines()[-1])
        run(*install, "--platform", "manylinux_2_34_aarch64", "--only-binary", ":all:", "--target", "of_pip", cwd=place)
        of_wheel = run(*EMULATOR, place / "of_pip/text2lm/bin/pipe", "--version", cwd=place)
        check(of_wheel == version, f"the program of the wheel says {of_wheel}")


if __name__ == "__main__":
    main()
