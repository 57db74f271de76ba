"""SentencePiece models with chosen pieces, written byte by byte (formats/sentencepiece_model.md)."""

import struct

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6
UNIGRAM, BPE = 1, 2
PAD, BOS, EOS, UNK, NEWLINE = range(5)
SPECIAL = [("<pad>", 0.0, CONTROL), ("<s>", 0.0, CONTROL), ("</s>", 0.0, CONTROL), ("<unk>", 0.0, UNKNOWN),
           ("\n", 0.0, USER_DEFINED)]
BYTES = [(f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256)]


def varint(value):
    out = b""
    while value > 127:
        out, value = out + bytes([value & 127 | 128]), value >> 7
    return out + bytes([value])


def number(field, value):
    return varint(field << 3) + varint(value)


def sub(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def model_of(pieces, kind=UNIGRAM):
    """A model in the layout `pipe`: the bytes, then `pieces` as (text, score). It encodes the text without
    normalisation."""
    table = [*SPECIAL, *BYTES, *((text, score, NORMAL) for text, score in pieces)]
    model = b"".join(sub(1, sub(1, text.encode()) + varint(2 << 3 | 5) + struct.pack("<f", score) + number(3, type_))
                     for text, score, type_ in table)
    trainer = (number(3, kind) + number(4, len(table)) + number(35, 1) + number(40, UNK) + number(41, BOS) +
               number(42, EOS) + number(43, PAD))
    keeps_text = sub(1, b"identity") + number(3, 0) + number(4, 0) + number(5, 1)
    return model + sub(2, trainer) + sub(3, keeps_text)
