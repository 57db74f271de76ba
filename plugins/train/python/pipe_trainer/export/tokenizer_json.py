"""Makes tokenizer.json of an export: the tokenizer as the library `tokenizers` reads it, with the rules by which the
stages `normalize` changed the corpus. exports.md has the table of their steps.

Without it, transformers reads tokenizer.model itself: as BPE, whatever its kind, and changes no character first.
"""

import base64
import unicodedata
from string import ascii_uppercase

from ..data import sentencepiece_model as models
from ..data.text import Rule

FIRST = {"Sequence": {"id": "A", "type_id": 0}}

# The classes of stages/lines/normalize.md, and a capital sigma at the end of a word.
SPACES = r"[\x{00}-\x{20}\x{7F}-\x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}]+"
NMT_NOTHING = r"[\x{01}-\x{08}\x{0B}\x{0E}-\x{1F}\x{7F}\x{8F}\x{9F}]"
NMT_SPACE = (r"[\x{09}\x{0A}\x{0C}\x{0D}\x{1680}\x{200B}\x{200C}\x{200E}\x{200F}\x{2028}\x{2029}\x{2581}\x{FEFF}"
             r"\x{FFFD}]")
CASED = r"[\p{Cased}&&\P{Case_Ignorable}]"
LAST_SIGMA = rf"{CASED}\p{{Case_Ignorable}}*\KΣ(?!\p{{Case_Ignorable}}*{CASED})"
# They stand for a character while NFKC would change it. NMT_NOTHING has the first two; the third, before an ideograph,
# is no character of a text.
GONE, TILDE, JAMO = "\x01", "\x02", "\ufdd0"


def document(data, tokenizer, rules):
    """Returns the document; None for a model without a counterpart in `tokenizers`. `data`: tokenizer.model. `rules`:
    of text.rules_of."""
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
        "normalizer": {"type": "Sequence", "normalizers": [
            *(step for rule in rules for step in steps_of(rule)), *steps_of_model(model)]},
        "pre_tokenizer": None,
        "post_processor": {"type": "TemplateProcessing", "special_tokens": special, "single": [*begins, FIRST],
                           "pair": [*begins, FIRST, {"Sequence": {"id": "B", "type_id": 1}}]},
        "decoder": {"type": "Sequence", "decoders": [
            replace({"String": "▁"}, " "), {"type": "ByteFallback"}, {"type": "Fuse"},
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


def steps_of_model(model):
    steps = []
    if model.charsmap and model.rule == "nmt_nfkc":
        steps += [*double_finals(), *steps_of_form(Rule("nmt_nfkc"))]
    elif model.charsmap:
        steps.append({"type": "Precompiled", "precompiled_charsmap": base64.b64encode(model.charsmap).decode()})
    if model.squeeze:
        steps += [replace({"Regex": r"\A +| +\z"}, ""), replace({"Regex": " {2,}"}, " ")]
    if model.dummy_prefix:
        steps.append({"type": "Prepend", "prepend": "▁" if model.escape else " "})
    if model.escape:
        steps.append(replace({"String": " "}, "▁"))
    return steps


def steps_of(rule):
    """Returns the steps of a text.Rule."""
    steps = steps_of_form(rule)
    if rule.case == "lower":
        steps += [replace({"Regex": LAST_SIGMA}, "ς"), {"type": "Lowercase"}]
    if rule.case == "lower_ascii":
        steps += [replace({"String": letter}, letter.lower()) for letter in ascii_uppercase]
    if rule.case and rule.form != "none":
        steps.append({"type": "NFC"})
    if rule.whitespace == "collapse":
        steps += [replace({"Regex": SPACES}, " "), {"type": "Strip", "strip_left": True, "strip_right": True}]
    return steps


def steps_of_form(rule):
    if rule.form in ("none", "nfc"):
        return [{"type": "NFC"}] if rule.form == "nfc" else []
    before, after = nmt() if rule.form == "nmt_nfkc" else ([], [])
    if rule.keep_jamo:
        for number, (jamo, forms) in enumerate(compatibility_jamo().items()):
            stands = JAMO + chr(ord("一") + number)
            before.append(replace({"Regex": f"[{forms}]"}, stands))
            after.append(replace({"String": stands}, jamo))
    return [*before, {"type": "NFKC"}, *after]


def double_finals():
    """Returns the steps by which a final ㄳ and its like do not join the syllable before them: SentencePiece's map has
    no such sequence."""
    finals = {jamo: (forms, unicodedata.normalize("NFKC", jamo)) for jamo, forms in compatibility_jamo().items()}
    return [replace({"Regex": rf"(?<=[\x{{AC00}}-\x{{D7A3}}])[{forms}]"}, GONE + final)
            for forms, final in finals.values() if "\u11a8" <= final <= "\u11c2"]


def nmt():
    """Returns the steps before NFKC and behind it. Characters that are removed part the text until then."""
    return ([replace({"Regex": NMT_NOTHING}, GONE), replace({"Regex": NMT_SPACE}, " "),
             replace({"String": "～"}, TILDE)],
            [replace({"String": TILDE}, "～"), replace({"String": GONE}, "")])


def compatibility_jamo():
    """Returns {jamo: the jamo and its half-width form, if it has one}."""
    forms = {chr(code): chr(code) for code in range(0x3131, 0x318F)}
    for half in map(chr, range(0xFFA0, 0xFFDD)):
        if told := unicodedata.decomposition(half):  # `<narrow> 3131`
            forms[chr(int(told.split()[1], 16))] += half
    return forms


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


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
