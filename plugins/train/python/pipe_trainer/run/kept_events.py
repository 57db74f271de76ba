"""The events of earlier attempts, as the stage keeps them in events.jsonl."""

import json

BACK = {"restore": "step", "plan": "step", "rewind": "to", "extend": "to"}  # the member with the step of going back


def evaluated(path, step):
    """Returns whether there is an event `eval` of this step, and no later event of going back before it. False if there
    is no such file."""
    found = False
    try:
        with open(path, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if not any(f'"kind":"{kind}"' in line for kind in ("eval", *BACK)):
                    continue
                try:
                    event = json.loads(line)
                    kind = event["kind"]
                    if kind == "eval":
                        found = found or event["step"] == step
                    elif event[BACK[kind]] < step:
                        found = False
                except (ValueError, LookupError, TypeError):
                    continue  # a line that a kill has cut
    except OSError:
        return False
    return found
