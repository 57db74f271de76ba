"""Converts text to ids and back, as the pipeline does (stages/tokenizer/encode.md, stages/export/packed/packed.md)."""

import unicodedata

from .pieces import Pieces

FORMS = {"nfkc": "NFKC", "nfc": "NFC"}


def form_of(lineage):
    """Returns the Unicode form that the stage `normalize` gave the corpus; None if no such stage is known."""
    stages = (lineage or {}).get("data", {}).get("lineage", [])
    forms = [stage.get("config", {}).get("form", "nfkc") for stage in stages
             if stage.get("type") == "normalize"]
    return FORMS.get(forms[-1]) if forms else None


class Text:
    """`info`: the ids of packed.json (`eos_id`, `newline_id`, …); -1: the tokenizer lacks it."""

    def __init__(self, model_path, info, form=None):
        self._model = Pieces(model_path)
        self._form = form
        self.eos, self.newline = info["eos_id"], info["newline_id"]

    def prompt_ids(self, text):
        """Returns the ids of the beginning of a document: eos, then the lines, with a line end behind each but the
        last."""
        if self._form:
            text = unicodedata.normalize(self._form, text)
        ids = [self.eos]
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
            else:
                line.append(int(token))
        return "\n".join(self._model.decode(part) for part in [*lines, line])
