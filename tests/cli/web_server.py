"""A web server on loopback that has one file, and breaks off as it is told."""

import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class WebServer:
    """`break_every`: a transfer ends without a word after so many bytes; `pause`: seconds before each 64 KiB."""

    def __init__(self, data, name="corpus.txt.xz", break_every=0, pause=0.0):
        self.data, self.etag, self.break_every, self.pause = data, '"1"', break_every, pause
        self.gives_versions = True
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
                    self.send(part)

            def send(self, part):
                most = server.break_every or len(part)
                for at in range(0, min(len(part), most), 1 << 16):
                    time.sleep(server.pause)
                    piece = part[at:min(at + (1 << 16), most)]
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

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
