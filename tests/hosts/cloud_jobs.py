#!/usr/bin/env python3
"""The jobs for Google Cloud Batch and Kubernetes in tests/golden/submit have no field, and no kind of value, that the
libraries of their authors do not have; each of the files with a mistake is refused.

    cloud_jobs.py
"""

import copy
import json
import re
import sys
from pathlib import Path

import kubernetes.client as models
import yaml
from google.cloud import batch_v1
from google.protobuf import json_format

GOLDEN = Path(__file__).resolve().parent.parent / "golden/submit"
PLAIN = {"str": str, "int": int, "bool": bool, "float": (int, float)}


class Wrong(ValueError):
    pass


def check_batch(job):
    try:
        json_format.ParseDict(job, batch_v1.Job.pb(batch_v1.Job()))
    except json_format.ParseError as error:
        raise Wrong(str(error).splitlines()[0]) from error


def check_kubernetes(value, kind="V1Job", where="Job"):
    """Kubernetes' models accept everything; their tables say which fields an object has, and of which kind."""
    if kind == "object":
        return
    many = re.fullmatch(r"(list|dict)[\[(](?:str, )?(.+)[\])]", kind, re.IGNORECASE)
    if many:
        is_list = many[1].lower() == "list"
        if not isinstance(value, list if is_list else dict):
            raise Wrong(f"{where}: is no {kind}")
        for key, one in enumerate(value) if is_list else value.items():
            check_kubernetes(one, many[2], f"{where}.{key}")
        return
    if kind in PLAIN:
        if not isinstance(value, PLAIN[kind]) or (isinstance(value, bool) and kind != "bool"):
            raise Wrong(f"{where}: {value!r} is no {kind}")
        return
    model = getattr(models, kind)
    if not isinstance(value, dict):
        raise Wrong(f"{where}: is no {kind}")
    members = {outside: inside for inside, outside in model.attribute_map.items()}
    for name, one in value.items():
        if name not in members:
            raise Wrong(f"{where}: {kind} has no field {name}")
        check_kubernetes(one, model.openapi_types[members[name]], f"{where}.{name}")
    try:
        model(**{members[name]: one for name, one in value.items()})  # refuses an object without a field that it needs
    except ValueError as error:
        raise Wrong(f"{where}: {error}") from error


class StrictLoader(yaml.SafeLoader):
    """Refuses a key that an object has twice."""

    def construct_mapping(self, node, deep=False):
        names = [self.construct_object(key) for key, _ in node.value]
        if len(names) != len(set(names)):
            raise Wrong(f"a key is there twice: {names}")
        return super().construct_mapping(node, deep)


def task(job):
    return job["taskGroups"][0]["taskSpec"]


def pod(job):
    return job["spec"]["template"]["spec"]


BATCH_MISTAKES = {
    "a field that there is not": lambda job: task(job).update(retries=3),
    "a field at another place": lambda job: job.update(maxRetryCount=3),
    "a text for a number": lambda job: task(job).update(maxRetryCount="often"),
    "an action that there is not": lambda job: task(job)["lifecyclePolicies"][0].update(action="RETRY"),
    "one for many": lambda job: task(job).update(runnables=task(job)["runnables"][0]),
}
KUBERNETES_MISTAKES = {
    "a field that there is not": lambda job: job["spec"].update(backoffLimitPerIndexes=3),
    "a field at another place": lambda job: job.update(completions=3),
    "a text for a number": lambda job: job["spec"].update(completions="3"),
    "a number for a text": lambda job: pod(job)["containers"][0]["resources"]["limits"].update(memory=5),
    "a container without a name": lambda job: pod(job)["containers"][0].pop("name"),
    "a rule without an action": lambda job: job["spec"]["podFailurePolicy"]["rules"][0].pop("action"),
    "one for many": lambda job: pod(job).update(containers=pod(job)["containers"][0]),
}


def check_mistakes(name, job, check, mistakes):
    check(job)
    for what, make in mistakes.items():
        wrong = copy.deepcopy(job)
        make(wrong)
        try:
            check(wrong)
        except Wrong as refused:
            print(f"{name}: {what}: {refused}")
        else:
            sys.exit(f"FAILED: {name}: {what}: is accepted")


def main():
    for name in ("batch.json", "batch-least.json"):
        check_mistakes(name, json.loads((GOLDEN / name).read_text()), check_batch, BATCH_MISTAKES)
    for name in ("kubernetes.yaml", "kubernetes-least.yaml"):
        text = (GOLDEN / name).read_text()
        check_mistakes(name, yaml.load(text, StrictLoader), check_kubernetes, KUBERNETES_MISTAKES)
        try:
            yaml.load(text + "spec: {}\n", StrictLoader)
        except Wrong as refused:
            print(f"{name}: a key twice: {refused}")
        else:
            sys.exit(f"FAILED: {name}: a key twice is accepted")


if __name__ == "__main__":
    main()
