"""A web server on loopback that serves a folder with ranges, and misbehaves when it is told to."""

import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


class FolderServer:
    """`asked` are (name, first byte) of all requests. `hold(name)` may wait; `spoil(name, content)` gives what is sent
    instead of the content, which may be cut off: the length that is promised stays."""

    def __init__(self, folder: Path):
        self.asked: list[tuple[str, int]] = []
        self.hold: Callable[[str], None] = lambda name: None
        self.spoil: Callable[[str, bytes], bytes] = lambda name, content: content
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                name = self.path.lstrip("/")
                asked_bytes = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "bytes=0-"))
                start = int(asked_bytes[1])
                outer.asked.append((name, start))
                outer.hold(name)
                path = folder / name
                if not path.is_file():
                    self.send_error(404)
                    return
                content = path.read_bytes()[start : int(asked_bytes[2]) + 1 if asked_bytes[2] else None]
                self.send_response(206 if "Range" in self.headers else 200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(outer.spoil(name, content))

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def tracks(self) -> list[str]:
        """The tracks that were asked for, whole or in parts."""
        return [name for name, _ in self.asked if name.endswith(("/mel.npy", "/audio.npy"))]

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
