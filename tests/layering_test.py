#!/usr/bin/env python3
"""Checks the tree against the rules of the house; CONTRIBUTING.md has them in words.

    layering_test.py [ROOT]       prints every breach as FILE:LINE: what; exit code 1 if there is one
    layering_test.py --self-test  shows that each rule finds a breach and accepts a clean tree
"""

import ast
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

ROOMS_FILE = "rooms.txt"
BESIDE = ("tests/", "bench/", "packaging/")  # may include every room

MAX_LINES = {"header": 250, "source": 500, "test": 800}
MAX_NOUNS_PER_ROOM = 40  # a header and its source count as one
BUDGET_EXEMPTION = "// budget: flat table"  # the first line of a file that is one long table
# The rooms and files that are larger, each with its reason. If absent: none is.
SIZES_FILE = "tests/sizes.txt"


@dataclass(frozen=True)
class Vendor:
    """A library: the file that wraps it, as a pattern, and the reason if there is more than one."""
    headers: str  # regular expression for the text between the angle brackets
    files: tuple
    why: str = ""


VENDORS = {
    "CLI11": Vendor(r"CLI/", ("cli/terminal/args.cc",)),
    "libcurl": Vendor(r"curl/", ("storage/remote/http/http_transfer.cc", "storage/remote/http/http_address.cc"),
                      "one moves bytes, one takes URLs apart as the other will"),
    "ICU": Vendor(r"unicode/", ("text/unicode.cc", "text/encoding.cc", "text/regular_expression.cc"),
                  "one normalises and knows characters, one decodes other encodings"),
    "ISA-L crc": Vendor(r"isa-l/crc", ("base/crc32c.cc",)),
    "ISA-L inflate": Vendor(r"isa-l/igzip_lib", ("formats/gzip*.cc", "formats/gzip*.cc"),
                            "one file decodes gzip, one what web servers call deflate"),
    "libarchive": Vendor(r"archive(_entry)?\.h", ("formats/archive_reader.cc",)),
    "libbrotli": Vendor(r"brotli/", ("formats/brotli_reader.cc",)),
    "libbz2": Vendor(r"bzlib", ("formats/bzip2_reader.cc",)),
    "liblz4": Vendor(r"lz4", ("formats/lz4_reader.cc",)),
    "libzstd": Vendor(r"zstd", ("formats/zstd*.cc", "formats/zstd*.cc"),
                      "one file decodes a stream of any writer, one makes and reads the frames of our own files"),
    "MeCab": Vendor(r"mecab\.h$", ("text/mecab/mecab_handle.cc",)),
    "liblzma": Vendor(r"lzma", ("formats/xz.cc", "formats/lzma*.cc"),
                      "one file decodes xz; the format before it, .lzma, would have a reader of its own"),
    "nlohmann-json": Vendor(r"nlohmann/", ("base/json.cc",)),
    "SentencePiece": Vendor(r"sentencepiece", ("text/sentencepiece/sentencepiece_handle.cc",)),
    "OpenSSL": Vendor(r"openssl/", ("storage/remote/gcs/jwt.cc", "storage/remote/http/checksum_hasher.cc"),
                      "one signs, one computes the checksums that files are pinned to"),
    "oneTBB": Vendor(r"(oneapi/)?tbb/", ("dag/run/segment.cc",)),
    "xxHash": Vendor(r"xxhash|xxh3", ("base/digest.cc",)),
    "yaml-cpp": Vendor(r"yaml-cpp/", ("dag/pipeline_file/yaml.cc",)),
}
# Only for tests and benchmarks.
TEST_VENDORS = re.compile(r"(gtest|gmock|benchmark)/")
# The C++ library has no dot in its names; these belong to C, POSIX, Linux and the compiler.
SYSTEM = re.compile(r"[a-z_0-9]+$|(asm|sys|linux|netinet|arpa|net)/\w+\.h$|"
                    r"(cpuid|dirent|dlfcn|errno|fcntl|inttypes|malloc|nmmintrin|x86intrin|immintrin|arm_neon|netdb|poll|pthread|pwd|"
                    r"regex|sched|signal|spawn|stdarg|stddef|stdint|stdio|stdlib|string|termios|unistd)\.h$")

