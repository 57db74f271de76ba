"""Converts text to ids and back, as the pipeline does (stages/lines/normalize.md, stages/tokenizer/encode.md,
stages/export/packed/packed.md)."""

from typing import NamedTuple

from .pieces import Pieces
from .vocabulary import begin_of


class Rule(NamedTuple):
    """A stage `normalize` of the corpus, by the values of its keys: stages/lines/normalize.md."""
    form: str = "nfkc"
    case: str | None = None
    keep_jamo: bool = False
    whitespace: str = "collapse"

    def said(self):
        """Returns the rule in the words of a card."""
        letters = {"lower": ", small letters", "lower_ascii": ", small letters for A to Z"}.get(self.case, "")
        space = ", single spaces" if self.whitespace == "collapse" else ""
        jamo = " that keeps compatibility jamo" if self.keep_jamo else ""
        return ("the characters as they are" if self.form == "none" else self.form.upper()) + jamo + letters + space


def rules_of(lineage):
    """Returns the Rules by which the lines became those of the rows, in their order. None: the corpora of a `mix` have
    different ones."""
    return rules_in((lineage or {}).get("data", {}).get("lineage", ()))


def rules_in(stages):
    rules = ()
    for stage in stages:
        config = stage.get("config", {})
        if stage.get("type") == "mix":
            found = {rules_in(port.get("lineage", ())) for port in stage.get("ports", ())}
            rules = found.pop() if len(found) == 1 else None if found else ()
        elif stage.get("type") == "normalize" and rules is not None:
            rules += (Rule(**{key: config[key] for key in Rule._fields if config.get(key) is not None}),)
    return rules


def made_by(stages, kind):
    """Returns the configurations of the stages of a type, also of those in front of a `mix`."""
    found = []
    for stage in stages:
        found += [stage.get("config", {})] if stage.get("type") == kind else []
        for port in stage.get("ports", ()):
            found += made_by(port.get("lineage", ()), kind)
    return found


def dictionary_of(lineage, tokenizer):
    """Returns the dictionary of MeCab whose morphemes the pieces of a vocab.txt cut; None: they cut the words of a
    text. `tokenizer`: that of packed.json."""
    stages = (lineage or {}).get("data", {}).get("lineage", ())
    words = next((config.get("words", "auto") for config in made_by(stages, "encode")), "auto")
    if words == "text" or words == "auto" and not tokenizer.get("morphemes"):
        return None
    return next((config.get("dictionary", "") for config in made_by(stages, "segment_words")), "")


def rules_of_export(facts):
    """Returns the Rules of an export by its pipe.json; those of earlier versions name the form alone."""
    if "normalize" in facts:
        return tuple(Rule(**rule) for rule in facts["normalize"])
    return (Rule(facts["form"].lower(), whitespace="keep"),) if facts.get("form") else ()


class Text:
    """`info`: the ids of packed.json (`eos_id`, `newline_id`, …); -1: the tokenizer lacks it. `rules`: Rules of the
    corpus. `pieces`: the number of ids that have a piece, a model may have more; None: unknown. The words of
    `morphemes` need MeCab, so their text gets no ids here."""

    def __init__(self, model_path, info, rules=()):
        self._model = Pieces(model_path, rules)
        self.eos, self.newline = info["eos_id"], info["newline_id"]
        begin = begin_of(info)
        self.begin = self.eos if begin is None else begin
        self.pieces = info.get("vocab_size")
        self._morphemes = bool(info.get("morphemes"))

    def prompt_ids(self, text):
        """Returns the ids of the beginning of a document: the id that begins it, then the lines, with a line end behind
        each but the last."""
        if self._morphemes:
            raise RuntimeError("the words of its tokenizer are morphemes, which this program does not cut; use the "
                               "export in transformers (BertJapaneseTokenizer)")
        ids = [self.begin]
        for number, line in enumerate(text.split("\n")):
            if number:
                ids.append(self.line_end)
            ids += self._model.encode(line)
        return ids

    @property
    def line_end(self):
        return self.newline if self.newline >= 0 else self.eos

    def text_of(self, ids):
        """Returns lines of text. An eos inside ends a line as well. Bytes that make no character become U+FFFD."""
        lines, line = [], []
        for token in ids:
            if token in (self.eos, self.newline):
                lines.append(line)
                line = []
            elif token != self.begin:
                line.append(int(token))
        return "\n".join(self._model.decode(part) for part in [*lines, line])
