# SPDX-License-Identifier: MIT
"""healer and the real Monit with the same rules, each asked over HTTP, and by Monit's own client."""
import base64
import http.client
import re
import socket
import subprocess
import urllib.parse
import xml.etree.ElementTree as ElementTree
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import support
from support import monits, processes


def flat(element: ElementTree.Element, path: str = "") -> dict[str, str]:
    """The leaves below an element by their paths; several of a name are numbered."""
    leaves: dict[str, str] = {}
    seen: dict[str, int] = {}
    for child in element:
        seen[child.tag] = seen.get(child.tag, 0) + 1
        name = path + child.tag + (f"[{seen[child.tag]}]" if seen[child.tag] > 1 else "")
        for key, value in child.attrib.items():
            leaves[f"{name}@{key}"] = value
        if len(child):
            leaves.update(flat(child, name + "/"))
        else:
            leaves[name] = (child.text or "").strip()
    return leaves


def plain(text: str) -> str:
    return re.sub("\x1b\\[[0-9;]*m", "", text)


def blocks(text: str) -> dict[str, list[tuple[str, str]]]:
    """The services of a status text: the title, and the lines as label and value."""
    services = {}
    for block in plain(text).split("\n\n")[1:]:
        lines = block.strip("\n").split("\n")
        if not lines[0]:
            continue
        rows: list[tuple[str, str]] = []
        for line in lines[1:]:
            if line.startswith(" " * 31) and rows:
                rows[-1] = (rows[-1][0], rows[-1][1] + "\n" + line[31:])
            else:
                rows.append((line[2:30].strip(), line[31:]))
        services[lines[0]] = rows
    return services


