"""The metadata server of a machine in us-central1, on loopback."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ACCOUNT = "trainer@project.iam.gserviceaccount.com"


class MetadataServer:
    """`host` is the value for GCE_METADATA_HOST. `values` has more values by their paths, and a test may change them."""

    def __init__(self, token="token-of-the-machine", values=None):
        self.values = dict(values or {})
        account = "/computeMetadata/v1/instance/service-accounts/default"
        answers = {"/": "", "/computeMetadata/v1/instance/zone": "projects/1/zones/us-central1-a",
                   f"{account}/email": ACCOUNT,
                   f"{account}/token": json.dumps({"access_token": token, "expires_in": 3600})}

        values = self.values

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                path = self.path.split("?")[0]
                body = answers.get(path, values.get(path.removeprefix("/computeMetadata/v1/")))
                self.send_response(404 if body is None else 200)
                self.send_header("Metadata-Flavor", "Google")
                self.end_headers()
                self.wfile.write((body or "").encode())

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.host = f"127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
