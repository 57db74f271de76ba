#!/usr/bin/env python3
"""`pipe run` of a tiny pipeline that ends in `train`, with a trainer that follows instructions (fake_trainer.py): which
changes cause a new training, the state after a stop, the content of the report, the plugin's own commands, and a program
of somebody else as the trainer.

    train_run.py PIPE
"""

import gzip
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "cli"))

import replan_support as support  # noqa: E402
from metadata_server import MetadataServer  # noqa: E402


def check(good, what):
    if not good:
        raise SystemExit(f"train_run.py: {what}")


def pipeline(sandbox):
    """Text to a model: small stages, and one directory for the outputs of the last three."""
    fake = sandbox.root / "environment"
    (fake / "bin").mkdir(parents=True)
    (fake / "bin/python").symlink_to(HERE / "fake_trainer.py")
    del sandbox.stages["text"]
    sandbox.stages.update({
        "tokenizer": {"type": "train_tokenizer", "input": "docs", "vocab_size": 320, "byte_fallback": True,
                      "out": str(sandbox.out / "tokenizer")},
        "tokens": {"type": "encode", "input": "docs", "tokenizer": "tokenizer"},
        "packed": {"type": "write_packed", "input": "tokens", "seq_len": 32, "out": str(sandbox.out / "packed")},
        "train": {"type": "train", "plugin": "train", "inputs": {"data": "packed", "tokenizer": "tokenizer"},
                  "config": {"preset": "tiny"}, "steps": 20, "log_every": 2, "eval_every": 10, "checkpoint_every": 5,
                  "prompts": ["吾輩", "<b>&"], "environment": str(fake), "grace": 5, "out": str(sandbox.out)},
    })
    return sandbox.stages["train"]


def runs(sandbox):
    return sorted((sandbox.out / "runs").iterdir())


def trained(sandbox, directory):
    return json.loads((directory / "result.json").read_text())["steps"]


def attempts(directory):
    return len([log for log in (directory / "logs").iterdir() if log.name.endswith(".log")])


def changes(sandbox, train):
    """Changes, and where each trains again."""
    run = sandbox.ok()
    check(run.of("jobs", "train") == 1, run.counted())
    (first,) = runs(sandbox)
    check(first.name.startswith("train-") and len(first.name) == len("train-") + 16, first)
    check(trained(sandbox, first) == 20 and attempts(first) == 1, first)
    manifest = json.loads((first / "MANIFEST.json").read_text())
    check([entry["object"] for entry in manifest["sidecars"]] ==
          ["export/model.safetensors", "export/pipe.json", "export/tokenizer.model", "config.json", "job.json", "result.json"], manifest["sidecars"])
    check(manifest["facts"]["steps"] == 20 and manifest["continues"]["steps"] == 20, manifest)
    check(f"published {first}" in run.err, run.err)
    check(len(run.out.splitlines()) <= 10, run.out)
    for told in (f"train: 20 steps, 6 objects, ", f", in {first}\n", f"check it: pipe verify {sandbox.out}/tokenizer {sandbox.out}/packed {first}\n",
                 f"let it write: pipe sample {first} --prompt TEXT\n",
                 "the model of 'train' has 4.500 bits for a character of text that it has not seen, where counts of which token "
                 "follows which need 5.250 (lower is better)\n"):
        check(told in run.out, f"not told: {told}\n{run.out}")
    lineage = json.loads((first / "job.json").read_text())["lineage"]
    check(lineage["data"]["lineage"][0]["sources"], "the corpus is not in the lineage")

    check(sandbox.ok().of("jobs") == 0, "trained again for nothing")
    train["steps"] = 30
    run = sandbox.ok()
    check(run.of("jobs", "train") == 1 and run.of("partitions") == 0, run.counted())
    check(runs(sandbox) == [first] and trained(sandbox, first) == 30, "did not go on in the same directory")
    check("goes on from the checkpoint at step 20" in run.err, run.err)
    check((first / "export/model.safetensors").read_text() == "weights at 30", "the old export is still there")

    train["config"] = {"preset": "tiny", "model": {"layers": 3}}
    run = sandbox.ok()
    check(run.of("jobs", "train") == 1, "another model was not trained")
    check(f"train: a new training begins, by another recipe than {first.name} (config.model.layers: none -> 3), which stays as "
          "it is with checkpoints up to step 30" in run.err, run.err)
    check(len(runs(sandbox)) == 2, runs(sandbox))
    second = next(directory for directory in runs(sandbox) if directory != first)
    check("goes on" not in (second / "events.jsonl").read_text() and trained(sandbox, second) == 30, second)
    check(trained(sandbox, first) == 30, "the old run was touched")

    train["config"], train["steps"] = {"preset": "tiny"}, 40  # back to the first config, and more steps
    run = sandbox.ok()
    check(trained(sandbox, first) == 40 and trained(sandbox, second) == 30, run.err)
    check(sandbox.ok().of("jobs") == 0, "trained again for nothing")
    for directory in (sandbox.root / "environment").rglob("*"):
        check(directory.name != "__pycache__", directory)
    return first


