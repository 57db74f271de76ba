"""Labels that are numbers (stages/export/packed/packed.md, "Labels").

A model learns a number in standard units: less the mean of the split that it trains on, divided by its deviation. An
export gives the number itself.
"""

import math
from typing import NamedTuple

import numpy as np

from ..exits import BAD_DATA, Ended
from . import vocabulary
from .labels import NUMBERS, most, parse
from .order import batches
from .sentencepiece_model import BYTE, NORMAL, SPACE, USER_DEFINED
from .vocabulary import INSIDE, INSIDE_MARK, WORD

MEMBER = "numbers"  # of packed.json, in the place of a list of labels
MEASURED = 10 ** 8                 # ids of rows that are measured, at most
SMALLEST, GREATEST = 1e-30, 1e30   # float32 has room for a deviation and for numbers within these


class Numbers(NamedTuple):
    """What is known of the numbers of rows. Those of packed.json have no texts, and are not measured."""
    texts: tuple = ()       # of each id
    documents: int = 0      # that were measured
    mean: float = 0.0
    deviation: float = 1.0
    least: float = 0.0
    largest: float = 0.0
    kind = NUMBERS
    problem = "regression"  # its name in transformers
    words, names = "numbers", ("number",)

    def fit(self, names):
        """A head that gives a number goes on with any numbers."""
        return names is not None and len(names) == 1

    def texts_from(self, rows):
        return self if self.texts else self._replace(texts=texts_of(vocabulary.of_rows(rows)))

    def units(self):
        return {"numbers": {"mean": self.mean, "deviation": self.deviation}}

    def facts(self):
        """The member `labels` of an export."""
        return {key: value for key, value in self._asdict().items() if key != "texts"}

    def standard(self, rows, batch):
        """Returns the numbers of a batch of these rows in standard units, float32 [R, K]."""
        found = np.zeros((len(batch.tokens), most(rows.seq_len)), np.float32)
        for row, place, text in self.of_documents(batch, rows.tokenizer["eos_id"]):
            found[row, place] = (number_of(text, rows) - self.mean) / self.deviation
        return found

    def of_documents(self, batch, eos):
        """Yields (row, place among the documents of the row, text) of the label of each document of a batch."""
        targets = batch.tokens[:, 1:]
        scored = (batch.weights[:, 1:] == 1) & (targets != eos)
        begins = scored & ~np.pad(scored[:, :-1], ((0, 0), (1, 0)))
        ends = scored & ~np.pad(scored[:, 1:], ((0, 0), (0, 1)))
        before, place = -1, 0
        for (row, begin), end in zip(np.argwhere(begins).tolist(), np.nonzero(ends)[1].tolist()):
            before, place = row, place + 1 if row == before else 0
            yield row, place, "".join(self.texts[one] for one in targets[row, begin:end + 1].tolist()).strip()

    def of_head(self, head, whole):
        """Returns the parameters of a head in other units. `whole`: from standard units to those of the numbers;
        else the other way."""
        last, bias = (np.array(head[name], np.float64) for name in ("labels", "labels_bias"))
        if whole:
            last[:, 0], bias[0] = last[:, 0] * self.deviation, bias[0] * self.deviation + self.mean
        else:
            last[:, 0], bias[0] = last[:, 0] / self.deviation, (bias[0] - self.mean) / self.deviation
        return {**head, "labels": last.astype(np.float32), "labels_bias": bias.astype(np.float32)}


def of_facts(facts):
    """Returns the labels of an export, or None. Raises ValueError if these are none."""
    if not isinstance(facts, dict):
        return facts and parse(facts)
    names = Numbers().facts()
    if set(facts) != set(names) or not all(isinstance(facts[name], (int, float)) for name in names):
        raise ValueError(f"labels: {facts} describes no numbers")
    return Numbers(**facts)


def texts_of(pieces):
    """`pieces`: those of a tokenizer, as (text, score, type). Returns the text of each id, of digits and the like."""
    def one(text, kind):
        if kind == BYTE:
            return chr(int(text[3:5], 16))
        if kind in (WORD, INSIDE):  # the words of a number stand without spaces
            return text.removeprefix(INSIDE_MARK)
        return text.replace(SPACE, " ") if kind in (NORMAL, USER_DEFINED) else "\0"
    return tuple(one(text, kind) for text, _, kind in pieces)


def number_of(text, rows):
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise bad(rows, f"a label is {text!r}, and no finite number; run `pipe verify` on it, and the pipeline again")
    return number


def of_rows(rows):
    """Returns the Numbers of the training rows, measured."""
    return measured(rows.labels.texts_from(rows), rows)


def measured(numbers, rows):
    """Returns `numbers` with the measures of the first rows: the order of rows has no meaning. Sums are exact, so that
    each host has the same."""
    count, found = min(rows.count, max(MEASURED // rows.seq_len, 1)), []
    for batch in batches(rows, count):
        found += [number_of(text, rows) for _, _, text in numbers.of_documents(batch, rows.tokenizer["eos_id"])]
    if not found:
        raise bad(rows, f"the first {count} rows have no document with a number; give it more documents")
    least, largest = min(found), max(found)
    if max(-least, largest) > GREATEST:
        raise bad(rows, f"its labels go from {least:g} to {largest:g}, and a model has room for numbers up to "
                        f"{GREATEST:g}; write them in another unit")
    mean = math.fsum(found) / len(found)
    deviation = math.sqrt(math.fsum((one - mean) ** 2 for one in found) / len(found))
    if least == largest or deviation < SMALLEST:
        same = f"are all {least:g}" if least == largest else f"have a deviation of {deviation:g}"
        raise bad(rows, f"its labels {same}, so that there is nothing to learn; give the documents other numbers")
    return numbers._replace(documents=len(found), mean=mean, deviation=deviation, least=least, largest=largest)


def bad(rows, why):
    return Ended(BAD_DATA, f"{rows.directory}: split {rows.split!r}: {why}")
