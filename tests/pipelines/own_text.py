#!/usr/bin/env python3
"""README's way from a person's own table to a data set and a model: its files and its commands, word for word, over
more rows than it shows.

    own_text.py PIPE ENVIRONMENT      the trainer's environment, such as .pipe/trainer
"""

import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADING = "## Your own table or documents"
# A vocabulary small enough for the text, and fewer steps than a model needs.
SMALLER = ["--set", "vocab_size=300", "--set", "steps=3"]
ROWS = 600


def check(good, what):
    if not good:
        raise SystemExit(f"own_text.py: {what}")


def section():
    """{name of the file: its text}; the name "" has the commands."""
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    text = re.search(rf"^{HEADING}$(.*?)^## ", page, re.MULTILINE | re.DOTALL)
    check(text, f"README.md has no {HEADING}")
    names = {"json": "articles.jsonl", "python": "drop.py", "yaml": "mine.yaml", "": ""}
    found = {names[language]: body
             for language, body in re.findall(r"^```(\w*)\n(.*?)^```$", text[1], re.MULTILINE | re.DOTALL)}
    check(set(found) == set(names.values()), f"the section has {sorted(found)}")
    return found


def more_rows(count):
    chance = random.Random(3)
    who, where = ["猫", "犬", "鳥", "子供", "先生", "友人", "老人"], ["庭", "学校", "駅", "川", "町", "山", "海"]
    what = ["歩いた", "眠った", "走った", "笑った", "話した", "待っていた", "歌った"]
    for number in range(count):
        lines = [f"{chance.choice(who)}は{chance.choice(where)}で{chance.choice(what)}。" * chance.randrange(1, 3)
                 for _ in range(chance.randrange(1, 8))]
        lines += ["広告:お得な品物"] * (number % 7 == 0)
        yield {"id": number + 3, "title": f"{chance.choice(who)}の話", "text": "\n".join(lines)}


def main(pipe, environment):
    files = section()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        for name, body in files.items():
            if name:
                (root / name).write_text(body, encoding="utf-8")
        with (root / "articles.jsonl").open("a", encoding="utf-8") as table:
            for row in more_rows(ROWS - 2):
                table.write(json.dumps(row, ensure_ascii=False) + "\n")
        rows = [json.loads(line) for line in (root / "articles.jsonl").read_text(encoding="utf-8").splitlines()]
        kept = [[line for line in f"{row['title']}\n{row['text']}".split("\n") if not line.startswith("広告")] for row in rows]
        (root / ".pipe").mkdir()
        (root / ".pipe/trainer").symlink_to(Path(environment).resolve())
        said = {}
        for line in files[""].splitlines():
            words = line.split()
            check(words[0] == "pipe", f"a command of another program: {line}")
            smaller = SMALLER if words[1] == "run" else []
            done = subprocess.run([pipe, *words[1:], *smaller], cwd=root, capture_output=True, text=True, timeout=240,
                                  check=False, env={**os.environ, "JAX_PLATFORMS": "cpu"})
            check(done.returncode == 0, f"{line}: exit {done.returncode}\n{done.stdout}{done.stderr}")
            said[line] = done.stdout
        stats = json.loads(subprocess.run([pipe, "stats", "--json", "out/mine/mine/1.0.0"], cwd=root, capture_output=True,
                                          check=True).stdout)
        lines = sum(map(len, kept))
        check(stats["records"] == lines, f"{stats['records']} examples of {lines} lines")
        check(stats["documents"] == ROWS, f"{stats['documents']} documents of {ROWS}")
        texts = [json.loads(line)["text"] for name in ("train.json", "val.json")
                 for path in (root / "out/mine/jsonl").glob(name) for line in path.read_text(encoding="utf-8").splitlines()]
        check(sorted(texts) == sorted("\n".join(document) for document in kept), "a row is not its document without advertisements")
        check(said["pipe sample out/mine --prompt 猫"].startswith("猫"),
              f"it writes {said['pipe sample out/mine --prompt 猫']!r}")
    print(f"{len(said)} commands of README.md; {ROWS} rows became {lines} examples, and {ROWS} rows of JSON Lines")
    return 0


if __name__ == "__main__":
    sys.exit(main(str(Path(sys.argv[1]).resolve()), sys.argv[2]))
