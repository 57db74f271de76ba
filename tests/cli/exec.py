#!/usr/bin/env python3
"""Commands over records: which units run, which run again, and how a command that fails or hangs ends.

    exec.py PIPE [SCENARIO...]
"""

import os
import signal
import sys
import time

import replan_support as support
from replan_support import Place, check, check_says, check_units, tree

UPPER = """import sys
for line in sys.stdin:
    sys.stdout.write(line.replace("neko", "NEKO").upper())
"""


def place_with(command, **keys):
    """lines -> upper (exec) -> docs -> text, in about nine partitions."""
    place = Place()
    place.stages["upper"] = {"type": "exec", "input": "lines", "command": command, **keys}
    del place.stages["clean"]
    place.stages["docs"]["input"] = "upper"
    return place


def script(place, text, name="upper.py"):
    path = place.root / name
    path.write_text(text)
    return path


def partitions(place):
    return len(list(place.pieces("lines")[-1].glob("*.part")))


def expect(run, code, *pieces):
    check(run.code == code, f"exit {run.code}, expected {code}\n{run.out}{run.err}")
    check_says(run.err, *pieces)
    check("[this is a bug]" not in run.err, run.err)


def records_go_through_and_bytes_are_the_same():
    with place_with(["tr", "a-z0-9", "A-Z5"]) as place:
        want = None
        for flags in (("-j1",), ("-j4",), ("-j3", "--batch-bytes", "700")):
            run = place.ok(*flags)
            count = partitions(place)
            check(count > 4, f"only {count} partitions")
            check_units(run, lines_partitions=count, lines_ends=1, text_partitions=count, text_shards=8)
            want = want or tree(place.out)
            check(tree(place.out) == want, f"other bytes with {flags}")
            check_units(place.ok(), )
            for path in (place.out, place.work):
                support.shutil.rmtree(path)
        place.ok()
        seen = support.subprocess.run([support.PIPE, "cat", str(place.artifact)], capture_output=True, check=True).stdout
        check(seen.count(b"\n") == 240 * 6, "records were lost")
        check(b"5555555" in seen and b"0" not in seen, seen[:300])
        return f"{count} partitions"


def what_makes_it_run_again():
    with Place() as made:
        path = script(made, UPPER)
        with place_with(["python3", str(path)], files=[str(path)]) as place:
            count = place.ok().of("partitions", "lines")
            exec_again = {"text_partitions": count, "text_shards": 8}
            check_units(place.ok())
            place.stages["upper"]["timeout"] = 50
            place.stages["upper"]["max_output"] = "1GiB"
            check_units(place.ok())
            path.write_text("# a remark\n" + UPPER)
            place.stages["text"]["version"] = "2.0.0"
            check_units(place.ok(), **exec_again)
            place.stages["upper"]["version"] = "2"
            place.stages["text"]["version"] = "3.0.0"
            check_units(place.ok(), **exec_again)
            path.unlink()
            check_units(place.ok())  # complete outputs need no script
            place.stages["upper"]["version"] = "3"
            place.stages["text"]["version"] = "4.0.0"
            expect(place.run(), 2, "upper.py")
            return f"{count} partitions, read once"


def failing_partition_fails_alone():
    with Place() as made:
        path = script(made, "import sys\ntext = sys.stdin.read()\nif '第70章' in text:\n"
                            "    sys.exit('cannot stand chapter 70')\nsys.stdout.write(text)\n")
        with place_with(["python3", str(path)]) as place:
            run = place.run("-k", "100")
            expect(run, 1, "stage 'upper', partition 0000-0000", "python3", "exit code 1", "cannot stand chapter 70")
            check(len(run.failed) == 1 and run.failed[0].startswith("text/0000-"), run.counted())
            count = partitions(place)
            check(run.of("partitions", "text") == count - 1, run.counted())
            check(not place.artifact.exists() or not (place.artifact / "MANIFEST.json").exists(), "published a part")
            path.write_text("import sys\nsys.stdout.write(sys.stdin.read())\n")
            check_units(place.ok(), text_partitions=1, text_shards=8)
            return next(line for line in run.err.splitlines() if "chapter 70" in line)


