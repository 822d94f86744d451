# SPDX-License-Identifier: MIT
"""Alerts to contacts, against servers of the test's own that answer well, badly, or not at all; kills meanwhile."""
import http.server
import json
import signal
import socket
import ssl
import subprocess
import threading
import time

import support


class Wall:
    """A server that keeps what it is sent, and answers as it is told: a status, with headers and a body; 0: it hangs up;
    None: it says nothing."""

    def __init__(self, tls: str | None = None) -> None:
        self.calls: list[tuple[str, dict, str]] = []  # path, headers, body
        self.times: list[float] = []
        self.answers: list[tuple[int | None, dict, str]] = []  # to come; then it takes all
        self.always: tuple[int | None, dict, str] = (200, {}, "")
        self.delay = 0.0  # of each answer, in seconds
        self.lock = threading.Lock()
        self.free = threading.Event()  # whom it does not answer is let go
        self.open: set[int] = set()  # ports of clients that it serves
        self.over: set[int] = set()  # of those that it has served
        wall = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def serve(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                with wall.lock:
                    wall.calls.append((self.path, dict(self.headers), body))
                    wall.times.append(time.monotonic())
                    status, headers, answer = wall.answers.pop(0) if wall.answers else wall.always
                time.sleep(wall.delay)
                if status is None:
                    wall.free.wait()
                if not status:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                if "Content-Length" not in headers:
                    self.send_header("Content-Length", str(len(answer)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(answer.encode())
                self.close_connection = True

            do_GET = do_POST = do_PUT = serve

            def log_message(self, *_args) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def process_request(self, request, client_address) -> None:
                with wall.lock:
                    wall.open.add(client_address[1])
                    wall.over.discard(client_address[1])
                super().process_request(request, client_address)

            def process_request_thread(self, request, client_address) -> None:
                super().process_request_thread(request, client_address)
                with wall.lock:
                    wall.open.discard(client_address[1])
                    wall.over.add(client_address[1])

            def handle_error(self, *_args) -> None:  # clients that leave are meant to
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.scheme = "http"
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.scheme = "https"
        self.thread = threading.Thread(target=self.server.serve_forever)
        self.thread.start()

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        return f"{self.scheme}://{host}:{self.server.server_port}{path}"

    def said(self) -> list[dict]:
        with self.lock:
            return [json.loads(body) for _, _, body in self.calls]

    def keys(self) -> list[str]:
        with self.lock:
            return [headers["Idempotency-Key"] for _, headers, _ in self.calls]

    def settle(self, wait_for) -> None:
        """Waits until it has served all who have come so far. They are served in the order of their coming."""
        with socket.create_connection(("127.0.0.1", self.server.server_port)) as last:
            port = last.getsockname()[1]
        wait_for(lambda: port in self.over and not self.open, "the server of contacts to be done with it")

    def stop(self) -> None:
        self.free.set()
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


BODY = '\'{"state": "${STATE}", "service": "${SERVICE}", "incident": "${INCIDENT}", "text": "${DESCRIPTION}"}\''


class Contacts(support.Case):
    """node fails while the file `broken` is there."""

    def setUp(self) -> None:
        super().setUp()
        self.broken = self.path("broken")

    def wall(self, tls: str | None = None) -> Wall:
        wall = Wall(tls)
        self.addCleanup(wall.stop)
        return wall

    def contact(self, name: str, url: str, more: str = "", alert: str = "not on { instance }") -> str:
        return f'set contact {name} url "{url}" {more} body {BODY}\nset alert to {name} {alert}\n'

    def node(self) -> str:
        return (f'check program node with path "{self.script("check", f"test ! -e {self.broken}")}"\n'
                "  if status != 0 then alert\n")

    def views(self, daemon: support.Daemon) -> dict[str, dict]:
        return {one["name"]: one for one in daemon.ask("status")["daemon"].get("contacts", [])}

    def texts(self, daemon: support.Daemon) -> list[str]:
        return [record["text"] for record in daemon.ask("history")["records"]]

    def wait_told(self, daemon: support.Daemon, words: str) -> str:
        return self.wait_for(lambda: next((text for text in self.texts(daemon) if words in text), None),
                             f'"{words}" in the history', detail=lambda: "\n".join(self.texts(daemon)))

    def wait_said(self, wall: Wall, count: int) -> list[dict]:
        self.wait_for(lambda: len(wall.calls) >= count, f"{count} requests", detail=lambda: str(wall.calls))
        return wall.said()

    # ---- what is told

    def test_failure_reminder_and_recovery_are_one_incident_and_each_failure_another(self):
        wall = self.wall()
        self.broken.touch()
        daemon = self.start(self.contact("team", wall.url("/hook?s=${STATE}"), 'header "X-State: ${STATE}"',
                                         "not on { instance } with reminder on 2 cycles") + self.node())
        said = self.wait_said(wall, 3)
        self.broken.unlink()
        self.wait_for(lambda: wall.said()[-1]["state"] == "recovered", "the recovery")
        said = wall.said()
        self.assertEqual({one["state"] for one in said[1:-1]}, {"reminder"})
        self.assertEqual(said[0]["state"], "failed")
        self.assertEqual({one["service"] for one in said}, {"node"})
        self.assertEqual(len({one["incident"] for one in said}), 1)
        self.assertRegex(said[0]["incident"], "^[0-9a-f]{32}$")
        self.assertEqual(len(set(wall.keys())), len(said))  # one a parcel
        path, headers, _ = wall.calls[0]
        self.assertEqual(path, "/hook?s=failed")
        self.assertEqual(headers["X-State"], "failed")
        self.assertEqual(headers["Content-Type"], "application/json")
        before = len(said)
        self.broken.touch()
        said = self.wait_said(wall, before + 1)
        self.assertEqual(said[before]["state"], "failed")
        self.assertNotEqual(said[before]["incident"], said[0]["incident"])
        self.wait_told(daemon, "alert to contact team sent: Status failed node")
        self.assertEqual(self.views(daemon), {})

    def test_filters_and_mails_beside_it(self):
        wall, other = self.wall(), self.wall()
        self.broken.touch()
        daemon = self.start(self.contact("team", wall.url()) + self.contact("other", other.url(), alert="on { nonexist }") +
                            "set mailserver 127.0.0.1 port 1\nset alert root@localhost\n" + self.node())
        self.wait_said(wall, 1)
        self.wait_told(daemon, "mail to root@localhost not sent yet")
        self.assertEqual(other.calls, [])

    def test_secrets_reach_the_server_and_nobody_else(self):
        wall = self.wall()
        folder = self.path("secrets")
        folder.mkdir(mode=0o700)
        secret = 'k3y of "the/hook"'
        for name, text in (("hook", wall.url("/T0KEN-path")), ("key", secret)):
            (folder / name).write_text(text + "\n")
            (folder / name).chmod(0o600)
        self.broken.touch()
        daemon = self.start(
            f'set secrets "{folder}"\nset contact team url "${{secret:hook}}" header "X-Key: ${{secret:key}}" '
            'body \'{"key": "${secret:key}", "state": "${STATE}"}\'\nset alert to team\n' + self.node())
        said = self.wait_said(wall, 2)
        self.assertEqual([one["key"] for one in said[:2]], [secret] * 2)
        self.assertEqual(wall.calls[0][0], "/T0KEN-path")
        self.assertEqual(wall.calls[0][1]["X-Key"], secret)
        wall.always = (404, {}, f"no {secret}")
        self.broken.unlink()
        self.wait_told(daemon, "alert to contact team dropped, it answered 404")
        shown = "".join(daemon.ctl(*words).stdout for words in (["history"], ["status"], ["status", "--json"]))
        for place in [path for path in daemon.folder.rglob("*") if path.is_file() and path != daemon.rules]:
            shown += place.read_bytes().decode(errors="replace")
        for hidden in (secret, "T0KEN-path"):
            self.assertNotIn(hidden, shown)

    def test_a_push_of_ntfy(self):
        wall = self.wall()
        self.broken.touch()
        self.start(f'set contact phone ntfy "{wall.url("/ops")}" header "X-Icon: healer"\n'
                   "set alert to phone not on { instance }\n" + self.node())
        self.wait_said(wall, 1)
        said = wall.said()[0]
        self.assertEqual(wall.calls[0][0], "/")
        self.assertEqual(wall.calls[0][1]["X-Icon"], "healer")
        self.assertEqual((said["topic"], said["priority"], said["tags"]), ("ops", 4, ["failed"]))
        self.assertTrue(said["title"].startswith("Status failed node on "), said)

    # ---- answers

    def test_500_429_and_no_whole_answer_are_tried_again_with_the_same_key(self):
        wall = self.wall()
        wall.answers = [(500, {}, "oops"), (429, {"Retry-After": "3"}, ""), (200, {"Content-Length": "1000"}, "half"),
                        (0, {}, "")]
        self.broken.touch()
        daemon = self.start(self.contact("team", wall.url()) + self.node())
        self.wait_for(lambda: "it answered 429" in str(self.views(daemon)), "word of the 429")
        self.assertRegex(daemon.ctl("status").stdout,
                         r"\n1 alert waits for the contact team, for .*: it answered 429 \(.* ago\); tried again at \d\d:\d\d")
        found = daemon.ctl("doctor", "--rules", str(daemon.rules)).stdout
        self.assertIn("1 alert waits for the contact team: it answered 429", " ".join(found.split()))
        said = self.wait_said(wall, 5)
        self.assertEqual(len(set(wall.keys()[:5])), 1)
        self.assertEqual({one["state"] for one in said[:5]}, {"failed"})
        self.assertGreaterEqual(wall.times[2] - wall.times[1], 2.9)  # as it was told
        self.wait_told(daemon, "alert to contact team sent: Status failed node")
        told = [text for text in self.texts(daemon) if "not sent yet" in text]
        self.assertEqual(len(told), 1, told)
        self.assertIn("it answered 500", told[0])
        self.assertEqual(self.views(daemon), {})

    def test_a_redirect_is_final_and_not_followed_and_garbage_is_taken(self):
        moved, elsewhere, garbage = self.wall(), self.wall(), self.wall()
        moved.always = (307, {"Location": elsewhere.url()}, "")
        garbage.always = (200, {"Content-Type": "text/html"}, "<html>\x01 what?" * 100_000)
        self.broken.touch()
        daemon = self.start(self.contact("moved", moved.url()) + self.contact("garbage", garbage.url()) +
                            self.contact("watch", self.wall().url(), alert="only on { instance }") + self.node())
        self.wait_told(daemon, "alert to contact moved dropped, it answered 307, a redirect, which is not followed: "
                               "Status failed node")
        self.wait_told(daemon, "alert to contact garbage sent: Status failed node")
        self.assertEqual(elsewhere.calls, [])
        self.assertEqual(len(moved.calls), 1)

    def test_others_are_told_of_an_alert_that_was_dropped(self):
        gone, watch = self.wall(), self.wall()
        gone.always = (410, {}, "")
        self.broken.touch()
        self.start(self.contact("gone", gone.url(), alert="") + self.contact("watch", watch.url(), alert="only on { instance }") +
                   self.node())
        lost = self.wait_for(lambda: [one for one in watch.said() if "dropped" in one["text"]], "the word of it")
        self.assertIn("alert to contact gone dropped, it answered 410", lost[0]["text"])
        self.assertEqual(lost[0]["state"], "info")
        before = len(gone.calls)
        self.broken.unlink()
        self.wait_for(lambda: len(gone.calls) > before, "the recovery")
        self.assertEqual(len([one for one in watch.said() if "dropped" in one["text"]]), 1)  # once an hour

    def test_tls_that_is_not_trusted_is_tried_again_and_none_goes_through_it(self):
        pem = self.path("server.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(pem), "-out", f"{pem}.crt",
                        "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
                       check=True, capture_output=True)
        certificate = self.path("server.pem.crt")
        pem.write_text(pem.read_text() + certificate.read_text())
        wall = self.wall(str(pem))
        self.broken.touch()
        daemon = self.start(self.contact("team", wall.url(host="localhost")) + self.node())
        self.wait_told(daemon, "alert to contact team not sent yet, trying again: ")
        self.wait_for(lambda: "certificate" in str(self.views(daemon)), "word of the certificate",
                      detail=lambda: str(self.views(daemon)))
        self.assertEqual(wall.calls, [])
        daemon.write_rules(f"set ssl {{ cacertificatefile: {certificate} }}\n" + daemon.rules.read_text())
        daemon.reload()
        self.wait_said(wall, 1)

    def test_a_contact_that_says_nothing_holds_up_no_other_and_no_mail(self):
        dead, wall = self.wall(), self.wall()
        dead.always = (None, {}, "")
        nobody = socket.socket()
        self.addCleanup(nobody.close)
        nobody.bind(("127.0.0.1", 0))  # which does not listen
        self.broken.touch()
        daemon = self.start(self.contact("dead", dead.url(), "timeout 60 seconds") +
                            self.contact("nobody", f"http://127.0.0.1:{nobody.getsockname()[1]}/") +
                            self.contact("nowhere", "http://no-such-host.invalid/") +
                            self.contact("team", wall.url()) + self.node())
        for i in range(4):
            self.wait_for(lambda: len(wall.calls) > i, "what the others are told")
            self.broken.unlink() if self.broken.exists() else self.broken.touch()
        self.wait_for(lambda: self.views(daemon).get("dead", {}).get("waiting", 0) >= 4, "what waits for the dead one")
        self.assertEqual(len(dead.calls), 1)
        self.wait_for(lambda: {"nobody", "nowhere"} <= {name for name, one in self.views(daemon).items() if one["error"]},
                      "word of the others", detail=lambda: str(self.views(daemon)))
        self.assertNotIn("team", self.views(daemon))

    # ---- crashes

    def test_kills_lose_nothing_that_waits(self):
        wall = self.wall()
        wall.always = (503, {}, "")
        daemon = self.start(self.contact("team", wall.url()) + self.node())
        told = 0
        for round_number in range(5):
            before = len(self.texts(daemon))
            self.broken.unlink() if self.broken.exists() else self.broken.touch()
            self.wait_for(lambda: self.views(daemon).get("team", {}).get("waiting", 0) == round_number + 1,
                          "one more that waits", detail=lambda: f"{before} {self.views(daemon)}")
            told += 1
            daemon.kill(signal.SIGKILL)
            daemon.launch()
        wall.always = (200, {}, "")
        self.wait_for(lambda: not self.views(daemon), "all of them to be sent", detail=lambda: str(self.views(daemon)))
        sent = [one["state"] for one in wall.said()]
        order = [state for i, state in enumerate(sent) if wall.keys()[i] not in wall.keys()[:i]]
        self.assertEqual(order, ["failed", "recovered"] * 2 + ["failed"])
        self.assertEqual(len(set(wall.keys())), told)
        folder = daemon.folder / "healer.state.contacts"
        self.assertEqual(folder.stat().st_mode & 0o7777, 0o700)
        self.assertEqual({path.stat().st_mode & 0o7777 for path in folder.rglob("*") if path.is_file()}, {0o600})

    def test_a_contact_that_was_mended_gets_what_has_waited(self):
        wall = self.wall()
        daemon = self.start(self.contact("team", "http://127.0.0.1:1/wrong") + self.node())
        self.broken.touch()
        self.wait_told(daemon, "alert to contact team not sent yet")
        rules = daemon.rules.read_text()
        daemon.write_rules(rules.replace("http://127.0.0.1:1/wrong", wall.url("/right")))
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_said(wall, 1)
        self.assertEqual(wall.calls[0][0], "/right")

    def test_the_end_of_healer_is_told_before_it_ends(self):
        wall = self.wall()
        daemon = self.start(self.contact("team", wall.url(), alert="only on { instance }") + self.node())
        self.wait_said(wall, 1)
        daemon.stop()
        self.assertEqual([one["text"].split(" ")[-1] for one in wall.said()], ["started", "stopped"])


if __name__ == "__main__":
    support.main()
