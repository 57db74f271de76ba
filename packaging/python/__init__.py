"""The program `pipe`, from raw text to a trained language model. This package has its files and two commands."""

import os
import sys

PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "pipe")


def main():
    """Becomes the program: same process, same words, same terminal."""
    try:
        os.execv(PROGRAM, [sys.argv[0], *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"{PROGRAM}: {error.strerror}; install the package text2lm again")
