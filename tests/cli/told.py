#!/usr/bin/env python3
"""Numbers of a run with child processes in the report, `status`, `runs` and the live line, compared with /proc,
getrusage of the process tree, and the manifests: after a failure, after a stop in the middle of a training, and after
the run that continues.

    told.py PIPE
"""

import ctypes
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import replan_support as support
from replan_support import check

FAKE_TRAINER = Path(__file__).resolve().parents[1] / "plugins/train/fake_trainer.py"
SANITIZED = "ASAN_OPTIONS" in os.environ  # ./dev asan
CPU_SLACK = 2.0 if SANITIZED else 0.6     # seconds
LASTS = 2.5                               # seconds; a run looks less often on a machine with many processes
TICKS, PAGE, MIB = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGESIZE"), 1 << 20

# Each partition uses half a second of processor time and 80 MiB, in a grandchild.
SHOUT = """import os, sys, time
pid = os.fork()
if pid == 0:
    held, end = bytearray(80 << 20), time.process_time() + 0.5
    held[::4096] = b"x" * len(held[::4096])
    while time.process_time() < end:
        pass
    os._exit(0)
text = sys.stdin.read()
os.waitpid(pid, 0)
if {fails!r} in text:
    sys.exit("cannot shout this")
sys.stdout.write(text.upper())
"""
# The trainer: first uses a second of processor time, and 150 MiB for three seconds, then obeys.
TRAINER = f"""#!{sys.executable}
import os, sys, time
held, end = bytearray(150 << 20), time.process_time() + 1
held[::4096] = b"x" * len(held[::4096])
while time.process_time() < end:
    pass
time.sleep(2)
del held
os.execv({str(FAKE_TRAINER)!r}, [{str(FAKE_TRAINER)!r}, *sys.argv[1:]])
"""


def pipeline(sandbox, fails):
    environment = sandbox.root / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin/python").write_text(TRAINER)
    (environment / "bin/python").chmod(0o755)
    script = sandbox.root / "shout.py"
    script.write_text(SHOUT.format(fails=fails))
    del sandbox.stages["text"], sandbox.stages["clean"]
    sandbox.stages["lines"]["partition"] = "64KiB"
    sandbox.stages.update({  # not in the order in which they read each other
        "train": {"type": "train", "plugin": "train", "inputs": {"data": "packed", "tokenizer": "tokenizer"},
                  "config": {"preset": "tiny", "fake": [{"steps": 10**9}, {}]}, "steps": 10**6, "log_every": 2,
                  "checkpoint_every": 5, "environment": str(environment), "grace": 5, "out": str(sandbox.out), "seed": 4711},
        "shout": {"type": "exec", "input": "lines", "command": [sys.executable, str(script)], "files": [str(script)]},
        "docs": {"type": "split", "input": "shout", "splits": {"train": "rest", "validation": 0.1}},
        "tokenizer": {"type": "train_tokenizer", "input": "docs", "vocab_size": 320, "engine": "sentencepiece",
                      "out": str(sandbox.out / "tokenizer")},
        "tokens": {"type": "encode", "input": "docs", "tokenizer": "tokenizer"},
        "packed": {"type": "write_packed", "input": "tokens", "seq_len": 32, "shards": 4, "out": str(sandbox.out / "packed")},
    })
    return script


def processes_below(root):
    """{pid: (processor seconds including those of reaped children, resident bytes)} of `root` and all its
    descendants."""
    seen = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        seen[int(path.parent.name)] = (int(words[1]), sum(map(int, words[11:15])) / TICKS, int(words[21]) * PAGE)
    wanted, grown = {root}, True
    while grown:
        more = {pid for pid, (parent, _, _) in seen.items() if parent in wanted} - wanted
        grown = bool(more)
        wanted |= more
    return {pid: seen[pid][1:] for pid in wanted if pid in seen}


def adopt_orphans():
    """Orphans below this process become its children: otherwise no sum of the kernel would include them."""
    set_child_subreaper = 36
    check(ctypes.CDLL(None, use_errno=True).prctl(set_child_subreaper, 1, 0, 0, 0) == 0, "prctl")


def seconds_of_orphans():
    """Processor seconds of the orphans that became children of this process; waits for their ends."""
    seconds, end = 0.0, time.monotonic() + 20
    while time.monotonic() < end:
        try:
            pid, _, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return seconds
        if pid == 0:
            time.sleep(0.02)
        else:
            seconds += usage.ru_utime + usage.ru_stime
    raise support.Wrong("something that the run started outlived it")


