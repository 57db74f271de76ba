"""The program under test, and how a script here ends."""

import json
import subprocess
import sys


def ran(pipe, *words, cwd=None, seconds=300):
    """What `pipe WORDS` printed. Ends the script, with what was said, where the program fails."""
    words = [str(pipe), *map(str, words)]
    ended = subprocess.run(words, cwd=cwd, capture_output=True, timeout=seconds, check=False)
    out = ended.stdout.decode()
    if ended.returncode:
        sys.exit(f"{' '.join(words)}: exit code {ended.returncode}\n{out[-2000:]}{ended.stderr.decode()[-4000:]}")
    return out


def records(pipe, artifact):
    """What `pipe cat` prints of an artifact, parsed."""
    return [json.loads(line) for line in ran(pipe, "cat", artifact, "--json").split("\n")[:-1]]


def told(problems, equal):
    """Says what is wrong, or what is equal; the exit code of the script."""
    for problem in problems[:10]:
        print(problem, file=sys.stderr)
    print("DIFFERENT" if problems else f"equal     {equal}")
    return 1 if problems else 0
