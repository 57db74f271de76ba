"""The labels of documents (stages/export/packed/packed.md, "Labels").

A label is the last line of its document, and the only part with weight 1. Behind the ids that all labels have in common
at their beginning comes the telling id, which differs between any two: it alone decides.
"""

from typing import NamedTuple

OBJECTIVES = ("causal", "prefix", "classes")  # whose models answer with a class
OF_NUMBERS = "regression"                     # the one whose models answer with a number
HEADS = ("classes", OF_NUMBERS)               # those of a head over labels
# Of label_scores, with their words for people. Larger is better.
METRICS = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy", "macro_f1": "macro F1",
           "matthews": "Matthews correlation"}
# The same of labels that are numbers: number_labels. Of those that fall, smaller is better.
NUMBER_METRICS = {"rmse": "root mean square error", "mae": "mean absolute error", "pearson": "Pearson correlation",
                  "spearman": "Spearman correlation"}
FALLING = ("rmse", "mae")
WORST = 20  # documents that are shown


class Labels(NamedTuple):
    names: tuple    # of texts, by number
    ids: tuple      # of tuples: the ids of each name
    common: int     # the number of ids that all names begin with
    telling: tuple  # the telling id of each

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


def answered(objective, named):
    """Returns `named`, labels of rows, if a model of the objective answers with such; else None."""
    numbers = named is not None and not isinstance(named, Labels)
    return named if objective in ((OF_NUMBERS,) if numbers else OBJECTIVES) else None


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
