"""The rows of `run.py` about morphemes and tokens, compared with bare loops around the same libraries."""

import statistics
import sys

from measuring import ONE_CORE, output_of, run, spread

MIB = 1 << 20


def words(bench):
    """Compares `segment_words` with a bare loop around MeCab that finds the same morphemes."""
    def command(loop, threads):
        return [bench.binaries / "words", loop, "ipadic", bench.texts.plain, 16 * MIB, threads]

    def morphemes(loop):
        return output_of(*command(loop, 1))

    if morphemes("bare") != morphemes("stage"):
        sys.exit("bench: segment_words and the loop around MeCab found different morphemes")
    value, values, _ = bench.pairs(lambda: run([*ONE_CORE, *command("bare", 1)]),
                                   lambda: run([*ONE_CORE, *command("stage", 1)]),
                                   lambda bare, stage: bare.cpu / stage.cpu)
    bench.row("CPU of a bare MeCab loop / of `segment_words`, on one core", value, 0.95,
              note=f"{spread(values)}; same morphemes")
    factor, ranges, foreign = {}, {}, 0.0
    for loop in ("bare", "stage"):
        factor[loop], values, others = bench.pairs(lambda: run([*ONE_CORE, *command(loop, 2)]),
                                                   lambda: run(command(loop, 2)),
                                                   lambda one, two: one.wall / two.wall, wall=True)
        ranges[loop], foreign = spread(values), max(foreign, others)
    # On two cores that share a cache or a pipeline, even the bare loop does not reach 1.8.
    floor = min(1.8, round(0.97 * factor["bare"], 2))
    bench.row("wall of `segment_words` on one core / on two", factor["stage"], floor,
              note=f"{ranges['stage']}; the bare loop {factor['bare']:.3g}, {ranges['bare']}; "
                   f"others took up to {foreign:.0%}")


def encode(bench):
    """Compares `encode` with a bare loop that makes the same ids: one thread, interleaved by the program itself."""
    printed = output_of(*ONE_CORE, bench.binaries / "encode_pair", bench.texts.plain, bench.pairs_wanted)
    pairs = [tuple(map(float, line.split())) for line in printed.splitlines()]
    values = [loop / stage for loop, stage in pairs]
    bench.row("CPU of a bare SentencePiece loop / of `encode`", statistics.median(values), 0.95, note=spread(values))
