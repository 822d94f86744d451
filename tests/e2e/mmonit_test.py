# SPDX-License-Identifier: MIT
"""Collectors of `set mmonit`: what healer sends them beside what the real Monit sends, request by request; and what becomes
of collectors that are dead, silent or refuse. Where healer differs on purpose, DIFFERENCES says what, and why."""
import base64
import hashlib
import re
import socket
import ssl
import subprocess
import threading
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import support
from support import monits, processes

DIFFERENCES = {
    "the order of headers": "libcurl has one of its own; it means nothing",
    "a name, user or password with <, > or & is escaped": "Monit writes it as it is, and the document is no XML",
    "the query of a collector's URL is sent": "Monit cuts it off",
    "an event that no collector took is sent again": "Monit does so only with `set eventqueue`, else it is lost",
    "each collector has a queue of its own": "Monit has one, and forgets an event that one of them took",
    "what the daemon says of itself names healer": "that is what has started; service, type, id, state and action are Monit's",
    "a collector that is silent holds up nobody": "Monit waits for it before it goes on with checks, and with the next collector",
    "several events of one look come in the order of the rules": "Monit has one of its own",
    "times in messages are written as 2026-11-28T08:36:43.000Z": "Monit writes them as Sat, 28 Nov 2026 08:36:43",
}


class Recorder:
    """A collector that keeps every request as it came, and answers with `status`; None: it is silent."""

    def __init__(self, port: int = 0, tls: ssl.SSLContext | None = None):
        self.requests: list[tuple[str, bytes]] = []  # head and body
        self.status: int | None = 200
        self.tls = tls
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", port))
        self.listener.listen(50)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self) -> None:
        while True:
            try:
                link = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(link,), daemon=True).start()

    def serve(self, link: socket.socket) -> None:
        try:
            if self.tls:
                link = self.tls.wrap_socket(link, server_side=True)
            with link:
                data = b""
                while b"\r\n\r\n" not in data:
                    more = link.recv(1 << 16)
                    if not more:
                        return
                    data += more
                head, _, body = data.partition(b"\r\n\r\n")
                size = int(re.search(rb"(?i)content-length: (\d+)", head).group(1))
                while len(body) < size:
                    body += link.recv(1 << 16)
                self.requests.append((head.decode(), body))
                if self.status is None:
                    link.recv(1)
                    return
                link.sendall(f"HTTP/1.1 {self.status} Whatever\r\nContent-Length: 0\r\n\r\n".encode())
        except OSError:
            pass

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def documents(self) -> list[ElementTree.Element]:
        return [ElementTree.fromstring(body) for _, body in list(self.requests)]

    def statuses(self) -> list[ElementTree.Element]:
        return [one for one in self.documents() if one.find("event") is None]

    def events(self, service: str | None = None) -> list[dict[str, str]]:
        found = [{leaf.tag: leaf.text or "" for leaf in one.find("event")} for one in self.documents()
                 if one.find("event") is not None]
        return [one for one in found if service in (None, one["service"])]

    def say(self, service: str) -> list[tuple[str, ...]]:
        """The events of a service, without their times."""
        return [tuple(one[tag] for tag in ("type", "id", "state", "action", "message")) for one in self.events(service)]


