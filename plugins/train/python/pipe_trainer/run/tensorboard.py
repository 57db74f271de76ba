"""Writes TensorBoard's event files: TFRecord frames of Event messages, encoded by hand."""

import os
import socket
import struct
import threading
import time
from pathlib import Path

import numpy as np

from ..data.crc32c import masked

VERSION = b"brain.Event:2"
SESSION_START = 1


def varint(value):
    out = bytearray()
    value &= (1 << 64) - 1
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])


def sub(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def event(step, wall_time, what):
    """Encodes an Event: wall_time 1, step 2, and `what`, an encoded field."""
    return b"\x09" + struct.pack("<d", wall_time) + b"\x10" + varint(int(step)) + what


def summary(tag, value):
    """Encodes Event.summary 5: Summary.value 1: tag 1, simple_value 2. A number that float32 cannot hold becomes
    infinite: a perplexity may be one."""
    with np.errstate(over="ignore"):
        return sub(5, sub(1, sub(1, tag.encode()) + b"\x15" + np.array(value, "<f4").tobytes()))


def text_summary(tag, text):
    """Encodes Event.summary 5: Summary.value 1: tag 1, tensor 8: dtype 1, DT_STRING, a scalar's tensor_shape 2,
    string_val 8; metadata 9: plugin_data 1: plugin_name 1, so that the page "Text" shows it."""
    tensor = b"\x08\x07" + sub(2, b"") + sub(8, text.encode("utf-8", "replace"))
    return sub(5, sub(1, sub(1, tag.encode("utf-8", "replace")) + sub(8, tensor) + sub(9, sub(1, sub(1, b"text")))))


def frame(data):
    size = struct.pack("<Q", len(data))
    return size + struct.pack("<I", masked(size)) + data + struct.pack("<I", masked(data))


class Writer:
    """Writes a file of its own for each attempt. `first_step`: the first that it takes. Threads may share it."""

    def __init__(self, directory, first_step=1):
        Path(directory).mkdir(parents=True, exist_ok=True)
        now = time.time()
        unique = f"{int(now):010}.{socket.gethostname()}.{os.getpid()}.{time.monotonic_ns()}"
        name = f"events.out.tfevents.{unique}"
        self._lock, self._file = threading.Lock(), open(Path(directory) / name, "xb", buffering=0)
        self._write(0, sub(3, VERSION), now)
        self.start(first_step)

    def start(self, step):
        """TensorBoard forgets what was written before about this step and later ones."""
        self._write(step, sub(7, b"\x08" + varint(SESSION_START)))

    def scalar(self, tag, step, value):
        self._write(step, summary(tag, value))

    def text(self, tag, step, text):
        self._write(step, text_summary(tag, text))

    def close(self):
        with self._lock:
            self._file.close()

    def _write(self, step, what, wall_time=None):
        record = frame(event(step, time.time() if wall_time is None else wall_time, what))
        with self._lock:
            self._file.write(record)
