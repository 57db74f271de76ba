#!/usr/bin/env python3
"""The code of the English pages and of README in Korean runs: every command and every file, from the page, on a small
text of a person's own.

    pages.py PIPE FAKE_GCS ENVIRONMENT DAY [PAGE...]      the trainer's environment, such as .pipe/trainer
    pages.py PIPE --self-test                   shows that mistakes on a page are found

A person who reads the pages of a DAY (DAYS; `rest` has all others) has one directory, one bucket, and files of text
(own_text.py). tables.py says which programs are not started, which commands are only parsed, and what makes a pipeline
small. A command, a file or a program that the tables do not know fails the test, and so does a row without a command.
"""

import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cli"), str(ROOT / "tests/pages")]

import own_text  # noqa: E402
import tables  # noqa: E402
from blocks import LANGUAGES, blocks_of, commands_of, indented_lines, pages, programs_of  # noqa: E402
from fake_buckets import FakeBuckets, plain_environment  # noqa: E402
from readme import readme_on_own_text  # noqa: E402

DAYS = {
    "readme": ["README.md"],
    "korean": ["README.ko.md"],
    "classifier": ["pipelines/README.md"],
    "bucket": ["storage/remote/README.md", "plugins/train/README.md"],
    "labels": ["plugins/train/python/labels.md"],
}
MOST_PARSED = 10
PATIENCE = 500  # seconds for one command


class Mistake(Exception):
    """What is wrong with a page, and where."""


def check(good, where, what):
    if not good:
        raise Mistake(f"{where}: {what}")


class Home:
    """The directory of a person with the program, the pipelines, an environment of the trainer, and texts."""

    def __init__(self, pipe, environment, directory, server=None):
        self.root = Path(directory)
        self.home, self.shared, self.server = self.root / "home", self.root / "shared", server
        self.bucket, self.said, self.patience = "BUCKET", {}, PATIENCE
        (self.home / ".pipe").mkdir(parents=True)
        (self.root / "bin").mkdir()
        self.shared.mkdir()
        (self.root / "bin/pipe").symlink_to(Path(pipe).resolve())
        for name in ("pipelines", "plugins", ".dictionaries"):
            (self.home / name).symlink_to(ROOT / name)
        if environment:
            (self.home / ".pipe/trainer").symlink_to(Path(environment).resolve())
        own_text.put_files(self.home)
        self.environ = {**plain_environment(), "PIPE_TEST_REASONS": "1", "JAX_PLATFORMS": "cpu",
                        "PATH": f"{self.root}/bin:{os.environ['PATH']}"}
        if server:
            self.environ["STORAGE_EMULATOR_HOST"] = server.url

    def run(self, command):
        began = time.monotonic()
        try:
            done = subprocess.run(["bash", "-c", command], cwd=self.home, env=self.environ, stdin=subprocess.DEVNULL,
                                  capture_output=True, text=True, timeout=self.patience, check=False)
        except subprocess.TimeoutExpired as slow:
            raise Mistake(f"`{command}` takes more than {self.patience} s") from slow
        print(f"  {time.monotonic() - began:5.1f} s  {command}", flush=True)
        return done

    def must(self, where, command, code=0):
        done = self.run(command)
        check(done.returncode == code, where, f"`{command}` ended with {done.returncode}, not {code}:\n"
              f"{done.stdout[-3000:]}\n{done.stderr[-3000:]}")
        return done


