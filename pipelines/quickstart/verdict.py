#!/usr/bin/env python3
"""Says how well the quick start's model predicts held-out text; 1 where it is not clearly better than counting pairs.

    verdict.py out/runs/train-RECIPE/result.json

Counting pairs is an interpolated Kneser-Ney bigram of the same tokens, from the same rows.
"""

import json
import sys

NAMES = {"uniform": "any token as likely as any other", "unigram": "how often each token comes",
         "bigram_kn": "which token comes after which"}
MOST = 0.90  # of the bits that the bigram needs


def main(path):
    with open(path, encoding="utf-8") as file:
        result = json.load(file)
    print("Bits that a character of held-out text costs, by what is known:")
    for name, what in NAMES.items():
        print(f"  {result['baselines'][name]['bits_per_char']:6.3f}  {what}")
    model = result["final"]["bits_per_char"]
    ratio = model / result["baselines"]["bigram_kn"]["bits_per_char"]
    print(f"  {model:6.3f}  the model, after {result['steps']:,} steps and {result['tokens']:,} tokens: "
          f"{ratio:.2f} of the line above")
    if ratio > MOST:
        sys.exit(f"verdict: the model should need at most {MOST:.2f} of it")


if __name__ == "__main__":
    main(sys.argv[1])
