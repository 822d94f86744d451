# SPDX-License-Identifier: MIT
"""`healerctl probe` against the real nginx, sshd, postfix and redis: up, closed, hanging, refusing in their protocol,
closing half-way and speaking something else; each verdict beside that of the real Monit on the same target."""
import os
import shutil
import socket
import subprocess
import sys
import unittest

import probe_test
import real_servers
import support


@unittest.skipIf(os.geteuid() != 0, "postfix and sshd begin as root")
class ProbeReal(real_servers.RealServers):
    def setUp(self):
        super().setUp()
        self.mail: list[tuple] = []
        for program in ("/usr/sbin/nginx", "/usr/sbin/sshd", "/usr/sbin/postfix", "/usr/bin/redis-server"):
            if not os.path.exists(program):
                self.skipTest(f"{program} is not installed")

    def tearDown(self):
        self.end_servers()
        for folder, server in self.mail:  # it forks while it ends: it is told by its own means, and waited for
            subprocess.run(["/usr/sbin/postfix", "-c", folder, "stop"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, check=False)
            server.wait()
        super().tearDown()

    def nginx(self) -> tuple[int, subprocess.Popen]:
        port = self.own_port()
        folder = self.path(f"nginx{port}")
        folder.mkdir()
        parts = "".join(f"{part}_temp_path {folder}/{part}; " for part in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "conf").write_text(
            f"daemon off; master_process off; pid {folder}/pid; error_log {folder}/log; events {{}}\n"
            f"http {{ access_log off; {parts} server {{ listen 127.0.0.1:{port};\n"
            "location / { return 200 '{\"state\":\"up\"}'; } location /no { return 503; } location /gone { return 302 /; }\n"
            "location /drop { return 444; } } }\n")
        server = self.begin("/usr/sbin/nginx", "-e", folder / "log", "-p", folder, "-c", folder / "conf")
        self.answers(port)
        return port, server

    def redis(self, *more: str) -> tuple[int, subprocess.Popen]:
        port = self.own_port()
        server = self.begin("/usr/bin/redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "", "--dir", self.folder,
                            *more)
        self.answers(port)
        return port, server

    def sshd(self, *more: str) -> tuple[int, subprocess.Popen]:
        port = self.own_port()
        if not self.path("key").exists():
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.path("key")], check=True)
        os.makedirs("/run/sshd", exist_ok=True)
        server = self.begin("/usr/sbin/sshd", "-D", "-e", "-f", "/dev/null", "-p", port, "-o", "ListenAddress=127.0.0.1",
                            "-h", self.path("key"), "-o", "PidFile=none", *more)
        self.answers(port)
        return port, server

    def postfix(self) -> tuple[int, int, subprocess.Popen]:
        """One that serves, and one that refuses its clients; the process that listens for both."""
        good, bad = self.own_port(), self.own_port()
        folder = self.path("postfix")
        for part in ("", "queue", "data"):
            (folder / part).mkdir()
        shutil.chown(folder / "data", "postfix")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", "/CN=localhost",
                        "-keyout", folder / "key", "-out", folder / "crt"], check=True, stderr=subprocess.DEVNULL)
        (folder / "main.cf").write_text(
            f"compatibility_level = 3.6\nqueue_directory = {folder}/queue\ndata_directory = {folder}/data\n"
            "inet_protocols = ipv4\ninet_interfaces = 127.0.0.1\nmyhostname = localhost\nmydestination = localhost\n"
            f"smtpd_tls_cert_file = {folder}/crt\nsmtpd_tls_key_file = {folder}/key\nsmtpd_tls_security_level = may\n"
            f"maillog_file = {folder}/log\nmaillog_file_prefixes = {folder}\nalias_maps =\nmynetworks = 127.0.0.0/8\n")
        (folder / "master.cf").write_text(
            f"127.0.0.1:{good} inet n - n - - smtpd\n127.0.0.1:{bad} inet n - n - - smtpd\n"
            "  -o smtpd_delay_reject=no -o smtpd_client_restrictions=reject\n"
            "tlsmgr unix - - n 1000? 1 tlsmgr\nanvil unix - - n - 1 anvil\nrewrite unix - - n - - trivial-rewrite\n"
            "proxymap unix - - n - - proxymap\n"
            "postlog unix-dgram n - n - 1 postlogd\n")
        server = self.begin("/usr/sbin/postfix", "-c", folder, "start-fg")
        self.running.remove(server)
        self.mail.append((folder, server))
        self.answers(good, bad)
        return good, bad, server

    def greeted(self, port: int) -> socket.socket:
        """A connection to sshd that has its place."""
        held: list[socket.socket] = []

        def is_let_in() -> bool:
            client = socket.create_connection(("127.0.0.1", port))
            if client.recv(4) == b"SSH-":
                held.append(client)
            else:
                client.close()
            return bool(held)
        self.wait_for(is_let_in, "sshd's place for one")
        return held[0]

    def test_each_state_of_a_real_server_is_judged_as_by_monit(self):
        nginx, redis, sshd = self.nginx()[0], self.redis()[0], self.sshd()[0]
        good, bad, _ = self.postfix()
        mute = self.redis("--rename-command", "PING", "")[0]
        full = self.sshd("-o", "MaxStartups=1")[0]
        with self.greeted(full):  # so long as nobody has logged in, one more is refused
            rows = {
                "nginx up": (nginx, "protocol http", True),
                "nginx closed": (self.own_port(), "protocol http", False),
                "nginx hanging": (self.stopped(self.nginx()), "protocol http", False),
                "nginx refusing": (nginx, 'protocol http request "/no"', False),
                "nginx redirecting": (nginx, 'protocol http request "/gone"', True),
                "nginx dropping": (nginx, 'protocol http request "/drop"', False),
                # Monit is content with the status line, whatever becomes of the rest.
                "nginx half-way": (self.cut(nginx, 12), "protocol http", False, True),
                "nginx nonsense": (redis, "protocol http", False),
                "redis up": (redis, "protocol redis", True),
                "redis closed": (self.own_port(), "protocol redis", False),
                "redis hanging": (self.stopped(self.redis()), "protocol redis", False),
                "redis refusing": (mute, "protocol redis", False),
                "redis half-way": (self.cut(redis, 3), "protocol redis", False),
                "redis nonsense": (nginx, "protocol redis", False),
                "sshd up": (sshd, "protocol ssh", True),
                "sshd closed": (self.own_port(), "protocol ssh", False),
                "sshd hanging": (self.stopped(self.sshd()), "protocol ssh", False),
                "sshd refusing": (full, "protocol ssh", False),
                "sshd half-way": (self.cut(sshd, 2), "protocol ssh", False),
                "sshd nonsense": (good, "protocol ssh", False),
                "postfix up": (good, "protocol smtp", True),
                "postfix closed": (self.own_port(), "protocol smtp", False),
                "postfix hanging": (self.silent(), "protocol smtp", False),
                "postfix refusing": (bad, "protocol smtp", False),
                "postfix half-way": (self.cut(good, 8), "protocol smtp", False),
                "postfix nonsense": (sshd, "protocol smtp", False),
            }
            # What passes has time, for a machine that is busy.
            asked = [(port, f"{words} timeout {20 if any(passes) else 2} seconds") for port, words, *passes in rows.values()]
            told = probe_test.ask_monit(self, asked)
            wrong = []
            print(f"{'':20} {'monit':7} healer", file=sys.stderr)
            for (name, (_, _, passes, *other)), (port, words), monit in zip(rows.items(), asked, told):
                status, document = self.probe(port, words)
                say = {True: "passed", False: "failed", None: "-"}
                print(f"{name:20} {say[monit]:7} {document['verdict']:7} {document['text']}", file=sys.stderr)
                if (status == 0) != passes or document["verdict"] != say[passes]:
                    wrong.append(f"{name}: healer says {document['verdict']}: {document['text']}")
                if monit is not None and monit != (other[0] if other else passes):
                    wrong.append(f"{name}: Monit says {say[monit]}")
            self.assertEqual(wrong, [])

    def test_what_only_healer_asks(self):
        nginx = self.nginx()[0]
        good, _, _ = self.postfix()
        for port, words, verdict, text in (
                (nginx, "protocol http json '.state' = 'up'", "passed", "HTTP status 200"),
                (nginx, "protocol http json '.state' = 'down'", "failed", 'json ".state" is "up", not = "down"'),
                (nginx, "protocol http json '.x.y[]' = 1", "unknown", 'json ".x.y[]" is not known'),
                (nginx, 'protocol http request "/gone" redirects 1 status = 200', "passed", "HTTP status 200"),
                (nginx, 'protocol http request "/gone" redirects 0', "failed", "it redirects once more"),
                (nginx, "protocol http http2", "failed", "it speaks HTTP/1, not HTTP/2"),
                (good, "protocol smtp starttls", "passed", "it is a mail server with TLS"),
                (good, "protocol smtp starttls certificate valid > 5 days", "passed", "it is a mail server with TLS"),
                (good, "protocol smtp starttls certificate valid > 50 days", "failed", "must be valid for at least 50 days"),
                (good, "protocol smtp starttls using tls with options {verify: enable}", "failed", "self-signed")):
            _, document = self.probe(port, words + " timeout 20 seconds")
            self.assertEqual(document["verdict"], verdict, (words, document["text"]))
            self.assertIn(text, document["text"])

    def test_http2_of_a_real_server(self):
        port, plain = self.own_port(), self.own_port()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", "/CN=localhost",
                        "-keyout", self.path("k"), "-out", self.path("c")], check=True, stderr=subprocess.DEVNULL)
        parts = "".join(f"{part}_temp_path {self.folder}/{part}; " for part in
                        ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        tls = f"ssl_certificate {self.path('c')}; ssl_certificate_key {self.path('k')};"
        body = "x" * 300_000
        (self.folder / "large").write_text(body)
        self.path("conf").write_text(
            f"daemon off; master_process off; user root; pid {self.path('pid')}; error_log {self.path('log')}; events {{}}\n"
            f"http {{ access_log off; {parts} root {self.folder};\n"
            f"server {{ listen 127.0.0.1:{port} ssl http2; {tls} location /v {{ return 200 $server_protocol; }} }}\n"
            f"server {{ listen 127.0.0.1:{plain} ssl; {tls} }} }}\n")
        self.begin("/usr/sbin/nginx", "-e", self.path("log"), "-p", self.folder, "-c", self.path("conf"))
        self.answers(port, plain)
        for to, words, verdict, text in (
                (port, 'protocol https request "/v" http2 content = "^HTTP/2.0$"', "passed", "HTTP status 200"),
                (port, 'protocol https request "/v" content = "^HTTP/1.1$"', "passed", "HTTP status 200"),
                (port, 'protocol https request "/none" http2', "failed", "its status is 404"),
                (port, 'protocol https request "/large" http2 content != "y"', "passed", "HTTP status 200"),
                (plain, "protocol https http2", "failed", "does not agree to speak h2")):
            _, document = self.probe(to, words + " timeout 20 seconds")
            self.assertEqual(document["verdict"], verdict, (words, document["text"]))
            self.assertIn(text, document["text"])



if __name__ == "__main__":
    support.main()
