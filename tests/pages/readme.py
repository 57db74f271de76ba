"""README's two blocks on own text: beside the rows that README prints, on 97 documents, and on text without a blank
line, where the message names the change that mends it."""

import json
import re

import own_text

# Of text without a blank line.
FLAT = 5_000_000
CHANGE = "`documents: line`"


def block(home, name):
    return (home.home / name).read_text(encoding="utf-8")


def documents_are_kept(home, check):
    """97 rows, and each is a row of JSON Lines without its advertisements."""
    rows = list(own_text.articles(own_text.DOCUMENTS))
    (home.home / "articles.jsonl").write_text(own_text.json_lines(rows), encoding="utf-8")
    for command in ("pipe run mine.yaml --set steps=3 --set out=out/more --work work", "pipe verify out/more/mine/1.0.0 out/more/jsonl out/more/packed"):
        home.must("README.md", command)
    stats = json.loads(home.must("README.md", "pipe stats --json out/more/mine/1.0.0").stdout)
    kept = [[line for line in f"{row['title']}\n{row['text']}".split("\n") if not line.startswith("広告")] for row in rows]
    check(stats["documents"] == len(rows) and stats["records"] == sum(map(len, kept)), "README.md", f"{stats} of {len(rows)} documents")
    texts = [json.loads(line)["text"] for name in ("train.json", "val.json")
             for line in (home.home / "out/more/jsonl" / name).read_text(encoding="utf-8").splitlines()]
    check(sorted(texts) == sorted("\n".join(document) for document in kept), "README.md", "a row is not its document without advertisements")


def flat_text_needs_a_key(home, check):
    (home.home / "flat.txt").write_text(own_text.without_blank_lines(FLAT), encoding="utf-8")
    mine = block(home, "mine.yaml")
    changed, count = re.subn(r"^  rows: \{.*$", "  rows: { type: decompress, input: source }", mine, flags=re.MULTILINE)
    check(count == 1, "README.md", "mine.yaml has no line `rows`, which is replaced for plain text")
    (home.home / "flat.yaml").write_text(changed, encoding="utf-8")
    for stage, command in (("lines", "pipe run pipelines/cc100_ja.yaml --set corpus=flat.txt --set out=out/flat --set validation=0.02 "
                            "--set vocab_size=auto --set preset=tiny --set steps=3 --until packed --work flat.1"),
                           ("rows", "pipe run flat.yaml --set corpus=flat.txt --set out=out/flat2 --until packed --work flat.2")):
        refused = home.must("README.md", command, code=1)
        check(CHANGE in refused.stdout + refused.stderr, "README.md", f"`{command}` does not name {CHANGE}:\n{refused.stderr[-2000:]}")
        home.must("README.md", f"{command} --set stages.{stage}.documents=line")


def readme_on_own_text(home, check):
    documents_are_kept(home, check)
    flat_text_needs_a_key(home, check)
