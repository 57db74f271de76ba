#!/usr/bin/env python3
"""Work that the run log has lost is done again: every manifest has the counts of an undisturbed run.

    lost_lines.py PIPE [SCENARIO...]
"""

import json
import shutil
import sys

import replan_support as support
from replan_support import KEEPING, Sandbox, check, check_says, corpus, tree


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def with_several_segments(sandbox):
    """Kept partitions upstream of kept partitions, records that two stages read, a barrier stage, two sinks."""
    sandbox.options = KEEPING
    sandbox.source.write_bytes(corpus(documents=40) + b"\xff broken\n\n")
    sandbox.stages["lines"].update(partition="8KiB", keep=True)
    sandbox.stages["clean"]["keep"] = True
    sandbox.stages["text"]["shards"] = 1
    sandbox.stages["some"] = {"type": "sample", "input": "docs", "bytes": "4KB"}
    sandbox.stages["few"] = {**sandbox.stages["text"], "input": "some", "name": "few"}


def manifests(sandbox):
    """The published files, and the counts of kept artifacts."""
    found = {name: digest for name, digest in tree(sandbox.out).items() if ".pipe/" not in name}
    kept = sandbox.work.glob("artifacts/*/MANIFEST.json")
    return found, {str(path): json.loads(path.read_text())["counts"] for path in kept}


class Saved:
    """The saved state of a finished `Sandbox`, which can be restored."""

    def __init__(self, sandbox):
        self.sandbox, self.at = sandbox, sandbox.root / "saved"
        for directory in (sandbox.work, sandbox.out):
            shutil.copytree(directory, self.at / directory.name)
        self.lines = (sandbox.work / "run.log").read_bytes().splitlines(keepends=True)

    def back(self, lines, published):
        for directory in (self.sandbox.work, self.sandbox.out):
            shutil.rmtree(directory, ignore_errors=True)
            if published or directory != self.sandbox.out:
                shutil.copytree(self.at / directory.name, directory)
        self.sandbox.log.write_bytes(b"".join(lines))


def every_line(change, is_published):
    """`is_published(N)`: whether the published artifacts stay when line N of the log is changed."""
    with Sandbox() as sandbox:
        with_several_segments(sandbox)
        sandbox.ok()
        wanted, saved = manifests(sandbox), Saved(sandbox)
        units = 0
        for at, line in enumerate(saved.lines[1:], 1):
            saved.back([*saved.lines[:at], *change(line), *saved.lines[at + 1:]], is_published(at))
            run = sandbox.ok("-j2")
            found = manifests(sandbox)
            check(found == wanted, f"without the line\n{line.decode()}ran {run.counted()}; other manifests: "
                                   f"{[name for name in wanted[0] if wanted[0][name] != found[0].get(name)]}")
            check(not is_published(at) or not run.units, f"all is published, and ran {run.counted()}")
            units += sum(run.units.values()) - run.of("shards")
        return f"{len(saved.lines)} lines, {units} units done again, and shards"


def each_line_deleted_with_nothing_published():
    return every_line(lambda line: [], lambda at: False)


def each_line_deleted_with_all_published():
    return every_line(lambda line: [], lambda at: True)


