"""The commands in the heads of pipelines/ that start the trainers."""

import re
import shlex
from pathlib import Path

PIPELINES = Path(__file__).resolve().parents[2] / "pipelines"
PROGRAMS = ("python ", "python3 ", "pipe cp ", "export ", "sed ")


def commands(name):
    """[[word, ...], ...] of the commands after `# Train:`, in their order."""
    head = (PIPELINES / f"{name}.yaml").read_text(encoding="utf-8").split("\npipe: ")[0]
    lines = [line[1:].strip() for line in head.split("\n")]
    starts = [at for at, line in enumerate(lines) if line.startswith("Train:")]
    if not starts:
        return []
    lines = [lines[starts[0]].removeprefix("Train:").strip(), *lines[starts[0] + 1:]]
    found, whole = [], ""
    for line in lines:
        line = re.sub(r"\s{2,}\(.*$", "", line)  # a remark after a command
        if not whole and not line.startswith(PROGRAMS):
            continue
        whole += line.removesuffix("\\")
        if not line.endswith("\\"):
            found.append(shlex.split(whole))
            whole = ""
    if whole:
        raise ValueError(f"{name}: a command does not end: {whole}")
    return found


def without_training(file):
    """The text of a pipeline file without its last stages, which train."""
    return re.split(r"^  \w+:.*\n    type: train$", Path(file).read_text(encoding="utf-8"), flags=re.MULTILINE)[0]


def outputs(name):
    """Paths and patterns below OUT that the commands read, without the `OUT/`."""
    return sorted({found for command in commands(name) for word in command
                   for found in re.findall(r"OUT/([^\s,'\"]+)", word)})
