#!/usr/bin/env python3
"""A source that does not exist: one that an earlier run read, or one that never existed.

    vanished.py PIPE [SCENARIO...]
"""

import hashlib
import json
import shutil
import sys

import replan_support as support
from replan_support import KEEPING, Sandbox, check, check_says, check_units, corpus
from web_server import WebServer


def two_files(sandbox):
    """Makes the source a list of two files; returns their names in the pipeline file."""
    paths = [sandbox.root / "train.txt", sandbox.root / "test.txt"]
    for number, path in enumerate(paths):
        path.write_bytes(corpus(documents=60, seed=number + 1))
    sandbox.stages["source"]["url"] = [str(path) for path in paths]
    return paths


def refused(sandbox, *args, says=(), **options):
    run = sandbox.run(*args, **options)
    check(run.code == 2, f"exit {run.code}, expected 2\n{run.out}{run.err}")
    check_says(run.err, *says)
    check(not run.units, f"it ran {run.counted()}")
    return run


def elsewhere(sandbox, name="elsewhere"):
    sandbox.stages["text"]["out"] = str(sandbox.root / name)
    return sandbox.root / name


def never_published(sandbox):
    check(not list(sandbox.root.glob("elsewhere*/**/MANIFEST.json")), "it was published")


def a_mistyped_name():
    """Refused also if the location of the earlier run has an artifact, and with --from-log."""
    with Sandbox() as sandbox:
        train, test = two_files(sandbox)
        sandbox.ok()
        sandbox.stages["source"]["url"] = [str(sandbox.root / "tain.txt"), str(test)]
        refused(sandbox, says=["tain.txt: no such file", "an earlier run read train.txt, digest "])
        refused(sandbox, "--from-log", says=["tain.txt: no such file"])
        elsewhere(sandbox)
        refused(sandbox, says=["tain.txt: no such file"])
        refused(sandbox, "--from-log", says=["tain.txt: no such file"])
        never_published(sandbox)
        sandbox.stages["source"]["url"] = [str(test), str(train)]
        test.unlink()
        refused(sandbox, "--from-log", says=["test.txt: no such file"])  # the same names in another order
        never_published(sandbox)


def a_pattern_that_matches_nothing():
    with Sandbox() as sandbox:
        two_files(sandbox)
        sandbox.stages["source"]["url"] = str(sandbox.root / "t*.txt")
        sandbox.ok()
        for path in sandbox.root.glob("t*.txt"):
            path.unlink()
        gone = sandbox.ok()
        check_units(gone)
        check_says(gone.err, "no file has such a name", "the digests that earlier runs recorded are used")
        elsewhere(sandbox)
        refused(sandbox, says=["no file has such a name", "--from-log"])
        for pattern in ("tr*.txt", "x*.txt"):  # matches fewer of the files that were read, or none
            sandbox.stages["source"]["url"] = str(sandbox.root / pattern)
            refused(sandbox, "--from-log", says=["no file has such a name"])
        never_published(sandbox)
        sandbox.stages["source"]["url"] = str(sandbox.root / "t*.txt")
        run = sandbox.ok("--from-log")
        check_units(run)


def an_address_that_cannot_be_reached():
    server = WebServer(corpus(documents=60), name="corpus.txt")
    with Sandbox() as sandbox:
        sandbox.stages["source"]["url"] = server.url
        sandbox.ok()
        server.stop()
        gone = sandbox.ok()
        check_units(gone)
        check_says(gone.err, "the digests that earlier runs recorded are used")
        elsewhere(sandbox)
        refused(sandbox, says=["an earlier run read corpus.txt, digest ", "--from-log"])
        sandbox.stages["source"]["url"] = server.url.replace("corpus.txt", "other.txt")
        refused(sandbox, "--from-log", says=["other.txt"])
        never_published(sandbox)


def a_missing_tokenizer():
    with Sandbox() as sandbox:
        sandbox.stages["tokenizer"] = {"type": "train_tokenizer", "input": "docs", "vocab_size": 320,
                                       "byte_fallback": True, "boundaries": "none", "out": str(sandbox.root / "tok")}
        sandbox.ok()
        model = next((sandbox.root / "tok").glob("*.model"))
        ours = sandbox.root / "ours.model"
        shutil.copy(model, ours)
        del sandbox.stages["tokenizer"], sandbox.stages["text"]
        sandbox.stages["tokens"] = {"type": "encode", "input": "docs", "tokenizer": str(ours)}
        sandbox.stages["rows"] = {"type": "write_packed", "input": "tokens", "seq_len": 64, "shards": 1,
                                  "out": str(sandbox.root / "rows")}
        sandbox.ok()
        ours.unlink()
        gone = sandbox.ok()
        check_units(gone)
        check_says(gone.err, "ours.model", "the digests that earlier runs recorded are used")
        sandbox.stages["rows"]["out"] = str(sandbox.root / "elsewhere")
        refused(sandbox, says=["ours.model"])
        sandbox.stages["rows"]["out"] = str(sandbox.root / "rows")
        sandbox.stages["tokens"]["tokenizer"] = str(sandbox.root / "our.model")
        refused(sandbox, says=["our.model"])
        never_published(sandbox)


