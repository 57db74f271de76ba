#!/usr/bin/env python3
"""Commands over records: which units run, and which run again. Commands and keys that are refused are cases below cases/stages.

    exec.py PIPE [SCENARIO...]
"""

import os
import signal
import sys
import time

import replan_support as support
from replan_support import KEEPING, Sandbox, check, check_says, check_units, tree

UPPER = """import sys
for line in sys.stdin:
    sys.stdout.write(line.replace("neko", "NEKO").upper())
"""


def sandbox_with(command, **keys):
    """lines -> upper (exec) -> docs -> text, in about nine partitions."""
    sandbox = Sandbox()
    sandbox.stages["upper"] = {"type": "exec", "input": "lines", "command": command, **keys}
    del sandbox.stages["clean"]
    sandbox.stages["docs"]["input"] = "upper"
    return sandbox


def script(sandbox, text, name="upper.py"):
    path = sandbox.root / name
    path.write_text(text)
    return path


def partitions(sandbox):
    return len(list(sandbox.partition_outputs("lines")[-1].glob("*.part")))


def expect(run, code, *parts):
    check(run.code == code, f"exit {run.code}, expected {code}\n{run.out}{run.err}")
    check_says(run.err, *parts)
    check("[this is a bug]" not in run.err, run.err)


def records_go_through_and_bytes_are_the_same():
    with sandbox_with(["tr", "a-z0-9", "A-Z5"]) as sandbox:
        sandbox.options = KEEPING
        want = None
        for flags in (("-j1",), ("-j4",), ("-j3", "--batch-bytes", "700")):
            run = sandbox.ok(*flags)
            count = partitions(sandbox)
            check(count > 4, f"only {count} partitions")
            check_units(run, lines_partitions=count, lines_ends=1, text_partitions=count, text_shards=8)
            want = want or tree(sandbox.out)
            check(tree(sandbox.out) == want, f"other bytes with {flags}")
            check_units(sandbox.ok(), )
            for path in (sandbox.out, sandbox.work):
                support.shutil.rmtree(path)
        sandbox.ok()
        seen = support.subprocess.run([support.PIPE, "cat", str(sandbox.artifact)], capture_output=True, check=True).stdout
        check(seen.count(b"\n") == 240 * 6, "records were lost")
        check(b"5555555" in seen and b"0" not in seen, seen[:300])
        return f"{count} partitions"


def what_makes_it_run_again():
    with Sandbox() as made:
        path = script(made, UPPER)
        with sandbox_with(["python3", str(path)], files=[str(path)]) as sandbox:
            sandbox.options = KEEPING
            count = sandbox.ok().of("partitions", "lines")
            exec_again = {"text_partitions": count, "text_shards": 8}
            check_units(sandbox.ok())
            sandbox.stages["upper"]["timeout"] = 50
            sandbox.stages["upper"]["max_output"] = "1GiB"
            check_units(sandbox.ok())
            path.write_text("# a remark\n" + UPPER)
            sandbox.stages["text"]["version"] = "2.0.0"
            check_units(sandbox.ok(), **exec_again)
            sandbox.stages["upper"]["version"] = "2"
            sandbox.stages["text"]["version"] = "3.0.0"
            check_units(sandbox.ok(), **exec_again)
            path.unlink()
            check_units(sandbox.ok())  # complete outputs need no script
            sandbox.stages["upper"]["version"] = "3"
            sandbox.stages["text"]["version"] = "4.0.0"
            expect(sandbox.run(), 2, "upper.py")
            return f"{count} partitions, read once"


