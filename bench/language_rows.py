"""The rows of `run.py` about morphemes and tokens, compared with bare loops around the same libraries."""

import statistics
import sys

from measuring import ONE_CORE, output_of, run, spread

MIB = 1 << 20


def words(bench):
    """Compares `segment_words`, with each engine, with a bare loop around MeCab that finds the same morphemes."""
    def command(loop, threads):
        return [bench.binaries / "words", loop, "ipadic", bench.texts.plain, 16 * MIB, threads]

    def morphemes(loop):
        return output_of(*command(loop, 1))

    if len({morphemes(loop) for loop in ("bare", "own", "mecab")}) > 1:
        sys.exit("bench: segment_words and the loop around MeCab found different morphemes")
    for engine, floor, name in (("own", 1.7, ""), ("mecab", 0.93, " with `engine: mecab`")):
        value, values, _ = bench.pairs(lambda: run([*ONE_CORE, *command("bare", 1)]),
                                       lambda loop=engine: run([*ONE_CORE, *command(loop, 1)]),
                                       lambda bare, stage: bare.cpu / stage.cpu)
        bench.row(f"CPU of a bare MeCab loop / of `segment_words`{name}, on one core", value, floor,
                  note=f"{spread(values)}; same morphemes")
    factor, ranges, foreign = {}, {}, 0.0
    for loop in ("bare", "own"):
        factor[loop], values, others = bench.pairs(lambda: run([*ONE_CORE, *command(loop, 2)]),
                                                   lambda: run(command(loop, 2)),
                                                   lambda one, two: one.wall / two.wall, wall=True)
        ranges[loop], foreign = spread(values), max(foreign, others)
    # On two cores that share a cache or a pipeline, even the bare loop does not reach 1.8.
    floor = min(1.8, round(0.97 * factor["bare"], 2))
    bench.row("wall of `segment_words` on one core / on two", factor["own"], floor,
              note=f"{ranges['own']}; the bare loop {factor['bare']:.3g}, {ranges['bare']}; "
                   f"others took up to {foreign:.0%}")


# Smallest ratios of (the loop, the stage with the library) and `encode`, by the rule of the normaliser.
ENCODES = {"identity": (6, 4.5), "nmt_nfkc": (4, 3)}
LONGER = 1.5  # a byte of one line of a MiB may take so many times that of lines of a KiB


def encode(bench):
    """Compares `encode` with a bare loop, and with itself with the library as its engine; all make the same ids. One
    thread, in turns by the program itself."""
    for rule, floors in ENCODES.items():
        printed = output_of(*ONE_CORE, bench.binaries / "encode_pair", rule, bench.texts.plain, bench.pairs_wanted)
        turns = [tuple(map(float, line.split())) for line in printed.splitlines()]
        size = min(bench.texts.plain.stat().st_size, 8 * MIB) / 1e6
        for name, at in ("a bare SentencePiece loop", 0), ("`encode` with `engine: sentencepiece`", 1):
            values = [turn[at] / turn[2] for turn in turns]
            bench.row(f"CPU of {name} / of `encode`, {rule}", statistics.median(values), floors[at],
                      note=f"{spread(values)}; {size / statistics.median(turn[2] for turn in turns):.0f} MB/s")
    for line in output_of(*ONE_CORE, bench.binaries / "encode_pair", "worst", bench.texts.plain, 5).splitlines():
        name, short, whole = line.split("\t")
        bench.row(f"time of a byte in a line of 1 MiB / in lines of 1 KiB, {name}", float(whole) / float(short), LONGER,
                  most=True, note=f"{1e3 / float(whole):.0f} and {1e3 / float(short):.0f} MB/s")
