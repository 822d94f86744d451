# SPDX-License-Identifier: MIT
"""What Monit 6 has brought: the same rules in healer and Monit 6.0.0, which fire the same and say the same of it; and where
healer does otherwise on purpose (DIFFERENCES), what it does."""
import os
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import both
import support
import supervised
from support import monits, processes

# Where healer differs from Monit 6.0.0 on purpose: what, and why. The tests below hold it to this, and to nothing else.
DIFFERENCES = {
    "an exec's timeout is enforced": "6.0.0 reads and shows it, and lets the program run on",
    "a check program with `every N cycles` runs every N cycles": "6.0.0 runs it every N+1",
    "the baseline of `content changed` outlasts a restart": "in 6.0.0 it is lost, and with it a change meanwhile",
    "paging is measured": "in 6.0.0 it is always 0",
    "`then ignore` without `else` is quiet in both directions": "nobody was told of what has recovered",
}

# Two processes that share 64 MB; the pid of the first is in the file.
SHARING = """
import os, sys, time
room = bytearray(os.urandom(1 << 20) * 64)
for _ in range(3):
    if os.fork() == 0:
        time.sleep(1000)
        os._exit(0)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(1000)
"""


class Monit6(both.Acts):
    VERSION = monits.NEW
    MEANING = "set monit 6\n"

    def act(self, folder: Path) -> Path:
        """Leaves its argument, the event and the description, on one line, in `acts`."""
        words = '$1: $MONIT_EVENT: $(printf %s "$MONIT_DESCRIPTION" | tr -s "\\n" " ")'
        return self.place(folder, "act", f'echo "{words}" | sed "s/ *$//" >> acts')

    def test_hard_links_are_counted_as_in_monit(self):
        def more(folder: Path) -> str:
            (folder / "file").write_text("x")
            (folder / "dir").mkdir()
            return (self.block(folder, f"check file a with path {folder}/file",
                               {"many else few": "hardlinks > 1", "changed": "changed hardlink", "one": "hardlink = 1"}) +
                    self.block(folder, f"check directory d with path {folder}/dir", {"dirs": "hardlink < 100"}))

        self.run_both(lambda folder: [], more)
        links = {folder: os.stat(folder / "dir").st_nlink for folder in self.folders()}
        self.assertEqual(len(set(links.values())), 1)
        expected = ["one: Resource limit matched: hardlink test failed for /file -- current hardlink is 1",
                    "dirs: Resource limit matched: hardlink test failed for /dir -- current hardlink is "
                    f"{links[self.folders()[0]]}"]
        self.fired(expected)
        for folder in self.folders():
            os.link(folder / "file", folder / "second")
        expected += ["many: Resource limit matched: hardlink test failed for /file -- current hardlink is 2",
                     "changed: Resource limit changed: hardlink for /file changed to 2"]
        self.fired(expected)
        for folder in self.folders():
            (folder / "second").unlink()
        expected += ["few: Resource limit succeeded: hardlink check succeeded [current hardlink = 1]",
                     "changed: Resource limit changed: hardlink for /file changed to 1", expected[0]]
        self.fired(expected)

    def test_a_changed_output_acts_as_in_monit(self):
        outputs = "a a b b b c d d"
        rules = {"changed": ("if content changed", "else"), "same": ("if content not changed", "else"),
                 "twice": ("if content changed for 2 cycles", "")}
        body = ("run=0\n[ ! -e {name}.runs ] || read run < {name}.runs\nrun=$((run + 1))\n"
                "echo $run > {name}.new && mv {name}.new {name}.runs\n"
                f'set -- {outputs}\nout=end$run\n[ $run -gt $# ] || eval "out=\\${{$run}}"\necho $out')

        def more(folder: Path) -> str:
            act, text = self.act(folder), ""
            for name, (rule, branch) in rules.items():
                path = self.place(folder, name, body.replace("{name}", name))
                back = f' else if succeeded then exec "{act} {name}-back"' if branch else ""
                text += f'check program {name} with path "{path}"\n  {rule} then exec "{act} {name}"{back}\n'
            return text

        self.run_both(lambda folder: [], more)

        def of(folder: Path) -> list[str]:
            """What was done in the first eight runs."""
            return [line for line in self.acts(folder) if "end" not in line]

        for folder in self.folders():
            self.wait_for(lambda: all((folder / f"{name}.runs").exists() and int((folder / f"{name}.runs").read_text()) > 10
                                      for name in rules), f"ten runs of {folder.name}")

        def changed(before: str, after: str) -> str:
            return ("content changed: <<<<<<< Begin previous " f"{before} ======= End previous - Begin current {after} "
                    ">>>>>>> End current")

        def same(what: str) -> str:
            return f"content remained the same: <<<<<<< Begin {what} >>>>>>> End"

        match, no_match = "Content match", "Content doesn't match"
        expected = sorted(
            [f"changed: {match}: {changed(one, two)}" for one, two in (("a", "b"), ("b", "c"), ("c", "d"))] +
            [f"changed-back: {no_match}: {same(one)}" for one in ("b", "d")] +
            [f"same: {match}: {same(one)}" for one in ("a", "b", "b", "d")] +
            [f"same-back: {no_match}: {changed(one, two)}" for one, two in (("a", "b"), ("b", "c"))] +
            [f"twice: {match}: {changed('c', 'd')}"])
        for folder in self.folders():
            self.assertEqual(of(folder), expected, folder.name)

    def test_a_security_attribute_is_compared_as_in_monit(self):
        label = Path("/proc/self/attr/current")
        try:
            known = label.read_text().strip("\0\n")
        except OSError:
            self.skipTest("processes have no security attribute here")
        tests = {"is": f'security attribute = "{known}"', "not": f'security attribute != "{known}"',
                 "like": "security attribute =~ ^.*$", "unlike": 'security attribute !=~ "^nothing-like-it$"',
                 "other": 'security attribute ne "nothing"', "old": 'failed security attribute "nothing"'}
        pidfile = self.busy_process()
        self.run_both(lambda folder: [],
                      lambda folder: self.block(folder, f"check process node with pidfile {pidfile}", tests))
        told = f"Invalid type: Security attribute test failed for node -- current attribute is '{known}'"
        self.fired([f"{name}: {told}" for name in ("is", "like", "unlike", "other", "old")])

    def test_the_load_and_the_pid_of_a_process_are_tested_as_in_monit(self):
        first, second = self.busy_process(), None
        files = {folder: self.path(f"{folder.name}.pid") for folder in self.folders()}
        for path in files.values():
            path.write_text(first.read_text())
        other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(1000)"], start_new_session=True)
        self.addCleanup(lambda: (other.kill(), other.wait()))
        self.run_both(lambda folder: [],
                      lambda folder: self.block(folder, f"check process node with pidfile {files[folder]}",
                                                {"load": "loadavg (15min) >= 0", "pid": "changed pid"}))
        for folder in self.folders():
            self.wait_for(lambda: any(line.startswith("load: Resource limit matched: loadavg (15min) of")
                                      for line in self.acts(folder)), f"the load in {folder.name}",
                          detail=lambda: str(self.acts(folder)))
        before = first.read_text()
        for path in files.values():
            path.with_suffix(".new").write_text(str(other.pid))
            os.rename(path.with_suffix(".new"), path)
        line = f"pid: PID changed: process PID changed from {before} to {other.pid}"
        for folder in self.folders():
            self.wait_for(lambda: line in self.acts(folder), f"the other process in {folder.name}",
                          detail=lambda: str(self.acts(folder)))

    def test_a_checksum_of_no_kind_is_sha256_as_in_monit(self):
        def more(folder: Path) -> str:
            (folder / "file").write_text("x")
            return (self.block(folder, f"check file a with path {folder}/file", {"first": "failed checksum"}) +
                    self.block(folder, f"check file b with path {folder}/file", {"changed": "changed checksum"}))

        self.run_both(lambda folder: [], more)
        self.more_beats(2)
        for folder in self.folders():
            (folder / "file").write_text("y")
        of_x = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
        of_y = "a1fce4363854ff888cff4b8e7875d600c2682390412a8cf79b37d0b11148b0fa"
        self.fired([f"first: Checksum failed: checksum failed, expected {of_x} got {of_y}",
                    f"changed: Checksum changed: checksum changed to {of_y}"])

    def test_ignored_rules_run_nothing_as_in_monit(self):
        def more(folder: Path) -> str:
            act = self.act(folder)
            quiet = self.place(folder, "quiet", "[ ! -e bad ]")
            return (f'check program a with path "{quiet}"\n  if status != 0 then ignore else exec "{act} back"\n'
                    f'check program b with path "{quiet}"\n  if status != 0 then exec "{act} bad" else ignore\n')

        self.run_both(lambda folder: [], more)
        self.more_beats(2)
        for folder in self.folders():
            (folder / "bad").touch()
        self.fired(["bad: Status failed: status failed (1) -- no output"])
        for folder in self.folders():
            (folder / "bad").unlink()
        self.fired(["bad: Status failed: status failed (1) -- no output",
                    "back: Status succeeded: status succeeded (0) -- no output"])


