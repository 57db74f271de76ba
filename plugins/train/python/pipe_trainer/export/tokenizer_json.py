"""Makes tokenizer.json of an export: the tokenizer as the library `tokenizers` reads it, with the normaliser of the
corpus.

Without it, transformers reads tokenizer.model itself: as BPE, whatever its kind, and changes no character first.
"""

import base64

from ..data import sentencepiece_model as models

FIRST = {"Sequence": {"id": "A", "type_id": 0}}


def document(data, tokenizer, form):
    """Returns the document; None for a model without a counterpart in `tokenizers`. `data`: tokenizer.model. `form`: of
    text.form_of."""
    model = models.read(data)
    if model.kind not in (models.UNIGRAM, models.BPE):
        return None
    eos, pieces = tokenizer["eos_id"], model.pieces
    begins = [{"SpecialToken": {"id": pieces[eos][0], "type_id": 0}}] if eos >= 0 else []
    special = {pieces[number][0]: {"id": pieces[number][0], "ids": [number], "tokens": [pieces[number][0]]}
               for number in (eos,) if number >= 0}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added(number, text, kind) for number, (text, _, kind) in enumerate(pieces)
                         if kind in (models.CONTROL, models.UNKNOWN, models.USER_DEFINED)],
        "normalizer": {"type": "Sequence", "normalizers": normalizers(model, form)},
        "pre_tokenizer": None,
        "post_processor": {"type": "TemplateProcessing", "special_tokens": special, "single": [*begins, FIRST],
                           "pair": [*begins, FIRST, {"Sequence": {"id": "B", "type_id": 1}}]},
        "decoder": {"type": "Sequence", "decoders": [
            {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"}, {"type": "Fuse"},
            *([{"type": "Strip", "content": " ", "start": 1, "stop": 0}] if model.dummy_prefix else [])]},
        "model": unigram(model) if model.kind == models.UNIGRAM else bpe(model),
    }


def add_special(whole, number, text):
    """Makes an id special, also one behind the vocabulary."""
    others = [token for token in whole["added_tokens"] if token["id"] != number]
    whole["added_tokens"] = sorted([*others, added(number, text, models.CONTROL)], key=lambda token: token["id"])


def added(number, text, kind):
    return {"id": number, "content": text, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False,
            "special": kind != models.USER_DEFINED}


def normalizers(model, form):
    """Returns the normaliser of the corpus, then the one of the model."""
    steps = [{"type": form}] if form else []
    if model.charsmap:
        steps.append({"type": "Precompiled", "precompiled_charsmap": base64.b64encode(model.charsmap).decode()})
    if model.squeeze:
        steps += [{"type": "Strip", "strip_left": True, "strip_right": True},
                  {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}]
    if model.dummy_prefix:
        steps.append({"type": "Prepend", "prepend": "▁" if model.escape else " "})
    if model.escape:
        steps.append({"type": "Replace", "pattern": {"String": " "}, "content": "▁"})
    return steps


def unigram(model):
    unknown = next((number for number, piece in enumerate(model.pieces) if piece[2] == models.UNKNOWN), None)
    return {"type": "Unigram", "unk_id": unknown, "byte_fallback": model.byte_fallback,
            "vocab": [[text, score] for text, score, _ in model.pieces]}


def bpe(model):
    """Two pieces merge in the order of the merged piece's score: SentencePiece writes no list of merges."""
    ids = {text: number for number, (text, _, kind) in enumerate(model.pieces) if kind == models.NORMAL}
    merges = []
    for text, number in ids.items():
        pairs = [(text[:cut], text[cut:]) for cut in range(1, len(text)) if text[:cut] in ids and text[cut:] in ids]
        merges += [(-model.pieces[number][1], number, ids[left], ids[right], left, right) for left, right in pairs]
    unknown = next((text for text, _, kind in model.pieces if kind == models.UNKNOWN), None)
    return {"type": "BPE", "dropout": None, "unk_token": unknown, "continuing_subword_prefix": None,
            "end_of_word_suffix": None, "fuse_unk": True, "byte_fallback": model.byte_fallback, "ignore_merges": False,
            "vocab": {text: number for number, (text, _, _) in enumerate(model.pieces)},
            "merges": [list(merge[4:]) for merge in sorted(merges)]}
