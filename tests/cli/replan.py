#!/usr/bin/env python3
"""Which units run again after which change, by counts of units.

    replan.py PIPE [SCENARIO...]

Each scenario prints the units that its runs logged; exit code 1 if a run did more or less than necessary.
"""

import json
import os
import shutil
import signal
import sys
import time

import replan_support as support
from replan_support import KEEPING, Sandbox, check, check_says, check_units, stat_tree, tree


def finished(sandbox, *args):
    """A first run to its end, and the number of partitions of the corpus."""
    run = sandbox.ok(*args)
    partitions = run.of("partitions", "text")
    check(partitions >= 4, f"too few partitions for a test: {run.counted()}")
    return run, partitions


def with_second_reader(sandbox):
    sandbox.stages["more"] = {**sandbox.stages["text"], "input": "docs", "name": "more"}


def nothing(sandbox, *args, **options):
    run = sandbox.ok(*args, **options)
    check_units(run)
    check_says(run.out, "nothing to do")
    return run


def a_second_run_does_nothing():
    with Sandbox() as sandbox:
        first, partitions = finished(sandbox)
        check_units(first, text_partitions=partitions, text_ends=1, text_shards=8)
        second = nothing(sandbox)
        return f"first {first.counted()}; second {second.counted()}"


def another_form_runs_what_depends_on_it():
    with Sandbox() as sandbox:
        _, partitions = finished(sandbox)
        sandbox.stages["clean"]["form"] = "nfc"
        refused = sandbox.run()
        check(refused.code == 2, f"exit {refused.code}")
        check_says(refused.err, "clean: form: nfkc -> nfc", "--force text")
        check(not refused.lines, "a refused run wrote to the log")
        sandbox.stages["text"]["version"] = "1.0.1"
        other = sandbox.ok("--explain")
        check_says(other.out, "because clean: form: nfkc -> nfc")
        check_units(other, text_partitions=partitions, text_ends=0, text_shards=8)
        sandbox.stages["clean"]["form"] = "nfkc"
        sandbox.stages["clean"]["whitespace"] = "keep"
        forced = sandbox.ok("--force", "text", "--explain")
        check_says(forced.out, "because --force text", "clean: form: nfc -> nfkc", "clean: whitespace: collapse -> keep")
        check_units(forced, text_partitions=partitions, text_shards=8)
        return f"nfkc -> nfc at another version: {other.counted()}; forced: {forced.counted()}"


def stages_before_the_change_stay():
    with Sandbox() as sandbox:
        sandbox.stages["lines"]["keep"] = True
        sandbox.stages["clean"]["keep"] = True
        first = sandbox.ok()
        partitions = first.of("partitions", "lines")
        check_units(first, lines_partitions=partitions, lines_ends=1, clean_partitions=partitions,
                    text_partitions=partitions, text_shards=8)
        sandbox.stages["clean"]["form"] = "nfc"
        sandbox.stages["text"]["version"] = "1.0.1"
        other = sandbox.ok()
        check_units(other, clean_partitions=partitions, text_partitions=partitions, text_shards=8)
        sandbox.stages["docs"]["splits"]["validation"] = 0.2
        sandbox.stages["text"]["version"] = "1.0.2"
        split = sandbox.ok("--explain")
        check_says(split.out, "docs: splits")
        check_units(split, text_partitions=partitions, text_shards=8)
        return f"first {first.counted()}; form: {other.counted()}; split: {split.counted()}"


def another_fraction_runs_from_the_split():
    with Sandbox() as sandbox:
        _, partitions = finished(sandbox)
        sandbox.stages["docs"]["splits"]["validation"] = 0.3
        sandbox.stages["text"]["out"] = str(sandbox.root / "other")
        run = sandbox.ok("--explain")
        check_says(run.out, "docs: splits")
        check_units(run, text_partitions=partitions, text_shards=8)
        return run.counted()