def written_to_disk():
    """Bytes written by this process and all children that it waited for."""
    return int(re.search(r"^write_bytes: (\d+)", Path("/proc/self/io").read_text(), re.M)[1])


class Told:
    """One run, measured from outside, and its own records."""

    def __init__(self, sandbox, act=None):
        sandbox.write_file()
        wrote, self.seen, self.acted = written_to_disk(), [], None
        with open(sandbox.root / "messages", "wb") as messages:
            process = subprocess.Popen(sandbox.arguments("run"), stdout=messages, stderr=messages, cwd=sandbox.root,
                                       env={**os.environ, "PIPE_TEST_REASONS": "1"})
        over = threading.Event()
        watch = threading.Thread(target=self.watch, args=(process.pid, over))
        watch.start()
        try:
            if act:
                self.acted = act(process)
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            over.set()
            watch.join()
        process.returncode = os.waitstatus_to_exitcode(status)  # the process was reaped already
        self.code = process.returncode
        self.err = (sandbox.root / "messages").read_text()
        self.cpu = usage.ru_utime + usage.ru_stime + seconds_of_orphans()
        self.largest = usage.ru_maxrss << 10
        self.wrote = written_to_disk() - wrote
        self.directory = max((sandbox.work / "runs").iterdir(), key=lambda path: int(path.name.split("-")[0]))
        self.events = [json.loads(line) for line in (self.directory / "events.jsonl").open()]
        self.page = (self.directory / "report.html").read_text()

    def watch(self, pid, over):
        while not over.wait(0.05):
            resident = sum(resident for _, resident in processes_below(pid).values())
            self.seen.append((time.monotonic(), resident))

    def peak(self):
        return max((resident for _, resident in self.seen), default=0)

    def lasting_peak(self):
        """The largest sum that all looks of some LASTS seconds saw; 0: the run was shorter."""
        return max((min(resident for when, resident in self.seen if began <= when <= began + LASTS)
                    for began, _ in self.seen if began + LASTS <= self.seen[-1][0]), default=0)

    def of(self, kind):
        return [event for event in self.events if event["event"] == kind]

    def units(self, stage):
        return [unit for unit in self.of("unit") if unit["unit"].startswith(stage + "/")]

    def states(self):
        """{stage: state} in the table."""
        found = re.findall(r'<tr id="stage-\d+"><th scope="row"><b>(.*?)</b>.*?<td class="state">(.*?)</td>', self.page)
        return dict(found)


def near(told, wanted, slack, what):
    check(abs(told - wanted) <= slack, f"{what}: told {told}, and it is {wanted} (within {slack})")


def held(run, what):
    """Compares the sums of a run with the kernel's."""
    last, end = run.of("sample")[-1], run.of("end")[0]
    # Except for the start and the planning; the address sanitizer also searches for leaks at each end.
    near(last["cpu"], run.cpu, CPU_SLACK, f"{what}: seconds of the processors")
    check(last.get("child_cpu", 0) <= last["cpu"], f"{what}: {last}")
    units = sum(unit.get("cpu", 0) + unit.get("child_cpu", 0) for unit in run.of("unit"))
    check(units <= last["cpu"] + 0.1, f"{what}: units take {units}, and all of the run {last['cpu']}")
    # A run may miss memory that a process holds for a moment, and must not miss memory that lasts.
    least, peak = max(run.largest, 0.85 * run.lasting_peak()), max(run.largest, run.peak())
    check(end["peak_rss"] >= least, f"{what}: {end['peak_rss']} of {run.lasting_peak()}, {run.largest}")
    check(end["peak_rss"] <= 1.3 * peak + 32 * MIB, f"{what}: {end['peak_rss']} of {peak}")
    near(last.get("to_disk", 0), run.wrote, 2 * MIB + 0.1 * run.wrote, f"{what}: bytes for disks")
    near(last.get("written", 0), sum(event.get("bytes", 0) for event in run.of("logged")), 0, f"{what}: committed")
    check(not (run.directory / "now.json").exists(), f"{what}: says what it does, and it is over")
    for share in re.findall(r"([\d.,]+) %", re.sub(r"<(style|script).*?</\1>", "", run.page, flags=re.S)):
        check(float(share.replace(",", "")) <= 100, f"{what}: a share of {share} %")


def status(sandbox, *words):
    return sandbox.ok(*words, command="status").out


