"""Packed rows, read as their readers do it: TensorFlow, Grain, array_record, NumPy as in OLMo and nanoGPT, MaxText and
Megatron-LM."""

import os
import struct
from pathlib import Path

import numpy as np

MAGIC = b"MMIDIDX\x00\x00"
DTYPES = {1: np.uint8, 2: np.int8, 3: np.int16, 4: np.int32, 5: np.int64, 6: np.float64, 7: np.float32, 8: np.uint16}


def rows_of(directory, info, shard):
    """(ids, other features, size in bytes as its index counts it) of each row of a shard."""
    path = Path(directory) / shard["object"]
    encoding, ids = info.get("encoding", "example"), info["seq_len"] + 1
    if encoding == "example":
        return [(*parsed(record, info), len(record) + 16) for record in tensorflow_records(path)]
    if encoding == "array_record":
        return [(*parsed(record, info), len(record)) for record in array_records(path)]
    if encoding == "mmap":
        return [(row.tolist(), (), row.nbytes) for row in MegatronIndexed(str(path)[:-len(".bin")])]
    rows = np.memmap(path, info["dtype"], "r").reshape(-1, ids) if path.stat().st_size else np.empty((0, ids), info["dtype"])
    return [(row.tolist(), (), row.nbytes) for row in rows]


def parsed(record, info):
    import tensorflow as tf

    names = ("tokens", "segment_ids", "positions") if info.get("segments") else ("tokens",)
    feature = {name: tf.io.FixedLenFeature([info["seq_len"] + 1], tf.int64) for name in names}
    found = tf.io.parse_single_example(record, feature)
    ids, *others = (found[name].numpy().tolist() for name in names)
    return ids, tuple(tuple(other) for other in others)


def tensorflow_records(path):
    import tensorflow as tf

    return list(tf.data.TFRecordDataset(str(path)).as_numpy_iterator())


def grain_tfrecords(path):
    """The calls of MaxText for grain_file_type=tfrecord."""
    import grain.experimental

    return list(grain.experimental.TFRecordIterDataset(str(path)))


def array_records(path):
    from array_record.python import array_record_module

    reader = array_record_module.ArrayRecordReader(str(path))
    records = list(reader.read_all())
    reader.close()
    return records


class MegatronIndexed:
    """Megatron-LM at d98e8a64ddf34856e74b24714e3bedb2f5a39553, megatron/core/datasets/indexed_dataset.py: the behaviour
    of _IndexReader and _MMapBinReader."""

    def __init__(self, prefix):
        with open(prefix + ".idx", "rb") as stream:
            assert stream.read(9) == MAGIC, "bad header"
            assert struct.unpack("<Q", stream.read(8))[0] == 1, "bad version"
            self.dtype = DTYPES[struct.unpack("<B", stream.read(1))[0]]
            self.sequences, self.documents = struct.unpack("<QQ", stream.read(16))
            offset = stream.tell()
        index = memoryview(np.memmap(prefix + ".idx", mode="r", order="C"))
        self.lengths = np.frombuffer(index, np.int32, self.sequences, offset)
        self.pointers = np.frombuffer(index, np.int64, self.sequences, offset + self.lengths.nbytes)
        self.document_indices = np.frombuffer(
            index, np.int64, self.documents, offset + self.lengths.nbytes + self.pointers.nbytes)
        assert offset + self.lengths.nbytes + self.pointers.nbytes + self.document_indices.nbytes == len(index)
        assert self.lengths.shape[0] == self.sequences == self.document_indices[-1], "sequences and documents differ"
        self.ids = np.memmap(prefix + ".bin", np.uint8, "r") if os.path.getsize(prefix + ".bin") else b""

    def __len__(self):
        return self.sequences

    def __getitem__(self, at):
        if at >= self.sequences:
            raise IndexError(at)
        return np.frombuffer(self.ids, self.dtype, self.lengths[at], self.pointers[at])


class MaxTextWindows:
    """MaxText at 549f65abc050e83302bc867e3b04dc33410836fc, src/maxtext/input_pipeline/_mmap_datasource.py: the result
    of create_mmap_source for a directory with grain_file_type=mmap and seq_length = max_target_length."""

    def __init__(self, directory, seq_length, eod_id):
        prefixes = sorted(str(path)[:-len(".idx")] for path in Path(directory).glob("*.idx"))
        if not prefixes:
            raise FileNotFoundError(f"No .idx files found in directory: {directory}")
        self.shards = [self.shard(prefix) for prefix in prefixes]
        self.sequences = [(data, size, pointer) for data, sizes, pointers in self.shards
                          for size, pointer in zip(sizes.tolist(), pointers.tolist())]
        self.ends = np.cumsum([size for _, size, _ in self.sequences], dtype=np.int64)
        self.seq_length, self.eod_id = seq_length, eod_id
        self.count = int(self.ends[-1]) // seq_length if len(self.ends) else 0

    @staticmethod
    def shard(prefix):
        size = os.path.getsize(prefix + ".idx")
        with open(prefix + ".idx", "rb") as stream:
            data = stream.read()
        magic, version, code = data[:9], *struct.unpack("<QB", data[9:18])
        assert magic == MAGIC and version == 1 and code in DTYPES
        sequences, documents = struct.unpack("<QQ", data[18:34])
        as_count, as_entries = (34 + 12 * sequences + 8 * entries for entries in (documents + 1, documents))
        entries = documents + 1 if size >= as_count else documents
        assert size == (as_count if size >= as_count else as_entries), "trailing bytes, or truncated"
        sizes = np.frombuffer(data, np.int32, sequences, 34)
        pointers = np.frombuffer(data, np.int64, sequences, 34 + 4 * sequences)
        document_indices = np.frombuffer(data, np.int64, entries, 34 + 12 * sequences)
        if entries > 1:
            assert document_indices[0] == 0 and document_indices[-1] == sequences
        # mmap_split_sentences=false refuses everything else.
        assert entries - 1 == sequences, "documents are not sequences"
        descriptor = os.open(prefix + ".bin", os.O_RDONLY)
        return (descriptor, DTYPES[code]), sizes, pointers

    def __len__(self):
        return self.count

    def __getitem__(self, at):
        if at >= self.count:
            raise IndexError(at)
        window, begin, filled = np.full(self.seq_length, self.eod_id, np.int32), at * self.seq_length, 0
        number = int(np.searchsorted(self.ends, begin, side="right"))
        while filled < self.seq_length and number < len(self.ends):
            (descriptor, dtype), size, pointer = self.sequences[number]
            inside = begin - (int(self.ends[number - 1]) if number else 0)
            count = min(size - inside, self.seq_length - filled)
            width = np.dtype(dtype).itemsize
            data = os.pread(descriptor, count * width, pointer + inside * width)
            window[filled:filled + count] = np.frombuffer(data, dtype)
            filled, begin, number = filled + count, begin + count, number + 1
        return window