def shards_hosts_name_and_version_decode_nothing():
    with Sandbox() as sandbox:
        sandbox.options = KEEPING
        finished(sandbox)
        told = []
        for key, value, shards in (("shards", 3, 6), ("hosts", 2, 7), ("version", "2.0.0", 7), ("name", "other", 7)):
            sandbox.stages["text"][key] = value
            run = sandbox.run()
            if run.code == 2:  # the location has the other recipe
                check_says(run.err, f"{key}: ")
                sandbox.stages["text"]["out"] = str(sandbox.root / f"out-{key}")
                run = sandbox.ok()
            check_units(run, text_shards=shards)
            told.append(f"{key}: {run.counted()}")
        check((sandbox.root / "out-shards" / "tiny" / "1.0.0" / "features.json").exists(), "no features.json")
        sandbox.stages["text"]["shuffle"] = {"seed": 7}
        sandbox.stages["text"]["version"] = "3.0.0"
        seed = sandbox.ok()
        check(seed.of("partitions") >= 4, f"another seed needs other spills, ran {seed.counted()}")
        return "; ".join([*told, f"seed: {seed.counted()}"])


def another_out_copies():
    with Sandbox() as sandbox:
        finished(sandbox)
        before = tree(sandbox.artifact)
        sandbox.stages["text"]["out"] = str(sandbox.root / "elsewhere")
        plan = sandbox.ok("-n")
        check_says(plan.out, "[copy]")
        run = sandbox.ok("--explain")
        check_units(run)
        check_says(run.out, "copied from")
        after = tree(sandbox.root / "elsewhere" / "tiny" / "1.0.0")
        check(before == after, "the copy has other bytes")
        again = nothing(sandbox)
        return f"copy: {run.counted()}; again: {again.counted()}"


def what_has_no_say_in_the_bytes_runs_nothing():
    with Sandbox() as sandbox:
        sandbox.options = KEEPING
        _, partitions = finished(sandbox)
        nothing(sandbox, "-j", "1")
        nothing(sandbox, "-j", "7", "--batch-bytes", "5000")
        sandbox.head["limits"] = {"memory": "2GiB", "disk": "3GiB"}
        nothing(sandbox)
        sandbox.stages["clean"]["expect"] = {"kept_ratio": [0.5, 1.0]}
        nothing(sandbox)
        sandbox.stages["docs"]["min_documents"] = 2
        sandbox.stages["source"]["text_size"] = "9MB"
        nothing(sandbox)
        sandbox.stages["clean"]["keep"] = True
        kept = nothing(sandbox)
        sandbox.stages["text"]["shards"] = 5
        sandbox.stages["text"]["version"] = "1.0.1"
        merged = sandbox.ok()
        check_units(merged, text_shards=10)
        sandbox.stages["clean"]["form"] = "nfc"
        sandbox.stages["text"]["version"] = "1.0.2"
        made = sandbox.ok()
        check_units(made, clean_partitions=partitions, clean_ends=1, text_partitions=partitions, text_shards=10)
        del sandbox.stages["clean"]["keep"]
        dropped = nothing(sandbox)
        return (f"keep added: {kept.counted()}; with other shards: {merged.counted()}; "
                f"with another form: {made.counted()}; keep removed: {dropped.counted()}")


def moving_the_work_directory_runs_nothing():
    with Sandbox() as sandbox:
        sandbox.options = KEEPING
        finished(sandbox)
        sandbox.work = sandbox.work.rename(sandbox.root / "moved")
        run = nothing(sandbox)
        with_second_reader(sandbox)
        sandbox.stages["more"]["shards"] = 2
        sandbox.ok()
        sandbox.work = sandbox.work.rename(sandbox.root / "again")
        sandbox.stages["more"].update(shards=3, version="1.0.1")
        merged = sandbox.ok()
        check_units(merged, more_shards=6)
        return f"moved: {run.counted()}; moved, other shards: {merged.counted()}"


def intermediates_that_nobody_needs_may_go():
    with Sandbox() as sandbox:
        sandbox.options = KEEPING
        finished(sandbox)
        shutil.rmtree(sandbox.work / "artifacts")
        run = nothing(sandbox)
        return run.counted()


def a_second_reader_feeds_itself_alone():
    with Sandbox() as sandbox:
        sandbox.options = KEEPING
        _, partitions = finished(sandbox)
        before = tree(sandbox.artifact)
        with_second_reader(sandbox)
        run = sandbox.ok()
        check_units(run, more_partitions=partitions, more_ends=1, more_shards=8)
        check(tree(sandbox.artifact) == before, "the finished artifact changed")
        sandbox.stages["third"] = {**sandbox.stages["text"], "name": "third"}
        sandbox.stages["fourth"] = {**sandbox.stages["text"], "name": "fourth"}
        both = sandbox.ok()
        check_units(both, docs_partitions=partitions, docs_ends=1, third_partitions=partitions,
                    fourth_partitions=partitions, third_shards=8, fourth_shards=8)
        sandbox.stages["fifth"] = {**sandbox.stages["text"], "name": "fifth"}
        fifth = sandbox.ok()
        check_units(fifth, fifth_partitions=partitions, fifth_shards=8)
        return f"second: {run.counted()}; two more: {both.counted()}; one more: {fifth.counted()}"


