# SPDX-License-Identifier: MIT
"""`healerctl --server URL`: the same commands over HTTP, with the same output and exit status as over the socket."""
import http.client
import http.server
import json
import os
import pty
import re
import subprocess
import threading
import time
from pathlib import Path

import support

# Of what differs from one look to the next.
DURATION = re.compile(r"\b\d+(\.\d+)? (ms|s|m|min|h|d)\b( \d+ (ms|s|m|min|h)\b)*")
RATE = re.compile(r"\b\d+(\.\d+)?(?= (runs|changes|deaths|programs|mails)\b)")
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?|\b\d\d:\d\d:\d\d(\.\d+)?")
VOLATILE = ("up_ms", "next_run_ms", "age_ms", "counts", "cycles", "left_ms", "in_ms")


def steady(value):
    if isinstance(value, dict):
        return {name: 0 if name in VOLATILE else steady(part) for name, part in value.items()}
    return [steady(one) for one in value] if isinstance(value, list) else DURATION.sub("D", value) if isinstance(value, str) else value


def plain(text: str) -> str:
    text = RATE.sub("N", DURATION.sub("D", TIME.sub("T", text.replace("just now", "1 s ago"))))
    return re.sub(r"(?<=\S)  +", "  ", text)  # columns are as wide as what is in them


