# SPDX-License-Identifier: MIT
"""Named pipes: the same rules in healer and the real Monit, which fire the same and say the same of it, but for the form
of a date."""
import os
from pathlib import Path

import both
import support


class Fifo(both.Acts):
    def test_a_fifo_is_tested_as_in_monit(self):
        def more(folder: Path) -> str:
            os.mkfifo(folder / "pipe", 0o600)
            (folder / "pipe").chmod(0o600)
            # Monit keeps only the last test of a permission, and of an owner, in a service.
            return (self.block(folder, f"check fifo pipe with path {folder}/pipe",
                               {"mode": "failed permission 0640", "uid": "failed uid 1", "gid": "failed gid 1",
                                "young": "timestamp < 1 hour", "old": "modification time > 1 hour",
                                "gone": "does not exist"}) +
                    self.block(folder, f"check fifo other with path {folder}/pipe",
                               {"changed": "changed permission", "touched": "changed mtime", "kept": "failed uid 0"}))

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
