# SPDX-License-Identifier: MIT
"""Tests of connections: the same rules in healer and the real Monit, which ask the same servers."""
import os
import re
import signal
import socket
import socketserver
import ssl
import subprocess
import threading
import time
from pathlib import Path

import both
import support

TIME = re.compile(r"(?<=response time )\d+(\.\d+)? m?s|(?<=expiry in )\d+ days")
FIRST = re.compile(r"\w+: \w+ (failed|succeeded|ok): ")
REASON = re.compile(r"(failed protocol test .*?) -- .*")  # why, each says in its own words


class Server:
    """A server that answers as it is told: with these bytes, or, of None, not at all."""

    def __init__(self, answer: bytes | None = b"", family=socket.AF_INET, address=("127.0.0.1", 0), context=None):
        self.answer = answer
        self.asked = 0
        self.delay = 0.0  # seconds
        server = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                server.asked += 1
                server.gone.wait(server.delay)
                if server.answer is None:
                    server.gone.wait()
                    return
                try:
                    with context.wrap_socket(self.request, server_side=True) if context else self.request as stream:
                        if server.answer:
                            stream.recv(65536)
                            stream.sendall(server.answer)
                except OSError:
                    pass

        class Threads(socketserver.ThreadingMixIn, socketserver.TCPServer):
            address_family = family
            allow_reuse_address = True
            daemon_threads = True
            block_on_close = False
            request_queue_size = 100

        self.gone = threading.Event()
        self.server = Threads(address, Handler)
        self.address = self.server.server_address
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    @property
    def port(self) -> int:
        return self.address[1]

    def close(self) -> None:
        if not self.gone.is_set():
            self.gone.set()
            self.server.shutdown()
            self.server.server_close()


OK = b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"
BAD = b"HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n"


class Servers(both.Acts):
    def serve(self, *args, **named) -> Server:
        server = Server(*args, **named)
        self.addCleanup(server.close)
        return server

    def closed_port(self) -> int:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            return unused.getsockname()[1]

    def certificate(self, days: int) -> ssl.SSLContext:
        key, certificate = self.path("key.pem"), self.path("certificate.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate,
                        "-days", str(days), "-subj", "/CN=localhost"], check=True, capture_output=True)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        return context

    def acts(self, folder: Path) -> list[str]:
        # Monit quotes what a server says with its lines.
        return sorted(TIME.sub("N", REASON.sub(r"\1", act)) for act in super().acts(folder) if FIRST.match(act))

    def hosts(self, *blocks: tuple[str, dict[str, str]]) -> None:
        """Runs both with these services: each a header and its tests."""
        self.run_both(lambda folder: [],
                      lambda folder: "".join(self.block(folder, header, tests) for header, tests in blocks))


