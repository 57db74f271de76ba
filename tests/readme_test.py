#!/usr/bin/env python3
"""A page NAME.md and its Japanese NAME.ja.md or Korean NAME.ko.md say the same: everything except prose is in both, in
the same order.

    readme_test.py              prints every difference; exit code 1 if there is one
    readme_test.py --self-test  shows that each kind of difference is found
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


LANGUAGES = {"ja": "Japanese", "ko": "Korean"}
# {page: {its own words in a block: those of the English page}}. tests/pages runs such a page, too.
OWN_WORDS = {
    "README.ko.md": {
        "고양이 이야기": "猫の話",
        "고양이가 마당에서 울었다.\\n밤이 되었다.": "猫が庭で鳴いた。\\n夜になった。",
        "강아지 이야기": "犬の話",
        "광고: 오늘만 특가\\n강아지가 꼬리를 흔들었다ㅋㅋ": "広告:お得な品物\\n犬が眠った。",
        'startswith("광고")': 'startswith("広告")',
        "form: nfkc, keep_jamo: true }": "form: nfkc }",
        "--prompt 고양이": "--prompt 猫",
        " --set stages.words.dictionary=ko --set stages.clean.keep_jamo=true --set stages.tokenizer.boundaries=cuts_in_words\n": "\n",
    },
}
TRANSLATED = re.compile(r"\.(?:ja|ko)\.md\b")


def page_pairs():
    """(page, its translation), as paths below ROOT, for each translation."""
    found = {path for depth in ("", "[a-z]*/", "[a-z]*/[a-z]*/") for path in ROOT.glob(f"{depth}*.md") if TRANSLATED.search(path.name)}
    for path in sorted(path.relative_to(ROOT) for path in found):
        yield path.with_name(TRANSLATED.sub(".md", path.name)), path


def blocks(page):
    """(language, lines) of each fenced block."""
    return [(language, body.splitlines())
            for language, body in re.findall(r"^```(\w*)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)]


def names(lines):
    """Words in a picture that look like a file, a folder or a stage: write_tfds, dag/DESIGN.md."""
    return re.findall(r"[\w*-]*[._/][\w*./-]*\w/?|\w+/", "\n".join(lines), re.ASCII)


def uncommented(lines):
    return [re.sub(r"(^| )\s*#.*", "", line).rstrip() for line in lines]


def links(page):
    """Files that the page links."""
    return re.findall(r"\]\(([^)#:]+)\)", page)


def in_english_words(name, page):
    """The page with the English page's words in place of its own."""
    for own, english in OWN_WORDS.get(name, {}).items():
        page = page.replace(own, english)
    return page


def essence(page):
    """The content that must be equal, as a list of (kind, list)."""
    page = TRANSLATED.sub(".md", page)  # a translation links translations if they exist
    prose = re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)
    spans = re.findall(r"`([^`\n]+)`", prose)
    fenced = blocks(page)
    return [
        ("levels of the headings", [len(marks) for marks in re.findall(r"^(#+) ", prose, re.MULTILINE)]),
        ("languages of the blocks", [language for language, _ in fenced]),
        ("commands and files of the blocks, without comments",
         [line for language, lines in fenced if language != "text" for line in uncommented(lines)]),
        ("names in the pictures", [name for language, lines in fenced if language == "text" for name in names(lines)]),
        ("first cells of the tables, without their heads",
         [cell.strip() for cell in re.findall(r"^\|([^|]*)\|[^\n]*$(?!\n\|-)", prose, re.MULTILINE)]),
        ("commands and options in the text", sorted({span for span in spans if re.match(r"pipe |\./dev |--", span)})),
        ("pages that are linked", sorted(set(links(page)))),
    ]


