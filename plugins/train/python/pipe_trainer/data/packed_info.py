"""Reads packed.json (stages/export/packed/packed.md) and its manifest (dag/books/manifest.md), which describe rows."""

import json
from dataclasses import dataclass
from pathlib import Path

from ..exits import BAD_DATA, Ended
from . import labels as about_labels
from . import number_labels, vocabulary
from .crc32c import crc32c

READ = (1, 2, 3, 5)  # versions; 4 is of documents
WITH_WEIGHTS = 3  # the version of rows that have loss weights, and of no others but those of the next
OF_WORDS = 5      # of rows of a vocab.txt: a document has an id in front
ID_BYTES = {"example": 0, "raw16": 2, "raw32": 4}  # of the encodings that this trainer reads
MANIFEST, PACKED = "MANIFEST.json", "packed.json"
DOCUMENTS = "documents"  # a packing without rows
REMEDY = "; run `pipe verify` on it, and the pipeline again"


class DataError(Ended):
    """Rows are missing, damaged, or not those of the start of the run. The message has place, problem and remedy."""

    def __init__(self, message):
        super().__init__(BAD_DATA, message)


@dataclass(frozen=True)
class Shard:
    object: str
    index: str      # empty: it has none
    rows: int
    targets: int
    bytes: int
    chars: int
    scored: int | None = None  # targets of weight 1; None: rows have no weights
    size: int = 0              # of the file, by the manifest

    @property
    def files(self):
        return tuple(name for name in (self.object, self.index) if name)


@dataclass(frozen=True)
class PackedInfo:
    directory: Path
    seq_len: int
    fill_id: int
    tokenizer: dict
    splits: dict  # name: tuple of Shard
    id_bytes: int  # 0: rows are Examples
    digest: str   # content root of the manifest; other rows have another one
    weights: bool = False  # each row has loss weights
    labels: about_labels.Labels | number_labels.Numbers | None = None  # of its documents; None: they have none


class Members:
    """Members of a JSON object, each checked for its type. `path` is the path to them in errors."""

    def __init__(self, value, path):
        self._path = path
        self._value = self._checked(value, dict, path)

    @staticmethod
    def _checked(value, kind, path):
        if not isinstance(value, kind) or isinstance(value, bool):
            raise DataError(f"{path}: missing, or not as it should be{REMEDY}")
        return value

    def get(self, name, kind):
        return self._checked(self._value.get(name), kind, f"{self._path}: {name}")

    def whole(self, name, least=0, most=(1 << 63) - 1):
        value = self.get(name, int)
        if not least <= value <= most:
            raise DataError(f"{self._path}: {name}: {value}, which is out of range{REMEDY}")
        return value

    def file(self, name):
        """Returns the name of a file in the directory itself. Refuses a name that leads elsewhere."""
        value = self.get(name, str)
        if not value or "/" in value or "\0" in value or value in (".", ".."):
            raise DataError(f"{self._path}: {name}: {value!r} is no name of a file{REMEDY}")
        return value


def load(path, maker):
    """Returns (the bytes of a file of JSON, its value)."""
    try:
        text = path.read_bytes()
        return text, json.loads(text)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}; did {maker} make this?") from None
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}{REMEDY}") from None


def _shards(split, path, weights, listed):
    for number, shard in enumerate(split.get("shards", list)):
        members = Members(shard, f"{path}.shards[{number}]")
        file = members.file("object"), members.file("index")
        totals = [members.whole(name) for name in ("rows", "targets", "bytes", "chars")]
        yield Shard(*file, *totals, members.whole("scored", 0, totals[1]) if weights else None,
                    listed[file[0]].whole("bytes") if file[0] in listed else 0)


def listed_in(manifest, path, wanted, maker):
    """Returns {object: its Members} of a manifest, which names the file `wanted`."""
    listed = {}
    for kind in ("shards", "sidecars"):
        for number, entry in enumerate(manifest.get(kind, list)):
            members = Members(entry, f"{path}: {kind}[{number}]")
            listed[members.get("object", str)] = members
    if wanted not in listed:
        raise DataError(f"{path}: it does not name {wanted}; did {maker} make this?")
    return listed


def check_sizes(directory, listed, splits, read, in_blocks):
    """Checks that the manifest names the files of all splits, and that those of the split `read` have its sizes. Does
    not read them. `in_blocks`: that split has no shards here."""
    here = {name for shard in splits.get(read, ()) for name in shard.files}
    if in_blocks:
        here -= {shard.object for shard in splits.get(read, ())}
    shards = [shard for split in splits.values() for shard in split]
    for name in (name for shard in shards for name in shard.files):
        if name not in listed:
            raise DataError(f"{directory / MANIFEST}: it does not name {name}{REMEDY}")
        if name not in here:
            continue
        try:
            size = (directory / name).stat().st_size
        except OSError as error:
            raise DataError(f"{directory / name}: cannot be read: {error.strerror}{REMEDY}") from None
        if size != listed[name].whole("bytes"):
            raise DataError(f"{directory / name}: {size} bytes, its {MANIFEST} says "
                            f"{listed[name].whole('bytes')}{REMEDY}")