class Beside(Servers):
    def test_ports_fail_and_come_back_as_in_monit(self):
        server, steady = self.serve(OK), self.serve(OK)
        port, closed = server.port, self.closed_port()
        self.hosts(("check host h with address 127.0.0.1", {
            "down else up": f"failed port {port}",
            "twice": f"failed port {port} for 2 cycles",
            "http else httpup": f"failed port {port} protocol http timeout 2 seconds",
            "there else notthere": f"succeeded port {port}",
            "closed": f"failed port {closed} retry 2",
            "udp": f"failed port {closed} type udp",
            "page": f"failed port {port} protocol http request \"/x\" with timeout 2 seconds",
            "text": f"failed port {port} protocol http content = \"hello\"",
            "othertext": f"failed port {port} protocol http content = \"goodbye\"",
            "expected": f"failed port {port} send \"GET / HTTP/1.0\\r\\n\\r\\n\" expect \"HTTP/1.0 200\"",
            "slow": f"failed port {steady.port} protocol http responsetime < 0 ms",
            "url": f"failed url http://127.0.0.1:{port}/x",
        }))
        place = f"[127.0.0.1]:{port}"
        up = f"connection succeeded to {place} [TCP/IP]"
        expected = [f"there: Connection failed: {up}",
                    f"closed: Connection failed: failed protocol test [DEFAULT] at [127.0.0.1]:{closed} [TCP/IP]",
                    f"udp: Connection failed: failed protocol test [DEFAULT] at [127.0.0.1]:{closed} [UDP/IP]",
                    f"othertext: Connection failed: failed protocol test [HTTP] at {place} [TCP/IP]",
                    "slow: Speed failed: response time N doesn't match limit [time < 0 ms]"]
        self.fired(expected)
        server.answer = BAD
        expected += [f"http: Connection failed: failed protocol test [HTTP] at {place} [TCP/IP]",
                     f"text: Connection failed: failed protocol test [HTTP] at {place} [TCP/IP]",
                     f"expected: Connection failed: failed protocol test [generic] at {place} [TCP/IP]",
                     f"page: Connection failed: failed protocol test [HTTP] at {place}/x [TCP/IP]",
                     f"url: Connection failed: failed protocol test [HTTP] at {place}/x [TCP/IP]"]
        self.fired(expected)
        server.answer = OK
        expected.append(f"httpup: Connection succeeded: {up}")
        self.fired(expected)
        server.close()
        down = f"Connection failed: failed protocol test [DEFAULT] at {place} [TCP/IP]"
        http = f"Connection failed: failed protocol test [HTTP] at {place} [TCP/IP]"
        expected += [f"down: {down}", f"twice: {down}", f"http: {http}", f"text: {http}",
                     f"notthere: Connection succeeded: failed protocol test [DEFAULT] at {place} [TCP/IP]",
                     f"expected: Connection failed: failed protocol test [generic] at {place} [TCP/IP]",
                     f"page: Connection failed: failed protocol test [HTTP] at {place}/x [TCP/IP]",
                     f"url: Connection failed: failed protocol test [HTTP] at {place}/x [TCP/IP]"]
        self.fired(expected)

    def test_tls_and_certificates_are_tested_as_in_monit(self):
        server = self.serve(OK, context=self.certificate(10))
        port = server.port
        self.hosts(("check host h with address localhost", {
            "soon": f"failed port {port} type tcpssl certificate valid > 30 days",
            "later": f"failed port {port} type tcpssl certificate valid > 5 days",
            "https": f"failed port {port} protocol https",
            "untrusted": f"failed port {port} protocol https with ssl options {{verify: enable}}",
            "own": f"failed port {port} protocol https with ssl options {{verify: enable, selfsigned: allow}}",
            "there": f"succeeded port {port} protocol https",
            "sum": f"failed port {port} protocol https certificate checksum {'ab' * 20}"}))
        place = f"[localhost]:{port} [TCP/IP TLS]"
        self.fired(["soon: Timestamp failed: certificate expiry in N matches check limit [valid > 30 days]",
                    f"untrusted: Connection failed: failed protocol test [HTTP] at {place}",
                    f"sum: Connection failed: failed protocol test [HTTP] at {place}",
                    f"there: Connection failed: connection succeeded to {place}"])

    def test_a_host_that_does_not_answer_pings_is_spared_the_rest(self):
        if os.geteuid() != 0:
            self.skipTest("Monit pings as root only")
        closed, server = self.closed_port(), self.serve(OK)
        dead = "240.0.0.1"  # no route leads there
        self.hosts(("check host dead with address " + dead,
                    {"ping": "failed ping count 1 timeout 1 seconds",
                     "spared": f"failed host 127.0.0.1 port {closed} timeout 1 seconds"}),
                   ("check host live with address 127.0.0.1",
                    {"alive": "failed ping", "pong": "succeeded ping4 count 2", "late": "failed ping responsetime < 0 ms",
                     "port": f"failed port {closed}", "open": f"failed port {server.port}"}))
        self.fired(["ping: ICMP failed: ping test failed",
                    "pong: ICMP failed: ping test succeeded [response time N]",
                    "late: Speed failed: response time N doesn't match limit [time < 0 ms]",
                    f"port: Connection failed: failed protocol test [DEFAULT] at [127.0.0.1]:{closed} [TCP/IP]"])
        dead = self.daemon.ask("status", "dead")["services"][0]
        self.assertEqual([one["verdict"] for one in dead["connections"]], ["failed", "untried"])
        self.assertIn("does not answer pings", dead["connections"][1]["text"])

    def test_an_answer_that_comes_late_is_an_event_of_its_own_as_in_monit(self):
        server = self.serve(OK)
        server.delay = 1.5
        self.hosts(("check host h with address 127.0.0.1", {
            "late else intime": f"failed port {server.port} protocol http responsetime < 1 second timeout 20 seconds",
            "hangs": f"failed port {server.port} protocol http responsetime < 1 second timeout 1 second"}))
        expected = ["late: Speed failed: response time N doesn't match limit [time < 1 s]",
                    f"hangs: Connection failed: failed protocol test [HTTP] at [127.0.0.1]:{server.port} [TCP/IP]"]
        self.fired(expected)
        server.delay = 0.0
        self.fired([*expected, "intime: Speed ok: response time N succeeded [time < 1 s]"])

    def test_a_name_that_nobody_knows_fails_as_in_monit(self):
        self.hosts(("check host h with address no-such-name.invalid",
                    {"port": "failed port 80 timeout 2 seconds"}))
        self.fired(["port: Connection failed: failed protocol test [DEFAULT] at [no-such-name.invalid]:80 [TCP/IP]"])

    def test_the_connections_of_a_process_rest_while_it_comes_up_as_in_monit(self):
        closed = self.closed_port()
        sleeper = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        begun = time.monotonic()
        pid_file = self.path("pid")
        pid_file.write_text(str(sleeper.pid))
        path = self.path("there")
        unix = self.serve(OK, family=socket.AF_UNIX, address=str(path))
        header = f"check process {{}} with pidfile {pid_file}"
        rests = header.format("young") + '\n  start program = "/bin/true" with timeout 6 seconds'
        self.hosts((rests, {"rested": f"failed port {closed}"}),
                   (header.format("other"), {"restless": f"failed port {closed}",
                                             "gone": f"failed unixsocket {path}.not",
                                             "unix": f"succeeded unixsocket {path}"}))
        place = f"failed protocol test [DEFAULT] at [localhost]:{closed} [TCP/IP]"
        expected = [f"restless: Connection failed: {place}",
                    f"gone: Connection failed: failed protocol test [DEFAULT] at /there.not".replace("/there", str(path)),
                    f"unix: Connection failed: connection succeeded to {path}"]
        self.fired(sorted([*expected, f"rested: Connection failed: {place}"]))
        self.assertGreater(time.monotonic() - begun, 6)
        del unix


