"""Reads tokenizer.model: its pieces, and the settings by which text becomes pieces. Knows the part of
sentencepiece_model.proto that an export needs."""

import struct
from dataclasses import dataclass

from ..exits import BAD_DATA, Ended

UNIGRAM, BPE = 1, 2
SPACE = "▁"  # stands for a space, and begins the first piece of a word
NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED, BYTE = 1, 2, 3, 4, 5, 6


class BadModel(ValueError):
    """The data are not a tokenizer.model."""


@dataclass(frozen=True)
class Model:
    pieces: list  # (text, score, type)
    kind: int
    byte_fallback: bool
    charsmap: bytes  # of its normaliser; empty: it changes no character
    dummy_prefix: bool
    squeeze: bool    # removes spaces at the ends, and all but one in a row
    escape: bool     # writes a space as ▁
    suffix: bool = False  # writes it behind a word
    rule: str = ""        # the name of its normaliser


def read(data):
    try:
        top = list(fields(data))
        trainer, normalizer = (merged(top, number) for number in (2, 3))
        pieces = []
        for number, value in top:
            if number == 1:
                piece = dict(fields(value))
                score = struct.unpack("<f", piece.get(2, bytes(4)))[0]
                pieces.append((piece[1].decode("utf-8"), score, piece.get(3, NORMAL)))
        return Model(pieces, trainer.get(3, UNIGRAM), bool(trainer.get(35, 0)), normalizer.get(2, b""),
                     bool(normalizer.get(3, 1)), bool(normalizer.get(4, 1)), bool(normalizer.get(5, 1)),
                     bool(trainer.get(24, 0)), normalizer.get(1, b"").decode("utf-8", "replace"))
    except (IndexError, KeyError, ValueError, AttributeError, TypeError, struct.error) as error:
        raise BadModel(f"no model of SentencePiece: {error}") from None


def merged(top, number):
    """Merges a message that comes in parts: later members replace earlier ones."""
    found = {}
    for at, value in top:
        if at == number:
            found.update(fields(value))
    return found


def fields(data):
    """Yields (number, value) of each field of a protobuf message. A value is an int, or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        number, kind = tag >> 3, tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind in (1, 5):
            value, at = taken(data, at, 8 if kind == 1 else 4)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = taken(data, at, size)
        else:
            raise ValueError(f"a field of kind {kind}")
        yield number, value


def taken(data, at, size):
    if at + size > len(data):
        raise ValueError("it ends too early")
    return data[at:at + size], at + size


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
        if shift > 63:
            raise ValueError("a number without an end")


def of_rows(rows):
    """Returns the Model of rows."""
    try:
        return read(rows.model_path.read_bytes())
    except (OSError, BadModel) as error:
        raise Ended(BAD_DATA, f"{rows.model_path}: {error}; make the rows again") from None
