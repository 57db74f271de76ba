"""The labels of documents (stages/export/packed/packed.md, "Labels").

A label is the last line of its document, and the only part with weight 1. Behind the ids that all labels have in common
at their beginning comes the telling id, which differs between any two: it alone decides.
"""

from typing import NamedTuple

CLASSES, NUMBERS = "labels", "numbers"  # kinds of labels
WORST = 20  # documents that are shown


class Labels(NamedTuple):
    names: tuple    # of texts, by number
    ids: tuple      # of tuples: the ids of each name
    common: int     # the number of ids that all names begin with
    telling: tuple  # the telling id of each
    kind = CLASSES
    problem = "single_label_classification"  # its name in transformers

    @property
    def words(self):
        return ", ".join(self.names)

    def fit(self, names):
        """Whether a head over labels of these names, or None, gives these labels."""
        return names == self.names

    def texts_from(self, rows):
        """Returns these labels with what they need to know of the tokenizer of rows."""
        return self

    def of_head(self, head, whole):
        """Returns the parameters of a head in other units: labels have none."""
        return head

    def units(self):
        """Returns the units of the head, for checkpoints."""
        return {}

    def facts(self):
        """The member `labels` of packed.json and of an export."""
        return [{"name": name, "ids": list(ids)} for name, ids in zip(self.names, self.ids)]


def parse(listed):
    """Returns the Labels of a list of {"name", "ids"}. Raises ValueError if it is no such list, or if two labels have
    no telling id."""
    if not isinstance(listed, list) or len(listed) < 2 or not all(map(is_label, listed)):
        raise ValueError("wants a list of two labels or more, each with a name and its ids")
    names, ids = tuple(one["name"] for one in listed), tuple(tuple(one["ids"]) for one in listed)
    common = 0
    while all(len(one) > common for one in ids) and len({one[common] for one in ids}) == 1:
        common += 1
    telling = tuple(one[common] for one in ids if len(one) > common)
    if len(set(telling)) != len(ids) or len(set(names)) != len(names):
        raise ValueError("two labels have no id that tells them apart behind their common beginning")
    return Labels(names, ids, common, telling)


def most(length):
    """Returns the number of labelled documents that `length` ids can hold: each has a label and an end."""
    return max(length // 2, 1)


def of_shape(number):
    """Labels for a program that is compiled and not run."""
    return Labels(tuple(map(str, range(number))), tuple((one,) for one in range(number)), 0, tuple(range(number)))


def is_label(one):
    ids = one.get("ids") if isinstance(one, dict) else None
    return (isinstance(ids, list) and len(ids) > 0 and isinstance(one.get("name"), str)
            and all(isinstance(number, int) and not isinstance(number, bool) and number >= 0 for number in ids))
