# SPDX-License-Identifier: MIT
"""`healerctl probe` against servers that are well, down, silent, refusing, closing half-way, and speaking nonsense; its
verdicts beside those of the real Monit."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import unittest
from pathlib import Path
from typing import Callable

import support

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Server:
    """A server on a port of 127.0.0.1: `serve` gets each connection."""

    def __init__(self, serve: Callable[[socket.socket], None]):
        self.serve = serve
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.socket.getsockname()[1]
        self.clients: list[socket.socket] = []
        threading.Thread(target=self.run, daemon=True).start()

    def run(self) -> None:
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            self.clients.append(client)
            threading.Thread(target=self.one, args=(client,), daemon=True).start()

    def one(self, client: socket.socket) -> None:
        try:
            self.serve(client)
        except OSError:
            pass

    def close(self) -> None:
        self.socket.close()
        for client in self.clients:
            client.close()


def says(*parts: bytes, first: bool = False, stays: bool = False) -> Callable[[socket.socket], None]:
    """Says one part after each thing that it hears, the first at once if `first`; then closes, or stays."""
    def serve(client: socket.socket) -> None:
        for number, part in enumerate(parts):
            if (number > 0 or not first) and not client.recv(65536):
                break
            client.sendall(part)
        while stays and client.recv(65536):
            pass
        client.close()
    return serve


def silent(client: socket.socket) -> None:
    while client.recv(65536):
        pass


SMTP = (b"220 x ESMTP\r\n", b"250-x\r\n250 ok\r\n", b"221 bye\r\n")

# Name, words, what serves it, Monit's verdict, and healer's where it is another, with the reason.
TABLE = [
    ("http up", "protocol http", says(OK), True, None),
    ("http down", "protocol http", None, False, None),
    ("http silent", "protocol http", silent, False, None),
    ("http refuses", "protocol http", says(b"HTTP/1.1 503 No\r\nContent-Length: 0\r\n\r\n"), False, None),
    ("http redirects", "protocol http", says(b"HTTP/1.1 301 X\r\nContent-Length: 0\r\n\r\n"), True, None),
    ("http status 404", "protocol http status = 404", says(b"HTTP/1.1 404 X\r\nContent-Length: 0\r\n\r\n"), True, None),
    ("http closes at once", "protocol http", says(b""), False, None),
    ("http closes in its headers", "protocol http", says(b"HTTP/1.1 200 OK\r\nX: a\r\n"), True, "broken off"),
    ("http closes in its content", 'protocol http content = "hello"',
     says(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello"), False, None),
    ("http nonsense", "protocol http", says(b"hello\r\n"), True, "this is no HTTP"),
    ("http bad length", "protocol http", says(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello"), False, None),
    ("http content", 'protocol http content = "h.l+o"', says(OK), True, None),
    ("http other content", 'protocol http content = "HELLO"', says(OK), False, None),
    ("http no such content", 'protocol http content != "zzz"', says(OK), True, None),
    ("http checksum", "protocol http checksum 5d41402abc4b2a76b9719d911017c592", says(OK), True, None),
    ("http other checksum", "protocol http checksum 5d41402abc4b2a76b9719d911017c593", says(OK), False, None),
    ("http chunks", 'protocol http content = "hello"',
     says(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"), True, None),
    ("ssh up", "protocol ssh", says(b"SSH-2.0-x\r\n", first=True), True, None),
    ("ssh down", "protocol ssh", None, False, None),
    ("ssh silent", "protocol ssh", silent, False, None),
    ("ssh nonsense", "protocol ssh", says(b"hello\r\n", first=True), False, None),
    ("smtp up", "protocol smtp", says(*SMTP, first=True), True, None),
    ("smtp down", "protocol smtp", None, False, None),
    ("smtp silent", "protocol smtp", silent, False, None),
    ("smtp refuses", "protocol smtp", says(b"421 busy\r\n", first=True), False, None),
    ("smtp closes half-way", "protocol smtp", says(*SMTP[:2], first=True), False, None),
    ("smtp nonsense", "protocol smtp", says(b"SSH-2.0-x\r\n", first=True), False, None),
    ("smtp login", 'protocol smtp username "u" password "p"',
     says(SMTP[0], b"250-x\r\n250 AUTH PLAIN\r\n", b"235 in\r\n", SMTP[2], first=True), True, None),
    ("smtp no login", 'protocol smtp username "u" password "p"', says(*SMTP, first=True), False, None),
    ("redis up", "protocol redis", says(b"+PONG\r\n", stays=True), True, None),
    ("redis wants a password", "protocol redis", says(b"-NOAUTH Authentication required.\r\n", stays=True), True, None),
    ("redis is loading", "protocol redis", says(b"-LOADING Redis is loading\r\n", stays=True), False, None),
    ("redis nonsense", "protocol redis", says(b"HTTP/1.1 400 Bad Request\r\n\r\n", stays=True), False, None),
    ("text", 'send "x" expect "y"', says(b"xyz", stays=True), True, None),
    ("text anchored", 'expect "^220 hello$"', says(b"220 hello\r\n", first=True, stays=True), False, None),
    ("text two lines", 'expect "^b"', says(b"a\nb\n", first=True, stays=True), False, None),
    ("text cut", 'send "x" expect "b"', says(b"a", b"b", stays=True), False, None),
    ("text zero byte", 'expect "a.*b"', says(b"a\0b\n", first=True, stays=True), True, None),
    ("text far", 'expect "zend"', says(b"a" * 300 + b"zend\n", first=True, stays=True), False, None),
    ("text near", 'expect "zend"', says(b"a" * 200 + b"zend\n", first=True, stays=True), True, None),
    ("tls where none is", "protocol https", says(OK), False, None),
    ("connection", "", silent, True, None),
    ("no connection", "", None, False, None),
]


def probe(*words: str) -> tuple[int, dict]:
    done = subprocess.run([support.BUILD / "healerctl", "--json", "probe", *words], capture_output=True, text=True)
    return done.returncode, json.loads(done.stdout)


def at(place: int | Path) -> str:
    """A port, or the path of a unix socket, in a rule."""
    return f'unixsocket "{place}"' if isinstance(place, Path) else f"port {place}"


def ask_monit(case: support.Case, tests: list[tuple[int | Path, str]], name: str = "monit") -> list[bool | None]:
    """What the real Monit says of each port, or unix socket, and test; None for all where there is no monit. `name`: of
    its files."""
    if not tests or not shutil.which("monit"):
        return [None] * len(tests)
    rules = "set daemon 60\nset limits { networkTimeout: 2 s }\n"
    for what in ("log", "pidfile", "idfile", "statefile"):
        rules += f"set {what} {case.path(f'{name}.{what}')}\n"
    case.path(f"{name}.pid").write_text(f"{os.getpid()}\n")  # of a process: it has unix sockets, a host has none
    for number, (place, words) in enumerate(tests):
        rules += f"check process h{number} with pidfile {case.path(f'{name}.pid')}\n" if isinstance(place, Path) else \
                 f"check host h{number} with address 127.0.0.1\n"
        rules += f"  if failed {at(place)} {words} then alert\n"
    file = case.path(f"{name}rc")
    file.write_text(rules)
    file.chmod(0o600)
    log = case.path(f"{name}.log")
    monit = subprocess.Popen(["monit", "-I", "-vv", "-c", file], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        def verdicts() -> dict[int, bool]:
            found = re.findall(r"'h(\d+)' (succeeded|failed) (?:testing protocol|protocol test|connection)",
                               log.read_text(errors="replace") if log.exists() else "")
            return {int(number): word == "succeeded" for number, word in reversed(found)}
        case.wait_for(lambda: len(verdicts()) == len(tests), "Monit's verdicts", limit=3 * support.LIMIT)
        told = verdicts()
        return [told[number] for number in range(len(tests))]
    finally:
        monit.terminate()
        monit.wait()


class Probe(support.Case):
    def setUp(self):
        super().setUp()
        self.ports: dict[str, int] = {}
        for name, _, serve, _, _ in TABLE:
            if serve is None:
                self.ports[name] = self.own_port()
                continue
            server = Server(serve)
            self.addCleanup(server.close)
            self.ports[name] = server.port

    def probe(self, *words: str) -> tuple[int, dict]:
        return probe(*words)

    def test_each_verdict_is_that_of_monit_or_differs_for_a_reason(self):
        names = [row[0] for row in TABLE]
        # What passes has time, for a machine that is busy.
        asked = [(self.ports[name], f"{words} timeout {20 if monit else 2} seconds") for name, words, _, monit, _ in TABLE]
        told = dict(zip(names, ask_monit(self, asked)))
        print(f"{'':28} {'monit':7} {'healer':7}", file=sys.stderr)
        wrong = []
        for (name, _, _, monit, reason), (port, words) in zip(TABLE, asked):
            status, document = self.probe("127.0.0.1", f"port {port} {words}")
            healer = document["verdict"] == "passed"
            self.assertEqual(status, 0 if healer else 1)
            say = {True: "passed", False: "failed"}
            seen = monit if told[name] is None else told[name]
            print(f"{name:28} {say[seen]:7} {say[healer]:7} {reason or ''}", file=sys.stderr)
            if seen != monit:
                wrong.append(f"{name}: Monit says otherwise now")
            if healer != (monit if reason is None else not monit):
                wrong.append(f"{name}: {document['text']}")
        self.assertEqual(wrong, [])

    def test_real_servers_pass(self):
        """nginx, redis and sshd of Debian, and each as what it is not."""
        nginx, redis, sshd = (self.own_port() for _ in range(3))
        (self.folder / "nginx.conf").write_text(
            f"daemon off; pid {self.path('nginx.pid')}; error_log {self.path('nginx.log')}; events {{}}\n"
            "http { access_log off; " + "".join(f"{part}_temp_path {self.path(part)}; " for part in
                                                ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")) +
            f"server {{ listen 127.0.0.1:{nginx}; location / {{ return 200 hello; }} location /no {{ return 403; }} }} }}\n")
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path("key")], check=False)
        servers = {
            "/usr/sbin/nginx": ["-e", self.path("nginx.log"), "-p", self.folder, "-c", self.path("nginx.conf")],
            "/usr/bin/redis-server": ["--port", str(redis), "--bind", "127.0.0.1", "--save", "", "--dir", self.folder],
            "/usr/sbin/sshd": ["-D", "-e", "-f", "/dev/null", "-p", str(sshd), "-o", "ListenAddress=127.0.0.1", "-h",
                               self.path("key"), "-o", "PidFile=none"],
        }
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        for program in servers:
            if not shutil.which(program):
                self.skipTest(f"{program} is not installed")
        running = []
        try:
            for program, arguments in servers.items():
                with open(self.path("servers.log"), "ab") as log:
                    running.append(subprocess.Popen([program, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=log,
                                                    stderr=log))
            self.judge_real_servers(nginx, redis, sshd)
        finally:
            for server in running:
                server.terminate()
                server.wait()

    def judge_real_servers(self, nginx: int, redis: int, sshd: int) -> None:
        for port, words, text in ((nginx, 'protocol http content = "hello"', "HTTP status 200"),
                                  (redis, "protocol redis", "it answers PING"),
                                  (sshd, "protocol ssh", 'it is "SSH-2.0-OpenSSH')):
            self.wait_for(lambda: self.probe("127.0.0.1", f"port {port}")[0] == 0, f"the server of {words}",
                          detail=lambda: self.path("servers.log").read_text())
            status, document = self.probe("127.0.0.1", f"port {port} {words} timeout 30 seconds")
            self.assertEqual((status, document["verdict"]), (0, "passed"), document["text"])
            self.assertIn(text, document["text"])
        for port, words, text in ((nginx, 'protocol http request "/no"', "its status is 403"),
                                  (nginx, "protocol redis", 'its answer to PING is "'),
                                  (redis, "protocol http", "the server closed the connection without an answer"),
                                  (sshd, "protocol http", 'this is not an HTTP server: it said "SSH-2.0-'),
                                  (sshd, "protocol smtp", 'this is not a mail server: it said "SSH-2.0-'),
                                  (sshd, "protocol https", "the server does not speak TLS")):
            status, document = self.probe("127.0.0.1", f"port {port} {words} timeout 30 seconds")
            self.assertEqual(status, 1)
            self.assertIn(text, document["text"], (port, words))

    def test_it_tells_each_phase_and_what_is_wrong_in_words(self):
        port = self.ports["http up"]
        done = subprocess.run([support.BUILD / "healerctl", "probe", f"http://127.0.0.1:{port}/x"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stdout, r"(?s)^resolve +[\d.]+ ms  1 address\nconnect +[\d.]+ ms  127\.0\.0\.1:\d+\nfirst byte +[\d.]+ ms\n"
                         r"passed +[\d.]+ ms  connected to 127\.0\.0\.1:\d+ in [\d.]+ ms, HTTP status 200, [\d.]+ ms in all\n$")
        _, refused = self.probe("127.0.0.1", "port", str(self.ports["http down"]))
        self.assertEqual(refused["text"], f"cannot connect to 127.0.0.1:{self.ports['http down']}: connection refused")
        self.assertEqual((refused["phase"], refused["connect_ms"]), ("connect", None))
        page = (support.TOP / "man" / "healer-json.5").read_text()
        section = page[page.index(".SS probe"):page.index(".SH EXAMPLES")]
        told = {name.split(".")[0] for name in re.findall(r"^\.B ([a-z_.]+)$", section, re.M)}
        self.assertEqual(told | {"version", "command"}, set(refused))
        wrong = subprocess.run([support.BUILD / "healerctl", "probe", "h", "port 443 protcol https"], capture_output=True, text=True)
        self.assertEqual(wrong.returncode, 2)
        self.assertRegex(wrong.stderr, r"^healerctl: unexpected 'protcol', expected 'timeout', .*\n"
                                       r"  port 443 protcol https\n           \^~~~~~~\n"
                                       r"  note: did you mean 'protocol'\?\n$")
        status, document = self.probe("h", "port 443 protcol https")
        self.assertEqual((status, document["error"]["remedy"]), (2, "did you mean 'protocol'?"))


if __name__ == "__main__":
    support.main()
