#!/usr/bin/env python3
"""A source that does not exist: one that an earlier run read, or one that never existed.

    vanished.py PIPE [SCENARIO...]
"""

import hashlib
import json
import shutil
import sys

import replan_support as support
from replan_support import Place, check, check_says, check_units, corpus
from web_server import WebServer


def two_files(place):
    """Makes the source a list of two files; returns their names in the pipeline file."""
    paths = [place.root / "train.txt", place.root / "test.txt"]
    for number, path in enumerate(paths):
        path.write_bytes(corpus(documents=60, seed=number + 1))
    place.stages["source"]["url"] = [str(path) for path in paths]
    return paths


def refused(place, *args, says=(), **options):
    run = place.run(*args, **options)
    check(run.code == 2, f"exit {run.code}, expected 2\n{run.out}{run.err}")
    check_says(run.err, *says)
    check(not run.units, f"it ran {run.counted()}")
    return run


def elsewhere(place, name="elsewhere"):
    place.stages["text"]["out"] = str(place.root / name)
    return place.root / name


def never_published(place):
    check(not list(place.root.glob("elsewhere*/**/MANIFEST.json")), "it was published")


def a_mistyped_name():
    """Refused also if the location of the earlier run has an artifact, and with --from-log."""
    with Place() as place:
        train, test = two_files(place)
        place.ok()
        place.stages["source"]["url"] = [str(place.root / "tain.txt"), str(test)]
        refused(place, says=["tain.txt: no such file", "an earlier run read train.txt, digest "])
        refused(place, "--from-log", says=["tain.txt: no such file"])
        elsewhere(place)
        refused(place, says=["tain.txt: no such file"])
        refused(place, "--from-log", says=["tain.txt: no such file"])
        never_published(place)
        place.stages["source"]["url"] = [str(test), str(train)]
        test.unlink()
        refused(place, "--from-log", says=["test.txt: no such file"])  # the same names in another order
        never_published(place)


def a_pattern_that_matches_nothing():
    with Place() as place:
        two_files(place)
        place.stages["source"]["url"] = str(place.root / "t*.txt")
        place.ok()
        for path in place.root.glob("t*.txt"):
            path.unlink()
        gone = place.ok()
        check_units(gone)
        check_says(gone.err, "no file has such a name", "the digests that earlier runs recorded are used")
        elsewhere(place)
        refused(place, says=["no file has such a name", "--from-log"])
        for pattern in ("tr*.txt", "x*.txt"):  # matches fewer of the files that were read, or none
            place.stages["source"]["url"] = str(place.root / pattern)
            refused(place, "--from-log", says=["no file has such a name"])
        never_published(place)
        place.stages["source"]["url"] = str(place.root / "t*.txt")
        run = place.ok("--from-log")
        check_units(run)


def an_address_that_cannot_be_reached():
    server = WebServer(corpus(documents=60), name="corpus.txt")
    with Place() as place:
        place.stages["source"]["url"] = server.url
        place.ok()
        server.stop()
        gone = place.ok()
        check_units(gone)
        check_says(gone.err, "the digests that earlier runs recorded are used")
        elsewhere(place)
        refused(place, says=["an earlier run read corpus.txt, digest ", "--from-log"])
        place.stages["source"]["url"] = server.url.replace("corpus.txt", "other.txt")
        refused(place, "--from-log", says=["other.txt"])
        never_published(place)


def a_missing_tokenizer():
    with Place() as place:
        place.stages["tokenizer"] = {"type": "train_tokenizer", "input": "docs", "vocab_size": 320,
                                     "byte_fallback": True, "boundaries": "none", "out": str(place.root / "tok")}
        place.ok()
        model = next((place.root / "tok").glob("*.model"))
        ours = place.root / "ours.model"
        shutil.copy(model, ours)
        del place.stages["tokenizer"], place.stages["text"]
        place.stages["tokens"] = {"type": "encode", "input": "docs", "tokenizer": str(ours)}
        place.stages["rows"] = {"type": "write_packed", "input": "tokens", "seq_len": 64, "shards": 1,
                                "out": str(place.root / "rows")}
        place.ok()
        ours.unlink()
        gone = place.ok()
        check_units(gone)
        check_says(gone.err, "ours.model", "the digests that earlier runs recorded are used")
        place.stages["rows"]["out"] = str(place.root / "elsewhere")
        refused(place, says=["ours.model"])
        place.stages["rows"]["out"] = str(place.root / "rows")
        place.stages["tokens"]["tokenizer"] = str(place.root / "our.model")
        refused(place, says=["our.model"])
        never_published(place)


