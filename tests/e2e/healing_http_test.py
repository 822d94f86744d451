# SPDX-License-Identifier: MIT
"""Steps of workflows that call over HTTP, against a server that plays OpenStack's Heat; crashes of healerd meanwhile."""
import http.server
import json
import signal
import threading
import unittest
import urllib.parse

import support

TOKEN = "gAAAA-t0ken-that-nobody-may-see"
PASSWORD = "pa55word-of-keystone"
KEY = "k3y/of&the hook"


class Heat:
    """Keystone gives tokens, Heat marks what is ill and updates the stack until that is done; all calls are kept."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, str, str]] = []  # method, path, token, body
        self.keys: list[str] = []
        self.queries: list[str] = []
        self.status = "UPDATE_COMPLETE"
        self.done = threading.Event()  # the update ends
        self.refuses: set[str] = set()  # paths that are answered 500
        self.hangs_up: set[str] = set()  # paths whose calls are never answered
        self.lock = threading.Lock()
        heat = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                self.path, _, query = self.path.partition("?id=")
                with heat.lock:
                    heat.queries += [query] if query else []
                    heat.calls.append((self.command, self.path, self.headers.get("X-Auth-Token") or "", body))
                    heat.keys.append(self.headers.get("X-Key") or "")
                status, headers, answer = heat.answer(self.command, self.path, self.headers.get("X-Auth-Token"))
                if status == 0:
                    self.close_connection = True
                    return
                text = json.dumps(answer).encode()
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_GET = do_POST = do_PATCH = do_PUT = serve

            def log_message(self, *_args) -> None:
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def answer(self, method: str, path: str, token: str | None) -> tuple[int, dict, dict]:
        if path in self.hangs_up:
            return 0, {}, {}
        if path in self.refuses:
            return 500, {}, {}
        if path == "/v3/auth/tokens":
            return 201, {"X-Subject-Token": TOKEN}, {"token": {}}
        if token != TOKEN:
            return 401, {}, {}
        if method == "GET":
            return 200, {}, {"stack": {"status": self.status if self.done.is_set() else "UPDATE_IN_PROGRESS"}}
        return (202 if path == "/v1/stack" else 200), {}, {"marked": True}

    def count(self, method: str, path: str) -> int:
        with self.lock:
            return sum(call[:2] == (method, path) for call in self.calls)

    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"

    def stop(self) -> None:
        self.done.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Http(support.Case):
    """node fails while the file `broken` is there."""

    def setUp(self) -> None:
        super().setUp()
        self.heat = Heat()
        self.addCleanup(self.heat.stop)
        self.broken = self.path("broken")
        self.broken.touch()
        self.look = self.script("look", """echo '{"vms": [{"name": "db", "id": 1}, {"name": "node", "id": "vm 7"}]}'""")
        self.auth = self.path("auth.json")
        self.auth.write_text(json.dumps({"password": PASSWORD}))
        self.auth.chmod(0o600)
        secrets = self.path("secrets")
        secrets.mkdir(mode=0o700)
        (secrets / "key").write_text(f"{KEY}\n")
        (secrets / "key").chmod(0o600)

    def rules(self) -> str:
        heat = self.heat.url()
        return (
            f'set secrets "{self.path("secrets")}"\n'
            f'check program node with path "{self.script("check", f"test ! -e {self.broken}")}"\n'
            "  if status != 0 for 2 cycles then heal with rebuild\n"
            f'workflow rebuild {{\n  guard program "/bin/true"\n'
            f'  step "token" http post "{heat}/v3/auth/tokens" body file "{self.auth}" expect 201\n'
            '    save header "X-Subject-Token" as TOKEN secret repeatable\n'
            f'  step "look" program "{self.look}"\n'
            "    save json '.vms[] | select(.name == $TARGET) | .id' as ID\n"
            f'  step "mark" http patch "{heat}/v1/resources/${{TARGET}}?id=${{ID}}&key=${{secret:key}}" header "X-Auth-Token: ${{TOKEN}}"\n'
            '    header "X-Key: ${secret:key}" body \'{"mark": true, "key": "${secret:key}"}\' json \'.marked\' = true\n'
            '    save json \'.marked\' as MARKED repeatable\n'
            f'  step "update" http patch "{heat}/v1/stack" header "X-Auth-Token: ${{TOKEN}}" body \'{{}}\' expect 202\n'
            f'    until get "{heat}/v1/stack?marked=${{MARKED}}" header "X-Auth-Token: ${{TOKEN}}"\n'
            '    json \'.stack.status\' = "UPDATE_COMPLETE" fail json \'.stack.status\' = "UPDATE_FAILED"\n'
            "    every 100 ms within 10 minutes\n"
            f'  step "mend" program "/bin/rm -f {self.broken}"\n'
            '  step "verify" recovered within 1 hour\n  cooldown 1 hour\n}\n')

    def texts(self, daemon: support.Daemon) -> list[str]:
        return [record["text"] for record in daemon.ask("history")["records"]]

    def wait_told(self, daemon: support.Daemon, words: str) -> str:
        return self.wait_for(lambda: next((text for text in self.texts(daemon) if words in text), None),
                             f'"{words}" in the history', detail=lambda: "\n".join(self.texts(daemon)))

    def wait_call(self, daemon: support.Daemon, method: str, path: str, count: int = 1) -> None:
        self.wait_for(lambda: self.heat.count(method, path) >= count, f"{method} {path} for the time number {count}",
                      detail=lambda: f"{self.heat.calls}\n" + "\n".join(self.texts(daemon)))

    def shows_no_secret(self, daemon: support.Daemon) -> None:
        shown = "".join(daemon.ctl(*words).stdout for words in (["history"], ["healing", "status"], ["jobs"], ["status"]))
        for place in [path for path in daemon.folder.rglob("*") if path.is_file() and path != daemon.rules]:
            shown += place.read_bytes().decode(errors="replace")
        for secret in (TOKEN, PASSWORD, KEY, urllib.parse.quote(KEY, safe="")):
            self.assertNotIn(secret, shown)

    def test_a_stack_is_marked_and_updated_and_nothing_secret_is_shown(self):
        daemon = self.start(self.rules())
        self.wait_call(daemon, "GET", "/v1/stack?marked=true", 3)
        self.shows_no_secret(daemon)
        status = daemon.ctl("healing", "status").stdout
        self.assertIn(f"PATCH {self.heat.url()}/v1/stack answered 202 in ", status)
        self.heat.done.set()
        self.wait_told(daemon, "healing of node with rebuild recovered")
        calls = {call[:2]: call for call in self.heat.calls}
        self.assertEqual(list(calls), [("POST", "/v3/auth/tokens"), ("PATCH", "/v1/resources/node"), ("PATCH", "/v1/stack"),
                                       ("GET", "/v1/stack?marked=true")])
        self.assertEqual(json.loads(calls["POST", "/v3/auth/tokens"][3]), {"password": PASSWORD})
        self.assertEqual(json.loads(calls["PATCH", "/v1/resources/node"][3]), {"mark": True, "key": KEY})
        self.assertEqual([key for key in self.heat.keys if key], [KEY])
        self.assertEqual(self.heat.queries, [f"vm%207&key={urllib.parse.quote(KEY, safe='')}"])
        self.assertEqual(calls["PATCH", "/v1/stack"][2], TOKEN)
        self.assertRegex(self.wait_told(daemon, 'step "mark": PATCH ' + self.heat.url() +
                                        "/v1/resources/node?id=vm%207&key=***** answered"), r"answered 200 in \d+ ms$")
        self.shows_no_secret(daemon)

    def test_until_goes_on_after_healerd_was_killed(self):
        daemon = self.start(self.rules())
        self.wait_call(daemon, "GET", "/v1/stack?marked=true", 2)
        daemon.kill(signal.SIGKILL)
        asked = self.heat.count("GET", "/v1/stack?marked=true")
        daemon.launch()
        self.wait_call(daemon, "GET", "/v1/stack?marked=true", asked + 2)
        self.heat.done.set()
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.wait_told(daemon, 'was lost when healer was restarted; re-running step "token"')
        self.assertEqual(self.heat.count("POST", "/v3/auth/tokens"), 2)
        self.assertEqual(self.heat.count("PATCH", "/v1/resources/node"), 1)
        self.assertEqual(self.heat.count("PATCH", "/v1/stack"), 1)
        self.shows_no_secret(daemon)

    def test_what_is_in_doubt_is_not_done_twice(self):
        self.heat.hangs_up.add("/v1/stack")
        daemon = self.start(self.rules())
        text = self.wait_told(daemon, "healing of node with rebuild failed")
        self.assertIn("closed the connection without an answer; whether it was done is unknown, and it is not 'repeatable'",
                      text)
        self.assertEqual(self.heat.count("PATCH", "/v1/stack"), 1)

    def test_a_step_fails_with_the_reason(self):
        self.heat.refuses.add("/v1/resources/node")
        daemon = self.start(self.rules())
        text = self.wait_told(daemon, "healing of node with rebuild failed")
        self.assertIn(f'step "mark" PATCH {self.heat.url()}/v1/resources/node?id=vm%207&key=*****: answered 500, expected 200 to 299', text)

    def test_an_update_that_fails_fails_the_step(self):
        self.heat.status = "UPDATE_FAILED"
        self.heat.done.set()
        daemon = self.start(self.rules())
        text = self.wait_told(daemon, "healing of node with rebuild failed")
        self.assertIn('and then failed: .stack.status is "UPDATE_FAILED"', text)

    def test_a_healing_that_is_cancelled_asks_no_more(self):
        daemon = self.start(self.rules())
        self.wait_call(daemon, "GET", "/v1/stack?marked=true", 2)
        job, = daemon.ask("jobs")["jobs"]
        self.assertEqual(daemon.ctl("jobs", "cancel", str(job["id"])).returncode, 0)
        self.wait_told(daemon, "healing of node with rebuild cancelled")
        self.assertEqual(daemon.ask("jobs")["jobs"], [])


if __name__ == "__main__":
    support.main()
