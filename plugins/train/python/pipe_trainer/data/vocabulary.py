"""The pieces of a tokenizer by id, from either kind of file: a SentencePiece model, or a vocab.txt.

A vocab.txt has a piece of BERT in each line. ## in front of a piece: it goes on with a word.
"""

from ..exits import BAD_DATA, Ended
from . import sentencepiece_model
from .sentencepiece_model import CONTROL, UNKNOWN, BadModel

NAME = "vocab.txt"
WORD, INSIDE = 7, 8  # types of pieces of a vocab.txt, beside CONTROL and UNKNOWN
INSIDE_MARK = "##"
UNKNOWN_PIECE = "[UNK]"
CONTROLS = ("[PAD]", "[CLS]", "[SEP]", "[MASK]")  # no text gives their ids
LONGEST_WORD = 100  # characters; a longer word is unknown


def is_vocabulary(name):
    return str(name).endswith(".txt")


def pieces_of(path):
    """Returns [(text, score, type)]. Raises BadModel: it is no tokenizer."""
    data = path.read_bytes()
    if not is_vocabulary(path.name):
        return sentencepiece_model.read(data).pieces
    try:
        lines = data.decode("utf-8").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise BadModel(f"no vocab.txt: {error}") from None
    return [(text, 0.0, type_of(text)) for text in lines]


def type_of(text):
    if text in CONTROLS:
        return CONTROL
    if text == UNKNOWN_PIECE:
        return UNKNOWN
    return INSIDE if text.startswith(INSIDE_MARK) else WORD


def of_rows(rows):
    """Returns the pieces of the tokenizer of rows."""
    try:
        return pieces_of(rows.model_path)
    except (OSError, BadModel) as error:
        raise Ended(BAD_DATA, f"{rows.model_path}: {error}; make the rows again") from None


def begin_of(tokenizer):
    """Returns the id that begins a document; None: the eos of the document before does. `tokenizer`: its ids in
    packed.json."""
    return tokenizer.get("cls_id")
