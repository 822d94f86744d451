# SPDX-License-Identifier: MIT
"""Monit's own client asks healer as it asks Monit: it prints the same, does the same and ends with the same statuses."""
import re
import socket

import monit_sides
import support
from monit_sides import shape
from support import monits


class MonitClient(monit_sides.Case):
    """The real client asks healer, as it asks Monit."""

    def both_start(self) -> None:
        # Each has processes of its own: what a start program writes is beside its own pid file.
        live = self.script("live", f"""
while [ -e "$2.hold-$1" ]; do sleep 0.1; done
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

    def test_a_restart_is_answered_at_once_and_shown_as_monit_shows_it(self):
        self.both_start()
        for name in self.sides:
            self.wait_for(lambda: self.pid(name, "one"), f"the process of {name}", detail=self.daemon.told)
        self.both_say("one", "status", "0")
        self.both_say("one", "monitor", "1")
        held = {action: [self.folder / f"of-{side}" / f"one.pid.hold-{action}" for side in self.sides] for action in ("stop", "start")}
        for path in held["stop"] + held["start"]:
            path.touch()
        before = {side: self.pid(side, "one") for side in self.sides}
        self.says("restart", "one", status=0)

        def both_show(status: str) -> None:
            for name, side in self.sides.items():
                self.wait_for(lambda: re.search(f"^  status +{status}$", side.client("-B", "status", "one").stdout, re.M),
                              f"{status!r} of {name}", detail=lambda: side.client("-B", "status", "one").stdout + self.path("monit/monit.log").read_text())
        both_show("OK - restart pending")
        for path in held["stop"]:
            path.unlink()
        both_show("Initializing - restart pending")
        self.both_say("one", "monitor", "2")
        self.both_say("one", "pendingaction", "2")
        for path in held["start"]:
            path.unlink()
        both_show("OK")
        self.both_say("one", "pendingaction", "0")
        self.assertTrue(all(self.pid(side, "one") not in (0, before[side]) for side in self.sides))
        self.says("stop", "all", status=0)
        self.wait_for(lambda: not any(self.pid(side, name) for side in self.sides for name in ("one", "two")), "the stop of all")

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


if __name__ == "__main__":
    support.main()