class Reader:
    """Reads pages and does what they say."""

    def __init__(self, home, texts, smaller=tables.smaller):
        self.smaller = smaller  # of a command
        self.home, self.texts, self.used, self.mistakes = home, texts, set(), []
        self.counts = {"run": 0, "parsed": 0, "files": 0, "others": 0}

    def row(self, table, page, text):
        """The row of a table whose key is this page and the beginning of this text."""
        for name, start in table:
            if name == page and text.startswith(start):
                self.used.add((name, start))
                return table[name, start]
        return None

    def parsed(self, page, command):
        row = self.row(tables.PARSED, page, command)
        check(not row or page not in tables.NEVER_PARSED, page, f"`{command}` is only parsed")
        return row

    def read(self, page):
        text = self.texts[page]
        for number, line in indented_lines(text):
            word = line.split()[0]
            check(word not in tables.RUN | set(tables.PROGRAMS_OF_OTHERS), f"{page}:{number}",
                  f"`{line}` is code by indentation, which is not run; put it between two lines of ```")
        for block in blocks_of(page, text):
            check(block.language in LANGUAGES, block, f"no kind of code: ```{block.language}; those are {sorted(LANGUAGES)}")
            kind = LANGUAGES[block.language]
            if kind == "commands":
                for command in commands_of(block):
                    self.tried(self.command, block, command)
            elif block.language == "json" and not block.file_name("jsonl"):
                check(is_json(block.text), block, "this is no JSON")
            elif kind != "picture":
                self.tried(self.file, block)

    def tried(self, what, *words):
        """One mistake hides no other one."""
        try:
            what(*words)
        except Mistake as found:
            print(f"  MISTAKE {found}", flush=True)
            self.mistakes.append(found)

    def command(self, block, command):
        programs = programs_of(command)
        unknown = [name for name in programs if name not in tables.RUN | set(tables.PROGRAMS_OF_OTHERS)]
        check(programs and not unknown, block, f"`{command}` starts {unknown or 'nothing'}, which tests/pages/tables.py does not "
              "know; a picture is a block ```text")
        row = self.parsed(block.page, command)
        if row:
            self.parse(block, command, row[0])
            self.counts["parsed"] += 1
        elif not set(programs) & tables.RUN:
            self.counts["others"] += 1
            if set(programs) & tables.STARTS_WORKERS:
                self.home.must(block, f"pipe worker --plan gs://{self.home.bucket}/cc100/run/package --next")
        else:
            self.do(block, command)
            self.counts["run"] += 1

    def do(self, block, command):
        words = tables.placed(self.smaller(command), self.home.shared, self.home.bucket)
        for told in re.findall(r"\S+-0123456789abcdef", words):
            found = list(self.home.home.glob(told.replace("0123456789abcdef", "?" * 16)))
            check(len(found) == 1, block, f"{told} stands for {found}")
            words = words.replace(told, str(found[0].relative_to(self.home.home)))
        done = self.home.must(block, words)
        self.home.said[command] = done
        says = self.row(tables.SAYS, block.page, command)
        check(not says or says(done.stdout, self.home), block, f"`{words}` prints something else:\n{done.stdout[-3000:]}")

    def parse(self, block, command, how):
        if how == "bash -n":
            script = ROOT / command.split()[0]
            parsed = subprocess.run(["bash", "-n", script], capture_output=True, text=True, check=False)
            check(parsed.returncode == 0, block, f"{script} does not parse: {parsed.stderr}")
        elif how == "--help" and command.startswith("python "):
            check((ROOT / "plugins/train/python" / command.split()[2]).is_dir(), block, f"`{command}`: no such package")
        else:
            self.home.must(block, f"{tables.placed(self.smaller(command), self.home.shared, self.home.bucket)} {how}")

    def file(self, block):
        self.counts["files"] += 1
        if block.language == "python":
            self.python(block)
        elif block.language == "json":
            rows = [json.loads(line) for line in block.text.splitlines()]
            check(all(isinstance(row, dict) for row in rows), block, "a row is no object")
            self.put(block, block.file_name("jsonl"))
        elif block.language == "yaml" and block.text.startswith("pipe: 1"):
            name = block.file_name("yaml")
            if name:
                self.put(block, name)
            else:
                self.whole_file(block)
        elif block.language == "yaml":
            self.part(block)
        else:
            check(False, block, f"no command uses this file of {block.language}")

    def put(self, block, name):
        (self.home.home / name).write_text(block.text, encoding="utf-8")

    def python(self, block):
        name = block.file_name("py")
        if name:
            compile(block.text, name, "exec")
            self.put(block, name)
            return
        for line in ("ｶﾞｷﾞｸﾞ　①", "고양이 ㅋㅋ", "  a\tb "):
            scope = {"line": line, "re": re, "unicodedata": unicodedata}
            try:
                exec(compile(block.text, str(block), "exec"), scope)
            except Exception as broken:  # whatever a page's code throws
                check(False, block, f"its code fails on {line!r}: {broken!r}")
            check(isinstance(scope["line"], str), block, "its code makes no line")

    def whole_file(self, block):
        """A pipeline file without a name, on this person's text."""
        self.put(block, "page.yaml")
        self.home.must(block, "pipe validate page.yaml")
        self.home.must(block, "pipe run page.yaml --set out=out/page --set stages.docs.splits.validation=0.02 "
                       "--set stages.packed.seq_len=128 --set stages.tokenizer.vocab_size=auto --set stages.train.config.preset=tiny --set stages.train.steps=3")
        self.home.must(block, "pipe verify out/page/tokenizer out/page/packed out/page/cc100_ja/1.0.0")

    def part(self, block):
        """A part of a pipeline file, with the stages around it."""
        found = [row for row in tables.PARTS.get(block.page, ()) if block.text.strip().startswith(row[0])]
        check(len(found) == 1, block, "a part of a pipeline file that tests/pages/tables.py does not know")
        start, frame, indentation, command = found[0]
        self.used.add((block.page, start))
        if frame.endswith(".yaml"):
            frame = re.split(r"^  opinion:", (ROOT / frame).read_text(encoding="utf-8"), flags=re.MULTILINE)[0]
        body = block.text
        body = "\n".join(line[min(len(line) - len(line.lstrip()) for line in body.splitlines() if line):] for line in body.splitlines())
        head, stages = frame.split("\nstages:", 1)
        for stage in re.findall(r"^(\w+):", body, re.MULTILINE) if indentation == 2 else ():
            stages = re.sub(rf"^  {stage}:.*\n", "", stages, flags=re.MULTILINE)
        frame = f"{head}\nstages:{stages}"
        text = frame.rstrip("\n") + "\n" + "".join(f"{' ' * indentation}{line}\n" for line in body.splitlines())
        data = self.home.root / "data/wiki40b/ja/1.3.0"
        if "/data/" in text and not data.exists():
            data.mkdir(parents=True)
            (data / "wiki40b-train.tfrecord-00000-of-00001").write_bytes(own_text.wiki40b(20))
        (self.home.home / "page.yaml").write_text(text.replace("/data/", f"{self.home.root}/data/"), encoding="utf-8")
        own_programs(self.home.home)
        row = self.row(tables.PARSED, block.page, block.text.strip())
        check(bool(row) == command.startswith("pipe validate"), block, "a part that is only parsed has a row in PARSED, and no other")
        self.counts["parsed" if row else "run"] += 1
        self.home.must(block, command)