def a_failure(sandbox):
    run = Told(sandbox)
    check(run.code == 1, f"exit {run.code}\n{run.err}")
    held(run, "failure")
    states = run.states()
    check(states == {"source": "done", "lines": "done", "shout": "failed", "docs": "stopped", "tokenizer": "not reached",
                     "tokens": "not reached", "packed": "not reached", "train": "not reached"}, states)
    text = status(sandbox)
    check("(unit docs/0000-0000" in text and "cannot shout this" in text, text)
    order = re.findall(r"^(\w+): ", text, re.M)[1:]  # after the name of the pipeline
    check(order == list(sandbox.stages), f"{order}\n{text}")
    check("tokenizer: not reached" in text, text)
    return run


def checkpoints(sandbox):
    return sorted(int(path.name) for path in sandbox.out.glob("runs/*/checkpoints/*") if path.name.isdecimal())


def a_stop(sandbox):
    """Stops the run once it trains and has a checkpoint."""
    def act(process):
        end = time.monotonic() + 60
        while True:
            check(process.poll() is None and time.monotonic() < end, "it never trained\n" + support.read(sandbox.root / "messages"))
            told = json.loads(status(sandbox, "--json"))
            now = told.get("last_run", {}).get("now", {})
            if any(unit["unit"] == "train/-" and unit["child_rss"] > 100 * MIB for unit in now.get("units", [])):
                tree = processes_below(process.pid)
                text = status(sandbox)
                while not checkpoints(sandbox):
                    check(process.poll() is None and time.monotonic() < end, "no checkpoint\n" + support.read(sandbox.root / "messages"))
                    time.sleep(0.02)
                process.send_signal(signal.SIGINT)
                return told, sum(cpu for cpu, _ in tree.values()), sum(resident for _, resident in tree.values()), text
            time.sleep(0.05)

    run = Told(sandbox, act)
    check(run.code == 130, f"exit {run.code}\n{run.err}")
    held(run, "stop")
    told, cpu, resident, text = run.acted
    now = told["last_run"]["now"]
    check(told["last_run"]["running"] and told["order"] == list(sandbox.stages), told)
    near(now["cpu"], cpu, 2.0, "status: seconds of the processors")  # its numbers may be a second old
    check(0.5 * resident <= now["rss"] <= 1.5 * resident + 64 * MIB, f"status: {now['rss']} of {resident}")
    for expected in ("running as pid ", "cores busy", "train: running", "  now: train/-, ", "child processes ", "shout: done"):
        check(expected in text, f"status does not say {expected!r}:\n{text}")
    check("failed" not in text, f"status tells a failure that this run made good:\n{text}")
    check("cannot shout" not in status(sandbox), status(sandbox))
    states = run.states()
    check({states.pop(name) for name in ("train",)} == {"stopped"} and set(states.values()) == {"done", "up to date"}, states)
    check(">Stopped<" in run.page and '"stage failed"' not in run.page, "a stop is told as a failure")
    (train,) = run.units("train")
    check(train.get("stopped") and "failed" not in train, train)
    check(train["child_cpu"] >= 0.9 and train["child_rss"] >= 150 * MIB, train)
    check(run.lasting_peak() >= 150 * MIB, f"the memory of the training did not last: {run.lasting_peak()}")
    (tokenizer,) = run.units("tokenizer")
    check(tokenizer["child_cpu"] > 0 and tokenizer["child_read"] > 10_000 and tokenizer["child_written"] > 1_000, tokenizer)
    shouts = run.units("docs")
    check(len(shouts) > 1 and all(unit["child_cpu"] >= 0.45 for unit in shouts), shouts)
    check(any(unit.get("child_rss", 0) >= 80 * MIB for unit in shouts), shouts)
    text = sum(len(line) for line in sandbox.source.read_bytes().splitlines(True))
    near(sum(unit["child_written"] for unit in shouts), text, 0.1 * text, "bytes that the command wrote")
    check(all(unit["child_read"] > 10_000 and unit["busy"]["shout"] > 0.4 for unit in shouts), shouts)
    return run


