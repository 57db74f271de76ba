#!/usr/bin/env python3
"""A stranger's trainer, small_trainer.c, through the C ABI: job, inputs, restart, events, preemption, a command. And the
plugin `train`, which is built with the program: files that do not train need none of it, and one message names it.

    small_trainer.py PIPE
"""

import http.server
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cli"))

import replan_support as support  # noqa: E402
from scenarios import check  # noqa: E402


class Metadata(http.server.BaseHTTPRequestHandler):
    """A metadata server that knows one value."""

    preempted = "FALSE"

    def do_GET(self):
        known = self.path == "/computeMetadata/v1/instance/preempted"
        self.send_response(200 if known else 404)
        self.send_header("Metadata-Flavor", "Google")
        self.end_headers()
        self.wfile.write(self.preempted.encode() if known else b"")

    def log_message(self, *_):
        pass


def build(directory):
    (directory / "plugins").mkdir()
    shutil.copy(ROOT / "plugins/plugin_abi.h", directory / "plugins")
    subprocess.run([os.environ.get("CC", "cc"), *"-std=c99 -Wall -Wextra -Werror -pedantic -shared -fPIC".split(),
                    "-fvisibility=hidden", "-I", directory, "-o", directory / "pipe_small.so",
                    ROOT / "tests/plugins/small_trainer.c"], check=True, timeout=60)


def trains(sandbox, env):
    """Killed at a step, the training goes on there, and ends as one that nobody killed."""
    out = sandbox.root / "trained"
    stage = {"type": "count", "plugin": "small", "inputs": {"data": "text"}, "out": str(out), "die_at": 0}
    sandbox.stages["trained"] = stage
    for step in (0, 1):
        stage["die_at"] = step
        run = sandbox.run(env=env)
        check(run.code < 0 and "begins at step 0" in run.err, f"{run.code}\n{run.err}")
    Metadata.preempted = "TRUE"
    stage["die_at"] = -1
    run = sandbox.run(env=env)
    check(run.code == 1 and "the machine is being preempted; run it again on another" in run.err, f"{run.code}\n{run.err}")
    Metadata.preempted = "FALSE"
    run = sandbox.ok(env=env)
    check("begins at step 1" in run.err, run.err)
    place, = (out / "runs").iterdir()
    objects = [path for path in sandbox.artifact.rglob("*")
               if path.is_file() and ".pipe" not in path.relative_to(sandbox.artifact).parts]
    expected = f"{len(objects)} objects, {sum(path.stat().st_size for path in objects)} bytes\n"
    check((place / "model.txt").read_text() == expected, (place / "model.txt").read_text())
    check(not (place / "checkpoint").exists(), "the checkpoint stayed")
    check(json.loads((place / "MANIFEST.json").read_text())["facts"] == {"steps": len(objects)}, place)
    events = [json.loads(line)["event"] for path in sorted(sandbox.work.glob("runs/*/plugin_events.jsonl"))
              for line in path.open()]
    check([event["step"] for event in events if event["kind"] == "step"] == list(range(1, len(objects) + 1)), events)
    check(sandbox.ok(env=env).of("jobs") == 0, "trained again for nothing")


def command(sandbox, env):
    out = subprocess.run([support.PIPE, "steps", sandbox.file], capture_output=True, text=True, timeout=60, check=True,
                         env={**os.environ, **env}).stdout
    stage, = json.loads(out)["stages"]
    check(stage["stage"] == "trained" and stage["makers"]["data"]["type"] == sandbox.stages["text"]["type"], out)


def without_train(pipe, root):
    """A copy of the program without the library pipe_train.so."""
    program = root / "bin/pipe"
    program.parent.mkdir()
    shutil.copy(pipe, program)
    (root / "text.txt").write_text("吾輩は猫である。\n\n名前はまだ無い。\n" * 40)
    head = "pipe: 1\nname: few\nstages:\n  source: {type: download, url: text.txt}\n  lines: {type: decompress, input: source}\n"
    (root / "text.yaml").write_text(head + "  rows: {type: write_jsonl, input: lines, out: out/rows}\n")
    (root / "train.yaml").write_text((root / "text.yaml").read_text() +
                                     "  model: {type: train, plugin: train, inputs: {data: rows}, steps: 1, out: out/model}\n")

    def ran(code, *words, env=None):
        run = subprocess.run([program, *words], cwd=root, capture_output=True, text=True, timeout=60,
                             env={**os.environ, **(env or {})})
        check(run.returncode == code, f"{words}: exit {run.returncode}\n{run.stdout}{run.stderr}")
        return run.stderr

    ran(0, "run", "text.yaml", "--work", "work")
    ran(0, "run", "train.yaml", "--until", "rows", "--work", "work2")
    lines = [line for line in ran(2, "run", "train.yaml", "--work", "work3").splitlines() if "error" in line]
    check(len(lines) == 1 and "there is no plugin 'train': no pipe_train.so in " in lines[0], lines)
    # A library of another build shares no types with this program.
    (root / "other").mkdir()
    library = (pipe.parent / "plugins/pipe_train.so").read_bytes()
    build_id = (pipe.parents[1] / "generated/plugins/native/build_id.h").read_text().split('"')[1].encode()
    check(library.count(build_id) == 1, "the library has no build id")
    (root / "other/pipe_train.so").write_bytes(library.replace(build_id, build_id[::-1]))
    said = ran(2, "run", "train.yaml", "--work", "work3", env={"PIPE_PLUGINS": "other"})
    check("other/pipe_train.so: belongs to another build of pipe; take the file that came with this program" in said, said)


def main():
    pipe = Path(sys.argv[1]).resolve()
    support.PIPE = str(pipe)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as root:
        root = Path(root)
        build(root)
        env = {"PIPE_PLUGINS": str(root), "GCE_METADATA_HOST": f"127.0.0.1:{server.server_port}"}
        with support.Sandbox() as sandbox:
            trains(sandbox, env)
            command(sandbox, env)
        without_train(pipe, root)
    print("a stranger's trainer works through the C ABI; the plugin of another build is refused")


if __name__ == "__main__":
    main()