def a_lost_shard_is_made_again():
    with Sandbox() as sandbox:
        sandbox.options = KEEPING
        finished(sandbox)
        before = tree(sandbox.artifact)
        shard = sorted(sandbox.artifact.glob("*train*"))[1]
        shard.unlink()
        run = sandbox.ok("--explain")
        check_says(run.out, shard.name)
        check_units(run, text_shards=1)
        check(tree(sandbox.artifact) == before, "other bytes")
        shard.write_bytes(shard.read_bytes()[:-3])
        short = sandbox.ok()
        check_units(short, text_shards=1)
        shutil.rmtree(sandbox.work / "artifacts")
        shard.unlink()
        whole = sandbox.ok()
        check(whole.of("shards") == 1 and whole.of("partitions") >= 4, whole.counted())
        (sandbox.artifact / "dataset_info.json").unlink()
        sidecar = sandbox.ok()
        check_units(sidecar, text_partitions=0)
        check(tree(sandbox.artifact) == before, "other bytes")
        return f"lost: {run.counted()}; cut short: {short.counted()}; without spills: {whole.counted()}; " \
               f"sidecar: {sidecar.counted()}"


def edit(path):
    """Changes a byte in the middle; size and time stay."""
    at = path.stat()
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0x20
    path.write_bytes(data)
    os.utime(path, ns=(at.st_atime_ns, at.st_mtime_ns))


def an_edited_intermediate_is_made_again():
    told = []
    for readers, stage, point in ((1, "text", "input.ended:1"), (2, "docs", "shard.logged:1"),
                                  (2, "docs", "input.ended:1")):
        with Sandbox() as sandbox:
            if readers == 2:
                with_second_reader(sandbox)
            sandbox.ok()
            want = tree(sandbox.out)
            for _ in range(5):  # on a busy machine the kill may come before two partitions are written
                shutil.rmtree(sandbox.out, ignore_errors=True)
                shutil.rmtree(sandbox.work)
                killed = sandbox.run(env={"PIPE_KILL_AT": point}, *("-j1",))
                check(killed.code == -signal.SIGKILL, f"exit {killed.code}, expected a kill at {point}\n{killed.err}")
                if len(list(sandbox.partition_outputs(stage)[-1].glob("0000-*"))) > 1:
                    break
            if point == "shard.logged:1" and stage == "docs":
                # docs is finished: only reading it again shows the damage
                for name in ("text", "more"):
                    for directory in sandbox.partition_outputs(name):
                        shutil.rmtree(directory)
            output = sorted(sandbox.partition_outputs(stage)[-1].glob("0000-*"))[1]
            edit(output)
            run = sandbox.ok()
            check(run.invalidated == [f"{stage}/{output.name.split('.')[0]}"], f"void {run.invalidated}\n{run.err}")
            check_says(run.err, "will be made again")
            check(run.of("partitions", stage) == 1, run.counted())
            units = [support.fields(line)["unit"] for line in run.lines if line.startswith("done\t")]
            check(len(units) == len(set(units)), f"a unit ran twice: {run.counted()}")
            check(tree(sandbox.out) == want, "other bytes than without the damage")
            told.append(f"{readers} readers, killed at {point}: {run.counted()}")
    return "; ".join(told)


def damage_without_a_source_is_a_failure():
    with Sandbox() as sandbox:
        sandbox.options = KEEPING
        finished(sandbox)
        shutil.rmtree(sandbox.out)
        text = sandbox.source.read_bytes()
        sandbox.source.unlink()
        edit(sorted(sandbox.partition_outputs("text")[-1].glob("0000-*"))[2])
        run = sandbox.run("--from-log")
        check(run.code == 1, f"exit {run.code}\n{run.err}")
        check_says(run.err, "will be made again", "no such file")
        check(run.invalidated == ["text/0000-00002"] and run.failed == ["text/0000-*"], run.counted())
        sandbox.source.write_bytes(text)
        again = sandbox.ok(command="retry")
        check_units(again, text_partitions=1, text_ends=1, text_shards=8 - run.of("shards"))
        check_says(sandbox.run(command="retry").err, "nothing failed")
        return f"gone: {run.counted()}; back: {again.counted()}"