def a_missing_file_beside_a_changed_one():
    with Sandbox() as sandbox:
        train, test = two_files(sandbox)
        sandbox.ok()
        text = train.read_bytes()
        train.unlink()
        test.write_bytes(test.read_bytes() + b"one more\n")
        refused(sandbox, says=["train.txt: no such file", "test.txt is not the one that was read before"])
        elsewhere(sandbox)
        refused(sandbox, "--from-log", says=["train.txt: no such file"])
        never_published(sandbox)
        train.write_bytes(text)
        sandbox.stages["text"]["out"] = str(sandbox.out)
        refused(sandbox, says=["holds another recipe", "source.test.txt"])


def another_pin_than_that_of_then():
    with Sandbox() as sandbox:
        sandbox.stages["source"]["checksum"] = "sha256:" + hashlib.sha256(sandbox.source.read_bytes()).hexdigest()
        sandbox.ok()
        sandbox.source.unlink()
        check_units(sandbox.ok())
        sandbox.stages["source"]["checksum"] = "sha256:" + "0" * 64
        refused(sandbox, says=["no such file", "corpus.txt is not the one that was read before"])


def a_moved_corpus_with_everything_published():
    with Sandbox() as sandbox:
        sandbox.ok()
        sandbox.source.rename(sandbox.root / "moved.txt")
        run = sandbox.ok()
        check_units(run)
        check_says(run.err, "no such file", "the digests that earlier runs recorded are used: corpus.txt, digest ",
                   "read on 20")


def a_run_that_was_cut_off_goes_on():
    """Its location has the objects that it wrote: no flag is needed."""
    with Sandbox() as sandbox:
        killed = sandbox.run(env={"PIPE_KILL_AT": "shard.logged:1"})
        check(killed.code == -9, f"exit {killed.code}")
        sandbox.source.unlink()
        run = sandbox.ok()
        check(run.of("shards") > 0 and run.of("partitions") == 0, run.counted())
        events = [json.loads(line) for path in sandbox.work.glob("runs/*/events.jsonl")
                  for line in path.read_text().splitlines()]
        told = [event for event in events if event["event"] == "stage" and "no such file" in event.get("vanished", "")]
        check(len(told) == 1 and "corpus.txt, digest" in told[0]["vanished"], f"no record tells of it: {told}")
        page = max(sandbox.work.glob("runs/*/report.html"), key=lambda path: path.stat().st_mtime_ns).read_text()
        check_says(page, "used the log of an earlier run", "corpus.txt")


def a_new_location_from_a_vanished_source():
    with Sandbox() as sandbox:
        sandbox.options = KEEPING
        sandbox.ok()
        wanted = support.tree(sandbox.artifact)
        sandbox.source.unlink()
        elsewhere(sandbox)  # a copy
        refused(sandbox, says=["no such file", "an earlier run read corpus.txt, digest ", "read on 20", "--from-log"])
        never_published(sandbox)
        sandbox.ok("--from-log")
        shutil.rmtree(sandbox.out)
        shutil.rmtree(sandbox.root / "elsewhere")
        elsewhere(sandbox, "elsewhere2")  # from the partition outputs
        refused(sandbox, says=["--from-log"])
        refused(sandbox, "-n", says=["--from-log"])
        run = sandbox.ok("--from-log")
        check(run.of("shards") == 8 and run.of("partitions") == 0, run.counted())
        found = support.tree(sandbox.root / "elsewhere2" / "tiny" / "1.0.0")
        check({name: found[name] for name in wanted if ".pipe" not in name} ==
              {name: wanted[name] for name in wanted if ".pipe" not in name}, "other bytes")


def validate_reports_and_does_not_fail():
    with Sandbox() as sandbox:
        sandbox.source.unlink()
        sandbox.write_file()
        run = support.subprocess.run([support.PIPE, "validate", str(sandbox.file)], capture_output=True, timeout=50,
                                     cwd=sandbox.root)
        check(run.returncode == 0, f"exit {run.returncode}\n{run.stderr.decode()}")
        check_says(run.stderr.decode(), "stage 'source'", "no such file")
        check_says(run.stdout.decode(), "no mistakes")


SCENARIOS = [
    a_mistyped_name, a_pattern_that_matches_nothing, an_address_that_cannot_be_reached, a_missing_tokenizer,
    a_missing_file_beside_a_changed_one, another_pin_than_that_of_then, a_moved_corpus_with_everything_published, a_run_that_was_cut_off_goes_on,
    a_new_location_from_a_vanished_source, validate_reports_and_does_not_fail,
]

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
