#!/usr/bin/env python3
"""Files that are read as text and have other contents: formats that are not text, and text in encodings other than
UTF-8.

    encodings.py PIPE [SCENARIO...]

Each case is a file of its own, with a name that tells nothing, and is read by a pipeline of its own.
"""

import bz2
import gzip
import io
import lzma
import random
import re
import struct
import sys
import tarfile
import zipfile

import replan_support as support
from replan_support import Sandbox, check, check_says, corpus

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


# Name of the format: the bytes of the file, and the expected part of the message.
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


def expect(run, code, *parts):
    check(run.code == code, f"exit {run.code}, expected {code}\n{run.out}{run.err}")
    check_says(run.err, *parts)
    check("[this is a bug]" not in run.err, run.err)


class Input(Sandbox):
    """A `Sandbox` whose pipeline reads one file of any bytes, line by line."""

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
    for what, (data, *parts) in FORMATS.items():
        with Input(data) as sandbox:
            run = sandbox.run("-j1")
            try:
                expect(run, 1, "input: ", *parts)
                check(not sandbox.published(), "published it")
            except support.Wrong as wrong:
                raise support.Wrong(f"{what}: {wrong}") from wrong
    return f"{len(FORMATS)} formats"


def text_formats_pass_where_they_are_asked_for():
    for data in (WARC, gzip.compress(MEDIAWIKI), tar_of(a=WARC, b=MEDIAWIKI)):
        with Input(data) as sandbox:
            sandbox.stages["lines"]["content"] = "text"
            sandbox.ok("-j1")
            check(sandbox.published(), "did not publish it")
    with Input(b"%PDF-1.7\n" + NOISE) as sandbox:
        sandbox.stages["lines"]["content"] = "text"
        expect(sandbox.run("-j1"), 1, "is a PDF document")


def json_lines_are_rows_and_no_text():
    with Input(b'{"id": 1, "text": "a"}\n{"id": 2, "text": "b"}\n', "a.jsonl") as sandbox:
        expect(sandbox.run("-j1"), 1, "a.jsonl: is JSON Lines, not plain text; read it with read_rows", "content: text")
        sandbox.stages["lines"]["content"] = "text"
        sandbox.ok("-j1")
    return "told"


def other_names_of_encodings_are_taken():
    text = "관련 주제\n고양이가 마당에서 울었다.\n" * 20
    with Input(text.encode("cp949")) as sandbox:
        sandbox.stages["lines"]["encoding"] = "EUC-KR"
        check("decoded_cp949 40" in sandbox.ok("-j1").err, "decoded")
        sandbox.stages["lines"]["encoding"] = "utf-16"
        run = sandbox.run("-j1")
        expect(run, 2, 'and this is "utf-16"')
        check("did you mean" not in run.err, run.err)
    return "read"


def rows_are_looked_at_too():
    with Input(b"PAR1\x15\x04\x15\x80" + NOISE) as sandbox:
        sandbox.stages["lines"] = {"type": "read_rows", "input": "source", "format": "jsonl", "text": "text"}
        expect(sandbox.run("-j1"), 1, "input: is a Parquet file")


def the_name_of_a_file_says_nothing():
    with Input(corpus(20), "paper.pdf") as sandbox:
        sandbox.ok("-j1")
    with Input(b"%PDF-1.7\n" + NOISE, "corpus.txt") as sandbox:
        expect(sandbox.run("-j1"), 1, "corpus.txt: is a PDF document")


# --- Encodings

JAPANESE = ["昨日は友達と駅の近くの寺に行きました。", "明日の会議の資料を午前中に送ってください。", "「雨が降りそうだね」と母が言った。",
            "新しい図書館には子供の本がたくさんある。", "電車が遅れて、約束の時間に間に合わなかった。"]
KOREAN = ["어제 친구랑 영화를 봤는데 정말 재미있었어요.", "내일 회의 자료를 오전에 보내 주세요.", "비가 올 것 같다고 어머니가 말했다.",
          "새로 생긴 도서관에는 어린이 책이 많다.", "지하철이 늦어서 약속 시간에 늦었다."]


def text_of(sentences, lines=400):
    return "".join(f"{number} {sentences[number % 5]}{sentences[number * 7 % 5]}\n" for number in range(lines))


