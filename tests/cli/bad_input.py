#!/usr/bin/env python3
"""Bad input, bad locations and bad moments: each ends in a clear error or a counted policy, and leaves nothing
half-written.

    bad_input.py PIPE [SCENARIO...]

Each case compares the exit code and a part of the message with the design: results are on standard output, all
else is on standard error.
"""

import contextlib
import gzip
import json
import lzma
import os
import shutil
import signal
import subprocess
import sys
import time

import replan_support as support
from replan_support import KEEPING, Sandbox, check, check_says, check_units, corpus, tree


def expect(run, code, *parts, stdout=()):
    """Checks that `parts` are on standard error, and that a failure wrote nothing on standard output."""
    check(run.code == code, f"exit {run.code}, expected {code}\n{run.out}{run.err}")
    check_says(run.err, *parts)
    check_says(run.out, *stdout)
    if code:
        check(not run.out, f"a run that did not end well wrote on standard output:\n{run.out}")
    check("[this is a bug]" not in run.err, run.err)


def published(sandbox):
    return (sandbox.artifact / "MANIFEST.json").exists() or (sandbox.artifact / "features.json").exists()


def reference(sandbox):
    """Returns the files that an undisturbed run publishes from the corpus of `sandbox`, and the run."""
    run = sandbox.ok()
    want = tree(sandbox.out)
    shutil.rmtree(sandbox.out)
    shutil.rmtree(sandbox.work)
    return want, run


# --- Archives

def zstd(data):
    return subprocess.run(["zstd", "-q", "-c"], input=data, stdout=subprocess.PIPE, check=True).stdout


def archives():
    pack = {"xz": lzma.compress, "gz": gzip.compress}
    if shutil.which("zstd"):
        pack["zst"] = zstd
    return pack