def report(sandbox):
    """The page of the last run that trained."""
    page = max(sandbox.work.glob("runs/*/report.html"), key=lambda path: path.stat().st_mtime).read_text()
    for part in ("<h2>Training</h2>", 'class="loss"', "<path class=\"line s0\" d=\"M", "bigram_kn", "Bits per character",
                 "5.2500", "4.5000", "Text of the model", "は猫である&lt;b&gt;", "Where the time went", "51.2 k"):
        check(part in page, f"not in the report: {part}")
    check("<b>&<" not in page and "は猫である<b>" not in page, "the report takes a sample for markup")


def stop_and_go_on(sandbox, train):
    for number, code in ((signal.SIGINT, 130), (signal.SIGUSR1, 143), (None, 75)):
        stop_by(number, code, sandbox, train)


def stop_by(number, code, sandbox, train):
    """A signal in the middle, or a notice that the machine is taken: the trainer saves, and the next run continues."""
    train["config"] = {"preset": "tiny", "fake": [{"steps": 10**9}, {}], "again": code}
    train["steps"] = 10**6
    before = set(runs(sandbox))
    sandbox.write_file()
    metadata = MetadataServer(values={"instance/preempted": "FALSE", "instance/maintenance-event": "NONE"})
    process = subprocess.Popen([support.PIPE, "run", str(sandbox.file), "--work", str(sandbox.work)], cwd=sandbox.root,
                               env={**os.environ, "GCE_METADATA_HOST": metadata.host}, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    events = None
    while time.monotonic() < end and not (events and "\"kind\":\"step\"" in events.read_text()):
        new = set(runs(sandbox)) - before
        events = next(iter(new)) / "events.jsonl" if new and (next(iter(new)) / "events.jsonl").exists() else None
        time.sleep(0.05)
    check(events, "it never began to train")
    if number:
        process.send_signal(number)
    else:
        metadata.values["instance/preempted"] = "TRUE"
    _, err = process.communicate(timeout=60)
    check(process.returncode == code, f"exit {process.returncode}, not {code}\n{err}")
    check(number or "the provider takes this machine" in err, err)
    check(re.search(r"\ntrain: step \d+ is saved, nothing is lost\n", err), err)
    check('"kind":"preempt"' in events.read_text(), "the trainer was not asked to stop")
    check(not (events.parent / "result.json").exists(), "a result without an end")
    train["steps"] = 20
    run = sandbox.ok()
    check("goes on from the checkpoint at step" in run.err and trained(sandbox, events.parent) >= 20, run.err)


def killed_with_its_trainer(sandbox, train):
    """SIGKILL of pipe also ends the trainer and its children; the next run continues."""
    train["config"] = {"preset": "tiny", "fake": [{"steps": 10**9, "noise": ["child"]}, {}, {"steps": 10**9}, {}], "again": 0}
    train["steps"] = 10**6
    before = set(runs(sandbox))
    sandbox.write_file()
    process = subprocess.Popen([support.PIPE, "run", str(sandbox.file), "--work", str(sandbox.work)], cwd=sandbox.root,
                               stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    directory = None
    begun = set()
    while time.monotonic() < end and len(begun) < 2:  # the second begins when the first is complete
        directory = next(iter(set(runs(sandbox)) - before), None)
        begun |= {path.name.split(".")[0] for path in (directory / "checkpoints").glob("[0-9]*")} if directory else set()
        time.sleep(0.05)
    check(len(begun) > 1, "it never began to train")
    process.kill()
    process.wait()
    end = time.monotonic() + 20
    while time.monotonic() < end and trainers_of(directory):
        time.sleep(0.05)
    check(not trainers_of(directory), "the trainer outlived the program")
    child = Path(f"/proc/{(directory / 'child').read_text()}/stat")
    while time.monotonic() < end and child.exists():
        time.sleep(0.05)
    check(not child.exists(), "a child of the trainer outlived the program")
    train["steps"] = 20
    run = sandbox.ok()
    check("goes on from the checkpoint at step" in run.err and trained(sandbox, directory) == 20, run.err)
    longer_and_given_up(sandbox, train, directory)


def longer_and_given_up(sandbox, train, directory):
    """A finished model stays complete while a longer training lasts, and is not replaced by one that begins anew."""
    train["steps"] = 10**6
    sandbox.write_file()
    process = subprocess.Popen([support.PIPE, "run", str(sandbox.file), "--work", str(sandbox.work)], cwd=sandbox.root,
                               stderr=subprocess.DEVNULL)
    end, newest = time.monotonic() + 60, 0
    while time.monotonic() < end and newest <= 20:
        newest = max((int(path.name) for path in (directory / "checkpoints").iterdir() if path.name.isdecimal()), default=0)
        time.sleep(0.05)
    check(newest > 20, "it never went on")
    process.kill()
    process.wait()
    verified = subprocess.run([support.PIPE, "verify", str(directory)], capture_output=True, text=True, check=False)
    check(verified.returncode == 0 and trained(sandbox, directory) == 20, verified.stdout + verified.stderr)
    train["steps"] = 20
    check(sandbox.ok().of("jobs") == 0, "the finished model is not up to date")
    shutil.rmtree(directory / "checkpoints")
    train["steps"] = 30
    run = sandbox.run()
    check(run.code == 1 and "has the finished model of 20 steps and no checkpoint, so 30 steps would begin at step 0" in run.err, run.err)
    verified = subprocess.run([support.PIPE, "verify", str(directory)], capture_output=True, text=True, check=False)
    check(verified.returncode == 0, verified.stdout + verified.stderr)
    sandbox.ok("--force", "train")
    check(trained(sandbox, directory) == 30 and not (directory / "next").exists(), "--force did not train")


def damaged_input(sandbox, train):
    """Damage is found before a trainer starts; verified files that did not change are not read again."""
    def trained_anew(why, code=0):
        train["config"] = {"preset": "tiny", "again": why}
        before = set(runs(sandbox))
        run = sandbox.run()
        check(run.code == code, f"exit {run.code}\n{run.err}")
        new = [directory for directory in runs(sandbox) if directory not in before]
        check(code == 0 or not any((directory / "logs").exists() for directory in new), "a trainer was started")
        return run.err

    shard = min((sandbox.out / "packed").glob("train-*.tfrecord"))
    record = json.loads((sandbox.out / "packed/.pipe/verified.json").read_text())
    check(shard.name in record["objects"], record)
    check("`data`: all " in trained_anew("unchanged"), "read again for nothing")
    good = shard.read_bytes()
    shard.write_bytes(good[:30] + bytes([good[30] ^ 1]) + good[31:])
    err = trained_anew("damaged", code=1)
    for part in (f"the artifact at `data` is not as it must be: {shard}: record 0 at byte 0: damaged: ",
                 "`pipe run FILE --force packed` makes the artifact again; 1 more finding, which `pipe verify "):
        check(part in err, f"not said: {part}\n{err}")
    shard.write_bytes(good)
    check("`data`: verified 1 of " in trained_anew("mended"), "not that shard alone was read")
    check("`data`: all " in trained_anew("mended, and read"), "read again for nothing")
    verified = subprocess.run([support.PIPE, "verify", str(sandbox.out / "packed")], capture_output=True, text=True, check=False)
    check(verified.returncode == 0 and ": good: read " in verified.stdout, verified.stdout + verified.stderr)


def trainers_of(directory, below="job.json"):
    """The processes with this file or directory below `directory` in their command."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes()
        except OSError:
            continue
        if f"{directory}/{below}".encode() in words:
            found.append(path.parent.name)
    return found


def commands(sandbox, first):
    def pipe(*words, code):
        run = subprocess.run([support.PIPE, *words], cwd=sandbox.root, capture_output=True, text=True, timeout=60,
                             env={**os.environ, "PIPE_LOG": ""})
        check(run.returncode == code, f"pipe {' '.join(words)}: exit {run.returncode}\n{run.stdout}{run.stderr}")
        return run.stdout + run.stderr

    environment = str(sandbox.root / "environment")
    said = pipe("sample", str(first), "--environment", environment, "--prompt", "吾輩は", "--length=8", "--seed", "3", code=0)
    check(json.loads(said) == ["--run", str(first), "--length=8", "--prompt=吾輩は", "--seed=3"], said)
    model = first / "export/model.safetensors"
    before = model.read_bytes()
    model.write_bytes(bytes([before[0] ^ 1]) + before[1:])
    said = pipe("sample", str(first), "--environment", environment, code=1)
    check(f"{model}: has {len(before)} bytes of CRC-32C" in said, f"a flipped bit of the export: {said}")
    model.write_bytes(before)
    newest = max(runs(sandbox), key=lambda directory: (directory / "job.json").stat().st_mtime)
    check(f'"{newest}"' in pipe("sample", str(sandbox.out), "--environment", environment, code=0), "not the newest run")
    for words, part in ((("sample", str(first), "--length", "many"), "--length: 'many' is no whole number from 1"),
                        (("sample", str(first), "--lenght", "3"), "there is no --lenght; did you mean --length?"),
                        (("sample", str(first), "--prompt"), "--prompt wants a value"),
                        (("sample",), "pipe sample RUN "),
                        (("trainer",), "pipe trainer setup"), (("trainer", "set-up"), "pipe trainer setup"),
                        (("trainer", "setup", "--extra", "abacus"), "--extra: 'abacus' is none of")):
        check(part in pipe(*words, code=2), f"{words}: not said: {part}")
    for words in (("--int8", "--help"), ("--help",), (str(first), "--int8", "-h")):
        check(pipe("export", *words, code=0) == pipe("export", "-h", code=0), f"{words}: no help")
    said = pipe("export", str(first), "--out", "exported", "--gguf", "--help", code=2)
    check("--gguf: '--help' is none of" in said, said)
    check("neither job.json nor" in pipe("sample", str(sandbox.root), code=2), "no run directory")
    for words in (("trainer", "check"), ("sample", str(first))):
        check("make it with: pipe trainer setup\n" in pipe(*words, code=2), words)
    said = pipe("sample", str(first), code=2)
    check("without --environment, the one in the current folder is meant: .pipe/trainer: there is no environment" in said, said)
    check("is right" not in pipe("trainer", "check", "--dir", "nowhere", code=2), "nothing is right")
    absences(sandbox, first, pipe, environment)


def absences(sandbox, first, pipe, environment):
    """Each thing that `sample` needs and lacks is a line with its remedy, before Python starts."""
    copy = sandbox.root / "a-copy"
    result, export = copy / "result.json", copy / "export"

    def says(*parts):
        said = pipe("sample", str(copy), "--environment", environment, code=2)
        check(said.count("\n") == 1 and all(part in said for part in parts), f"not said: {parts}: {said}")

    says(f"{copy}: does not exist; name the location that a stage `train` published to")
    shutil.copytree(first, copy)
    (export / "tokenizer.model").unlink()
    says(f"{copy}/export/tokenizer.model or vocab.txt: is missing; remove {result} and run the pipeline: it is exported again")
    shutil.rmtree(export)
    says(f"{copy}: its training has ended without an export; give the stage `train` `export: true`",
         f"or remove {result} if it has that, and run the pipeline")
    result.unlink()
    says(f"{copy}: its training has not ended; `pipe run FILE` goes on with it, and `pipe export` exports a checkpoint")
    shutil.rmtree(copy)


class Said:
    """What a command wrote, the end of it in messages."""

    def __init__(self, run):
        self.out, self.err = run.stdout, run.stderr

    def __str__(self):
        return f"{self.out[-1000:]}{self.err[-1000:]}"


def called(sandbox, *words, code, given=""):
    run = subprocess.run([support.PIPE, *words], cwd=sandbox.root, capture_output=True, text=True, timeout=60,
                         input=given, env={**os.environ, "PIPE_LOG": ""}, check=False)
    check(run.returncode == code, f"pipe {' '.join(words)}: exit {run.returncode}\n{run.stdout[-1000:]}{run.stderr}")
    return Said(run)


def scores(sandbox, first):
    """`pipe eval`: its words, and the rows, which are those of the manifest."""
    environment, packed = str(sandbox.root / "environment"), sandbox.out / "packed"

    def pipe(*words, code):
        return called(sandbox, "eval", *words, "--environment", environment, code=code)

    said = pipe(str(first), str(packed), "--rows", "5", "--json=scores.json", code=0)
    check(json.loads(said.out) == ["--run", str(first), "--data", str(packed), "--json=scores.json", "--rows=5"], said)
    shard = next(packed.glob("train-*.tfrecord"))
    before = shard.read_bytes()
    shard.write_bytes(before[:-1] + bytes([before[-1] ^ 1]))
    words = json.loads(pipe(str(sandbox.out), str(packed), code=0).out)
    check(words[3] == str(packed), "rows of another split are not read")
    said = pipe(str(first), str(packed), "--split", "train", code=1)
    check(f"{shard}: has {len(before)} bytes of CRC-32C" in said.err and f"pipe verify {packed}" in said.err, said)
    shard.write_bytes(before)
    said = pipe(str(first), str(packed), "--split=train", code=0)
    check(json.loads(said.out)[-1] == "--split=train", said)
    said = pipe(str(first), code=0)
    check(json.loads(said.out) == ["--run", str(first), "--data", str(packed)], "not the rows of the training")
    for words, code, part in (((), 2, "pipe eval RUN [DATA] "),
                              ((str(first), str(packed), "more"), 2, "pipe eval RUN [DATA] "),
                              ((str(first / "export"),), 2, "DATA is not named, and the model has no training beside it"),
                              ((str(first), str(packed), "--rows", "0"), 2, "--rows: '0' is no whole number from 1"),
                              ((str(first), str(packed), "--split="), 2, "--split: must name a split"),
                              ((str(first), str(packed), "--json", "no/where.json"), 2, "has no directory yet"),
                              ((str(first), str(sandbox.out), "--rows", "1"), 2, "neither packed.json nor bert.json is there"),
                              ((str(first), str(packed), "--split", "tests"), 2, "has no split 'tests'; it has train, validation: "),
                              ((str(packed), str(packed)), 2, "neither job.json nor")):
        said = pipe(*words, code=code)
        check(part in said.err, f"{words}: not said: {part}: {said}")


def answers(sandbox, first):
    """`pipe predict`: lines of a file and of the standard input, and answers that are all there or none."""
    environment, file, out = str(sandbox.root / "environment"), sandbox.root / "lines.txt", sandbox.root / "answers.txt"
    file.write_text("猫\n犬\n")

    def pipe(*words, code, given=""):
        return called(sandbox, "predict", *words, "--environment", environment, code=code, given=given)

    def answer(source, *words):
        return " ".join(("--run", str(first), f"--in={source}", *words))

    said = pipe(str(first), str(file), "--length", "8", code=0)
    check(said.out == f"{answer(file, '--length=8')} 猫\n{answer(file, '--length=8')} 犬\n", said)
    said = pipe(str(first), code=0, given="猫\nlong\n")
    check("warning: 1 of 2 texts was cut" in said.err and len(said.out.splitlines()) == 2, said)
    many = "".join(f"{line}\n" for line in range(50_000))  # more than a pipe holds
    for words in ((str(first),), (str(first), "-")):
        said = pipe(*words, code=0, given=many)
        check(said.out.splitlines() == [f"{answer('-')} {line}" for line in range(50_000)], said.out[-500:])
    out.write_text("before\n")
    said = pipe(str(first), "--out", str(out), code=1, given="猫\nfail\n")
    check("told to fail" in said.err and out.read_text() == "before\n", f"{said} {out.read_text()}")
    check(pipe(str(first), "--out", str(out), code=0, given="猫\n").out == "", "answers in two places")
    check(out.read_text() == f"{answer('-')} 猫\n", out.read_text())
    check(sorted(path.name for path in sandbox.root.glob("answers*")) == [out.name], "a temporary is left")
    for words, code, part in (((), 2, "pipe predict RUN [FILE]"),
                              ((str(first), "nowhere.txt"), 2, "nowhere.txt: is no file"),
                              ((str(first), str(sandbox.root)), 2, "is no file; name one with a text on each line"),
                              ((str(first), "--out", str(sandbox.root)), 2, "is there and no file to replace"),
                              ((str(first), "--out", "/dev/null"), 2, "is there and no file to replace"),
                              ((str(first), "--length", "many"), 2, "--length: 'many' is no whole number from 1")):
        said = pipe(*words, code=code)
        check(part in said.err, f"{words}: not said: {part}: {said}")
    answers_while_lines_come(sandbox, [support.PIPE, "predict", str(first), "--environment", environment])
    only_utf8(sandbox, str(first), environment)


def only_utf8(sandbox, run, environment):
    """Lines that are not UTF-8 get no answer: from a file before Python starts, from a stream up to the first of them. The
    command in the message is the way out."""
    text = "".join(f"오늘 서울의 날씨는 맑고 따뜻합니다 {number}\n" for number in range(200))
    wanted = [line.split(" ", 1)[1] for line in called(sandbox, "predict", run, "--environment", environment, code=0, given=text).out.splitlines()]
    files = {"cp949.txt": (text.encode("cp949"), "line 1: has bytes that are not UTF-8"),
             "utf 16.txt": (text.encode("utf-16"), "line 1: has "),
             "text.gz": (gzip.compress(text.encode()), "line 1: has "),
             "cr.txt": (text.replace("\n", "\r").encode(), "line 1: has CR and no LF")}
    for name, (content, why) in files.items():
        (sandbox.root / name).write_bytes(content)
        said = called(sandbox, "predict", run, name, "--environment", "nowhere", code=2)
        check(said.out == "" and said.err.count("\n") == 1 and f"{name}: {why}" in said.err, said)
        way_out = re.search("`(pipe cat .*) -`", said.err)[1]
        check(way_out == f"pipe cat {shlex.quote(name)} | pipe predict {run}", way_out)
        asked = f"pipe() {{ {support.PIPE} \"$@\"; }}; {way_out} --environment {environment} -"
        answered = subprocess.run(["bash", "-c", asked], cwd=sandbox.root, capture_output=True, text=True, timeout=60, check=False)
        check(answered.returncode == 0 and [line.split(" ", 1)[1] for line in answered.stdout.splitlines()] == wanted, (name, answered))
        for stream in (f"pipe predict {run} --environment {environment} < {shlex.quote(name)}",
                       f"pipe predict {run} --environment {environment} <(cat {shlex.quote(name)})"):
            said = subprocess.run(["bash", "-c", f"pipe() {{ {support.PIPE} \"$@\"; }}; {stream}"], cwd=sandbox.root,
                                  capture_output=True, text=True, timeout=60, check=False)
            check(said.returncode == 2 and said.stdout == "" and f": {why}" in said.stderr and "`pipe cat " in said.stderr, (stream, said))
    (sandbox.root / "damaged.txt").write_bytes("猫\n犬\n".encode() + b"b\xffd\nafter\n")
    said = subprocess.run([support.PIPE, "predict", run, "--environment", environment], cwd=sandbox.root, capture_output=True,
                          text=True, timeout=60, check=False, stdin=open(sandbox.root / "damaged.txt", "rb"))
    check(said.returncode == 2 and said.stdout.count("\n") <= 2 and "standard input: line 3: has bytes" in said.stderr, said)


def answers_while_lines_come(sandbox, words):
    """An answer is there before the next line is, and a stop ends the program although its input goes on."""
    with subprocess.Popen(words, cwd=sandbox.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
                          env={**os.environ, "PIPE_LOG": ""}) as running:
        for line in ("猫\n", "犬\n"):
            running.stdin.write(line)
            check(running.stdout.readline().endswith(f" {line}"), "no answer, or another one")
        running.send_signal(signal.SIGTERM)
        check(running.wait(timeout=20) == 143, f"exit {running.returncode}")


def missing_environment(sandbox, train):
    """The message, also of a dry run, has the command that repairs it, before any stage begins."""
    train["config"] = {"preset": "tiny", "batch": {"rows": 4}}
    train["environment"] = "nowhere"
    sandbox.stages["packed"].update(seq_len=48, out=str(sandbox.out / "packed-48"))  # work that would be done first
    run = sandbox.run("-n")
    check(run.code == 0 and "make it with: pipe trainer setup --dir nowhere" in run.err, run.err)
    run = sandbox.run()
    check(run.code == 2 and "stage 'train': nowhere: there is no environment" in run.err, run.err)
    check(not (sandbox.out / "packed-48").exists(), "something ran")


def external(sandbox, train):
    """A program of somebody else as the trainer: what `validate` refuses, a publication, and the report."""
    sandbox.stages["packed"].update(seq_len=32, out=str(sandbox.out / "packed"))
    does = sandbox.root / "does.json"
    does.write_text('[{"steps": 12, "then": "exit", "code": 3}, {}]')
    for key in ("config", "eval_every", "checkpoint_every", "prompts", "environment"):
        train.pop(key)
    train.update(trainer="external", steps=20, fatal=[64, "65"], success=["model.bin"], recognise={
        "step": "step ([0-9]+)", "loss": "loss=([0-9.]+)",
        "checkpoint": {"directory": "checkpoints", "step": "checkpoint-([0-9]+)", "commit": "COMMIT"}})
    program = str(HERE / "external/external_trainer.py")
    before = set(runs(sandbox))
    train["command"] = [program, "--run", "{run_dri}"]
    run = sandbox.run()
    check(run.code == 2 and "stage 'train' (train.train): command: \"{run_dri}\" has an unknown placeholder" in run.err, run.err)
    train["command"] = [program, "--run", "{run_dir}", "--steps", "{steps}", "--does", str(does)]
    train["prompts"] = ["x"]
    run = sandbox.run()
    check(run.code == 2 and "stage 'train' (train.train): prompts: belongs to `trainer: bundled`" in run.err, run.err)
    del train["prompts"]
    check(sandbox.run("-n").code == 0 and set(runs(sandbox)) == before, "a dry run did something")
    run = sandbox.ok()
    (directory,) = set(runs(sandbox)) - before
    check("goes on from the checkpoint at step 10" in run.err and attempts(directory) == 2, run.err)
    manifest = json.loads((directory / "MANIFEST.json").read_text())
    check([entry["object"] for entry in manifest["sidecars"]] ==
          ["export/model.bin", "config.json", "job.json", "result.json"], manifest["sidecars"])
    check((directory / "export/model.bin").read_text() == "model at 20" and manifest["facts"]["steps"] == 20, manifest)
    page = max(sandbox.work.glob("runs/*/report.html"), key=lambda path: path.stat().st_mtime).read_text()
    for part in ("<h2>Training</h2>", 'class="loss"', "<path class=\"line s0\" d=\"M"):
        check(part in page, f"not in the report: {part}")
    check(sandbox.ok().of("jobs") == 0, "trained again for nothing")
    train["command"].append("--another")
    train["command"].append("word")
    check(sandbox.ok().of("jobs", "train") == 1 and len(set(runs(sandbox)) - before) == 2, "not a recipe of its own")


def main():
    support.PIPE = str(Path(sys.argv[1]).resolve())
    with support.Sandbox() as sandbox:
        train = pipeline(sandbox)
        first = changes(sandbox, train)
        print("changes: as they should be")
        report(sandbox)
        print("report: shows the training")
        commands(sandbox, first)
        scores(sandbox, first)
        answers(sandbox, first)
        print("commands: as they should be")
        for scenario in (stop_and_go_on, damaged_input, killed_with_its_trainer, missing_environment, external):
            scenario(sandbox, train)
            print(f"{scenario.__name__}: as it should be")


if __name__ == "__main__":
    main()