def a_missing_file_beside_a_changed_one():
    with Place() as place:
        train, test = two_files(place)
        place.ok()
        text = train.read_bytes()
        train.unlink()
        test.write_bytes(test.read_bytes() + b"one more\n")
        refused(place, says=["train.txt: no such file", "test.txt is not the one that was read before"])
        elsewhere(place)
        refused(place, "--from-log", says=["train.txt: no such file"])
        never_published(place)
        train.write_bytes(text)
        place.stages["text"]["out"] = str(place.out)
        refused(place, says=["holds another recipe", "source.test.txt"])


def another_pin_than_that_of_then():
    with Place() as place:
        place.stages["source"]["checksum"] = "sha256:" + hashlib.sha256(place.source.read_bytes()).hexdigest()
        place.ok()
        place.source.unlink()
        check_units(place.ok())
        place.stages["source"]["checksum"] = "sha256:" + "0" * 64
        refused(place, says=["no such file", "corpus.txt is not the one that was read before"])


def a_moved_corpus_with_everything_published():
    with Place() as place:
        place.ok()
        place.source.rename(place.root / "moved.txt")
        run = place.ok()
        check_units(run)
        check_says(run.err, "no such file", "the digests that earlier runs recorded are used: corpus.txt, digest ",
                   "read on 20")


def a_run_that_was_cut_off_goes_on():
    """Its location has the objects that it wrote: no flag is needed."""
    with Place() as place:
        killed = place.run(env={"PIPE_KILL_AT": "shard.logged:1"})
        check(killed.code == -9, f"exit {killed.code}")
        place.source.unlink()
        run = place.ok()
        check(run.of("shards") > 0 and run.of("partitions") == 0, run.counted())
        events = [json.loads(line) for path in place.work.glob("runs/*/events.jsonl")
                  for line in path.read_text().splitlines()]
        told = [event for event in events if event["event"] == "stage" and "no such file" in event.get("vanished", "")]
        check(len(told) == 1 and "corpus.txt, digest" in told[0]["vanished"], f"no record tells of it: {told}")
        page = max(place.work.glob("runs/*/report.html"), key=lambda path: path.stat().st_mtime_ns).read_text()
        check_says(page, "used the log of an earlier run", "corpus.txt")


def a_new_place_from_a_vanished_source():
    with Place() as place:
        place.ok()
        wanted = support.tree(place.artifact)
        place.source.unlink()
        elsewhere(place)  # a copy
        refused(place, says=["no such file", "an earlier run read corpus.txt, digest ", "read on 20", "--from-log"])
        never_published(place)
        place.ok("--from-log")
        shutil.rmtree(place.out)
        shutil.rmtree(place.root / "elsewhere")
        elsewhere(place, "elsewhere2")  # from the partition outputs
        refused(place, says=["--from-log"])
        refused(place, "-n", says=["--from-log"])
        run = place.ok("--from-log")
        check(run.of("shards") == 8 and run.of("partitions") == 0, run.counted())
        found = support.tree(place.root / "elsewhere2" / "tiny" / "1.0.0")
        check({name: found[name] for name in wanted if ".pipe" not in name} ==
              {name: wanted[name] for name in wanted if ".pipe" not in name}, "other bytes")


def validate_reports_and_does_not_fail():
    with Place() as place:
        place.source.unlink()
        place.write_file()
        run = support.subprocess.run([support.PIPE, "validate", str(place.file)], capture_output=True, timeout=50,
                                     cwd=place.root)
        check(run.returncode == 0, f"exit {run.returncode}\n{run.stderr.decode()}")
        check_says(run.stderr.decode(), "stage 'source'", "no such file")
        check_says(run.stdout.decode(), "no mistakes")


SCENARIOS = [
    a_mistyped_name, a_pattern_that_matches_nothing, an_address_that_cannot_be_reached, a_missing_tokenizer,
    a_missing_file_beside_a_changed_one, another_pin_than_that_of_then, a_moved_corpus_with_everything_published, a_run_that_was_cut_off_goes_on,
    a_new_place_from_a_vanished_source, validate_reports_and_does_not_fail,
]

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