def own_programs(home):
    """Programs that a page takes for a person's own: a filter, and a trainer with its environment."""
    (home / "tools").mkdir(exist_ok=True)
    (home / "tools/upper.py").write_text("import sys\nfor line in sys.stdin:\n    print(line.rstrip('\\n').upper())\n")
    (home / ".venv/bin").mkdir(parents=True, exist_ok=True)
    python = home / ".venv/bin/python"
    if not python.exists():
        python.symlink_to(sys.executable)
    (home / "train.py").write_text("""\
import pathlib, sys
words = dict(zip(sys.argv[1::2], sys.argv[2::2]))
out, steps = pathlib.Path(words["--out"]), int(words["--steps"])
assert pathlib.Path(words["--data"], "packed.json").exists() and int(words["--seed"]) >= 0
checkpoint = out / f"checkpoints/checkpoint-{steps}"
checkpoint.mkdir(parents=True, exist_ok=True)
for step in range(steps):
    print(f"step {step + 1} loss={4 - step}", flush=True)
(checkpoint / "trainer_state.json").write_text("{}")
(out / "model.safetensors").write_bytes(b"model")
(out / "tokenizer.json").write_text("{}")
""")


def is_json(text):
    """JSON values one after the other, or members of an object; `…` stands for things that are left out."""
    text = re.sub(r"([{\[])…([}\]])", r"\1\2", text)
    text = re.sub(r":\s*…", ": 0", re.sub(r",\s*…", "", text))
    for whole in (text, "{" + text.strip().rstrip(",") + "}"):
        decoder, at = json.JSONDecoder(), 0
        try:
            while whole[at:].strip():
                at += len(whole[at:]) - len(whole[at:].lstrip())
                at = decoder.raw_decode(whole, at)[1]
            return True
        except ValueError:
            continue
    return False


def pages_of(day, texts):
    named = {page for names in DAYS.values() for page in names}
    return DAYS[day] if day != "rest" else [page for page in texts if page not in named]


def unused_rows(reader, read):
    """Rows of the tables for these pages that no command and no block has used."""
    rows = {*tables.PARSED, *tables.SAYS, *((page, part[0]) for page, parts in tables.PARTS.items() for part in parts)}
    return sorted(row for row in rows - reader.used if row[0] in read)


