# SPDX-License-Identifier: MIT
"""Monit's HTTP interface: the same rules in healer and the real Monit on this machine, their XML element by element, their
text line by line, their pages by links, forms and rows. Where healer differs on purpose, LEFT_OUT, LINES_LEFT_OUT, PARTS_LEFT_OUT
and OTHER say what, and why. The tests hold it to these, and to nothing else."""
import os
import re
import socket
import subprocess
import threading
from http.server import ThreadingHTTPServer

import monit_sides
import support
from monit_sides import Web, blocks, flat, shape
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


class Case(monit_sides.Case):
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


class Monit6(Case):
    VERSION = monits.NEW
    MEANING = "set monit 6\n"
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