# Name, text, Python's codec, and the value of `encoding`; None for UTF-8.
ENCODINGS = [("Shift_JIS", JAPANESE, "cp932", "shift_jis"), ("EUC-JP", JAPANESE, "euc-jp", "euc-jp"),
             ("ISO-2022-JP", JAPANESE, "iso-2022-jp", "iso-2022-jp"), ("CP949", KOREAN, "cp949", "cp949"),
             ("EUC-KR", KOREAN, "euc-kr", "cp949"), ("Johab", KOREAN, "johab", "johab"),
             ("ISO-2022-KR", KOREAN, "iso2022_kr", "iso-2022-kr"), ("UTF-16LE", JAPANESE, "utf-16le", "utf-16le"),
             ("UTF-16BE", KOREAN, "utf-16be", "utf-16be"), ("UTF-16 with a mark", KOREAN, "utf-16", "utf-16le"),
             ("UTF-8 with a mark", JAPANESE, "utf-8-sig", None), ("UTF-8", KOREAN, "utf-8", None)]


def shards(sandbox):
    return {name: digest for name, digest in support.tree(sandbox.artifact).items() if "tfrecord" in name}


def partitions(sandbox, stage="text"):
    """{unit: fields} of the last `done` line of each partition."""
    lines = [(support.fields(line), line) for line in sandbox.log_text().splitlines() if line.startswith("done\t")]
    return {line["unit"]: {**line, "whole": whole} for line, whole in lines
            if line["unit"].startswith(f"{stage}/00") and "-of-" not in line["unit"]}


def decoded(sandbox):
    """Per partition, in their order: the encoding from which its lines were decoded, by the log."""
    found = [re.findall(r"decoded_(\w+) ", line["whole"] + " ") for _, line in sorted(partitions(sandbox).items())]
    return [names[0] if names else None for names in found]


def published_as_utf8(text):
    with Input(text.encode()) as sandbox:
        sandbox.ok("-j1")
        return shards(sandbox)


def every_encoding_gives_what_utf8_gives():
    wants = {}
    for what, sentences, codec, choice in ENCODINGS:
        text = text_of(sentences)
        if text not in wants:
            wants[text] = published_as_utf8(text)
        for keys in ({}, {"encoding": choice or "utf-8"}):
            with Input(text.encode(codec)) as sandbox:
                sandbox.stages["lines"].update(keys)
                sandbox.ok("-j3", "--batch-bytes", "3000")
                check(shards(sandbox) == wants[text], f"{what}, {keys}: other bytes")
                said = set(decoded(sandbox))
                check(said == {choice and choice.replace("-", "_")}, f"{what}: the log says {said}")
    return f"{len(ENCODINGS)} encodings"


def members_have_encodings_of_their_own():
    texts = {"a": text_of(JAPANESE, 100), "b": text_of(KOREAN, 100), "c": text_of(JAPANESE, 77), "d": text_of(KOREAN, 30)}
    codecs = ("cp932", "cp949", "utf-8", "utf-16be")
    with Input(tar_of(**{name: text.encode() for name, text in texts.items()})) as sandbox:
        sandbox.stages["lines"]["partition"] = "4KiB"
        sandbox.ok("-j1")
        want = shards(sandbox)
    for pack in (lambda data: data, lzma.compress):
        with Input(pack(tar_of(**{name: text.encode(codec) for (name, text), codec in zip(texts.items(), codecs)}))) as sandbox:
            sandbox.stages["lines"]["partition"] = "4KiB"
            sandbox.ok("-j3", "--batch-bytes", "3000")
            check(shards(sandbox) == want, "other bytes")
            forget_partitions(sandbox, keep=3)
            sandbox.ok("-j2")
            check(shards(sandbox) == want, "other bytes when resumed")


def forget_partitions(sandbox, keep):
    """Restores the state of a run that was killed after `keep` partitions were logged; all are in the directory."""
    support.shutil.rmtree(sandbox.out)
    lines, kept, seen = sandbox.log_text().splitlines(keepends=True), [], 0
    for line in lines:
        unit = support.fields(line).get("unit", "")
        if unit.startswith("text/"):
            seen += 1
            if seen > keep or "-of-" in unit or unit.endswith("*"):
                continue
        kept.append(line)
    sandbox.log.write_text("".join(kept))


