#!/usr/bin/env python3
"""What a file holds that is asked for as text: formats that are none, and text in other encodings than UTF-8.

    encodings.py PIPE [SCENARIO...]

Each case is a file of its own under a name that says nothing, read by a pipeline of its own.
"""

import bz2
import gzip
import io
import lzma
import random
import struct
import sys
import tarfile
import zipfile

import replan_support as support
from replan_support import Place, check, check_says, corpus

RANDOM = random.Random(15)
NOISE = RANDOM.randbytes(5000)
WARC = (b"WARC/1.0\r\nWARC-Type: conversion\r\nContent-Length: 30\r\n\r\n" + "吾輩は猫である。\n".encode() * 50)
MEDIAWIKI = ('<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.11/">\n' + "<page>猫</page>\n" * 50).encode()


def zip_of(**members):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/").replace("_xml", ".xml").replace("_npy", ".npy"), data)
    return made.getvalue()


def tar_of(**members):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


def office():
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("[Content_Types].xml", "<?xml version='1.0'?><Types/>")
        archive.writestr("word/document.xml", "<?xml version='1.0'?><document/>")
    return made.getvalue()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def tfrecord(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", crc32c(length)) + data + struct.pack("<I", crc32c(data))


# What a file holds, and what its message must say.
FORMATS = {
    "PDF": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + NOISE, "is a PDF document, not plain text; convert it"),
    "Parquet": (b"PAR1\x15\x04\x15\x80" + NOISE + b"PAR1", "is a Parquet file, not plain text"),
    "Arrow": (b"ARROW1\0\0\xff\xff\xff\xff" + NOISE, "is an Arrow file"),
    "ORC": (b"ORC\n\x06\x12\x04\x08\x64\x50\x00" + NOISE, "is an ORC file"),
    "Avro": (b"Obj\x01\x04\x16avro.schema" + NOISE, "is an Avro file"),
    "SQLite": (b"SQLite format 3\0\x10\0" + NOISE, "is an SQLite database"),
    "HDF5": (b"\x89HDF\r\n\x1a\n\0" + NOISE, "is an HDF5 file"),
    "pickle": (b"\x80\x04\x95\x10\0\0\0\0\0\0\0]\x94." + NOISE, "is a pickle of Python"),
    "TFRecord": (tfrecord(b"\n\x0b" + NOISE), "is a TFRecord file, not plain text; read it with read_examples"),
    "ELF": (b"\x7fELF\x02\x01\x01\0" + NOISE, "is an ELF program"),
    "PE": (b"MZ\x90\0" + bytes(56) + b"\x80\0\0\0" + bytes(64) + b"PE\0\0" + NOISE, "is a Windows program"),
    "Mach-O": (b"\xcf\xfa\xed\xfe\x07\0\0\x01" + NOISE, "is a Mach-O program"),
    "PNG": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + NOISE, "is a PNG image"),
    "JPEG": (b"\xff\xd8\xff\xe0\0\x10JFIF" + NOISE, "is a JPEG image"),
    "RAR": (b"Rar!\x1a\x07\x01\0" + NOISE, "is a RAR archive, not plain text; unpack it"),
    "7z": (b"7z\xbc\xaf\x27\x1c\0\x04" + NOISE, "is 7z data"),
    ".Z": (b"\x1f\x9d\x90" + NOISE, "is compress data (.Z)"),
    "lzip": (b"LZIP\x01\x0c" + NOISE, "is lzip data"),
    "LHA": (b"\x1b\x2c-lh5-" + NOISE, "is an LHA archive"),
    "lzma": (lzma.compress(corpus(20), lzma.FORMAT_ALONE), "is lzma data"),
    "Office": (office(), "is an Office document"),
    "npz": (zip_of(a_npy=b"\x93NUMPY\x01\0" + NOISE), "is arrays of numpy (npz)"),
    "gzip inside xz": (lzma.compress(gzip.compress(corpus(20))), "is gzip data inside xz data"),
    "xz inside gzip": (gzip.compress(lzma.compress(corpus(20))), "is xz data inside gzip data"),
    "bzip2 inside bzip2": (bz2.compress(bz2.compress(corpus(20))), "is bzip2 data inside bzip2 data"),
    "PDF inside gzip": (gzip.compress(b"%PDF-1.7\n" + NOISE), "is a PDF document"),
    "PDF inside tar": (tar_of(good=corpus(5), bad=b"%PDF-1.7\n" + NOISE), "member 'bad': is a PDF document"),
    "lzip inside tar.xz": (lzma.compress(tar_of(bad=b"LZIP\x01\x0c" + NOISE)), "member 'bad': is lzip data"),
    "gzip inside gzip inside zip": (zip_of(bad=gzip.compress(gzip.compress(b"a"))), "member 'bad': is gzip data inside gzip"),
    "WARC": (WARC, "is a WARC file, not plain text", "content: text"),
    "WARC inside gzip": (gzip.compress(WARC), "is a WARC file", "content: text"),
    "MediaWiki": (MEDIAWIKI, "is a MediaWiki dump", "content: text"),
    "XML": (b"\xef\xbb\xbf<?xml version='1.0'?>\n<a>b</a>\n", "is XML", "content: text"),
    "HTML": (b"<!DOCTYPE html>\n<html><body>404</body></html>\n", "is HTML", "content: text"),
}


def expect(run, code, *pieces):
    check(run.code == code, f"exit {run.code}, expected {code}\n{run.out}{run.err}")
    check_says(run.err, *pieces)
    check("[this is a bug]" not in run.err, run.err)


class Input(Place):
    """A place that reads one file of any bytes, line by line."""

    def __init__(self, data, name="input"):
        super().__init__()
        self.source = self.root / name
        self.source.write_bytes(data)
        self.stages["source"]["url"] = str(self.source)
        self.stages["lines"]["documents"] = "line"
        self.stages["docs"]["splits"] = {"train": "rest"}

    def published(self):
        return (self.artifact / "MANIFEST.json").exists()


def formats_are_refused_by_name():
    for what, (data, *pieces) in FORMATS.items():
        with Input(data) as place:
            run = place.run("-j1")
            try:
                expect(run, 1, "input: ", *pieces)
                check(not place.published(), "published it")
            except support.Wrong as wrong:
                raise support.Wrong(f"{what}: {wrong}") from wrong
    return f"{len(FORMATS)} formats"


def text_formats_pass_where_they_are_asked_for():
    for data in (WARC, gzip.compress(MEDIAWIKI), tar_of(a=WARC, b=MEDIAWIKI)):
        with Input(data) as place:
            place.stages["lines"]["content"] = "text"
            place.ok("-j1")
            check(place.published(), "did not publish it")
    with Input(b"%PDF-1.7\n" + NOISE) as place:
        place.stages["lines"]["content"] = "text"
        expect(place.run("-j1"), 1, "is a PDF document")


def rows_are_looked_at_too():
    with Input(b"PAR1\x15\x04\x15\x80" + NOISE) as place:
        place.stages["lines"] = {"type": "read_rows", "input": "source", "format": "jsonl", "text": "text"}
        expect(place.run("-j1"), 1, "input: is a Parquet file")


def the_name_of_a_file_says_nothing():
    with Input(corpus(20), "paper.pdf") as place:
        place.ok("-j1")
    with Input(b"%PDF-1.7\n" + NOISE, "corpus.txt") as place:
        expect(place.run("-j1"), 1, "corpus.txt: is a PDF document")


SCENARIOS = [formats_are_refused_by_name, text_formats_pass_where_they_are_asked_for, rows_are_looked_at_too,
             the_name_of_a_file_says_nothing]

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
