# SPDX-License-Identifier: MIT
"""`healerctl open`: the address that logs a browser in, and what the browser gets for it. The browser is curl."""
import os
import pty
import pwd
import re
import shutil
import socket
import subprocess
import urllib.parse

import support

RULES = 'check program good with path "/bin/true"\n  if status != 0 then alert\n'
OPERATOR = "nobody"


class Login(support.Case):
    def setUp(self):
        super().setUp()
        if not shutil.which("curl"):
            self.skipTest("curl is not installed")

    def curl(self, *words: str) -> tuple[int, str, str]:
        """Status, headers and body of the answer."""
        done = subprocess.run(["curl", "-s", "-k", "-i", "--max-time", str(int(support.LIMIT)), *words], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        head, _, body = done.stdout.replace("\r\n", "\n").partition("\n\n")
        return int(head.split()[1]), head, body

    def begin(self, statement: str, port: int | None = None, scheme: str = "http") -> support.Daemon:
        daemon = self.start(f"{statement}\n{RULES}")
        if port:
            self.wait_for(lambda: subprocess.run(["curl", "-sfk", f"{scheme}://127.0.0.1:{port}/healthz"],
                                                 capture_output=True).returncode == 0, "an answer over HTTP", detail=daemon.log_text)
        return daemon

    def open(self, daemon: support.Daemon) -> str:
        done = daemon.ctl("open", "--print")
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    def token_of(self, address: str) -> str:
        return urllib.parse.parse_qs(urllib.parse.urlsplit(address).query)["once"][0]

    def log_in(self, address: str) -> str:
        """The cookie for which a browser spends the address; it sees a button first."""
        status, _, page = self.curl(address)
        self.assertEqual(status, 200)
        where = re.search(r'<form method="post" action="([^"]*)"', page)[1]
        once = re.search(r'name="once" value="([^"]*)"', page)[1]
        self.assertEqual(once, self.token_of(address))
        status, head, _ = self.curl("-d", f"once={once}", urllib.parse.urljoin(address, where))
        self.assertEqual(status, 303, head)
        self.assertIn("\nLocation: ./", head)
        cookie = next(line for line in head.splitlines() if line.lower().startswith("set-cookie:")).split(": ", 1)[1]
        words = {word.strip() for word in cookie.split(";")[1:]}
        self.assertLessEqual({"HttpOnly", "SameSite=Strict"}, words)
        self.assertEqual("Secure" in words, address.startswith("https:"))
        return cookie.split(";")[0]

    def test_an_address_logs_in_once_in_the_name_and_role_of_whoever_asked(self):
        port = self.own_port()
        daemon = self.begin(f"set httpd port {port} allow admin:right", port)
        address = self.open(daemon)
        self.assertTrue(address.startswith(f"http://127.0.0.1:{port}/login?once="), address)
        self.assertEqual(self.curl(f"http://127.0.0.1:{port}/api/v1/session")[0], 401)
        cookie = self.log_in(address)
        status, _, session = self.curl("-b", cookie, f"http://127.0.0.1:{port}/api/v1/session")
        self.assertEqual(status, 200)
        self.assertIn('"role":"admin"', session)
        self.assertIn('"user":"root"' if os.geteuid() == 0 else f'"user":"uid {os.geteuid()}"', session)
        # What was spent is refused, and so is what was made up.
        for once in (self.token_of(address), "0" * 64):
            self.assertEqual(self.curl("-d", f"once={once}", f"http://127.0.0.1:{port}/login")[0], 403)
        # To act takes the token of a page, too.
        token = re.search(r'"token":"([^"]*)"', session)[1]
        unmonitor = f"http://127.0.0.1:{port}/api/v1/services/good/unmonitor"
        self.assertEqual(self.curl("-b", cookie, "-X", "POST", unmonitor)[0], 403)
        status, _, told = self.curl("-b", cookie, "-X", "POST", "-H", f"X-Healer-Token: {token}", unmonitor)
        self.assertEqual(status, 200, told)
        self.assertEqual(daemon.ask("summary", "good")["services"][0]["state"], "unmonitored")
        # Nothing of it is in the log, or in what is shown.
        shown = daemon.told() + daemon.ctl("status").stdout + daemon.ctl("history").stdout
        for secret in (self.token_of(address), cookie.split("=")[1], token):
            self.assertNotIn(secret, shown)

    def test_by_tls_the_cookie_goes_by_tls_alone(self):
        port = self.own_port()
        pem = self.path("server.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", pem, "-out", f"{pem}.crt", "-days", "2",
                        "-subj", "/CN=localhost"], check=True, capture_output=True)
        with open(pem, "a") as whole, open(f"{pem}.crt") as made:
            whole.write(made.read())
        pem.chmod(0o600)
        daemon = self.begin(f"set httpd port {port} use address 127.0.0.1 with ssl {{ pemfile: {pem} }} allow admin:right", port, "https")
        address = self.open(daemon)
        self.assertTrue(address.startswith(f"https://127.0.0.1:{port}/login?once="), address)
        self.log_in(address)

    def test_an_operator_is_one_in_his_browser_too(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        port = self.own_port()
        daemon = self.begin(f"set operators {OPERATOR}\nset httpd port {port} allow admin:right", port)
        for folder in (self.folder, daemon.folder):
            folder.chmod(0o755)
        entry = pwd.getpwnam(OPERATOR)
        done = subprocess.run([str(support.BUILD / "healerctl"), "--socket", str(daemon.socket), "open"], capture_output=True, text=True,
                              user=entry.pw_uid, group=entry.pw_gid, extra_groups=[], timeout=support.LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        cookie = self.log_in(done.stdout.strip())
        _, _, session = self.curl("-b", cookie, f"http://127.0.0.1:{port}/api/v1/session")
        self.assertIn(f'"user":"{OPERATOR}","role":"operator"', session)
        token = re.search(r'"token":"([^"]*)"', session)[1]
        self.assertEqual(self.curl("-b", cookie, "-X", "POST", "-H", f"X-Healer-Token: {token}",
                                   f"http://127.0.0.1:{port}/api/v1/services/good/stop")[0], 403)

    def test_the_address_is_that_of_set_url_with_its_path(self):
        port = self.own_port()
        daemon = self.begin(f'set url "https://ops.example/healer/"\nset httpd port {port} allow admin:right', port)
        address = self.open(daemon)
        self.assertTrue(address.startswith("https://ops.example/healer/login?once="), address)
        # As a proxy asks it, who takes the path away: what it answers with stays below that path.
        status, _, page = self.curl(f"http://127.0.0.1:{port}/login?once={self.token_of(address)}")
        self.assertEqual(status, 200)
        self.assertIn('action="login"', page)
        status, head, _ = self.curl("-d", f"once={self.token_of(address)}", "-H", "Origin: https://ops.example",
                                    f"http://127.0.0.1:{port}/login")
        self.assertEqual(status, 303)
        self.assertIn("\nLocation: ./", head)
        cookie = re.search(r"(?i)set-cookie: ([^;]*)", head)[1]
        token = re.search(r'"token":"([^"]*)"', self.curl("-b", cookie, f"http://127.0.0.1:{port}/api/v1/session")[2])[1]
        status, head, _ = self.curl("-b", cookie, "-X", "POST", "-H", f"X-Healer-Token: {token}", "-H", "Origin: https://ops.example",
                                    f"http://127.0.0.1:{port}/logout")
        self.assertEqual(status, 303)
        self.assertIn("\nLocation: login", head)
        self.assertEqual(self.curl("-b", cookie, f"http://127.0.0.1:{port}/api/v1/session")[0], 401)

    def test_where_no_browser_is_answered_it_is_said_why(self):
        daemon = self.start(RULES)
        port = self.own_port()
        whole = daemon.rules.read_text()

        def refusal(statement: str) -> str:
            daemon.write_rules(f"{statement}\n{whole}")
            self.assertEqual(daemon.reload().returncode, 0)
            done = daemon.ctl("open")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            return done.stderr
        self.assertIn("the rules have no 'set httpd'", refusal(""))
        self.assertIn("'set httpd' allows nobody", refusal(f"set httpd port {port}"))
        self.assertIn(f"does not reach the unix socket {self.path('s')}", refusal(f"set httpd unixsocket {self.path('s')} allow admin:right"))
        taken = self.own_port()
        other = socket.socket()
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(("127.0.0.1", taken))
        other.listen()
        self.addCleanup(other.close)
        daemon.write_rules(f"set httpd port {taken} allow admin:right\n{whole}")
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: "another program has it" in daemon.ctl("open").stderr, "a word about the port")

    def test_at_a_terminal_with_a_display_the_browser_is_opened_by_a_file_of_its_owner(self):
        port = self.own_port()
        daemon = self.begin(f"set httpd port {port} allow admin:right", port)
        programs, runtime = self.path("bin"), self.path("runtime")
        programs.mkdir()
        runtime.mkdir(mode=0o700)
        opened = self.path("opened")
        (programs / "xdg-open").write_text(f'#!/bin/sh\necho "$@" > {opened}.new\nmv {opened}.new {opened}\n')
        (programs / "xdg-open").chmod(0o755)

        def at_terminal(*words: str) -> str:
            outer, inner = pty.openpty()
            with os.fdopen(outer, "rb", buffering=0) as read:
                with os.fdopen(inner, "wb", buffering=0) as terminal:
                    done = subprocess.run([str(support.BUILD / "healerctl"), "--socket", str(daemon.socket), "open", *words],
                                          stdin=terminal, stdout=terminal, stderr=terminal, timeout=support.LIMIT,
                                          env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "DISPLAY": ":7",
                                               "XDG_RUNTIME_DIR": str(runtime)})
                self.assertEqual(done.returncode, 0)
                return read.read(4096).decode().strip()
        at_terminal("--print")
        self.assertEqual(list(runtime.iterdir()), [])
        address = at_terminal()
        self.wait_for(opened.exists, "the browser")
        page = runtime / "healer-login.html"
        self.assertEqual(opened.read_text(), f"file://{page}\n")
        self.assertEqual(page.stat().st_mode & 0o777, 0o600)
        self.assertIn(address, page.read_text())
        self.log_in(address)


if __name__ == "__main__":
    support.main()