def a_resumed_run_reads_what_the_first_one_read():
    text = text_of(JAPANESE, 3000)
    want = published_as_utf8(text)
    with Input(text.encode("cp932")) as sandbox:
        sandbox.stages["lines"]["partition"] = "16KiB"
        sandbox.ok("-j1")
        check(shards(sandbox) == want, "other bytes")
        before = partitions(sandbox)
        check(len(before) > 10, before)
        forget_partitions(sandbox, keep=4)
        sandbox.ok("-j2")
        check(shards(sandbox) == want, "other bytes when resumed")
        check({unit: line["digest"] for unit, line in partitions(sandbox).items()}
              == {unit: line["digest"] for unit, line in before.items()}, "other partitions")
        sandbox.stages["lines"]["encoding"] = "auto"  # the default
        run = sandbox.ok("-j1")
        check(not run.units, f"ran again: {run.counted()}")


def ascii_in_front_decides_nothing():
    ascii_lines = "plain text, a line of it, which says nothing about the encoding\n" * 2000
    text = ascii_lines + text_of(KOREAN, 400)
    want = published_as_utf8(text)
    for codec, choice in (("cp949", "cp949"), ("utf-8", None)):
        with Input(text.encode(codec)) as sandbox:
            sandbox.stages["lines"]["partition"] = "16KiB"
            sandbox.ok("-j1")
            check(shards(sandbox) == want, f"{codec}: other bytes")
            said = decoded(sandbox)
            check(said[0] is None and said[-1] == choice, said)
            for keep in (2, len(said) - 1):
                forget_partitions(sandbox, keep)
                sandbox.ok("-j2")
                check(shards(sandbox) == want, f"{codec}: other bytes when resumed behind {keep} partitions")
    return f"{len(said)} partitions"


def two_that_fit_alike_are_named():
    # The same bytes are せせせせ in EUC-JP.
    with Input(("ㅋㅋㅋㅋ\n" * 50).encode("cp949")) as sandbox:
        run = sandbox.run("-j1")
        expect(run, 1, "input: is no UTF-8, and fits ", "cp949", "euc-jp", "alike; set encoding")
        check(not sandbox.published(), "published it")
        sandbox.stages["lines"]["encoding"] = "cp949"
        sandbox.ok("-j1")
        return run.err.splitlines()[0]


def the_encoding_is_the_cause():
    """Of a text or a header that is read wrongly, the message names the encoding."""
    for data, *parts in (("Мой дядя самых честных правил\n".encode("koi8-r"), "input: is not UTF-8, and reads as koi8-r"),
                         ("子曰学而时习之不亦说乎\n".encode("hz"), "input: is not UTF-8, and reads as hz-gb-2312"),
                         (b"il a \xe9t\xe9 \xe0 la plage\n" * 15, "reads as windows-1252", "convert it to UTF-8")):
        with Input(data) as sandbox:
            expect(sandbox.run("-j1"), 1, *parts)
            check(not sandbox.published(), "published it")
    with Input("氏名,住所\n佐藤,鯖江市\n".encode("cp932")) as sandbox:
        sandbox.stages["lines"] = {"type": "read_rows", "input": "source", "format": "csv", "text": "氏名", "encoding": "utf-8"}
        expect(sandbox.run("-j1"), 1, "no column '氏名' is in the header, which is not UTF-8 and fits shift_jis: set encoding")
        del sandbox.stages["lines"]["encoding"]
        sandbox.ok("-j1")


def a_byte_too_many_in_utf16_is_an_error():
    data = text_of(JAPANESE).encode("utf-16-le")
    with Input(data[:9000] + b"!" + data[9000:]) as sandbox:
        sandbox.stages["lines"]["encoding"] = "utf-16le"
        expect(sandbox.run("-j1"), 1, "input: is no utf-16le from about byte ", "a byte was lost or added there")
        check(not sandbox.published(), "published it")


def earlier_work_reads_as_it_did():
    koi8 = ("Мой дядя самых честных правил\n" * 30).encode("koi8-r")
    with Input(koi8) as sandbox:
        sandbox.stages["lines"]["rules"] = "1"
        sandbox.ok("-j1")
        check(set(decoded(sandbox)) == {"shift_jis"}, decoded(sandbox))


# --- Damaged lines

def lines_with(damaged, of, first=17):
    text = [f"{number} {JAPANESE[number % 5]}\n".encode() for number in range(of)]
    for number in range(damaged):
        text[first - 1 + number * 3] = b"caf\xe9 au lait\n"
    return b"".join(text)


