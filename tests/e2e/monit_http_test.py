# SPDX-License-Identifier: MIT
"""Monit's HTTP interface: the same rules in healer and the real Monit on this machine, their XML element by element, their
text line by line, their pages by links, forms and rows; and Monit's own client, with the same exit statuses. Where healer
differs on purpose, LEFT_OUT, OWN and OTHER below say what, and why. The tests hold it to these, and to nothing else."""
import base64
import http.client
import os
import re
import socket
import subprocess
import threading
import urllib.parse
import xml.etree.ElementTree as ElementTree
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import support
from support import monits, processes

TOTALS = "healer keeps rates, not what has come together since the machine was started"
# Elements of Monit's XML that healer leaves out: by a pattern of their path within a service.
LEFT_OUT = {
    r"(read|write)/(bytesgeneric|bytes|operations)/total": TOTALS,
    r"link/(download|upload)/(packets|bytes|errors)/total": TOTALS,
    r"fstype": "healer knows what is mounted where, and not as what",
    r"servicetime/(read|write)": "healer measures the time of an operation of either kind",
    r"filedescriptors/limit/hard": "healer measures against the soft limit",
    r"(children|memory/(percenttotal|kilobytetotal)|cpu/percenttotal|filedescriptors/opentotal)":
        "healer looks at descendants where a rule asks for them",
}
# Lines of Monit's status that healer leaves out, by their labels.
LINES_LEFT_OUT = {
    "filesystem type": LEFT_OUT["fstype"],
    "block size": "healer counts bytes",
    "space free for non superuser": "healer, as Monit's tests, counts what is kept for root as free",
    "children": "healer looks at descendants where a rule asks for them",
    "cpu total": "as children",
    "memory total": "as children",
    "total filedescriptors": "as children",
}
# What values of lines differ in, taken out of Monit's before they are compared.
PARTS_LEFT_OUT = [
    (r" \[[^]]* total\]$", TOTALS),
    (r" \(of which [^)]*\)$", "what is kept for root; and the parts of service time"),
]
# Elements, and lines, whose values are of the moment, or of the supervisor itself: that they are there is compared.
MOMENT = re.compile(
    r"(collected_u?sec|uptime|boottime|filedescriptors/(allocated|open)|system/(load|cpu|memory|swap|paging)/.*|cpu/.*|memory/.*"
    r"|(read|write)/.*|.*responsetime|link/(down|up)load/(packets|bytes)/now|block/.*|inode/.*|program/started|every/counter"
    r"|ppid)$")
OF_THE_SERVER = {"id", "incarnation", "uptime", "controlfile", "httpd/port"}

