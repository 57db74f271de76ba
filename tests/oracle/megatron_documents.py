"""Documents as a Megatron data set: a text, the artifacts of `write_packed` from it, and documents whose files and
samples megatron-core made."""

import hashlib
import random
import struct
from pathlib import Path

import numpy as np
from program import ran
from token_lines import FILE

STAGES = """\
  ordered: { type: write_packed, input: tokens, packing: documents, encoding: mmap, shuffle: none, shards: 1,
             out: "${out}/ordered" }
  shuffled: { type: write_packed, input: tokens, packing: documents, encoding: mmap, shards: 3, out: "${out}/shuffled" }
  parts: { type: write_packed, input: tokens, packing: documents, encoding: mmap, shuffle: none, out: "${out}/parts" }
"""
ARTIFACTS = ("ordered", "shuffled", "parts")
CORPUS_BYTES = 300_000
SEQ_LENGTHS = (31, 128, 1000)  # shorter and longer than most documents
SAMPLES, SEED = 10_000, 1234

# Made by megatron-core 0.16.1, which gpt_dataset_test.py runs: the SHA-256 of .bin and .idx of fixed_documents(), as
# IndexedDatasetBuilder writes them in either type, and of their first SAMPLES samples, as GPTDataset gives them.
BUILT = {
    "uint16": "0b47556b18a90b06c0872441758c96e2f7186291bf043fdd583973ef4b4bbe27",
    "int32": "4281779b0071eac6ff32ecbeb470e4e647cdb3af1ab6f91e6bcba5e05c3f03bd",
}
TAKEN = {
    31: "579284f595f71e93179b392a6c0cacd4912e8d020823b67526cae048f4851479",
    128: "97052eb9bf3cd9d5c314819103ccb3d5c6751542cffbbc360f366927cbc086b5",
    1000: "56e2132d84d5fd786ed5ee2b95f8ec884141ef9b6ed7574f7490c59d85eda294",
}


def corpus(seed):
    """Documents of a few characters up to thousands, with characters that no tokenizer has seen."""
    chance, made, lines = random.Random(seed), 0, []
    letters = [chr(code) for code in (*range(0x3042, 0x3094), *range(0x4e00, 0x4f80))]
    while made < CORPUS_BYTES:
        for _ in range(chance.choice((1, 1, 2, 5, 40))):
            line = "".join(chance.choices(letters, k=chance.choice((1, 3, 20, 60, 200))))
            if chance.random() < 0.1:
                line += chr(chance.randrange(0x5000, 0x9fa0)) + "ｶﾞ</s>"
            lines.append(line)
            made += 3 * len(line)
        lines.append("")
    return "\n".join(lines) + "\n"


def published(pipe, place, text):
    """Runs the pipeline over the text; returns the directory of the artifacts."""
    file, root = Path(place) / "documents.yaml", Path(place) / "out"
    file.write_text(FILE + STAGES, encoding="utf-8")
    ran(pipe, "run", file, "--work", Path(place) / "work", "--set", f"corpus={text}", "--set", f"out={root}")
    for name in ARTIFACTS:
        ran(pipe, "verify", root / name)
    return root


def fixed_documents():
    """2,000 documents of ids below 1,000; each ends with 2, and has it nowhere else."""
    chance = random.Random(5)
    return [[chance.randrange(3, 1000) for _ in range(chance.choice((1, 2, 30, 150, 600)))] + [2] for _ in range(2000)]


def built(documents, dtype):
    """The bytes that IndexedDatasetBuilder writes for add_document(document, [length]) of each, and finalize: .bin and
    .idx. Written from megatron/core/datasets/indexed_dataset.py at d98e8a6."""
    lengths, width = [len(document) for document in documents], np.dtype(dtype).itemsize
    code = {"uint16": 8, "int32": 4}[dtype]
    index = b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, code, len(lengths), len(lengths) + 1)
    index += np.array(lengths, np.int32).tobytes()
    index += (width * np.cumsum([0] + lengths)[:-1]).astype(np.int64).tobytes()
    index += np.arange(len(lengths) + 1, dtype=np.int64).tobytes()
    return b"".join(np.array(document, dtype).tobytes() for document in documents), index


def digest(*parts):
    return hashlib.sha256(b"".join(parts)).hexdigest()


def digest_of_samples(samples, count):
    return digest(*(np.asarray(samples[at], np.int64).tobytes() for at in range(count)))