class Server(support.Case):
    def begin(self, statement: str = "", rules: str = "", **how) -> support.Daemon:
        self.port = self.own_port()
        # Runs come when they are asked for: what is compared stands still.
        daemon = self.start(f'''
set httpd port {self.port} use address 127.0.0.1 {statement} allow admin:"right one" allow eve:looks read-only
  allow token "let-me-in" operator
check program good with path "/bin/true"
  group webs
  group all_of_them
  if status != 0 then alert
check program bad with path "{self.script("bad", "echo so it is; exit 3")}"
  group all_of_them
  if status != 0 then alert
check program other with path "/bin/true"
  depends on good
  if status != 0 for 3 cycles then alert
{rules}''', cycle="3600", **how)
        self.scheme = "https" if statement else "http"
        self.wait_for(lambda: daemon.ask("report")["totals"]["initialising"] == 0, "the first runs")
        self.wait_for(self.is_heard, "an answer over HTTP", detail=daemon.log_text)
        return daemon

    def is_heard(self) -> bool:
        return subprocess.run(["curl", "-sfk", f"{self.scheme}://127.0.0.1:{self.port}/healthz"], capture_output=True).returncode == 0

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def remote(self, *words: str, url: str = "", user: str = "admin", password: str = "right one",
               token: str = "") -> subprocess.CompletedProcess:
        environment = {**os.environ, "HEALER_USER": user, "HEALER_PASSWORD": password, "HEALER_TOKEN": token}
        return subprocess.run([str(support.BUILD / "healerctl"), "--server", url or self.url, *words], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=support.LIMIT, env=environment)

    def assert_same(self, daemon: support.Daemon, *words: str) -> None:
        with self.subTest(words=words):
            here, there = daemon.ctl(*words), self.remote(*words)
            self.assertEqual(plain(there.stdout), plain(here.stdout), there.stderr)
            self.assertEqual(plain(there.stderr), plain(here.stderr))
            self.assertEqual(there.returncode, here.returncode)

    def test_each_reading_command_prints_the_same_by_both_ways(self):
        daemon = self.begin()
        for words in (["summary"], ["status"], ["summary", "--failed", "--exit-code"], ["status", "bad", "GOOD"],
                      ["summary", "-g", "all_of_them"], ["summary", "other", "-g", "webs"], ["summary", "--failed", "good", "bad"],
                      ["summary", "-g", "webs", "-g", "none"], ["status", "nobody"], ["explain", "bad"], ["explain", "bad", "good"],
                      ["explain", "-g", "all_of_them"], ["explain", "nobody"], ["history", "bad"], ["history", "-n", "2"],
                      ["history", "--since", "1 hour"], ["history", "--after", "0", "--ids"], ["history", "--after", "1", "-n", "1"],
                      ["history", "nobody"], ["report"], ["report", "up"], ["names"], ["names", "--groups"], ["graph"], ["jobs"],
                      ["healing"], ["healing", "report"], ["lists"], ["diff"], ["output", "bad"], ["output", "good"], ["output", "nobody"],
                      ["top", "--batch"], ["ping"]):
            self.assert_same(daemon, *words)
        for words in (["summary"], ["status", "bad"], ["explain", "bad"], ["history"], ["report"], ["names"], ["jobs"], ["healing"],
                      ["healing", "report"], ["diff"], ["ping"], ["lists"]):
            with self.subTest(words=words):
                there = self.remote("--json", *words)
                self.assertEqual(there.returncode, 0, there.stderr + there.stdout)
                self.assertEqual(steady(json.loads(there.stdout)), steady(daemon.ask(*words)))
                self.assertEqual(list(json.loads(there.stdout)), list(daemon.ask(*words)))

    def test_each_command_that_acts_does_it_and_says_the_same(self):
        daemon = self.begin()
        for words, undo in ((["unmonitor", "good"], ["monitor", "good"]), (["unmonitor", "-g", "webs", "for", "2 hours"], ["monitor", "good"]),
                            (["pause", "for", "1 hour", "--reason", "new disks"], ["resume"]), (["ack", "bad", "--reason", "known"], []),
                            (["validate"], []), (["validate", "good"], []), (["accept", "good"], []), (["reload"], []),
                            (["start", "nobody"], []), (["stop", "good"], ["monitor", "good"]), (["heal", "good"], []),
                            (["cancel", "77"], []), (["approve", "77"], []), (["reject", "bad"], []), (["jobs", "cancel", "5"], []),
                            (["forget", "nobody"], []), (["accept", "list", "nobody"], []), (["healing", "reset", "none"], [])):
            with self.subTest(words=words):
                there = self.remote(*words)
                if undo:
                    self.assertEqual(self.remote(*undo).returncode, 0)
                here = daemon.ctl(*words)
                if undo:
                    self.assertEqual(daemon.ctl(*undo).returncode, 0)
                self.assertEqual(plain(there.stdout + there.stderr), plain(here.stdout + here.stderr))
                self.assertEqual(there.returncode, here.returncode)
        # The history names the user, not the machine's.
        self.assertIn("admin", daemon.ctl("history").stdout)
        for words in (["heal", "good", "--override", "limit"], ["beat", "good"], ["open"]):
            refused = self.remote(*words)
            self.assertEqual(refused.returncode, 1, words)
            self.assertRegex(refused.stderr, "over HTTP|over the socket|machine of healerd")
        self.assertEqual(self.remote("doctor").returncode, 2)

    def test_who_follows_gets_what_was_and_what_comes_until_the_daemon_ends(self):
        daemon = self.begin()
        following = subprocess.Popen([str(support.BUILD / "healerctl"), "--server", self.url, "history", "--follow"],
                                     stdout=subprocess.PIPE, text=True, env={**os.environ, "HEALER_USER": "admin", "HEALER_PASSWORD": "right one"})
        self.addCleanup(following.stdout.close)
        seen: list[str] = []
        reader = threading.Thread(target=lambda: seen.extend(iter(following.stdout.readline, "")))
        reader.start()
        self.wait_for(lambda: any("bad" in line for line in seen), "what was")
        # Nothing that is a secret is in the arguments.
        words = Path(f"/proc/{following.pid}/cmdline").read_bytes()
        self.assertNotIn(b"right one", words)
        for count in (1, 2):
            self.assertEqual(daemon.ctl("pause", "--reason", f"pause {count}").returncode, 0)
            self.wait_for(lambda: any(f"pause {count}" in line for line in seen), "what comes", detail=lambda: "".join(seen))
        self.assertEqual(sum("pause 1" in line for line in seen), 1)
        ended = self.remote("quit")
        self.assertEqual((ended.stdout, ended.returncode), ("healerd has ended\n", 0), ended.stderr)
        self.assertEqual(following.wait(support.LIMIT), 0)
        reader.join(support.LIMIT)
        self.wait_for(daemon.ended, "the end of healerd")

    def test_the_output_of_a_program_is_followed(self):
        go = self.path("go")
        waiting = self.script("waiting", f"echo begun\nwhile ! test -e {go}; do sleep 0.1; done\necho done")
        daemon = self.begin(rules=f'''
check program slow with path "/bin/true"
  start program = "{waiting}"
  if status != 0 then alert
''')
        environment = {**os.environ, "HEALER_USER": "admin", "HEALER_PASSWORD": "right one"}
        follow = lambda *words: subprocess.Popen([str(support.BUILD / "healerctl"), "--server", self.url, *words],
                                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        starting = follow("start", "slow")
        self.wait_for(lambda: daemon.ask("jobs")["jobs"], "the job")
        job = str(daemon.ask("jobs")["jobs"][0]["id"])
        followers = [follow("jobs", "follow", job), follow("output", "slow", "-f")]
        for one in followers:  # of a job it is told first what it does
            self.assertIn("begun\n", [one.stdout.readline(), one.stdout.readline() if one is followers[0] else ""])
        go.touch()
        told, complaint = followers[0].communicate(timeout=support.LIMIT)
        self.assertIn("done\n", told)
        self.assertEqual((followers[0].returncode, complaint), (0, ""))
        self.assertEqual(followers[1].stdout.readline(), "done\n")
        starting.communicate(timeout=support.LIMIT)
        self.assertEqual(self.remote("quit").returncode, 0)
        followers[1].communicate(timeout=support.LIMIT)
        self.assertEqual(followers[1].returncode, 0)
        self.wait_for(daemon.ended, "the end of healerd")

    def test_http_and_https_are_told_apart(self):
        self.begin()
        wrong = self.remote("summary", url=f"https://127.0.0.1:{self.port}")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("write http:// in place of https://", wrong.stderr)

    def test_top_looks_again_and_again(self):
        daemon = self.begin()
        outer, inner = pty.openpty()
        environment = {**os.environ, "HEALER_USER": "admin", "HEALER_PASSWORD": "right one", "TERM": "xterm", "LINES": "24", "COLUMNS": "80"}
        with os.fdopen(inner, "wb", buffering=0) as terminal:
            top = subprocess.Popen([str(support.BUILD / "healerctl"), "--server", self.url, "top", "--interval", "200ms"],
                                   stdin=terminal, stdout=terminal, stderr=terminal, env=environment, start_new_session=True)
        seen = bytearray()

        def read() -> None:
            while True:
                try:
                    seen.extend(os.read(outer, 4096))
                except OSError:
                    return
        reader = threading.Thread(target=read)
        reader.start()
        self.wait_for(lambda: b"so it is" in seen, "the services", detail=lambda: seen.decode(errors="replace"))
        self.assertEqual(daemon.ctl("pause", "--reason", "look here").returncode, 0)
        self.wait_for(lambda: b"look here" in seen, "what comes", detail=lambda: seen.decode(errors="replace"))
        os.write(outer, b"q")
        self.assertEqual(top.wait(support.LIMIT), 0)
        os.close(outer)
        reader.join(support.LIMIT)
        none = self.remote("top", "--batch", url=f"http://127.0.0.1:{self.own_port()}")
        self.assertEqual(none.returncode, 2)

    def test_a_role_is_no_more_than_that_of_the_user_or_token(self):
        daemon = self.begin()
        eve = {"user": "eve", "password": "looks"}
        self.assertEqual(plain(self.remote("summary", **eve).stdout), plain(self.remote("summary").stdout))
        refused = self.remote("stop", "good", **eve)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("eve may not do this: it takes the role admin", refused.stderr)
        token = {"user": "", "password": "", "token": "let-me-in"}
        self.assertEqual(self.remote("pause", "good", **token).returncode, 0)
        self.assertEqual(self.remote("stop", "good", **token).returncode, 1)
        for wrong in ({"password": "wrong"}, {"user": "", "token": ""}, {"user": "", "token": "let-me-out"}):
            refused = self.remote("summary", **wrong)
            self.assertEqual((refused.returncode, refused.stdout), (2, ""), refused.stderr)
            self.assertRegex(refused.stderr, "does not know this user|asks who you are")
        secrets = self.path("password")
        secrets.write_text("right one\n")
        secrets.chmod(0o644)
        words = ("--user", "admin", "--password-file", str(secrets), "ping")
        open_to_all = self.remote(*words, user="", password="")
        self.assertEqual(open_to_all.returncode, 2)
        self.assertIn("chmod 600", open_to_all.stderr)
        secrets.chmod(0o600)
        self.assertEqual(self.remote(*words, user="", password="").returncode, 0)
        self.assertEqual(self.remote("ping", password="").returncode, 2)
        in_url = self.remote("ping", url=f"http://admin:right@127.0.0.1:{self.port}")
        self.assertEqual(in_url.returncode, 2)
        self.assertNotIn("right@", in_url.stderr)
        self.assertNotIn("right one", daemon.told())

    def test_a_certificate_that_nobody_vouches_for_is_refused(self):
        pem = self.path("server.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", pem, "-out", f"{pem}.crt", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
        with open(pem, "a") as whole, open(f"{pem}.crt") as made:
            whole.write(made.read())
        pem.chmod(0o600)
        daemon = self.begin(f"with ssl {{ pemfile: {pem} }}")
        refused = self.remote("summary")
        self.assertEqual((refused.returncode, refused.stdout), (2, ""))
        self.assertIn("is not trusted", refused.stderr)
        self.assertIn("--cacert", refused.stderr)
        trusted = self.remote("--cacert", f"{pem}.crt", "summary")
        self.assertEqual(trusted.returncode, 0, trusted.stderr)
        self.assertEqual(plain(trusted.stdout), plain(daemon.ctl("summary").stdout))
        wrong = self.remote("summary", url=f"http://127.0.0.1:{self.port}")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("write https:// in place of http://", wrong.stderr)
        asked = ["curl", "-sf", "--cacert", f"{pem}.crt", "-u", "admin:right one", "-X", "POST", f"{self.url}/api/v1/quit"]
        self.assertIn("healerd ends", subprocess.run(asked, capture_output=True, text=True).stdout)
        self.wait_for(daemon.ended, "the end of healerd")

    def test_a_proxy_with_a_prefix_is_gone_through(self):
        daemon = self.begin()
        behind = self.port

        class Proxy(http.server.BaseHTTPRequestHandler):
            def pass_on(self):
                if not self.path.startswith("/ops/"):
                    return self.send_error(404)
                connection = http.client.HTTPConnection("127.0.0.1", behind, timeout=support.LIMIT)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                connection.request(self.command, self.path.removeprefix("/ops"), body=body,
                                   headers={name: value for name, value in self.headers.items() if name != "Host"})
                answer = connection.getresponse()
                text = answer.read()
                self.send_response(answer.status)
                self.send_header("Content-Type", answer.getheader("Content-Type"))
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)
                connection.close()
            do_GET = do_POST = pass_on

            def log_message(self, *_):
                pass
        proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Proxy)
        thread = threading.Thread(target=proxy.serve_forever, daemon=True)
        thread.start()
        self.addCleanup(proxy.server_close)
        self.addCleanup(proxy.shutdown)
        url = f"http://127.0.0.1:{proxy.server_address[1]}/ops"
        self.assertEqual(plain(self.remote("status", url=url).stdout), plain(daemon.ctl("status").stdout))
        self.assertEqual(self.remote("pause", "good", url=url + "/").returncode, 0)
        lost = self.remote("status", url=url.removesuffix("/ops"))
        self.assertEqual(lost.returncode, 2)
        self.assertIn("does not answer as a healerd: status 404", lost.stderr)

    def test_what_takes_long_is_waited_for_or_goes_on_after_the_time_that_was_given(self):
        port = self.own_port()
        go = self.path("go")
        begin = self.script("begin", f"while [ ! -e {go} ]; do sleep 0.1; done; sleep 1000 & echo $! > {self.path('pid')}")
        daemon = self.start(f'''
set httpd port {port} use address 127.0.0.1 allow admin:right
check process slow with pidfile "{self.path("pid")}"
  start program = "{begin}" with timeout 300 seconds
  stop program = "{self.script("end", f"kill $(cat {self.path('pid')})")}"
''')
        self.port, self.scheme = port, "http"
        self.wait_for(self.is_heard, "an answer over HTTP")
        daemon.ctl("unmonitor", "slow")
        begun = time.monotonic()
        given = self.remote("--timeout", "2s", "start", "slow", password="right")
        self.assertEqual(given.returncode, 1)
        self.assertIn("start has not finished in time", given.stderr)
        self.assertLess(time.monotonic() - begun, 30)
        waiting = subprocess.Popen([str(support.BUILD / "healerctl"), "--server", self.url, "start", "slow"], stdout=subprocess.PIPE,
                                   text=True, env={**os.environ, "HEALER_USER": "admin", "HEALER_PASSWORD": "right"})
        self.assertIn("slow", self.remote("jobs", password="right").stdout)
        go.touch()
        said, _ = waiting.communicate(timeout=support.LIMIT)
        self.assertEqual(waiting.returncode, 0, said)
        self.assertEqual(self.remote("stop", "slow", password="right").returncode, 0)


if __name__ == "__main__":
    support.main()
