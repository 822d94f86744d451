# SPDX-License-Identifier: MIT
"""`for each ... from http` and `check row`: one call for a whole list, rows that are judged at each reading of it, pages,
tokens that end, and lists that shrink, empty, are half an answer, or cannot be read for a while."""
import http.server
import json
import os
import threading
import time
import urllib.parse

import support


class Cloud(http.server.ThreadingHTTPServer):
    """Says which nodes there are, in pages where it is asked for some; with a token where one is wanted."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.nodes: dict[str, dict] = {}
        self.fault = ""        # "503", "half", "html", "empty", "reset"
        self.token = ""        # that is right now; empty: none is wanted
        self.tokens = 0        # how many were given
        self.page = 0          # rows in a page; 0: all
        self.link = False      # the next page is in a header
        self.calls: list[str] = []
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def count(self, path: str) -> int:
        with self.lock:
            return sum(1 for call in self.calls if call.startswith(path))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Cloud

    def log_message(self, *_):
        pass

    def answer(self, status: int, body: bytes, headers: dict[str, str] | None = None, length: int | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        with self.server.lock:
            self.server.calls.append("POST " + self.path + " " + body.decode())
            self.server.tokens += 1
            token = self.server.token
        self.answer(201, b"{}", {"X-Subject-Token": token})

    def do_GET(self):
        cloud = self.server
        with cloud.lock:
            cloud.calls.append("GET " + self.path)
            fault, token, page, link = cloud.fault, cloud.token, cloud.page, cloud.link
            nodes = [dict(node, name=name) for name, node in cloud.nodes.items()]
        if token and self.headers.get("X-Auth-Token") != token:
            return self.answer(401, b"{}")
        if fault == "503":
            return self.answer(503, b"not now")
        if fault == "html":
            return self.answer(200, b"<html>it works</html>")
        if fault == "empty":
            nodes = []
        document: dict = {"items": nodes}
        headers = {}
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        if page:
            at = int(query.get("at", ["0"])[0])
            if fault == "second page" and at > 0:
                return self.answer(500, b"")
            document["items"] = nodes[at:at + page]
            if at + page < len(nodes) and link:
                headers["Link"] = f'<{cloud.url}/nodes?at={at + page}>; rel="next"'
            elif at + page < len(nodes):
                document["more"] = f"?at={at + page}"
        body = json.dumps(document).encode()
        if fault == "half":
            self.close_connection = True
            return self.answer(200, body[:len(body) // 2], headers, length=len(body))
        self.answer(200, body, headers)


RULES = """for each NODE from http "{url}/nodes" {options} rows '.items[]' name '.name' every 1 second {{
  check row node_${{NODE}} {delay}
    if json '.ready' != true then exec "{told} ${{NODE}}" else if succeeded then alert
}}
"""


class Rows(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.cloud = Cloud()
        self.addCleanup(self.cloud.server_close)
        self.addCleanup(self.cloud.shutdown)
        self.told = self.script("told", f'echo "$1" >> {self.path("told.txt")}')

    def nodes(self, **ready: bool) -> None:
        with self.cloud.lock:
            self.cloud.nodes = {name: {"ready": value, "zone": "z1"} for name, value in ready.items()}

    def begin(self, options: str = "", delay: str = "", more: str = "", name: str = "healerd"):
        rules = RULES.format(url=self.cloud.url, options=options, delay=delay, told=self.told)
        return self.start(rules + more, cycle="1", name=name)

    def names(self, daemon) -> set[str]:
        return set(daemon.ctl("names").stdout.split())

    def wait_for_names(self, daemon, *names: str) -> None:
        wanted = {f"node_{name}" for name in names}
        self.wait_for(lambda: self.names(daemon) == wanted, f"the services {sorted(wanted)}", detail=daemon.log_text)

    def state(self, daemon, name: str) -> dict:
        return daemon.ask("status", name)["services"][0]

    def runs(self, daemon, name: str) -> int:
        return self.state(daemon, name)["runs"]

    def wait_for_state(self, daemon, name: str, state: str) -> None:
        self.wait_for(lambda: self.state(daemon, name)["state"] == state, f"{name} to be {state}",
                      detail=lambda: json.dumps(self.state(daemon, name)) + daemon.log_text())

    def wait_for_readings(self, path: str = "GET /nodes", count: int = 2) -> None:
        wanted = self.cloud.count(path) + count
        self.wait_for(lambda: self.cloud.count(path) >= wanted, "further readings")

    def text(self) -> str:
        path = self.path("told.txt")
        return path.read_text() if path.exists() else ""

    def test_one_call_reads_all_rows_and_each_is_judged(self):
        self.nodes(**{f"n{i}": i != 7 for i in range(20)})
        daemon = self.begin()
        self.wait_for(lambda: len(self.names(daemon)) == 20, "the rows")
        self.wait_for_state(daemon, "node_n7", "failed")
        self.wait_for_state(daemon, "node_n3", "running")
        before, runs = self.cloud.count("GET"), self.runs(daemon, "node_n3")
        self.wait_for(lambda: self.runs(daemon, "node_n3") >= runs + 3, "runs")
        self.assertLessEqual(self.cloud.count("GET") - before, 6)
        self.assertEqual(self.text(), "n7\n")
        self.assertRegex(daemon.ctl("summary").stdout, r"node_n7 +failed .*json .ready is false")
        explained = daemon.ctl("explain", "node_n7").stdout
        self.assertIn("It is the row n7 of the list NODE, and is judged at each reading of that.", explained)
        self.nodes(**{f"n{i}": True for i in range(20)})
        self.wait_for_state(daemon, "node_n7", "running")
        kinds = [one["kind"] for one in daemon.ask("history", "node_n7")["records"]]
        self.assertIn("rule-failed", kinds)
        self.assertIn("rule-recovered", kinds)
        self.assertIn(f"http get {self.cloud.url}/nodes", daemon.ctl("lists").stdout)

    def test_a_content_that_changes_is_no_edit(self):
        self.nodes(a=True, b=True)
        daemon = self.begin()
        self.wait_for_names(daemon, "a", "b")
        self.wait_for_state(daemon, "node_a", "running")
        before = [one["text"] for one in daemon.ask("history")["records"] if one["kind"] == "reloaded"]
        with self.cloud.lock:
            for node in self.cloud.nodes.values():
                node["zone"] = "z2"
        self.wait_for_readings(count=3)
        after = [one["text"] for one in daemon.ask("history")["records"] if one["kind"] == "reloaded"]
        self.assertEqual(before, after)

    def test_pages_by_a_filter_and_by_the_header(self):
        for link in (False, True):
            with self.subTest(link=link):
                self.cloud.page, self.cloud.link = 3, link
                self.nodes(**{f"n{i}": True for i in range(10)})
                daemon = self.begin("next link" if link else "next json '.more'", name=f"healerd{link}")
                self.wait_for_names(daemon, *(f"n{i}" for i in range(10)))
                # Half of it is none: no row is missed.
                self.cloud.fault = "second page"
                self.wait_for(lambda: "list NODE: could not be read: page 2: answered 500" in daemon.log_text(), "a word",
                              detail=daemon.log_text)
                self.assertEqual(len(self.names(daemon)), 10)
                self.cloud.fault = ""
                self.wait_for(lambda: "list NODE: it is read again" in daemon.log_text(), "the end of that")
                daemon.stop()

    def test_a_token_that_has_ended_is_taken_anew_and_told_to_nobody(self):
        self.cloud.token = "first-secret-token"
        self.nodes(a=True, b=False)
        body = self.path("auth.json")
        body.write_text('{"auth": "me"}')
        daemon = self.begin(f'header "X-Auth-Token: ${{TOKEN}}" with token http post "{self.cloud.url}/tokens" '
                            f'body file "{body}" expect 201 save header "X-Subject-Token" as TOKEN')
        self.wait_for_names(daemon, "a", "b")
        self.wait_for_state(daemon, "node_b", "failed")
        self.wait_for_readings()
        self.assertEqual(self.cloud.tokens, 1)
        self.assertEqual(self.cloud.count('POST /tokens {"auth": "me"}'), 1)
        self.cloud.token = "second-secret-token"
        self.nodes(a=True, b=True)
        self.wait_for_state(daemon, "node_b", "running")
        self.assertEqual(self.cloud.tokens, 2)
        self.assertNotIn("could not be read", daemon.log_text())
        said = daemon.log_text() + daemon.ctl("lists").stdout + daemon.ctl("history").stdout
        daemon.stop()
        kept = b"".join(path.read_bytes() for path in self.folder.rglob("*") if path.is_file())
        for token in ("first-secret-token", "second-secret-token"):
            self.assertNotIn(token, said)
            self.assertNotIn(token.encode(), kept)

    def test_a_list_that_cannot_be_read_is_an_event_of_its_own_and_no_failure_of_rows(self):
        self.nodes(a=True, b=False, c=True)
        daemon = self.begin()
        self.wait_for_names(daemon, "a", "b", "c")
        self.wait_for_state(daemon, "node_b", "failed")
        for fault, why in (("503", "answered 503"), ("half", "could not be read"), ("html", "this is not JSON"),
                           ("empty", "it was empty, which is not accepted")):
            with self.subTest(fault=fault):
                at = len(daemon.log_text())
                self.cloud.fault = fault
                self.wait_for(lambda: "list NODE: could not be read" in daemon.log_text()[at:] and
                              why in daemon.log_text()[at:], "a word", detail=daemon.log_text)
                runs = self.runs(daemon, "node_a")
                self.wait_for_readings()
                self.assertEqual(self.names(daemon), {"node_a", "node_b", "node_c"})
                if fault != "empty":
                    self.assertEqual(self.runs(daemon, "node_a"), runs)
                self.assertEqual(self.state(daemon, "node_a")["state"], "running")
                self.assertEqual(self.state(daemon, "node_b")["state"], "failed")
                self.cloud.fault = ""
                self.wait_for(lambda: "list NODE: it is read again" in daemon.log_text()[at:], "the end of it")
        self.assertEqual(self.text(), "b\n")

    def test_nothing_is_lost_where_the_server_is_dead_over_a_restart(self):
        self.nodes(a=True, b=False, c=True)
        daemon = self.begin()
        self.wait_for_names(daemon, "a", "b", "c")
        self.wait_for_state(daemon, "node_b", "failed")
        self.cloud.fault = "503"
        self.wait_for(lambda: "could not be read: answered 503" in daemon.log_text(), "a word")
        daemon.kill()
        daemon.launch()
        self.wait_for_readings(count=40 if os.environ.get("HEALER_LONG") else 8)  # 40: ten minutes of a list that is read every 15 seconds
        self.assertEqual(self.names(daemon), {"node_a", "node_b", "node_c"})
        self.assertEqual(self.state(daemon, "node_b")["state"], "failed")
        self.assertLessEqual(daemon.log_text().count("list NODE: could not be read"), 2)  # the kill may have been quicker than the disk
        self.cloud.fault = ""
        self.nodes(a=True, b=True, c=True)
        self.wait_for_state(daemon, "node_b", "running")
        self.assertEqual(self.text(), "b\n")  # it stood failed all the time: it acted once

    def test_a_list_that_shrinks(self):
        self.nodes(**{f"n{i}": True for i in range(10)})
        daemon = self.begin()
        self.wait_for(lambda: len(self.names(daemon)) == 10, "the rows")
        self.wait_for(lambda: "proven    yes" in daemon.ctl("lists").stdout, "the list to be believed")
        self.nodes(n0=True, n1=True)
        self.wait_for(lambda: "more than half of it is new or gone" in daemon.log_text(), "a word")
        self.assertGreaterEqual(len(self.names(daemon)), 8)

    def test_lists_with_the_same_request_are_one_call(self):
        self.nodes(m1=True, w1=True, w2=False)
        more = f"""for each WORKER from http "{self.cloud.url}/nodes" rows '.items[] | select(.name | startswith("w"))'
                   name '.name' every 1 minute {{
          check row worker_${{WORKER}}
            if json '.ready' != true then alert
        }}
        """
        daemon = self.begin(more=more)
        wanted = {"node_m1", "node_w1", "node_w2", "worker_w1", "worker_w2"}
        self.wait_for(lambda: self.names(daemon) == wanted, "both lists", detail=daemon.log_text)
        self.wait_for_state(daemon, "worker_w2", "failed")
        before, runs = self.cloud.count("GET"), self.runs(daemon, "worker_w1")
        self.wait_for(lambda: self.runs(daemon, "worker_w1") >= runs + 3, "runs at the shortest interval")
        self.assertLessEqual(self.cloud.count("GET") - before, 6)

    def test_lists_that_share_a_variable_are_named_by_their_places(self):
        self.nodes(m1=True, w1=True)
        more = f"""for each NODE from http "{self.cloud.url}/nodes" rows '.items[] | select(.name == "m1")' every 1 second {{
          check row master_${{NODE}}
            if json '.ready' != true then alert
        }}
        """
        daemon = self.begin(more=more)
        self.wait_for(lambda: "master_m1" in self.names(daemon), "the list", detail=daemon.log_text)
        lists = daemon.ctl("lists").stdout
        names = [line.split()[0] for line in lists.splitlines() if line.startswith("NODE@")]
        self.assertEqual(len(names), 2, lists)
        done = daemon.ctl("accept", "list", names[1])
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(f"list {names[1]}: accepted by", daemon.log_text())

    def test_delay_is_kept_over_a_restart(self):
        self.nodes(a=False)
        daemon = self.begin(delay="delay 1 hour")
        self.wait_for_names(daemon, "a")
        self.wait_for(lambda: "It is not judged before" in daemon.ctl("explain", "node_a").stdout, "a word")
        known = json.loads(self.lists_file(daemon).read_text())["lists"][0]["memory"]["known"]["a"]
        daemon.kill()
        daemon.launch()
        self.wait_for_readings()
        self.wait_for(lambda: "It is not judged before" in daemon.ctl("explain", "node_a").stdout, "a word")
        self.assertEqual(json.loads(self.lists_file(daemon).read_text())["lists"][0]["memory"]["known"]["a"], known)
        self.assertEqual(self.text(), "")

    def lists_file(self, daemon):
        return daemon.folder / "healer.state.lists"

    def test_rows_of_a_command_and_a_file(self):
        rows = self.path("rows")

        def write(**ready: bool) -> None:
            fresh = self.path("rows.new")
            fresh.write_text("".join(json.dumps({"name": name, "ready": value, "at": time.time()}) + "\n"
                                     for name, value in ready.items()) + "plain\n")
            fresh.chmod(0o600)
            os.replace(fresh, rows)

        write(a=True, b=False)
        command = self.script("list", f"cat {rows}")
        daemon = self.start("".join(f"""for each {variable} from {source} every 1 second {{
          check row {variable.lower()}_${{{variable}}}
            if json '.ready' != true then alert
        }}
        """ for variable, source in (("FILE", f'file "{rows}"'), ("COMMAND", f'command "{command}"'))), cycle="1")
        wanted = {f"{kind}_{name}" for kind in ("file", "command") for name in ("a", "b", "plain")}
        self.wait_for(lambda: self.names(daemon) == wanted, "the rows", detail=daemon.log_text)
        for kind in ("file", "command"):
            self.wait_for_state(daemon, f"{kind}_b", "failed")
            self.wait_for_state(daemon, f"{kind}_a", "running")
            self.assertIn("its row is no JSON object", daemon.ctl("explain", f"{kind}_plain").stdout)
        write(a=False, b=True)
        for kind in ("file", "command"):
            self.wait_for_state(daemon, f"{kind}_a", "failed")
            self.wait_for_state(daemon, f"{kind}_b", "running")

    def test_a_row_is_healed_and_looked_at_for_that(self):
        self.nodes(a=True, b=False, c=True, d=True)
        repaired = self.path("repaired")
        repair = self.script("repair", f'echo "$1 $HEALER_NODE_ZONE" >> {repaired}')
        daemon = self.start(f"""workflow repair {{
          guard program "/bin/true"
          step "repair" program "{repair} ${{NODE}} ${{NODE.zone}}"
          step "verify" recovered within 1 minute
          cooldown 1 second
        }}
        for each NODE from http "{self.cloud.url}/nodes" rows '.items[]' every 1 second {{
          check row node_${{NODE}} delay 1 second
            if json '.ready' != true then heal with repair
        }}
        """, cycle="1")
        self.wait_for_names(daemon, "a", "b", "c", "d")
        self.assertEqual(daemon.ctl("accept", "list", "NODE").returncode, 0)
        self.wait_for(repaired.exists, "the repair", detail=daemon.log_text)
        self.assertEqual(repaired.read_text(), "b z1\n")
        self.nodes(a=True, b=True, c=True, d=True)
        self.wait_for(lambda: "recovered" in daemon.ctl("history", "node_b").stdout, "the end", detail=daemon.log_text)
        self.wait_for_state(daemon, "node_b", "running")
        self.assertEqual(repaired.read_text(), "b z1\n")

    def test_validate_reads_the_list_at_once(self):
        self.nodes(a=True, b=False)
        daemon = self.start(f"""for each NODE from http "{self.cloud.url}/nodes" rows '.items[]' every 1 hour {{
          check row node_${{NODE}}
            if json '.ready' != true then alert
        }}
        """, cycle="600")
        self.wait_for_names(daemon, "a", "b")
        self.wait_for_state(daemon, "node_b", "failed")
        self.nodes(a=False, b=True)
        done = daemon.ctl("validate")
        self.assertIn(done.returncode, (0, 1), done.stderr)
        self.wait_for_state(daemon, "node_a", "failed")
        self.wait_for_state(daemon, "node_b", "running")


if __name__ == "__main__":
    support.main()
