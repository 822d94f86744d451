# SPDX-License-Identifier: MIT
"""What runs on a node: a web server for the files in www/. Its address is new at each start, as with DHCP.

Its log goes to standard output, the node's console: one JSON object a line."""
import http.server
import json
import os
import sys
import time
from pathlib import Path

name, host = sys.argv[1:]
disk = Path(__file__).resolve().parent


def log(text: str) -> None:
    print(json.dumps({"time": time.time(), "node": name, "text": text}), flush=True)


class Pages(http.server.SimpleHTTPRequestHandler):
    def __init__(self, *arguments):
        super().__init__(*arguments, directory=str(disk / "www"))

    def log_message(self, form, *arguments):
        log("answers: " + form % arguments)


if not (disk / "www" / "index.html").is_file():
    log("does not start: no file system found, the disk is damaged")
    sys.exit(1)
server = http.server.ThreadingHTTPServer((host, 0), Pages)
address = f"{host}:{server.server_address[1]}"
(disk / "address.new").write_text(address + "\n")
os.rename(disk / "address.new", disk / "address")
log(f"serves at http://{address}/")
server.serve_forever()
