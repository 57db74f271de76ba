"""Requirements of libpipe_reader.so: an old libc and nothing else. Read from its ELF tables."""

import os
import re
import struct
import unittest
from pathlib import Path

import places  # noqa: F401

NEWEST_LIBC = (2, 31)  # of Ubuntu 20.04, the oldest image that accelerators are still delivered with
DYNSYM, DYNAMIC, VERNEED = 11, 6, 0x6FFFFFFE
NEEDED = 1


class Elf:
    """Little-endian ELF64: section headers 0x40 bytes each."""

    def __init__(self, data):
        assert data[:6] == b"\x7fELF\x02\x01", "not little-endian ELF64"
        self._data = data
        at, size, count = struct.unpack_from("<Q", data, 0x28)[0], *struct.unpack_from("<HH", data, 0x3A)
        self._sections = [struct.unpack_from("<IIQQQQIIQQ", data, at + size * number)
                          for number in range(count)]

    def _of_type(self, kind):
        for _, section_type, _, _, offset, size, link, info, _, entry in self._sections:
            if section_type == kind:
                return offset, size, self._sections[link][4], info
        raise AssertionError(f"no section of type {kind:#x}")

    def _text(self, strings, at):
        return self._data[strings + at:self._data.index(b"\0", strings + at)].decode()

    def libraries(self):
        offset, size, strings, _ = self._of_type(DYNAMIC)
        for at in range(offset, offset + size, 16):
            tag, value = struct.unpack_from("<QQ", self._data, at)
            if tag == NEEDED:
                yield self._text(strings, value)

    def exported(self):
        offset, size, strings, _ = self._of_type(DYNSYM)
        for at in range(offset, offset + size, 24):
            name, info, _, section, _, _ = struct.unpack_from("<IBBHQQ", self._data, at)
            if section and info >> 4 in (1, 2):  # defined, global or weak
                yield self._text(strings, name)

    def versions(self):
        at, _, strings, count = self._of_type(VERNEED)
        for _ in range(count):
            _, entries, _, first, following = struct.unpack_from("<HHIII", self._data, at)
            entry = at + first
            for _ in range(entries):
                _, _, _, name, step = struct.unpack_from("<IHHII", self._data, entry)
                yield self._text(strings, name)
                entry += step
            at += following


class LibraryTest(unittest.TestCase):
    def setUp(self):
        self.elf = Elf(Path(os.environ["PIPE_READER_LIBRARY"]).read_bytes())

    def test_needs_libc_alone(self):
        self.assertEqual(list(self.elf.libraries()), ["libc.so.6"])

    def test_asks_for_no_symbol_newer_than_an_old_libc(self):
        versions = list(self.elf.versions())
        self.assertTrue(versions)
        for version in versions:
            numbers = re.fullmatch(r"GLIBC_(\d+)\.(\d+)(\.\d+)?", version)
            self.assertTrue(numbers, version)
            self.assertLessEqual((int(numbers[1]), int(numbers[2])), NEWEST_LIBC, version)

    def test_exports_what_its_header_declares(self):
        header = (places.ROOT / "plugins/train/reader/pipe_reader.h").read_text()
        declared = set(re.findall(r"^PIPE_READER_API [\w* ]*?\b(pipe_reader_\w+)\(", header, re.MULTILINE))
        self.assertEqual(len(declared), 7)
        self.assertEqual(set(self.elf.exported()), declared)


if __name__ == "__main__":
    unittest.main()
