#!/usr/bin/env python3
"""Intermediates that nothing unfinished needs are removed as a run goes, whatever kills it.

    unneeded.py PIPE [SCENARIO...]
"""

import fcntl
import os
import shutil
import signal
import sys

import replan_support as support
from replan_support import Sandbox, check, check_says, check_units, tree


def with_a_sample_and_two_readers(sandbox):
    """Partition files that two stages read, a barrier stage, two sinks."""
    sandbox.stages["text"]["shards"] = 2
    sandbox.stages["some"] = {"type": "sample", "input": "docs", "bytes": "40KB"}
    sandbox.stages["few"] = {**sandbox.stages["text"], "input": "some", "name": "few"}


def outputs(sandbox):
    """Names of the partition outputs and manifests of the work directory."""
    return sorted(str(path.relative_to(sandbox.work)) for path in (sandbox.work / "artifacts").rglob("*") if path.is_file())


def stages_of(names):
    return {name.split("/")[1].rsplit("-", 1)[0] for name in names}


def undisturbed():
    with Sandbox() as sandbox:
        with_a_sample_and_two_readers(sandbox)
        run = sandbox.ok("--keep-intermediates")
        check(stages_of(outputs(sandbox)) == {"docs", "text", "some.in", "few"}, outputs(sandbox))
        return tree(sandbox.out), run


def a_kill_at_any_point_leaves_objects_that_the_next_run_removes():
    wanted, _ = undisturbed()
    told = []
    for point in ("outputs.unneeded", "output.removed"):
        number = 1
        while True:
            with Sandbox() as sandbox:
                with_a_sample_and_two_readers(sandbox)
                killed = sandbox.run("-j2", env={"PIPE_KILL_AT": f"{point}:{number}"})
                if killed.code == 0:
                    break
                check(killed.code == -signal.SIGKILL, f"{point}:{number}: exit {killed.code}\n{killed.err}")
                left = outputs(sandbox)
                complete = (sandbox.out / "tiny/1.0.0/MANIFEST.json").exists() + \
                    (sandbox.out / "few/1.0.0/MANIFEST.json").exists()
                again = sandbox.ok("-j2")
                check(again.of("partitions") == 0 or complete < 2,
                      f"{point}:{number}: all is published, and it ran {again.counted()}")
                check(tree(sandbox.out) == wanted, f"{point}:{number}: other bytes")
                check(not outputs(sandbox), f"{point}:{number}: left {outputs(sandbox)} of {left}")
                done = [support.fields(line)["unit"] for run in (killed, again) for line in run.lines
                        if line.startswith("done\t")]
                check(len(done) == len(set(done)), f"{point}:{number}: a unit ran twice: {again.counted()}")
                third = sandbox.ok()
                check_units(third)
                check_says(third.out, "nothing to do")
            number += 1 if point == "outputs.unneeded" else 7
        told.append(f"{point}: {number - 1}")
    return ", ".join(told)


def a_run_with_nothing_to_do_removes_those_of_an_earlier_one():
    with Sandbox() as sandbox:
        with_a_sample_and_two_readers(sandbox)
        sandbox.ok("--keep-intermediates")
        before = outputs(sandbox)
        planned = sandbox.ok("-n")
        check_says(planned.out, "removes ", "of intermediates that nothing unfinished needs")
        check("removes" not in sandbox.ok("-n", "--keep-intermediates").out, "-n --keep-intermediates")
        sandbox.ok("--keep-intermediates")
        check(outputs(sandbox) == before, "removed with --keep-intermediates")
        run = sandbox.ok()
        check_says(run.out, "nothing to do")
        check_says(run.err, "of intermediates removed: nothing unfinished needs them")
        check(not outputs(sandbox), outputs(sandbox))
        check("removed" not in sandbox.ok().err, "there was nothing left")


def temporaries_of_dead_processes_go_and_those_of_living_ones_stay():
    with Sandbox() as sandbox:
        sandbox.stages["docs"]["keep"] = True
        sandbox.ok()
        kept = next((sandbox.work / "artifacts").glob("docs-*"))
        for command in ("run", "clean"):
            places = [sandbox.work, kept, sandbox.work / "quarantine" / "lines-0123456789abcdef", sandbox.work / "sources",
                      sandbox.artifact, sandbox.artifact / "deeper"]
            dead, living = [], []
            for place in places:
                place.mkdir(parents=True, exist_ok=True)
                dead.append(place / ".object.tmp.00000000-1-7")
                living.append(place / f".object.tmp.00000000-{os.getpid()}-8")
                for path in (dead[-1], living[-1]):
                    path.write_text("front of an object")
            person = sandbox.root / ".object.tmp.00000000-1-7"
            person.write_text("beside nothing of ours")
            held = [path.open() for path in living]
            for file in held:
                fcntl.flock(file, fcntl.LOCK_SH)
            sandbox.ok("-n", command=command)
            check(all(path.exists() for path in dead), f"{command} -n removed some")
            sandbox.ok(command=command)
            check(not [path for path in dead if path.exists()], f"{command} left {[p for p in dead if p.exists()]}")
            check(all(path.exists() for path in [*living, person]), f"{command} removed what is not a dead process's")
            for file in held:
                file.close()
        sandbox.ok()
        check(not [path for path in living if path.exists()], "those whose process has ended since stay")