def damaged_archives():
    told = []
    for suffix, compress in archives().items():
        for damage in ("truncated", "corrupt"):
            with Sandbox() as sandbox:
                good = compress(corpus(documents=2000))
                sandbox.source = sandbox.root / f"corpus.txt.{suffix}"
                sandbox.stages["source"]["url"] = str(sandbox.source)
                sandbox.stages["lines"]["partition"] = "64KiB"
                sandbox.source.write_bytes(good)
                want, _ = reference(sandbox)
                bad = bytearray(good)
                if damage == "truncated":
                    del bad[len(bad) * 2 // 3:]
                else:
                    bad[len(bad) * 2 // 3] ^= 0xFF
                sandbox.source.write_bytes(bad)
                run = sandbox.run()
                expect(run, 1, sandbox.source.name, "fails again until this is changed")
                check("at byte " in run.err, f"no offset: {run.err}")
                check("text/0000-*" in run.failed, f"the log does not say failed: {run.counted()}")
                check(not published(sandbox), "published from a damaged archive")
                check_says(sandbox.ok(command="status").out, "(unit text/0000-*)")
                sandbox.source.write_bytes(good)
                sandbox.ok()
                check(tree(sandbox.out) == want, "other bytes after the repair")
                told.append(f"{suffix} {damage}: {run.err.splitlines()[-2]}")
    return "\n  " + "\n  ".join(told)


def not_an_archive():
    with Sandbox() as sandbox:
        sandbox.stages["lines"]["format"] = "xz"
        run = sandbox.run()
        expect(run, 1, "corpus.txt")
        return run.err.splitlines()[0]


# --- Text

def repaired_text():
    """Each policy is counted, and the repaired text is kept."""
    text = ("良い行\n".encode() + b"bad \xff byte\n" + b"cesu \xed\xa0\xbd\xed\xb8\x80 pair\n" + b"nul \x00 here\n"
            + "復帰\r\n".encode() + b"\n" + "次の文書\n三行目\n".encode())
    with Sandbox() as sandbox:
        sandbox.source.write_bytes(text)
        sandbox.stages["docs"]["splits"] = {"train": "rest"}
        run = sandbox.ok("-j1")
        manifest = json.loads((sandbox.artifact / "MANIFEST.json").read_text())
        reasons = manifest["counts"]["lines"].get("reasons", manifest["counts"]["lines"])
        told = json.dumps(reasons, ensure_ascii=False)
        check_says(run.err, "blank_lines 1", "crlf 1", "invalid_utf8 2", "nul 1")
        check(tree(sandbox.work / "quarantine"), "nothing was set aside")
        sandbox.stages["lines"]["invalid_utf8"] = "fail"
        sandbox.stages["text"]["version"] = "1.0.1"
        failed = sandbox.run()
        expect(failed, 1, "text/0000-00000")
        return f"{told}; fail: {failed.err.splitlines()[0]}"


def what_is_set_aside_outlives_its_readers():
    """Quarantined lines of kept partitions stay when the partitions are read, in the same run and in a later one."""
    with Sandbox() as sandbox:
        sandbox.source.write_bytes(b"good\nbad \xff byte\ngood\n")
        sandbox.stages["lines"]["keep"] = True
        sandbox.stages["docs"]["splits"] = {"train": "rest"}
        sandbox.stages["again"] = {**sandbox.stages["text"], "name": "again"}
        sandbox.ok("--only", "lines")
        kept = tree(sandbox.work / "quarantine")
        check(len(kept) == 1, f"set aside: {kept}")
        sandbox.ok("-j1")
        later = tree(sandbox.work / "quarantine")
        check(later == kept, f"set aside: {kept}, later {later}")
        return next(iter(kept))


def utf16_with_a_mark():
    with Sandbox() as sandbox:
        sandbox.source.write_bytes(corpus(documents=20).decode().encode("utf-16"))
        sandbox.stages["docs"]["splits"] = {"train": "rest"}
        run = sandbox.run()
        check(run.code in (0, 1), f"exit {run.code}\n{run.err}")
        return f"exit {run.code}: {(run.err or run.out).splitlines()[0]}"


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


def nothing_to_read():
    told = []
    for name, text in (("empty", b""), ("blank", b"\n" * 5000), ("white", " \u3000\n".encode() * 5000)):
        with Sandbox() as sandbox:
            sandbox.source.write_bytes(text)
            run = sandbox.run()
            expect(run, 1, "stage 'docs': there are no documents to split: the input is empty")
            check("has no records" not in run.err, "tells the consequence as well")
            check(not published(sandbox), "published nothing as something")
            sandbox.stages["docs"]["min_documents"] = 0
            empty = sandbox.run()
            expect(empty, 1, "stage 'text': no record comes to it: the input has none, or all were dropped")
            check(not published(sandbox), "published an empty split")
            told.append(f"{name}: {run.err.splitlines()[0]}; min_documents 0: {empty.err.splitlines()[0]}")
    return "\n  " + "\n  ".join(told)


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
        want, _ = reference(sandbox)
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
        want, _ = reference(sandbox)
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


def outputs_that_cannot_be_written():
    with Sandbox() as sandbox:
        (sandbox.root / "file").write_text("no directory")
        sandbox.stages["text"]["out"] = str(sandbox.root / "file" / "out")
        below = sandbox.run()
        expect(below, 2, str(sandbox.root / "file"))
        sandbox.stages["text"]["out"] = str(sandbox.out)
        work = sandbox.work
        sandbox.work = sandbox.root / "file" / "work"
        at_work = sandbox.run()
        expect(at_work, 2, str(sandbox.root / "file"))
        sandbox.work = work
        told = [below.err.strip(), at_work.err.strip()]
        if os.geteuid() != 0:
            sandbox.out.mkdir()
            sandbox.out.chmod(0o555)
            run = sandbox.run()
            expect(run, 1, "Permission denied")
            told.append(run.err.splitlines()[0])
            sandbox.out.chmod(0o755)
        sandbox.ok()
        return "\n  " + "\n  ".join(told)


def outputs_that_hold_something_else():
    with Sandbox() as sandbox:
        sandbox.ok()
        before = tree(sandbox.out)
        sandbox.stages["docs"]["splits"]["validation"] = 0.2
        other = sandbox.run()
        expect(other, 2, "holds another recipe", "docs: splits", "--force text")
        check(tree(sandbox.out) == before, "a refused run touched the artifact")
        sandbox.stages["text"]["version"] = "9.0.0"
        foreign = sandbox.out / "tiny" / "9.0.0"
        foreign.mkdir()
        (foreign / "thesis.tex").write_text("years of work")
        run = sandbox.run()
        expect(run, 2, "holds objects that pipe did not write", str(foreign))
        check((foreign / "thesis.tex").read_text() == "years of work", "touched")
        (foreign / "thesis.tex").unlink()
        sandbox.ok()
        (foreign / "MANIFEST.json").write_text("{ no manifest")
        broken = sandbox.run()
        expect(broken, 2, "MANIFEST.json")
        sandbox.stages["again"] = {**sandbox.stages["text"]}
        twice = sandbox.run()
        expect(twice, 2, "publishes at the same location")
        return "\n  ".join(["", other.err.strip(), run.err.strip(), broken.err.strip(), twice.err.strip()])


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
        want, _ = reference(sandbox)
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


def a_log_of_a_newer_version():
    with Sandbox() as sandbox:
        sandbox.ok()
        text = sandbox.log.read_text().replace("# pipe run log v1", "# pipe run log v2", 1)
        sandbox.log.write_text(text)
        for args, command in (((), "run"), (("-n",), "run"), ((), "status"), ((), "retry")):
            run = sandbox.run(*args, command=command)
            expect(run, 2, "run.log", "newer")
        check(sandbox.log.read_text() == text, "touched")
        return run.err.strip()


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


# --- The file and the command line

def mistakes_in_the_file():
    with Sandbox() as sandbox:
        sandbox.file.write_text("""pipe: 1
name: wrong
stages:
  source: { type: download, url: x.txt, speed: fast }
  lines: { type: decompress, input: source, partition: lots }
  clean: { type: normalise, input: lines }
  a: { type: normalize, input: b }
  b: { type: normalize, input: a }
  docs: { type: split, input: lines, splits: { train: 0.5 } }
  docs: { type: split, input: lines, splits: { train: rest } }
  text: { type: write_tfds, input: dogs, name: tiny }
""")
        written = sandbox.file.read_text()
        sandbox.write_file = lambda: None
        run = sandbox.run()
        check(sandbox.file.read_text() == written and not sandbox.work.exists(), "touched something")
        expect(run, 2, "p.yaml:4:", "speed", "p.yaml:5:", "partition", "did you mean 'normalize'", "in a circle", "duplicate",
               "did you mean 'docs'", "out")
        check(run.err == sandbox.run(command="validate").err, "validate says something else")
        sandbox.file.write_text("pipe: 1\nname: [\n")
        syntax = sandbox.run()
        expect(syntax, 2, "p.yaml:")
        sandbox.file.write_text("pipe: 2\nname: x\nstages: {}\n")
        expect(sandbox.run(), 2, "p.yaml:1:")
        sandbox.file.write_text("")
        expect(sandbox.run(), 2, "p.yaml")
        sandbox.file.write_bytes(b"\xff\xfe\x00")
        expect(sandbox.run(), 2, "p.yaml")
        sandbox.file.unlink()
        expect(sandbox.run(), 2, "p.yaml")
        sandbox.file.mkdir()
        expect(sandbox.run(), 2, "p.yaml")
        return f"{len(run.err.splitlines())} mistakes in one go"


def mistakes_on_the_command_line():
    with Sandbox() as sandbox:
        sandbox.head["vars"] = {"form": "nfkc"}
        sandbox.stages["clean"]["form"] = "${form}"
        for assignment, part in (("form", "NAME=VALUE"), ("=x", "NAME=VALUE"), ("from=nfc", "form"),
                                 ("form=nfx", "nfx"), ("stages.clean.from=nfc", "form"),
                                 ("stages.clear.form=nfc", "clean"), ("stages.lines.partition=many", "partition")):
            expect(sandbox.run("--set", assignment), 2, part)
        expect(sandbox.run("-j", "0"), 2, "-j")
        for work in ("https://example.com/work", "gs://bucket", "file:///work", "~/work"):
            expect(sandbox.run("--work", work), 2, "--work", work)
        expect(sandbox.run("-k", "none"), 2, "-k")
        expect(sandbox.run("--fast"), 2, "--fast")
        expect(sandbox.run(command="runn"), 2, "no command 'runn'", "did you mean 'run'?")
        sandbox.head["limits"] = {"memory": "500TiB"}
        expect(sandbox.run(), 2, "p.yaml: limits.memory of 500.0 TiB is more than the")
        told = sandbox.run(command="validate")
        check(told.code == 0 and "limits.memory of 500.0 TiB" in told.err, f"validate does not say it: {told.err}")
        told = sandbox.run("-n")
        check(told.code == 0 and "limits.memory of 500.0 TiB" in told.err, f"-n does not say it: {told.err}")
        wrote = [path.name for path in sandbox.work.rglob("*")]
        check(wrote in ([], ["digests.txt"]), f"wrote {wrote}")  # -n stores the digest of a file that is not new
        sandbox.head["limits"] = {"memory": "1MiB"}
        expect(sandbox.run(), 2, "limits.memory")
        sandbox.head["limits"] = {"disk": "1KiB"}
        expect(sandbox.run(), 2, "limits.disk")
        del sandbox.head["limits"]
        run = sandbox.ok("--set", "form=nfc", "--set", "stages.text.shards=1")
        check(run.of("shards") == 2, run.counted())
        return "each refused"


def sources_that_are_not_there():
    with Sandbox() as sandbox:
        told = []
        for url, part in ((str(sandbox.root / "none.txt"), "no such file"), (str(sandbox.root), "is a directory"),
                          (str(sandbox.root / "*.none"), "no file has such a name"),
                          ("http://127.0.0.1:1/x.xz", "http://127.0.0.1:1/x.xz: "), ("ftp://host/x.xz", "knows https"), ("/dev/zero", "no regular file")):
            sandbox.stages["source"]["url"] = url
            run = sandbox.run()
            expect(run, 2, part)
            told.append(run.err.splitlines()[-1])
        return "\n  " + "\n  ".join(told)


SCENARIOS = [
    damaged_archives, not_an_archive, repaired_text, what_is_set_aside_outlives_its_readers, utf16_with_a_mark,
    a_line_of_100_megabytes, nothing_to_read,
    a_full_disk, outputs_that_cannot_be_written, outputs_that_hold_something_else, artifacts_behind_our_back,
    a_log_cut_anywhere, a_log_of_a_newer_version, two_runs_at_once, signals_drain, mistakes_in_the_file,
    mistakes_on_the_command_line, sources_that_are_not_there,
]

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
