#!/usr/bin/env python3
"""The jobs for Google Cloud Batch and Kubernetes in tests/golden/submit have no field, and no kind of value, that the
libraries of their authors do not have; each of the files with a mistake is refused, and the mistake is named.

    cloud_jobs.py K8S_STRICT    the program of tests/hosts/k8s_strict
"""

import copy
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from google.cloud import batch_v1
from google.protobuf import json_format

GOLDEN = Path(__file__).resolve().parent.parent / "golden/submit"


class Wrong(ValueError):
    pass


def check_batch(job):
    try:
        json_format.ParseDict(job, batch_v1.Job.pb(batch_v1.Job()))
    except json_format.ParseError as error:
        raise Wrong(str(error).splitlines()[0]) from error


def task(job):
    return job["taskGroups"][0]["taskSpec"]


BATCH_MISTAKES = {
    "a field that there is not": lambda job: task(job).update(retries=3),
    "a field at another place": lambda job: job.update(maxRetryCount=3),
    "a text for a number": lambda job: task(job).update(maxRetryCount="often"),
    "an action that there is not": lambda job: task(job)["lifecyclePolicies"][0].update(action="RETRY"),
    "one for many": lambda job: task(job).update(runnables=task(job)["runnables"][0]),
}
# {mistake: (text of the file, its replacement, a part of the message)}
KUBERNETES_MISTAKES = {
    "a kind that there is not": ("kind: Job\n", "kind: Jobs\n", 'no kind "Jobs"'),
    "a field that there is not": ("completions:", "completion:", 'unknown field "spec.completion"'),
    "a misspelt field of a rule": ("containerName:", "container:",
                                   'unknown field "spec.podFailurePolicy.rules[1].onExitCodes.container"'),
    "a misspelt field of a container": ("requests:", "request:",
                                        'unknown field "spec.template.spec.containers[0].resources.request"'),
    "a field at another place": ("spec:\n  completionMode:", "completions: 3\nspec:\n  completionMode:",
                                 'unknown field "completions"'),
    "a text for a number": ("completions: 20", 'completions: "20"', "JobSpec.spec.completions of type int32"),
    "a number for a text": ("image: ", "image: 5  # ",
                            "Container.spec.template.spec.containers.image of type string"),
    "a size that is none": ('memory: "', 'memory: "some ', "quantities must match"),
    "a container without a name": ("- name: worker\n", "- tty: false\n",
                                   "missing: spec.template.spec.containers[0].name"),
    "a rule without an action": ("- action: Ignore\n      onPodConditions:", "- onPodConditions:",
                                 "missing: spec.podFailurePolicy.rules[0].action"),
    "one for many": ("containers:\n      - name: worker", "containers:\n        name: worker",
                     "of type []v1.Container"),
    "a key twice": ("spec:\n  completionMode:", "spec: {}\nspec:\n  completionMode:", 'key "spec" already set'),
}


def check_batch_file(path):
    job = json.loads(path.read_text())
    check_batch(job)
    for what, make in BATCH_MISTAKES.items():
        wrong = copy.deepcopy(job)
        make(wrong)
        try:
            check_batch(wrong)
        except Wrong as refused:
            print(f"{path.name}: {what}: {refused}")
        else:
            sys.exit(f"FAILED: {path.name}: {what}: is accepted")


def check_kubernetes_file(path, k8s_strict, root):
    text, refused = path.read_text(), {}
    for number, (what, (right, wrong, said)) in enumerate(KUBERNETES_MISTAKES.items()):
        if right not in text:
            sys.exit(f"FAILED: {path.name} has no {right!r}")
        mistaken = root / f"{number}.yaml"
        mistaken.write_text(text.replace(right, wrong, 1))
        refused[mistaken] = (what, said)
    told = subprocess.run([k8s_strict, path, *refused], capture_output=True, text=True, check=False, timeout=60)
    print(told.stdout + told.stderr, end="")
    if told.stdout != f"{path}: Job {json.loads(text.split('name: ', 1)[1].splitlines()[0])}\n":
        sys.exit(f"FAILED: {path.name}: is refused, or a file with a mistake is accepted")
    for mistaken, (what, said) in refused.items():
        if not any(line.startswith(f"{mistaken}: ") and said in line for line in told.stderr.splitlines()):
            sys.exit(f"FAILED: {path.name}: {what}: {said!r} is not said")


def main(k8s_strict):
    for name in ("batch.json", "batch-least.json"):
        check_batch_file(GOLDEN / name)
    with tempfile.TemporaryDirectory() as directory:
        for name in ("kubernetes.yaml", "kubernetes-least.yaml"):
            check_kubernetes_file(GOLDEN / name, k8s_strict, Path(directory))


if __name__ == "__main__":
    main(sys.argv[1])
