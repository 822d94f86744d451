# SPDX-License-Identifier: MIT
"""The HTTP side as the network sees it: who is let in, TLS, ports that are taken, and clients that mean no good."""
import base64
import http.client
import os
import shutil
import socket
import ssl
import stat
import subprocess
import time
from pathlib import Path

import support

RULES = 'check program good with path "/bin/true"\n  if status != 0 then alert\n'


class Answer:
    def __init__(self, status: int, headers: dict, body: str) -> None:
        self.status, self.headers, self.body = status, headers, body


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=support.LIMIT)
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(support.LIMIT)
        self.sock.connect(self.path)


class Http(support.Case):
    def ask(self, where: int | str, path: str = "/session-test", login: str = "", method: str = "GET", body: str = "",
            headers: dict | None = None, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> Answer:
        if isinstance(where, str):
            connection = UnixConnection(where)
        elif tls:
            connection = http.client.HTTPSConnection(host, where, context=tls, timeout=support.LIMIT)
        else:
            connection = http.client.HTTPConnection(host, where, timeout=support.LIMIT)
        sent = dict(headers or {})
        if login:
            sent["Authorization"] = "Basic " + base64.b64encode(login.encode()).decode()
        try:
            connection.request(method, path, body=body or None, headers=sent)
            got = connection.getresponse()
            return Answer(got.status, dict(got.getheaders()), got.read().decode())
        finally:
            connection.close()

    def is_heard(self, where: int | str, **how) -> bool:
        try:
            return self.ask(where, "/healthz", **how).status == 200
        except (OSError, http.client.HTTPException):
            return False

    def begin(self, statement: str, port: int | None = None) -> support.Daemon:
        daemon = self.start(f"{statement}\n{RULES}")
        if port:
            self.wait_for(lambda: self.is_heard(port), "an answer over HTTP", detail=daemon.log_text)
        return daemon

    def certificate(self, name: str, subject: str) -> str:
        path = self.path(name)
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", path, "-out", f"{path}.crt", "-days",
                        "2", "-subj", f"/CN={subject}", "-addext", f"subjectAltName=DNS:{subject}"], check=True, capture_output=True)
        with open(path, "a") as whole, open(f"{path}.crt") as made:
            whole.write(made.read())
        path.chmod(0o600)
        return str(path)

    # ---- who is let in

    def test_each_form_of_allow_lets_in_its_own_and_nobody_else(self):
        port = self.own_port()
        passwords = self.path("htpasswd")
        passwords.write_text("# users\nanna:$apr1$ab$ZgbyBttfAvWjwKDroS41O1\npaul:$1$rqXexS6Z$nsVljs6POHETq3BvIDsy80\n"
                             "cut:$apr1$ab$ZgbyBttfAvWjwKDroS41O1\n")
        plain = self.path("plain")
        plain.write_text("clear:a:b\n")
        hashed = subprocess.run(["openssl", "passwd", "-6", "-salt", "saltsalt", "long"], capture_output=True, text=True, check=True)
        crypt = self.path("crypt")
        crypt.write_text(f"carl:{hashed.stdout}")
        secrets = self.path("secrets")
        secrets.mkdir(mode=0o700)
        for name, secret in (("web", "from a file"), ("ci", "let-me-in")):
            (secrets / name).write_text(secret)
            (secrets / name).chmod(0o600)
        daemon = self.begin(f'''set secrets "{secrets}"
set httpd port {port} allow 127.0.0.0/8 allow ::1
  allow admin:"right" allow eve:"${{secret:web}}" read-only
  allow md5 {passwords} anna paul
  allow crypt {crypt}
  allow cleartext {plain}
  allow token "${{secret:ci}}" operator''', port)
        right = {"admin": "right", "eve": "from a file", "anna": "a much longer password than sixteen bytes", "paul": "secret",
                 "carl": "long", "clear": "a:b"}
        for user, password in right.items():
            with self.subTest(user=user):
                self.assertEqual(self.ask(port, login=f"{user}:{password}").status, 404)  # he may ask, and there is nothing
        for login in ("admin:wrong", "cut:a much longer password than sixteen bytes"):
            self.assertEqual(self.ask(port, login=login).status, 401, login)
        self.assertEqual(self.ask(port).status, 401)
        self.assertEqual(self.ask(port, headers={"Authorization": "Bearer let-me-in"}).status, 404)
        self.assertEqual(self.ask(port, headers={"Authorization": "Bearer let-me-out"}).status, 401)
        # What people see has no secret in it.
        shown = daemon.told() + self.printed(daemon) + daemon.ctl("status").stdout
        for secret in ("right", "from a file", "let-me-in"):
            self.assertNotIn(secret, shown.replace("(right", ""))

    def test_pam_lets_in_members_of_a_group_but_no_expired_or_locked_account(self):
        if os.geteuid() != 0 or not shutil.which("useradd"):
            self.skipTest("only root can make a user")
        service = Path("/etc/pam.d/healer")
        if not service.exists():
            service.write_text("auth required pam_unix.so nodelay\naccount required pam_unix.so\n")
            self.addCleanup(service.unlink)
        user = f"hlr{os.getpid()}"
        self.addCleanup(subprocess.run, ["userdel", user], capture_output=True)
        subprocess.run(["useradd", "-M", "-U", user], check=True)
        subprocess.run(["chpasswd"], input=f"{user}:right", text=True, check=True)
        port = self.own_port()
        daemon = self.begin(f"set httpd port {port} allow @{user}", port)
        self.assertEqual(self.ask(port, login=f"{user}:right").status, 404)
        self.assertEqual(self.ask(port, login=f"{user}:wrong").status, 401)
        self.assertEqual(self.ask(port, login="root:right").status, 401)
        for change in (["usermod", "-e", "1"], ["usermod", "-e", "", "-L"]):
            subprocess.run([*change, user], check=True)
            self.assertEqual(daemon.reload().returncode, 0)  # and what was right a moment ago is forgotten
            self.wait_for(lambda: self.ask(port, login=f"{user}:right").status == 401, f"a refusal after {change}")

    def test_the_first_password_and_role_of_a_user_count_as_in_monit(self):
        port = self.own_port()
        self.begin(f"set httpd port {port} use address 127.0.0.1 allow ann:first read-only allow ann:second\n"
                   f"set httpd allow ann:third", port)
        for password, status in (("first", 200), ("second", 401), ("third", 401)):
            self.assertEqual(self.ask(port, "/_ping", login=f"ann:{password}").status, status, password)
        self.assertEqual(self.ask(port, "/_doaction", login="ann:first", method="POST").status, 403)

    def test_a_host_that_is_not_named_is_refused(self):
        port = self.own_port()
        self.start(f"set httpd port {port} allow 192.0.2.0/24\n{RULES}")
        self.wait_for(lambda: self.connects(port), "somebody who listens")
        self.assertEqual(self.ask(port, "/healthz").status, 403)

    def connects(self, port: int) -> bool:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return True
        except OSError:
            return False

    def test_without_an_address_and_without_tls_only_this_machine_is_listened_to(self):
        port = self.own_port()
        daemon = self.begin(f"set httpd port {port} allow localhost", port)
        listeners = subprocess.run(["ss", "-Hltn"], capture_output=True, text=True)
        if listeners.returncode == 0:
            heard = {line.split()[3].rsplit(":", 1)[0] for line in listeners.stdout.splitlines() if line.split()[3].endswith(f":{port}")}
            self.assertLessEqual(heard, {"127.0.0.1", "[::1]"})
        self.assertIn("only this machine itself is listened to", daemon.told())

    def test_a_unix_socket_has_the_mode_that_was_asked_for(self):
        path = self.path("http.sock")
        self.start(f"set httpd unixsocket {path} permission 0660 allow admin:right\n{RULES}")
        self.wait_for(path.exists, "the socket")
        self.wait_for(lambda: self.is_heard(str(path)), "an answer")
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o660)
        self.assertEqual(self.ask(str(path)).status, 401)
        self.assertEqual(self.ask(str(path), login="admin:right").status, 404)
        # What a kill has left is replaced.
        daemon = self.daemons[0]
        daemon.kill()
        daemon.launch()
        self.wait_for(lambda: self.is_heard(str(path)), "an answer after a kill")

    def test_a_reload_changes_who_may_and_where(self):
        first, second = self.own_port(), self.own_port()
        daemon = self.begin(f"set httpd port {first} allow admin:right", first)
        text = daemon.rules.read_text()
        daemon.write_rules(text.replace("admin:right", "john:left"))
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: self.ask(first, login="admin:right").status == 401, "that the former user is refused")
        self.assertEqual(self.ask(first, login="john:left").status, 404)
        daemon.write_rules(text.replace(str(first), str(second)))
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: self.is_heard(second), "an answer on the other port")
        self.assertFalse(self.is_heard(first))

    def printed(self, daemon: support.Daemon) -> str:
        shown = subprocess.run([str(support.BUILD / "healerd"), "-tv", "-c", str(daemon.rules)], capture_output=True, text=True)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        self.assertIn('allow token "*****" operator', shown.stdout)
        return shown.stdout

    def test_in_shadow_mode_the_port_is_left_to_monit(self):
        port = self.own_port()
        daemon = self.begin(f"set httpd port {port} allow localhost", port)
        text = daemon.rules.read_text()
        daemon.write_rules(f"{text}set shadow\n")
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: not self.is_heard(port), "that nobody listens")
        daemon.write_rules(text)
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: self.is_heard(port), "an answer over HTTP")

    # ---- what is wrong with the machine

    def test_a_port_that_is_taken_is_told_and_had_later(self):
        port = self.own_port()
        other = socket.socket()
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", port))
        other.listen()
        daemon = self.start(f"set httpd port {port} use address 127.0.0.1 allow localhost\n{RULES}")
        self.wait_for(lambda: f"cannot listen on 127.0.0.1:{port}" in daemon.log_text(), "a word about the port")
        self.assertIn("another program has it", daemon.ctl("status").stdout)
        self.assertEqual(daemon.ask("status", "good")["services"][0]["name"], "good")
        other.close()
        self.wait_for(lambda: self.is_heard(port), "the port")
        self.assertNotIn("another program has it", daemon.ctl("status").stdout)

    def test_a_certificate_is_read_again_when_it_has_changed(self):
        port = self.own_port()
        pem = self.certificate("server.pem", "one.example")
        daemon = self.start(f"set httpd port {port} use address 127.0.0.1 with ssl {{ pemfile: {pem} }} allow admin:right\n{RULES}")
        trusting = ssl.create_default_context()
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE
        self.wait_for(lambda: self.is_heard(port, tls=trusting), "an answer by TLS", detail=daemon.log_text)
        self.assertEqual(self.ask(port, tls=trusting, login="admin:right").status, 404)
        self.assertIn("one.example", self.subject(port))
        self.assertFalse(self.is_heard(port))  # without TLS
        os.replace(self.certificate("next.pem", "two.example"), pem)
        self.wait_for(lambda: "two.example" in self.subject(port), "the other certificate")
        self.path("server.pem").write_text("no certificate")
        self.wait_for(lambda: self.subject(port) and "the former certificate is still used" in daemon.log_text(), "a word about it")
        self.assertIn("two.example", self.subject(port))

    def subject(self, port: int) -> str:
        shown = subprocess.run(["openssl", "s_client", "-connect", f"127.0.0.1:{port}"], input="", capture_output=True, text=True)
        return next((line for line in shown.stdout.splitlines() if line.startswith("subject")), "")

    def test_a_client_must_show_the_certificate_that_is_asked_for(self):
        port = self.own_port()
        pem, client = self.certificate("server.pem", "one.example"), self.certificate("client.pem", "client.example")
        other = self.certificate("other.pem", "other.example")
        self.start(f"set httpd port {port} use address 127.0.0.1 with ssl {{ pemfile: {pem} clientpemfile: {client}.crt }} "
                   f"allow localhost\n{RULES}")

        def context(certificate: str) -> ssl.SSLContext:
            made = ssl.create_default_context()
            made.check_hostname = False
            made.verify_mode = ssl.CERT_NONE
            if certificate:
                made.load_cert_chain(certificate)
            return made
        self.wait_for(lambda: self.is_heard(port, tls=context(client)), "an answer by TLS")
        self.assertFalse(self.is_heard(port, tls=context("")))
        self.assertFalse(self.is_heard(port, tls=context(other)))

    # ---- clients that mean no good

    def test_silent_slow_and_garbage_clients_cost_only_themselves(self):
        port = self.own_port()
        daemon = self.begin(f"set httpd port {port} allow localhost", port)
        before = len(os.listdir(f"/proc/{daemon.pid}/fd"))
        held = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
        for one in held[100:200]:
            one.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        for one in held[200:]:
            one.sendall(os.urandom(2000) + b"\r\n\r\n")
        begun = time.monotonic()
        self.assertTrue(self.is_heard(port))
        self.assertLess(time.monotonic() - begun, 10)
        more = [socket.create_connection(("127.0.0.1", port)) for _ in range(400)]
        self.wait_for(lambda: self.is_heard(port), "an answer among 700 connections")
        self.assertLess(len(os.listdir(f"/proc/{daemon.pid}/fd")), before + 620)
        for one in held + more:
            one.close()
        self.wait_for(lambda: len(os.listdir(f"/proc/{daemon.pid}/fd")) < before + 20, "that descriptors are given back")

    def test_clients_that_mean_no_good_by_tls_cost_only_themselves(self):
        port = self.own_port()
        pem = self.certificate("server.pem", "one.example")
        daemon = self.start(f"set httpd port {port} use address 127.0.0.1 with ssl {{ pemfile: {pem} }} allow admin:right\n{RULES}")
        trusting = ssl.create_default_context()
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE
        self.wait_for(lambda: self.is_heard(port, tls=trusting), "an answer by TLS", detail=daemon.log_text)
        before = len(os.listdir(f"/proc/{daemon.pid}/fd"))
        silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(520)]
        self.assertTrue(self.is_heard(port, tls=trusting))
        for one in silent:
            one.close()
        login = base64.b64encode(b"admin:right")
        asked = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\nAuthorization: Basic " + login + b"\r\n\r\n"
        deaf = []
        for _ in range(10):
            raw = socket.socket()
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            raw.connect(("127.0.0.1", port))
            deaf.append(trusting.wrap_socket(raw))
            deaf[-1].sendall(asked * 120)
        # Nobody takes what they asked for: they are dropped, although the other end of TLS has been closed long before.
        self.wait_for(lambda: len(os.listdir(f"/proc/{daemon.pid}/fd")) < before + 10, "that they are dropped", limit=3 * support.LIMIT)
        for one in deaf:
            one.close()
        self.assertTrue(self.is_heard(port, tls=trusting))

    def test_client_certificates_that_cannot_be_read_let_nobody_in(self):
        port = self.own_port()
        pem = self.certificate("server.pem", "one.example")
        rules = f"set httpd port {port} use address 127.0.0.1 with ssl {{ pemfile: {pem} }} allow localhost\n{RULES}"
        daemon = self.start(rules)
        trusting = ssl.create_default_context()
        trusting.check_hostname = False
        trusting.verify_mode = ssl.CERT_NONE
        self.wait_for(lambda: self.is_heard(port, tls=trusting), "an answer by TLS", detail=daemon.log_text)
        nothing = self.path("nothing.pem")
        nothing.write_text("nothing")
        nothing.chmod(0o600)
        daemon.write_rules(daemon.rules.read_text().replace(f"pemfile: {pem}", f"pemfile: {pem} clientpemfile: {nothing}"))
        daemon.reload()
        self.wait_for(lambda: "nobody is answered by TLS" in daemon.log_text(), "a word about it", detail=daemon.log_text)
        self.assertFalse(self.is_heard(port, tls=trusting))

    def test_addresses_that_are_cut_off_or_strange_are_answered(self):
        port = self.own_port()
        self.begin(f"set httpd port {port} allow localhost", port)
        for target in ("/%", "/%2", "/a%", "/%00x", "/%zz", "/?%", "/?a=%2", "/" + "%41" * 2000, "//", "/..", "/../etc/passwd",
                       "*", "/?" + "&" * 5000, "/?" + "a=b&" * 3000):
            with self.subTest(target=target[:40]), socket.create_connection(("127.0.0.1", port), timeout=support.LIMIT) as one:
                one.sendall(f"GET {target} HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
                heard = b""
                while part := one.recv(65536):
                    heard += part
                self.assertIn(heard[9:12], (b"200", b"400", b"404", b"414", b"431"), heard[:200])
        self.assertTrue(self.is_heard(port))

    def test_wrong_passwords_are_answered_later_and_later(self):
        port = self.own_port()
        daemon = self.begin(f"set httpd port {port} allow admin:right", port)
        begun = time.monotonic()
        for _ in range(5):
            self.assertEqual(self.ask(port, login="admin:wrong").status, 401)
        self.assertGreater(time.monotonic() - begun, 2.5)
        self.assertEqual(self.ask(port, login="admin:right").status, 404)
        self.wait_for(lambda: "a wrong password, or an unknown user, over HTTP from 127.0.0.1" in daemon.log_text(), "a word in the log")
        self.assertIn(', as "admin"', daemon.log_text())


if __name__ == "__main__":
    support.main()
