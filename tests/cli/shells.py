#!/usr/bin/env python3
"""Help, completion in bash, zsh and fish, and the manual page: all from one table, tried in these shells and in `man`.

    shells.py PIPE
"""

import os
import pty
import re
import select
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
from scenarios import check

# The text in front of the cursor, and the possible continuations.
TRIALS = (("pipe ver", {"verify"}), ("pipe run --log", {"--log-format"}), ("pipe run --log-format ", {"text", "json"}),
          ("pipe completion ", {"bash", "zsh", "fish"}), ("pipe graph --format mer", {"mermaid"}),
          ("pipe trainer ", {"setup", "wheels", "check", "fit"}), ("pipe trainer setup --ext", {"--extra"}),
          ("pipe trainer setup --extra ", {"cpu", "cuda", "tensorboard", "tpu"}), ("pipe trainer fit --pr", {"--price"}),
          ("pipe sample --prom", {"--prompt"}), ("pipe export --int", {"--int8"}), ("pipe export --gguf ", {"f16", "q8_0", "both"}))
# Commands of the plugin that trains, which the help of the program lists behind its own.
TRAINER = {"trainer setup": {"--dir", "--extra", "--python", "--wheels"}, "trainer check": {"--dir"},
           "trainer wheels": {"--extra", "--python", "--for"},
           "trainer fit": {"--set", "--stage", "--on", "--price", "--environment"},
           "sample": {"--prompt", "--length", "--temperature", "--top-p", "--seed", "--environment", "--cache"}}


PAGES_OF_WORKERS = [Path(__file__).parents[2] / "dag/package" / name for name in ("work_package.md", "work_queue.md")]


