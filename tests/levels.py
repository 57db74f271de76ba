"""Runs the tests of a level with ctest: check, test or all. Levels are rows of levels.txt.

usage: levels.py BUILD LEVEL [--seed N] [--list] [-- OPTION_OF_CTEST...]
       levels.py BUILD --self-test

A row `rotates N` has N parts, and a run takes the part of its seed, so N seeds in a row run all of its tests. If --seed
is absent, the seed comes from the commit. The 20 slowest tests are printed above the closing lines of ctest.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
LEVELS = ("check", "test", "all")
MOST_PARTS = 5  # a fault in any promise is found within so many seeds

Row = collections.namedtuple("Row", "line, level, parts, pattern, promise")


class Mistake(Exception):
    pass


def read_rows(text):
    """The rows of levels.txt. A row is a level, a pattern for whole names, and the promise of its tests."""
    rows = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = re.fullmatch(r"(check|test|all|rotates (\d+)) +(\S+) *(.*)", line)
        if not words:
            raise Mistake(f"levels.txt:{number}: a row is a level, a pattern and a promise: {line}")
        level, parts, pattern, promise = words.groups()
        if parts and not 2 <= int(parts) <= MOST_PARTS:
            raise Mistake(f"levels.txt:{number}: a row has from 2 to {MOST_PARTS} parts")
        if (parts or level == "all") and not promise:
            raise Mistake(f"levels.txt:{number}: a row whose tests do not always run names its promise")
        rows.append(Row(number, "rotates" if parts else level, int(parts or 1), pattern, promise))
    return rows


def groups_of(rows, names):
    """The names of each row, in their order. A name belongs to the first row that matches it."""
    groups = {row: [] for row in rows}
    for name in names:
        row = next((row for row in rows if re.fullmatch(row.pattern, name)), None)
        if row is None:
            raise Mistake(f"levels.txt: no row matches the test {name}")
        groups[row].append(name)
    for row, of_row in groups.items():
        if len(of_row) < row.parts:
            raise Mistake(f"levels.txt:{row.line}: {row.pattern} matches {len(of_row)} tests, but has {row.parts} parts")
    return groups


def chosen(groups, level, seed):
    """The names that a level runs with this seed."""
    names = set()
    for row, of_row in groups.items():
        if level == "all" or row.level == "check" or (level == "test" and row.level == "test"):
            names.update(of_row)
        elif level == "test" and row.level == "rotates":
            # Rows begin at different parts, so the long tests of several rows do not meet in one seed.
            names.update(name for index, name in enumerate(of_row) if (index + row.line - seed) % row.parts == 0)
    return names


def all_tests(build):
    """The names of the tests of a build, in the order of their numbers, which begin at 1."""
    listed = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], stdout=subprocess.PIPE, check=True)
    return [test["name"] for test in json.loads(listed.stdout)["tests"]]


def seed_of_commit():
    commit = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True, check=False).stdout.strip()
    return int(commit[:8], 16) if commit else 0  # an exported tree has no commit


def run(build, numbers, options):
    """Runs the tests of these numbers, and shows the slowest above the closing lines. Returns ctest's exit status."""
    times = []
    closing = []
    first = str(numbers[0])
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as selected:
        selected.write(",".join([first, first, "1"] + [str(number) for number in numbers[1:]]))
        selected.flush()
        command = ["ctest", "--test-dir", build, "-I", selected.name, *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, errors="replace") as ctest:
            for line in ctest.stdout:
                if closing or re.match(r"\d+% tests passed", line):
                    closing.append(line)
                    continue
                ended = re.match(r" *\d+/\d+ Test +#\d+: (\S+) .* ([\d.]+) sec", line)
                if ended:
                    times.append((float(ended[2]), ended[1]))
                print(line, end="", flush=True)
    if times:
        print(f"\nThe slowest of {len(times)} tests, which took {sum(time for time, _ in times):.0f} s together:")
        for time, name in sorted(times, reverse=True)[:20]:
            print(f"{time:8.1f} s  {name}")
        print()
    print("".join(closing), end="", flush=True)
    return ctest.returncode


def self_test(build):
    rows = read_rows((ROOT / "tests" / "levels.txt").read_text())
    names = all_tests(build)
    groups = groups_of(rows, names)
    assert chosen(groups, "all", 0) == set(names)
    assert chosen(groups, "check", 0) < chosen(groups, "test", 0) < set(names)
    assert chosen(groups, "check", 3) == chosen(groups, "check", 4)
    for begin in (0, 1, 977):
        seeds = [chosen(groups, "test", begin + step) for step in range(MOST_PARTS)]
        never = {name for row in rows if row.level == "all" for name in groups[row]}
        assert set().union(*seeds) == set(names) - never, "some test is in no part"
        assert len({frozenset(seed) for seed in seeds}) == MOST_PARTS, "some seeds run the same tests"
    for text, mistake in (("sometimes A.* promise", "a row is a level"), ("rotates 9 A.* promise", "from 2 to"),
                          ("rotates 2 A.*", "names its promise"), ("test B.*", "no row matches"),
                          ("rotates 3 A.* promise", "matches 2 tests")):
        try:
            groups_of(read_rows(text), ["A1", "A2"])
        except Mistake as found:
            assert mistake in str(found), found
        else:
            raise AssertionError(f"no mistake was found in: {text}")
    print(f"ok: {len(rows)} rows for {len(names)} tests; "
          f"check runs {len(chosen(groups, 'check', 0))}, test {len(chosen(groups, 'test', 0))}")


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("build")
    options.add_argument("level", nargs="?", choices=LEVELS)
    options.add_argument("--seed", type=int)
    options.add_argument("--list", action="store_true", help="print the names of the tests that would run")
    options.add_argument("--self-test", action="store_true")
    own, of_ctest = sys.argv[1:], []
    if "--" in own:
        own, of_ctest = own[:own.index("--")], own[own.index("--") + 1:]
    arguments = options.parse_args(own)
    try:
        if arguments.self_test:
            return self_test(arguments.build)
        if not arguments.level:
            options.error("give a level: " + ", ".join(LEVELS))
        seed = seed_of_commit() if arguments.seed is None else arguments.seed
        names = all_tests(arguments.build)
        selected = chosen(groups_of(read_rows((ROOT / "tests" / "levels.txt").read_text()), names), arguments.level, seed)
    except Mistake as mistake:
        sys.exit(f"levels.py: {mistake}")
    if arguments.list:
        print("\n".join(name for name in names if name in selected))
        return 0
    repeat = f"; SEED={seed} repeats the choice" if arguments.level == "test" else ""
    print(f"Level {arguments.level}: {len(selected)} of {len(names)} tests{repeat}", flush=True)
    return run(arguments.build, [number for number, name in enumerate(names, 1) if name in selected], of_ctest)


if __name__ == "__main__":
    sys.exit(main())
