"""The code of the project's English pages, and of translations with examples of their own: fenced blocks by their
language, and the commands in them.

A block without a language has commands, one a line. `yaml`, `python` and `c` are files or parts of files; `json` is a
file or an example of a format; `text` and `hex` are pictures, grammars and bytes, and are not code.
"""

import re
import shlex
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LANGUAGES = {"": "commands", "yaml": "file", "python": "file", "c": "file", "json": "data", "text": "picture", "hex": "picture"}
TRANSLATED = re.compile(r"\.[a-z]{2}\.md$")
OWN_EXAMPLES = {"README.ko.md"}  # tests/readme_test.py has their words


class Block:
    def __init__(self, page, line, language, text, before):
        self.page, self.line, self.language, self.text = page, line, language, text
        self.before = before  # the paragraph in front of it

    def __str__(self):
        return f"{self.page}:{self.line}"

    def file_name(self, ending):
        """The last name with this ending that the paragraph before the block gives."""
        names = re.findall(rf"`([\w.-]+\.{ending})`", self.before)
        return names[-1] if names else None


def pages():
    """{path: text} of the English pages, and of the translations with examples of their own."""
    listed = subprocess.run(["git", "ls-files", "-z", "*.md"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in sorted(listed.split("\0"))
            if name and (name in OWN_EXAMPLES or not TRANSLATED.search(name)) and (ROOT / name).exists()}


def blocks_of(page, text):
    lines, found, number = text.splitlines(), [], 0
    while number < len(lines):
        fence = re.fullmatch(r"( *)```(\w*)", lines[number])
        if fence:
            end = next((other for other in range(number + 1, len(lines)) if lines[other].strip() == "```"), len(lines))
            body = [line[len(fence[1]):] for line in lines[number + 1:end]]
            above = re.split(r"\n\s*\n", "\n".join(lines[:number]).rstrip())[-1]
            found.append(Block(page, number + 1, fence[2], "\n".join(body) + "\n", above))
            number = end
        number += 1
    return found


def indented_lines(text):
    """(number, line) of each line in code by indentation: outside of fences, after a blank line, not in a list."""
    fenced = listed = inside = False
    before = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip().startswith("```"):
            fenced = not fenced
        elif not fenced and line.strip():
            if not line.startswith(" "):
                listed = bool(re.match(r"[*+-] |[0-9]+\. ", line))
            inside = line.startswith("    ") and not listed and (inside or not before.strip())
            if inside:
                yield number, line.strip()
        before = line


def commands_of(block):
    """The commands of a block without comments, each as one line."""
    joined = block.text.replace("\\\n", " ")
    for line in joined.splitlines():
        line = re.sub(r"(^|\s)#.*", "", line).strip()
        if line:
            yield re.sub(r"\s+", " ", line)


WORDS_OF_THE_SHELL = {"while", "do", "done", ":", "if", "then", "fi"}


def programs_of(command):
    """The programs that a command of the shell starts."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars="|&;")
    lexer.whitespace_split = True
    first, found = True, []
    for word in lexer:
        if set(word) <= set("|&;"):
            first = True
        elif first and word not in WORDS_OF_THE_SHELL:
            found.append(word)
            first = False
    return found