class Case(support.Case):
    VERSION = monits.OLD
    MEANING = ""
    monit_process: subprocess.Popen | None = None

    def recorder(self, **how) -> Recorder:
        made = Recorder(**how)
        self.addCleanup(made.close)
        return made

    def sees(self, recorder: Recorder, service: str, message: str) -> None:
        self.wait_for(lambda: any(message in one["message"] for one in recorder.events(service)),
                      f"the event '{message}' of {service}", detail=lambda: str(recorder.events()))

    def monit(self, rules: str) -> None:
        """Starts the real Monit."""
        real = monits.find(self.VERSION)
        if real is None:
            self.skipTest(f"monit {self.VERSION} is not here")
        folder = self.path("monit")
        folder.mkdir()
        self.rc = folder / "rc"
        self.rc.write_text(f"set daemon 1\nset log {folder}/log\nset pidfile {folder}/pid\nset idfile {folder}/id\n"
                           f"set statefile {folder}/state\n" + rules)
        self.rc.chmod(0o700)
        self.real = real
        process = subprocess.Popen([real, "-I", "-c", str(self.rc)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, preexec_fn=processes.die_with_parent)
        self.monit_process = process

    def tearDown(self) -> None:
        if self.monit_process and self.monit_process.poll() is None:
            self.monit_process.terminate()
            self.monit_process.wait(support.LIMIT)
        super().tearDown()


class BesideMonit(Case):
    def run_both(self, services, more: str = "") -> tuple[Recorder, Recorder]:
        recorders = self.recorder(), self.recorder()
        self.folders = self.path("by-healer"), self.path("by-monit")
        texts = []
        for recorder, folder in zip(recorders, self.folders):
            folder.mkdir()
            texts.append(f"set mmonit http://us%40er:p%3Aw@127.0.0.1:{recorder.port}/collector {more}\n"
                         f"set httpd port {self.own_port()} use address 127.0.0.1\n"
                         "  allow reader:monit readonly\n  allow admin:monit\n  allow other:monit\n" + services(folder))
        self.daemon = self.start(self.MEANING + texts[0])
        self.monit(texts[1])
        return recorders

    @staticmethod
    def services(folder: Path) -> str:
        (folder / "file").write_text("hello\n")
        return f"""
check system {socket.gethostname()}
check file there with path {folder}/file
  if does not exist then alert
  group front
check program node with path "/bin/sh -c 'test -e {folder}/file || exit 3'"
  if status != 0 then exec "/bin/true"
  group front
  group rear
check program given with path "/bin/sh -c 'test -e {folder}/file || exit 3'"
  if status != 0 then unmonitor
check program words with path "/bin/sh -c 'test -e {folder}/file || echo worse than ever'"
  if content = "worse" then alert
check file other with path {folder}/file
  if changed timestamp then alert
"""

    def test_requests_documents_and_events_are_monits(self):
        mine, theirs = self.run_both(self.services)
        looked = lambda one: [all(service.findtext("monitor") == "1" for service in status.find("services"))
                              for status in one.statuses()][-1:] == [True]
        for one in (mine, theirs):
            self.wait_for(lambda: looked(one), "a status of services that were looked at", detail=lambda: str(one.requests[-1:]))
        for folder in self.folders:
            (folder / "file").unlink()
        for one in (mine, theirs):
            self.sees(one, "there", "exist")
            for service in ("node", "given"):
                self.sees(one, service, "status failed (3)")
            self.sees(one, "words", "content match")
        for folder in self.folders:
            (folder / "file").write_text("hello\n")
        for one in (mine, theirs):
            self.sees(one, "there", "file exists")
            self.sees(one, "node", "status succeeded (0)")
            self.sees(one, "other", "changed from")
        for word in ("unmonitor", "monitor"):
            self.assertEqual(self.daemon.ctl(word, "there").returncode, 0)
            done = subprocess.run([self.real, "-c", str(self.rc), word, "there"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            for one in (mine, theirs):
                self.wait_for(lambda one=one: f"{word} action done" in [said[4] for said in one.say("there")], f"that it will {word}")
        for one in (mine, theirs):
            self.wait_for(lambda: one.statuses()[-1].findtext("services/service[@name='there']/size"), "a look at it again")
        self.daemon.stop()
        self.monit_process.terminate()
        self.monit_process.wait(support.LIMIT)
        for one in (mine, theirs):
            self.sees(one, "Monit", "stopped")

        # Requests: the line, and all headers.
        for one in (mine, theirs):
            self.assertEqual({head.split("\r\n")[0] for head, _ in one.requests}, {"POST /collector HTTP/1.1"})
        heads = [[sorted(re.sub(r"(Host: 127.0.0.1:|Content-Length: )\d+", r"\1N", line) for line in head.split("\r\n")[1:])
                  for head, _ in one.requests] for one in (mine, theirs)]
        self.assertEqual(heads[0][0], heads[1][0])
        self.assertEqual({str(one) for one in heads[0]}, {str(one) for one in heads[1]})
        self.assertIn("Authorization: Basic " + base64.b64encode(b"us%40er:p%3Aw").decode(), heads[0][0])
        for one in (mine, theirs):
            for head, body in one.requests:
                self.assertIn(f"Content-Length: {len(body)}", head)
                self.assertTrue(body.startswith(b'<?xml version="1.0" encoding="ISO-8859-1"?><monit id="'))

        # Documents: the first is the event of the start; statuses follow.
        for one in (mine, theirs):
            self.assertEqual([event is not None for event in (doc.find("event") for doc in one.documents()[:2])], [True, False])
        statuses = mine.statuses()[-1], theirs.statuses()[-1]
        self.assertEqual(*(list(one.attrib) for one in statuses))
        self.assertEqual(*(one.get("version") for one in statuses))
        self.assertEqual(*([part.tag for part in one] for one in statuses))
        self.assertEqual(*([part.tag for part in one.find("server")] for one in statuses))
        for path in ("poll", "startdelay", "httpd/address", "httpd/ssl", "credentials/username", "credentials/password"):
            self.assertEqual(*(one.findtext("server/" + path) for one in statuses), path)
        self.assertEqual(statuses[0].findtext("server/credentials/username"), "admin")
        self.assertEqual(*([(leaf.tag, leaf.text) for leaf in one.find("platform")] for one in statuses))
        self.assertEqual(*([(one.get("name"), one.findtext("type"), [leaf.tag for leaf in one if leaf.tag != "filedescriptors"])
                            for one in document.find("services")] for document in statuses))
        self.assertEqual(*({one.get("name"): {member.text for member in one} for one in document.find("servicegroups")}
                           for document in statuses))
        documents = [next(doc for doc in one.documents() if doc.find("event") is not None) for one in (mine, theirs)]
        self.assertEqual(*([part.tag for part in one] for one in documents))
        self.assertEqual(*([leaf.tag for leaf in one.find("event")] for one in documents))

        # Events.
        for service in ("there", "node", "given"):
            self.assertEqual(mine.say(service), theirs.say(service), service)
        self.assertEqual(*({one for one in recorder.say("words")} for recorder in (mine, theirs)))
        plain = lambda says: {(*one[:4], re.sub(r"[A-Z]\w\w, .*?\d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT\S+|/\S+", "X", one[4])) for one in says}
        self.assertEqual(plain(mine.say("other")), plain(theirs.say("other")))
        for says in zip(mine.say("Monit"), theirs.say("Monit")):
            self.assertEqual(*(one[:4] for one in says))
        self.assertEqual([one[4] for one in mine.say("Monit")][-1], "healer stopped")

    def test_without_credentials_none_are_told(self):
        for one in self.run_both(self.services, more="and register without credentials"):
            status = self.wait_for(one.statuses, "a status")[0]
            self.assertIsNone(status.find("server/credentials"))
            self.assertIsNotNone(status.find("server/httpd"))

    def test_without_httpd_nothing_is_said_of_it_but_a_warning(self):
        text = f"set mmonit http://a:b@127.0.0.1:{{}}/collector\ncheck file none with path {self.folder}/none\n  if does not exist then alert\n"
        mine, theirs = self.recorder(), self.recorder()
        daemon = self.start(text.format(mine.port))
        self.monit(text.format(theirs.port))
        for one in (mine, theirs):
            status = self.wait_for(one.statuses, "a status")[0]
            self.assertIsNone(status.find("server/credentials"))
            self.assertIsNone(status.find("server/httpd"))
        said = "M/Monit enabled but no httpd allowed"
        self.assertIn(said, daemon.log_text() + daemon.errors.read_text())
        checked = subprocess.run([self.real, "-t", "-c", str(self.rc)], capture_output=True, text=True)
        self.wait_for(lambda: said in checked.stderr + checked.stdout + (self.path("monit") / "log").read_text(), "Monit's words")


class BesideMonit6(BesideMonit):
    VERSION = monits.NEW
    MEANING = "set monit 6\n"

    def test_host_groups_are_told(self):
        mine, theirs = self.run_both(self.services, more='with hostgroups [Oslo, "a <b>&"]')
        documents = [self.wait_for(lambda: one.statuses(), "a status")[0] for one in (mine, theirs)]
        for document in documents:
            self.assertEqual([one.text for one in document.find("hostgroups")], ["Oslo", "a <b>&"])
        self.assertEqual(*([part.tag for part in one] for one in documents))
        for one in (mine, theirs):
            self.assertIn(b"<hostgroups><name><![CDATA[Oslo]]></name><name><![CDATA[a <b>&]]></name></hostgroups><services>",
                          one.requests[0][1])
            self.assertIn(b"<service><![CDATA[there]]></service>", one.requests[0][1])


class Collectors(Case):
    """healer alone."""

    def rules(self, *ports: int, more: str = "") -> str:
        urls = " ".join(f"http://collector:s3cr3t-w0rd@127.0.0.1:{port}/c" for port in ports)
        return f"""set mmonit {urls} {more}
set httpd port {self.own_port()} use address 127.0.0.1 allow admin:other-w0rd
check file flag with path {self.folder}/flag
  if does not exist then alert
"""

    def flip(self) -> None:
        flag = self.path("flag")
        flag.unlink() if flag.exists() else flag.touch()

    def states(self, recorder: Recorder) -> list[str]:
        return [one["state"] for one in recorder.events("flag")]

    def tells_no_secret(self, daemon: support.Daemon) -> None:
        told = [daemon.log_text(), daemon.ctl("status").stdout, daemon.ctl("report").stdout, daemon.ctl("report", "--json").stdout,
                daemon.errors.read_text()]
        for text in told:
            for secret in ("s3cr3t-w0rd", "other-w0rd", base64.b64encode(b"collector:s3cr3t-w0rd").decode()):
                self.assertNotIn(secret, text)

    def test_a_dead_and_a_silent_collector_hold_up_no_other(self):
        self.path("flag").touch()
        dead, silent, live = self.own_port(), self.recorder(), self.recorder()
        silent.status = None
        daemon = self.start(self.rules(dead, silent.port, live.port, more="with timeout 30 seconds"))
        self.wait_for(lambda: len(live.statuses()) >= 3, "statuses")
        for state in ("1", "0"):
            self.flip()
            self.wait_for(lambda: self.states(live)[-1:] == [state], "the event at the one that lives")
        self.assertEqual(len(silent.requests), 1)
        self.assertIn(f"M/Monit: event message to http://127.0.0.1:{dead}/c failed: ", daemon.log_text())
        self.assertIn(f"http://127.0.0.1:{dead}/c takes nothing", daemon.ctl("status").stdout)
        self.tells_no_secret(daemon)
        # It comes to life: it is told everything, in order.
        revived = self.recorder(port=dead)
        self.wait_for(lambda: self.states(revived) == ["1", "0"], "all events", detail=lambda: str(revived.events()))
        self.assertEqual(revived.events()[0]["service"], "Monit")
        self.wait_for(lambda: f"http://127.0.0.1:{dead}/c takes messages again" in daemon.log_text(), "the word of it")
        self.assertNotIn("takes nothing", daemon.ctl("status").stdout)

    def test_a_refused_event_comes_again_each_cycle_and_is_told_once(self):
        self.path("flag").touch()
        collector = self.recorder()
        daemon = self.start(self.rules(collector.port))
        self.wait_for(lambda: len(collector.statuses()) >= 2, "statuses")
        collector.status = 500
        self.flip()
        self.wait_for(lambda: len(self.states(collector)) >= 3, "the same event again and again")
        tries = collector.documents()
        places = [i for i, one in enumerate(tries) if one.find("event") is not None and one.findtext("event/service") == "flag"]
        for before, after in zip(places[1:], places[2:]):  # the first was sent within a cycle
            self.assertTrue(any(tries[i].find("event") is None for i in range(before, after)), "a status is between")
        self.assertEqual(len({one["collected_usec"] for one in collector.events("flag")}), 1)
        self.assertEqual(daemon.log_text().count("it answered 500"), 1)
        self.flip()
        collector.status = 302  # which is a success
        self.wait_for(lambda: self.states(collector)[-1:] == ["0"], "the next event")
        count = len(collector.events("flag"))
        statuses = len(collector.statuses())
        self.wait_for(lambda: len(collector.statuses()) >= statuses + 2, "two more cycles")
        self.assertEqual(len(collector.events("flag")), count)

    def test_a_reload_takes_one_away_and_adds_another(self):
        first, second = self.recorder(), self.recorder()
        daemon = self.start(self.rules(first.port))
        self.wait_for(first.statuses, "a status")
        daemon.write_rules(self.settings(daemon) + self.rules(second.port))
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: len(second.statuses()) >= 2, "statuses of the new one")
        count = len(first.requests)
        self.wait_for(lambda: len(second.statuses()) >= 4, "more of them")
        self.assertEqual(len(first.requests), count)

    def test_who_only_watches_tells_nothing(self):
        collector = self.recorder()
        daemon = self.start(self.rules(collector.port), options=("--shadow",))
        self.wait_for(lambda: "flag" in daemon.ctl("status").stdout, "a look")
        daemon.stop()
        self.assertEqual(collector.requests, [])

    def test_a_certificate_is_pinned_by_its_checksum(self):
        key, pem = self.path("key.pem"), self.path("cert.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", pem, "-days", "3",
                        "-subj", "/CN=nobody"], check=True, capture_output=True)
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(pem, key)
        sum_ = hashlib.sha1(ssl.PEM_cert_to_DER_cert(pem.read_text())).hexdigest()
        right, wrong = self.recorder(tls=tls), self.recorder(tls=tls)
        for name, recorder, digits in (("right", right, sum_), ("wrong", wrong, "ab" * 20)):
            rules = self.rules(recorder.port, more=f"using ssl certificate checksum sha1 {digits}").replace("http:", "https:")
            daemon = self.start(rules, name=name)
            if recorder is right:
                self.wait_for(right.statuses, "a status")
            else:
                self.wait_for(lambda: "failed: " in daemon.log_text(), "the word of it")
                self.assertEqual(wrong.requests, [])
            daemon.stop()


if __name__ == "__main__":
    support.main()
