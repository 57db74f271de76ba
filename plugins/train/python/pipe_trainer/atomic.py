"""Writes files that are either complete or absent, and reads those with a JSON object."""

import json
import math
import os


def write_json(path, value, **style):
    """`style`: of json.dumps."""
    write_text(path, json.dumps(finite(value), **style))


def finite(value):
    """Replaces NaN and infinity by None (null): JSON has neither."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(item) for item in value]
    return value


def write_text(path, text):
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with open(temporary, "w", encoding="utf-8") as out:
            out.write(text)
            out.flush()
            os.fsync(out.fileno())
        os.replace(temporary, path)
    except OSError as error:  # a write does not know the name of its file
        error.filename = error.filename or str(path)
        raise
    finally:
        temporary.unlink(missing_ok=True)  # a full disk gets none of its leftovers
    sync_directory(path.parent)


def sync_directory(path):
    """Makes the names in a directory survive a power cut."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_json(path):
    """Returns a JSON object; None if the file has no whole one."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