def the_source_counts_by_its_bytes():
    with Sandbox() as sandbox:
        sandbox.options = KEEPING
        _, partitions = finished(sandbox)
        sandbox.source = sandbox.source.rename(sandbox.root / "renamed.txt")
        sandbox.stages["source"]["url"] = str(sandbox.source)
        renamed = nothing(sandbox)
        hidden = sandbox.source.rename(sandbox.root / "hidden.txt")
        unknown = sandbox.run()
        check(unknown.code == 2, f"nobody wrote down that name, and exit {unknown.code}")
        check_says(unknown.err, "renamed.txt: no such file", "an earlier run read corpus.txt, digest ")
        (sandbox.root / "below").mkdir()
        sandbox.source = hidden.rename(sandbox.root / "below" / "corpus.txt")
        sandbox.stages["source"]["url"] = f"file://{sandbox.source}"
        nothing(sandbox)
        sandbox.source.touch()
        nothing(sandbox)
        text = sandbox.source.read_bytes()
        sandbox.source.unlink()
        gone = nothing(sandbox)
        check_says(gone.err, "no such file", "the digests that earlier runs recorded are used")
        sandbox.stages["text"]["shards"] = 2
        sandbox.stages["text"]["version"] = "1.0.1"
        refused = sandbox.run()
        check(refused.code == 2, f"exit {refused.code}")
        check_says(refused.err, "corpus.txt, digest ", "--from-log")
        merged = sandbox.ok("--from-log")
        check_units(merged, text_shards=4)
        with_second_reader(sandbox)
        refused = sandbox.run("--from-log")
        check(refused.code == 2, f"exit {refused.code}")
        check_says(refused.err, "no such file")
        del sandbox.stages["more"]
        sandbox.source.write_bytes(text + "もう一行\n".encode())
        edited = sandbox.run()
        check(edited.code == 2, f"exit {edited.code}")
        check_says(edited.err, "holds another recipe", "source.corpus.txt")
        edited = sandbox.ok("--force", "text")
        check_units(edited, text_partitions=partitions, text_ends=1, text_shards=4)
        return (f"renamed: {renamed.counted()}; gone: {gone.counted()}; gone, other shards: {merged.counted()}; "
                f"edited: {edited.counted()}")


def the_selection_chooses_segments():
    with Sandbox() as sandbox:
        sandbox.options = KEEPING
        with_second_reader(sandbox)
        sandbox.ok("--until", "docs")
        first = sandbox.run("--only", "docs")
        check_says(first.out, "nothing to do")
        only = sandbox.ok("--only", "text")
        check(only.of("partitions", "text") >= 4 and only.of("shards", "more") == 0, only.counted())
        rest = sandbox.ok("--from", "docs")
        check(rest.of("shards", "more") == 8 and rest.of("shards", "text") == 0, rest.counted())
        nothing(sandbox)
        forced = sandbox.ok("--force", "more", "--only", "more")
        check(forced.units.keys() == {("more", "partitions"), ("more", "shards")}, forced.counted())
        both = sandbox.ok("--force", "clean")
        check(both.of("partitions", "docs") >= 4, both.counted())
        sandbox.stages["clean"]["form"] = "nfc"
        sandbox.stages["text"]["version"] = sandbox.stages["more"]["version"] = "1.0.1"
        alone = sandbox.run("--only", "more")
        check(alone.code == 2, f"exit {alone.code}")
        check_says(alone.err, "needs the partitions of 'docs'", "--until")
        until = sandbox.ok("--until", "more")
        check(until.of("shards", "more") == 8 and until.of("shards", "text") == 0, until.counted())
        unknown = sandbox.run("--only", "tex")
        check(unknown.code == 2, f"exit {unknown.code}")
        check_says(unknown.err, "did you mean 'text'?")
        return (f"--only text: {only.counted()}; --from docs: {rest.counted()}; --force more: {forced.counted()}; "
                f"--force clean: {both.counted()}; --until more: {until.counted()}")


