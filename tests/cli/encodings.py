#!/usr/bin/env python3
"""Text in another encoding gives the bytes that it gives in UTF-8, also in a run that is resumed, and damaged lines end a run early.

    encodings.py PIPE [SCENARIO...]

Messages about formats and encodings are cases below cases/encodings.
"""

import gzip
import io
import lzma
import re
import sys
import tarfile

import replan_support as support
from replan_support import Sandbox, check, check_says


def tar_of(**members):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for name, data in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return made.getvalue()


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


# --- Damaged lines

def lines_with(damaged, of, first=17):
    text = [f"{number} {JAPANESE[number % 5]}\n".encode() for number in range(of)]
    for number in range(damaged):
        text[first - 1 + number * 3] = b"caf\xe9 au lait\n"
    return b"".join(text)


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


SCENARIOS = [every_encoding_gives_what_utf8_gives, members_have_encodings_of_their_own,
             a_resumed_run_reads_what_the_first_one_read, ascii_in_front_decides_nothing, a_hundred_thousand_lines_are_enough,
             complete_outputs_of_other_inputs_are_kept]

if __name__ == "__main__":
    sys.exit(support.main(SCENARIOS))