def commands_that_misbehave():
    told = []
    for command, keys, *pieces in (
            (["no-such-program"], {}, "no-such-program", "partition 0000-00000"),
            (["sh", "-c", "sleep 1000"], {"timeout": 0.3}, "neither read nor wrote for 300 ms"),
            (["yes"], {}, "`lines: same` wants a line for each"),
            (["yes"], {"lines": "any", "max_output": "1MiB"}, "more than 1.00 MiB for one partition"),
            (["sed", "1d"], {}, "`lines: same` wants a line for each"),
            (["sh", "-c", "exit 0"], {}, "command `sh -c 'exit 0'`"),
            (["sh", "-c", "kill -9 $$"], {}, "signal 9"),
            (["sh", "-c", "cat; echo oops >&2; exit 3"], {}, "exit code 3", "oops"),
            (["cat"], {"framing": "json"}, None)):
        with place_with(command, **keys) as place:
            run = place.run("-j2")
            if pieces == [None]:
                expect(run, 0)
                continue
            expect(run, 1, "stage 'upper'", *pieces)
            check(not (place.artifact / "MANIFEST.json").exists(), "published")
            told.append(next(line for line in run.err.splitlines() if "stage 'upper'" in line)[:200])
    return "\n  " + "\n  ".join(told)


def configurations_that_cannot_be():
    for keys, piece in (({"command": []}, "names no program"), ({"timeout": 0}, "timeout"),
                        ({"lines": "some"}, "must be same or any"), ({"shell": True}, "unknown key 'shell'")):
        with place_with(["cat"]) as place:
            place.stages["upper"].update(keys)
            expect(place.run(), 2, piece, "p.yaml:")
    with place_with(["cat"], lines="any") as place:
        place.stages["docs"]["input"] = "lines"
        place.stages["upper"]["input"] = "docs"
        place.stages["text"]["input"] = "upper"
        expect(place.run(), 2, "the column 'split' is lost")
    return "each refused"


def processes_of(marker):
    found = []
    for pid in os.listdir("/proc"):
        if pid.isdigit():
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
            except OSError:
                continue
            if marker.encode() in words:
                found.append(int(pid))
    return found


def stop_ends_the_command_and_what_it_started():
    marker = f"31{os.getpid()}"  # seconds of sleep, unlike those of any other process
    with place_with(["sh", "-c", f"sleep {marker} & sleep {marker}"]) as place:
        process = place.start("-j2")
        deadline = time.monotonic() + 30
        while not processes_of(marker) and time.monotonic() < deadline:
            os.sched_yield()
        check(processes_of(marker), "the command never ran")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        check(process.returncode == 130, f"exit {process.returncode}")
        check(not processes_of(marker), "processes stayed")
        place.stages["upper"]["command"] = ["cat"]
        place.ok()
        return "nothing stayed"


def what_varies_is_not_taken_for_what_was_there():
    """A command gives other bytes each time: readers of its partition use the bytes that are there now."""
    shout = "import sys, uuid\nword = uuid.uuid4().hex\nfor line in sys.stdin: sys.stdout.write(word + ' ' + line)\n"
    told = []
    for deterministic in (False, True):
        with Place() as made, place_with(["python3", str(script(made, shout))], keep=True,
                                         deterministic=deterministic) as place:
            place.stages["docs"]["keep"] = True
            count = place.ok().of("partitions", "upper")
            check(count > 4, f"{count} partitions of upper")
            victim = sorted(place.pieces("upper")[-1].glob("*.part"))[1]
            victim.unlink()
            sorted(place.pieces("docs")[-1].glob("*.part"))[3].unlink()
            place.stages["more"] = {"type": "normalize", "input": "docs"}
            place.stages["other"] = {"type": "write_tfds", "input": "more", "name": "other", "shards": 2,
                                     "out": str(place.out)}
            run = place.ok()
            want = {"upper_partitions": 1, "docs_partitions": 1 if deterministic else 2}
            check(run.of("partitions", "upper") == want["upper_partitions"] and
                  run.of("partitions", "docs") == want["docs_partitions"], f"{deterministic}: {run.counted()}")
            told.append(f"{deterministic}: {run.counted()}")
    return "\n  " + "\n  ".join(told)


def damaged_origin_is_made_again():
    with place_with(["tr", "a-z", "A-Z"]) as place:
        place.ok()
        want = tree(place.out)
        victim = sorted(place.pieces("lines")[-1].glob("*.part"))[2]
        data = bytearray(victim.read_bytes())
        data[len(data) // 2] ^= 0x55
        victim.write_bytes(data)
        place.stages["upper"]["version"] = "2"
        place.stages["text"]["out"] = str(place.root / "second")
        run = place.ok("-j2")
        check(run.void == [f"lines/{victim.stem}"], run.counted())
        got = {name: digest for name, digest in tree(place.root / "second").items() if "tfrecord" in name}
        check(len(got) > 4 and got.items() <= want.items(), "other bytes")
        return run.void[0]


if __name__ == "__main__":
    sys.exit(support.main([
        records_go_through_and_bytes_are_the_same,
        what_makes_it_run_again,
        failing_partition_fails_alone,
        commands_that_misbehave,
        configurations_that_cannot_be,
        stop_ends_the_command_and_what_it_started,
        damaged_origin_is_made_again,
        what_varies_is_not_taken_for_what_was_there,
    ]))