def too_many_damaged_lines_end_it():
    with Input(lines_with(20, 400)) as sandbox:  # 5 %, but no more than 20
        sandbox.ok("-j1")
    with Input(lines_with(21, 2100)) as sandbox:  # 1 %
        sandbox.ok("-j1")
    told = []
    for policy in ("replace", "quarantine"):
        with Input(lines_with(21, 2099)) as sandbox:
            sandbox.stages["lines"].update(partition="16KiB", invalid_utf8=policy)
            for args in (("-j1",), ("-j3", "--batch-bytes", "3000")):  # the second run is resumed
                run = sandbox.run(*args)
                expect(run, 1, "input: 21 of 2099 lines are at fault, more than invalid_lines (0.01) allows",
                       "the first is line 17, invalid_utf8: caf? au lait; ", "; all are in quarantine/",
                       "set encoding if it is another one, or convert the text to UTF-8; or raise invalid_lines")
                check(not sandbox.published(), "published it")
                told.append(run.err.splitlines()[0])
            sandbox.stages["lines"]["invalid_lines"] = 0.02
            run = sandbox.ok("-j1")
            check(run.of("partitions") == 0, f"made complete outputs again: {run.counted()}")
    return told[0]


def other_encodings_far_behind_the_front():
    """Mail of many years: more than a MiB of UTF-8, then ISO-2022-JP."""
    utf8 = [f"{number} {JAPANESE[number % 5]}\n".encode() for number in range(40_000)]
    jis = [f"{number} {JAPANESE[number % 5]}\n".encode("iso-2022-jp") for number in range(2000)]
    check(sum(map(len, utf8)) > 2 << 20, "the decision is made before it")
    with Input(b"".join(utf8 + jis)) as sandbox:
        run = sandbox.run("-j1")
        expect(run, 1, "2000 of 42000 lines are at fault, more than invalid_lines (0.01) allows",
               "the first is line 40001, iso_2022", "split the file where it changes, or convert them")
        check(not sandbox.published(), "published it")
    with Input(b"".join(utf8 + jis[:19])) as sandbox:
        sandbox.ok("-j1")
    return "told"


def a_hundred_thousand_lines_are_enough():
    """The end of the file is far away and damaged; it is never read."""
    text = lines_with(1500, 110_000) + b"good\n" * 1_000_000
    with Input(gzip.compress(text, 1)[:-1000]) as sandbox:
        sandbox.stages["lines"].update(partition="1MiB")
        run = sandbox.run("-j2")
        expect(run, 1, "lines are at fault, more than invalid_lines (0.01) allows")
        lines = int(re.search(r"1500 of (\d+) lines", run.err).group(1))
        check(100_000 <= lines < 150_000, f"found it after {lines} lines")


def complete_outputs_of_other_inputs_are_kept():
    with Input(lines_with(0, 500), "a.txt") as sandbox:
        (sandbox.root / "b.txt").write_bytes(text_of(JAPANESE, 500).encode("cp932") + b"\x80\n" * 30)
        sandbox.stages["source"]["url"] = [str(sandbox.root / "a.txt"), str(sandbox.root / "b.txt")]
        run = sandbox.run("-j1", "-k", "5")
        expect(run, 1, "b.txt: 30 of 530 lines are at fault", "set encoding if it is another one")
        sandbox.stages["lines"]["invalid_lines"] = 0.1
        run = sandbox.ok("-j1")
        check(run.of("ends") == 1 and run.of("partitions") == 0, f"made complete outputs again: {run.counted()}")
        counts = sandbox.out
        check(counts.exists(), "nothing was published")


def encodings_that_damaged_lines_fit_are_named():
    text = lines_with(0, 20_000) + text_of(JAPANESE, 400).encode("euc-jp")
    with Input(text) as sandbox:
        run = sandbox.run("-j1")
        expect(run, 1, "400 of 20400 lines", "these lines fit euc-jp: set encoding; or split the file where it changes")
        return run.err.splitlines()[0]


SCENARIOS = [formats_are_refused_by_name, text_formats_pass_where_they_are_asked_for, json_lines_are_rows_and_no_text,
             other_names_of_encodings_are_taken, rows_are_looked_at_too,
             the_name_of_a_file_says_nothing, every_encoding_gives_what_utf8_gives, members_have_encodings_of_their_own,
             a_resumed_run_reads_what_the_first_one_read, ascii_in_front_decides_nothing, two_that_fit_alike_are_named,
             the_encoding_is_the_cause, a_byte_too_many_in_utf16_is_an_error, earlier_work_reads_as_it_did,
             too_many_damaged_lines_end_it, other_encodings_far_behind_the_front, a_hundred_thousand_lines_are_enough,
             complete_outputs_of_other_inputs_are_kept, encodings_that_damaged_lines_fit_are_named]

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
