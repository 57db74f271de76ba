#!/usr/bin/env python3
"""The bodies in tests/golden/tpu have no field, and no kind of value, that Google's library for TPUs does not have; and
that library is a second client of the fake API.

    tpu_requests.py FAKE_TPU
"""

import json
import signal
import subprocess
import sys
from pathlib import Path

from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import tpu_v2
from google.cloud.tpu_v2.services.tpu.transports import TpuRestTransport
from google.protobuf import json_format

GOLDEN = Path(__file__).resolve().parent.parent / "golden/tpu"
PARENT = "projects/corpus/locations/us-central1-a"


def check(good, what):
    if not good:
        raise SystemExit(f"tpu_requests.py: {what}")


def parsed(body):
    kind = tpu_v2.QueuedResource if "tpu" in body else tpu_v2.Node
    message = kind()
    json_format.ParseDict(body, kind.pb(message))
    return message


def golden(name):
    return json.loads((GOLDEN / name).read_text())


def mistakes():
    for name, change in (("node.json", lambda body: body.update(acceleratorTypes="v3-8")),
                         ("node.json", lambda body: body["schedulingConfig"].update(spot="yes")),
                         ("node.json", lambda body: body.update(labels=["a"])),
                         ("queued.json", lambda body: body["tpu"]["nodeSpec"][0].update(name="x")),
                         ("queued.json", lambda body: body["queueingPolicy"].update(validUntilDuration="soon")),
                         ("slices.json", lambda body: body["tpu"]["nodeSpec"][0]["multisliceParams"].update(count=2))):
        body = golden(name)
        change(body)
        try:
            parsed(body)
        except json_format.ParseError:
            continue
        check(False, f"{name}: a mistake is not found")


def second_client(url):
    """google.cloud.tpu_v2 over REST."""
    host = url.split("://")[1]
    client = tpu_v2.TpuClient(transport=TpuRestTransport(host=host, credentials=AnonymousCredentials(), url_scheme="http"))
    client.create_node(tpu_v2.CreateNodeRequest(parent=PARENT, node_id="by-library", node=parsed(golden("node.json"))))
    node = client.get_node(name=f"{PARENT}/nodes/by-library")
    check(node.state == tpu_v2.Node.State.CREATING and node.labels["pipe-slice"] == "mine", node)
    client.create_queued_resource(tpu_v2.CreateQueuedResourceRequest(
        parent=PARENT, queued_resource_id="slices", queued_resource=parsed(golden("slices.json"))))
    queued = client.get_queued_resource(name=f"{PARENT}/queuedResources/slices")
    check(queued.state.state.name in ("ACCEPTED", "WAITING_FOR_RESOURCES", "PROVISIONING"), queued.state)
    names = {node.name.rsplit("/", 1)[1] for node in client.list_nodes(parent="projects/corpus/locations/-")}
    check("by-library" in names, names)
    for asked, wanted in ((lambda: client.get_node(name=f"{PARENT}/nodes/none"), exceptions.NotFound),
                          (lambda: client.create_node(parent=PARENT, node_id="by-library", node=parsed(golden("node.json"))),
                           exceptions.Conflict),
                          (lambda: client.create_node(parent=PARENT, node_id="Capital", node=parsed(golden("node.json"))),
                           exceptions.BadRequest)):
        try:
            asked()
        except wanted:
            continue
        check(False, f"no {wanted.__name__}")
    client.delete_queued_resource(tpu_v2.DeleteQueuedResourceRequest(name=f"{PARENT}/queuedResources/slices", force=True))
    client.delete_node(name=f"{PARENT}/nodes/by-library")
    check(client.get_node(name=f"{PARENT}/nodes/by-library").state == tpu_v2.Node.State.DELETING, "it is not deleted")


def main():
    bodies = sorted(GOLDEN.glob("*.json"))
    for path in bodies:
        parsed(json.loads(path.read_text()))
    mistakes()
    process = subprocess.Popen([sys.argv[1]], stdout=subprocess.PIPE, text=True)
    try:
        second_client(json.loads(process.stdout.readline())["url"])
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=20)
    print(f"{len(bodies)} bodies, and a second client")


if __name__ == "__main__":
    main()