def differences(english, other_page, names):
    for own in OWN_WORDS.get(str(names[1]), {}):
        if own not in other_page:
            yield f"own words: {names[1]} has no {own!r}, which {Path(__file__).name} names"
    other_page = in_english_words(str(names[1]), other_page)
    for (kind, ours), (_, theirs) in zip(essence(english), essence(other_page)):
        for number, (one, other) in enumerate(zip(ours, theirs), 1):
            if one != other:
                yield f"{kind}: number {number} is {one!r} in {names[0]} and {other!r} in {names[1]}"
                break
        else:
            if len(ours) != len(theirs):
                more, fewer = names if len(ours) > len(theirs) else names[::-1]
                extra = max(ours, theirs, key=len)[min(len(ours), len(theirs))]
                yield f"{kind}: {extra!r} is in {more} and not in {fewer}"
    # The page for beginners may explain more.
    for span in re.findall(r"`([\w.:/-]+)`", english, re.ASCII):
        if f"`{span}`" not in other_page:
            yield f"names in the text: {span!r} is in {names[0]} and not in {names[1]}"


def broken_links(page, folder):
    for target in links(page):
        if not (ROOT / folder / target).exists():
            yield f"a link to {target}, which does not exist"


def found_in(names):
    """Every difference between two pages, and every broken link in them."""
    for name in names:
        if not (ROOT / name).exists():
            yield f"{name} does not exist"
            return
    pages = [(ROOT / name).read_text(encoding="utf-8") for name in names]
    yield from differences(*pages, names)
    for name, page in zip(names, pages):
        yield from (f"{name}: {what}" for what in broken_links(page, name.parent))


def self_test():
    breaches = [
        # kind, page, a text in its Japanese page, the replacement
        ("levels", "README.md", "## この先の案内", "この先の案内"),
        ("languages", "README.md", "```yaml", "```"),
        ("commands and files", "README.md", "--limit 5", "--limit 4"),
        ("without comments", "pipelines/README.md", "memory: 8GiB", "memory: 4GiB"),
        ("pictures", "pipelines/README.md", "► write_tfds", "► write_tdfs"),
        ("first cells", "cli/commands/README.md", "| `pipe retry FILE` |", "| `pipe again FILE` |"),
        ("options in the text", "cli/commands/README.md", "`--force`", "`--forced`"),
        ("names in the text", "pipelines/README.md", "`expect:`", "`expects`"),
        ("pages that are linked", "README.md", "(stages/lines/filter.md)", "(stages/lines/exec.md)"),
    ]
    korean = [("own words", "고양이 이야기", "토끼 이야기"), ("without comments", ", keep_jamo: true }", ", keep_jamo: false }")]
    missed = []
    names = ("README.md", "README.ko.md")
    pages = [(ROOT / page).read_text(encoding="utf-8") for page in names]
    for kind, old, new in korean:
        if not any(kind in found for found in differences(pages[0], pages[1].replace(old, new), names)):
            missed.append(f"not found: {kind}, in Korean")
    for kind, name, old, new in breaches:
        names = (name, name.replace(".md", ".ja.md"))
        english, japanese = ((ROOT / page).read_text(encoding="utf-8") for page in names)
        breach = japanese.replace(old, new)
        if breach == japanese or not any(kind in found for found in differences(english, breach, names)):
            missed.append(f"not found: {kind}")
    if not list(broken_links("see [this](nowhere.md)", ".")) or not list(broken_links("[this](commands.md)", ".")):
        missed.append("not found: a broken link")
    for language, name in LANGUAGES.items():
        if not list(found_in((Path("nowhere.md"), Path(f"README.{language}.md")))):
            missed.append(f"not found: a {name} page alone")
        if (Path("README.md"), Path(f"README.{language}.md")) not in page_pairs():
            missed.append(f"README.md is not compared with its {name} page")
    print("\n".join(missed) or f"{len(breaches) + len(korean) + 2} differences looked for and found")
    return 1 if missed else 0


def main():
    pairs = list(page_pairs())
    found = [what for names in pairs for what in found_in(names)]
    print("\n".join(found) or f"{len(pairs)} translations say the same as their pages")
    return 1 if found or not pairs else 0


if __name__ == "__main__":
    sys.exit(self_test() if sys.argv[1:] == ["--self-test"] else main())