# Other differences, each of which a test shows.
OTHER = {
    "a reading path that is posted to is answered with 200": "Monit says 302, and sends a browser there again",
    "Location is relative": "so that it may be behind a proxy with a prefix",
    "`_doaction` leads to the list": "Monit leads to `_doaction`, which is not there for GET",
    "what cannot be done is refused with 400": "Monit does nothing, and says nothing",
    "an unknown service among several: none of it is done": "Monit has done those before it",
    "`_runtime` action=stop is refused": "healer's server is that of all that is served, and ends with healerd",
    "a service's rules are told in the words of the language": "Monit has a table of its own",
    "programs are shown without their arguments": "these may be secret",
    "expressions with {N}, references back, or more than 256 bytes match nothing": "they may cost much time",
    "there is no system where none is written": "Monit makes one up",
    "status_hint ends with what it hints at": "in Monit it stays for ever",
}


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

    # ---- one of everything ------------------------------------------------------------------------------------

    def everything(self) -> str:
        """Services of each kind, with what is well and what is not. As far as a user may look who is not root."""
        web = ThreadingHTTPServer(("127.0.0.1", 0), Web)
        threading.Thread(target=web.serve_forever, daemon=True).start()
        self.addCleanup(web.server_close)
        self.addCleanup(web.shutdown)
        port, closed = web.server_address[1], self.own_port()
        node = subprocess.Popen(["sleep", "100000"], preexec_fn=processes.die_with_parent)
        self.nodes = [node]
        self.path("node.pid").write_text(f"{node.pid}\n")
        self.path("file").write_text("hello\n")
        self.path("file").chmod(0o644)
        self.path("dir").mkdir()
        os.mkfifo(self.path("fifo"))
        bad = self.script("bad", "echo err >&2; echo 'out <b> & ]]>'; exit 2")
        good = self.script("good", "echo fine")
        ping = "  if failed ping then alert\n" if os.geteuid() == 0 else ""
        f = self.folder
        return f"""
check system {socket.gethostname()}
  if memory > 1% then alert
check process node with pidfile {f}/node.pid
  group front
  if failed port {port} protocol http then alert
  if failed port {closed} then alert
  if cpu > 99% for 20 cycles then alert
check process gone with pidfile {f}/none.pid
  mode passive
  if not exist then alert
check file file with path {f}/file
  group front
  if failed md5 checksum then alert
  if size > 2 bytes then alert
  if content = "x<y" then alert
check file plain with path {f}/good
check file nofile with path {f}/nofile
  if not exist then alert
check directory dir with path {f}/dir
  if failed permission 0123 then alert
  if failed uid nobody then alert
check fifo fifo with path {f}/fifo
check filesystem root with path /
  if space usage > 0.1% then alert
check host local with address 127.0.0.1
{ping}  if failed port {closed} then alert
  if failed port {port} protocol http request "/x?y=<z>" then alert
check network lo with interface lo
check network nolink with interface nolink0
  if link down then alert
check program bad with path "{bad}"
  if status != 0 then alert
check program good with path "{good}"
  if status != 0 then alert
check program cron with path "{good}"
  every "0 0 29 2 *"
  if status != 0 then alert
check program off with path "{good}"
  onreboot laststate
  depends on good
  if status != 0 then alert
"""

    def settled(self) -> None:
        for service, status in (("bad", "2097152"), ("gone", "512"), ("nofile", "512"), ("dir", "192"), ("file", "16"),
                                ("root", "2"), ("local", "32"), ("node", "32"), ("nolink", "8388608")):
            self.both_say(service, "status", status)
        for side in self.sides.values():
            self.assertEqual(side.ask("/off", {"action": "unmonitor"})[0], 302)
        self.both_say("off", "monitor", "0")
        self.looked()


