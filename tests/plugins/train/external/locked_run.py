#!/usr/bin/env python3
"""A file of requirements as `environment` of an external trainer: it is installed once for each content, the content is
in the recipe, the place is not, and a file with another digest is not installed. No network: the wheels are made here.

    locked_run.py PIPE
"""

import hashlib
import os
import re
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[4]
sys.path[:0] = [str(ROOT / "tests/cli"), str(ROOT / "tests/plugins/train/external")]

import replan_support as support  # noqa: E402
import torch_run  # noqa: E402

PROGRAM = """import answer, pathlib, sys
print("step 1")
pathlib.Path(sys.argv[1], "model.txt").write_text(f"{answer.VALUE}")
"""


def check(good, what):
    if not good:
        raise SystemExit(f"locked_run.py: {what}")


def wheel(place, version):
    """A wheel of the package `answer`, and the line that pins it."""
    path, about = place / f"answer-{version}-py3-none-any.whl", f"answer-{version}.dist-info"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("answer.py", f"VALUE = {version!r}\n")
        file.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: answer\nVersion: {version}\n")
        file.writestr(f"{about}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr(f"{about}/RECORD", f"answer.py,,\n{about}/METADATA,,\n{about}/WHEEL,,\n{about}/RECORD,,\n")
    return f"answer=={version} --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def main():
    support.PIPE = str(Path(sys.argv[1]).resolve())
    with support.Sandbox() as sandbox:
        torch_run.pipeline(sandbox)
        os.environ.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(sandbox.root / "wheels"), PIP_CONFIG_FILE=os.devnull)
        (sandbox.root / "wheels").mkdir()
        (sandbox.root / "program.py").write_text(PROGRAM)
        lock = sandbox.root / "lock.txt"
        for key in ("recognise", "success"):
            sandbox.stages["train"].pop(key)
        sandbox.stages["train"] |= {"command": ["python", str(sandbox.root / "program.py"), "{run_dir}"], "restarts": 0,
                                    "success": ["model.txt"], "environment": str(lock)}

        def models():
            return sorted(path.read_text() for path in sandbox.out.glob("runs/*/export/model.txt"))

        def environments():
            marks = (sandbox.root / ".pipe/environments").glob("*/made-from")
            return sum(mark.read_text().startswith("locked ") for mark in marks)

        lock.write_text("answer==1\n")
        refused = sandbox.run(timeout=100)
        check(refused.code == 2 and "has no digests; make it with `uv pip compile --generate-hashes`" in refused.err, refused.err)
        first = wheel(sandbox.root / "wheels", "1")
        lock.write_text(first.replace("sha256:", "sha256:00")[:-3] + "\n")
        failed = sandbox.run(timeout=100)
        check(failed.code != 0 and "pip install ended with exit code" in failed.err and not models(), failed.err)
        lock.write_text(first)
        sandbox.ok(timeout=100)
        check(models() == ["1"] and environments() == 1, f"{models()}, {environments()} environments")

        other = sandbox.root / "elsewhere.txt"
        other.write_text(first)
        sandbox.stages["train"]["environment"] = str(other)
        check(not re.search("making the environment", sandbox.ok(timeout=100).err), "the place of the file is in the recipe")
        check(models() == ["1"] and environments() == 1, f"{models()}, {environments()} environments")
        other.write_text(wheel(sandbox.root / "wheels", "2"))
        sandbox.ok(timeout=100)
        check(models() == ["1", "2"] and environments() == 2, f"{models()}, {environments()} environments")
    print("requirements are installed by their content, which is in the recipe: as it should be")


if __name__ == "__main__":
    main()
