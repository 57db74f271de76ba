"""Opens the rows of a directory, whichever stage made them: packed rows, or masked pairs of sentences."""

from pathlib import Path

from .bert_info import is_of_write_bert, read_bert_info
from .bert_rows import BertRows
from .packed_info import read_packed_info
from .rows import Rows


def open_rows(directory, split, seed=0, native=None, blocks=None):
    """Returns Rows or BertRows. The arguments are those of Rows."""
    if not is_of_write_bert(Path(directory)):
        return Rows(directory, split, seed, native, blocks)
    return BertRows(directory, split, seed)


def info_of(directory):
    """Returns what is known of the rows without reading them; PackedInfo or BertInfo."""
    return (read_bert_info if is_of_write_bert(Path(directory)) else read_packed_info)(directory)
