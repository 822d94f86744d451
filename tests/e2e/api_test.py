# SPDX-License-Identifier: MIT
"""The API over HTTP: a real healerd, asked by curl and by sockets of our own."""
import base64
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.error
import urllib.request
from typing import Any

import support

LOGIN = "admin:secret"
VALIDATOR = "@apidevtools/swagger-parser"


class Listener:
    """One who listens to events, on a thread of its own."""

    def __init__(self, url: str, headers: dict[str, str]):
        self.events: list[dict[str, str]] = []
        self.times: list[float] = []
        self.answer = urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=support.LIMIT)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()

    def read(self) -> None:
        event: dict[str, str] = {}
        try:
            for raw in self.answer:
                line = raw.decode().rstrip("\n")
                if line:
                    name, _, value = line.partition(":")
                    event[name] = value.removeprefix(" ")
                elif event:
                    self.events.append(event)
                    self.times.append(time.monotonic())
                    event = {}
        except (OSError, ValueError, AttributeError):
            pass  # it was closed

    def of(self, kind: str | None) -> list[dict[str, str]]:
        return [one for one in list(self.events) if one.get("event") == kind]


class Api(support.Case):
    def begin(self, rules: str = "", check: str = "", users: str = "") -> support.Daemon:
        self.port = self.own_port()
        self.check = check or str(self.statuses("check", [0]))
        return self.start(f'''
            set httpd port {self.port} and use address 127.0.0.1
              allow {LOGIN}
              allow reader:secret read-only
              allow operator:secret operator
              {users}
            check program web with path "{self.check}"
              if status != 0 then alert
            check program db with path "/bin/true"
              group databases
              if status != 0 then alert
            {rules}''')

    def headers(self, user: str = LOGIN) -> dict[str, str]:
        return {"Authorization": "Basic " + base64.b64encode(user.encode()).decode()}

    def request(self, path: str, body: Any = None, user: str = LOGIN, method: str | None = None,
                **headers: str) -> tuple[int, Any, dict]:
        """Status, document and headers of an answer."""
        all_headers = {**self.headers(user), **{name.replace("_", "-"): value for name, value in headers.items()}}
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            all_headers["Content-Type"] = "application/json"
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}/api/v1{path}", data=data, headers=all_headers,
                                       method=method or ("POST" if body is not None else "GET"))
        try:
            with urllib.request.urlopen(asked, timeout=support.LIMIT) as answer:
                return answer.status, json.loads(answer.read()), dict(answer.headers)
        except urllib.error.HTTPError as refused:
            text = refused.read()
            is_json = "json" in refused.headers.get("Content-Type", "")
            return refused.code, json.loads(text) if is_json else text.decode(), dict(refused.headers)

    def get(self, path: str, user: str = LOGIN) -> Any:
        status, document, _ = self.request(path, user=user)
        self.assertEqual(status, 200, document)
        return document

    def listen(self, query: str = "", **headers: str) -> Listener:
        listener = Listener(f"http://127.0.0.1:{self.port}/api/v1/events{query}",
                            {**self.headers(), **{name.replace("_", "-"): value for name, value in headers.items()}})
        self.addCleanup(listener.answer.close)
        return listener

    def answers(self, daemon: support.Daemon) -> None:
        self.wait_for(lambda: self.is_served(), "an answer over HTTP", detail=daemon.told)

    def is_served(self) -> bool:
        try:
            return self.request("/daemon")[0] == 200
        except OSError:
            return False

    # ---- what it reads

    def test_what_healerctl_prints_is_what_the_api_answers(self):
        daemon = self.begin()
        self.answers(daemon)
        self.wait_for(lambda: self.get("/services/web")["services"][0]["runs"] > 0, "a run", detail=daemon.told)

        def same(path: str, *words: str) -> None:
            mine, other = self.get(path), daemon.ask(*words)
            mine.pop("next", None)
            self.assertEqual(sorted(mine), sorted(other), path)
            for name in ("services", "healings", "workflows", "jobs", "records"):
                if name in other and other[name]:
                    self.assertEqual(sorted(mine[name][0]), sorted(other[name][0]), path)
                    self.assertEqual(len(mine[name]), len(other[name]), path)

        same("/daemon", "ping")
        same("/services", "summary")
        same("/services/web", "status", "web")
        same("/services/web/explain", "explain", "web")
        same("/history?after=0", "history", "--after", "0")
        same("/healings", "healing", "status")
        same("/healings/report", "healing", "report")
        same("/jobs", "jobs")
        same("/changes", "diff")

    def test_roles_are_kept(self):
        daemon = self.begin()
        self.answers(daemon)
        self.assertEqual(self.get("/session", "reader:secret")["role"], "read-only")
        self.assertEqual(self.get("/session", "operator:secret")["role"], "operator")
        for user, path, status in (("reader", "/services/web/pause", 403), ("operator", "/services/web/pause", 200),
                                   ("operator", "/services/web/stop", 403), ("reader", "/quit", 403),
                                   ("operator", "/reload", 403)):
            self.assertEqual(self.request(path, {}, f"{user}:secret")[0], status, (user, path))
        self.assertEqual(self.request("/services/web/output", user="reader:secret")[0], 403)
        self.assertEqual(self.request("/services", user="admin:wrong")[0], 401)
        # A browser needs the token.
        self.assertEqual(self.request("/services/web/resume", {}, Origin=f"http://127.0.0.1:{self.port}")[0], 403)
        token = self.get("/session")["token"]
        self.assertEqual(self.request("/services/web/resume", {}, Origin=f"http://127.0.0.1:{self.port}",
                                      X_Healer_Token=token)[0], 200)

    def test_a_problem_says_what_is_wrong(self):
        daemon = self.begin()
        self.answers(daemon)
        status, problem, headers = self.request("/services/wep")
        self.assertEqual((status, headers["Content-Type"]), (404, "application/problem+json"))
        self.assertEqual(problem["code"], "unknown-service")
        self.assertIn("web", problem["remedy"])
        for path, method, user, status, code in (("/nothing", "GET", LOGIN, 404, "unknown-path"),
                                                 ("/services", "DELETE", LOGIN, 405, "wrong-method"),
                                                 ("/services/web/stop", "POST", "operator:secret", 403, "forbidden"),
                                                 ("/services", "GET", "admin:wrong", 401, "unauthorized")):
            refused = self.request(path, method=method, user=user)
            self.assertEqual((refused[0], refused[1]["code"]), (status, code), refused[1])
        self.assertEqual(self.request("/services?sate=x")[0], 400)
        self.assertEqual(self.request("/services/pause", {"nam": ["web"]})[0], 400)

    # ---- what it does

    def test_services_are_paused_and_checked(self):
        daemon = self.begin()
        self.answers(daemon)
        status, done, _ = self.request("/services/pause", {"groups": ["databases"], "for_ms": 60000, "reason": "new disks"})
        self.assertEqual(status, 200, done)
        pause = daemon.ask("status", "db")["services"][0]["pause"]
        self.assertEqual((pause["by"], pause["reason"]), ("admin", "new disks"))
        status, done, _ = self.request("/services/web/check", {})
        self.assertEqual((status, done["ok"]), (200, True), done)

    def test_a_key_does_a_thing_once_over_a_restart_too(self):
        daemon = self.begin()
        self.answers(daemon)
        first = self.request("/services/web/unmonitor", {}, Idempotency_Key="once")
        self.assertEqual(first[0], 200, first[1])
        self.assertEqual(self.request("/services/web/monitor", {})[0], 200)
        again = self.request("/services/web/unmonitor", {}, Idempotency_Key="once")
        self.assertEqual((again[1], again[2].get("Idempotency-Replayed")), (first[1], "true"))
        self.assertTrue(self.get("/services/web")["services"][0]["monitored"])
        kept = daemon.folder / "healer.state.answers"
        self.wait_for(lambda: kept.exists() and '"status":200' in kept.read_text(), "the answer on disk", detail=daemon.told)
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        daemon.kill(signal.SIGKILL)
        daemon.launch()
        self.answers(daemon)
        again = self.request("/services/web/unmonitor", {}, Idempotency_Key="once")
        self.assertEqual((again[1], again[2].get("Idempotency-Replayed")), (first[1], "true"))
        self.assertTrue(self.get("/services/web")["services"][0]["monitored"])
        self.assertEqual(self.request("/services/db/unmonitor", {}, Idempotency_Key="once")[0], 422)

    def test_what_was_begun_when_healerd_is_killed_is_not_done_again(self):
        kept = self.path("healerd") / "healer.state.answers"
        began, seen = self.path("began"), self.path("seen")
        # What is on disk by the time that something is done.
        start = self.script("start", f"cp {kept} {seen}; echo $$ >> {began}; exec sleep 600")
        daemon = self.begin(f'''
            check process slow with pidfile "{self.path("slow.pid")}"
              start program = "{start}" with timeout 600 seconds
              onreboot nostart
              mode manual''')
        self.answers(daemon)

        def ask() -> None:
            try:
                self.request("/services/slow/start", {}, Idempotency_Key="once")
            except OSError:
                pass  # it was killed
        asking = threading.Thread(target=ask)
        asking.start()
        self.wait_for(lambda: began.exists() and began.read_text().endswith("\n"), "the program", detail=daemon.told)
        self.assertIn('"key":"once"', seen.read_text())
        self.assertEqual(self.request("/services/slow/start", {}, Idempotency_Key="once")[1]["code"], "under-way")
        daemon.kill(signal.SIGKILL)
        os.kill(int(began.read_text()), signal.SIGKILL)
        asking.join(support.LIMIT)
        began.write_text("")
        daemon.launch()
        self.answers(daemon)
        status, problem, _ = self.request("/services/slow/start", {}, Idempotency_Key="once")
        self.assertEqual((status, problem["code"]), (409, "in-doubt"), problem)
        self.assertEqual(began.read_text(), "")

    def test_a_killed_healerd_has_on_disk_whatever_it_answered(self):
        daemon = self.begin()
        self.answers(daemon)
        for key in ("one", "two", "three"):
            first = self.request("/services/web/unmonitor", {"reason": key}, Idempotency_Key=key)
            daemon.kill(signal.SIGKILL)
            self.assertEqual(first[0], 200, first[1])
            daemon.launch()
            self.answers(daemon)
            again = self.request("/services/web/unmonitor", {"reason": key}, Idempotency_Key=key)
            self.assertEqual((again[1], again[2].get("Idempotency-Replayed")), (first[1], "true"))

    def test_what_cannot_be_kept_is_done_and_told_once(self):
        daemon = self.begin()
        self.answers(daemon)
        (daemon.folder / "healer.state.answers").mkdir()
        for key in ("one", "two"):
            status, done, _ = self.request("/services/web/pause", {}, Idempotency_Key=key)
            self.assertEqual((status, done["ok"]), (200, True), done)
        self.wait_for(lambda: "Idempotency-Key is done" in daemon.log_text(), "a word in the log", detail=daemon.told)
        self.assertEqual(daemon.log_text().count("Idempotency-Key is done"), 1)

    def test_a_token_and_a_user_have_their_own_keys(self):
        daemon = self.begin(users='allow token:secret allow token "let-me-in"')
        self.answers(daemon)
        path, key = "/services/web/pause", {"Idempotency_Key": "same"}
        self.assertEqual(self.request(path, {}, "token:secret", **key)[0], 200)
        _, _, headers = self.request(path, {}, Authorization="Bearer let-me-in", **key)
        self.assertNotIn("Idempotency-Replayed", headers)
        _, _, headers = self.request(path, {}, "token:secret", **key)
        self.assertIn("Idempotency-Replayed", headers)

    def test_quit_is_answered_and_ends_healerd(self):
        daemon = self.begin()
        self.answers(daemon)
        status, done, _ = self.request("/quit", {})
        self.assertEqual((status, done["text"]), (202, "healerd ends"))
        self.wait_for(daemon.ended, "the end of healerd")

    def test_quit_with_a_key_is_answered_too(self):
        daemon = self.begin()
        for key in ("one", "two", "three"):
            self.answers(daemon)
            status, done, _ = self.request("/quit", {}, Idempotency_Key=key)
            self.assertEqual((status, done["text"]), (202, "healerd ends"))
            self.wait_for(daemon.ended, "the end of healerd")
            daemon.launch()
        self.answers(daemon)
        again = self.request("/quit", {}, Idempotency_Key="one")
        self.assertEqual((again[0], again[2].get("Idempotency-Replayed")), (202, "true"))

    def test_a_body_that_is_too_large_is_a_problem_document(self):
        daemon = self.begin()
        self.answers(daemon)
        status, problem, headers = self.request("/services/pause", {"reason": "x" * (1 << 20)})
        self.assertEqual((status, headers["Content-Type"]), (413, "application/problem+json"), problem)
        self.assertEqual(problem["code"], "too-large")
        status, problem, headers = self.request("/services?" + "&".join(f"group=g{i}" for i in range(2000)))
        self.assertEqual((status, headers["Content-Type"], problem["code"]), (414, "application/problem+json", "too-large"))

    def test_a_service_with_a_slash_in_its_name_has_its_routes_page_and_badge(self):
        daemon = self.begin(rules='check program "a/b c" with path "/bin/true"\n  if status != 0 then alert')
        self.answers(daemon)
        self.assertEqual(self.get("/services/a%2Fb%20c")["services"][0]["name"], "a/b c")
        for path in ("/a%2Fb%20c", "/badge/a%2Fb%20c.svg"):
            asked = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers=self.headers())
            with urllib.request.urlopen(asked, timeout=support.LIMIT) as answer:
                self.assertIn("a/b c", answer.read().decode())

    # ---- events

    def test_records_come_as_events_and_the_time_every_five_seconds(self):
        daemon = self.begin()
        self.answers(daemon)
        listener = self.listen()
        self.assertEqual(listener.answer.headers["Content-Type"], "text/event-stream")
        self.wait_for(lambda: listener.of(None), "the time", detail=daemon.told)
        self.assertEqual(self.request("/services/web/pause", {"reason": "see"})[0], 200)
        self.wait_for(lambda: listener.of("record"), "a record", detail=daemon.told)
        event = listener.of("record")[0]
        record = json.loads(event["data"])
        self.assertEqual(int(event["id"]), record["id"])
        self.assertIn(record, daemon.ask("history", "--after", str(record["id"] - 1))["records"])
        self.wait_for(lambda: len({json.loads(one["data"])["rev"] for one in listener.of(None)}) > 1, "a change", detail=daemon.told)
        self.wait_for(lambda: any(4 < late - soon < 8 for soon, late in zip(listener.times, listener.times[1:])),
                      "a beat after silence", detail=daemon.told)

    def test_one_who_comes_back_misses_nothing(self):
        daemon = self.begin()
        self.answers(daemon)
        for _ in range(3):
            self.request("/services/web/pause", {})
            self.request("/services/web/resume", {})
        numbers = [one["id"] for one in daemon.ask("history", "--after", "0")["records"]]
        listener = self.listen("?after=0")
        self.wait_for(lambda: len(listener.of("record")) >= len(numbers), "all records", detail=daemon.told)
        self.assertEqual([int(one["id"]) for one in listener.of("record")][:len(numbers)], numbers)
        back = self.listen("?after=0", Last_Event_ID=str(numbers[-3]))
        self.wait_for(lambda: len(back.of("record")) >= 2, "the last records", detail=daemon.told)
        self.assertEqual([int(one["id"]) for one in back.of("record")][:2], numbers[-2:])

    # ---- documents

    def test_the_openapi_document_is_valid(self):
        if not shutil.which("npm") or not shutil.which("node"):
            self.skipTest("there is no npm")
        daemon = self.begin()
        self.answers(daemon)
        document = self.path("openapi.json")
        document.write_text(json.dumps(self.get("/openapi.json")))
        folder = support.BUILD / "npm"
        folder.mkdir(exist_ok=True)
        if not (folder / "node_modules" / VALIDATOR).exists():
            done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", VALIDATOR], cwd=folder,
                                  capture_output=True, text=True, timeout=5 * support.LIMIT)
            if done.returncode != 0:
                self.skipTest(f"npm installs nothing here: {done.stderr[-300:]}")
        script = f'require("{VALIDATOR}").validate(process.argv[1])' \
                 '.then(() => console.log("valid"), wrong => { console.log(String(wrong)); process.exit(1); })'
        done = subprocess.run(["node", "-e", script, str(document)], cwd=folder, capture_output=True, text=True,
                              timeout=support.LIMIT)
        self.assertEqual((done.returncode, done.stdout.strip()), (0, "valid"), done.stderr)

    def test_the_examples_of_the_manual_work(self):
        daemon = self.begin()
        self.answers(daemon)
        page = (support.TOP / "man" / "healer-api.7").read_text()
        examples = re.findall(r'^\.\\" example\n\.Bd -literal\n(.*?)^\.Ed', page, re.S | re.M)
        self.assertGreater(len(examples), 5)
        environment = {**os.environ, "HEALER": f"http://127.0.0.1:{self.port}", "LOGIN": LOGIN}
        for example in examples:
            commands = example.replace("\\e\n", "\\\n").replace("\\-", "-")
            done = subprocess.run(["bash", "-e", "-c", commands], env=environment, capture_output=True, text=True,
                                  timeout=support.LIMIT)
            self.assertEqual(done.returncode, 0, done.stderr)
            if "/events" in example:
                self.assertIn("event: record\n", done.stdout)
                continue
            for line in filter(None, re.split(r"(?<=\})\n(?=\{)", done.stdout.strip())):
                document = json.loads(line)
                self.assertIn("wep" if "status" in document else "version", line)


if __name__ == "__main__":
    support.main()
