#!/usr/bin/env python3
"""The pictures of README: the head of the report of a run, light and dark.

    report_pictures.py REPORT.html DIRECTORY
"""

import sys
from pathlib import Path

from pipe_run import fail
from report import browse

WIDTH, HEIGHT = 1160, 830
LARGEST = 150_000  # bytes of one picture


def take(page, picture, dark):
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    picture.unlink(missing_ok=True)
    browse(f"--screenshot={picture}", f"--window-size={WIDTH},{HEIGHT}", *scheme, page.as_uri())
    if not picture.exists():
        fail(f"{picture}: no picture")
    size = picture.stat().st_size
    if size > LARGEST:
        fail(f"{picture} has {size} bytes, more than {LARGEST}")
    print(f"{picture}: {size} bytes")


def main(page, directory):
    Path(directory).mkdir(parents=True, exist_ok=True)
    for name in ("light", "dark"):
        take(Path(page).resolve(), Path(directory).resolve() / f"{name}.webp", name == "dark")


if __name__ == "__main__":
    main(*sys.argv[1:])