# Files that may catch everything: the borders that no exception may cross.
CATCH_ALL = ("dag/run/segment.cc", "dag/run/executor.cc", "cli/main.cc", "plugins/train/pieces/pipe_pieces.cc")
# The top floor reads the environment and passes it down; lower floors take arguments.
# Gcloud decides the location of credentials; a plugin is another program.
GETENV = ("cli/*", "tests/*", "bench/*", "storage/remote/http/environment.cc", "plugins/train/plugin.cc")

# Headers that the build makes.
GENERATED = ("plugins/native/build_id.h", "cli/commands/commit.h")

# Mutexes with annotations that clang checks.
MUTEX = "base/mutex.h"

# A plugin is another program: prefixes of the paths that it may include; nothing else includes it.
HELLO = "plugins/hello/"  # built as its author builds it
TRAIN = "plugins/train/"
TRAIN_INCLUDES = {
    "plugins/train/reader/": ("plugins/train/reader/",),
    "plugins/train/pieces/": ("plugins/train/pieces/", "base/", "text/sentencepiece/line_codec.h", "text/text_normalizer.h"),
    "plugins/train/hosts/": ("plugins/train/hosts/", "base/"),
    TRAIN: (TRAIN, "base/", "formats/proto_message.h", "formats/tfrecord.h", "plugins/native/"),
}
# The trainer: Python in an environment of its own.
TRAINER = "plugins/train/python/pipe_trainer/"
TRAINER_ROOMS = "plugins/train/python/rooms.txt"
TRAINER_LIBRARIES = frozenset(("jax", "jaxlib", "numpy", "optax", "orbax", "xxhash"))
# A file of an export runs where its user is, and is no module of the trainer.
LIBRARIES_ELSEWHERE = {TRAINER + "export/torch_model.py": "torch"}
MAX_PYTHON_WIDTH = 120

EMPTY_NAMES = frozenset("util utils common helper helpers misc manager managers".split())


