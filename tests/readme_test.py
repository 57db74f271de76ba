#!/usr/bin/env python3
"""README.md and README.ja.md say the same: what is not prose stands in both, in the same order.

    readme_test.py              prints every difference; 1 when there is one
    readme_test.py --self-test  shows that each kind of difference is found
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "README.ja.md")


def blocks(page):
    """(language, lines) of each fenced block."""
    return [(language, body.splitlines())
            for language, body in re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)]


def names(lines):
    """What looks like a file, a folder or a stage in a picture: write_tfds, dag/DESIGN.md."""
    return re.findall(r"[\w*-]*[._/][\w*./-]*\w/?|\w+/", "\n".join(lines), re.ASCII)


def uncommented(lines):
    return [re.sub(r"(^| )\s*#.*", "", line).rstrip() for line in lines]


def essence(page):
    """What must not differ, as a list of (kind, list)."""
    prose = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", prose)
    fenced = blocks(page)
    return [
        ("levels of the headings", [len(marks) for marks in re.findall(r"^(#+) ", prose, re.MULTILINE)]),
        ("languages of the blocks", [language for language, _ in fenced]),
        ("commands and files of the blocks, without comments",
         [line for language, lines in fenced if language != "text" for line in uncommented(lines)]),
        ("names in the pictures", [name for language, lines in fenced if language == "text" for name in names(lines)]),
        ("first cells of the tables", [cell.strip() for cell in re.findall(r"^\|([^|]*)\|", prose, re.MULTILINE)]),
        ("commands and options in the text", sorted({span for span in spans if re.match(r"pipe |\./dev |--", span)})),
    ]


def differences(english, japanese):
    for (kind, ours), (_, theirs) in zip(essence(english), essence(japanese)):
        for number, (one, other) in enumerate(zip(ours, theirs), 1):
            if one != other:
                yield f"{kind}: number {number} is {one!r} in {PAGES[0]} and {other!r} in {PAGES[1]}"
                break
        else:
            if len(ours) != len(theirs):
                more, fewer = PAGES if len(ours) > len(theirs) else PAGES[::-1]
                extra = max(ours, theirs, key=len)[min(len(ours), len(theirs))]
                yield f"{kind}: {extra!r} stands in {more} and not in {fewer}"
    # The page for beginners may explain more.
    for span in re.findall(r"`([\w.:/-]+)`", english, re.ASCII):
        if f"`{span}`" not in japanese:
            yield f"names in the text: {span!r} stands in {PAGES[0]} and not in {PAGES[1]}"


def broken_links(page):
    for target in re.findall(r"\]\(([^)#:]+)\)", page):
        if not (ROOT / target).exists():
            yield f"a link to {target}, which does not exist"


def self_test():
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
    japanese = pages[1]
    breaches = {
        "levels": japanese.replace("## これから", "これから"),
        "languages": japanese.replace("```yaml", "```"),
        "commands and files": japanese.replace("--limit 5", "--limit 4"),
        "without comments": japanese.replace("memory: 8GiB", "memory: 4GiB"),
        "pictures": japanese.replace("► write_tfds", "► write_tdfs"),
        "first cells": japanese.replace("| `pipe retry FILE` |", "| `pipe again FILE` |"),
        "options in the text": japanese.replace("`--force`", "`--forced`"),
        "names in the text": japanese.replace("`expect:`", "`expects`"),
    }
    missed = [f"not found: {kind}" for kind, page in breaches.items()
              if page == japanese or not any(kind in found for found in differences(pages[0], page))]
    if not list(broken_links("see [this](nowhere.md)")):
        missed.append("not found: a broken link")
    print("\n".join(missed) or f"{len(breaches) + 1} differences looked for and found")
    return 1 if missed else 0


def main():
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in PAGES]
    found = list(differences(*pages))
    for name, page in zip(PAGES, pages):
        found += [f"{name}: {what}" for what in broken_links(page)]
    print("\n".join(found) or "both say the same")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1:] == ["--self-test"] else main())
