"""The tokenizer of a vocab.txt in an export: tokenizer.json, and the settings of transformers. Rules of its words:
stages/export/bert/bert.md."""

from ..data import vocabulary
from ..data.sentencepiece_model import CONTROL, UNKNOWN
from .tokenizer_json import added, steps_of

NAMED = {"unk": "unk_id", "pad": "pad_id", "cls": "cls_id", "sep": "sep_id"}
PACKAGES = ("ipadic", "unidic_lite")  # of PyPI, in which transformers finds a dictionary of MeCab by its name


def document(pieces, tokenizer, rules):
    """Returns tokenizer.json. `pieces`: of vocabulary.pieces_of; `tokenizer`: its ids in packed.json; `rules`: of
    text.rules_of."""
    cls, sep = (pieces[tokenizer[name]][0] for name in ("cls_id", "sep_id"))
    first, second = ([{"Sequence": {"id": which, "type_id": kind}}, {"SpecialToken": {"id": sep, "type_id": kind}}]
                     for which, kind in (("A", 0), ("B", 1)))
    begin = {"SpecialToken": {"id": cls, "type_id": 0}}
    return {
        "version": "1.0", "truncation": None, "padding": None,
        "added_tokens": [added(number, text, kind) for number, (text, _, kind) in enumerate(pieces)
                         if kind in (CONTROL, UNKNOWN)],
        "normalizer": {"type": "Sequence", "normalizers": [
            *(step for rule in rules for step in steps_of(rule)),
            {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": False,
             "lowercase": False}]},
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {"type": "TemplateProcessing", "single": [begin, *first], "pair": [begin, *first, *second],
                           "special_tokens": {text: {"id": text, "ids": [tokenizer[name]], "tokens": [text]}
                                              for text, name in ((cls, "cls_id"), (sep, "sep_id"))}},
        "decoder": {"type": "WordPiece", "prefix": vocabulary.INSIDE_MARK, "cleanup": False},
        "model": {"type": "WordPiece", "unk_token": vocabulary.UNKNOWN_PIECE,
                  "continuing_subword_prefix": vocabulary.INSIDE_MARK,
                  "max_input_chars_per_word": vocabulary.LONGEST_WORD,
                  "vocab": {text: number for number, (text, _, _) in enumerate(pieces)}},
    }


def files(tokenizer, pieces, seq_len, mask=None, dictionary=None, rules=()):
    """Returns tokenizer_config.json and special_tokens_map.json. `tokenizer` and `rules`: as `document`; `mask`: the
    piece in the place of hidden ids; `dictionary`: the one of segment_words that cut the morphemes."""
    special = {f"{name}_token": pieces[tokenizer[key]][0] for name, key in NAMED.items() if tokenizer.get(key, -1) >= 0}
    if mask is not None:
        special["mask_token"] = mask
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "clean_up_tokenization_spaces": False,
                "model_max_length": seq_len}
    if tokenizer.get("morphemes"):
        settings |= {"tokenizer_class": "BertJapaneseTokenizer", "do_lower_case": False, "word_tokenizer_type": "mecab",
                     "subword_tokenizer_type": "wordpiece", "mecab_kwargs": mecab(dictionary, rules)}
    return {**settings, **special}, special


def mecab(dictionary, rules=()):
    """Returns the settings of MeCab: another dictionary than that of the rows is never taken in silence, and the text
    is in NFKC if the rows were."""
    package = next((name for name in PACKAGES if name in (dictionary, *dictionary.split("/"))), None)
    option = {} if package else {"mecab_option": f"-r /dev/null -d {dictionary}"}
    return {"normalize_text": any(rule.form == "nfkc" for rule in rules), "mecab_dic": package, **option}