def shape(value: str) -> str:
    """A value without its numbers and sizes."""
    return re.sub(r"\b(B|kB|MB|GB)\b", "B", re.sub(r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2}|\d+(\.\d+)?", "N", value))


class Side:
    """A supervisor as it is asked over HTTP, and by Monit's client with a rules file `rc`."""

    def __init__(self, port: int, rc: Path, real: str):
        self.port, self.rc, self.real = port, rc, real

    def ask(self, path: str, form: dict | list | None = None, user: str = "admin",
            headers: dict[str, str] | None = None) -> tuple[int, dict, str]:
        link = http.client.HTTPConnection("127.0.0.1", self.port, timeout=support.LIMIT)
        headers = {"Authorization": "Basic " + base64.b64encode(f"{user}:monit".encode()).decode(), **(headers or {})}
        body = None
        if form is not None:  # by Monit's double submission, unless it has a token
            pairs = list(form.items()) + [("securitytoken", "made-up")] if isinstance(form, dict) else form
            body = urllib.parse.urlencode(pairs)
            headers |= {"Content-Type": "application/x-www-form-urlencoded", "Cookie": "securitytoken=made-up"}
        link.request("GET" if form is None else "POST", path, body, headers)
        answer = link.getresponse()
        text = answer.read().decode("latin-1" if "xml" in path else "utf-8", errors="replace")
        link.close()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, text

    def get(self, path: str) -> str:
        status, _, text = self.ask(path)
        assert status == 200, (path, status, text)
        return text

    def xml(self, path: str = "/_status?format=xml&level=full") -> ElementTree.Element:
        return ElementTree.fromstring(self.get(path).encode("latin-1"))

    def services(self) -> dict[str, ElementTree.Element]:
        return {one.findtext("name"): one for one in self.xml().iter("service")}

    def field(self, service: str, name: str) -> str | None:
        try:
            one = self.services().get(service)
        except (ConnectionError, http.client.HTTPException):  # Monit's server begins anew with each reload
            return None
        return one.findtext(name) if one is not None else None

    def client(self, *words: str) -> subprocess.CompletedProcess:
        done = subprocess.run([self.real, "-c", self.rc, *words], capture_output=True, text=True, timeout=support.LIMIT,
                              stdin=subprocess.DEVNULL, preexec_fn=processes.die_with_parent)
        # Monit 6 warns of what it finds old at each call.
        done.stderr = "".join(line for line in done.stderr.splitlines(True) if "deprecated" not in line)
        return done


class Web(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_):
        pass


class Case(support.Case):
    VERSION = monits.OLD
    MEANING = ""
    CYCLE = 1

    def setUp(self) -> None:
        super().setUp()
        self.real = monits.find(self.VERSION)
        if self.real is None:
            self.skipTest(f"monit {self.VERSION} is not here")
        self.ports = {name: self.own_port() for name in ("healer", "monit")}

    def run_both(self, services: str) -> None:
        """Both with the same services."""
        access = "address 127.0.0.1 allow admin:monit allow reader:monit read-only\n"
        asked = {name: f"set httpd port {port} {access}" for name, port in self.ports.items()}
        self.daemon = self.start(self.MEANING + asked["healer"] + services, cycle=str(self.CYCLE))
        folder = self.path("monit")
        folder.mkdir()
        rcs = {}
        for name, pidfile in (("healer", f"{self.daemon.folder}/healer.pid"), ("monit", f"{folder}/pid")):
            rcs[name] = folder / f"{name}.rc"
            rcs[name].write_text(f"set daemon {self.CYCLE}\nset log {folder}/{name}.log\nset pidfile {pidfile}\nset idfile {folder}/id\n"
                                 f"set statefile {folder}/{name}.state\n{asked[name]}{services}")
            rcs[name].chmod(0o600)
        self.sides = {name: Side(port, rcs[name], self.real) for name, port in self.ports.items()}
        self.healer, self.other = self.sides["healer"], self.sides["monit"]
        self.launch_monit()
        self.wait_for(lambda: self.listens(self.ports["healer"]), "healer's server", detail=self.daemon.told)

    def launch_monit(self) -> None:
        log = self.path("monit.out")
        with log.open("ab") as out:
            self.monit = subprocess.Popen([self.real, "-I", "-c", self.other.rc], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                          preexec_fn=processes.die_with_parent)
        self.wait_for(lambda: self.monit.poll() is not None or self.listens(self.ports["monit"]), "Monit's server", detail=log.read_text)
        self.assertIsNone(self.monit.poll(), log.read_text())

    def tearDown(self) -> None:
        if hasattr(self, "monit"):
            self.end_monit()
        for one in getattr(self, "nodes", []):
            one.kill()
            one.wait()
        super().tearDown()

    def wait_for(self, condition, what, **how):
        """Processes that start programs have left are ended by whoever has them; Monit waits for that."""
        def met():
            mine = {one.pid for one in (self.daemon.process, getattr(self, "monit", None), *getattr(self, "nodes", [])) if one}
            processes.reap(mine)
            return condition()
        return super().wait_for(met if hasattr(self, "daemon") else condition, what, **how)

    def end_monit(self) -> None:
        if self.monit.poll() is None:
            self.monit.kill()
        self.monit.wait()

    @staticmethod
    def listens(port: int) -> bool:
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    def both_say(self, service: str, element: str, value: str) -> None:
        for name, side in self.sides.items():
            self.wait_for(lambda: side.field(service, element) == value, f"{element} {value} of {service} in {name}",
                          detail=lambda: side.get(f"/_status?service={service}"))

    def looked(self) -> None:
        """Both have looked at everything twice: means are known."""
        for name, side in self.sides.items():
            self.wait_for(lambda: not [one for one in side.services().values() if one.findtext("monitor") in ("2",)],
                          f"first looks of {name}")
            before = {service: one.findtext("collected_sec") for service, one in side.services().items()}
            wanted = [service for service, one in side.services().items() if one.find("every") is None and one.findtext("monitor") == "1"]
            for _ in range(2):
                self.wait_for(lambda: all(side.field(one, "collected_sec") != before[one] for one in wanted), f"looks of {name}")
                before = {service: one.findtext("collected_sec") for service, one in side.services().items()}
