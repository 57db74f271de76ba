#!/usr/bin/env python3
"""Makes the examples of write_bert in one process of plain Python: without numpy, as the original of 2018 does.

    bert_baseline.py VOCABULARY TEXT OUT

TEXT has a sentence per line and a blank line after each document. The rules are in stages/export/bert/bert.md, here with L = 128,
P = 20, one pass. Prints the number of examples, and the seconds of CPU with and without tokenising.
"""

import random
import struct
import sys
import time
import unicodedata

LENGTH, PREDICTIONS, SHARE, SHORT = 128, 20, 0.15, 0.1


def read_vocabulary(path):
    with open(path, encoding="utf-8") as lines:
        return {line.rstrip("\n"): number for number, line in enumerate(lines)}


def is_ideograph(code):
    return (0x4e00 <= code <= 0x9fff or 0x3400 <= code <= 0x4dbf or 0x20000 <= code <= 0x2ceaf or 0xf900 <= code <= 0xfaff
            or 0x2f800 <= code <= 0x2fa1f)


def words_of(line):
    word = []
    for letter in line:
        code = ord(letter)
        category = unicodedata.category(letter)
        if code in (0, 0xfffd) or category in ("Cc", "Cf") and letter not in "\t\n\r":
            continue
        if letter in "\t\n\r" or category == "Zs":
            if word:
                yield "".join(word)
            word = []
        elif category[0] == "P" or is_ideograph(code) or code < 127 and not letter.isalnum():
            if word:
                yield "".join(word)
            yield letter
            word = []
        else:
            word.append(letter)
    if word:
        yield "".join(word)


def pieces_of(word, vocabulary):
    if len(word) > 100:
        return [vocabulary["[UNK]"]]
    begin, found = 0, []
    while begin < len(word):
        end = len(word)
        while end > begin:
            piece = word[begin:end] if begin == 0 else "##" + word[begin:end]
            if piece in vocabulary:
                break
            end -= 1
        if end == begin:
            return [vocabulary["[UNK]"]]
        found.append(vocabulary[piece])
        begin = end
    return found


def read_documents(path, vocabulary):
    documents = [[]]
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.strip()
            if not line:
                documents.append([])
                continue
            ids = [number for word in words_of(line) for number in pieces_of(word, vocabulary)]
            if ids:
                documents[-1].append(ids)
    return [document for document in documents if document]


def masked(ids, special, mask, size, chance):
    candidates = [at for at, number in enumerate(ids) if number not in special]
    chance.shuffle(candidates)
    ids, chosen = list(ids), []
    for at in candidates[:min(PREDICTIONS, max(1, int(round(len(ids) * SHARE))))]:
        chosen.append((at, ids[at]))
        if chance.random() < 0.8:
            ids[at] = mask
        elif chance.random() >= 0.5:
            ids[at] = chance.randint(0, size - 1)
    chosen.sort()
    return ids, [at for at, _ in chosen], [number for _, number in chosen]


def examples_of(documents, number, vocabulary, chance):
    cls, sep, mask = (vocabulary[piece] for piece in ("[CLS]", "[SEP]", "[MASK]"))
    document, most = documents[number], LENGTH - 3
    target = chance.randint(2, most) if chance.random() < SHORT else most
    chunk, length, at = [], 0, 0
    while at < len(document):
        chunk.append(document[at])
        length += len(document[at])
        if at == len(document) - 1 or length >= target:
            end = chance.randint(1, len(chunk) - 1) if len(chunk) > 1 else 1
            first = [number for sentence in chunk[:end] for number in sentence]
            second = []
            is_random = len(chunk) == 1 or chance.random() < 0.5
            if is_random:
                other = number
                for _ in range(10):
                    other = chance.randint(0, len(documents) - 1)
                    if other != number:
                        break
                for sentence in documents[other][chance.randint(0, len(documents[other]) - 1):]:
                    second.extend(sentence)
                    if len(second) >= target - len(first):
                        break
                at -= len(chunk) - end
            else:
                for sentence in chunk[end:]:
                    second.extend(sentence)
            while len(first) + len(second) > most:
                longer = first if len(first) > len(second) else second
                if chance.random() < 0.5:
                    del longer[0]
                else:
                    longer.pop()
            ids = [cls, *first, sep, *second, sep]
            segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
            yield *masked(ids, (cls, sep), mask, len(vocabulary), chance), segments, is_random
            chunk, length = [], 0
        at += 1


def varint(number):
    out = bytearray()
    while number >= 128:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def sub(tag, content):
    return bytes((tag,)) + varint(len(content)) + content


def entry(name, tag, values):
    return sub(0x0a, sub(0x0a, name) + sub(0x12, sub(tag, sub(0x0a, values))))


def numbers(values, length):
    return b"".join(map(varint, values)) + bytes(length - len(values))


def serialized(ids, positions, labels, segments, is_random):
    return sub(0x0a, b"".join((
        entry(b"input_ids", 0x1a, numbers(ids, LENGTH)),
        entry(b"input_mask", 0x1a, numbers([1] * len(ids), LENGTH)),
        entry(b"masked_lm_ids", 0x1a, numbers(labels, PREDICTIONS)),
        entry(b"masked_lm_positions", 0x1a, numbers(positions, PREDICTIONS)),
        entry(b"masked_lm_weights", 0x12, struct.pack("<f", 1) * len(labels) + bytes(4 * (PREDICTIONS - len(labels)))),
        entry(b"next_sentence_labels", 0x1a, bytes((is_random,))),
        entry(b"segment_ids", 0x1a, numbers(segments, LENGTH)))))


def main(vocabulary_path, text, out):
    begin = time.process_time()
    vocabulary = read_vocabulary(vocabulary_path)
    documents = read_documents(text, vocabulary)
    tokenised = time.process_time()
    chance = random.Random(12345)
    chance.shuffle(documents)
    made = [example for number in range(len(documents)) for example in examples_of(documents, number, vocabulary, chance)]
    chance.shuffle(made)
    with open(out, "wb") as file:
        for example in made:  # without checksums, which a library would compute
            record = serialized(*example)
            file.write(struct.pack("<QI", len(record), 0) + record + bytes(4))
    ended = time.process_time()
    print(len(made), f"{ended - begin:.3f}", f"{ended - tokenised:.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