def failing_partition_fails_alone():
    with Sandbox() as made:
        path = script(made, "import sys\ntext = sys.stdin.read()\nif '第70章' in text:\n"
                            "    sys.exit('cannot stand chapter 70')\nsys.stdout.write(text)\n")
        with sandbox_with(["python3", str(path)]) as sandbox:
            run = sandbox.run("-k", "100")
            expect(run, 1, "stage 'upper', command `python3", "(unit text/0000-0000", "exit code 1", "cannot stand chapter 70")
            check(len(run.failed) == 1 and run.failed[0].startswith("text/0000-"), run.counted())
            count = partitions(sandbox)
            check(run.of("partitions", "text") == count - 1, run.counted())
            check(not (sandbox.artifact / "MANIFEST.json").exists(), "published a part")
            path.write_text("import sys\nsys.stdout.write(sys.stdin.read())\n")
            check_units(sandbox.ok(), text_partitions=1, text_shards=8)
            return next(line for line in run.err.splitlines() if "chapter 70" in line)


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
    with sandbox_with(["sh", "-c", f"sleep {marker} & sleep {marker}"]) as sandbox:
        process = sandbox.start("-j2")
        deadline = time.monotonic() + 30
        while not processes_of(marker) and time.monotonic() < deadline:
            os.sched_yield()
        check(processes_of(marker), "the command never ran")
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        check(process.returncode == 130, f"exit {process.returncode}")
        check(not processes_of(marker), "processes stayed")
        sandbox.stages["upper"]["command"] = ["cat"]
        sandbox.ok()
        return "nothing stayed"


def what_varies_is_not_taken_for_what_was_there():
    """A command gives other bytes each time: readers of its partition use the bytes that are there now."""
    shout = "import sys, uuid\nword = uuid.uuid4().hex\nfor line in sys.stdin: sys.stdout.write(word + ' ' + line)\n"
    told = []
    for deterministic in (False, True):
        with Sandbox() as made, sandbox_with(["python3", str(script(made, shout))], keep=True,
                                             deterministic=deterministic) as sandbox:
            sandbox.stages["docs"]["keep"] = True
            count = sandbox.ok().of("partitions", "upper")
            check(count > 4, f"{count} partitions of upper")
            victim = sorted(sandbox.partition_outputs("upper")[-1].glob("*.part"))[1]
            victim.unlink()
            sorted(sandbox.partition_outputs("docs")[-1].glob("*.part"))[3].unlink()
            sandbox.stages["more"] = {"type": "normalize", "input": "docs"}
            sandbox.stages["other"] = {"type": "write_tfds", "input": "more", "name": "other", "shards": 2,
                                       "out": str(sandbox.out)}
            run = sandbox.ok()
            want = {"upper_partitions": 1, "docs_partitions": 1 if deterministic else 2}
            check(run.of("partitions", "upper") == want["upper_partitions"] and
                  run.of("partitions", "docs") == want["docs_partitions"], f"{deterministic}: {run.counted()}")
            told.append(f"{deterministic}: {run.counted()}")
    return "\n  " + "\n  ".join(told)


def damaged_upstream_is_made_again():
    with sandbox_with(["tr", "a-z", "A-Z"]) as sandbox:
        sandbox.options = KEEPING
        sandbox.ok()
        want = tree(sandbox.out)
        victim = sorted(sandbox.partition_outputs("lines")[-1].glob("*.part"))[2]
        data = bytearray(victim.read_bytes())
        data[len(data) // 2] ^= 0x55
        victim.write_bytes(data)
        sandbox.stages["upper"]["version"] = "2"
        sandbox.stages["text"]["out"] = str(sandbox.root / "second")
        run = sandbox.ok("-j2")
        check(run.invalidated == [f"lines/{victim.stem}"], run.counted())
        got = {name: digest for name, digest in tree(sandbox.root / "second").items() if "tfrecord" in name}
        check(len(got) > 4 and got.items() <= want.items(), "other bytes")
        return run.invalidated[0]


if __name__ == "__main__":
    sys.exit(support.main([
        records_go_through_and_bytes_are_the_same,
        what_makes_it_run_again,
        failing_partition_fails_alone,
        stop_ends_the_command_and_what_it_started,
        damaged_upstream_is_made_again,
        what_varies_is_not_taken_for_what_was_there,
    ]))