def going_on(sandbox):
    steps = checkpoints(sandbox)[-1] + 20
    sandbox.stages["train"].update(steps=steps)
    run = Told(sandbox)
    check(run.code == 0, f"exit {run.code}\n{run.err}")
    held(run, "going on")
    states = run.states()
    check(states.pop("train") == "done" and set(states.values()) == {"up to date"}, states)
    lines = sum(1 for line in sandbox.source.read_bytes().splitlines() if line)
    counts = {event["stage"]: event for event in run.of("counts")}
    check(counts["lines"]["records_out"] == lines and counts["shout"]["records_out"] == lines, counts)
    packed = json.loads((sandbox.out / "packed/MANIFEST.json").read_text())
    check(counts["packed"]["shards"] == len(packed["shards"]), counts["packed"])
    objects = packed["shards"] + [object for object in packed["sidecars"] if "-of-" in object["object"]]  # indexes too
    check(counts["packed"]["shard_bytes"] == sum(object["bytes"] for object in objects), counts["packed"])
    for stage, said in packed["counts"].items():
        for name in ("records_in", "records_out"):
            check(counts[stage].get(name, 0) == said.get(name, 0), f"{stage}: {counts[stage]}, and the manifest has {said}")
    # The recipe, the source, and the differences from the run before.
    for expected in ('id="made-of"', "seed 4711", "<dt>Recipe</dt>", "corpus.txt <code>", 'id="before"', ">stopped<",
                     f"train: steps: 1000000 -&gt; {steps}", 'id="took"', "Children's memory"):
        check(expected in run.page, f"not on the page: {expected}")
    resumed = [json.loads(line)["event"] for line in (run.directory / "plugin_events.jsonl").open()]
    check(any(event["kind"] == "restore" for event in resumed), "it began anew")
    curve = run.page[run.page.index('class="loss"'):]
    check(re.search(r'text-anchor="middle">(\d+)<', curve)[1] in "0 1 2 5 10 20".split(), "the curve begins where it went on")
    text = status(sandbox)
    check("failed" not in text and "train: done, in " in text and "shout: up to date" in text, text)
    return run


def runs(sandbox, *made):
    listed = json.loads(sandbox.ok("--json", command="runs").out)
    check([run["outcome"] for run in listed] == ["done", "cancelled", "failed"], listed)
    for said, run in zip(listed, reversed(made)):
        near(said["cpu"], run.cpu, CPU_SLACK, "runs: seconds of the processors")
        check(said["report"] == str(run.directory / "report.html") or Path(said["report"]).samefile(run.directory / "report.html"), said)
    text = sandbox.ok(command="runs").out
    check(len(text.splitlines()) == 4 and text.startswith("RUN "), text)
    check(len(sandbox.ok("-l", "1", command="runs").out.splitlines()) == 2, "--limit is passed over")


def secrets(sandbox):
    sandbox.stages["train"]["config"] = {"preset": "tiny"}
    sandbox.stages["tokenizer"]["out"], sandbox.stages["packed"]["out"] = str(sandbox.root / "hush/t"), str(sandbox.root / "hush/p")
    sandbox.stages["shout"]["command"] += ["--token", "${api_token}", "--header", "Authorization: Bearer hush-2"]
    sandbox.head["vars"] = {"api_token": "hush-1"}
    run = Told(sandbox)
    check(run.code == 0, run.err)
    told = run.page + json.dumps(run.events) + status(sandbox) + status(sandbox, "--json") + sandbox.ok(command="runs").out + run.err
    check("hush-" not in told, "a secret is told")
    check("***" in run.page, "nothing was there to be hidden")
    del sandbox.head["vars"]


def live(pipe):
    """The live line on terminals of three widths: never wider; shows elapsed time, stage, and shards in progress."""
    for columns in (40, 80, 200):
        with support.Sandbox() as sandbox:
            script = sandbox.root / "slow.py"
            script.write_text("import sys, time\ntext = sys.stdin.read()\ntime.sleep(0.7)\nsys.stdout.write(text)\n")
            sandbox.stages["lines"]["partition"] = "64KiB"
            sandbox.stages["slow"] = {"type": "exec", "input": "clean",
                                                               "command": [sys.executable, str(script)]}
            sandbox.stages["docs"]["input"] = "slow"
            sandbox.write_file()
            main, side = pty.openpty()
            fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
            process = subprocess.Popen([pipe, "run", str(sandbox.file), "--work", str(sandbox.work)], stdin=subprocess.DEVNULL,
                                       stdout=subprocess.DEVNULL, stderr=side, cwd=sandbox.root)
            os.close(side)
            shown, end = b"", time.monotonic() + 40
            while time.monotonic() < end:
                if select.select([main], [], [], 0.1)[0]:
                    try:
                        part = os.read(main, 65536)
                    except OSError:
                        break
                    shown += part
                    if not part:
                        break
            os.close(main)
            check(process.wait(timeout=20) == 0, shown.decode(errors="replace"))
            frames = re.split(r"\x1b\[\d+A\x1b\[J", shown.decode())
            drawn = [line for frame in frames for line in frame.replace("\r", "").split("\n") if line.startswith("[") or " of " in line]
            heads = [line for line in drawn if re.match(r"\d+s  (stages? [\d, -]+ of \d+: |\d+ of \d+ stages done)", line)
                     or (columns == 40 and re.match(r"\d+s  stage", line))]
            check(heads, f"{columns} columns: no elapsed time and stage in\n" + "\n".join(drawn))
            wide = [line for line in drawn if len(line) > columns and not line.startswith("stage '")]
            check(not wide, f"{columns} columns: {wide}")
            check(any(line.startswith("[docs/") or line.startswith("[text/") for line in drawn), "\n".join(drawn))
            check(not re.search(r"eta \d+h", "\n".join(drawn)), "an end that nobody knows:\n" + "\n".join(drawn))
            print(f"live, {columns} columns: {heads[-1]!r}")


