#!/usr/bin/env python3
"""Plugins as a person uses them: built out of tree, found by name, named in a pipeline file, and refused if they
are broken.

    plugins.py PIPE
"""

import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import replan_support as support
from scenarios import check

ROOT = Path(__file__).resolve().parents[2]
FLAGS = "-std=c99 -Wall -Wextra -Werror -pedantic -shared -fPIC -fvisibility=hidden".split()

# Records that it ran, wherever it is loaded.
SPY = """#include <stdio.h>
__attribute__((constructor)) static void ran(void) {
  FILE* file = fopen("ran", "a");
  if (file == NULL) return;
  fputs("ran", file);
  fclose(file);
}
"""
BROKEN = """#include <signal.h>
#include "plugin_abi.h"
%(before)s
static pipe_code describe(const pipe_call* call) {
  static const char text[] = "%(json)s";
  pipe_text json;
  json.data = text;
  json.size = sizeof text - 1;
  call->reply(call->ctx, json);
  return PIPE_OK;
}
const pipe_plugin* %(symbol)s(void);
const pipe_plugin* %(symbol)s(void) {
  static const pipe_plugin plugin = {sizeof(pipe_plugin), %(major)s, 0, 0, "%(name)s", "1", describe, 0, 0, 0, 0};
  return &plugin;
}
"""
CRASH = """__attribute__((constructor)) static void crash(void) {
  signal(SIGSEGV, SIG_DFL);
  raise(SIGSEGV);
}"""
VARIANTS = {  # name: the fault, parts of the message
    "future": ({"major": "2"}, ("speaks version 2", "this program speaks version 1")),
    "nosymbol": ({"symbol": "another_entry"}, ("does not export `pipe_plugin_entry`",)),
    "crash": ({"before": CRASH}, ("crashed while loading (signal 11)",)),
    "badjson": ({"json": "{"}, ("the reply of `describe`", "is not JSON")),
}


class Shop:
    """A directory with hello.c and the header, like a person's own, and the libraries that are built there."""

    def __init__(self, pipe, root):
        self.pipe, self.root = pipe, Path(root)
        self.plugin_directory = self.root / "found"
        self.plugin_directory.mkdir()
        for name in ("plugin_abi.h", "hello/hello.c"):
            shutil.copy(ROOT / "plugins" / name, self.root)

    def build(self, name, source):
        library = self.plugin_directory / f"pipe_{name}.so"
        subprocess.run([os.environ.get("CC", "cc"), *FLAGS, "-o", library, source], cwd=self.root, check=True, timeout=60)
        return library

    def build_as_the_page_says(self):
        """Runs the first command of ABI.md in a clone."""
        clone = self.root / "clone"
        for name in ("plugin_abi.h", "hello/hello.c"):
            (clone / "plugins" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / "plugins" / name, clone / "plugins" / name)
        page = (ROOT / "plugins" / "ABI.md").read_text(encoding="utf-8")
        line = next(line for line in page.splitlines() if line.startswith("cc "))
        subprocess.run(shlex.split(line), cwd=clone, check=True, timeout=60)
        return Path(shutil.move(clone / "pipe_hello.so", self.plugin_directory))

    def build_broken(self, name):
        source = self.root / f"{name}.c"
        source.write_text(BROKEN % {"before": "", "json": "{}", "symbol": "pipe_plugin_entry",
                                    "major": "PIPE_ABI_MAJOR", "name": name, **VARIANTS[name][0]})
        return self.build(name, source.name)

    def run(self, *words, code, err=(), out=()):
        run = subprocess.run([self.pipe, *map(str, words)], cwd=self.root, capture_output=True, text=True, timeout=60,
                             env={**os.environ, "PIPE_PLUGINS": str(self.plugin_directory)})
        told = f"pipe {' '.join(map(str, words))}: exit {run.returncode}\n{run.stdout}{run.stderr}"
        check(run.returncode == code, f"{told}\nexpected exit {code}")
        for part in err:
            check(part in run.stderr, f"{told}\nnot on standard error: {part}")
        for part in out:
            check(part in run.stdout, f"{told}\nnot on standard output: {part}")
        return run

    def write(self, stage):
        path = self.root / "p.yaml"
        path.write_text(f"pipe: 1\nname: p\nstages:\n  greeting: {stage}\n")
        return path


