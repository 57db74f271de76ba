"""Rows about one run by many workers."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from measuring import digest

QUOTA = 0.4  # of a core, for each of the hosts
HOSTS = 3
UNITS, UNIT_BYTES = 210, 6_000_000
MANY_UNITS, MANY_BYTES, MANY_WORKERS = 10_000, 3000, 8
# A unit of real work takes seconds; a tenth of one is enough to see what a unit costs the command that watches.
PAUSE = 0.1
WORDS = "type: segment_words, dictionary: ipadic"
WAITS = f'type: exec, command: [sh, -c, "sleep {PAUSE}; exec cat"]'
CGROUPS = Path("/sys/fs/cgroup")

FILE = """\
pipe: 1
name: bench_submit
limits: {{ memory: 512MiB }}
stages:
  source: {{ type: download, url: "{files}" }}
  lines: {{ type: decompress, input: source, partition: 16MiB }}
  words: {{ {words}, input: lines }}
  text: {{ type: write_tfds, input: words, name: bench, version: 1.0.0, shards: {shards}, out: "{out}" }}
"""
WORK = re.compile(r"this worker did (\d+) units?; ([0-9.]+) s of its ([0-9.]+) s")


class Quota:
    """A group of processes that get a part of a core, as a small host does. `words` begin a command in it."""

    def __init__(self, name, cores):
        self.folder, self.words = None, ["cpulimit", "-i", "-l", str(int(cores * 100)), "--"]
        second = (CGROUPS / "cgroup.controllers").exists()
        folder = (CGROUPS if second else CGROUPS / "cpu") / f"pipe-bench-{os.getpid()}-{name}"
        try:
            folder.mkdir()
            if second:
                (CGROUPS / "cgroup.subtree_control").write_text("+cpu")
                (folder / "cpu.max").write_text(f"{int(cores * 100_000)} 100000")
            else:
                (folder / "cpu.cfs_quota_us").write_text(str(int(cores * 100_000)))
        except OSError:
            if not shutil.which("cpulimit"):
                sys.exit("bench: a quota of processors needs root with cgroups, or cpulimit")
            return
        self.folder = folder
        self.words = ["sh", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$@"', "sh"]

    def remove(self):
        if self.folder:
            self.folder.rmdir()


def package(bench, root, files, words, shards=4):
    """Plans a run over `files`; returns its package."""
    root.mkdir(parents=True)
    (root / "run.yaml").write_text(FILE.format(files=files, words=words, shards=shards, out=root / "out"))
    subprocess.run([bench.binaries / "pipe", "plan", root / "run.yaml", "--work", root / "work", "-o",
                    root / "package"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return root / "package"


def by_workers(bench, root, place, hosts):
    """Runs a package by one worker on each of some small hosts; returns the wall time and what the workers said."""
    quotas = [Quota(number, QUOTA) for number in range(hosts)]
    try:
        start = time.monotonic()
        workers = [subprocess.Popen([*quota.words, str(bench.binaries / "pipe"), "worker", "--plan", str(place), "--next",
                                     "-j", "1", "--scratch", str(root)], stderr=subprocess.PIPE, text=True)
                   for quota in quotas]
        said = [worker.communicate()[1] for worker in workers]
        wall = time.monotonic() - start
        if any(worker.returncode != 0 for worker in workers):
            sys.exit(f"bench: a worker failed\n{said}")
        return wall, said
    finally:
        for quota in quotas:
            quota.remove()


def utilisation(bench):
    """Small hosts, each with one worker, over units of some seconds: the part of their time that is a unit's."""
    root = bench.root / "submit"
    shutil.rmtree(root, ignore_errors=True)
    files = root / "files"
    files.mkdir(parents=True)
    text = bench.texts.plain.read_bytes()[:UNIT_BYTES]
    for number in range(UNITS):
        (files / f"{number:03}.txt").write_bytes(f"{number}\n".encode() + text[: text.rfind(b"\n") + 1])
    try:
        wall, said = by_workers(bench, root, package(bench, root / "run", files / "*.txt", WORDS), HOSTS)
        found = [WORK.search(text) for text in said]
        in_units, units = sum(float(one[2]) for one in found), sum(int(one[1]) for one in found)
        bench.row(f"utilisation of {HOSTS} hosts of {QUOTA} core, units of {in_units / units:.1f} s",
                  in_units / (HOSTS * wall), 0.9, note=f"{units} units in {wall:.0f} s")
    finally:
        shutil.rmtree(root, ignore_errors=True)


