#!/usr/bin/env python3
"""Signals, and calls that the machine refuses: each ends with an exit code and a line, and the next run makes the same
bytes.

    limits.py PIPE [SCENARIO...]
"""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import replan_support as support
from replan_support import Sandbox, check, check_says, tree

# Refuses on request: every other call that a signal may interrupt, and threads from the Nth on.
SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/types.h>

static atomic_int broken_off;
static int breaks(void) {
  static atomic_int calls;
  if (getenv("SHIM_EINTR") == NULL || atomic_fetch_add(&calls, 1) % 2 != 0) return 0;
  atomic_fetch_add(&broken_off, 1);
  errno = EINTR;
  return 1;
}
__attribute__((destructor)) static void tell(void) {
  const char* path = getenv("SHIM_EINTR");
  FILE* file = path == NULL ? NULL : fopen(path, "w");
  if (file == NULL) return;
  fprintf(file, "%d", broken_off);
  fclose(file);
}
#define REAL(type, name) ((type)dlsym(RTLD_NEXT, name))
int flock(int file, int what) { return breaks() ? -1 : REAL(int (*)(int, int), "flock")(file, what); }
int fsync(int file) { return breaks() ? -1 : REAL(int (*)(int), "fsync")(file); }
int fdatasync(int file) { return breaks() ? -1 : REAL(int (*)(int), "fdatasync")(file); }
int ftruncate(int file, off_t size) {
  return breaks() ? -1 : REAL(int (*)(int, off_t), "ftruncate")(file, size);
}
int pthread_create(pthread_t* made, const pthread_attr_t* how, void* (*run)(void*), void* with) {
  static atomic_int calls;
  const char* most = getenv("SHIM_THREADS");
  if (most != NULL && atomic_fetch_add(&calls, 1) >= atoi(most)) return EAGAIN;
  return REAL(int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*), "pthread_create")(made, how, run, with);
}
"""
BUG = "[this is a bug]"


def shim(directory):
    source, library = directory / "shim.c", directory / "shim.so"
    source.write_text(SHIM)
    subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True, timeout=60)
    return str(library)


def small(sandbox, documents=60):
    sandbox.source.write_bytes(support.corpus(documents=documents))
    return sandbox


def wanted():
    """The bytes of an undisturbed run."""
    with small(Sandbox()) as sandbox:
        sandbox.ok("-j2")
        return tree(sandbox.out)


def recovers(sandbox, want):
    sandbox.ok("-j2")
    check(tree(sandbox.out) == want, "other bytes afterwards")


def told(code, err, codes=(1,)):
    """Checks that a process that could not continue reported an error itself."""
    check(code in codes, f"exit {code}, expected one of {codes}\n{err}")
    check(re.search(r"^error: \S", err, re.MULTILINE) is not None and BUG not in err, f"exit {code}, and no line:\n{err}")


def wait_for(condition, seconds=20):
    until = time.monotonic() + seconds
    while not condition():
        check(time.monotonic() < until, "waited in vain")
        time.sleep(0.01)


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def with_command(script):
    """lines -> upper -> docs -> text. `upper` is a command with one partition; the location is its directory."""
    sandbox = small(Sandbox())
    sandbox.stages["lines"]["partition"] = "16MiB"
    sandbox.stages["upper"] = {"type": "exec", "input": "lines", "command": ["sh", "-c", script]}
    del sandbox.stages["clean"]
    sandbox.stages["docs"]["input"] = "upper"
    return sandbox


# --- Signals

def the_end_of_the_terminal_stops():
    with with_command("touch started; sleep 60; cat") as sandbox:
        child = sandbox.start("-j1")
        wait_for((sandbox.root / "started").exists)
        child.send_signal(signal.SIGHUP)
        _, err = child.communicate(timeout=20)
        check(child.returncode == 129, f"exit {child.returncode}, expected 129\n{err.decode()}")
        check_says(err.decode(), "stopping", "goes on from there")


def what_was_ignored_at_the_start_stays_ignored():
    script = "trap > traps; touch started; while [ ! -e go ]; do sleep 0.02; done; cat"
    with with_command(script) as sandbox:
        numbers = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)

        def ignore():
            for number in numbers:
                signal.signal(number, signal.SIG_IGN)

        child = sandbox.start("-j1", preexec_fn=ignore)
        wait_for((sandbox.root / "started").exists)
        for number in numbers:
            child.send_signal(number)
        (sandbox.root / "go").touch()
        _, err = child.communicate(timeout=20)
        check(child.returncode == 0, f"exit {child.returncode}, expected 0\n{err.decode()}")


# --- Children of a command

def the_group_of_a_command_ends_with_its_leader():
    with with_command("sleep 100 & echo $! > child; cat") as sandbox:
        run = sandbox.ok("-j1")
        check(run.seconds < 20, f"waited for what was left behind: {run.seconds:.1f} s")
        wait_for(lambda: not alive(support.read(sandbox.root / "child").strip()))
        seen = subprocess.run([support.PIPE, "cat", str(sandbox.artifact)], capture_output=True, check=True).stdout
        check(seen.count(b"\n") == 60 * 6, "records were lost")


def the_group_of_a_command_ends_with_a_killed_program():
    with with_command("sleep 100 & echo $! > child; echo $$ > leader; touch started; cat; wait") as sandbox:
        child = sandbox.start("-j1")
        wait_for((sandbox.root / "started").exists)
        child.kill()
        child.communicate(timeout=20)
        for name in ("leader", "child"):
            pid = support.read(sandbox.root / name).strip()
            wait_for(lambda: not alive(pid), 10)


# --- Refused calls

def a_call_that_a_signal_broke_off_is_made_again():
    want = wanted()
    with small(Sandbox()) as sandbox:
        env = {"LD_PRELOAD": shim(sandbox.root), "SHIM_EINTR": str(sandbox.root / "broken-off")}
        sandbox.ok("-j2", env=env)
        check(tree(sandbox.out) == want, "other bytes")
        count = int(support.read(sandbox.root / "broken-off"))
        check(count > 20, f"only {count} calls were broken off")
        return f"{count} calls"


def no_thread_is_a_line():
    want, ended = wanted(), []
    with small(Sandbox()) as sandbox:
        library = shim(sandbox.root)
        for most in (0, 1, 2, 3, 4, 5, 7, 9, 12):
            run = sandbox.run("-j4", env={"LD_PRELOAD": library, "SHIM_THREADS": str(most)})
            if run.code != 0:
                told(run.code, run.err)
                check_says(run.err, "thread")
            ended.append(run.code)
        check(ended.count(1) > 2, f"exit codes {ended}")
        recovers(sandbox, want)
    return f"exit codes {ended}"


def a_small_stack_is_enough():
    want = wanted()
    with small(Sandbox()) as sandbox:
        for kibibytes in (48, 64, 128):
            limit = kibibytes << 10
            run = sandbox.run("-j4", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (limit, limit)))
            check(run.code == 0, f"a stack of {kibibytes} KiB: exit code {run.code}\n{run.err}")
            recovers(sandbox, want)
            support.shutil.rmtree(sandbox.work)
            support.shutil.rmtree(sandbox.out)
    return "48, 64 and 128 KiB"


def no_memory_is_a_line():
    want, ended = wanted(), []
    with small(Sandbox()) as sandbox:
        for mebibytes in (100, 130, 160, 190, 220, 260, 320, 400):
            limit = mebibytes << 20
            run = sandbox.run("-j2", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
            if "while loading shared libraries" in run.err:
                continue
            if run.code != 0:
                told(run.code, run.err, (1, 2))
            ended.append(run.code)
        check(any(ended), f"exit codes {ended}: nothing was refused")
        recovers(sandbox, want)
    return f"exit codes {ended}"


def a_file_that_may_not_grow_is_a_line():
    want, ended = wanted(), []
    with small(Sandbox()) as sandbox:
        for most in (0, 100, 1000, 8000, 30000):
            run = sandbox.run("-j2", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)))
            if run.code != 0:
                told(run.code, run.err, (1, 2))
                check_says(run.err, "File too large")
            ended.append(run.code)
        check(ended[0] != 0 and ended[2] != 0, f"exit codes {ended}")
        recovers(sandbox, want)
    return f"exit codes {ended}"


def commands(sandbox):
    """Every command that prints."""
    file, artifact, work = str(sandbox.file), str(sandbox.artifact), ("--work", str(sandbox.work))
    return [("--help",), ("--version",), ("run", "--help"), ("schema",), ("reference",), ("plugins",), ("validate", file),
            ("graph", file), ("graph", file, "--format", "dot"), ("status", file, *work), ("status", file, *work, "--json"),
            ("run", "-n", file, *work), ("run", file, *work), ("report", file, *work), ("cat", artifact),
            ("stats", artifact), ("ls", artifact), ("verify", artifact), ("clean", "-n", file, *work),
            ("doctor", file, *work), ("plan", file, *work, "-o", str(sandbox.root / "plan"))]


def a_full_output_is_a_line():
    with small(Sandbox()) as sandbox:
        sandbox.ok()
        words_of = commands(sandbox)
        for words in words_of:
            with open("/dev/full", "wb") as full:
                run = subprocess.run([support.PIPE, *words], stdout=full, stderr=subprocess.PIPE, cwd=sandbox.root, timeout=50)
            err = run.stderr.decode()
            check(run.returncode == 1 and "error: standard output: " in err,
                  f"pipe {' '.join(words)}: exit {run.returncode}\n{err}")
            check(err.count("standard output") == 1, f"pipe {' '.join(words)}: said twice\n{err}")
            closed = subprocess.run([support.PIPE, *words], stderr=subprocess.PIPE, cwd=sandbox.root, timeout=50,
                                    preexec_fn=lambda: os.close(1))
            check(closed.returncode == 1, f"pipe {' '.join(words)} >&-: exit {closed.returncode}\n{closed.stderr.decode()}")
        check(not [path for path in sandbox.root.rglob("*") if path.is_file() and path.read_bytes()[:5] == b"tiny:"],
              "what was printed is in a file of the run")
        return f"{len(words_of)} commands"


def a_reader_that_goes_away_is_none():
    with small(Sandbox(), documents=600) as sandbox:
        sandbox.ok()
        words_of = commands(sandbox)
        for words in words_of:
            read, write = os.pipe()
            os.close(read)
            run = subprocess.run([support.PIPE, *words], stdout=write, stderr=subprocess.PIPE, cwd=sandbox.root, timeout=50)
            os.close(write)
            check(run.returncode == 0 and b"standard output" not in run.stderr,
                  f"pipe {' '.join(words)}: exit {run.returncode}\n{run.stderr.decode()}")
        return f"{len(words_of)} commands"


SCENARIOS = (the_end_of_the_terminal_stops, what_was_ignored_at_the_start_stays_ignored,
             the_group_of_a_command_ends_with_its_leader, the_group_of_a_command_ends_with_a_killed_program,
             a_call_that_a_signal_broke_off_is_made_again, no_thread_is_a_line, a_small_stack_is_enough,
             no_memory_is_a_line, a_file_that_may_not_grow_is_a_line, a_full_output_is_a_line,
             a_reader_that_goes_away_is_none)

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
