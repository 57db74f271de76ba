"""The rows of `run.py` about `train_tokenizer`, beside the newest releases of other trainers of unigram tokenizers.

No file is held in memory here: a program that is started inherits the peak memory of the one that starts it.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

from measuring import output_of, run, spread

HERE = Path(__file__).resolve().parent
SIZES = (72_000_000, 200_000_000)  # of text to train on
HELD = 4_000_000  # bytes at the end of the text, which no trainer gets
# Smallest ratios of (CPU, peak memory, bits per character) and ours; None: there is no floor.
FLOORS = {"sentencepiece": (8, 8, 1 / 0.95), "tokenizers": (2, None, 1 / 0.95)}


def command(bench, text, place, *options):
    return [bench.binaries / "pipe", "run", HERE / "tokenizers.yaml", "--work", place / "work", "-j", 2,
            "--set", f"corpus={text}", "--set", f"out={place / 'tokenizer'}", *options]


def split(bench, place):
    """Returns the lines to train on and those that are held out, as files."""
    train, held = place / "train.txt", place / "held.txt"
    if not held.exists():
        size, at = bench.texts.plain.stat().st_size, 0
        with open(bench.texts.plain, "rb") as text, open(train, "wb") as front, open(held, "wb") as back:
            for line in text:
                (front if at < size - HELD else back).write(line)
                at += len(line)
    return train, held


def with_spaces(bench, text, place):
    """Returns a file of the normalised lines of a text, with a space between two morphemes, and one without spaces, as
    `segment_words` finds them."""
    cut, bare = text.with_suffix(".cut"), text.with_suffix(".bare")
    if cut.exists():
        return cut, bare
    run(command(bench, text, place, "--until", "words"))
    kept, = (place / "work/artifacts").glob("words-*")
    part = cut.with_suffix(".part")
    with subprocess.Popen([bench.binaries / "pipe", "cat", kept, "--json"], stdout=subprocess.PIPE) as cat, \
            open(part, "wb") as words, open(bare, "wb") as lines:
        for row in cat.stdout:
            columns = json.loads(row)["columns"]
            line, first, found = columns["text"].encode(), 0, []
            for end in columns["cuts"]:
                found.append(line[first:end])
                first = end
            words.write(b" ".join(word for word in found if word.strip()) + b"\n")
            lines.write(line + b"\n")
    if cat.returncode != 0:
        sys.exit(f"bench: pipe cat {kept}: exit {cat.returncode}")
    part.rename(cut)
    return cut, bare


def lines_of(path):
    """Gives the lines of a file again and again."""
    while True:
        with open(path, "rb") as text:
            yield from text


def repeated(path, size):
    """Returns a file of `size` bytes, up to the end of a line: the text again and again."""
    made = path.with_name(f"{size // 1_000_000}-{path.name}")
    if made.exists():
        return made
    part, written = made.with_suffix(".part"), 0
    with open(part, "wb") as out:
        for line in lines_of(path):
            written += len(line)
            if written > size:
                break
            out.write(line)
    part.rename(made)
    return made


def tokenizer(bench, text, place, compare):
    """Trains a tokenizer on the morphemes that are there."""
    shutil.rmtree(place / "compared", ignore_errors=True)
    return run(command(bench, text, place, "--only", "tokenizer", "--set", f"out={place / 'compared'}",
                       "--set", f"stages.tokenizer.compare_boundaries={compare}"))


def tokenizers(bench):
    """Compares `train_tokenizer` with two other trainers that get the same morphemes, cut by spaces: processor time,
    memory, and bits per character of lines that none of them saw."""
    place = bench.root / "tokenizers"
    place.mkdir(parents=True, exist_ok=True)
    train, held = split(bench, place)
    held_cut, held_bare = with_spaces(bench, held, place / "held")
    cut, _ = with_spaces(bench, train, place / "train")
    longer = cut.stat().st_size / train.stat().st_size  # with its spaces
    peer = HERE / "peer_unigram.py"

    def bits(kind, model, lines):
        return float(output_of(bench.peers, peer, "bits", kind, model, lines))

    for size in SIZES:
        text, words, here = repeated(train, size), repeated(cut, int(size * longer)), place / f"{size // 1_000_000}"
        shutil.rmtree(here, ignore_errors=True)
        mecab = run(command(bench, text, here, "--until", "words"))
        ours = run(command(bench, text, here, "--only", "tokenizer"))
        by_us = bits("sentencepiece", here / "tokenizer/tokenizer.model", held_bare)
        setting = f"{size // 1_000_000} MB"
        library = run(command(bench, text, here, "--only", "tokenizer", "--set", f"out={here / 'library'}",
                              "--set", "stages.tokenizer.engine=sentencepiece"))
        by_library = bits("sentencepiece", here / "library/tokenizer.model", held_bare)
        bench.row(f"CPU of `train_tokenizer` with `engine: sentencepiece` / with its own, {setting}",
                  library.cpu / ours.cpu, None, note=f"{library.cpu:.1f} s; {library.peak >> 20} MiB")
        bench.row(f"bits per character with `engine: sentencepiece` / with its own, {setting}", by_library / by_us, 1,
                  note=f"{by_library:.3f}, {by_us:.3f}")
        value, values, _ = bench.pairs(lambda: tokenizer(bench, text, here, "false"),
                                       lambda: tokenizer(bench, text, here, "true"), lambda one, other: one.cpu / other.cpu)
        bench.row(f"CPU of `train_tokenizer` / with `compare_boundaries: true`, {setting}", value, 1 / 1.2,
                  note=spread(values))
        for package, (cpu, memory, share) in FLOORS.items():
            model = here / ("sp.model" if package == "sentencepiece" else "tokenizer.json")
            theirs = run([bench.peers, peer, package, words, model])
            by_them = bits(package, model, held_cut)
            name = f"{bench.peer(package)} / of `train_tokenizer`, {setting}"
            bench.row(f"CPU of {name}", theirs.cpu / ours.cpu, cpu,
                      note=f"{theirs.cpu:.1f} s, {ours.cpu:.1f} s; morphemes before that {mecab.cpu:.0f} s")
            bench.row(f"peak memory of {name}", theirs.peak / ours.peak, memory,
                      note=f"{theirs.peak >> 20} MiB, {ours.peak >> 20} MiB")
            bench.row(f"bits per character with {name}", by_them / by_us, share, note=f"{by_them:.3f}, {by_us:.3f}")
