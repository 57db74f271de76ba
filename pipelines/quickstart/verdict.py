#!/usr/bin/env python3
"""Says how well the quick start's model predicts held-out text; 1 where it is not clearly better than counting pairs.

    verdict.py out/runs/train-RECIPE/result.json

Counting pairs is an interpolated Kneser-Ney bigram of the same tokens, from the same rows.
"""

import json
import sys

MOST = 0.90  # of the bits that the bigram needs


def main(path):
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    model, bigram = (scores["bits_per_char"] for scores in (result["final"], result["baselines"]["bigram_kn"]))
    print(f"The model needs {model:.3f} bits for a character of text that it has not seen, {model / bigram:.2f} of the "
          f"{bigram:.3f} that counts of which token follows which need; lower is better.")
    if model > MOST * bigram:
        sys.exit(f"verdict: the model should need at most {MOST:.2f} of it")


if __name__ == "__main__":
    main(sys.argv[1])