class MonitHttp(Case):
    def compare(self, service: str, healers: dict[str, str], monits_: dict[str, str]) -> None:
        left_out = {path for path in monits_ if any(re.fullmatch(one, re.sub(r"\[\d+\]", "", path)) for one in LEFT_OUT)}
        self.assertEqual(set(monits_) - set(healers) - left_out, set(), f"{service}: healer lacks these")
        self.assertEqual(set(healers) - set(monits_), set(), f"{service}: Monit has none of these")
        for path, value in healers.items():
            if not MOMENT.match(path):
                self.assertEqual(value, monits_[path], f"{service}: {path}")
            elif re.fullmatch(r"-?[\d.]+", monits_[path]):
                self.assertRegex(value, r"^-?\d+(\.\d+)?$", f"{service}: {path}")
                self.assertEqual(len(value.partition(".")[2]), len(monits_[path].partition(".")[2]), f"{service}: {path}")

    def test_xml_is_monits_element_by_element(self):
        self.run_both(self.everything())
        self.settled()
        mine, theirs = self.healer.xml(), self.other.xml()
        for part in ("server", "platform"):
            values = [flat(one.find(part)) for one in (mine, theirs)]
            self.assertEqual(list(values[0]), list(values[1]))
            for path in values[0]:
                if path not in OF_THE_SERVER:
                    self.assertEqual(values[0][path], values[1][path], path)
        services = [[(one.get("type"), one.findtext("name")) for one in root.iter("service")] for root in (mine, theirs)]
        self.assertEqual(*services)
        for mine_, theirs_ in zip(mine.iter("service"), theirs.iter("service")):
            order = [[child.tag for child in one] for one in (mine_, theirs_)]
            self.assertEqual(order[0], [tag for tag in order[1] if tag in order[0]], mine_.findtext("name"))
            self.compare(mine_.findtext("name"), flat(mine_), flat(theirs_))
        # The other form.
        forms = [side.xml("/_status2?format=xml") for side in (self.healer, self.other)]
        self.assertEqual(set(forms[0].attrib), set(forms[1].attrib))
        self.assertEqual([one.tag for one in forms[0]], [one.tag for one in forms[1]])
        groups = [[(one.get("name"), [member.text for member in one]) for one in form.iter("servicegroup")] for form in forms]
        self.assertEqual(*groups)
        self.assertEqual(groups[0], [("front", ["node", "file"])])
        names = [[(one.get("name"), one.findtext("type")) for one in form.find("services")] for form in forms]
        self.assertEqual(*names)

    def test_what_exporters_read_is_there(self):
        self.run_both(self.everything())
        self.settled()
        for side in self.sides.values():
            for one in side.xml("/_status?format=xml&level=full").iter("service"):
                self.assertIn(int(one.get("type")), range(9))
                for name in ("name", "status", "monitor", "monitormode", "onreboot", "pendingaction", "collected_sec"):
                    self.assertIsNotNone(one.findtext(name))
            node = side.services()["node"]
            for path in ("memory/percent", "memory/kilobyte", "cpu/percent", "uptime", "port/portnumber", "port/responsetime",
                         "read/bytes/count", "write/bytes/count"):
                self.assertRegex(node.findtext(path), r"^-?[\d.]+$", path)

    def test_text_is_monits_line_by_line(self):
        self.run_both(self.everything())
        self.settled()
        mine, theirs = self.healer.get("/_status"), self.other.get("/_status")
        self.assertEqual(shape(mine.split("\n")[0]), shape(theirs.split("\n")[0]))
        mine_, theirs_ = blocks(mine), blocks(theirs)
        self.assertEqual(list(mine_), list(theirs_))
        for title, rows in theirs_.items():
            wanted = [row for row in rows if row[0] not in LINES_LEFT_OUT]
            have = [row for row in mine_[title] if row[0] not in LINES_LEFT_OUT]
            self.assertEqual([label for label, _ in have], [label for label, _ in wanted], title)
            for (label, value), (_, other) in zip(have, wanted):
                for pattern, _ in PARTS_LEFT_OUT:
                    other = re.sub(pattern, "", other)
                moment = label in ("cpu", "memory", "data collected", "uptime", "filedescriptors", "load average", "parent pid",
                                   "access timestamp") or " " in label
                if label in ("read bytes", "write bytes") and "Filesystem" in title:
                    moment = True
                self.assertEqual(*(map(shape, (value, other)) if moment and "timestamp" not in label or label.startswith("access")
                                   else (value, other)), f"{title}: {label}")
        # Colours: each line of the same has the same.
        colours = [{(title, line[:30]): re.findall("\x1b\\[[0-9;]*m", line) for title, block in
                    ((one.split("\n")[0], one) for one in text.split("\n\n")) for line in block.split("\n")[1:]}
                   for text in (mine, theirs)]
        for key, codes in colours[0].items():
            self.assertEqual(codes, colours[1].get(key), key)
        for path in ("/_summary", "/_summary?group=front", "/_summary?service=n.*", "/_report", "/_report?type=down"):
            mine, theirs = self.healer.get(path), self.other.get(path)
            self.assertEqual(mine.split("\n")[1:], theirs.split("\n")[1:], path)
        for path in ("/_status?service=NODE", "/_status?service=x", "/_status?group=front", "/_status?group=x", "/_status?service=nod",
                     "/_summary?service=x", "/_summary?group=front&service=bad", "/_report?type=x", "/_ping", "/_getid", "/nobody",
                     "/_monit", "/_status?format=foo", "/favicon.ico", "/_foo"):
            (status, _, body), (other, _, text) = (side.ask(path) for side in (self.healer, self.other))
            self.assertEqual(status, other, path)
            if status >= 400:  # what Monit's client shows of it
                said = [re.search("</h2>(.*)<hr>", one).group(1) for one in (body, text)]
                self.assertEqual(*said, path)
            elif path.startswith("/_s"):
                self.assertEqual(list(blocks(body)), list(blocks(text)), path)

    def test_pages_have_monits_links_forms_and_rows(self):
        self.run_both(self.everything())
        self.settled()

        def links(page: str) -> list[str]:
            return [one for one in re.findall(r"<a href='([^']*)'", page) if not one.startswith("http")]

        def forms(page: str) -> list[tuple]:
            return [(re.search(r"action='?([^ '>]*)", one).group(1), re.search(r"method='?(\w+)", one).group(1),
                     "securitytoken" in one,
                     [set(re.findall(r"(?:name|value)='?([^ '>]*)", field)) for field in re.findall("<input[^>]*>", one)
                      if "action" in field])
                    for one in re.findall("<form (.*?)</form>", page, re.S)]

        def rows(page: str) -> list[str]:
            return re.findall(r"<tr><td>([^<]*)</td>", page)

        def cells(page: str) -> dict[str, list[str]]:
            return {re.sub("<[^>]*>", "", row[0]): [shape(re.sub("<[^>]*>", "", one).replace("&#47;", "/")) for one in row[1:]]
                    for row in (re.findall("<td[^>]*>(.*?)</td>", line, re.S) for line in re.findall("<tr.*?</tr>", page, re.S)) if row}

        mine, theirs = self.healer.get("/"), self.other.get("/")
        self.assertEqual([one for one in links(mine) if one != "."], [one for one in links(theirs) if one not in (".", "")])
        mine_, theirs_ = cells(mine), cells(theirs)
        for name in self.healer.services():
            if name not in ("node", "nofs", "gone") :  # descendants: LEFT_OUT
                self.assertEqual(mine_[name], theirs_[name], name)
        for name in (*self.healer.services(), "_runtime"):
            mine, theirs = self.healer.get("/" + name), self.other.get("/" + name)
            self.assertEqual(forms(mine), [one for one in forms(theirs) if not (name == "_runtime" and "stop" in str(one))], name)
            left_out = {label.capitalize() for label in LINES_LEFT_OUT} | ({"Debug"} if name == "_runtime" else set())
            self.assertEqual([one for one in rows(mine) if one not in left_out],
                             [one for one in rows(theirs) if one not in left_out], name)
        # What a browser sends it is asked by needs the token of a page.
        token = re.search("name='securitytoken' value='([^']+)'", self.healer.get("/off")).group(1)
        origin = {"Origin": f"http://127.0.0.1:{self.healer.port}"}
        for given, status in (("made-up", 403), (token, 302)):
            self.assertEqual(self.healer.ask("/off", [("action", "monitor"), ("securitytoken", given)], headers=origin)[0], status)
        self.wait_for(lambda: self.healer.field("off", "monitor") != "0", "the service to be monitored")
        # Readers see no forms, and not the log.
        for side in self.sides.values():
            self.assertNotIn("<form method", side.ask("/node", user="reader")[2])
            self.assertEqual(side.ask("/_viewlog", user="reader")[0], 403)
            self.assertEqual(side.ask("/node", {"action": "stop"}, user="reader")[0], 403)
            self.assertEqual(side.ask("/_runtime", {"action": "validate"}, user="reader")[0], 403)
            self.assertIn("<textarea", side.get("/_viewlog"))
            self.assertIn("&#39;bad&#39;" if side is self.healer else "'bad'", side.get("/_viewlog"))

    def test_log_is_shown_to_its_last_megabyte(self):
        self.run_both(f"check system {socket.gethostname()}\n")
        with self.daemon.log.open("a") as log:
            log.write("</textarea>\n" + "".join(f"line {i} of a long log\n" for i in range(100_000)))
        page = self.healer.get("/_viewlog")
        shown = re.search(r"readonly>\n(.*)</textarea>", page, re.S).group(1)
        self.assertLess(len(shown), 1 << 20)
        self.assertGreater(len(shown), 1_000_000)
        self.assertRegex(shown, r"^line \d+ of a long log\n")
        self.assertEqual(page.count("</textarea>"), 1)


