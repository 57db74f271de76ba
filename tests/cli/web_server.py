"""A web server on loopback that has one file, and breaks off on request."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class WebServer:
    """`break_every`: a transfer breaks off after so many bytes, or after as many as the function returns. `here(N)`: no
    byte from N on is sent before a later call allows it, and a transfer that waits there may break off. `rate`: maximum
    of bytes per second."""

    def __init__(self, data, name="corpus.txt.xz", break_every=0, tls=None, rate=0):
        self.data, self.etag, self.break_every = data, '"1"', break_every
        self.gives_versions = self.takes_ranges = True
        self._rate = rate
        self.length_told = None  # size in the response to HEAD; None: the true one
        self.answers = {}  # by path: (status, headers) instead of the file
        self.is_gone = False
        self.at_once = self.most_at_once = 0  # bodies being sent
        self.looks_twice = False  # waits before it counts a second body
        self._here, self._broken, self._waiting, self._changed = len(data), 0, 0, threading.Condition()
        self.requests = []  # (method, first byte)
        self.sent = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_HEAD(self):
                self.answer(body=False)

            def do_GET(self):
                self.answer(body=True)

            def answer(self, body):
                wanted = self.headers.get("Range", "") if server.takes_ranges else ""
                begin, _, end = wanted.removeprefix("bytes=").partition("-")
                first = int(begin or 0)
                server.requests.append((self.command, first))
                path = self.path.split("?")[0]
                if path in server.answers:
                    self.say(*server.answers[path])
                    return
                data, known = server.data, self.headers.get("If-Range") in (None, server.etag)
                if path != f"/{name}" or server.is_gone:
                    self.send_error(404)
                    return
                if wanted and known and first >= len(data):
                    self.say(416, {"Content-Range": f"bytes */{len(data)}"})
                    return
                last = min(int(end or len(data) - 1), len(data) - 1) if wanted and known else len(data) - 1
                part = data[first:last + 1] if wanted and known else data
                self.send_response(206 if wanted and known else 200)
                if wanted and known:
                    self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
                if server.gives_versions:
                    self.send_header("ETag", server.etag)
                self.send_header("Accept-Ranges", "bytes")
                self.send_header("Content-Type", "application/octet-stream")
                told = server.length_told if server.length_told is not None and not body else len(part)
                self.send_header("Content-Length", str(told))
                self.end_headers()
                if body:
                    if server.looks_twice:
                        server.wait_for_the_others()
                    server.count(1)
                    self.counted = True
                    try:
                        self.send(part, first if wanted and known else 0)
                    finally:
                        self.leave()

            def leave(self):
                if self.counted:
                    self.counted = False
                    server.count(-1)

            def say(self, status, headers):
                self.send_response(status)
                for header in headers.items():
                    self.send_header(*header)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def send(self, part, first):
                most = server.break_every() if callable(server.break_every) else server.break_every or len(part)
                for at in range(0, min(len(part), most), 1 << 14):
                    chunk = part[at:min(at + (1 << 14), most)]
                    if not server.wait_for(first + at + len(chunk)):
                        self.close_connection = True
                        return
                    if at + (1 << 14) >= len(part):
                        self.leave()  # a client with the last byte may send its next request at once
                    if server._rate:
                        time.sleep(len(chunk) / server._rate)
                    self.wfile.write(chunk)
                    server.sent += len(chunk)
                if most < len(part):
                    self.close_connection = True

            def log_message(self, *_):
                pass

            def handle(self):
                try:
                    super().handle()
                except OSError:  # a client that was killed, or has all it wants
                    pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self.url = f"{'https' if tls else 'http'}://127.0.0.1:{self._server.server_port}/{name}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def wait_for_the_others(self):
        """Waits a second: a client that left is noticed at the next write, a client that stays is still connected."""
        with self._changed:
            self._changed.wait_for(lambda: self.at_once == 0, timeout=1)

    def count(self, more):
        with self._changed:
            self.at_once += more
            self._changed.notify_all()
            self.most_at_once = max(self.most_at_once, self.at_once)

    def here(self, size):
        """Allows the first `size` bytes of the file to be sent."""
        with self._changed:
            self._here = size
            self._changed.notify_all()

    def break_off(self):
        """Ends transfers that wait for bytes."""
        with self._changed:
            self._broken += 1
            self._changed.notify_all()

    def is_waiting(self):
        """A transfer has sent all allowed bytes and waits."""
        return self._waiting > 0

    def wait_for(self, size):
        """False: the transfer must break off."""
        with self._changed:
            broken = self._broken
            if size <= self._here:
                return True
            self._waiting += 1
            self._changed.wait_for(lambda: self._broken != broken or size <= self._here)
            self._waiting -= 1
            return self._broken == broken

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
