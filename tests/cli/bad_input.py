#!/usr/bin/env python3
"""Bad moments: a full disk, a damaged log, a second run, a signal. Each ends in a clear error and leaves nothing half-written.

    bad_input.py PIPE [SCENARIO...]

Bad files and bad locations are cases below cases/bad_input. A scenario compares the exit code and a part of the message with the design: results are on standard output, all
else is on standard error.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import replan_support as support
from replan_support import KEEPING, Sandbox, check, check_says, check_units, corpus, tree


def expect(run, code, *parts):
    """Checks that `parts` are on standard error, and that a failure wrote nothing on standard output."""
    check(run.code == code, f"exit {run.code}, expected {code}\n{run.out}{run.err}")
    check_says(run.err, *parts)
    if code:
        check(not run.out, f"a run that did not end well wrote on standard output:\n{run.out}")
    check("[this is a bug]" not in run.err, run.err)


def published(sandbox):
    return (sandbox.artifact / "MANIFEST.json").exists() or (sandbox.artifact / "features.json").exists()


def reference(sandbox):
    """Returns the files that an undisturbed run publishes from the corpus of `sandbox`."""
    sandbox.ok()
    want = tree(sandbox.out)
    shutil.rmtree(sandbox.out)
    shutil.rmtree(sandbox.work)
    return want


def a_line_of_100_megabytes():
    with Sandbox() as sandbox:
        sentence = "長い長い一行。".encode()
        with sandbox.source.open("wb") as out:
            out.write(b"short\n\n")
            for _ in range(100):
                out.write(sentence * ((1 << 20) // len(sentence)))
            out.write(b"\n\nend\n")
        sandbox.stages["docs"]["splits"] = {"train": "rest"}
        sandbox.stages["lines"]["partition"] = "1MiB"
        child = sandbox.start("-j2")
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        out, err = child.stdout.read().decode(), child.stderr.read().decode()
        check(child.returncode == 0, f"exit {child.returncode}\n{err}")
        check_says(err, "long_split")
        peak = usage.ru_maxrss / 1024
        # The address sanitizer (./dev asan) keeps freed memory and shadows all of it.
        check(peak < (900 if "ASAN_OPTIONS" in os.environ else 300), f"{peak:.0f} MiB at the peak")
        sandbox.stages["lines"]["on_long"] = "fail"
        sandbox.stages["text"]["version"] = "1.0.1"
        expect(sandbox.run(), 1, "corpus.txt")
        return f"{peak:.0f} MiB at the peak"


# --- Locations

@contextlib.contextmanager
def small_disk(sandbox, megabytes):
    """A file system of its own below `sandbox`; None if it cannot be mounted."""
    where = sandbox.root / "small"
    where.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(where)],
                             capture_output=True).returncode == 0
    try:
        yield where if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(where)], check=True)


def a_full_disk():
    with Sandbox() as sandbox:
        sandbox.source.write_bytes(corpus(documents=8000))
        sandbox.stages["lines"]["partition"] = "512KiB"
        want = reference(sandbox)
        told = []
        with small_disk(sandbox, 24) as disk:
            if disk is None:
                return limited_file_size()
            for name in ("work", "out"):
                ballast = disk / "ballast"
                if name == "work":
                    sandbox.work = disk / "work"
                else:
                    sandbox.work = sandbox.root / "work-2"
                    sandbox.out.rename(sandbox.root / "out-1")
                    sandbox.out = disk / "out"
                    sandbox.stages["text"]["out"] = str(sandbox.out)
                told.append(a_disk_without_room(sandbox, ballast, disk / name, "--work" if name == "work" else "`out`"))
                # The file says that there is less text: the disk runs full on the way.
                sandbox.stages["source"]["text_size"] = "100KB"
                if name == "work":
                    # Less than a partition may need: the run does not begin.
                    ballast.write_bytes(b"x" * ((24 << 20) - (500 << 10)))
                    before = sandbox.run("-j2")
                    expect(before, 1, "may need", "free some space")
                    told.append(f"before a unit: {before.err.splitlines()[0]}")
                ballast.write_bytes(b"x" * ((20 if name == "work" else 22) << 20))
                run = sandbox.run("-j2")
                expect(run, 1, "fails again until this is changed")
                check("space" in run.err or "disk" in run.err, run.err)
                check(not published(sandbox), "published on a full disk")
                ballast.unlink()
                sandbox.ok()
                check(tree(sandbox.out) == want, "other bytes after the disk was full")
                told.append(f"{name}: {run.err.splitlines()[0]}")
                del sandbox.stages["source"]["text_size"]
                if name == "work":
                    shutil.rmtree(sandbox.work)
        return "\n  " + "\n  ".join([*told, *limited_file_size()])


def a_disk_without_room(sandbox, ballast, where, remedy):
    """A run that cannot fit does not begin, a dry run says it, and nothing is said once there is room."""
    ballast.write_bytes(b"x" * (22 << 20))
    dry = sandbox.run("-n")
    expect(dry, 0, str(where), "this run takes about ", "are free", remedy)
    refused = sandbox.run("-j2")
    expect(refused, 2, str(where), "this run takes about ", "are free", remedy)
    check(not published(sandbox), refused.err)
    ballast.unlink()
    roomy = sandbox.run("-n")
    check(roomy.code == 0 and "are free" not in roomy.err, roomy.err)
    return f"before the run: {refused.err.strip().splitlines()[-1]}"


def limited_file_size():
    """Needs no mount: a write beyond the limit of the file size fails as on a full disk."""
    import resource
    told = []
    with Sandbox() as sandbox:
        want = reference(sandbox)
        for limit in (300, 20_000):  # the log, a spill
            run = sandbox.run("-j2", preexec_fn=lambda: (resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
                                                         signal.signal(signal.SIGXFSZ, signal.SIG_IGN)))
            check(run.code in (1, 2), f"exit {run.code}\n{run.err}")
            check_says(run.err, "File too large")
            check(not published(sandbox), "published without its bytes")
            told.append(f"files of {limit} bytes: exit {run.code}: {run.err.splitlines()[0]}")
        sandbox.ok()
        check(tree(sandbox.out) == want, "other bytes")
    return told


def an_output_that_may_not_be_written():
    if os.geteuid() == 0:
        return "root may write everywhere"
    with Sandbox() as sandbox:
        sandbox.out.mkdir()
        sandbox.out.chmod(0o555)
        run = sandbox.run()
        expect(run, 1, "Permission denied")
        sandbox.out.chmod(0o755)
        sandbox.ok()
        return run.err.splitlines()[0]


def artifacts_behind_our_back():
    with Sandbox() as sandbox:
        sandbox.options = KEEPING
        sandbox.ok()
        want = tree(sandbox.artifact)
        shutil.rmtree(sandbox.artifact)
        gone = sandbox.ok()
        check_units(gone, text_shards=8)
        check(tree(sandbox.artifact) == want, "other bytes")
        (sandbox.artifact / "MANIFEST.json").unlink()
        manifest = sandbox.ok()
        check_units(manifest)
        check(tree(sandbox.artifact) == want, "other bytes")
        # An edit that keeps the size: only reading shows it, and `verify` reads.
        shard = sorted(sandbox.artifact.glob("*train*"))[0]
        data = bytearray(shard.read_bytes())
        data[len(data) // 2] ^= 1
        shard.write_bytes(data)
        check_units(sandbox.ok())
        shard.unlink()
        check_units(sandbox.ok(), text_shards=1)
        check(tree(sandbox.artifact) == want, "other bytes")
        return f"deleted: {gone.counted()}; manifest deleted: {manifest.counted()}"


# --- The log and the lock

def a_log_cut_anywhere():
    with Sandbox() as sandbox:
        sandbox.source.write_bytes(corpus(documents=60))
        want = reference(sandbox)
        sandbox.ok()
        log = sandbox.log.read_bytes()
        cuts = sorted({0, 1, 7, 17, 18, len(log) - 1, *range(31, len(log), len(log) // 24)})
        made = 0
        for cut in cuts:
            shutil.rmtree(sandbox.out, ignore_errors=True)
            sandbox.log.write_bytes(log[:cut])
            run = sandbox.ok()
            made += run.of("partitions")
            check(tree(sandbox.out) == want, f"other bytes after a cut at byte {cut}")
        garbage = log[:len(log) // 2] + b"\xff\x00garbage\n" + log[len(log) // 2:]
        sandbox.log.write_bytes(garbage)
        expect(sandbox.run(), 0, "run.log")
        return f"{len(cuts)} cuts of {len(log)} bytes, {made} partitions made again"


def wait_for(condition, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < until, "waited in vain")
        time.sleep(0.01)


def big(sandbox):
    """Sets up work for a few seconds on one thread."""
    sandbox.source.write_bytes(corpus(documents=2000) * 120)
    sandbox.stages["lines"]["partition"] = "1MiB"


def two_runs_at_once():
    with Sandbox() as sandbox:
        big(sandbox)
        first = sandbox.start("-j1")
        try:
            wait_for(lambda: "state=running" in support.read(sandbox.work / "lock"))
            began = time.monotonic()
            second = sandbox.run()
            check(time.monotonic() - began < 2, "did not refuse at once")
            check(first.poll() is None, "the first run was over too soon for this test")
            expect(second, 2, f"pid {first.pid}", "--work")
        finally:
            first.kill()
            first.communicate()
        taken = sandbox.start("-j2")
        wait_for(lambda: f"pid={taken.pid} " in support.read(sandbox.work / "lock"))
        taken.kill()
        _, err = taken.communicate()
        check_says(err.decode(), f"pid {first.pid}", "was killed")
        return second.err.strip()


def signals_drain():
    told = []
    # A scheduler signals every process of a job, and the script in it passes its own signal on.
    for number, code, times in ((signal.SIGINT, 130, 1), (signal.SIGINT, 130, 2), (signal.SIGTERM, 143, 1), (signal.SIGTERM, 143, 2)):
        with Sandbox() as sandbox:
            big(sandbox)
            child = sandbox.start("-j1")
            wait_for(lambda: "done\t" in sandbox.log_text())
            began = time.monotonic()
            for _ in range(times):
                child.send_signal(number)
                time.sleep(0.02)
            out, err = child.communicate(timeout=20)
            seconds = time.monotonic() - began
            check(child.returncode == code, f"exit {child.returncode}, expected {code}\n{err.decode()}")
            check(seconds < 5, f"took {seconds:.1f} s")
            check_says(err.decode(), "stopping", "goes on from there", "pipe run")
            check(not out, out.decode())
            check(not published(sandbox), "published half")
            check_says(sandbox.ok(command="status").out, "cancelled")
            told.append(f"{times} {signal.Signals(number).name}: exit {code} after {seconds:.2f} s")
    return ", ".join(told)


SCENARIOS = [
    a_line_of_100_megabytes, a_full_disk, an_output_that_may_not_be_written, artifacts_behind_our_back, a_log_cut_anywhere,
    two_runs_at_once, signals_drain,
]

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