def _has_weights(info, value, path):
    """Returns whether the rows have loss weights. Refuses them in another version: a trainer that does not know them
    would train on every target."""
    version, weights = info.whole("pipe_packed"), value.get("weights", False)
    if not isinstance(weights, bool) or version != OF_WORDS and weights != (version == WITH_WEIGHTS):
        raise DataError(f"{path}: weights: missing, or not as version {version} has them{REMEDY}")
    return weights


def _check_words(info, tokenizer, path):
    """A trainer that does not know that an id begins a document would count positions from another one."""
    words = vocabulary.is_vocabulary(tokenizer.file("model"))
    if words != (info.whole("pipe_packed") == OF_WORDS):
        raise DataError(f"{path}: tokenizer: its file is not as version {info.whole('pipe_packed')} has it{REMEDY}")
    if words:
        tokenizer.whole("cls_id")


def _labels(value, path, weights, vocab):
    if value.get("labels") is None:
        return None
    if not weights:
        raise DataError(f"{path}: labels: rows without weights have none{REMEDY}")
    if value["labels"] == number_labels.MEMBER:
        return number_labels.Numbers()
    try:
        found = about_labels.parse(value["labels"])
    except ValueError as error:
        raise DataError(f"{path}: labels: {error}{REMEDY}") from None
    if max(map(max, found.ids)) >= vocab:
        raise DataError(f"{path}: labels: an id is beyond the vocabulary{REMEDY}")
    return found


def described(directory, file, maker):
    """Returns (the directory, Members of the file of JSON that describes its rows, the value of that file, Members of
    the manifest, {object: its Members} of the manifest). `maker`: the stage that makes such a directory."""
    if "://" in str(directory):
        raise DataError(f"{directory}: rows are read from a local directory only; copy them with `pipe cp`")
    directory = Path(directory)
    manifest_path, path = directory / MANIFEST, directory / file
    manifest = Members(load(manifest_path, maker)[1], str(manifest_path))
    listed = listed_in(manifest, str(manifest_path), file, maker)
    text, value = load(path, maker)
    if f"{crc32c(text):08x}" != listed[file].get("crc32c", str):
        raise DataError(f"{path}: its CRC is not that of its {MANIFEST}{REMEDY}")
    return directory, Members(value, str(path)), value, manifest, listed


def read_packed_info(directory, read=None, in_blocks=False):
    """`read`: the split whose files must be there; those of others may be elsewhere. None: no file is looked at.
    `in_blocks`: the rows of that split are in blocks (rows/rows.md), and its shards are not there."""
    directory, info, value, manifest, listed = described(directory, PACKED, "write_packed")
    path = directory / PACKED
    if value.get("packing") == DOCUMENTS:
        raise DataError(f"{path}: whole documents, which this trainer does not read; give write_packed "
                        f"`packing: stream` or `best_fit`, and `encoding:` {', '.join(ID_BYTES)}")
    if info.whole("pipe_packed") not in READ:
        raise DataError(f"{path}: its version {value['pipe_packed']} is none of {READ}; take a newer pipe")
    weights = _has_weights(info, value, path)
    encoding = value.get("encoding", "example")
    known = isinstance(encoding, str) and encoding in ID_BYTES
    if not known or value.get("segments"):
        what = "rows with segments" if known else f"rows in {encoding}"[:60]
        raise DataError(f"{path}: {what}, which this trainer does not read; give write_packed `encoding:` "
                        f"{', '.join(ID_BYTES)} and no `segments`")
    if weights and ID_BYTES[encoding]:
        raise DataError(f"{path}: weights: rows in {encoding} have no room for them{REMEDY}")
    tokenizer = Members(info.get("tokenizer", dict), f"{path}: tokenizer")
    _check_words(info, tokenizer, path)
    tokenizer.get("model_digest", str)
    for name in ("bos_id", "eos_id", "newline_id", "pad_id", "unk_id"):
        tokenizer.whole(name, -1)
    found = _labels(value, path, weights, tokenizer.whole("vocab_size", 1, (1 << 31) - 1))
    splits = {}
    for name, split in info.get("splits", dict).items():
        where = f"{path}: splits.{name}"
        splits[name] = tuple(_shards(Members(split, where), where, weights, listed))
    check_sizes(directory, listed, splits, read, in_blocks)
    return PackedInfo(directory, info.whole("seq_len", 1, 1 << 24), info.whole("fill_id", 0, (1 << 31) - 1),
                      info.get("tokenizer", dict), splits, ID_BYTES[encoding], manifest.get("content", str), weights,
                      found)
