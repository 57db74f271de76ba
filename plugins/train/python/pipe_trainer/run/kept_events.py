"""The events of earlier attempts, as the stage keeps them in events.jsonl."""

import json
from collections import Counter

OF_EVALUATION = ("eval", "mistakes", "sample")
BACK = {"restore": "step", "plan": "step", "rewind": "to", "extend": "to"}  # the member with the step of going back


def told_of(path, step):
    """Returns {kind: number} of the events about the evaluation of this step, but for those before a return to an
    earlier step. Empty if there is no such file."""
    found = Counter()
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if not any(f'"kind":"{kind}"' in line for kind in (*OF_EVALUATION, *BACK)):
                    continue
                try:
                    event = json.loads(line)
                    kind = event["kind"]
                    if kind in OF_EVALUATION:
                        found[kind] += event["step"] == step
                    elif event[BACK[kind]] < step:
                        found.clear()
                except (ValueError, LookupError, TypeError):
                    continue  # a line that a kill has cut
    except OSError:
        pass
    return dict(found)