def outputs_of_other_recipes_stay_until_clean():
    with Sandbox() as sandbox:
        killed = sandbox.run("-j1", env={"PIPE_KILL_AT": "partition.logged:3"})
        check(killed.code == -signal.SIGKILL, f"exit {killed.code}")
        before = outputs(sandbox)
        sandbox.stages["clean"]["form"] = "nfc"
        sandbox.ok()
        check(outputs(sandbox) == before, f"{outputs(sandbox)} of {before}")
        sandbox.ok(command="clean")
        check(not outputs(sandbox), outputs(sandbox))


def a_late_change_begins_at_the_source_as_after_clean():
    told = []
    for how in ("run", "clean"):
        with Sandbox() as sandbox:
            with_a_sample_and_two_readers(sandbox)
            sandbox.ok(*(("--keep-intermediates",) if how == "clean" else ()))
            if how == "clean":
                sandbox.ok(command="clean")
            sandbox.stages["few"].update(shuffle={"seed": 3}, version="1.0.1")
            run = sandbox.ok("--explain")
            check_says(run.out, "few: shuffle.seed")
            told.append(run.counted())
    check(told[0] == told[1], told)
    return told[0]


def kept_records_are_where_a_late_change_begins():
    with Sandbox() as sandbox:
        sandbox.stages["docs"]["keep"] = True
        first = sandbox.ok()
        check(stages_of(outputs(sandbox)) == {"docs"}, outputs(sandbox))
        sandbox.stages["text"].update(shuffle={"seed": 3}, version="1.0.1")
        run = sandbox.ok()
        check_units(run, text_partitions=first.of("partitions", "text"), text_shards=8)
        del sandbox.stages["docs"]["keep"]
        check_says(sandbox.ok().out, "nothing to do")
        check(not outputs(sandbox), "`keep` was taken away")


def a_removed_intermediate_is_told_in_one_line():
    with Sandbox() as sandbox:
        with_a_sample_and_two_readers(sandbox)
        run = sandbox.ok()
        check_says(run.err, "stage 'docs': ")
        directory = sandbox.partition_outputs("docs")[-1]
        for path in (directory, directory / "0000-00000.part"):
            cat = support.subprocess.run([support.PIPE, "cat", str(path)], capture_output=True, text=True)
            check(cat.returncode == 2 and cat.stderr.count("\n") == 1, f"exit {cat.returncode}\n{cat.stderr}")
            check_says(cat.stderr, "keep: true", "--keep-intermediates")
        check_says(sandbox.ok(command="status").out, "docs: done")


def clean_keeps_records_that_no_stage_reads():
    with Sandbox() as sandbox:
        del sandbox.stages["text"]
        sandbox.ok()
        before = outputs(sandbox)
        check(stages_of(before) == {"docs"}, before)
        sandbox.ok(command="clean")
        check(outputs(sandbox) == before, "a result without `out` went")
        check_says(sandbox.ok().out, "nothing to do")
        sandbox.ok("--all", command="clean")
        check(not outputs(sandbox), "--all")


def a_directory_that_cannot_be_emptied_is_named_and_nothing_fails():
    with Sandbox() as sandbox:
        sandbox.ok("--keep-intermediates")
        directory = sandbox.partition_outputs("text")[-1]
        (victim := directory / "0000-00000.spill").unlink()
        shutil.copytree(sandbox.out, victim / "in the way")  # no file: it is not removed, and nothing fails
        run = sandbox.ok()
        check_says(run.out, "nothing to do")
        check(victim.is_dir() and not (directory / "0000-00001.spill").exists(), "others stay")


SCENARIOS = [
    a_kill_at_any_point_leaves_objects_that_the_next_run_removes, a_run_with_nothing_to_do_removes_those_of_an_earlier_one,
    outputs_of_other_recipes_stay_until_clean, a_late_change_begins_at_the_source_as_after_clean,
    kept_records_are_where_a_late_change_begins, a_removed_intermediate_is_told_in_one_line,
    clean_keeps_records_that_no_stage_reads, temporaries_of_dead_processes_go_and_those_of_living_ones_stay,
    a_directory_that_cannot_be_emptied_is_named_and_nothing_fails,
]

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