class Own(supervised.Case):
    """Where healer does otherwise on purpose, and what concerns its state."""

    def text(self, *words: str) -> str:
        return self.ctl(self.daemon, *words).stdout

    def script(self, name: str, body: str) -> Path:
        path = self.path(name)
        path.write_text("#!/bin/sh\n" + body)
        path.chmod(0o755)
        return path

    def test_an_exec_that_takes_too_long_is_ended_with_its_children_and_holds_nothing_up(self):
        bad = self.script("bad", "exit 1\n")
        beat = self.script("beat", f"echo x >> {self.path('beats')}\n")
        long = self.script("long", f"trap '' TERM\nsleep 88888 &\necho $$ $! > {self.path('$1')}\nwait; sleep 88888\n")
        rules = "set limits { execTimeout: 600 ms }\n"
        for name, option in (("own", "with timeout 1 second"), ("limit", ""), ("none", "with timeout 0 seconds")):
            rules += (f'check program {name} with path "{bad}"\n'
                      f'  if status != 0 then exec "{long} {name}.pids" {option}\n')
        rules += f'check program beat with path "{beat}"\n  if status != 0 then alert\n'
        self.daemon = self.start(rules, cycle="1")
        pids = {}
        for name in ("own", "limit", "none"):
            path = self.path(f"{name}.pids")
            self.wait_for(lambda: path.exists() and len(path.read_text().split()) == 2, f"the program of {name}")
            pids[name] = [int(pid) for pid in path.read_text().split()]
        self.addCleanup(lambda: [subprocess.run(["kill", "-9", str(pid)], stderr=subprocess.DEVNULL) for pid in pids["none"]])

        def ended(name: str) -> bool:
            return all(processes.state(pid) in ("", "Z") for pid in pids[name])

        for name in ("own", "limit"):
            self.wait_for(lambda: ended(name), f"the end of the program of {name} and its child")
        self.assertFalse(ended("none"))
        before = len(self.path("beats").read_text().split())
        self.wait_for(lambda: len(self.path("beats").read_text().split()) >= before + 2, "more runs meanwhile")
        for name in ("own", "limit"):
            self.wait_for(lambda: "timed out" in self.text("history", name), f"the record of {name}",
                          detail=lambda: self.text("history", name))
        self.assertNotIn("timed out", self.text("history", "none"))

    def test_a_change_while_healer_is_away_is_seen(self):
        said = self.path("said")
        said.write_text("one\n")
        show = self.script("show", f"cat {said}\necho x >> {self.path('runs')}\n")
        note = self.script("note", f'printf "%s" "$MONIT_DESCRIPTION" > {self.path("noted")}\n')
        self.daemon = self.start(f'check program p with path "{show}"\n  if content changed then exec "{note}"\n', cycle="1")
        self.wait_for(lambda: self.path("runs").exists() and len(self.path("runs").read_text().split()) >= 2, "two runs")
        self.daemon.stop()
        said.write_text("two\n")
        self.daemon.launch()
        self.wait_for(lambda: self.path("noted").exists() and "End current" in self.path("noted").read_text(), "the change")
        self.assertIn("Begin previous\none\n", self.path("noted").read_text())
        self.assertIn("Begin current\ntwo\n", self.path("noted").read_text())

    def test_ignored_is_recorded_and_nobody_is_told(self):
        bad = self.script("bad", f"[ ! -e {self.path('broken')} ]\n")
        self.daemon = self.start('set alert a@example.org\nset mailserver 127.0.0.1 port 9\n'
                                 f'check program p with path "{bad}"\n  if status != 0 then ignore\n', cycle="1")
        self.wait_for(lambda: self.daemon.ask("status", "p")["services"][0]["runs"] >= 1, "a run")
        self.path("broken").touch()
        self.wait_for(lambda: self.daemon.ask("status", "p")["services"][0]["state"] == "failed", "the failure")
        self.path("broken").unlink()
        self.wait_for(lambda: self.daemon.ask("status", "p")["services"][0]["state"] == "running", "the recovery")
        told = self.text("history", "p")
        self.assertIn("status failed (1)", told)
        self.assertIn("status succeeded (0)", told)
        self.assertNotIn("alert", told)
        self.assertNotIn("mail", told)
        self.assertIn("then ignore", self.text("explain", "p"))

    def test_another_version_of_monit_fires_nothing_and_is_told_of(self):
        node = subprocess.Popen([sys.executable, "-c", SHARING, str(self.path("pid"))], start_new_session=True)
        self.addCleanup(lambda: (subprocess.run(["pkill", "-9", "-s", str(node.pid)], check=False), node.wait()))
        self.wait_for(self.path("pid").exists, "the process")
        file = self.path("file")
        file.write_text("x")
        note = self.script("note", f'echo "$MONIT_SERVICE $MONIT_DESCRIPTION" >> {self.path("noted")}\n')
        rules = (f'check file f with path {file}\n  if failed checksum then exec "{note}"\n'
                 f'check file g with path {file}\n  if changed checksum then exec "{note}"\n'
                 f'check process p with pidfile {self.path("pid")}\n  if memory > 1 GB then exec "{note}"\n'
                 f'  if total memory > 2 GB then exec "{note}"\n')
        self.daemon = self.start(rules, cycle="1")

        def memory(name: str) -> float | None:
            for one in self.daemon.ask("status", "p")["services"][0]["measured"]:
                if (one["name"], one["unit"]) == (name, "bytes"):
                    return one["value"]
            return None

        def ran(count: int) -> bool:
            return all(one["runs"] >= count for one in self.daemon.ask("status")["services"])

        self.wait_for(lambda: ran(2) and memory("total memory"), "two runs")
        resident, together = memory("memory"), memory("total memory")
        self.assertGreater(together, 4 * 60 << 20)  # four times the 64 MB that they share
        self.daemon.rules.write_text("set monit 6\n" + self.daemon.rules.read_text())
        told = self.text("diff") + self.text("reload")
        for word in ("set monit 5.33 -> 6", "SHA256", "PSS", "recovery within a window", "'repeat'"):
            self.assertIn(word, told)
        self.assertIn("starts over  if failed sha256 checksum", told)
        self.wait_for(lambda: ran(2), "more runs")
        self.wait_for(lambda: memory("memory") < resident - (32 << 20), "the share of the memory",
                      detail=lambda: f"{memory('memory')} of {resident}")
        self.wait_for(lambda: memory("total memory") < together - (128 << 20), "the share of all of them",
                      detail=lambda: f"{memory('total memory')} of {together}")
        self.assertFalse(self.path("noted").exists(), self.path("noted").exists() and self.path("noted").read_text())
        file.write_text("y")
        self.wait_for(lambda: self.path("noted").exists() and len(self.path("noted").read_text().splitlines()) == 2,
                      "both checksums")

    def test_status_shows_what_monit_6_shows(self):
        file = self.path("file")
        file.write_text("x")
        os.link(file, self.path("second"))
        lines = "\n".join(f"line {number} of the output" for number in range(18))
        many = self.script("many", f"cat <<'END'\n{lines}\nEND\n")
        self.daemon = self.start(f'check file f with path {file}\n  if hardlink > 9 then alert\n'
                                 f'check program p with path "{many}"\n  if status != 0 then alert\n'
                                 "check system $HOST\n  if pagein > 1000000 per second then alert\n", cycle="1")
        self.wait_for(lambda: all(one["runs"] >= 2 for one in self.daemon.ask("status")["services"]), "two runs")
        self.assertIn("hardlink 2", self.text("status", "f"))
        text = self.text("status", "p")
        self.assertIn("line 17 of the output", text)
        system = next(one for one in self.daemon.ask("status")["services"] if one["kind"] == "system")
        self.wait_for(lambda: "pageout" in self.text("status", system["name"]), "the paging")
        text = self.text("status", system["name"])
        for word in ("pagein", "booted", "uptime"):
            self.assertIn(word, text)
        with open("/proc/stat", encoding="ascii") as stat:
            boot = next(int(line.split()[1]) for line in stat if line.startswith("btime"))
        booted = datetime.fromisoformat(system["booted"].replace("Z", "+00:00")).timestamp()
        self.assertLess(abs(booted - boot), 30)


if __name__ == "__main__":
    support.main()