def read_day(pipe, environment, server, root, day, texts, only):
    """Reads the pages of a day; returns the reader, and the last home. Pages of `rest` have a home each."""
    read = [page for page in pages_of(day, texts) if not only or page in only]
    reader = Reader(None, texts)
    for number, page in enumerate(read):
        if blocks_of(page, texts[page]):
            print(page, flush=True)
            if day == "rest" or not reader.home:
                reader.home = Home(pipe, environment, root / f"person-{number}", server)
                reader.home.bucket = f"bucket-{number}"
                server.make(reader.home.bucket)
            prepare(reader.home, page)
        reader.read(page)
    check(not unused_rows(reader, read), "tests/pages/tables.py", f"rows without a command: {unused_rows(reader, read)}")
    check(not reader.mistakes, "mistakes", "\n" + "\n".join(map(str, reader.mistakes)))
    return reader


def prepare(home, page):
    """What a page takes for done by another one."""
    if page == "cli/commands/README.md":
        home.must(page, tables.smaller(f"pipe run pipelines/cc100_ja.yaml --set out=gs://{home.bucket}/out --until text"))
    if page in ("dag/home/home.md", "docs/versioning.md"):
        (home.home / "mine.yaml").write_text(tables.TEXT, encoding="utf-8")
    if page == "plugins/train/python/fine_tuning.md":
        own_text.put_bert(home.home / "bert")
    if page == "plugins/train/README.md":
        (home.home / "mine.yaml").write_text(tables.TEXT + tables.BUNDLED, encoding="utf-8")


def main(pipe, fake_gcs, environment, day, *only):
    check(len(tables.PARSED) <= MOST_PARSED, "tests/pages/tables.py", f"{len(tables.PARSED)} commands are only parsed")
    began, texts = time.monotonic(), pages()
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "buckets").mkdir()
        with FakeBuckets(fake_gcs, Path(directory) / "buckets") as server:
            reader = read_day(pipe, environment, server, Path(directory), day, texts, only)
            if day == "readme":
                readme_on_own_text(reader.home, check)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"{day}: " + ", ".join(f"{count} {what}" for what, count in reader.counts.items()) +
          f" ({time.monotonic() - began:.0f} s, {used.ru_utime + used.ru_stime:.0f} s of processors)")


def self_test(pipe):
    fence = "```"
    wrong = {
        "a wrong command": f"{fence}\npipe verify out/nowhere\n{fence}",
        "a wrong option": f"{fence}\npipe ls --sharp\n{fence}",
        "another program": f"{fence}\nsometool --now\n{fence}",
        "a command behind another": f"{fence}\ngit clone X && sometool\n{fence}",
        "a picture": f"{fence}\na ──► b\n{fence}",
        "another language": f"{fence}ruby\nputs 1\n{fence}",
        "indentation": "Type:\n\n    pipe ls .\n",
        "a part of a file": f"{fence}yaml\nlines: {{ type: decompress }}\n{fence}",
        "a wrong file": f"{fence}yaml\npipe: 1\nname: x\nstages:\n  source: {{ type: downlaod }}\n{fence}",
        "wrong Python": f"{fence}python\nline = lines\n{fence}",
        "wrong JSON": f"{fence}json\n{{\"a\": 1,}}\n{fence}",
    }
    missed = []
    with tempfile.TemporaryDirectory() as directory:
        home = Home(pipe, None, Path(directory) / "person")
        for what, text in wrong.items():
            reader = Reader(home, {"page.md": f"# A page\n\n{text}\n"})
            reader.tried(reader.read, "page.md")
            if not reader.mistakes:
                missed.append(what)
        right = f"A page.\n\n{fence}\npipe ls novels.txt.xz  # a comment\npipe ls \\\n  novels.txt.xz\n{fence}\n\n* a list\n\n      pipe in a list\n"
        reader = Reader(home, {"page.md": right})
        reader.read("page.md")
        check(reader.counts["run"] == 2 and not reader.mistakes, "self-test", f"{reader.counts} of a right page")
    rows = Reader(None, {})
    check(unused_rows(rows, ["README.md"]), "self-test", "rows without a command are not found")
    check(not missed, "self-test", f"not found: {missed}")
    print(f"{len(wrong) + 1} mistakes looked for and found")


if __name__ == "__main__":
    try:
        self_test(sys.argv[1]) if sys.argv[2] == "--self-test" else main(*sys.argv[1:])
    except Mistake as found:
        raise SystemExit(f"pages.py: {found}")
