"""The rows of `run.py` about stages that write shards, each stage alone."""

import collections
import statistics
import sys
from pathlib import Path

from measuring import ONE_CORE, output_of, spread

HERE = Path(__file__).resolve().parent


def forms(bench, stage, floor, *command):
    """Compares a stage alone, from records in memory to shards in memory, with a bare loop over as many rows of their
    size, in the same process (`sink_timing.h`). The slowest of its forms counts."""
    ratios, speeds = {}, []
    for line in output_of(*ONE_CORE, *command).splitlines():
        form, shards, seconds, text, bare = line.split()
        ratios[form] = float(bare) / float(seconds)
        speeds.append(" ".join([form, *(f"{int(size) / 1e6 / float(seconds):.0f}" for size in (shards, text))]))
    slowest = min(ratios, key=ratios.get)
    bench.row(f"CPU of a bare loop over the rows / of `{stage}`, the slowest of its forms", ratios[slowest], floor,
              note=f"{slowest}; MB/s of shards, of text: {', '.join(speeds)}")


def packed_writer(bench):
    forms(bench, "write_packed", 0.08, bench.binaries / "id_writers", "packed")


def tfdata_writer(bench):
    forms(bench, "write_tfdata", 2, bench.binaries / "id_writers", "tfdata")


def jsonl_writer(bench):
    forms(bench, "write_jsonl", 0.16, bench.binaries / "text_writers", "jsonl", bench.texts.plain)


def tfds(bench):
    """With a limit of tokens, SentencePiece measures every line."""
    forms(bench, "write_tfds", 0.28, bench.binaries / "text_writers", "tfds", bench.texts.plain)
    split, loop = map(float, output_of(*ONE_CORE, bench.binaries / "tfds_speed", bench.texts.plain).split())
    bench.row("CPU of a bare SentencePiece loop / of `write_tfds` with `max_tokens: 128`", split / loop, None,
              note=f"{split:.1f} MB/s; what is too long is encoded again in parts")


def bert_writer(bench):
    """Compares the way from sentences to examples of BERT with one process of plain Python: the same sentences and
    vocabulary."""
    text, vocabulary, out = (bench.root / name for name in ("bert.txt", "bert.vocab.txt", "bert.out"))
    with open(bench.texts.plain, encoding="utf-8") as lines:
        front = lines.read(1 << 20)  # characters
    text.write_text(front.replace("。", "。\n").replace("\n\n\n", "\n\n"), encoding="utf-8")
    letters = sorted(set(front) - set("\n \u3000"))
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters, *("##" + letter for letter in letters)]
    words = collections.Counter(front[at:at + 2] for at in range(0, len(front) - 1, 2) if front[at:at + 2].isalpha())
    pieces += [prefix + word for word, _ in words.most_common(8000) for prefix in ("", "##")]
    vocabulary.write_text("".join(f"{piece}\n" for piece in pieces), encoding="utf-8")

    def once(*command):
        return [float(number) for number in output_of(*ONE_CORE, *command).split()]
    ours = lambda: once(bench.binaries / "bert_writer", vocabulary, text)  # noqa: E731
    theirs = lambda: once(sys.executable, HERE / "bert_baseline.py", vocabulary, text, out)  # noqa: E731
    pairs = [(theirs(), ours()) for _ in range(3)]
    made, wrote = pairs[0][0][0], pairs[0][1][0]
    if abs(made - wrote) > 0.03 * made:
        sys.exit(f"bench: the Python process made {made:.0f} examples and write_bert {wrote:.0f}")
    ratios = [python[1] / pipe[2] for python, pipe in pairs]
    bench.row("CPU of one CPython process without numpy / of `encode` and `write_bert`, sentences to examples",
              statistics.median(ratios), 20, note=f"{spread(ratios)}; {wrote:.0f} examples")
    ratios = [python[2] / pipe[3] for python, pipe in pairs]
    bench.row("the same without tokenising", statistics.median(ratios), 20, note=spread(ratios))
    ratios = [pipe[4] / pipe[3] for _, pipe in pairs]
    speed = statistics.median(pipe[1] / 1e6 / pipe[3] for _, pipe in pairs)
    bench.row("CPU of a bare loop over the rows / of `write_bert`", statistics.median(ratios), 0.1,
              note=f"{spread(ratios)}; {speed:.0f} MB/s of shards")