class MonitClient(Case):
    """The real client asks healer, as it asks Monit."""

    def both_start(self) -> None:
        # Each has processes of its own: what a start program writes is beside its own pid file.
        live = self.script("live", f"""
case $1 in
start) [ ! -e "$2" ] || kill -0 "$(cat "$2")" 2>/dev/null || rm -f "$2"
       [ -e "$2" ] || {{ setsid sleep 100000 >/dev/null 2>&1 </dev/null & echo $! > "$2.new" && mv "$2.new" "$2"; }} ;;
stop) kill "$(cat "$2")"; rm -f "$2" ;;
esac""")
        good = self.script("good", "echo fine")

        def services(side: str) -> str:
            f = self.folder / f"of-{side}"
            f.mkdir(exist_ok=True)
            return f"check system {socket.gethostname()}\n" + "".join(f"""
check process {name} with pidfile {f}/{name}.pid
  group pair
  start program = "{live} start {f}/{name}.pid"
  stop program = "{live} stop {f}/{name}.pid"
""" for name in ("one", "two")) + f"""
check program prog with path "{good}"
  if status != 0 then alert
check file gone with path {f}/gone
  if not exist then alert
"""

        self.may_outlive = True
        self.run_both(services)

    def run_both(self, services) -> None:
        if isinstance(services, str):
            return super().run_both(services)
        super().run_both(services("healer"))
        rc = self.other.rc
        text = rc.read_text().replace("of-healer", "of-monit")
        self.end_monit()
        (self.folder / "of-monit").mkdir(exist_ok=True)
        rc.write_text(text)
        self.launch_monit()

    def pid(self, side: str, name: str) -> int:
        path = self.folder / f"of-{side}" / f"{name}.pid"
        return int(path.read_text()) if path.exists() else 0

    def says(self, *words: str, status: int | None = None, same: bool = True) -> None:
        """Both are asked the same by the client, which ends with the same status and says the same."""
        done = {name: side.client(*words) for name, side in self.sides.items()}
        told = {name: (one.returncode, shape(one.stdout + one.stderr) if same else "") for name, one in done.items()}
        self.assertEqual(told["healer"], told["monit"], words)
        if status is not None:
            self.assertEqual(done["healer"].returncode, status, (words, done["healer"].stdout, done["healer"].stderr))

    def test_client_reads_and_acts_with_the_same_statuses(self):
        self.both_start()
        for name in self.sides:
            self.wait_for(lambda: self.pid(name, "one") and self.pid(name, "two"), f"the processes of {name}", detail=self.daemon.told)
        for one in ("one", "two", "prog"):
            self.both_say(one, "status", "0")
            self.both_say(one, "monitor", "1")
            self.both_say(one, "pendingaction", "0")
        self.both_say("gone", "status", "512")
        for words in (("summary",), ("report",), ("report", "up"), ("report", "down"), ("report", "total"),
                      ("summary", "one"), ("summary", "t.*"), ("-g", "pair", "summary"), ("-g", "PAIR", "summary"),
                      ("status", "prog"), ("status", "gone"), ("-B", "status", "prog")):
            self.says(*words, status=0)
        self.says("status", status=0, same=False)
        for words in (("status", "nobody"), ("summary", "on"), ("-g", "nobody", "status"), ("-g", "nobody", "summary"),
                      ("report", "nonsense"), ("start", "nobody"), ("monitor", "nobody"), ("-g", "nobody", "monitor", "all"),
                      ("start",)):
            self.says(*words, status=1)
        self.says("procmatch", "no-such-process-at-all")

        def gone(name: str) -> bool:
            return all(not self.pid(side, name) for side in self.sides)

        self.says("stop", "one", status=0)
        self.wait_for(lambda: gone("one"), "the stop")
        self.both_say("one", "monitor", "0")
        self.says("start", "one", status=0)
        self.wait_for(lambda: all(self.pid(side, "one") for side in self.sides), "the start")
        self.both_say("one", "monitor", "1")
        self.both_say("one", "pendingaction", "0")
        before = {side: self.pid(side, "two") for side in self.sides}
        self.says("restart", "two", status=0)
        self.wait_for(lambda: all(self.pid(side, "two") not in (0, before[side]) for side in self.sides), "the restart")
        self.both_say("two", "pendingaction", "0")
        self.says("unmonitor", "prog", status=0)
        self.both_say("prog", "monitor", "0")
        self.says("monitor", "pro.*", status=0)
        self.both_say("prog", "monitor", "1")
        self.says("-g", "pair", "unmonitor", "all", status=0)
        for one in ("one", "two"):
            self.both_say(one, "monitor", "0")
        self.says("monitor", "all", status=0)
        for one in ("one", "two", "prog", "gone"):
            self.both_say(one, "monitor", "1")
        self.says("-g", "pair", "stop", "all", status=0)
        self.wait_for(lambda: gone("one") and gone("two"), "the stop of the group")

    def test_client_wakes_reloads_and_ends_by_signals(self):
        self.both_start()
        for name in self.sides:
            self.wait_for(lambda: self.pid(name, "one"), f"the processes of {name}", detail=self.daemon.told)
        before = self.healer.field("prog", "collected_sec")
        self.says("validate", same=False)
        self.wait_for(lambda: self.healer.field("prog", "collected_sec") != before, "a look")
        self.daemon.write_rules(self.daemon.rules.read_text() + 'check file later with path /etc/hosts\n')
        self.other.rc.write_text(self.other.rc.read_text() + "check file later with path /etc/hosts\n")
        self.healer.rc.write_text(self.healer.rc.read_text() + "check file later with path /etc/hosts\n")
        self.says("reload", status=0)
        self.both_say("later", "status", "0")
        self.says("quit", status=0, same=False)
        self.wait_for(self.daemon.ended, "the end of healerd")
        self.wait_for(lambda: self.monit.poll() is not None, "the end of Monit")
        self.assertEqual(self.daemon.process.returncode, 0)
        self.says("status", status=1)
        self.says("quit", status=0)


