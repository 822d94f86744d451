# SPDX-License-Identifier: MIT
"""Workflows whose steps are scripts that leave a trace: what tests of healings share."""
from pathlib import Path

import mails
import support
from support import processes


class Case(mails.Receiving, support.Case):
    """Each target NAME fails while the file broken.NAME is there. What workflows run is the script `do WORD`: it leaves
    "TARGET WORD" in the file `trace`, and what it does further, files say: it goes on while hold.WORD is there, mends its
    target where there is heals.WORD, prints output.WORD, and ends with the status in status.WORD."""

    def setUp(self) -> None:
        super().setUp()
        self.check = self.script("check", f"test ! -e {self.path('broken.')}$1")
        self.do = self.script("do", f"""
pwd > {self.folder}/"$1.directory"
cd {self.folder}
env > "$1.$HEALER_TARGET.environment"
echo $$ > "$1.pid"
echo "$HEALER_TARGET $1" >> trace
while [ -e "hold.$1" ]; do sleep 0.05; done
if [ -e "heals.$1" ]; then rm -f "broken.$HEALER_TARGET"; fi
if [ -e "output.$1" ]; then cat "output.$1"; fi
if [ -e "status.$1" ]; then exit "$(cat "status.$1")"; fi""")

    def program(self, word: str) -> str:
        return f'program "{self.do} {word}"'

    def service(self, name: str, workflow: str = "rebuild", more: str = "") -> str:
        return (f'check program {name} with path "{self.check} {name}"\n{more}'
                f"  if status != 0 for 2 cycles then heal with {workflow}\n")

    def workflow(self, *, name: str = "rebuild", steps: tuple[str, ...] = ("rebuild",), more: str = "",
                 guard: str = "guard", cooldown: str = "1 hour") -> str:
        """One whose steps are programs, and which verifies."""
        told = "".join(f'  step "{step}" {self.program(step)}\n' for step in steps)
        return (f"workflow {name} {{\n  guard {self.program(guard)}\n{told}"
                f'  step "verify" recovered within 1 hour\n  cooldown {cooldown}\n{more}}}\n')

    def put(self, name: str, text: str = "") -> None:
        self.path(name).write_text(text)

    def take(self, name: str) -> None:
        self.path(name).unlink()

    def trace(self) -> list[str]:
        path = self.path("trace")
        return path.read_text().splitlines() if path.exists() else []

    def wait_trace(self, line: str, daemon: support.Daemon, count: int = 1) -> None:
        self.wait_for(lambda: self.trace().count(line) >= count, f"{line} for the time number {count}",
                      detail=lambda: f"{self.trace()}\n{self.texts(daemon)}")

    def texts(self, daemon: support.Daemon) -> list[str]:
        """The history, the oldest first."""
        return [record["text"] for record in daemon.ask("history")["records"]]

    def wait_told(self, daemon: support.Daemon, words: str, count: int = 1) -> None:
        self.wait_for(lambda: sum(words in text for text in self.texts(daemon)) >= count, f'"{words}" in the history',
                      detail=lambda: "\n".join(self.texts(daemon)))

    def told(self, daemon: support.Daemon, words: str) -> int:
        return sum(words in text for text in self.texts(daemon))

    def variable(self, word: str, target: str, name: str) -> str | None:
        for line in self.path(f"{word}.{target}.environment").read_text().splitlines():
            if line.startswith(f"{name}="):
                return line.partition("=")[2]
        return None

    def more_cycles(self, daemon: support.Daemon, count: int) -> None:
        cycles = lambda: daemon.ask("summary")["daemon"]["cycles"]  # noqa: E731
        wanted = cycles() + count
        self.wait_for(lambda: cycles() >= wanted, f"{count} more cycles")

    def pid(self, word: str) -> int:
        return int(self.path(f"{word}.pid").read_text())

    def wait_gone(self, pid: int) -> None:
        self.wait_for(lambda: processes.reap() or not processes.command_line(pid), f"the end of {pid}")
