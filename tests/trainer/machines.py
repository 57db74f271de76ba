"""Machines of a slice, for tests: each is a network namespace with an address, a name, a metadata server and a disk of
its own. A bridge connects them with each other and with a bucket, and nothing connects them with anything else.

A test calls `isolate` first: it goes on in namespaces of its own (user, network, processes), so it needs no rights, and
when it ends, all its processes end. Needs `ip` (iproute2), `unshare` and `nsenter`.
"""

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "cli"))

from fake_buckets import FakeBucket, plain_environment  # noqa: E402

INSIDE = "PIPE_TEST_INSIDE"  # set in the namespaces
HUB = "10.77.0.1"
CLONE_NEWNET = 0x40000000


def isolate(as_root=False):
    """Starts this script again in new namespaces, unless it is there already. `as_root`: not in a user namespace, where
    no program can change its groups."""
    if os.environ.get(INSIDE) == "yes":
        return
    if shutil.which("ip") is None:
        raise SystemExit("ip is missing: apt-get install iproute2")
    apart = ["--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
    ways = [] if as_root else [["unshare", "--user", "--map-root-user", *apart]]
    if os.geteuid() == 0:
        ways.append(["unshare", *apart])
    if not ways:
        raise SystemExit("run the test as root: its programs change their groups, which a user namespace forbids")
    for way in ways:
        tried = subprocess.run([*way, "ip", "link", "add", "probe", "type", "bridge"], capture_output=True, text=True,
                               check=False)
        if tried.returncode == 0:
            # The shell waits for processes whose parents were killed.
            os.execvpe("unshare", [*way, "sh", "-c", '"$@"; exit $?', "sh", sys.executable, *sys.argv],
                       {**os.environ, INSIDE: "yes"})
    raise SystemExit(f"no network namespaces on this machine, neither in a user namespace nor as root: "
                     f"{tried.stderr.strip()}; allow user namespaces (sysctl kernel.unprivileged_userns_clone=1, "
                     f"kernel.apparmor_restrict_unprivileged_userns=0), or run the test as root with CAP_SYS_ADMIN")


def ip(*words):
    done = subprocess.run(["ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"ip {' '.join(words)}: {done.stderr.strip()}")


class Network:
    """The bridge, with a bucket at HUB. One in a process."""

    def __init__(self, fake_gcs, root, *options):
        self.root = root
        ip("link", "set", "lo", "up")
        ip("link", "add", "hub", "type", "bridge")
        ip("address", "add", f"{HUB}/24", "dev", "hub")
        ip("link", "set", "hub", "up")
        self.bucket = FakeBucket(fake_gcs, root / "bucket", "--address", HUB, *options)
        self.machines = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for machine in self.machines:
            machine.close()
        self.bucket.__exit__()

    def add(self, count, kind=None):
        """Adds the machines of a slice, which their metadata servers describe. `kind`: Machine, or a class of it."""
        first = len(self.machines)
        addresses = [f"10.77.0.{10 + first + number}" for number in range(count)]
        names = self.root / f"names-{first}"
        names.write_text("127.0.0.1 localhost\n" + "".join(
            f"{address} host-{first + number}\n" for number, address in enumerate(addresses)))
        endpoints = ",".join(f"unused:{number}:{address}" for number, address in enumerate(addresses))
        added = [(kind or Machine)(self, first + number, address, names,
                                   {"instance/attributes/worker-network-endpoints": endpoints,
                                    "instance/attributes/agent-worker-number": str(number)})
                 for number, address in enumerate(addresses)]
        self.machines += added
        return added


class Machine:
    """One machine. `values` are those of its metadata server, by their paths; a test may change them."""

    def __init__(self, network, number, address, names, values):
        self.number, self.address = number, address
        self.disk = network.root / f"disk-{number}"
        self.disk.mkdir()
        self.values = {"instance/preempted": "FALSE", "instance/maintenance-event": "NONE", **values}
        self.frozen = False
        self.delay = 0  # seconds until the metadata server answers
        self.root, self._bucket = network.root, network.bucket.url
        self._link = f"port-{number}"
        self._holder, self._first = self._hold(names)
        ip("link", "add", self._link, "type", "veth", "peer", "name", "eth0", "netns", str(self._first))
        ip("link", "set", self._link, "master", "hub", "up")
        for words in (["link", "set", "lo", "up"], ["address", "add", f"{address}/24", "dev", "eth0"],
                      ["link", "set", "eth0", "up"]):
            subprocess.run([*self._inside("/"), "ip", *words], check=True)
        self._space = os.stat(f"/proc/{self._first}/ns/net").st_ino
        self.metadata = self._serve_metadata()

    def _hold(self, names):
        """Makes the namespaces. Returns the process that holds them, and the id of one that is in them."""
        # The name of a machine leads to its address, as gloo needs it.
        ready = f"hostname host-{self.number} && mount --bind {names} /etc/hosts && echo ready && exec sleep infinity"
        holder = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "sh", "-c", ready], stdout=subprocess.PIPE,
                                  text=True)
        if holder.stdout.readline() != "ready\n":
            raise SystemExit(f"machine {self.number} cannot be made")
        return holder, holder.pid

    def _inside(self, directory, *more):
        # --root: a test in a chroot would find itself outside of it otherwise.
        return ["nsenter", f"--target={self._first}", "--net", "--uts", "--mount", *more, "--root",
                f"--wd={directory}"]

    def environment(self, **variables):
        """That of a program there."""
        proxies = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
        environment = {name: value for name, value in plain_environment().items() if name.lower() not in proxies}
        environment.update(STORAGE_EMULATOR_HOST=self._bucket, GCE_METADATA_HOST=self.metadata, **variables)
        return environment

    def start(self, words, said, **variables):
        """Starts a program there, in the directory of the disk, which appends what it says to the file `said`."""
        with open(said, "ab") as out:
            return subprocess.Popen([*self._inside(self.disk), *map(str, words)], stdin=subprocess.DEVNULL, stdout=out,
                                    stderr=out, env=self.environment(**variables), start_new_session=True)

    def processes(self):
        """The ids of all its processes that have not ended."""
        found = []
        for entry in Path("/proc").iterdir():
            if not entry.name.isdecimal() or int(entry.name) in (self._holder.pid, self._first):
                continue
            try:
                if os.stat(entry / "ns/net").st_ino == self._space and " Z " not in (entry / "stat").read_text():
                    found.append(int(entry.name))
            except OSError:
                continue  # it has ended
        return found

    def _signal_all(self, number):
        """Reaches also a process that another one starts meanwhile."""
        reached = set()
        while True:
            new = set(self.processes()) - reached
            if not new:
                return
            for process in new:
                try:
                    os.kill(process, number)
                except ProcessLookupError:
                    pass
            reached |= new

    def freeze(self):
        self.frozen = True
        self._signal_all(signal.SIGSTOP)

    def thaw(self):
        self._signal_all(signal.SIGCONT)
        self.frozen = False

    def hold(self, word, held):
        """Suspends the processes with this word in their command, or lets them go on."""
        for process in [] if self.frozen else self.processes():
            try:
                if word.encode() in Path(f"/proc/{process}/cmdline").read_bytes():
                    os.kill(process, signal.SIGSTOP if held else signal.SIGCONT)
            except (ProcessLookupError, FileNotFoundError):
                pass

    def kill(self):
        """The machine loses its power; its disk stays. No process lives to tell of the end of another one."""
        self._signal_all(signal.SIGSTOP)
        self._signal_all(signal.SIGKILL)
        deadline = time.monotonic() + 10
        while self.processes():
            if time.monotonic() > deadline:
                raise SystemExit(f"machine {self.number}: processes survive SIGKILL")
            self._signal_all(signal.SIGKILL)  # a program that was started a moment ago comes into the machine only now
            time.sleep(0.01)

    def lose_disk(self):
        shutil.rmtree(self.disk)
        self.disk.mkdir()

    def cut(self):
        """Nothing reaches it, and it reaches nothing but its metadata server."""
        ip("link", "set", self._link, "down")

    def mend(self):
        ip("link", "set", self._link, "up")

    def _serve_metadata(self):
        """Returns HOST:PORT in the namespace; the server itself is a thread here, so it is not frozen or killed."""
        machine = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                with contextlib.suppress(OSError):  # the client may have given up
                    self.answer()

            def answer(self):
                if machine.delay:
                    time.sleep(machine.delay)
                value = machine.values.get(self.path.removeprefix("/computeMetadata/v1/").split("?")[0])
                self.send_response(404 if value is None else 200)
                self.send_header("Metadata-Flavor", "Google")
                self.end_headers()
                self.wfile.write((value or "").encode())

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
        server.daemon_threads = True

        def listen():  # a socket stays in the namespace in which it was made
            with open(f"/proc/{self._first}/ns/net", "rb") as space:
                if ctypes.CDLL(None, use_errno=True).setns(space.fileno(), CLONE_NEWNET):
                    raise OSError(ctypes.get_errno(), "setns")
            server.socket.close()
            server.socket = socket.socket()
            server.server_bind()
            server.server_activate()
            listens.set()
            server.serve_forever()

        listens = threading.Event()
        threading.Thread(target=listen, daemon=True).start()
        if not listens.wait(10):
            raise SystemExit(f"machine {self.number}: no metadata server")
        return f"127.0.0.1:{server.socket.getsockname()[1]}"

    def close(self):
        self._signal_all(signal.SIGKILL)
        self._holder.kill()
        self._holder.wait()
