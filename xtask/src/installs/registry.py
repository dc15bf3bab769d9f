"""A registry on loopback: the files of folders, and for all else the way to the registry that has it.

The first line of standard input says what is served: a JSON object with `port`, and `shares`, each with the `begins` of its
paths, the `folders` of its files, and the address `beyond`. Says its port, and ends with its standard input."""

import json
import sys
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

said = json.loads(sys.stdin.readline())


class Registry(SimpleHTTPRequestHandler):
    """Answers one request a connection."""

    def do_GET(self) -> None:
        path = unquote(urlsplit(self.path).path)
        share = next((share for share in said["shares"] if path.startswith(share["begins"])), None)
        if share is None or ".." in path:
            self.send_error(404)
            return
        rest = path.removeprefix(share["begins"])
        for folder in share["folders"]:
            at = Path(folder, rest)
            for file in (at, at / "index.html", at / "index.json"):
                if file.is_file():
                    self.send(file)
                    return
        self.send_response(302)
        self.send_header("location", share["beyond"] + rest)
        self.send_header("content-length", "0")
        self.end_headers()

    do_HEAD = do_GET

    def send(self, file: Path) -> None:
        content = file.read_bytes()
        self.send_response(200)
        self.send_header("content-type", self.guess_type(file))
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


try:
    server = Server(("127.0.0.1", said["port"]), Registry)
except OSError:
    server = Server(("127.0.0.1", 0), Registry)
print(server.server_address[1], flush=True)
Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