class Alone(Servers):
    def test_a_death_is_healed_at_once_while_a_port_hangs(self):
        server = self.serve(None)
        pid_file, started = self.path("pid"), self.path("started")
        start = self.script("start", f"echo x >> {started}\nsetsid sleep 1000 >/dev/null 2>&1 &\necho $! > {pid_file}")
        daemon = self.start(f"""
            set settle 0 seconds
            check process p with pidfile {pid_file}
              start program = "{start}" with timeout 1 second
              if failed port {server.port} protocol http timeout 50 seconds then alert
              if not exist then start""", cycle="1")
        self.wait_for(lambda: server.asked > 0, "the connection that hangs")
        os.kill(int(pid_file.read_text()), signal.SIGKILL)
        before = self.lines("started")
        self.wait_for(lambda: self.lines("started") > before, "the start of what died")
        daemon.stop()
        os.kill(int(pid_file.read_text()), signal.SIGKILL)

    def test_hosts_that_never_answer_hold_up_no_other(self):
        server, good = self.serve(None), self.serve(OK)
        beat = self.path("beats")
        silent = "".join(f"""
            check host silent{i} with address 127.0.0.1
              if failed port {server.port} protocol http timeout 50 seconds then alert""" for i in range(20))
        routed = "".join(f"""
            check host nowhere{i} with address 240.0.0.{i + 1}
              if failed port 80 timeout 50 seconds then alert""" for i in range(20))
        daemon = self.start(f"""{silent}{routed}
            check host good with address 127.0.0.1
              if failed port {good.port} protocol http then alert
            check program beat with path "{self.script("beat", f"echo x >> {beat}")}"
              if status != 0 then alert""", cycle="1")
        self.wait_for(lambda: server.asked >= 20, "the connections that hang")
        first = self.lines("beats")
        self.wait_for(lambda: self.lines("beats") >= first + 5 and good.asked >= 5, "five cycles beside them")
        told = {one["name"]: one for one in daemon.ask("status")["services"]}
        self.assertEqual(told["good"]["connections"][0]["verdict"], "passed")
        self.assertEqual(told["beat"]["overruns"], 0)

    def test_names_that_nobody_answers_for_hold_up_no_other(self):
        """In a mount namespace whose name server takes every question and answers none."""
        silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(silent.close)
        try:
            silent.bind(("127.0.0.53", 53))
        except OSError as error:
            self.skipTest(f"no name server can be played here: {error}")
        resolver = self.path("resolv.conf")
        resolver.write_text("nameserver 127.0.0.53\n")
        good = self.serve(OK)
        names = "".join(f"""
            check host name{i} with address host{i}.example.org
              if failed port 80 timeout 50 seconds then alert""" for i in range(20))
        daemon = self.configure(f"""{names}
            check host good with address 127.0.0.1
              if failed port {good.port} protocol http then alert""", cycle="1")
        daemon.binary = self.script("apart", f'''exec unshare -m sh -c '
            mount --make-rprivate / && mount --bind {resolver} /etc/resolv.conf && exec {daemon.binary} "$@"' sh "$@"''')
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("no mount namespace can be made here")
        daemon.launch()
        self.wait_for(lambda: good.asked >= 5, "five cycles beside them")
        self.assertTrue(silent.recv(512))
        told = daemon.ask("status", "good")["services"][0]
        self.assertEqual(told["overruns"], 0)

    def test_dead_name_servers_heal_no_host(self):
        """In a mount namespace whose name server refuses, fails, and at last answers."""
        resolver = self.path("resolv.conf")
        resolver.write_text("nameserver 127.0.0.54\n")
        port = self.own_port()  # nobody listens
        note = self.script("note", f"echo $1 >> {self.path('notes')}")
        daemon = self.configure(f"""
            workflow rebuild {{
              guard program "/bin/true"
              step "rebuild" program "{note} rebuild"
              step "verify" recovered within 1 hour
            }}
            check host web with address web.example.org.
              if failed port {port} for 2 cycles then heal with rebuild
            check host other with address other.example.org.
              if failed port {port} for 2 cycles then exec "{note} exec"
            """, cycle="1")
        daemon.binary = self.script("apart", f'''exec unshare -m sh -c '
            mount --make-rprivate / && mount --bind {resolver} /etc/resolv.conf && exec {daemon.binary} "$@"' sh "$@"''')
        if subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
            self.skipTest("no mount namespace can be made here")
        daemon.launch()
        reason = lambda: [one["reason"] for one in daemon.ask("healing", "status")["healings"]]  # noqa: E731
        self.wait_for(lambda: reason() == ["names: name servers do not answer"], "that it is held back", detail=lambda: str(reason()))
        self.wait_for(lambda: self.path("notes").exists(), "what does not heal")
        self.assertEqual(self.path("notes").read_text(), "exec\n")
        self.assertIn("blocked by names: name servers do not answer", daemon.ctl("explain", "web").stdout)

        names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.addCleanup(names.close)
        try:
            names.bind(("127.0.0.54", 53))
        except OSError as error:
            self.skipTest(f"no name server can be played here: {error}")
        code, asked = [2], []  # SERVFAIL

        def serve() -> None:
            while True:
                try:
                    query, client = names.recvfrom(512)
                except OSError:
                    return
                asked.append(query)
                question = query[12:query.index(b"\0", 12) + 5]
                is_a = question[-3] == 1
                answer = b"\xc0\x0c\0\1\0\1\0\0\0\0\0\4\x7f\0\0\1" if code[0] == 0 and is_a else b""
                names.sendto(query[:2] + bytes([0x81, 0x80 | code[0], 0, 1, 0, 1 if answer else 0, 0, 0, 0, 0]) + question + answer, client)
        threading.Thread(target=serve, daemon=True).start()
        runs = lambda: daemon.ask("status", "web")["services"][0]["runs"]  # noqa: E731
        self.wait_for(lambda: asked, "that they are asked")
        before = runs()
        self.wait_for(lambda: runs() > before + 2, "runs in which they fail")
        self.assertEqual(reason(), ["names: name servers do not answer"])
        code[0] = 0
        self.wait_for(lambda: "rebuild" in self.path("notes").read_text(), "the healing of what does not answer either",
                      detail=lambda: str(reason()))

    def test_the_example_of_an_endpoint_heals_as_it_says(self):
        rules, play = self.path("endpoint"), self.path("endpoint.script")
        rules.write_text((support.TOP / "rules.d" / "examples" / "endpoint.rules").read_text())
        rules.chmod(0o600)
        play.write_text("""
            master0 connection: up down*3 up
            master1 connection: up down*2 up
            expect fired master0 exec at run 4
            expect not fired master1 exec
            run for 6 cycles
            """)
        done = subprocess.run([support.BUILD / "healerctl", "simulate", rules, "--script", play], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_what_is_seen_of_connections_is_shown(self):
        context = self.certificate(10)
        good, secure, closed = self.serve(OK), self.serve(OK, context=context), self.closed_port()
        daemon = self.start(f"""
            check host h with address 127.0.0.1
              if failed port {good.port} protocol http then alert
              if failed port {secure.port} protocol https then alert
              if failed port {closed} then alert
              if failed port {good.port} protocol mysql timeout 1 second then alert""", cycle="1")
        self.wait_for(lambda: daemon.ask("status", "h")["services"][0]["connections"], "the first run")
        told = daemon.ask("status", "h")["services"][0]["connections"]
        self.assertEqual([one["verdict"] for one in told], ["passed", "passed", "failed", "failed"])
        self.assertEqual(told[0]["name"], f"http 127.0.0.1:{good.port}")
        self.assertEqual(told[0]["address"], f"127.0.0.1:{good.port}")
        self.assertGreater(told[0]["response_ms"], 0)
        self.assertIsNotNone(told[1]["expires"])
        text = daemon.ctl("status", "h").stdout
        self.assertIn("expires in 9 days", " ".join(text.split()))
        self.assertIn("connection refused", text)
        self.assertIn("no greeting within", " ".join(text.split()))
        self.assertIn("connection refused", daemon.ctl("summary").stdout)


if __name__ == "__main__":
    support.main()