def words(name):
    """Words of a snake_case or CamelCase name, in lower case."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)]


def without_comments(line):
    return re.sub(r'"(\\.|[^"\\])*"', '""', line).split("//")[0]


def read_rooms(root):
    """Returns {room: what it may include}, the rooms as rooms.txt names them, and the breaches of rooms.txt itself."""
    rooms, named, found = {}, [], []
    folders = sorted({room_of(name) for name in sources(root)})

    def rooms_of(entry):
        """FOLDER/* is each folder in FOLDER that holds code."""
        return [folder for folder in folders if room_of(folder) == entry[:-2]] if entry.endswith("/*") else [entry]

    for number, line in enumerate((root / ROOMS_FILE).read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("#") or not line:
            continue
        entry, colon, below = line.partition(":")
        if not colon or any(room in rooms for room in rooms_of(entry)):
            found.append((ROOMS_FILE, number, "each line is ROOM: ROOM or HEADER..., each room once"))
            continue
        if not rooms_of(entry):
            found.append((ROOMS_FILE, number, f"{entry} holds no code"))
        for other in below.split():
            if (room_of(other) if other.endswith(".h") else other) not in named:
                found.append((ROOMS_FILE, number, f"{other} is no room above {entry}"))
        for room in rooms_of(entry):
            rooms[room] = tuple(other for part in below.split() for other in rooms_of(part))
        named.append(entry)
    return rooms, named, found


def room_of(name):
    return str(Path(name).parent)


def sources(root):
    """C and C++ files of the tree."""
    return [name for name in listed(root) if name.endswith((".h", ".cc", ".c"))]


def listed(root):
    """Files that git tracks or would add; without a repository all files."""
    listing = subprocess.run(["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"],
                             capture_output=True, text=True, check=False)
    if listing.returncode == 0:
        names = [name for name in listing.stdout.split("\0") if (root / name).is_file()]
    else:
        names = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    return sorted(set(names))


def check(root):
    """Every breach in the tree, as (file, line or 0, what)."""
    rooms, named, found = read_rooms(root)
    names = sources(root)
    users = {vendor: [] for vendor in VENDORS}
    sizes = []  # breaches that a row of the table allows
    for name in names:
        if room_of(name) not in rooms and not name.startswith((*BESIDE, TRAIN, HELLO)):
            found.append((name, 0, f"is in no room of {ROOMS_FILE}"))
            continue
        found += check_name(name)
        text = (root / name).read_text(encoding="utf-8")
        sizes += check_size(name, text)
        if name.endswith(".h") and "#pragma once" not in text:
            found.append((name, 1, "a header without #pragma once"))
        for number, line in enumerate(text.splitlines(), 1):
            include = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
            if include:
                what = check_include(root, rooms, name, include[1], include[2], users)
                found += [(name, number, what)] if what else []
            else:
                found += [(name, number, what) for what in check_line(name, without_comments(line))]
    for vendor, files in users.items():
        at_most = len(VENDORS[vendor].files)
        for name, number in files[at_most:]:
            found.append((name, number, f"{vendor} is wrapped by {', '.join(file for file, _ in files[:at_most])} "
                                        f"already: one vendor, one file"))
    found += check_trainer(root, sizes)
    found += check_rooms(names, rooms, sizes)
    found += check_exceptions(root, sizes)
    found += check_contributing(root, named)
    found += check_pages(root)
    return sorted(found)


def check_name(name):
    stem = Path(name).stem
    for part in [*Path(name).parts[:-1], stem]:
        for word in EMPTY_NAMES.intersection(words(part)):
            yield name, 0, f'"{word}" in a name says nothing; name the noun or verb it is about'


def check_size(name, text):
    lines = text.count("\n") + (not text.endswith("\n"))
    if text.split("\n", 1)[0].startswith(BUDGET_EXEMPTION):
        return
    kind = "test" if name.startswith(BESIDE) else "header" if name.endswith(".h") else "source"
    if lines > MAX_LINES[kind]:
        yield name, 0, f"{lines} lines; a {kind} has at most {MAX_LINES[kind]}"


def check_include(root, rooms, name, bracket, target, users):
    """The fault of one include; None if it has none."""
    room, beside = room_of(name), name.startswith(BESIDE)
    if bracket == '"':
        if name.startswith(HELLO):  # as its author builds it: with only the header beside it
            return None if target == "plugin_abi.h" else f'"{target}": a plugin is built with plugin_abi.h alone'
        other = room_of(target)
        if other not in rooms and not target.startswith((*BESIDE, TRAIN)):
            return f'"{target}": includes are written from the root, "room/file.h"'
        if not (root / target).is_file() and target not in GENERATED:
            return f'"{target}": there is no such file'
        if target.startswith(TRAIN) and not name.startswith(TRAIN) and not beside:
            return f'"{target}": a plugin is loaded, not included'
        for part, allowed in TRAIN_INCLUDES.items():
            if name.startswith(part):
                return None if target.startswith(allowed) else f'"{target}": {part} may include {", ".join(allowed)} only'
        if not beside and other != room and not {other, target}.intersection(rooms[room]):
            return f'"{target}": {room} may include {", ".join((room, *rooms[room]))} only'
        return None
    for vendor, rule in VENDORS.items():
        if re.match(rule.headers, target):
            if beside:
                return None
            if name.endswith(".h"):
                return f"<{target}>: {vendor} in a header; it belongs into one .cc file"
            if not any(fnmatch(name, pattern) for pattern in rule.files):
                return f"<{target}>: {vendor} belongs into {' or '.join(sorted(set(rule.files)))} only"
            if name not in [file for file, _ in users[vendor]]:
                users[vendor].append((name, 0))
            return None
    if beside and TEST_VENDORS.match(target):
        return None
    if not SYSTEM.match(target):
        return f"<{target}>: a library that is not in the table of tests/layering_test.py"
    return None


def check_line(name, line):
    if re.search(r"\bcatch\s*\(\s*\.\.\.\s*\)", line) and name not in CATCH_ALL and not name.startswith(BESIDE):
        yield "catch (...) hides what happened; it may be in " + ", ".join(CATCH_ALL) + " only"
    if re.search(r"\b(secure_)?getenv\s*\(", line) and not any(fnmatch(name, location) for location in GETENV):
        yield "getenv outside cli/: take the value as an argument"
    if re.search(r"\bstd::(\w*mutex|lock_guard|unique_lock|scoped_lock|condition_variable)\b", line) \
            and name != MUTEX and not name.startswith(BESIDE) and not name.startswith(HELLO):
        yield f"the compiler checks nothing of this: take Mutex, Lock and ConditionVariable of {MUTEX}"
    declared = re.search(r"\b(?:class|struct|namespace)\s+(\w+)\s*[:{]?", line)
    if declared:
        for word in EMPTY_NAMES.intersection(words(declared[1])):
            yield f'"{word}" in {declared[1]} says nothing; name the noun or verb it is about'


def python_files(root):
    """Python files of the trainer that git tracks or would add; without a repository all of them."""
    return [name for name in listed(root) if name.startswith(TRAINER) and name.endswith(".py")]


def check_trainer(root, sizes):
    """Checks the trainer's names, rooms and imports; adds what is too long to `sizes`."""
    imports, folders = {}, {}
    files = python_files(root)
    for name in files:
        text = (root / name).read_text(encoding="utf-8")
        folders.setdefault(room_of(name), []).append(name)
        yield from check_name(name)
        if text.count("\n") > MAX_LINES["source"]:
            sizes.append((name, 0, f"{text.count(chr(10))} lines; a source has at most {MAX_LINES['source']}"))
        for number, line in enumerate(text.splitlines(), 1):
            if len(line) > MAX_PYTHON_WIDTH:
                yield name, number, f"{len(line)} columns; at most {MAX_PYTHON_WIDTH}"
        try:
            tree = ast.parse(text)
        except SyntaxError as error:
            yield name, error.lineno or 0, f"is not Python: {error.msg}"
            continue
        yield from check_libraries(name, tree)
        imports[name] = list(imported_modules(name, tree, frozenset(files)))
    for folder, modules in folders.items():
        if len(modules) > MAX_NOUNS_PER_ROOM:
            sizes.append((folder, 0, f"{len(modules)} nouns; a room has at most {MAX_NOUNS_PER_ROOM}"))
    yield from check_trainer_rooms(root, imports)
    yield from circles(imports)


def check_libraries(name, tree):
    for node in ast.walk(tree):
        modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else \
            [node.module] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
        for module in modules:
            top = module.split(".")[0]
            if top == "pipe_trainer":
                yield name, node.lineno, "imports pipe_trainer by its name; a module imports others from where it is"
            elif top not in (*TRAINER_LIBRARIES, LIBRARIES_ELSEWHERE.get(name)) and top not in sys.stdlib_module_names:
                yield name, node.lineno, f"imports {top}, which is not in the lock of the trainer"


def imported_modules(name, tree, files):
    """Yields (file, line) of each module of ours that a module imports, in its functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            place = Path(name).parents[node.level - 1].joinpath(*(node.module or "").split("."))
            for file in {f"{place}.py", *(f"{place / alias.name}.py" for alias in node.names)} & files:
                yield file, node.lineno


def trainer_room(name):
    """The room of a module, or the module itself if it lies beside the rooms."""
    path = Path(name.removeprefix(TRAINER)).with_suffix("")
    return str(path.parent) if len(path.parts) > 1 else str(path)


def check_trainer_rooms(root, imports):
    """Checks the table of the trainer's rooms, and each import against it."""
    table, rooms = root / TRAINER_ROOMS, {}
    there = {trainer_room(name) for name in imports}
    for number, line in enumerate(table.read_text(encoding="utf-8").splitlines() if table.is_file() else (), 1):
        if line.startswith("#") or not line:
            continue
        entries, colon, below = line.partition(":")
        for entry in entries.split():
            if not colon or entry in rooms:
                yield TRAINER_ROOMS, number, "each line is ROOM...: ROOM or MODULE..., each room once"
            if entry not in there:
                yield TRAINER_ROOMS, number, f"{entry} holds no code"
        for other in below.split():
            if other.split("/")[0] not in rooms:
                yield TRAINER_ROOMS, number, f"{other} is no room above {entries}"
        rooms |= dict.fromkeys(entries.split(), below.split())
    for name, found in imports.items():
        room = trainer_room(name)
        if room not in rooms and room != "__init__":
            yield name, 0, f"is in no room of {TRAINER_ROOMS}"
            continue
        for file, line in found:
            other, module = trainer_room(file), file.removeprefix(TRAINER).removesuffix(".py")
            if other != room and not {other, module}.intersection(rooms.get(room, ())):
                yield name, line, f"imports {module}: {room} may import {', '.join(rooms.get(room, ())) or 'nothing'} only"


def circles(imports):
    """Yields each import that closes a circle of modules, whether it stands in a function or not."""
    done, path = set(), []

    def follow(name):
        path.append(name)
        for file, line in imports.get(name, ()):
            if file in path:
                way = [Path(one).stem for one in (*path[path.index(file):], file)]
                yield name, line, f"closes a circle: {' imports '.join(way)}"
            elif file not in done:
                yield from follow(file)
        done.add(path.pop())
    for name in imports:
        if name not in done:
            yield from follow(name)


def check_exceptions(root, sizes):
    """The breaches of sizes without a row in the table, and the rows that nothing needs."""
    table = root / SIZES_FILE
    rows = {}
    for number, line in enumerate(table.read_text(encoding="utf-8").splitlines() if table.is_file() else (), 1):
        if line.strip() and not line.startswith("#"):
            name, _, reason = line.partition(" ")
            rows[name] = number
            if not reason.strip():
                yield SIZES_FILE, number, f"{name} has no reason"
    for name, line, what in sizes:
        if rows.pop(name, None) is None:
            yield name, line, f"{what}; cut it where its subject ends, or give the reason in {SIZES_FILE}"
    for name, number in rows.items():
        yield SIZES_FILE, number, f"{name} is not too large: the row is not needed"


def check_rooms(names, rooms, sizes):
    folders = {}
    for name in names:
        if not name.startswith(BESIDE):
            folders.setdefault(room_of(name), set()).add(Path(name).stem)
    for folder, nouns in sorted(folders.items()):
        if len(nouns) > MAX_NOUNS_PER_ROOM:
            sizes.append((folder, 0, f"{len(nouns)} nouns; a room has at most {MAX_NOUNS_PER_ROOM}"))
    for room in rooms:
        if room not in folders:
            yield ROOMS_FILE, 0, f"{room} holds no code"


def check_contributing(root, named):
    """Checks that the page names the libraries of the table above and the rooms of rooms.txt."""
    page = root / "CONTRIBUTING.md"
    text = page.read_text(encoding="utf-8") if page.is_file() else ""
    for vendor in VENDORS:
        if vendor.split()[0] not in text:
            yield "CONTRIBUTING.md", 0, f"{vendor} is missing in the table of dependencies"
    for room in named:
        if f"`{room}/`" not in text:
            yield "CONTRIBUTING.md", 0, f"{room} is missing in the table of rooms"


def check_pages(root):
    """Finds lines that a formatter of code leaves if it treats a page as code."""
    for name in listed(root):
        if not name.endswith(".md"):
            continue
        fence = 0
        for number, line in enumerate((root / name).read_text(encoding="utf-8").splitlines(), 1):
            if line.startswith("```"):
                fence = 0 if fence else number
                if not re.fullmatch(r"```[a-z]*", line):
                    yield name, number, "a line that begins or ends a block has nothing else"
            elif not fence and re.match(r" *#+[^# ]", line):
                yield name, number, "a heading without a space behind #"
        if fence:
            yield name, fence, "a block without an end"


def main(root):
    found = check(root)
    for name, line, what in found:
        print(f"{name}:{line}: {what}" if line else f"{name}: {what}")
    print(f"{len(found)} breaches in {len(sources(root))} files" if found
          else f"{len(sources(root))} files keep the rules of the house")
    return 1 if found else 0


# ------------------------------------------------------------------------------------- self-test

SMALL_HOUSE = """# a comment
base:
storage: base
storage/remote: base storage
text: base
formats: base text
dag/books: base storage
dag/run: base storage dag/books
stages/lines: base text dag/books/manifest.h
stages/export/*: base text
stages/all: stages/export/*
plugins/native: base
plugins: base plugins/native
cli: base dag/run
"""
GOOD = {
    ROOMS_FILE: SMALL_HOUSE,
    "CONTRIBUTING.md": " ".join(vendor.split()[0] for vendor in VENDORS) +
                       " ".join(f"`{line.split(':')[0]}/`" for line in SMALL_HOUSE.splitlines()),
    "storage/remote/retry.h": '#pragma once\n#include "storage/store.h"\n',
    "dag/books/manifest.h": "#pragma once\n",
    "dag/books/run_log.h": "#pragma once\n",
    "stages/lines/filter.cc": '#include "dag/books/manifest.h"\n#include "text/utf8.h"\n',
    "base/str.h": "#pragma once\n#include <string>\n",
    "base/json.cc": '#include "base/str.h"\n#include <nlohmann/json.hpp>\n#include <sys/stat.h>\n',
    "storage/store.h": '#pragma once\n#include "base/str.h"\n',
    "formats/xz.cc": '#include "text/utf8.h"\n#include <lzma.h>\n',
    "text/utf8.h": "#pragma once\n",
    "stages/export/one/one.h": '#pragma once\n#include "text/utf8.h"\n',
    "stages/export/two/two.h": '#pragma once\n#include "base/str.h"\n',
    "stages/all/table.cc": '#include "stages/export/one/one.h"\n#include "stages/export/two/two.h"\n',
    "formats/xz.h": "#pragma once\n",
    "formats/lzma_reader.cc": "#include <lzma.h>\n// may getenv() and catch (...) in words\n",
    "dag/run/segment.cc": '#include "storage/store.h"\n#include <tbb/task_arena.h>\ntry {} catch (...) {}\n',
    "text/unicode_table.cc": "// budget: flat table\n" + "1,\n" * 2000,
    "plugins/plugin_abi.h": "#pragma once\n",
    "plugins/native/plugin.h": "#pragma once\n",
    "plugins/train/train_job.h": '#pragma once\n#include "base/str.h"\n#include "plugins/native/plugin.h"\n',
    "plugins/train/plugin.cc": '#include "plugins/native/build_id.h"\n#include "plugins/train/train_job.h"\n',
    "plugins/train/reader/row.h": "#pragma once\n",
    "plugins/train/reader/row.c": '#include "plugins/train/reader/row.h"\n',
    TRAINER_ROOMS: "# a comment\nexits:\nmodel: exits\ndata: model/sharding\nrun: exits model data\n__main__ fit: exits run\n",
    f"{TRAINER}__init__.py": "",
    f"{TRAINER}exits.py": "import json\n",
    f"{TRAINER}model/model.py": "import jax.numpy as jnp\nfrom .. import exits\nfrom .sharding import place\n",
    f"{TRAINER}model/sharding.py": "from ..exits import Ended\n",
    f"{TRAINER}data/feed.py": "from ..model import sharding\n",
    f"{TRAINER}run/loop.py": "from ..model import model\ndef run():\n    from ..data.feed import Feed\n",
    f"{TRAINER}fit.py": "from .run import loop\n",
    f"{TRAINER}__main__.py": "from .run.loop import Loop\n",
    "cli/main.cc": 'const char* home = std::getenv("HOME");\ntry {} catch (...) {}\n',
    "base/whole.cc": "\n" * 501,
    "tests/sizes.txt": "# NAME REASON\nbase/whole.cc one automaton\n",
    "tests/dag/run/segment_test.cc": "#include <gtest/gtest.h>\n#include <lzma.h>\n" + '#include "base/str.h"\n' * 500,
}

# A change of the good tree, and the breach that must be found then.
BAD = (
    ({"base/up.cc": '#include "storage/store.h"\n'}, "base/up.cc:1:", "base may include base only"),
    ({"storage/side.cc": '#include "formats/f.h"\n', "formats/f.h": "#pragma once\n"}, "storage/side.cc:1:", "may include"),
    ({"formats/side.cc": '#include "storage/store.h"\n'}, "formats/side.cc:1:", "may include"),
    ({"text/up.cc": '#include "formats/xz.h"\n'}, "text/up.cc:1:", "may include"),
    ({"dag/books/up.cc": '#include "dag/run/plan.h"\n', "dag/run/plan.h": "#pragma once\n"}, "dag/books/up.cc:1:", "may include"),
    ({"storage/up.cc": '#include "storage/remote/retry.h"\n'}, "storage/up.cc:1:", "may include"),
    ({"stages/lines/more.cc": '#include "dag/books/run_log.h"\n'}, "stages/lines/more.cc:1:", "may include"),
    ({ROOMS_FILE: SMALL_HOUSE.replace("storage: base\n", "storage: base dag/run\n")}, "rooms.txt:3:", "dag/run is no room above"),
    ({ROOMS_FILE: SMALL_HOUSE + "base:\n"}, "rooms.txt:15:", "each room once"),
    ({ROOMS_FILE: SMALL_HOUSE + "stages/export/one:\n"}, "rooms.txt:15:", "each room once"),
    ({ROOMS_FILE: SMALL_HOUSE + "text/*:\n"}, "rooms.txt:15:", "text/* holds no code"),
    ({"stages/export/one/one.cc": '#include "stages/export/two/two.h"\n'}, "stages/export/one/one.cc:1:", "may include"),
    ({"stages/lines/up.cc": '#include "stages/export/one/one.h"\n'}, "stages/lines/up.cc:1:", "may include"),
    ({ROOMS_FILE: SMALL_HOUSE + "attic:\n"}, "rooms.txt:", "attic holds no code"),
    ({"dag/loose/a.cc": "\n"}, "dag/loose/a.cc:", "in no room"),
    ({"dag/run/side.cc": '#include "text/utf8.h"\n'}, "dag/run/side.cc:1:", "may include"),
    ({"dag/run/down.cc": '#include "formats/f.h"\n', "formats/f.h": "#pragma once\n"}, "dag/run/down.cc:1:", "may include"),
    ({"dag/run/up.cc": '#include "tests/t.h"\n', "tests/t.h": "#pragma once\n"}, "dag/run/up.cc:1:", "may include"),
    ({"base/held.cc": "static std::mutex all;\n"}, "base/held.cc:1:", "base/mutex.h"),
    ({"base/near.cc": '#include "str.h"\n'}, "base/near.cc:1:", "from the root"),
    ({"base/dots.cc": '#include "../base/str.h"\n'}, "base/dots.cc:1:", "from the root"),
    ({"base/lost.cc": '#include "base/lost.h"\n'}, "base/lost.cc:1:", "no such file"),
    ({"base/str.h": "#include <string>\n"}, "base/str.h:1:", "#pragma once"),
    ({"attic/a.cc": "\n"}, "attic/a.cc:", "in no room"),
    ({"root.cc": "\n"}, "root.cc:", "in no room"),
    ({"dag/run/plan.cc": "#include <tbb/task_group.h>\n"}, "dag/run/plan.cc:1:", "oneTBB belongs into"),
    ({"dag/run/plan.cc": "#include <oneapi/tbb/task_group.h>\n"}, "dag/run/plan.cc:1:", "oneTBB belongs into"),
    ({"formats/xz.h": "#pragma once\n#include <lzma.h>\n"}, "formats/xz.h:2:", "in a header"),
    ({"formats/lzma_third.cc": "#include <lzma.h>\n"}, "formats/xz.cc:", "one vendor, one file"),
    ({"base/boost.cc": "#include <boost/any.hpp>\n"}, "base/boost.cc:1:", "not in the table"),
    ({"base/curl.cc": "#include <curl/curl.h>\n"}, "base/curl.cc:1:", "libcurl belongs into"),
    ({"base/probe.cc": "#include <gtest/gtest.h>\n"}, "base/probe.cc:1:", "not in the table"),
    ({"base/long.h": "#pragma once\n" + "\n" * 250}, "base/long.h:", "251 lines; a header"),
    ({"base/long.cc": "\n" * 501}, "base/long.cc:", "501 lines; a source"),
    ({"tests/long_test.cc": "\n" * 801}, "tests/long_test.cc:", "801 lines; a test"),
    ({f"dag/run/f{number}.cc": "\n" for number in range(40)}, "dag/run:", "at most 40"),
    ({f"cli/f{number}.cc": "\n" for number in range(40)}, "cli:", "at most 40"),
    ({"tests/sizes.txt": "base/str.h it is short\n"}, "tests/sizes.txt:1:", "not needed"),
    ({"base/long.cc": "\n" * 501, "tests/sizes.txt": "base/long.cc\n"}, "tests/sizes.txt:1:", "no reason"),
    ({"base/str_util.cc": "\n"}, "base/str_util.cc:", '"util"'),
    ({"tests/common/a.cc": "\n"}, "tests/common/a.cc:", '"common"'),
    ({"base/a.cc": "class RunManager {\n"}, "base/a.cc:1:", '"manager" in RunManager'),
    ({"base/a.cc": "namespace pipeline_helpers {\n"}, "base/a.cc:1:", '"helpers"'),
    ({"dag/run/plan.cc": "\n} catch (...) {\n"}, "dag/run/plan.cc:2:", "catch (...)"),
    ({"storage/home.cc": 'getenv("HOME");\n'}, "storage/home.cc:1:", "getenv"),
    ({"storage/home.cc": 'std::secure_getenv("HOME");\n'}, "storage/home.cc:1:", "getenv"),
    ({"plugins/loader.cc": '#include "plugins/train/train_job.h"\n'}, "plugins/loader.cc:1:", "loaded, not included"),
    ({"plugins/train/door.cc": '#include "storage/store.h"\n'}, "plugins/train/door.cc:1:", "may include"),
    ({"plugins/train/door.cc": '#include "plugins/loader.h"\n', "plugins/loader.h": "#pragma once\n"},
     "plugins/train/door.cc:1:", "may include"),
    ({"plugins/train/reader/row.c": '#include "base/str.h"\n'}, "plugins/train/reader/row.c:1:", "may include"),
    ({"plugins/train/pieces/pipe_pieces.cc": '#include "text/utf8.h"\n'}, "plugins/train/pieces/pipe_pieces.cc:1:", "may include"),
    ({"plugins/train/hosts/leader.cc": '#include "plugins/train/train_job.h"\n'}, "plugins/train/hosts/leader.cc:1:", "may include"),
    ({f"{TRAINER}run/loop.py": "import tensorflow\n"}, f"{TRAINER}run/loop.py:1:", "imports tensorflow"),
    ({f"{TRAINER}run/loop.py": "from pipe_trainer.model import model\n"}, f"{TRAINER}run/loop.py:1:", "by its name"),
    ({f"{TRAINER}run/long.py": "\n" * 501}, f"{TRAINER}run/long.py:", "501 lines"),
    ({f"{TRAINER}run/wide.py": "#" * 121 + "\n"}, f"{TRAINER}run/wide.py:1:", "121 columns"),
    ({f"{TRAINER}run/util.py": "\n"}, f"{TRAINER}run/util.py:", '"util"'),
    ({f"{TRAINER}run/f{number}.py": "\n" for number in range(40)}, f"{TRAINER}run:", "at most 40"),
    ({f"{TRAINER}model/up.py": "from ..run import loop\n"}, f"{TRAINER}model/up.py:1:", "model may import exits only"),
    ({f"{TRAINER}model/up.py": "def late():\n    from ..run.loop import Loop\n"}, f"{TRAINER}model/up.py:2:", "may import"),
    ({f"{TRAINER}data/side.py": "from ..model import model\n"}, f"{TRAINER}data/side.py:1:", "data may import model/sharding only"),
    ({f"{TRAINER}exits.py": "from .model.model import forward\n"}, f"{TRAINER}exits.py:1:", "exits may import nothing only"),
    ({f"{TRAINER}fit.py": "from .__main__ import main\n"}, f"{TRAINER}fit.py:1:", "fit may import exits, run only"),
    ({f"{TRAINER}loose.py": "\n"}, f"{TRAINER}loose.py:", "in no room"),
    ({f"{TRAINER}attic/old.py": "\n"}, f"{TRAINER}attic/old.py:", "in no room"),
    ({f"{TRAINER}model/sharding.py": "from . import model\n"}, f"{TRAINER}model/sharding.py:1:", "model imports sharding imports model"),
    ({f"{TRAINER}model/sharding.py": "def late():\n    from .model import forward\n"}, f"{TRAINER}model/sharding.py:2:", "a circle"),
    ({TRAINER_ROOMS: GOOD[TRAINER_ROOMS] + "attic:\n"}, f"{TRAINER_ROOMS}:7:", "attic holds no code"),
    ({TRAINER_ROOMS: GOOD[TRAINER_ROOMS] + "data:\n"}, f"{TRAINER_ROOMS}:7:", "each room once"),
    ({TRAINER_ROOMS: GOOD[TRAINER_ROOMS].replace("model: exits", "model: exits run")}, f"{TRAINER_ROOMS}:3:", "run is no room above"),
    ({"CONTRIBUTING.md": "xxHash"}, "CONTRIBUTING.md:", "oneTBB is missing"),
    ({"CONTRIBUTING.md": "xxHash"}, "CONTRIBUTING.md:", "dag/books is missing"),
    ({"dag/plan.md": "#Plan\n"}, "dag/plan.md:1:", "without a space"),
    ({"dag/plan.md": "# Plan\n```sh\n#!/bin/sh\n"}, "dag/plan.md:2:", "without an end"),
    ({"dag/plan.md": "```\na\n``` b\n"}, "dag/plan.md:3:", "nothing else"),
)


def breaches_of(tree):
    with tempfile.TemporaryDirectory() as directory:
        for name, text in tree.items():
            path = Path(directory, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return [f"{name}:{line or ''}{':' if line else ''} {what}" for name, line, what in check(Path(directory))]


def self_test():
    failures = [f"the good tree: {breach}" for breach in breaches_of(GOOD)]
    for change, location, what in BAD:
        breaches = breaches_of({**GOOD, **change})
        if not any(breach.startswith(location) and what in breach for breach in breaches):
            failures.append(f'not found: {location} ... {what}; found instead: {breaches}')
    for failure in failures:
        print(failure)
    print(f"{len(BAD)} breaches looked for, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(self_test())
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else ".")))
