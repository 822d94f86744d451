# SPDX-License-Identifier: MIT
"""Network interfaces: the same rules in healer and the real Monit, which look at the same interface."""
import os
import re
import shutil
import subprocess
from pathlib import Path

import both
import interfaces
import support

NAME = f"hn{os.getpid()}"  # no other test has it
MEAN = re.compile(r"(?<= )\d+(\.\d)?( [kM]?B|%)?(?= matches)")


class Network(both.Acts):
    def setUp(self) -> None:
        super().setUp()
        self.tap = self.make(NAME)
        self.expected: list[str] = []

    def make(self, name: str) -> interfaces.Tap:
        if not shutil.which("ip"):
            self.skipTest("ip is not installed")
        try:
            tap = interfaces.Tap(name)
        except OSError as error:
            self.skipTest(f"no interface can be made here: {error}")
        self.addCleanup(tap.close)
        return tap

    def watch(self, tests: dict[str, str], header: str = f"check network n with interface {NAME}") -> None:
        self.run_both(lambda folder: [], lambda folder: self.block(folder, header, tests))
        self.more_beats(both.QUIET)  # both have seen what it was

    def begin_counting(self) -> None:
        """Monit knows no rate where nothing had come before."""
        self.tap.download(100)
        self.tap.upload(100)

    def then(self, *acts: str) -> None:
        """These have come, in both, and no others."""
        self.expected += acts
        self.fired(self.expected)

    def acts(self, folder: Path) -> list[str]:
        """Means are never the same twice."""
        return [MEAN.sub("N", act) if " in last 1 second" in act or "saturation of" in act else act
                for act in super().acts(folder)]

    def test_a_link_goes_down_comes_up_and_goes_away_as_in_monit(self):
        self.watch({"down else up": "link down", "again": "failed link for 2 cycles"})
        self.then()
        self.tap.plug(False)
        self.then("down: Link down: link down", "again: Link down: link down")
        self.tap.plug(True)
        self.then("up: Link up: link up")
        self.tap.switch(False)
        self.then("down: Link down: link down", "again: Link down: link down")
        self.tap.switch(True)
        self.then("up: Link up: link up")
        self.tap.close()
        gone = f"link data collection failed -- Cannot read /sys/class/net/{NAME}/operstate -- No such file or directory"
        self.then(f"down: Link down: {gone}", f"again: Link down: {gone}")
        self.tap = self.make(NAME)
        self.then("up: Link up: link up")

    def test_a_link_that_is_to_be_down_is_tested_as_in_monit(self):
        act = "exec \"{act} isup\" else if failed then exec \"{act} isdown\""
        self.run_both(lambda folder: [], lambda folder: f"check network n with interface {NAME}\n  if link up then " +
                      act.format(act=self.act(folder)) + "\n")
        self.then("isup: Link down: link up")
        self.tap.plug(False)
        self.then("isdown: Link up: link down")
        self.tap.plug(True)
        self.then("isup: Link down: link up")
        self.tap.close()
        self.then(f"isdown: Link up: link data collection failed -- Cannot read /sys/class/net/{NAME}/operstate -- "
                  "No such file or directory")

    def test_what_a_link_can_carry_is_tested_as_in_monit(self):
        self.tap.carries(1000)
        self.watch({"capacity else same": "changed link capacity", "any": "changed link"})
        self.then()
        self.tap.carries(100)
        self.then("capacity: Speed changed: link speed changed to 100 Mb/s",
                  "any: Speed changed: link speed changed to 100 Mb/s",
                  "same: Speed not changed: link mode has not changed since last cycle [current mode is full-duplex]")
        self.tap.carries(100, full=False)
        for folder in self.folders():  # Monit tells in the same run that the speed has not changed, and so it is over
            self.wait_for(lambda: "capacity: Speed changed: link mode is now half-duplex" in self.acts(folder), folder.name)

    def test_rates_are_tested_as_in_monit(self):
        self.tap.carries(10)
        self.begin_counting()
        self.watch({"down else down-ok": "download > 100 kB/s", "up else up-ok": "upload rate > 100 kB per second",
                    "many else few": "download > 50 packets/s", "little": "upload > 1 GB/s"})
        self.then()
        self.tap.download(1400, 500)
        self.then("down: Download bytes exceeded: download N matches limit [download rate > 100 kB in last 1 second]",
                  "down-ok: Download bytes ok: download check succeeded [current download rate 0 B in last 1 second]",
                  "many: Download packets exceeded: download packets N matches limit [download packets > 50 in last 1 second]",
                  "few: Download packets ok: download packets check succeeded "
                  "[current download packets 0 in last 1 second]")
        self.tap.upload(1400, 500)
        self.then("up: Upload bytes exceeded: upload N matches limit [upload rate > 100 kB in last 1 second]",
                  "up-ok: Upload bytes ok: upload check succeeded [current upload rate 0 B in last 1 second]")

    def test_a_link_is_full_as_in_monit_but_stands_so(self):
        self.tap.carries(10)
        self.begin_counting()
        self.watch({"full else room": "saturation > 20%", "never": "saturation > 500%"})
        self.then()
        self.tap.upload(1400, 500)
        full = "full: Saturation exceeded: link upload saturation of N matches limit [saturation > 20.0%]"
        for folder in self.folders():
            self.wait_for(lambda: full in self.acts(folder), folder.name)
            # Monit tells it in the same run of the way back, which is not full.
            self.wait_for(lambda: any("room: Saturation ok: link" in act for act in self.acts(folder)), folder.name)

    def test_totals_are_tested_as_in_monit(self):
        self.watch({"some": "total downloaded > 10 kB in last 5 minutes", "much": "total download > 1 GB in last hour",
                    "sent": "total uploaded > 15 packets in last 2 hours", "all else gone": "total upload > 20 kB in last day"})
        self.then()
        self.tap.download(1000, 8)
        self.then()
        self.tap.download(1000, 8)
        self.then("some: Download bytes exceeded: total download 15.6 kB matches limit "
                  "[download rate > 10 kB in last 5 minute]")
        self.tap.upload(1000, 16)
        self.then("sent: Upload packets exceeded: total upload packets 16 matches limit "
                  "[upload packets > 15 in last 2 hour]")
        self.tap.plug(False)  # what it carries then is counted, and told of when it is up again
        self.more_beats(both.QUIET)
        self.tap.plug(True)
        self.wait_for(lambda: Path(f"/sys/class/net/{NAME}/operstate").read_text() == "up\n", "the link")
        self.tap.upload(1000, 8)
        self.then("all: Upload bytes exceeded: total upload 23.4 kB matches limit [upload rate > 20 kB in last 24 hour]")
        self.tap.close()
        self.more_beats(both.QUIET)
        self.tap = self.make(NAME)  # another one of that name: its counters begin at 0
        self.then("gone: Upload bytes ok: total upload check succeeded [current upload rate 0 B in last 24 hour]")

    def test_an_interface_is_found_by_its_address_as_in_monit(self):
        def address(word: str) -> None:
            subprocess.run(["ip", "address", word, "10.213.77.1/24", "dev", NAME], check=True)

        address("add")
        self.watch({"down else up": "link down"}, "check network n with address 10.213.77.1")
        self.then()
        self.tap.plug(False)
        self.then("down: Link down: link down")
        self.tap.plug(True)
        self.then("up: Link up: link up")
        address("del")
        self.then("down: Link down: link data collection failed -- Address 10.213.77.1 not found")
        address("add")
        self.then("up: Link up: link up")

    def test_without_a_test_of_the_link_its_going_down_alerts(self):
        daemon = self.start(f"check network n with interface {NAME}\n"
                            "check network six with address ::1\n  if total download > 1 GB in last day then alert\n")
        self.wait_for(lambda: "download" in self.ctl(daemon, "status", "n").stdout, "the rates")
        self.tap.plug(False)
        self.wait_for(lambda: "link down" in daemon.log_text(), "the alert")
        self.wait_for(lambda: "if link down" in self.ctl(daemon, "explain", "n").stdout, "why")
        self.assertIn("link down", self.ctl(daemon, "status", "n").stdout)
        names = [one["name"] for one in daemon.ask("status", "six")["services"][0]["measured"]]
        self.assertEqual(names, ["upload saturation", "download saturation", "upload", "download", "upload", "download",
                                 *["total upload in last 24 hour", "total download in last 24 hour"] * 2])
        self.assertIn("total download in last 24 hour", self.ctl(daemon, "status", "six").stdout)


if __name__ == "__main__":
    support.main()