def commands(shop):
    shop.run("plugins", code=0, out=("train 1.0.0", "command  pipe trainer"))  # the plugin that comes with the program
    shop.run("hello", "you", code=2, err=("no command 'hello'",))
    library = shop.build_as_the_page_says()
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True)
    check([line.split()[-1] for line in symbols.stdout.splitlines()] == ["pipe_plugin_entry"], symbols.stdout)
    shop.run("plugins", code=0, out=("hello 1.0.0", "stage    greet", "command  pipe hello"))
    run = shop.run("hello", "you", "--and me", code=0)
    check(run.stdout == "hello you\nhello --and me\n", run.stdout)
    shop.run("hello", code=2, err=("hello: say whom to greet",))
    shop.run("helo", code=2, err=("no command 'helo'",))


def only_what_runs_loads_what_a_file_names(shop):
    """A pipeline names a plugin by its path, in the middle; every command is tried on it."""
    support.PIPE = str(shop.pipe)
    source = shop.root / "spy.c"
    source.write_text(SPY + (shop.root / "hello.c").read_text())
    library = shop.build("spy", source.name).rename(shop.root / "spy.so")
    with support.Sandbox() as sandbox:
        sandbox.stages["greeting"] = {"type": "greet", "plugin": str(library), "inputs": {"data": "text"},
                                      "out": str(sandbox.root / "greeting")}
        sandbox.stages["again"] = {"type": "greet", "plugin": str(library), "inputs": {"data": "greeting"},
                                   "out": str(sandbox.root / "again")}
        ran = sandbox.root / "ran"

        def loads(command, *words):
            run = sandbox.run(*words, command=command)
            loaded = ran.exists()
            ran.unlink(missing_ok=True)
            return run, loaded

        looking = [("validate",), ("graph",), ("graph", "--format", "dot"), ("status",), ("status", "--json"), ("doctor",),
                   ("report",), ("run", "-n"), ("run", "-n", "--explain"), ("retry", "-n"), ("clean", "-n")]
        run, loaded = loads("run")  # makes the artifacts that the next commands look at
        check(run.code == 0 and loaded, f"`pipe run` did not load it\n{run.err}")
        before = support.tree(sandbox.work / "artifacts")
        for command, *words in looking:
            told = f"pipe {command} {' '.join(words)}"
            run, loaded = loads(command, *words)
            check(not loaded, f"{told} ran what the file names")
            check(run.code == (2 if command in ("clean", "retry") else 0), f"{told}: exit {run.code}\n{run.err}")
            check("stage 'greeting': is left out without --allow-plugin" in run.err, f"{told}\n{run.err}")
            check("stage 'again': is left out without --allow-plugin" in run.err, f"{told}\n{run.err}")
            run, loaded = loads(command, *words, "--allow-plugin")
            check(loaded and run.code == (2 if command == "retry" else 0) and "left out without" not in run.err, f"{told} --allow-plugin\n{run.err}")
        run, loaded = loads("clean")
        check(run.code == 2 and not loaded and support.tree(sandbox.work / "artifacts") == before, run.err)
        for words in (("cat", sandbox.artifact), ("stats", sandbox.artifact), ("ls", sandbox.root), ("verify", sandbox.artifact),
                      ("verify", sandbox.root / "greeting"), ("schema",), ("reference",), ("plugins",),
                      ("cp", sandbox.file, sandbox.root / "copy.yaml")):
            subprocess.run([shop.pipe, *map(str, words)], cwd=sandbox.root, capture_output=True, timeout=60, check=True)
            check(not ran.exists(), f"pipe {words[0]} ran what a file names")
        text = loads("graph")[0].out
        check("docs" in text and "greeting" not in text, text)
        for command, *words in (("retry",), ("plan", "-o", str(sandbox.root / "plan")), ("run", "--force", "greeting")):
            run, loaded = loads(command, *words)
            # Nothing failed, so `retry` has nothing to run.
            check(run.code == (2 if command == "retry" else 0) and loaded, f"`pipe {command}` did not load it\n{run.err}")
        for path in (sandbox.work, sandbox.out, sandbox.root / "greeting", sandbox.root / "again"):
            support.shutil.rmtree(path)
        loads("plan", "-o", str(sandbox.root / "plan"))
        unit = json.loads(support.read(sandbox.root / "plan/plan.json"))["units"][0]["unit"]
        subprocess.run([shop.pipe, "worker", "--plan", sandbox.root / "plan", "--unit", unit], cwd=sandbox.root,
                       check=True, capture_output=True, timeout=60)
        check(ran.exists(), "`pipe worker` did not load it")
        ran.unlink()
        run, loaded = loads("clean", "--all")
        check(run.code == 0 and not loaded, run.err)
        # Under its name in a directory of plugins the same library is trusted in every file.
        library.rename(shop.plugin_directory / "pipe_hello.so")
        for name in ("greeting", "again"):
            sandbox.stages[name]["plugin"] = "hello"
        for command, *words in (("run",), *looking):
            run = sandbox.run(*words, command=command, env={"PIPE_PLUGINS": str(shop.plugin_directory)})
            check(run.code == (2 if command == "retry" else 0) and ran.exists(), f"pipe {command}: did not load it by its name\n{run.err}")
            ran.unlink()
    shop.build("hello", "hello.c")


