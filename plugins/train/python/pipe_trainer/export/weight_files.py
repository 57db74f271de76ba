"""The weights of a model of Hugging Face on a disk: model.safetensors, or several files that an index names."""

import hashlib
import json

from . import safetensors
from .safetensors import SafetensorsError

WEIGHTS = "model.safetensors"
INDEX = "model.safetensors.index.json"


class WeightFiles:
    """Those of a directory. `indexed`: what the index names, also where there is model.safetensors. Raises OSError, or
    SafetensorsError, which names the file."""

    def __init__(self, directory, indexed):
        self.path, self._names = directory / (INDEX if indexed else WEIGHTS), None  # the file that says all
        if indexed:
            self._names = names_by_file(self.path)

    def read(self):
        """Returns {name: float32 array}."""
        if self._names is None:
            return safetensors.read(self.path)
        found = {}
        for file, names in self._names.items():
            tensors = safetensors.read(self.path.with_name(file))
            found |= {name: tensors[name] for name in names if name in tensors}  # one of another type is none
        return found

    def names(self):
        """Returns the names of the tensors."""
        if self._names is None:
            return safetensors.names(self.path)
        return [name for names in self._names.values() for name in names]

    def digest(self):
        """The first half of the SHA-256 of the file with the weights, as 32 hexadecimal digits; of several files, of
        their names and digests."""
        if self._names is None:
            return sha256_of(self.path)[:32]
        lines = [f"{sha256_of(self.path.with_name(file))} {file}\n" for file in self._names]
        return hashlib.sha256("".join(lines).encode()).hexdigest()[:32]


def names_by_file(index):
    """Returns {file: [name of a tensor]} in the order of the files' names."""
    try:
        named = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
        if not named:
            raise ValueError("its weight_map names no file")
        for file in named.values():
            if "/" in file or not file.endswith(".safetensors"):
                raise ValueError(f"its weight_map names {file!r}, and only files *.safetensors beside it are read")
    except (ValueError, RecursionError, KeyError, TypeError, AttributeError) as error:
        raise SafetensorsError(f"{index}: is no index of safetensors: {error!r}") from None
    found = {file: [] for file in sorted(set(named.values()))}
    for name, file in named.items():
        found[file].append(name)
    return found


def sha256_of(path):
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
