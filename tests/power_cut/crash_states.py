"""States that a disk may have after a power cut, from a recording of power_log.cc; README.md has the rules."""

import os
import stat
import struct
from dataclasses import dataclass, field

HEAD = struct.Struct("<cQQ")
SIZE = struct.Struct("<I")


@dataclass(frozen=True)
class Record:
    operation: str
    file: int
    number: int
    first: str
    second: bytes


def read_log(path):
    """All records, in the order in which the calls took effect."""
    data, at, records = path.read_bytes(), 0, []
    while at < len(data):
        operation, file, number = HEAD.unpack_from(data, at)
        at += HEAD.size
        texts = []
        for _ in range(2):
            (size,) = SIZE.unpack_from(data, at)
            at += SIZE.size
            texts.append(data[at: at + size])
            at += size
        records.append(Record(operation.decode(), file, number, os.fsdecode(texts[0]), texts[1]))
    return records


class File:
    def __init__(self):
        self.durable = b""
        self.pending = []  # (offset, bytes), or (length, None) if the length was set

    def sync(self):
        self.durable, self.pending = self.content(self.pending), []

    def content(self, changes):
        made = bytearray(self.durable)
        for offset, written in changes:
            if written is None:
                del made[offset:]
                made.extend(bytes(offset - len(made)))
            else:
                made.extend(bytes(max(0, offset - len(made))))
                made[offset: offset + len(written)] = written
        return bytes(made)


class Directory:
    def __init__(self):
        self.names = {}  # as the run sees them
        self.durable = {}
        self.pending = []  # changes of names, in their order

    def sync(self):
        for change in self.pending:
            change.apply(self, self.durable)
            change.durable = True
        self.pending = []


@dataclass
class Change:
    """One change of names; it becomes durable in all its directories at once."""
    effects: list = field(default_factory=list)  # (directory, name, node; None: the name is removed)
    durable: bool = False

    def apply(self, directory, names):
        for where, name, node in self.effects:
            if where is directory:
                names.pop(name, None)
                if node is not None:
                    names[name] = node


class Disk:
    """A file system below `root`, which was empty and durable when the recording began."""

    def __init__(self, root, lying_syncs=False):
        self.root = str(root)
        self.lying_syncs = lying_syncs
        self.top = Directory()
        self.open_files = {}

    def apply(self, record):
        if record.operation == "O":
            self._open(record)
        elif record.operation == "W":
            self.open_files[record.file].pending.append((record.number, record.second))
        elif record.operation == "T":
            self.open_files[record.file].pending.append((record.number, None))
        elif record.operation in "FD":
            if not self.lying_syncs:
                (self.open_files[record.file] if record.file else self._node(record.first)).sync()
        elif record.operation == "M":
            self._change([(*self._entry(record.first), Directory())])
        elif record.operation in "UX":
            self._change([(*self._entry(record.first), None)])
        elif record.operation == "L":
            self._change([(*self._entry(os.fsdecode(record.second)), self._node(record.first))])
        elif record.operation == "R":
            node = self._node(record.first)
            self._change([(*self._entry(record.first), None), (*self._entry(os.fsdecode(record.second)), node)])
        else:
            raise ValueError(f"operation {record.operation!r}")

    def _open(self, record):
        directory, name = self._entry(record.first)
        node = directory.names.get(name)
        if node is None:
            node = File()
            self._change([(directory, name, node)])
        elif record.number & os.O_TRUNC:
            node.pending.append((0, None))
        self.open_files[record.file] = node

    def _change(self, effects):
        change = Change(effects)
        for directory in {id(effect[0]): effect[0] for effect in effects}.values():
            change.apply(directory, directory.names)
            directory.pending.append(change)

    def _entry(self, path):
        parts = os.path.relpath(path, self.root).split("/")
        return self._find(parts[:-1]), parts[-1]

    def _node(self, path):
        relative = os.path.relpath(path, self.root)
        return self._find([] if relative == "." else relative.split("/"))

    def _find(self, parts):
        node = self.top
        for part in parts:
            node = node.names[part]
        return node

    def write_all(self, to):
        """Writes the directories as the run sees them."""
        Writer(to, lambda directory: directory.names, lambda file: file.content(file.pending)).write(self.top)

    def write_crash(self, to, chance):
        """Writes one state that a power cut may leave now; `chance` decides which."""
        fate = Fate(chance)
        Writer(to, fate.names, fate.content).write(self.top)


class Fate:
    """Decides once for each file, directory and change."""

    def __init__(self, chance):
        self.chance = chance
        self.taken = {}  # by change, because it may be pending in two directories
        self.all_files = chance.choice(("none", "all", "prefix", "subset", "mixed"))
        self.all_names = chance.choice(("none", "all", "prefix", "subset", "mixed"))

    def names(self, directory):
        names = dict(directory.durable)
        for change, taken in zip(directory.pending, self._which(self.all_names, len(directory.pending))):
            if change.durable or self.taken.setdefault(id(change), taken):
                change.apply(directory, names)
        return names

    def content(self, file):
        taken = self._which(self.all_files, len(file.pending))
        changes = [change for change, is_taken in zip(file.pending, taken) if is_taken]
        made = file.content(changes)
        if changes and changes[-1][1] and self.chance.random() < 0.3:
            offset, written = changes[-1]
            if offset >= len(file.content(changes[:-1])):  # only an append may be torn: else it is another write
                torn = self.chance.randrange(len(written))
                tail = made[offset: offset + torn] + (bytes(len(written) - torn) if self.chance.random() < 0.5 else b"")
                made = made[:offset] + tail
        return made

    def _which(self, policy, count):
        if policy == "mixed":
            policy = self.chance.choice(("none", "all", "prefix", "subset"))
        if policy == "prefix":
            kept = self.chance.randrange(count + 1)
            return [at < kept for at in range(count)]
        if policy == "subset":
            return [self.chance.random() < 0.5 for _ in range(count)]
        return [policy == "all"] * count


class Writer:
    def __init__(self, to, names, content):
        self.to, self.names, self.content = to, names, content
        self.written = {}  # by file: its path, for hard links

    def write(self, top):
        os.makedirs(self.to)
        self._fill(str(self.to), top)

    def _fill(self, path, directory):
        for name, node in self.names(directory).items():
            inner = f"{path}/{name}"
            if isinstance(node, Directory):
                os.mkdir(inner)
                self._fill(inner, node)
            elif id(node) in self.written:
                os.link(self.written[id(node)], inner)
            else:
                with open(inner, "wb") as file:
                    file.write(self.content(node))
                self.written[id(node)] = inner


def tree(root, without=()):
    """{path: bytes; None: a directory} below `root`, without directories named in `without`."""
    found = {}
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name not in without]
        for name in names:
            found[os.path.relpath(os.path.join(directory, name), root)] = None
        for name in files:
            path = os.path.join(directory, name)
            if stat.S_ISREG(os.lstat(path).st_mode):
                with open(path, "rb") as file:
                    found[os.path.relpath(path, root)] = file.read()
    return found
