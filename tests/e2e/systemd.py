# SPDX-License-Identifier: MIT
"""A bus of a test, and on it a systemd that does what the test says (tests/support/mock_systemd.cpp)."""
import shutil
import subprocess
from pathlib import Path

import processes
import support


def is_missing() -> str:
    """Why there can be none; empty: there can."""
    if not shutil.which("dbus-daemon"):
        return "dbus-daemon is not installed"
    return "" if (support.BUILD / "mock_systemd").exists() else "mock_systemd is not built"


class Systemd:
    def __init__(self, case: support.Case) -> None:
        self.case = case
        self.address = f"unix:path={case.path('bus')}"
        self.environment = {"DBUS_SYSTEM_BUS_ADDRESS": self.address}
        self.asked = case.path("asked-of-systemd")
        self.pings = 0
        self.bus: subprocess.Popen | None = None
        self.systemd: subprocess.Popen | None = None
        case.addCleanup(self.end)

    def start(self) -> "Systemd":
        place, config = Path(self.case.path("bus")), self.case.path("bus.conf")
        place.unlink(missing_ok=True)
        config.write_text(f"<busconfig><type>session</type><listen>{self.address}</listen><auth>EXTERNAL</auth>"
                          "<policy context='default'><allow send_destination='*'/><allow receive_sender='*'/>"
                          "<allow own='*'/><allow user='*'/></policy></busconfig>")
        self.bus = subprocess.Popen(["dbus-daemon", "--nofork", "--nopidfile", f"--config-file={config}"],
                                    stderr=subprocess.DEVNULL, preexec_fn=processes.die_with_parent)
        self.case.wait_for(place.exists, "the bus")
        with open(self.asked, "ab") as asked:
            before = self.asked.stat().st_size
            self.systemd = subprocess.Popen([support.BUILD / "mock_systemd"], stdin=subprocess.PIPE, stdout=asked,
                                            text=True, env=self.environment, preexec_fn=processes.die_with_parent)
        self.case.wait_for(lambda: "ready" in self.asked.read_text()[before:], "systemd")
        return self

    def end(self) -> None:
        for process in (self.systemd, self.bus):
            if process and process.poll() is None:
                process.kill()
                process.wait()
        if self.systemd:
            self.systemd.stdin.close()

    def say(self, *lines: str) -> None:
        """Has it do something, and waits until it has."""
        self.pings += 1
        answer = f"pong-{self.pings}."
        self.systemd.stdin.write("".join(f"{line}\n" for line in (*lines, f"ping {answer}")))
        self.systemd.stdin.flush()
        self.case.wait_for(lambda: answer in self.asked.read_text(), "an answer of systemd")

    def count(self, call: str) -> int:
        return self.asked.read_text().splitlines().count(call)
