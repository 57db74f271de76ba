#!/usr/bin/env python3
"""The packages of a build hold what they promise: the folder runs where it was unpacked, with its own libraries and from
any place; a wheel of it is installed, used and taken away by pip; same folder, same bytes.

    packages_test.py BUILD
"""

import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile
from pathlib import Path
from unittest import mock

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "packaging"))
import dictionary  # noqa: E402
import elf  # noqa: E402
import folder  # noqa: E402
import image  # noqa: E402
import interpreter  # noqa: E402
import licences  # noqa: E402
import package  # noqa: E402
import symbols  # noqa: E402
import tarball  # noqa: E402
import unpack_image  # noqa: E402
import wheel  # noqa: E402

BUILD = None
WANTED = ("bin/pipe", "bin/text2lm", "lib/pipe/plugins/pipe_train.so",
          "lib/pipe/plugins/train/pipe_trainer/__main__.py", "lib/pipe/plugins/train/requirements-cpu.txt",
          "share/pipe/pipelines/quickstart.yaml", "share/pipe/dictionaries.txt", "share/doc/pipe/README.md",
          "share/doc/pipe/stages/README.md", "share/doc/pipe/LICENSE", "share/doc/pipe/parts.txt",
          "share/doc/pipe/licences/nlohmann-json3-dev")