def said(*command, **more):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=60, check=False, **more)
    check(done.returncode == 0, f"{command}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def commands_of(pipe):
    """{command: flags} as --help prints them."""
    listed = said(pipe, "--help").partition("Subcommands:")[2]
    names = re.findall(r"^  ([a-z]+) ", listed, re.MULTILINE)
    check(len(names) > 15 and "run" in names, f"--help lists {names}")
    flags = {name: set(re.findall(r"(?<=[ ,])--[a-z0-9-]+(?=[ ,\n])", said(pipe, name, "--help"))) for name in names}
    check("--dry-run" in flags["run"], f"run has {flags['run']}")
    return flags


def bash(script, line):
    words = line.split(" ")
    program = f'source "$0"; COMP_WORDS=({" ".join(words)} {"" if words[-1] else chr(39) * 2}); ' \
              f'COMP_CWORD={len(words) - 1}; _pipe; printf "%s\\n" "${{COMPREPLY[@]}}"'
    return set(said("bash", "-c", program, script).split())


def fish(script, line):
    return {found.split("\t")[0] for found in said("fish", "-c", 'source $argv[1]; complete -C "$argv[2]"', script, line,
                                                  env={**os.environ, "HOME": str(script.parent)}).splitlines()}


class Zsh:
    """A zsh on a terminal of its own, because its completion needs a line to edit."""

    def __init__(self, script):
        pid, self.terminal = pty.fork()
        if pid == 0:
            os.environ.update(TERM="dumb", HOME=str(script.parent), COLUMNS="200", LINES="60", PS1="", RPS1="")
            os.chdir(script.parent)
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.send("PS1=; unsetopt prompt_cr prompt_sp zle_bracketed_paste; autoload -Uz compinit; compinit -u -D\n"
                  f"source {script}; zstyle ':completion:*' list-rows-first yes; LISTMAX=1000; echo rea''dy\n")
        self.until("ready")

    def send(self, text):
        os.write(self.terminal, text.encode())

    def until(self, wanted, seconds=20):
        """Its output up to `wanted`."""
        seen, end = "", time.monotonic() + seconds
        while wanted not in seen:
            ready = select.select([self.terminal], [], [], max(end - time.monotonic(), 0))[0]
            check(ready, f"zsh does not print {wanted}: {seen!r}")
            seen += os.read(self.terminal, 65536).decode(errors="replace")
        return seen

    def complete(self, line):
        """The listing that Ctrl-D requests, or the line completed with its only match."""
        self.send(line + "\x04")  # delete-char-or-list
        time.sleep(0.5)
        self.send("\t\x15echo en''d\n")
        return self.until("end")


def main(pipe):
    flags = commands_of(pipe)
    check(said(pipe, "help", "run") == said(pipe, "run", "--help"), "`pipe help run` is not `pipe run --help`")
    check(said(pipe, "help") == said(pipe, "--help"), "`pipe help` is not `pipe --help`")
    for asked in (("--help",), ("-h",), ("help",)):
        listed = set(re.findall(r"^  ([a-z]+) ", said(pipe, *asked).partition("Subcommands:")[2], re.MULTILINE))
        missing = {"help", "trainer", "sample", "eval", "export", "predict"} - listed
        check(not missing, f"`pipe {asked[0]}` does not list {missing}")
    check(said(pipe, "--help", "run") == said(pipe, "run", "--help"), "`pipe --help run` is not `pipe run --help`")
    codes = {code for page in PAGES_OF_WORKERS for code in re.findall(r"^\| (\d+) \|", page.read_text("utf-8"), re.MULTILINE)}
    told = said(pipe, "help", "worker").partition("Exit status:")[2]
    check(codes == set(re.findall(r"\b\d+\b", told)), f"`pipe help worker` names the exit statuses {told}, its pages {codes}")
    for name, options in TRAINER.items():
        told = said(pipe, *name.split(), "--help")
        check(said(pipe, "help", *name.split()) == told == said(pipe, *name.split(), "-h"), f"`pipe help {name}` is another")
        found = set(re.findall(r"^  (?:-h,)?(--[a-z-]+)", told, re.MULTILINE))
        check(told.splitlines()[1].startswith(f"Usage: pipe {name} [OPTIONS]"), told)
        check(found == options | {"--help"}, f"pipe {name} --help shows {found}")
        flags[name] = options
    told = said(pipe, "trainer", "--help")
    check(all(re.search(f"^  {name} ", told, re.MULTILINE) for name in ("setup", "check", "fit")), told)
    with tempfile.TemporaryDirectory() as directory:
        scripts = {}
        for shell in ("bash", "zsh", "fish"):
            scripts[shell] = Path(directory) / f"pipe.{shell}"
            scripts[shell].write_text(said(pipe, "completion", shell), encoding="utf-8")
            said(shell, "-n", scripts[shell])
        for name, options in flags.items():
            found = bash(scripts["bash"], f"pipe {name} --")
            check(found == options | {"--help"}, f"bash completes {name} with {sorted(found ^ (options | {'--help'}))} too many or too few")
            found = {word for word in fish(scripts["fish"], f"pipe {name} --") if word.startswith("--")}
            check(options - {"--help"} <= found, f"fish does not complete {name} with {sorted(options - found)}")
        zsh = Zsh(scripts["zsh"])
        for line, wanted in TRIALS:
            for shell, found in (("bash", bash(scripts["bash"], line)), ("fish", fish(scripts["fish"], line))):
                check(found == wanted, f"{shell}: '{line}' goes on with {found}, not {wanted}")
            listed = zsh.complete(line)
            check(all(word in listed for word in wanted), f"zsh: '{line}' does not go on with {wanted}: {listed!r}")
        page = Path(directory) / "pipe.1"
        page.write_text(said(pipe, "manual"), encoding="utf-8")
        shown = subprocess.run(["man", "--warnings", "-l", page], capture_output=True, text=True, timeout=60, check=True,
                               env={**os.environ, "MANWIDTH": "200", "MANPAGER": "cat", "LC_ALL": "C.UTF-8"})
        check(not shown.stderr, f"man warns: {shown.stderr}")
        text = re.sub(".\b", "", shown.stdout)
        for name, options in flags.items():
            check(f"pipe {name}" in text, f"the manual page lacks {name}")
            check(all(option in text for option in options - {"--help"}), f"the manual page lacks words of {name}")
    print(f"{len(flags)} commands with {sum(map(len, flags.values()))} words in help, three shells and a manual page")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
