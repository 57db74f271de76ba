#!/usr/bin/env python3
"""Measures `pipe` beside its floors; 1 where one of them is missed. How and why: bench/README.md.

    run.py BIN [--corpus FILE.xz] [--python PROGRAM] [--only NAME...] [--pairs N]
"""

import argparse
import collections
import fcntl
import hashlib
import json
import os
import platform
import shutil
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import upload_rows

HERE = Path(__file__).resolve().parent
CORPUS_BYTES = 72_000_000
MIB = 1 << 20
ONE_CORE = ("taskset", "-c", "0")
FOREIGN = 0.05  # a pair that is about wall is measured again where others took more of the machine
RETRIES = 1  # for each pair


@dataclass
class Cost:
    wall: float
    cpu: float  # user and system, of all threads
    peak: int   # bytes resident
    foreign: float  # share of the machine's time that other processes took meanwhile


def busy_seconds():
    user, nice, system, _, _, irq, softirq, steal = map(int, Path("/proc/stat").read_text().split()[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def run(command, stdout=subprocess.DEVNULL, accept=(0,)):
    """What one run of a program costs. Ends the measurement where the program fails."""
    busy, start = busy_seconds(), time.monotonic()
    with subprocess.Popen([str(word) for word in command], stdout=stdout, stderr=subprocess.PIPE) as child:
        errors = child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.monotonic() - start
    if child.returncode not in accept:
        sys.exit(f"bench: {' '.join(map(str, command))}: exit {child.returncode}\n{errors.decode()}")
    cpu = used.ru_utime + used.ru_stime
    foreign = max(0.0, busy_seconds() - busy - cpu) / wall / os.cpu_count()
    return Cost(wall, cpu, used.ru_maxrss * 1024, foreign)


class Bench:
    def __init__(self, binaries, python, trainer, corpus, place, pairs):
        self.binaries = binaries
        self.python = python
        self.trainer = trainer
        self.place = place
        self.pairs_wanted = pairs
        self.floors = []  # (name, met)
        self.scratch = place / "scratch"
        self.make_inputs(corpus)

    # ------------------------------------------------------------------------------------ inputs

    def make_inputs(self, corpus):
        """One text as one block, as many blocks, ten times over, and plain; made once and kept."""
        self.place.mkdir(parents=True, exist_ok=True)
        if corpus is None:
            corpus = self.place / "made.txt.xz"
            self.make(corpus, f"{HERE / 'make_corpus.py'} {CORPUS_BYTES} | xz -6 -T1 -c")
        name = hashlib.sha256(str(corpus.resolve()).encode()).hexdigest()[:8]
        self.one_block = corpus
        self.blocks = self.place / f"{name}.blocks.xz"
        self.plain = self.place / f"{name}.txt"
        self.tenfold = self.place / f"{name}.tenfold.xz"
        self.long_block = self.place / f"{name}.long.xz"
        self.make(self.plain, f"xz -dc '{corpus}'")
        self.make(self.blocks, f"xz -6 -T2 --block-size=4MiB -c '{self.plain}'")
        self.make(self.long_block, f"cat {' '.join([repr(str(self.plain))] * 4)} | xz -1 -T1 -c")
        self.make(self.tenfold, "cat" + f" '{self.blocks}'" * 10)  # the streams of an .xz may be many

    @staticmethod
    def make(path, command):
        if path.exists():
            return
        part = path.with_suffix(".part")
        subprocess.run(["bash", "-o", "pipefail", "-c", f"{command} >'{part}'"], check=True)
        part.rename(path)

    # -------------------------------------------------------------------------------- measuring

    def pipe(self, corpus, *options, shuffle="none", settings=(), fresh=True, place=None, prefix=(), accept=(0,)):
        """`pipe run` from nothing, or on what the last one left."""
        place = place or self.scratch
        if fresh:
            shutil.rmtree(place, ignore_errors=True)
        command = [*prefix, self.binaries / "pipe", "run", HERE / "pipeline.yaml", "--work", place / "work"]
        for setting in (f"corpus={corpus}", f"out={place / 'out'}", f"stages.text.shuffle={shuffle}", *settings):
            command += ["--set", setting]
        return run([*command, *options], accept=accept)

    def pairs(self, one, other, of, wall=False):
        """The median of of(one, other) over interleaved pairs, all values, and the largest foreign share."""
        values, foreign, again = [], 0.0, 0
        one(), other()  # the page cache is warm
        while len(values) < self.pairs_wanted:
            first, second = (one(), other()) if len(values) % 2 == 0 else reversed((other(), one()))
            disturbed = max(first.foreign, second.foreign)
            if wall and disturbed > FOREIGN and again < RETRIES * self.pairs_wanted:
                again += 1
                continue
            values.append(of(first, second))
            foreign = max(foreign, disturbed)
        return statistics.median(values), values, foreign

    def row(self, name, value, floor, most=False, unit="", note=""):
        """`most`: the value may not be above the floor, else not below. None: there is no floor."""
        limit, verdict = "", ""
        if floor is not None:
            met = value <= floor if most else value >= floor
            limit, verdict = f"{'≤' if most else '≥'} {floor:g}{unit}", "ok" if met else "**missed**"
            self.floors.append((name, met))
        print(f"| {name} | {value:.3g}{unit} | {limit} | {verdict} | {note} |", flush=True)

    @staticmethod
    def spread(values):
        return f"{min(values):.3g} to {max(values):.3g}"

    # ------------------------------------------------------------------------------------- rows

    def overhead(self):
        """The same bytes by a loop around the same libraries, without us."""
        bare_out = self.place / "bare.tfrecord"

        def bare():
            return run([*ONE_CORE, self.binaries / "bare_chain", self.one_block, bare_out])

        value, values, _ = self.pairs(bare, lambda: self.pipe(self.one_block, "-j", 1, prefix=ONE_CORE),
                                      lambda one, other: one.cpu / other.cpu)
        shards = hashlib.sha256()
        for shard in sorted((self.scratch / "out").glob("bench/1.0.0/*.tfrecord-*")):
            shards.update(shard.read_bytes())
        if shards.digest() != hashlib.sha256(bare_out.read_bytes()).digest():
            sys.exit("bench: pipe and bare_chain wrote different records")
        self.row("CPU of a bare loop / of `pipe run`, on one core", value, 0.95, note=f"{self.spread(values)}; same bytes")

    def decoder(self):
        """Of a short input the start and the last commits are a part that shows; of a long one they are not."""
        for text, floor, what in ((self.one_block, None, "the text"), (self.long_block, 0.95, "four times the text")):
            value, values, foreign = self.pairs(lambda: run(["xz", "-dc", text]), lambda: self.pipe(text, "-j", 2),
                                                lambda one, other: one.wall / other.wall, wall=True)
            self.row(f"wall of `xz -dc` / of `pipe run`, one block of {what}", value, floor,
                     note=f"{self.spread(values)}; others took up to {foreign:.0%}")

    def shuffle(self):
        value, values, _ = self.pairs(lambda: self.pipe(self.one_block, "-j", 1, prefix=ONE_CORE),
                                      lambda: self.pipe(self.one_block, "-j", 1, shuffle="{seed: 0}", prefix=ONE_CORE),
                                      lambda without, with_it: 100 * (with_it.cpu - without.cpu) / with_it.cpu)
        self.row("shuffle's share of the CPU", value, 25, most=True, unit=" %", note=self.spread(values))

    def scaling(self):
        value, values, foreign = self.pairs(
            lambda: self.pipe(self.blocks, "-j", 2, prefix=ONE_CORE),
            lambda: self.pipe(self.blocks, "-j", 2), lambda one, two: one.wall / two.wall, wall=True)
        self.row("wall on one core / on two, many blocks", value, 1.7,
                 note=f"{self.spread(values)}; others took up to {foreign:.0%}")

    def memory(self):
        for shuffle in ("none", "{seed: 0}"):
            settings = ["memory=256MiB", "partition=8MiB"]
            if shuffle != "none":
                settings.append("stages.text.shards=2")  # each larger than the window of the unit that gathers it
            small = max(self.pipe(self.blocks, "-j", 2, shuffle=shuffle, settings=settings).peak for _ in range(3))
            large = self.pipe(self.tenfold, "-j", 2, shuffle=shuffle, settings=settings).peak
            name = "shuffled" if shuffle != "none" else "corpus order"
            self.row(f"peak memory / `limits.memory`, {name}, ten times the text", large / (256 * MIB), 1.0,
                     most=True, note=f"{large / MIB:.0f} MiB of 256")
            self.row(f"peak memory of ten times the text / of the text, {name}", large / small, 1.1, most=True,
                     note=f"{small / MIB:.0f} MiB, {large / MIB:.0f} MiB")

    def reads(self):
        shutil.rmtree(self.scratch, ignore_errors=True)
        done = subprocess.run([self.binaries / "shuffle_reads", self.one_block, self.scratch, str(4 * MIB),
                               str(64 * MIB), "1", "1000"], check=True, capture_output=True, text=True)
        for line in done.stdout.splitlines():
            shards, written, read, peak = map(int, line.split())
            self.row(f"bytes read / written, second pass, {shards} shards", read / written, 2.5, most=True,
                     note=f"{peak / MIB:.0f} MiB held")

    def planning(self):
        """100,000 partitions, made by a real run of as many documents, where syncing costs nothing."""
        place = Path("/dev/shm" if os.access("/dev/shm", os.W_OK) else self.place) / f"pipe-bench-{os.getpid()}"
        documents = self.place / "documents.txt"
        documents.write_text("".join(f"{number} 本日は晴天なり\n" for number in range(100_000)), encoding="utf-8")

        def go(*options, **more):
            return self.pipe(documents, *options, shuffle="{seed: 0}", place=place, fresh=False, **more,
                             settings=("partition=1B", "documents=line", "stages.text.shards=1000"))

        def median(*options):
            costs = [go(*options) for _ in range(self.pairs_wanted)]
            return statistics.median(cost.wall for cost in costs), statistics.median(cost.cpu for cost in costs)

        try:
            go()
            wall, cpu = median("-n")
            self.row("`pipe run -n`, 100,000 units and published", wall, 1.0, most=True, unit=" s", note=f"CPU {cpu:.2f} s")
            wall, cpu = median()
            self.row("`pipe run` with nothing to do", wall, 2.0, most=True, unit=" s", note=f"CPU {cpu:.2f} s")
            shutil.rmtree(place / "out")
            wall, cpu = median("-n")
            self.row("`pipe run -n`, 100,000 units, not published", wall, 1.0, most=True, unit=" s", note=f"CPU {cpu:.2f} s")
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def words(self):
        """The same morphemes by a loop around MeCab, without us."""
        def command(loop, threads):
            return [self.binaries / "words", loop, "ipadic", self.plain, 16 * MIB, threads]

        def morphemes(loop):
            return subprocess.run([str(word) for word in command(loop, 1)], check=True, capture_output=True).stdout

        if morphemes("bare") != morphemes("stage"):
            sys.exit("bench: segment_words and the loop around MeCab found different morphemes")
        value, values, _ = self.pairs(lambda: run([*ONE_CORE, *command("bare", 1)]),
                                      lambda: run([*ONE_CORE, *command("stage", 1)]),
                                      lambda bare, stage: bare.cpu / stage.cpu)
        self.row("CPU of a bare MeCab loop / of `segment_words`, on one core", value, 0.95,
                 note=f"{self.spread(values)}; same morphemes")
        factor, spread, foreign = {}, {}, 0.0
        for loop in ("bare", "stage"):
            factor[loop], values, others = self.pairs(lambda: run([*ONE_CORE, *command(loop, 2)]),
                                                      lambda: run(command(loop, 2)),
                                                      lambda one, two: one.wall / two.wall, wall=True)
            spread[loop], foreign = self.spread(values), max(foreign, others)
        # Two cores that share a cache or a pipeline do not give the loop itself 1.8 times.
        floor = min(1.8, round(0.97 * factor["bare"], 2))
        self.row("wall of `segment_words` on one core / on two", factor["stage"], floor,
                 note=f"{spread['stage']}; the bare loop {factor['bare']:.3g}, {spread['bare']}; "
                      f"others took up to {foreign:.0%}")

    def encode(self):
        """One thread, interleaved by the program itself; the same ids."""
        done = subprocess.run([*ONE_CORE, self.binaries / "encode_pair", self.plain, str(self.pairs_wanted)],
                              check=True, capture_output=True, text=True)
        pairs = [tuple(map(float, line.split())) for line in done.stdout.splitlines()]
        values = [loop / stage for loop, stage in pairs]
        self.row("CPU of a bare SentencePiece loop / of `encode`", statistics.median(values), 0.95,
                 note=self.spread(values))

    def packed(self):
        """Rows of ids from compressed text, as people make them in Python with a process per core. The tokenizer is
        made beforehand, and its artifact taken over by each run."""
        model = self.place / "tokenizer"
        rows, seq_len = self.place / "python.rows", 1024

        def pipe(*options):
            return run([self.binaries / "pipe", "run", HERE / "packed.yaml", "--work", self.scratch / "work", "-j", 2,
                        "--set", f"corpus={self.one_block}", "--set", f"out={self.scratch / 'out'}",
                        "--set", f"stages.tokenizer.out={model}", *options])

        def fresh():
            shutil.rmtree(self.scratch, ignore_errors=True)
            return pipe("--only", "packed")

        def loop():
            counted = self.place / "python.ids"
            with open(counted, "wb") as out:
                cost = run([self.python, HERE / "python_loop.py", self.one_block, model / "tokenizer.model", seq_len,
                            rows, os.cpu_count()], stdout=out)
            return cost, int(counted.read_text())

        shutil.rmtree(self.scratch, ignore_errors=True)
        pipe("--until", "tokenizer")
        value, values, foreign = self.pairs(lambda: loop()[0], fresh, lambda by_python, by_pipe:
                                            by_python.wall / by_pipe.wall, wall=True)
        ids, made = loop()[1], json.loads((self.scratch / "out/packed/packed.json").read_text())["splits"]["train"]
        # Where a document goes on, a line of ours ends with newline and not with eos: one id in both.
        if abs(made["targets"] - ids) > 1e-4 * ids:
            sys.exit(f"bench: the Python loop made {ids} ids and `pipe run` {made['targets']}")
        self.row("wall of a Python loop over two processes / of `pipe run`, xz to packed rows", value, 1.4,
                 note=f"{self.spread(values)}; {ids / 1e6:.1f} M ids; others took up to {foreign:.0%}")
        rows.unlink()

    def tfds(self):
        """What write_tfds encodes on one thread; with a limit of tokens every line is measured by SentencePiece."""
        done = subprocess.run([*ONE_CORE, self.binaries / "tfds_speed", self.plain], check=True, capture_output=True,
                              text=True)
        plain, split, loop = map(float, done.stdout.split())
        self.row("text that `write_tfds` frames, on one core", plain, 100, unit=" MB/s")
        self.row("CPU of a bare SentencePiece loop / of `write_tfds` with `max_tokens: 128`", split / loop, None,
                 note=f"{split:.1f} MB/s; what is too long is encoded again in parts")

    def packed_writer(self):
        """write_packed alone: ids in memory to shards in memory, on one core, by the processor's clock."""
        done = subprocess.run([*ONE_CORE, self.binaries / "packed_writer"], check=True, capture_output=True, text=True)
        speeds = {}
        for line in done.stdout.splitlines():
            packing, encoding, shards, seconds, _ = line.split()
            speeds[f"{packing} {encoding}"] = int(shards) / 1e6 / float(seconds)
        slowest = min(speeds, key=speeds.get)
        self.row("`write_packed` on one core, bytes of its shards, the slowest of its forms", speeds[slowest], 100,
                 unit=" MB/s", note=", ".join(f"{name} {speed:.0f}" for name, speed in speeds.items()))

    def bert_writer(self):
        """Sentences to examples of BERT, beside one process of plain Python: the same sentences and vocabulary."""
        text, vocabulary, out = (self.place / name for name in ("bert.txt", "bert.vocab.txt", "bert.out"))
        with open(self.plain, encoding="utf-8") as lines:
            front = lines.read(1 << 20)  # characters
        text.write_text(front.replace("。", "。\n").replace("\n\n\n", "\n\n"), encoding="utf-8")
        letters = sorted(set(front) - set("\n \u3000"))
        pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + letter for letter in letters)]
        words = collections.Counter(front[at:at + 2] for at in range(0, len(front) - 1, 2) if front[at:at + 2].isalpha())
        pieces += [prefix + word for word, _ in words.most_common(8000) for prefix in ("", "##")]
        vocabulary.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")

        def once(*command):
            done = subprocess.run([*ONE_CORE, *command], check=True, capture_output=True, text=True)
            return [float(number) for number in done.stdout.split()]
        ours = lambda: once(self.binaries / "bert_writer", vocabulary, text)  # noqa: E731
        theirs = lambda: once(sys.executable, HERE / "bert_baseline.py", vocabulary, text, out)  # noqa: E731
        pairs = [(theirs(), ours()) for _ in range(3)]
        made, wrote = pairs[0][0][0], pairs[0][1][0]
        if abs(made - wrote) > 0.03 * made:
            sys.exit(f"bench: the Python process made {made:.0f} examples and write_bert {wrote:.0f}")
        ratios = [python[1] / pipe[2] for python, pipe in pairs]
        self.row("CPU of one CPython process without numpy / of `encode` and `write_bert`, sentences to examples",
                 statistics.median(ratios), 20, note=f"{self.spread(ratios)}; {wrote:.0f} examples")
        ratios = [python[2] / pipe[3] for python, pipe in pairs]
        self.row("the same without tokenising", statistics.median(ratios), 20, note=self.spread(ratios))
        speeds = [pipe[1] / 1e6 / pipe[3] for _, pipe in pairs]
        self.row("`write_bert` on one core, bytes of its shards", statistics.median(speeds), 100, unit=" MB/s",
                 note=self.spread(speeds))

    def display(self):
        """The thread that draws, on a terminal of 50 lines, while packed rows are made: of one core's time."""
        command = [self.binaries / "pipe", "run", HERE / "packed.yaml", "--work", self.scratch / "work", "-j", 2,
                   "--set", f"corpus={self.long_block}", "--set", f"out={self.scratch / 'out'}",
                   "--set", "stages.lines.partition=8MiB"]
        shutil.rmtree(self.scratch, ignore_errors=True)
        ours, theirs = os.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 120, 0, 0))
        drawn = [0]

        def read():
            try:
                while data := os.read(ours, 1 << 16):
                    drawn[0] += len(data)
            except OSError:  # how a terminal ends
                pass

        reader = threading.Thread(target=read)
        reader.start()
        start, used, wall = time.monotonic(), 0, 0.0
        with subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL, stderr=theirs) as child:
            os.close(theirs)
            while child.poll() is None:
                for thread in Path(f"/proc/{child.pid}/task").glob("*"):
                    try:
                        if (thread / "comm").read_text().strip() == "pipe-status":
                            used, wall = int((thread / "schedstat").read_text().split()[0]), time.monotonic() - start
                    except OSError:  # it ended meanwhile
                        continue
                time.sleep(0.1)
        reader.join()
        os.close(ours)
        if child.returncode != 0 or used == 0 or drawn[0] < 1000:
            sys.exit(f"bench: the run on a terminal: exit {child.returncode}, {used} ns used to draw {drawn[0]} bytes")
        self.row("time of the thread that draws the status, of a core", 100 * used / 1e9 / wall, 1, most=True, unit=" %",
                 note=f"{used / 1e6:.0f} ms of {wall:.0f} s, {drawn[0] / 1e3:.0f} kB drawn")

    def training(self):
        """A training step beside a bare product, beside PyTorch, beside its reader; a whole run beside its steps."""
        shapes = {"4 layers of 128": {"layers": 4, "d": 128, "heads": 4, "vocab": 2000, "seq_len": 128, "rows": 8},
                  "6 layers of 384": {"layers": 6, "d": 384, "heads": 6, "vocab": 8000, "seq_len": 256, "rows": 8}}
        fastest = 0.0
        for name, shape in shapes.items():
            steps = 20 if shape["d"] < 256 else 4
            ours, theirs = [], []
            for _ in range(3):  # processes in turns; each counts by its best turn, all turns by their median
                ours.append(self.train_step(shape, steps))
                theirs.append(self.json_of("/usr/bin/python3", HERE / "torch_step.py", json.dumps(shape), "--turns", 3,
                                           "--steps", steps))
            values = [one["ratio"] for one in ours]
            self.row(f"FLOP/s of a training step / of a bare product of its MLP's shape, {name}", statistics.median(values),
                     0.5 if shape["d"] > 256 else None,
                     note=f"{self.spread(values)}; {statistics.median(one['model_gflops'] for one in ours):.0f} GFLOP/s")
            values = [one["tokens_per_s"] / two["tokens_per_s"] for one, two in zip(ours, theirs)]
            self.row(f"tokens/s of a training step / of a loop in PyTorch {theirs[0]['torch']}, {name}",
                     statistics.median(values), None,
                     note=f"{self.spread(values)}; aim 0.8; {statistics.median(one['tokens_per_s'] for one in ours):,.0f} a second")
            fastest = max(fastest, *(one["tokens_per_s"] for one in ours))
        done = subprocess.run([self.trainer, HERE / "reader_rows.py", "--json"], check=True, capture_output=True, text=True,
                              env=self.trainer_environment())
        read = json.loads(done.stdout)["native shuffled"]
        self.row("tokens/s of the reader on one core / of the trainer, 4 layers of 128", read / fastest, 20,
                 note=f"{read / 1e6:.0f} M a second")
        whole = self.json_of(self.trainer, HERE / "training_run.py")
        self.row("share of the steps' time in which the device waited for rows", 100 * whole["data_wait"], 1, most=True, unit=" %")
        self.row("start of a trainer whose programs are compiled, to the end of its first step", whole["warm_start_s"], 60,
                 most=True, unit=" s")
        print("| MFU, and the ratio to PyTorch on the same card | not measured | | | everything here runs on the CPU |")

    def train_step(self, shape, steps):
        model = {key: shape[key] for key in ("layers", "d", "heads")}
        config = {"preset": "quickstart", "model": {**model, "ff": round(shape["d"] * 8 / 3 / 32) * 32}}
        return self.json_of(self.trainer, "-m", "pipe_trainer.bench", "--config", json.dumps(config), "--vocab", shape["vocab"],
                            "--seq-len", shape["seq_len"], "--rows", shape["rows"], "--turns", 3, "--steps", steps)

    def trainer_environment(self):
        return {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": str(HERE.parent / "plugins/train/python"),
                "PIPE_READER_LIBRARY": str(self.binaries / "plugins/train/libpipe_reader.so")}

    def json_of(self, *command):
        done = subprocess.run([str(word) for word in command], check=False, capture_output=True, text=True,
                              env=self.trainer_environment())
        if done.returncode != 0:
            sys.exit(f"bench: {' '.join(map(str, command))}: exit {done.returncode}\n{done.stderr}")
        return json.loads(done.stdout)

    def components(self):
        """No floors: where to look when a ratio falls."""
        done = subprocess.run([self.binaries / "components", "--benchmark_color=false"], check=True,
                              capture_output=True, text=True, env={**os.environ, "PIPE_BENCH_TEXT": str(self.plain)})
        print("\n" + "\n".join(line.rstrip() for line in done.stdout.splitlines()))

    def network(self):
        self.downloads()
        upload_rows.rows(self, run)

    def downloads(self):
        """A file from a server on loopback into memory, beside curl; and what its checksum costs."""
        program, size, place = self.binaries / "download_speed", 1 << 30, Path("/dev/shm") / f"pipe-bench-{os.getpid()}"
        place.mkdir()
        file = place / "file"
        with subprocess.Popen([program, "serve", str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            url = server.stdout.readline().decode().strip()

            def fetched(*command):
                for path in place.iterdir():
                    path.unlink()
                cost = run([*command])
                if file.stat().st_size != size:
                    sys.exit(f"bench: {command[0]}: {file.stat().st_size} bytes of {size}")
                return cost
            curl = lambda: fetched("curl", "-sS", "-o", file, url)  # noqa: E731
            ours = lambda: fetched(program, "fetch", url, file)  # noqa: E731
            value, values, foreign = self.pairs(curl, ours, lambda a, b: a.wall / b.wall, wall=True)
            speed = size / 1e6 / ours().wall
            self.row("wall of curl / of a source that arrives, one connection", value, 0.9,
                     note=f"{self.spread(values)}; {speed:.0f} MB/s; the server is busy, too")
            value, values, _ = self.pairs(curl, ours, lambda a, b: a.cpu / b.cpu)
            self.row("CPU of curl / of a source that arrives", value, None, note=self.spread(values))
            server.stdin.close()
        shutil.rmtree(place)
        seconds = float(subprocess.run([program, "crc"], check=True, capture_output=True, text=True).stdout)
        self.row("CRC-32C of 100 MB/s, share of a core", 100 * seconds, 1, most=True, unit=" %")


ROWS = ("overhead", "decoder", "shuffle", "scaling", "memory", "reads", "planning", "words", "encode", "packed",
        "packed_writer", "bert_writer", "tfds", "display", "network", "training", "components")


def machine():
    model = next((line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines()
                  if line.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    return f"{os.cpu_count()} cores of {model}, {memory:.0f} GiB, Linux {platform.release()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=Path)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--python", type=Path, default=sys.executable, help="an interpreter with `sentencepiece`")
    parser.add_argument("--trainer", type=Path, default=sys.executable, help="an interpreter with the trainer's packages")
    parser.add_argument("--only", nargs="+", choices=ROWS, default=ROWS, metavar="NAME", help=", ".join(ROWS))
    parser.add_argument("--pairs", type=int, default=5)
    args = parser.parse_args()
    bench = Bench(args.binaries.resolve(), args.python, args.trainer, args.corpus, args.binaries.resolve().parent / "measured", args.pairs)
    print(f"Machine: {machine()}; load {os.getloadavg()[0]:.1f}. Text: {bench.plain.stat().st_size / 1e6:.0f} MB, "
          f"{bench.one_block.stat().st_size / 1e6:.1f} MB as xz.\n")
    print("| what | measured | floor | | |\n|---|---|---|---|---|")
    for name in ROWS:
        if name in args.only:
            getattr(bench, name)()
    shutil.rmtree(bench.scratch, ignore_errors=True)
    missed = [name for name, met in bench.floors if not met]
    print(f"\n{len(bench.floors) - len(missed)} of {len(bench.floors)} floors met" + "".join(f"\nmissed: {name}" for name in missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