def run(*words, cwd, code=0, **env):
    """The output of a command that ends with `code`. Nothing of this machine's environment reaches it."""
    told = subprocess.run([str(word) for word in words], cwd=cwd, env={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **env},
                          capture_output=True, text=True, check=False)
    if told.returncode != code:
        raise AssertionError(f"{words}: {told.returncode} instead of {code}\n{told.stdout}{told.stderr}")
    return told.stdout + told.stderr


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.out = Path(tempfile.mkdtemp())
        cls.addClassCleanup(shutil.rmtree, cls.out)
        python = cls.out / "made/text2lm-python-3.11.2-linux-x86_64.tar.gz"
        python.parent.mkdir()
        python.write_bytes(b"an archive")
        told = run(sys.executable, ROOT / "packaging/package.py", BUILD, cls.out, "--python", python, cwd=cls.out,
                   SOURCE_DATE_EPOCH="1700000000")
        cls.tarball, cls.wheel, cls.python = (cls.out / line.split("  ")[0] for line in told.splitlines()[-3:])

    def uses(self, pipe, root, **env):
        """A person's text goes through the program at `pipe` to a verified data set."""
        (root / "text.txt").write_text("".join(f"{number}匹の猫が鳴く。\n犬も鳴く。\n\n" for number in range(200)),
                                       encoding="utf-8")
        self.assertIn("lib/pipe/plugins/pipe_train.so", run(pipe, "plugins", cwd=root, **env))
        words = ("pipelines/quickstart.yaml", "--set", "corpus=text.txt", "--set", "out=out")
        self.assertIn("share/pipe/pipelines/quickstart.yaml", run(pipe, "validate", *words, cwd=root, **env))
        run(pipe, "run", *words, "--until", "text", cwd=root, **env)
        self.assertIn("done", run(pipe, "status", *words, cwd=root, **env))
        self.assertIn("good", run(pipe, "verify", "out/quickstart_ja/1.0.0", cwd=root, **env))
        (root / "pipelines").mkdir()
        (root / "pipelines/quickstart.yaml").write_text("pipe: 1\nname: mine\n")
        self.assertIn("stages", run(pipe, "validate", *words, cwd=root, code=2, **env))
        self.assertIn("pipe trainer setup", run(pipe, "trainer", "check", "--dir", "absent", cwd=root, code=2, **env))

    def test_the_folder_runs_from_any_place_with_its_own_libraries(self):
        place = self.out / "場所 of mine"
        work = place / "work"
        work.mkdir(parents=True)
        run("tar", "xf", self.tarball, cwd=place)
        first = next(path for path in place.iterdir() if path != work)
        moved = place / "moved"
        first.rename(moved)
        for name in WANTED:
            self.assertTrue((moved / name).is_file(), name)
        self.assertTrue(list((moved / "lib/pipe").glob("libicudata.so.*")))
        lines = run(moved / "bin/text2lm", "--version", cwd=work).splitlines()
        self.assertEqual([line.split()[0] for line in lines[:3]], ["pipe", "commit", "plugin"])
        # A library of another program's does not come between.
        other = place / "other"
        other.mkdir()
        (other / "libyaml-cpp.so.0.7").write_bytes(b"no library")
        self.uses(moved / "bin/pipe", work, LD_LIBRARY_PATH=str(other))
        for program in ("bin/pipe", "lib/pipe/plugins/pipe_train.so", "lib/pipe/plugins/train/libpipe_pieces.so"):
            found = re.findall(r"(\S+) => (.+?) \(0x", run("ldd", moved / program, cwd=work))
            self.assertGreater(len(found), 3)
            for name, path in found:
                inside = Path(os.path.realpath(path)).is_relative_to(moved)
                self.assertEqual(inside, name not in folder.OF_THE_SYSTEM, f"{program}: {path}")

    def test_pip_installs_the_wheel_and_takes_it_away(self):
        place = self.out / "環境 of mine"
        work = self.out / "work"
        work.mkdir()
        run(sys.executable, "-m", "venv", place, cwd=work)
        before = sorted(place.rglob("*"))
        pip = (place / "bin/python", "-m", "pip", "--disable-pip-version-check")
        run(*pip, "install", "--no-index", self.wheel, cwd=work)
        self.assertEqual(run(place / "bin/text2lm", "--version", cwd=work), run(place / "bin/pipe", "--version", cwd=work))
        self.assertEqual(run(place / "bin/python", "-m", "text2lm", "--version", cwd=work),
                         run(place / "bin/pipe", "--version", cwd=work))
        self.assertIn("there is no command", run(place / "bin/pipe", "no-such-command", cwd=work, code=2))
        self.uses(place / "bin/pipe", work)
        made, _ = dictionary.make("ipadic", self.out)
        run(*pip, "install", "--no-index", made, cwd=work)
        self.assertRegex(run(place / "bin/pipe", "doctor", cwd=work), rf"dictionary ipadic: {place}/lib/.*/ipadic-utf8")
        (work / "words.yaml").write_text("""pipe: 1
name: words
stages:
  text: { type: download, url: text.txt }
  lines: { type: decompress, input: text }
  words: { type: segment_words, input: lines, dictionary: ipadic }
  docs: { type: split, input: words, splits: { train: rest } }
  set: { type: write_tfds, input: docs, name: words, version: 1.0.0, shards: 1, out: words }
""")
        run(place / "bin/pipe", "run", "words.yaml", cwd=work)
        self.assertIn("good", run(place / "bin/pipe", "verify", "words/words/1.0.0", cwd=work))
        run(*pip, "uninstall", "--yes", "text2lm", "text2lm-ipadic", cwd=work)
        self.assertEqual(sorted(place.rglob("*")), before)

    def test_the_pages_of_the_folder_lead_to_each_other(self):
        pages = next(path for path in self.out.iterdir() if path.name.startswith("text2lm") and path.is_dir())
        pages /= "share/doc/pipe"
        count = 0
        for page in pages.rglob("*.md"):
            for link in re.findall(r"\]\(([^)#:]+?)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
                count += 1
                self.assertTrue((page.parent / link).exists(), f"{page.relative_to(pages)}: {link}")
        self.assertGreater(count, 100)
        self.assertIn(f"\n## {package.version_of(BUILD)} (", (pages / "CHANGELOG.md").read_text(encoding="utf-8"))
        for page in ("SECURITY.md", "docs/versioning.md"):
            self.assertTrue((pages / page).is_file(), page)

    def test_the_lines_of_readme_install_what_was_built(self):
        page = (ROOT / "README.md").read_text(encoding="utf-8")
        blocks = [block for block in re.findall(r"^```\n(.*?)^```", page, re.M | re.S) if "text2lm" in block]
        version = package.version_of(BUILD)
        self.assertIn(f"pip install ./text2lm-{version}-py3-none-manylinux_2_34_x86_64.whl\n", blocks[0])
        self.assertIn(f"tar xf text2lm-{version}-linux-x86_64.tar.gz\n", blocks[1])
        work = self.out / "readme"
        work.mkdir()
        # This build may need a newer glibc than the packages for others; its tag says so.
        shutil.copy(self.wheel, work / re.search(r"text2lm-.*whl", blocks[0])[0])
        shutil.copy(self.tarball, work)
        for block in blocks:
            (work / "block.sh").write_text(block, encoding="utf-8")
            told = run("bash", "-e", "block.sh", cwd=work, PIP_NO_INDEX="1")
            self.assertIn(f"pipe {version}\n", told)

    def test_the_digest_of_the_python_beside_it_is_in_the_folder(self):
        self.assertEqual(self.python.parent, self.out)
        digest = hashlib.sha256(self.python.read_bytes()).hexdigest()
        with zipfile.ZipFile(self.wheel) as file:
            text = file.read("text2lm/lib/pipe/plugins/train/python.txt").decode()
        self.assertEqual(text, f"text2lm-python-3.11.2-linux-x86_64.tar.gz {digest}\n")

    def test_each_part_has_a_licence_and_a_version(self):
        with zipfile.ZipFile(self.wheel) as file:
            names = set(file.namelist())
            parts = file.read("text2lm/share/doc/pipe/parts.txt").decode().splitlines()[1:]
            info = next(name.split("/")[0] for name in names if ".dist-info/" in name)
            text = file.read(f"{info}/METADATA").decode()
        self.assertGreater(len(parts), 10)
        for package_, version in map(str.split, parts):
            self.assertIn(f"text2lm/share/doc/pipe/licences/{package_}", names)
            self.assertIn(f"{info}/licenses/licences/{package_}", names)
            self.assertIn(f"License-File: licences/{package_}\n", text)
            self.assertTrue(version)

    def test_a_symbol_that_is_newer_than_the_oldest_system_is_found(self):
        root = next(path for path in self.out.iterdir() if path.name.startswith("text2lm") and path.is_dir())
        self.assertEqual(list(symbols.newer(root, dict.fromkeys(symbols.OLDEST, (9,)))), [])
        (told,) = [line for line in symbols.needs(root) if line.startswith("bin/pipe: ")]
        self.assertRegex(told, r" GLIBC_2\.\d+.*; .*libc\.so\.6")
        found = list(symbols.newer(root, {**symbols.OLDEST, "GLIBC": (2, 2)}))
        self.assertTrue(any(line.startswith("bin/pipe needs GLIBC_2.") for line in found), found)

    def test_a_library_and_a_symbol_that_are_nowhere_are_found(self):
        root = next(path for path in self.out.iterdir() if path.name.startswith("text2lm") and path.is_dir())
        self.assertEqual(list(symbols.unresolved(root, Path("/"))), [])
        broken = self.out / "broken"
        shutil.copytree(root, broken, symlinks=True)
        library = next((broken / "lib/pipe").glob("libyaml-cpp.so.*"))
        shutil.copy(next((broken / "lib/pipe").glob("liblz4.so.*")), library)
        found = list(symbols.unresolved(broken, Path("/")))
        self.assertTrue(found)
        for line in found:
            self.assertRegex(line, r"^bin/pipe: _ZT?\w*4YAML\w+ of pipe is nowhere$")
        library.unlink()
        with self.assertRaisesRegex(SystemExit, rf"{library.name} is in none of {broken}/lib/pipe;"):
            list(symbols.unresolved(broken, Path("/")))


class AnotherMachine(unittest.TestCase):
    def test_a_program_for_arm64_is_told_by_its_header(self):
        with tempfile.TemporaryDirectory() as directory:
            program = Path(directory) / "bin/pipe"
            program.parent.mkdir()
            program.write_bytes(struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\2\1\1", 3, 183, 1, 0, 0, 0, 0, 64, 0, 0, 64, 0, 0))
            self.assertEqual(wheel.tag(Path(directory)), "py3-none-manylinux_2_17_aarch64")
            self.assertIn(Path("/there/usr/lib/aarch64-linux-gnu"), symbols.places_of_debian(program, Path("/there")))
            self.assertEqual(image.ARCHITECTURES[elf.machine(program)], "arm64")

    def test_the_package_the_version_and_the_licence_of_a_library_are_those_of_its_root(self):
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory).resolve() / "root"
            library, doc = root / "lib/aarch64-linux-gnu/libone.so.1", root / "usr/share/doc/libone1"
            for path, text in ((library, ""), (root / "var/lib/dpkg/info/libone1.list", "/lib/aarch64-linux-gnu/libone.so.1\n"),
                               (root / "var/lib/dpkg/status", "Package: libone1\nStatus: install ok installed\nVersion: 1.5-2\n"
                                "Architecture: arm64\nMulti-Arch: same\nMaintainer: one\nDescription: one\n\n")):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            self.assertEqual(licences.package_of(library, root), "libone1")
            made = licences.Licences(Path(directory) / "made", root)
            with self.assertRaisesRegex(SystemExit, "libone1/copyright is missing"):
                made.add_installed("libone1")
            folder.copy(ROOT / "LICENSE", doc / "copyright")
            made.add_installed("libone1")
            self.assertEqual(made.parts, {"libone1": "1.5-2"})
            self.assertTrue((Path(directory) / "made/licences/libone1").is_file())
            with self.assertRaisesRegex(SystemExit, "in no Debian package"):
                licences.package_of(root / "lib/libtwo.so.1", root)


class SameBytes(unittest.TestCase):
    def test_packages_of_one_folder_are_equal_whenever_and_wherever_they_are_made(self):
        digests = set()
        for umask, now in ((0o022, 1.6e9), (0o077, 1.7e9)):
            with tempfile.TemporaryDirectory() as directory, mock.patch("time.time", lambda now=now: now), \
                    mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="1700000000"):
                before = os.umask(umask)
                try:
                    root = Path(directory) / "text2lm-1"
                    folder.copy(Path(shutil.which("true")), root / "bin/pipe", 0o755)
                    folder.copy(ROOT / "LICENSE", root / "share/doc/pipe/LICENSE")
                    folder.copy(ROOT / "LICENSE", root / "share/doc/pipe/licences/one")
                    for path in root.rglob("*"):
                        os.utime(path, (now, now))
                    made = (tarball.pack(root, Path(directory) / "text2lm-1.tar.gz", "text2lm-1"),
                            wheel.make(root, "1", Path(directory)))
                finally:
                    os.umask(before)
                digests.add(tuple(path.read_bytes() for path in made))
        self.assertEqual(len(digests), 1)

    def test_a_needed_version_is_replaced_by_another_that_the_file_names(self):
        with tempfile.TemporaryDirectory() as directory:
            program = Path(directory) / "program"
            folder.copy(Path(shutil.which("true")), program, 0o755)
            numbers = elf.versions(program)["GLIBC"]
            old, new = ("GLIBC_" + ".".join(map(str, number)) for number in (min(numbers), max(numbers)))
            symbols = elf.symbols_of_version(program, old)
            self.assertTrue(symbols)
            self.assertFalse(symbols & elf.symbols_of_version(program, new))
            elf.replace_version(program, old, new)
            self.assertEqual(elf.symbols_of_version(program, old), set())
            self.assertLess(symbols, elf.symbols_of_version(program, new))

    def test_an_image_leaves_out_what_an_installation_knows_of_its_machine_and_day(self):
        digests = set()
        for day in ("19000", "20000"):
            with tempfile.TemporaryDirectory() as directory, mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="1700000000"):
                base, root = Path(directory) / "base", Path(directory) / "text2lm-1-linux-x86_64"
                for name, text in (("etc/shadow", f"root:*:{day}:0:99999:7:::\n"), ("var/log/x", day), ("usr/one", "one"),
                                   ("etc/hostname", day), ("var/lib/apt/lists/y", day), ("tmp/z", day)):
                    (base / name).parent.mkdir(parents=True, exist_ok=True)
                    (base / name).write_text(text)
                (base / "usr/two").hardlink_to(base / "usr/one")
                (base / "bin").symlink_to("usr")
                folder.copy(Path(shutil.which("true")), root / "bin/pipe", 0o755)
                made = image.make(base, root)
                digests.add(made.read_bytes())
                unpacked = Path(directory) / "unpacked"
                unpack_image.main(made, unpacked)
                self.assertEqual((unpacked / "usr/two").read_text(), "one")
                self.assertEqual((unpacked / "etc/shadow").read_text(), "root:*:1:0:99999:7:::\n")
                self.assertTrue((unpacked / "usr/local/bin/text2lm").is_symlink())
                for name in ("var/log/x", "etc/hostname", "var/lib/apt/lists/y", "tmp/z"):
                    self.assertFalse((unpacked / name).exists(), name)
        self.assertEqual(len(digests), 1)

    def test_the_tag_of_a_wheel_is_the_newest_glibc_that_it_needs(self):
        with tempfile.TemporaryDirectory() as directory:
            root = Path(directory)
            folder.copy(Path(shutil.which("true")), root / "bin/pipe", 0o755)
            newest = max(elf.versions(root / "bin/pipe")["GLIBC"])
            self.assertEqual(wheel.tag(root), f"py3-none-manylinux_{newest[0]}_{newest[1]}_{elf.machine(root / 'bin/pipe')}")


