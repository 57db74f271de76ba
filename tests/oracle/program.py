"""Runs the program under test, and ends a script."""

import json
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "pipelines"))
from start_lines import without_training  # noqa: E402  pylint: disable=wrong-import-position


def ran(pipe, *words, cwd=None, seconds=300):
    """Output of `pipe WORDS`. If the program fails, ends the script with its messages."""
    words = [str(pipe), *map(str, words)]
    ended = subprocess.run(words, cwd=cwd, capture_output=True, timeout=seconds, check=False)
    out = ended.stdout.decode()
    if ended.returncode:
        sys.exit(f"{' '.join(words)}: exit code {ended.returncode}\n{out[-2000:]}{ended.stderr.decode()[-4000:]}")
    return out


def before_training(pipeline, root):
    """A copy of a pipeline file without its training, which tests of the trainer cover."""
    copy = root / "before_training.yaml"
    copy.write_text(without_training(pipeline), encoding="utf-8")
    return copy


def records(pipe, artifact):
    """Parsed output of `pipe cat` for an artifact."""
    return [json.loads(line) for line in ran(pipe, "cat", artifact, "--json").split("\n")[:-1]]


def told(problems, equal):
    """Prints the problems, or that `equal` is the same; returns the exit code of the script."""
    for problem in problems[:10]:
        print(problem, file=sys.stderr)
    print("DIFFERENT" if problems else f"equal     {equal}")
    return 1 if problems else 0