def mistakes_in_the_file(shop):
    for stage, part in (
            ("{ type: greet, plugin: helo, data: x, out: o }", "p.yaml:4:36: stage 'greeting': there is no plugin 'helo'"),
            ("{ type: great, plugin: hello, data: x, out: o }",
             "p.yaml:4:36: stage 'greeting': the plugin 'hello' has no stage type 'great'; did you mean 'greet'?"),
            ("{ type: greet, plugin: ./none.so, data: x, out: o }", "./none.so: there is no such plugin file"),
            ("{ type: greet, plugin: hello, grating: hi, data: x, out: o }", "unknown key 'grating'; did you mean 'greeting'?"),
            ("{ type: greet, plugin: hello, times: often, data: x, out: o }", "'times' must be a whole number"),
            ("{ type: greet, data: x, out: o }", 'there is no stage type "greet"')):
        shop.run("validate", "--allow-plugin", shop.write(stage), code=2, err=(part,))


def a_job_in_a_pipeline(shop):
    """text -> greet: published, reused, continued, made again; its messages are kept."""
    support.PIPE = str(shop.pipe)
    with support.Sandbox() as sandbox:
        out = sandbox.root / "greeting"
        stage = {"type": "greet", "plugin": "hello", "inputs": {"data": "text"}, "out": str(out), "greeting": "hi"}
        sandbox.stages["greeting"] = stage
        env = {"PIPE_PLUGINS": str(shop.plugin_directory)}
        run = sandbox.ok(env=env)
        check(run.of("jobs", "greeting") == 1, run.counted())
        text = (out / "greeting.txt").read_text()
        objects = sorted(str(path.relative_to(sandbox.artifact)) for path in sandbox.artifact.rglob("*")
                         if path.is_file() and ".pipe" not in path.relative_to(sandbox.artifact).parts)
        check([line.split()[1] for line in text.splitlines()] == objects, text)
        check(all(line.startswith("hi ") for line in text.splitlines()), text)
        manifest = json.loads((out / "MANIFEST.json").read_text())
        check(manifest["facts"] == {"greeted": len(objects)}, manifest)
        check("hello.greet" in json.dumps(manifest), manifest)
        check(f"greeted {len(objects)} objects" in run.err and "hello from a plugin" in run.err, run.err)
        events = [json.loads(line) for path in sandbox.work.glob("runs/*/plugin_events.jsonl") for line in path.open()]
        check([event["event"]["kind"] for event in events] == ["progress", "note"], events)
        check(all(event["stage"] == "greeting" and event["time"].endswith("Z") for event in events), events)

        check(sandbox.ok(env=env).of("jobs") == 0, "ran again for nothing")
        stage["times"] = 2  # changes how far the job goes, not its recipe
        run = sandbox.ok(env=env)
        check(run.of("jobs", "greeting") == 1 and run.of("partitions") == 0, run.counted())
        check((out / "greeting.txt").read_text() == text * 2, "did not go on")
        recipe = json.loads((out / "MANIFEST.json").read_text())["lineage"][-1]["recipe"]
        check(recipe == manifest["lineage"][-1]["recipe"], "another recipe")
        stage["greeting"] = "hey"
        run = sandbox.run(env=env)
        check(run.code == 2 and "holds another recipe" in run.err, run.err)
        sandbox.ok("--force", "greeting", env=env)
        check((out / "greeting.txt").read_text().startswith("hey "), "not replaced")
        stage["greeting"] = ""
        run = sandbox.run(env=env)
        check(run.code == 2 and "greeting: must not be empty" in run.err, run.err)


def broken_plugins(shop):
    for name, (_, parts) in VARIANTS.items():
        library = shop.build_broken(name)
        path = shop.write(f"{{ type: s, plugin: {name}, out: o }}")
        for command in ("validate", "run"):
            shop.run(command, path, code=2, err=("p.yaml:4:32: stage 'greeting': ", f"pipe_{name}.so", *parts))
        shop.run("plugins", code=1, err=parts, out=("hello 1.0.0",))
        shop.run("hello", "you", code=0, out=("hello you",))  # one broken plugin does not stop the others
        library.unlink()


def main():
    pipe = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as root:
        shop = Shop(pipe, root)
        for scenario in (commands, only_what_runs_loads_what_a_file_names, mistakes_in_the_file, a_job_in_a_pipeline, broken_plugins):
            scenario(shop)
            print(f"{scenario.__name__}: as it should be")


if __name__ == "__main__":
    main()