def names_of_splits_count_where_records_lie_between():
    with Sandbox() as sandbox:
        sandbox.stages["docs"]["keep"] = True
        _, partitions = finished(sandbox)
        sandbox.stages["docs"]["splits"] = {"train": "rest", "valid": 0.1}  # the same numbers and shares
        sandbox.stages["text"]["version"] = "1.0.1"
        run = sandbox.ok()
        names = [split["name"] for split in
                 json.loads((sandbox.out / "tiny" / "1.0.1" / "dataset_info.json").read_text())["splits"]]
        check(names == ["train", "valid"], names)
        verified = support.subprocess.run([support.PIPE, "verify", str(sandbox.out / "tiny/1.0.1")],
                                          capture_output=True, text=True)
        check(verified.returncode == 0, verified.stdout + verified.stderr)
        check_units(run, docs_partitions=partitions, text_partitions=partitions, text_shards=8)
        return run.counted()


def retry_runs_what_failed():
    with Sandbox() as sandbox:
        with_second_reader(sandbox)
        check_says(sandbox.run(command="retry").err, "nothing ran yet")
        sandbox.run("--until", "docs")
        sandbox.ok("--only", "text")
        # Directories in the way of two spills: their commits fail, also for root.
        killed = sandbox.run("--only", "more", env={"PIPE_KILL_AT": "partition.logged:1"})
        check(killed.code == -signal.SIGKILL, f"exit {killed.code}")
        directory = sandbox.partition_outputs("more")[-1]
        suffix = next(directory.glob("0000-*")).name[len("0000-00000"):]
        blocked = [directory / f"0000-0000{at}{suffix}" for at in (6, 7)]
        for path in blocked:
            check(not path.exists(), "is there already")
            path.mkdir()
        failed = sandbox.run("-k", "9")
        check(failed.code == 1, f"exit {failed.code}")
        check(sorted(failed.failed) == ["more/0000-00006", "more/0000-00007"], failed.counted())
        check_says(sandbox.ok(command="status").out, "(unit more/0000-00006)")
        for path in blocked:
            path.rmdir()
        again = sandbox.ok(command="retry")
        check_units(again, more_partitions=2, more_shards=8)
        check_says(sandbox.run(command="retry").err, "nothing failed")
        nothing(sandbox)
        return f"failed: {failed.counted()}; retry: {again.counted()}"


def records_that_were_not_accepted_are_no_finished_work():
    with Sandbox() as sandbox:
        sandbox.stages["docs"]["splits"] = {"train": "rest", "validation": 0.000001}
        for command, *words in (("run",), ("retry",), ("run", "--until", "docs"), ("retry",)):
            run = sandbox.run(*words, command=command)
            check(run.code == 1, f"pipe {command} {words}: exit {run.code}\n{run.err}")
            check_says(run.err, "split 'validation' has 0 of")
        check(run.of("partitions") == 0, f"partitions were made again: {run.counted()}")
        sandbox.stages["docs"]["splits"]["validation"] = 0.1
        sandbox.ok()
        nothing(sandbox)
        return "failed four times, in no partition"


def keep_going_makes_the_others():
    with Sandbox() as sandbox:
        _, partitions = finished(sandbox)
        sandbox.stages["lines"]["invalid_utf8"] = "fail"
        sandbox.stages["text"]["version"] = "1.0.1"
        text = bytearray(sandbox.source.read_bytes())
        for part in (1, 3):
            at = text.index(b"\xe3\x81\xaf", part * 16384 + 4000)  # in the middle of this partition
            text[at] = 0xFF
        sandbox.source.write_bytes(text)
        one = sandbox.run("-j1")
        check(one.code == 1, f"exit {one.code}")
        check(one.failed == ["text/0000-00001"], one.counted())
        three = sandbox.run("-k", "3", "-j1")
        check(three.code == 1, f"exit {three.code}")
        check(three.failed == ["text/0000-00001", "text/0000-00003"], three.counted())
        check(one.of("partitions") + three.of("partitions") == partitions - 2, f"{one.counted()}; {three.counted()}")
        check(three.of("ends") == 1 and three.of("shards") == 0, three.counted())
        check(not (sandbox.out / "tiny" / "1.0.1" / "MANIFEST.json").exists(), "published without two partitions")
        again = sandbox.run(command="retry")
        check(again.code == 1 and again.of("partitions") == 0 and again.of("ends") == 0, again.counted())
        return f"one failure: {one.counted()}; -k 3: {three.counted()}; retry: {again.counted()}"