def screen(shown):
    """The lines that a terminal has after these bytes, as far as the live area uses it."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[\d+A|\x1b\[J|\r|\n|[^\x1b\r\n]+", shown):
        if part == "\n":
            row += 1
            lines += [""] * (row + 1 - len(lines))
        elif part == "\r":
            column = 0
        elif part == "\x1b[J":
            lines[row:] = [lines[row][:column]]
        elif part.startswith("\x1b"):
            row -= int(part[2:-1])
        else:
            lines[row] = lines[row][:column].ljust(column) + part + lines[row][column + len(part):]
            column += len(part)
    return lines


def typed(pipe):
    """Ctrl-C at a terminal, which shows "^C" below the live area: nothing of either stays before a message."""
    with support.Sandbox() as sandbox:
        script = sandbox.root / "slow.py"
        script.write_text("import time\ntime.sleep(60)\n")
        sandbox.stages["slow"] = {"type": "exec", "input": "clean", "command": [sys.executable, str(script)]}
        sandbox.stages["docs"]["input"] = "slow"
        sandbox.write_file()
        pid, terminal = pty.fork()
        if pid == 0:
            os.execv(pipe, [pipe, "run", str(sandbox.file), "--work", str(sandbox.work)])
        shown, has_typed, end = "", False, time.monotonic() + 40
        while time.monotonic() < end:
            if not has_typed and "\n[text/" in shown:
                has_typed = os.write(terminal, b"\x03") > 0
            try:
                part = os.read(terminal, 65536) if select.select([terminal], [], [], 0.1)[0] else b"\0"
            except OSError:
                break
            shown += part.decode(errors="replace").replace("\0", "")
        os.close(terminal)
        check(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130, shown)
        lines = [line for line in screen(shown) if line]
        check("^C" in shown and not any("^C" in line for line in lines), "\n".join(lines))
        check(any(line.startswith("stopping: ") for line in lines) and lines[-1].startswith("stopped; "), "\n".join(lines))
        check(not any(re.match(r"\d+", line) or line.startswith("[") for line in lines), "\n".join(lines))
        print("Ctrl-C at a terminal: nothing stays of the live area")


def the_end():
    """The end of a run says what was made and where, and what to do next; counts come where they were made, once."""
    with support.Sandbox() as sandbox:
        run = sandbox.ok()
        place = str(sandbox.artifact)
        made, look, verify = run.out.splitlines()
        check(re.fullmatch(r"text: train \d+ records of \d+ documents, .*\d+ shards?, .*B, in " + re.escape(place), made), made)
        check((look, verify) == (f"look at it: pipe cat {place} --limit 5", f"check it: pipe verify {place}"), run.out)
        for stage in ("lines", "clean", "docs"):
            check(("\n" + run.err).count(f"\nstage '{stage}': ") == 1, f"{stage}:\n{run.err}")
        check(re.search(r"^stage 'lines': \d+ records in, \d+ out", run.err, re.M), run.err)
        sandbox.source.write_text("one line\n")
        sandbox.stages["docs"]["splits"] = {"train": "rest"}
        sandbox.stages["text"]["shards"] = 1
        run = sandbox.ok("--force", "text")
        check("text: train 1 record of 1 document, 1 shard, " in run.out, run.out)
        check("stage 'lines': 1 record in, 1 out" in run.err, run.err)
        print("the end of a run: three lines")


def main():
    support.PIPE = str(Path(sys.argv[1]).resolve())
    adopt_orphans()
    with support.Sandbox() as sandbox:
        script = pipeline(sandbox, "第70章")
        failed = a_failure(sandbox)
        print("a failure: as the kernel has it")
        script.write_text(SHOUT.format(fails="nothing that is there"))
        stopped = a_stop(sandbox)
        print("a stop: as the kernel has it")
        done = going_on(sandbox)
        print("going on: as the kernel and the manifests have it")
        runs(sandbox, failed, stopped, done)
        print("runs: as they were")
        secrets(sandbox)
        print("secrets: none")
    live(support.PIPE)
    typed(support.PIPE)
    the_end()


if __name__ == "__main__":
    main()
