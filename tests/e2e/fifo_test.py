# SPDX-License-Identifier: MIT
"""Named pipes: the same rules in healer and the real Monit, which fire the same and say the same of it, but for the form
of a date."""
import os
import re
from pathlib import Path

import both
import support

DATE = re.compile(r"\w{3}, \d+ \w{3} \d{4} [\d:]+|\d{4}-\d\d-\d\dT[\d:.+Z]+")


class Fifo(both.Case):
    def act(self, folder: Path) -> Path:
        """Leaves its argument, the event and the description in `acts`."""
        return self.place(folder, "act", 'echo "$1: $MONIT_EVENT: $MONIT_DESCRIPTION" >> acts')

    def acts(self, folder: Path) -> list[str]:
        path = folder / "acts"
        text = path.read_text() if path.exists() else ""
        return sorted(DATE.sub("DATE", line).replace(str(folder), "") for line in text.splitlines())

    def fired(self, expected: list[str]) -> None:
        for folder in self.folders():
            self.wait_for(lambda: len(self.acts(folder)) >= len(expected), f"the actions of {folder.name}",
                          detail=lambda: str(self.acts(folder)))
        self.more_beats(both.QUIET)
        for folder in self.folders():
            self.assertEqual(self.acts(folder), sorted(expected), folder.name)

    def test_a_fifo_is_tested_as_in_monit(self):
        def more(folder: Path) -> str:
            act = self.act(folder)
            os.mkfifo(folder / "pipe", 0o600)
            (folder / "pipe").chmod(0o600)
            # Monit keeps only the last test of a permission, and of an owner, in a service.
            services = {"pipe": {"mode": "failed permission 0640", "uid": "failed uid 1", "gid": "failed gid 1",
                                 "young": "timestamp < 1 hour", "old": "modification time > 1 hour",
                                 "gone": "does not exist"},
                        "other": {"changed": "changed permission", "touched": "changed mtime", "kept": "failed uid 0"}}
            return "".join(f"check fifo {service} with path {folder}/pipe\n" +
                           "".join(f'  if {test} then exec "{act} {name}"\n' for name, test in tests.items())
                           for service, tests in services.items())

        self.run_both(lambda folder: [], more)
        expected = ["mode: Permission failed: permission test failed for /pipe [current permission 0600]",
                    "uid: UID failed: uid test failed for pipe -- current uid is 0",
                    "gid: GID failed: gid test failed for pipe -- current gid is 0",
                    "young: Timestamp failed: modify/change time for /pipe failed -- current modify/change time is DATE"]
        self.fired(expected)
        for folder in self.folders():
            (folder / "pipe").chmod(0o640)
        expected += ["changed: Permission changed: permission for /pipe changed from 0600 to 0640"]
        self.fired(expected)
        for folder in self.folders():
            os.utime(folder / "pipe", (1e9, 1e9))
        expected += ["touched: Timestamp changed: modify time for /pipe changed from DATE to DATE",
                     "old: Timestamp failed: modify time for /pipe failed -- current modify time is DATE"]
        self.fired(expected)
        for folder in self.folders():
            (folder / "pipe").unlink()
        expected += ["gone: Does not exist: fifo doesn't exist"]
        self.fired(expected)

    def test_another_type_is_no_fifo(self):
        (self.path("plain")).write_text("x")
        daemon = self.start(f"check fifo plain with path {self.path('plain')}\n  if does not exist then alert\n")
        self.wait_for(lambda: "is not a fifo" in daemon.log_text(), "the firing")


if __name__ == "__main__":
    support.main()