def each_line_damaged():
    """Every second line is damaged with the published artifacts in place, the others without."""
    return every_line(lambda line: [line[:len(line) // 2] + bytes([line[len(line) // 2] ^ 1]) + line[len(line) // 2 + 1:]],
                      lambda at: at % 2 == 0)


def without_the_source_the_lines_are_named():
    with Sandbox() as sandbox:
        with_several_segments(sandbox)
        sandbox.ok()
        wanted, saved, text = manifests(sandbox), Saved(sandbox), sandbox.source.read_bytes()
        above = {"lines": (), "clean": ("lines",), "some.in": ("lines", "clean", "docs")}
        for stage, gone in above.items():
            unit = f"{stage}/0000-00001"
            lost = [line for line in saved.lines if f"unit={unit}\t".encode() not in line]
            check(len(lost) == len(saved.lines) - 1, f"{unit}: not one line")
            saved.back(lost, published=False)
            for before in gone:  # its partition outputs exist; those that they were made from do not
                shutil.rmtree(sandbox.partition_outputs(before)[-1])
            sandbox.source.unlink()
            run = sandbox.run("--from-log")
            check(run.code == 2, f"{unit}: exit {run.code}\n{run.err}")
            check_says(run.err, "no such file", unit, "put the file back")
            check(not list(sandbox.out.rglob("MANIFEST.json")), "it was published")
            sandbox.source.write_bytes(text)
            sandbox.ok()
            check(manifests(sandbox)[0] == wanted[0], f"{unit}: other bytes once the source was back")


def bounds_hold_for_whole_counts():
    """A partition without counts would hide the records that it dropped."""
    with Sandbox() as sandbox:
        sandbox.source.write_bytes(corpus(documents=40))
        sandbox.stages["lines"]["partition"] = "8KiB"
        sandbox.stages["clean"].update(keep=True)
        sandbox.ok()
        dropped = json.loads((sandbox.artifact / "MANIFEST.json").read_text())["counts"]["clean"]
        records = dropped["records_out"]
        lines = sandbox.log.read_bytes().splitlines(keepends=True)
        sandbox.log.write_bytes(b"".join(line for line in lines if b"unit=clean/0000-00001\t" not in line))
        shutil.rmtree(sandbox.out)
        sandbox.stages["clean"]["expect"] = {"records": [records, records]}
        run = sandbox.ok()
        check(run.of("partitions", "clean") == 1, run.counted())
        return run.counted()


def renamed_stages_keep_their_counts():
    with Sandbox() as sandbox:
        sandbox.options = KEEPING
        sandbox.ok()
        wanted = json.loads((sandbox.artifact / "MANIFEST.json").read_text())["counts"]
        shutil.rmtree(sandbox.out)
        for old, new in (("clean", "tidy"), ("lines", "rows")):
            sandbox.stages = {new if name == old else name: spec for name, spec in sandbox.stages.items()}
            for spec in sandbox.stages.values():
                if spec.get("input") == old:
                    spec["input"] = new
        run = sandbox.ok()
        check(run.of("partitions") == 0, run.counted())
        counts = json.loads((sandbox.artifact / "MANIFEST.json").read_text())["counts"]
        check(counts["tidy"] == wanted["clean"] and counts["rows"] == wanted["lines"] and "clean" not in counts,
              f"{wanted}\n{counts}")


def a_log_of_an_earlier_version_counts_the_same():
    """Its lines do not name the stage from which on their counts are complete."""
    with Sandbox() as sandbox:
        with_several_segments(sandbox)
        sandbox.ok()
        wanted = manifests(sandbox)
        first, *written = sandbox.log.read_bytes().splitlines(keepends=True)
        lines = [first]
        for line in written:
            fields = line.rstrip(b"\n").split(b"\t")
            body = b"\t".join(field for field in fields[:-1] if not field.startswith(b"whole_from="))
            lines.append(line if len(body) + 10 == len(line) else body + b"\t%08x\n" % crc32c(body))
        sandbox.log.write_bytes(b"".join(lines))
        check(b"whole_from=" not in sandbox.log.read_bytes(), "the log is not of an earlier version")
        shutil.rmtree(sandbox.out)
        run = sandbox.ok()
        check(run.of("partitions") == 0, run.counted())
        check(manifests(sandbox) == wanted, "other manifests")


SCENARIOS = [
    each_line_deleted_with_nothing_published, each_line_deleted_with_all_published, each_line_damaged,
    without_the_source_the_lines_are_named, bounds_hold_for_whole_counts, renamed_stages_keep_their_counts,
    a_log_of_an_earlier_version_counts_the_same,
]

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