def but_digests(sandbox):
    """All files, but the digests of sources: a dry run stores those of files that are older than two seconds."""
    return {path: seen for path, seen in stat_tree(sandbox.root).items()
            if path not in map(str, (sandbox.root, sandbox.work, sandbox.work / "digests.txt"))}


def a_dry_run_writes_nothing_but_digests():
    with Sandbox() as sandbox:
        sandbox.write_file()
        before = but_digests(sandbox)
        fresh = sandbox.ok("-n", "--explain")
        check(but_digests(sandbox) == before, "a dry run in an empty directory wrote")
        check_says(fresh.out, "peak of disk", "it never ran")
        finished(sandbox)
        sandbox.stages["clean"]["form"] = "nfc"
        sandbox.stages["text"]["version"] = "1.0.1"
        sandbox.write_file()
        before = but_digests(sandbox)
        run = sandbox.ok("-n", "--explain")
        check(but_digests(sandbox) == before, "a dry run wrote")
        time.sleep(2.5)
        before = but_digests(sandbox)
        sandbox.ok("-n")
        check("corpus.txt" in (sandbox.work / "digests.txt").read_text(), "a dry run hashed in vain")
        check(but_digests(sandbox) == before, "a dry run wrote")
        check_says(run.out, "[run] source -> lines -> clean -> docs -> text", "clean: form: nfkc -> nfc")
        # Takes no lock: works beside a run that has it.
        running = sandbox.start("-j1")
        try:
            beside = sandbox.run("-n")
            check(beside.code == 0, f"exit {beside.code} beside a run\n{beside.err}")
        finally:
            running.communicate()
        return f"{fresh.counted()}; planned: {run.counted()}"


def the_split_of_a_file_counts_by_its_name():
    with Sandbox() as sandbox:
        lines = sandbox.source.read_bytes()
        for name in ("a_train", "b_train", "c_test"):
            (sandbox.root / f"{name}.txt").write_bytes(lines)
        sandbox.stages["source"]["url"] = str(sandbox.root / "*_*.txt")
        sandbox.stages["lines"]["splits"] = {"train": "*train*", "test": "*test*"}
        del sandbox.stages["docs"]
        sandbox.stages["text"]["input"] = "clean"
        _, partitions = finished(sandbox)
        (sandbox.root / "a_train.txt").rename(sandbox.root / "a1_train.txt")
        nothing(sandbox)
        (sandbox.root / "b_train.txt").rename(sandbox.root / "b_test.txt")
        refused = sandbox.run()
        check(refused.code == 2, f"exit {refused.code}")
        check_says(refused.err, "lines: source.name of b_test.txt: train -> test")
        sandbox.stages["text"]["version"] = "1.0.1"
        moved = sandbox.ok()
        check_units(moved, text_partitions=partitions, text_ends=3, text_shards=8)
        splits = {split["name"]: sum(map(int, split["shardLengths"])) for split in
                  json.loads((sandbox.out / "tiny" / "1.0.1" / "dataset_info.json").read_text())["splits"]}
        check(splits["test"] == 2 * splits["train"], splits)
        return moved.counted()


SCENARIOS = [
    the_split_of_a_file_counts_by_its_name,
    a_second_run_does_nothing, another_form_runs_what_depends_on_it, stages_before_the_change_stay,
    another_fraction_runs_from_the_split, shards_hosts_name_and_version_decode_nothing, another_out_copies,
    what_has_no_say_in_the_bytes_runs_nothing, moving_the_work_directory_runs_nothing,
    intermediates_that_nobody_needs_may_go, a_second_reader_feeds_itself_alone, a_lost_shard_is_made_again,
    an_edited_intermediate_is_made_again, damage_without_a_source_is_a_failure, the_source_counts_by_its_bytes, the_selection_chooses_segments,
    names_of_splits_count_where_records_lie_between,
    retry_runs_what_failed, records_that_were_not_accepted_are_no_finished_work, keep_going_makes_the_others,
    a_dry_run_writes_nothing_but_digests,
]

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
