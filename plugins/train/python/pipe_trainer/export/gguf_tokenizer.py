"""The tokenizer of SentencePiece as metadata of GGUF. llama.cpp reads a unigram as its tokenizer `t5`, and a BPE as its
tokenizer `llama`, which merges the pair of the greatest score first. Both know a part of SentencePiece: exports.md."""

from ..data import sentencepiece_model as models

NEVER = -10000.0  # score of an id that no text may become
NAMES = {models.UNIGRAM: "t5", models.BPE: "llama"}


def refusal(model):
    """Returns the reason why llama.cpp would make other ids than SentencePiece; None if it makes the same."""
    if model.kind not in NAMES:
        return "its tokenizer is neither a unigram nor a BPE, and llama.cpp reads these two kinds of SentencePiece"
    if not model.escape or model.suffix:
        return "its tokenizer does not write spaces as ▁ before words, as llama.cpp does"
    if not any(kind == models.UNKNOWN for _, _, kind in model.pieces):
        return "its tokenizer has no piece for unknown text"
    if model.kind == models.UNIGRAM:
        if model.squeeze and not model.dummy_prefix:
            return ("its tokenizer removes extra spaces and puts none before a text, and llama.cpp puts one there "
                    "whenever it removes them")
        return None
    if not model.byte_fallback:
        return "its tokenizer is a BPE without bytes, and llama.cpp ends at a character that such a one lacks"
    if model.charsmap or model.squeeze:
        return "its tokenizer is a BPE that changes text first, and llama.cpp changes none before a BPE"
    if any(kind == models.UNUSED for _, _, kind in model.pieces):
        return "its tokenizer is a BPE with unused pieces, and llama.cpp uses them"
    return None


def bytes_of(model):
    """Returns the ids of bytes that llama.cpp never makes of text: its tokenizer `t5` makes the unknown id of a
    character without a piece."""
    if model.kind != models.UNIGRAM:
        return []
    return [number for number, (_, _, kind) in enumerate(model.pieces) if kind == models.BYTE]


def metadata_of(model, tokenizer, vocab):
    """`tokenizer`: ids of packed.json; `vocab`: ids of the model, of which those behind the tokenizer are unused."""
    texts, scores, kinds = (list(column) for column in zip(*model.pieces))
    scores = [NEVER if kind == models.UNUSED else score for score, kind in zip(scores, kinds)]
    known = set(texts)
    for number in range(len(texts), vocab):
        name = f"[PAD{number}]"
        texts.append(name if name not in known else name * 2)
        scores.append(NEVER)
        kinds.append(models.UNUSED)
    eos = tokenizer["eos_id"]  # it begins a document, too
    at = {"bos": eos, "eos": eos, "padding": tokenizer["pad_id"],
          "unknown": next(number for number, kind in enumerate(kinds) if kind == models.UNKNOWN)}
    found = {"model": ("text", NAMES[model.kind]), "pre": ("text", "default"), "tokens": ("[text]", texts),
             "scores": ("[f32]", scores), "token_type": ("[i32]", kinds),
             **{f"{name}_token_id": ("u32", number) for name, number in at.items() if number >= 0},
             "add_bos_token": ("bool", eos >= 0), "add_eos_token": ("bool", False),
             "add_space_prefix": ("bool", model.dummy_prefix), "remove_extra_whitespaces": ("bool", model.squeeze)}
    if model.charsmap:
        found["precompiled_charsmap"] = ("[u8]", list(model.charsmap))
    return {f"tokenizer.ggml.{key}": value for key, value in found.items()}
