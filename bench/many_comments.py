#!/usr/bin/env python3
"""Writes many short comments that are like a few real ones, to measure how a tokenizer is trained on millions of them.

    many_comments.py REAL DISTINCT GROWTH LINES OUT

REAL has a comment per line. A made comment is the front of a real one and the rest of another one, cut at a space. A text
of this kind would have no new morphemes; so some words are made of Latin letters, which no dictionary cuts: as many as let
the distinct morphemes grow with the power GROWTH of the lines, from DISTINCT in REAL on. Both numbers were measured in REAL.
"""

import argparse
import random
import string
from pathlib import Path

SEED = 21


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("real", type=Path)
    parser.add_argument("distinct", type=int)
    parser.add_argument("growth", type=float)
    parser.add_argument("lines", type=int)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    real = [line for line in options.real.read_text(encoding="utf-8").splitlines() if line.strip()]
    chance = random.Random(SEED)
    chance.shuffle(real)
    fronts, rests = [], []
    for line in real:
        words = line.split()
        middle = len(words) // 2
        fronts.append(" ".join(words[:middle]))
        rests.append(" ".join(words[middle:]))
    made = 0
    with options.out.open("w", encoding="utf-8") as out:
        for at in range(options.lines):
            line = f"{chance.choice(fronts)} {chance.choice(rests)}".strip()
            if at % 64 == 0:
                wanted = options.distinct * (((at + 64) / len(real)) ** options.growth - 1)
            if made < wanted:
                made += 1
                line += " " + "".join(chance.choices(string.ascii_lowercase, k=chance.randrange(5, 9)))
            out.write(line + "\n")
    print(f"{options.lines:,} lines, {made:,} made words")


if __name__ == "__main__":
    main()
