#!/usr/bin/env python3
"""Writes many short comments that are like a few real ones, to measure how a tokenizer is trained on millions of them.

    many_comments.py REAL LINES OUT [--growth 0.6]

REAL has a comment per line. A made comment is the front of a real one and the rest of another one, cut at a space. A text
of this kind would have no new words; so some words are made of the syllables of REAL, as many as let the distinct words grow
with the power --growth of the lines, from the real ones on. `--growth 0` measures it in REAL and prints it.
"""

import argparse
import math
import random
from pathlib import Path

SEED = 21


def measured_growth(lines):
    """The power of the number of lines with which their distinct words grow, from the first quarter to all."""
    words, quarter = set(), 0
    for at, line in enumerate(lines):
        words.update(line.split())
        if at + 1 == len(lines) // 4:
            quarter = len(words)
    return math.log(len(words) / quarter) / math.log(4), len(words)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("real", type=Path)
    parser.add_argument("lines", type=int)
    parser.add_argument("out", type=Path)
    parser.add_argument("--growth", type=float, default=0)
    options = parser.parse_args()
    real = [line for line in options.real.read_text(encoding="utf-8").splitlines() if line.strip()]
    chance = random.Random(SEED)
    chance.shuffle(real)
    growth, distinct = measured_growth(real)
    growth = options.growth or growth
    print(f"{len(real):,} real lines, {distinct:,} distinct words, which grow with the power {growth:.3f}", flush=True)
    fronts, rests = [], []
    for line in real:
        words = line.split()
        middle = len(words) // 2
        fronts.append(" ".join(words[:middle]))
        rests.append(" ".join(words[middle:]))
    syllables = [one for line in real[:20000] for one in line if "가" <= one <= "힣"]
    made = 0
    with options.out.open("w", encoding="utf-8") as out:
        for at in range(options.lines):
            line = f"{chance.choice(fronts)} {chance.choice(rests)}".strip()
            if at % 64 == 0:
                wanted = distinct * ((at + 64) / len(real)) ** growth - distinct
            if made < wanted:
                made += 1
                line += " " + "".join(chance.choices(syllables, k=chance.choice((2, 2, 3, 3, 4))))
            out.write(line + "\n")
    print(f"{options.lines:,} lines, {made:,} made words")


if __name__ == "__main__":
    main()