class Interpreter(unittest.TestCase):
    """What becomes of an installed CPython. The program is `true`, which can import everything."""

    LEFT = ["bin/python", "bin/python3", "bin/python3.11", "include/python3.11/patchlevel.h", "lib/python3.11/LICENSE.txt",
            "lib/python3.11/_sysconfigdata__linux_.py", "lib/python3.11/ensurepip/_bundled/pip-1.whl",
            "share/doc/python/licences/nlohmann-json3-dev", "share/doc/python/licences/python3.11",
            "share/doc/python/parts.txt"]

    def setUp(self):
        self.place = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.enterContext(mock.patch.dict(os.environ, SOURCE_DATE_EPOCH="1700000000"))
        self.enterContext(mock.patch.dict(symbols.OLDEST, GLIBC=(9,)))  # this machine's `true` may be new

    def installed(self, name):
        """An installation below `name`, and its source."""
        root, source = self.place / name / "made/install", self.place / name / "python3.11"
        folder.copy(Path(shutil.which("true")), root / "bin/python3.11", 0o755)
        for file, text in (("bin/pydoc3.11", "#!/install/bin/python3.11\n"), ("share/man/man1/python.1", ""),
                           ("include/python3.11/patchlevel.h", '#define PY_VERSION      "3.11.2+"\n'),
                           ("lib/python3.11/_sysconfigdata__linux_.py", f"v = {{'abs_srcdir': '{source}'}}\n"),
                           ("lib/python3.11/LICENSE.txt", ""), ("lib/python3.11/ensurepip/_bundled/pip-1.whl", ""),
                           ("lib/python3.11/__pycache__/os.pyc", ""), ("lib/python3.11/lib2to3/tests/one.py", ""),
                           ("lib/python3.11/idlelib/idle.py", ""), ("lib/python3.11/config-3.11-x86/Makefile", "")):
            (root / file).parent.mkdir(parents=True, exist_ok=True)
            (root / file).write_text(text)
        (source / "debian").mkdir(parents=True)
        (source / "debian/copyright").write_text("licence")
        (source / "debian/changelog").write_text("python3.11 (3.11.2-6+deb12u8) bookworm; urgency=medium\n")
        return root, source

    def make(self, root, source):
        return interpreter.make(root, source, root.parent, ["nlohmann-json3-dev"])

    def test_the_archive_has_what_runs_and_no_word_of_the_place_where_it_was_made(self):
        made = [self.make(*self.installed(name)) for name in ("one", "another")]
        self.assertEqual(made[0].name, f"text2lm-python-3.11.2-linux-{elf.machine(shutil.which('true'))}.tar.gz")
        self.assertEqual(made[0].read_bytes(), made[1].read_bytes())
        with tarfile.open(made[0]) as tar:
            names = [entry.name.removeprefix("python/") for entry in tar if not entry.isdir()]
            self.assertEqual(sorted(names), self.LEFT)
            self.assertEqual(tar.getmember("python/bin/python").linkname, "python3.11")
            self.assertEqual(tar.extractfile("python/lib/python3.11/_sysconfigdata__linux_.py").read(),
                             b"v = {'abs_srcdir': '/build'}\n")
            self.assertIn(b"python3.11 3.11.2-6+deb12u8\n", tar.extractfile("python/share/doc/python/parts.txt").read())

    def test_a_file_that_needs_what_another_machine_lacks_is_refused(self):
        root, source = self.installed("one")
        folder.copy(BUILD / "bin/pipe", root / "lib/python3.11/lib-dynload/_ssl.so")
        (root / "lib/python3.11/os.py").write_text(f"made = '{source.parent}/made'\n")
        with self.assertRaises(SystemExit) as refused, mock.patch.dict(symbols.OLDEST, GLIBC=(2, 2)):
            self.make(root, source)
        for part in ("os.py names the place where it was built", "_ssl.so needs libcrypto.so.3", "bin/python3.11 needs GLIBC_2."):
            self.assertIn(part, str(refused.exception))

    def test_a_module_that_cpython_could_not_make_is_found(self):
        self.assertEqual(interpreter.missing_modules(sys.executable), [])
        with mock.patch.object(interpreter, "MODULES", ("zlib", "no_such_module", "ssl")):
            self.assertEqual(interpreter.missing_modules(sys.executable),
                             ["no_such_module: No module named 'no_such_module'"])


if __name__ == "__main__":
    BUILD = Path(sys.argv.pop(1)).resolve()
    unittest.main()
