#!/usr/bin/env python3
"""Tables and archives as people have them: the same bytes with any number of threads, and archives that want to do harm.

    input_formats.py PIPE [SCENARIO...]

Refusals of tables and archives are cases below cases/input_formats.
"""

import csv
import gzip
import io
import json
import os
import struct
import sys
import tarfile
import time
import zlib

import replan_support as support
from pipe_run import tar, zipped
from replan_support import Sandbox, check, check_says, corpus, tree

SENTENCES = ["재미있어요", "\"최고\" 라고 \"합니다", "별로예요...", "it's ok, really", "두 번\u3000봤다"]
REVIEWS = [(number, f"{SENTENCES[number % 5]} {number}", str(number * 7 % 3 // 2)) for number in range(3000)]


def expect(run, code, *parts):
    check(run.code == code, f"exit {run.code}, expected {code}\n{run.out}{run.err}")
    check_says(run.err, *parts)
    check("[this is a bug]" not in run.err, run.err)


class Table(Sandbox):
    """A `Sandbox` whose stage `lines` reads rows with labels."""

    def __init__(self, name, table, **keys):
        super().__init__()
        self.source = self.root / name
        self.source.write_bytes(table)
        self.stages["source"]["url"] = str(self.source)
        self.stages["lines"] = {"type": "read_rows", "input": "source", "format": name.split(".")[1],
                                "text": "document", "label": "label", "partition": "32KiB", **keys}
        self.stages["text"]["labels"] = ["0", "1"]


def tsv(rows=REVIEWS, end="\n"):
    lines = ["id\tdocument\tlabel", *(f"{number}\t{text}\t{label}" for number, text, label in rows)]
    return "".join(line + end for line in lines).encode()


def as_csv(rows=REVIEWS):
    made = io.StringIO()
    csv.writer(made).writerows([("id", "document", "label"), *rows])
    return made.getvalue().encode()


def jsonl(rows=REVIEWS):
    return b"".join(json.dumps({"id": number, "document": text, "label": int(label)}).encode() + b"\n"
                    for number, text, label in rows)


def shards(sandbox):
    return {name: digest for name, digest in tree(sandbox.artifact).items() if "tfrecord" in name}


def labelled_tables():
    """Published, verified, described; the same bytes with any number of threads and from an archive."""
    told = []
    for name, table in (("a.tsv", tsv()), ("b.csv", as_csv()), ("c.jsonl", jsonl())):
        with Table(name, table) as sandbox:
            sandbox.ok("-j1")
            want = shards(sandbox)
            features = json.loads((sandbox.artifact / "features.json").read_text())["featuresDict"]["features"]
            check(features["label"]["classLabel"] == {"numClasses": "2"}, features)
            check((sandbox.artifact / "label.labels.txt").read_text() == "0\n1\n", "other names")
            verified = support.subprocess.run([support.PIPE, "verify", str(sandbox.artifact)], capture_output=True,
                                          text=True)
            check(verified.returncode == 0 and "3000 records" in verified.stdout, verified.stdout + verified.stderr)
            for pack in (gzip.compress, tar, zipped):
                sandbox.source.write_bytes(pack(table))
                support.shutil.rmtree(sandbox.out), support.shutil.rmtree(sandbox.work)
                sandbox.ok("-j3", "--batch-bytes", "3000")
                check(shards(sandbox) == want, f"other bytes by {pack.__name__}")
            told.append(f"{name}: {len(want)} shards")
    return ", ".join(told)


def wait_measured(child, most_megabytes):
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    peak = usage.ru_maxrss / 1024
    # The address sanitizer (./dev asan) keeps freed memory and shadows all of it.
    check(peak < (900 if "ASAN_OPTIONS" in os.environ else most_megabytes), f"{peak:.0f} MiB at the peak")
    return child.stderr.read().decode(), peak


def zeros_in_a_zip(size):
    """A zip with a deflated member of `size` zeros, a multiple of 64 MiB: one chunk of deflate data is repeated."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(bytes(64 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    data = block * (size >> 26) + zlib.compressobj(9, zlib.DEFLATED, -15).flush()
    name = b"zeros.txt"
    wide = struct.pack("<HHQQ", 1, 16, size, len(data))
    shared = struct.pack("<HHHHHIIIHH", 45, 0, 8, 0, 33, 0, 0xFFFFFFFF, 0xFFFFFFFF, len(name), len(wide))
    local = b"PK\3\4" + shared + name + wide + data
    central = b"PK\1\2" + struct.pack("<H", 0x032D) + shared + struct.pack("<HHHII", 0, 0, 0, 0o100644 << 16, 0) + name + wide
    return local + central + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)


def a_zip_of_10_gigabytes_of_zeros():
    with Sandbox() as sandbox:
        sandbox.source = sandbox.root / "bomb.zip"
        sandbox.source.write_bytes(zeros_in_a_zip(10 << 30))
        sandbox.stages["source"]["url"] = str(sandbox.source)
        began = time.monotonic()
        child = sandbox.start("-j2")
        err, peak = wait_measured(child, 300)
        check(child.returncode == 1, f"exit {child.returncode}\n{err}")
        check_says(err, "bomb.zip: ", "expands to more than 200 times its size", "max_ratio")
        check(not (sandbox.artifact / "MANIFEST.json").exists(), "published it")
        line = next(line for line in err.splitlines() if "expands" in line)
        return f"{sandbox.source.stat().st_size >> 20} MiB file, {peak:.0f} MiB at the peak, {time.monotonic() - began:.1f} s: {line}"


def names_that_lead_elsewhere():
    """No file gets the name of a member, and messages do not repeat its control characters."""
    with Sandbox() as sandbox:
        sandbox.source = sandbox.root / "evil.tar"
        before = set(os.listdir(sandbox.root))
        with tarfile.open(sandbox.source, "w") as archive:
            for name in ("../../../escaped", "/tmp/pipe-test-escaped", "\x1b]0;x\x07.txt"):
                member = tarfile.TarInfo(name)
                text = corpus(documents=30) if "escaped" in name else b"\xff\xfe\0\0a\0\0\0"
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text))
            link = tarfile.TarInfo("link")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            archive.addfile(link)
        sandbox.stages["source"]["url"] = str(sandbox.source)
        sandbox.stages["lines"]["members"] = ["*escaped"]
        run = sandbox.ok()
        check_says(run.err, "360 records in")
        check(set(os.listdir(sandbox.root)) - before <= {"evil.tar", "p.yaml", "work", "out"}, "wrote elsewhere")
        check(not os.path.exists("/tmp/pipe-test-escaped"), "wrote to /tmp")
        del sandbox.stages["lines"]["members"]
        sandbox.stages["text"]["version"] = "1.0.1"
        failed = sandbox.run()
        expect(failed, 1, "member '?]0;x?.txt': text is UTF-32LE")
        check("\x1b" not in failed.err, "an escape sequence reached the terminal")
        return failed.err.splitlines()[0]


def shards_read_again():
    """A published data set is a source: the same lines in the same splits, the same bytes with any number of threads,
    also if `write_tfds` splits lines to a number of tokens."""
    def lines_of(artifact):
        told = support.subprocess.run([support.PIPE, "cat", str(artifact)], capture_output=True, text=True, check=True)
        return sorted(told.stdout.splitlines())

    with Sandbox() as first:
        first.ok()
        with Sandbox() as sandbox:
            sandbox.stages["source"]["url"] = str(first.artifact / "*.tfrecord-*")
            sandbox.stages["lines"] = {"type": "read_examples", "input": "source", "partition": "8KiB",
                                       "splits": {"train": "*-train.*", "validation": "*-validation.*"}}
            del sandbox.stages["docs"]
            sandbox.stages["tokenizer"] = {"type": "train_tokenizer", "input": "clean", "vocab_size": 400, "byte_fallback": True,
                                           "character_coverage": 0.99, "compare_boundaries": False,
                                           "out": str(sandbox.root / "model")}
            sandbox.stages["text"].update(input="clean")
            sandbox.stages["short"] = {"type": "write_tfds", "input": "clean", "name": "short", "shards": 4, "max_tokens": 16,
                                       "tokenizer": "tokenizer", "out": str(sandbox.out)}
            run = sandbox.ok("-j1")
            check_says(run.err, "split_long")
            check(lines_of(sandbox.artifact) == lines_of(first.artifact), "other lines")
            info = [json.loads((at.artifact / "dataset_info.json").read_text())["splits"] for at in (first, sandbox)]
            counts = [{split["name"]: sum(map(int, split["shardLengths"])) for split in splits} for splits in info]
            check(counts[0] == counts[1], counts)
            verified = support.subprocess.run([support.PIPE, "verify", str(sandbox.out / "short/1.0.0")], capture_output=True)
            check(verified.returncode == 0, verified.stdout)
            want = {name: digest for name, digest in tree(sandbox.out).items() if "tfrecord" in name}
            support.shutil.rmtree(sandbox.out), support.shutil.rmtree(sandbox.work)
            sandbox.ok("-j3", "--batch-bytes", "3000")
            check({name: digest for name, digest in tree(sandbox.out).items() if "tfrecord" in name} == want, "other bytes")
            sandbox.stages["text"].update(version="1.0.1", eval_batch=10_000)
            expect(sandbox.run(), 1, "split 'validation': has ", "`eval_batch` asks for 10000")
            sandbox.stages["short"].pop("tokenizer")
            expect(sandbox.run(), 2, "max_tokens: only a tokenizer can count tokens")
            return str(counts[1])


def splits_by_the_names_of_files():
    """Train and test as in the files, a validation split out of train."""
    with Table("ratings_train.tsv", tsv(REVIEWS[:2000])) as sandbox:
        (sandbox.root / "ratings_test.tsv").write_bytes(tsv(REVIEWS[2000:]))
        sandbox.stages["source"]["url"] = str(sandbox.root / "ratings*.tsv")
        sandbox.stages["lines"]["splits"] = {"train": "*train*", "test": ["*test*"]}
        sandbox.stages["docs"].update(splits={"train": "rest", "validation": 0.1}, of="train")
        sandbox.ok("-j1")
        want = shards(sandbox)
        info = json.loads((sandbox.artifact / "dataset_info.json").read_text())
        counts = {split["name"]: sum(map(int, split["shardLengths"])) for split in info["splits"]}
        check(list(counts) == ["test", "train", "validation"], counts)
        check(counts["test"] == 1000 and counts["train"] + counts["validation"] == 2000, counts)
        check(130 < counts["validation"] < 270, counts)
        support.shutil.rmtree(sandbox.out), support.shutil.rmtree(sandbox.work)
        sandbox.ok("-j3", "--batch-bytes", "3000")
        check(shards(sandbox) == want, "other bytes")
        verified = support.subprocess.run([support.PIPE, "verify", str(sandbox.artifact)], capture_output=True,
                                          text=True)
        check(verified.returncode == 0, verified.stdout + verified.stderr)
        return ", ".join(f"{name} {count}" for name, count in counts.items())


def splits_by_the_names_of_members():
    """Train and test are in one download."""
    with Table("reviews.tsv", b"") as sandbox:
        sandbox.source.unlink()
        path = sandbox.root / "reviews.tar.gz"
        sandbox.stages["source"]["url"] = str(path)
        sandbox.stages["lines"]["splits"] = {"train": "*/train/*", "test": ["*/test/*"]}
        sandbox.stages["docs"].update(splits={"train": "rest", "validation": 0.1}, of="train")

        def archive(**members):
            with tarfile.open(path, "w:gz") as made:
                for name, rows in members.items():
                    text = tsv(rows)
                    member = tarfile.TarInfo(f"reviews/{name.replace('_', '/')}")
                    member.size = len(text)
                    made.addfile(member, io.BytesIO(text))

        def counts(artifact):
            info = json.loads((artifact / "dataset_info.json").read_text())
            return {split["name"]: sum(map(int, split["shardLengths"])) for split in info["splits"]}

        archive(train_a=REVIEWS[:700], test_a=REVIEWS[2000:2500], train_b=REVIEWS[700:2000], test_b=REVIEWS[2500:])
        sandbox.ok("-j1")
        want, found = shards(sandbox), counts(sandbox.artifact)
        check(found["test"] == 1000 and found["train"] + found["validation"] == 2000, found)
        support.shutil.rmtree(sandbox.out), support.shutil.rmtree(sandbox.work)
        sandbox.ok("-j3", "--batch-bytes", "3000")
        check(shards(sandbox) == want, "other bytes")
        sandbox.ok("--subset", "300")
        part = counts(sandbox.out / "subset-300" / sandbox.artifact.relative_to(sandbox.out))
        check(part["test"] == 300 and part["train"] + part["validation"] == 300, part)
        path.rename(sandbox.root / "other.tar.gz")
        sandbox.stages["source"]["url"] = str(sandbox.root / "other.tar.gz")
        check(not any(line.startswith("segment") for line in sandbox.ok("-j1").lines), "the archive's name matters")
        return ", ".join(f"{name} {count}" for name, count in found.items())


SCENARIOS = [labelled_tables, a_zip_of_10_gigabytes_of_zeros, names_that_lead_elsewhere, splits_by_the_names_of_files,
             splits_by_the_names_of_members, shards_read_again]

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
