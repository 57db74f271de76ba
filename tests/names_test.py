#!/usr/bin/env python3
"""Finds names that two C++ files of one folder define for themselves, since the build compiles such files together, and
types that two headers define.

    names_test.py [ROOT]       prints every clash as FILE:LINE: what; exit code 1 if there is one
    names_test.py --self-test  shows that each kind of name is found, and that overloads are no clash
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

# Programs of one file, each with its own `main`, and files that are compiled alone.
ALONE = re.compile(r"^bench/|^tests/power_cut/|(_main|/other_\w+|/mutex_without_lock|/power_log)\.cc$")

OPENS = re.compile(r"^namespace \{")
CLOSES = re.compile(r"^\}  // namespace$")
TYPE = re.compile(r"^(?:struct|class|union|enum(?: class)?) (?:alignas\([^)]*\) )?(\w+)(?! *;)")
# Two of one name in one program are undefined behaviour, which no compiler reports.
SHARED_TYPE = re.compile(r"^(?:struct|class|union|enum(?: class)?) (?:alignas\([^)]*\) )?(\w+)(?: final)?(?: :[^;]*)? \{")
ALIAS = re.compile(r"^using (\w+) =")
VALUE = re.compile(r"^[\w:<>,&*\s\[\]]+?[\s&*](\w+)(?:\[[^\]]*\])*(?: = |\{|;$| =$)")
FUNCTION = re.compile(r"^[\w:<>,&*\s\[\]]+?[\s&*]([A-Za-z_]\w*)\(")
RAW_STRING = re.compile(r'R"(\w*)\(.*?\)\1"', re.S)
NO_NAME = re.compile(r"^(?:TEST|TEST_F|TEST_P|INSTANTIATE_\w+|static_assert|template|namespace|using namespace|#|//|\}|\{|\)|:)")


def parameters(text):
    """The types between the parenthesis at the start of `text` and its partner."""
    depth, part, parts = 0, "", []
    for sign in text:
        depth += sign in "(<[{"
        depth -= sign in ")>]}"
        if depth == 0 or (sign == "," and depth == 1):
            parts.append(part.lstrip("("))
            part = ""
            if depth == 0:
                break
        else:
            part += sign
    types = []
    for one in parts:
        words = re.sub(r" = .*", "", one.strip(), flags=re.S)
        types.append(re.sub(r"(?<=[\w>&*\s])\b[a-z]\w*$", "", re.sub(r"\s+", " ", words)).strip() or words)
    return tuple(types)


def own_names(text):
    """(line number, name) of each definition in the unnamed namespaces of a file that clang-format has laid out."""
    text = RAW_STRING.sub(lambda found: "\n" * found[0].count("\n"), text)
    lines = text.split("\n")
    inside = False
    for number, line in enumerate(lines, 1):
        if OPENS.match(line):
            inside = True
        elif CLOSES.match(line):
            inside = False
        elif inside and line and not line[0].isspace() and not NO_NAME.match(line):
            found = TYPE.match(line)
            alias = ALIAS.match(line)
            if found or alias:
                yield number, found[1] if found else line.removesuffix(";")
                continue
            function = FUNCTION.match(line)
            value = VALUE.match(line)
            if value and not (function and function.end() < value.end()):
                yield number, value[1]
            elif function:
                rest = "\n".join(lines[number - 1:number + 12])
                yield number, f"{function[1]}({', '.join(parameters(rest[function.end() - 1:]))})"


def shared_types(text):
    """(line number, name) of each type of a header that every file may name."""
    for number, line in enumerate(text.split("\n"), 1):
        found = SHARED_TYPE.match(line)
        if found:
            yield number, found[1]


def clashes(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "*.cc", "*.h"], check=True,
                            capture_output=True, text=True).stdout.split()
    first = {}  # (folder, name): where
    types = {}  # name of a type of a header: where
    for path in sorted(listed):
        if ALONE.search(path) or not (Path(root) / path).exists():
            continue
        if path.endswith(".h"):
            for line, name in shared_types((Path(root) / path).read_text()):
                before = types.setdefault(name, (path, line))
                if before[0] != path:
                    yield f"{path}:{line}: the type `{name}` is also in {before[0]}:{before[1]}; one of them needs another name"
            continue
        for line, name in own_names((Path(root) / path).read_text()):
            folder = path.rpartition("/")[0]
            # The same alias twice is one alias.
            alias = ALIAS.match(name)
            before = first.setdefault((folder, alias[1] if alias else name), (path, line, name))
            if before[0] != path and not (alias and before[2] == name):
                yield f"{path}:{line}: `{name}` is also in {before[0]}:{before[1]}; one of them needs another name"


def clashes_of(*texts):
    """The number of clashes in a folder with a file for each text."""
    return clashes_in({f"{number}.cc": f"namespace {{\n\n{text}\n\n}}  // namespace\n" for number, text in enumerate(texts)})


def clashes_of_headers(*texts):
    """The number of clashes of headers in folders of their own."""
    return clashes_in({f"{number}/one.h": f"namespace pipeline {{\n{text}\n}}\n" for number, text in enumerate(texts)})


def clashes_in(files):
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "-q", root], check=True)
        for path, text in files.items():
            (Path(root) / path).parent.mkdir(exist_ok=True)
            (Path(root) / path).write_text(text)
        return len(list(clashes(root)))


def self_test():
    same = ("constexpr std::size_t kBlock = 1;", "struct Row {\n};", "class Reader final : public File {\n};",
            "Status Damaged(uint64_t at, std::string_view what) {\n}", "const std::string kText = \"a\";",
            "enum class Kind { kOne };", "constexpr std::array<int, 2> kTwo{1, 2};", "bool Says(const Lines& lines,\n          int n) {\n}",
            "std::string_view kNames[] = {", "std::atomic<bool> stopped{false};")
    for text in same:
        assert clashes_of(text, text) == 1, text
    apart = (("void Write(int a) {\n}", "void Write(std::string_view a) {\n}"), ("struct Row;", "int row = 1;"),
             ("TEST(A, B) {\n}", "TEST(A, B) {\n}"), ("int x = Read(1);", "int y = Read(1);"), ("using Kind = int;", "using Kind = int;"),
             ("const int x = R\"(\nint f() {\n)\";", "const int y = R\"(\nint f() {\n)\";"))
    for texts in apart:
        assert clashes_of(*texts) == 0, texts
    assert clashes_of("using Kind = int;", "using Kind = char;", "class Kind {") == 2
    for text in ("struct RunEnd {\n};", "enum class Outcome : std::uint8_t { kDone };", "class Log final : public Sink {\n};"):
        assert clashes_of_headers(text, text) == 1, text
    assert clashes_of_headers("class Log;", "class Log {\n};") == 0
    print("each kind of name is found; overloads and declarations are none")


def main():
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    found = list(clashes(sys.argv[1] if sys.argv[1:] else "."))
    print("\n".join(found) or "no two files of a folder define the same name, and no two headers the same type")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