class Monit6Client(MonitClient):
    VERSION = monits.NEW
    MEANING = "set monit 6\n"


class Monit6(Case):
    VERSION = monits.NEW
    MEANING = "set monit 6\n"
    everything = MonitHttp.everything
    settled = MonitHttp.settled
    compare = MonitHttp.compare

    def test_xml_and_text_are_those_of_monit_6(self):
        self.run_both(self.everything() + f"check file soft with path {self.folder}/file\n  if size > 2 bytes for 50 cycles then alert\n")
        self.settled()
        self.both_say("soft", "status", "16")
        mine, theirs = self.healer.xml(), self.other.xml()
        self.assertEqual(list(flat(mine.find("server"))), list(flat(theirs.find("server"))))
        self.assertEqual(mine.findtext("server/version"), theirs.findtext("server/version"))
        for mine_, theirs_ in zip(mine.iter("service"), theirs.iter("service")):
            order = [[child.tag for child in one] for one in (mine_, theirs_)]
            self.assertEqual(order[0], [tag for tag in order[1] if tag in order[0]], mine_.findtext("name"))
            self.compare(mine_.findtext("name"), flat(mine_), flat(theirs_))
        texts = [side.get("/_status?format=xml") for side in (self.healer, self.other)]
        for text in texts:
            self.assertIn("<name><![CDATA[soft]]></name>", text)
        labels = [{title: [label for label, _ in rows if label not in LINES_LEFT_OUT]
                   for title, rows in blocks(side.get("/_status")).items()} for side in (self.healer, self.other)]
        self.assertEqual(*labels)
        reports = [side.get("/_report") for side in (self.healer, self.other)]
        self.assertEqual(*reports)


if __name__ == "__main__":
    support.main()
