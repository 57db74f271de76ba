"""A web server on loopback that has one file, and breaks off as it is told."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class WebServer:
    """`break_every`: a transfer ends without a word after so many bytes; `here(N)`: no byte from N on is sent before
    a later call says so, and a transfer that waits there may break off."""

    def __init__(self, data, name="corpus.txt.xz", break_every=0):
        self.data, self.etag, self.break_every = data, '"1"', break_every
        self.gives_versions = True
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
                wanted = self.headers.get("Range", "")
                first = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted else 0
                server.requests.append((self.command, first))
                data, known = server.data, self.headers.get("If-Range") in (None, server.etag)
                if self.path.split("?")[0] != f"/{name}":
                    self.send_error(404)
                    return
                part = data[first:] if wanted and known else data
                self.send_response(206 if wanted and known else 200)
                if wanted and known:
                    self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
                if server.gives_versions:
                    self.send_header("ETag", server.etag)
                self.send_header("Accept-Ranges", "bytes")
                self.send_header("Content-Type", "application/octet-stream")
                self.send_header("Content-Length", str(len(part)))
                self.end_headers()
                if body:
                    self.send(part, len(data) - len(part))

            def send(self, part, first):
                most = server.break_every or len(part)
                for at in range(0, min(len(part), most), 1 << 14):
                    piece = part[at:min(at + (1 << 14), most)]
                    if not server.wait_for(first + at + len(piece)):
                        self.close_connection = True
                        return
                    self.wfile.write(piece)
                    server.sent += len(piece)
                if most < len(part):
                    self.close_connection = True

            def log_message(self, *_):
                pass

            def handle(self):
                try:
                    super().handle()
                except ConnectionError:  # a client that was killed, or has what it wants
                    pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/{name}"
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def here(self, size):
        """From now on the first `size` bytes of the file may be sent."""
        with self._changed:
            self._here = size
            self._changed.notify_all()

    def break_off(self):
        """Ends what waits for bytes that are not here."""
        with self._changed:
            self._broken += 1
            self._changed.notify_all()

    def is_waiting(self):
        """A transfer has sent all that is here, and wants more."""
        return self._waiting > 0

    def wait_for(self, size):
        """False: the transfer is to break off."""
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
