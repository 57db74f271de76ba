#!/usr/bin/env python3
"""From a corpus with every kind of dirt to a data set, compared with the chain of compare_tfds.py.

    pipe_test.py PIPE PIPELINE    PIPE is the program; PIPELINE takes the variables corpus and out
"""

import lzma
import random
import sys
import tempfile
from pathlib import Path

import compare_tfds
from program import before_training, ran

DOCUMENTS = 3000
DIRT = ("\u3000字下げ", "ﾊﾝｶｸｶﾞﾅ", "①Ⅳ㌔㍻", "ｆｕｌｌ　ｗｉｄｔｈ", "e\u0301\u0327", "\u1112\u1161\u11ab",
        "改\u2028行", "制\x07御\x85字", "零\u200b幅", "\ufeff途中のBOM", "終わりに\u00a0", "漢\U0002f800字",
        "絵👩\u200d🚀文字", "結合\u3099か\u3099", "\U0001e030 Unicode 15", "ﬁ ﬂ", "\u0344\u0f73", "   ", "\t")
BROKEN = (b"\xff", b"\xed\xa0\x80\xed\xb0\x80", b"\xe3\x81", b"\xc0\x80", b"\x00", b"\r")


def corpus(seed):
    chance = random.Random(seed)
    letters = [chr(code) for code in (*range(0x3041, 0x3094), *range(0x30a1, 0x30f7), *range(0x4e00, 0x5200))]
    out = [b"\xef\xbb\xbf"]
    for _ in range(DOCUMENTS):
        for _ in range(chance.randrange(1, 9)):
            line = "".join(chance.choices(letters, k=chance.randrange(60)))
            if chance.random() < 0.2:
                line += chance.choice(DIRT) + "あと"
            line = line.encode()
            if chance.random() < 0.008:  # below `invalid_lines`
                line += chance.choice(BROKEN) + "壊れ".encode()
            out.append(line + (b"\r\n" if chance.random() < 0.1 else b"\n"))
        out.append(b"\n" * chance.randrange(1, 3))
    return b"".join(out)


def main(pipe, pipeline):
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        text = root / "corpus.txt.xz"
        text.write_bytes(lzma.compress(corpus(seed=1)))
        out = root / "out"
        ran(pipe, "run", before_training(pipeline, root), "--work", root / "work", "--set", f"corpus={text}", "--set", f"out={out}")
        made = sorted(path.parent for path in out.rglob("features.json"))
        if len(made) != 1:
            print(f"{out}: {len(made)} data sets, one was expected", file=sys.stderr)
            return 1
        return compare_tfds.main([str(text), str(made[0]), "--split", "validation=0.05"])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