def one_file(bench):
    """One file of many blocks, whose cuts nobody knows: by workers on several small hosts, on one, and by `pipe run`
    there."""
    root, text = bench.root / "submit_one", bench.texts.large
    shutil.rmtree(root, ignore_errors=True)
    try:
        walls = {hosts: by_workers(bench, root, package(bench, root / f"by_{hosts}", text, WORDS, shards=12), hosts)[0]
                 for hosts in (HOSTS, 1)}
        alone = Quota("alone", QUOTA)
        try:
            package(bench, root / "alone", text, WORDS, shards=12)
            start = time.monotonic()
            subprocess.run([*alone.words, str(bench.binaries / "pipe"), "run", str(root / "alone/run.yaml"), "--work",
                            str(root / "alone/work"), "-j", "1"], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            whole = time.monotonic() - start
        finally:
            alone.remove()
        made = [[digest([path]) for path in sorted((root / name / "out").rglob("*tfrecord*"))]
                for name in (f"by_{HOSTS}", "by_1", "alone")]
        if not made[0] or any(one != made[0] for one in made):
            sys.exit("bench: workers and `pipe run` made other bytes")
        size = bench.texts.large_times * bench.texts.plain.stat().st_size
        bench.row(f"one .xz of many blocks, wall of 1 host of {QUOTA} core / of {HOSTS}", walls[1] / walls[HOSTS], 2.7,
                  note=f"{size / 1e6:.0f} MB of text, {walls[1]:.0f} s and {walls[HOSTS]:.0f} s; `pipe run` on one host "
                       f"{whole:.0f} s, {whole / walls[HOSTS]:.2f} times as long as {HOSTS} hosts")
    finally:
        shutil.rmtree(root, ignore_errors=True)


def controller(bench):
    """The command that watches: its share of a core, and its memory, over many short units."""
    root = bench.root / "submit_many"
    shutil.rmtree(root, ignore_errors=True)
    files = root / "files"
    files.mkdir(parents=True)
    with open(bench.texts.plain, "rb") as text:
        for number in range(MANY_UNITS):
            (files / f"{number:05}.txt").write_bytes(text.read(MANY_BYTES) + text.readline())
    time.sleep(2)  # the digest of a file that was changed just now is not kept
    try:
        (root / "run.yaml").write_text(FILE.format(files=files / "*.txt", words=WAITS, shards=4, out=root / "out"))
        command = [str(bench.binaries / "pipe"), "submit", str(root / "run.yaml"), "--work", str(root / "work"), "--on",
                   "local", "--workers"]
        # The plan and the start of the workers are another command's: the watch attaches.
        first = subprocess.Popen([*command, str(MANY_WORKERS), "--cores", "1"], stderr=subprocess.DEVNULL)
        while not any((root / "work" / "package").glob("lease/*/*")):
            time.sleep(0.1)
        start = time.monotonic()
        with subprocess.Popen([*command, str(MANY_WORKERS)], stderr=subprocess.PIPE) as watch:
            errors = watch.stderr.read()
            _, status, used = os.wait4(watch.pid, 0)
            watch.returncode = os.waitstatus_to_exitcode(status)
        wall = time.monotonic() - start
        if watch.returncode != 0 or first.wait() != 0:
            sys.exit(f"bench: submit failed\n{errors.decode()}")
        cpu = used.ru_utime + used.ru_stime
        bench.row(f"`pipe submit` that watches units of {PAUSE} s, share of a core", cpu / wall * 100, 1.0, most=True,
                  unit=" %", note=f"{MANY_UNITS:,} units, {MANY_WORKERS} workers, {wall:.0f} s")
        bench.row("CPU of the same for each unit", cpu / MANY_UNITS * 1000, None, unit=" ms")
        bench.row("memory of the same", used.ru_maxrss / 1024, 200, most=True, unit=" MiB")
    finally:
        shutil.rmtree(root, ignore_errors=True)


def rows(bench):
    utilisation(bench)
    one_file(bench)
    controller(bench)
