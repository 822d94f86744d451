# SPDX-License-Identifier: MIT
"""Filesystems: the same rules in healer and the real Monit, over a filesystem in memory that is filled, mounted anew and
taken away."""
import subprocess
from pathlib import Path

import both
import support

KILOBYTE = 1024


def mount(*arguments: str) -> bool:
    return subprocess.run(["mount", *arguments], capture_output=True).returncode == 0


class Filesystem(both.Acts):
    def mounted(self, folder: Path) -> Path:
        point = folder / "fs"
        point.mkdir(exist_ok=True)
        if not mount("-t", "tmpfs", "-o", "size=1m,nr_inodes=100,mode=0700", "none", str(point)):
            self.skipTest("nothing can be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(point)], capture_output=True)
        return point

    def test_a_filesystem_is_tested_as_in_monit(self):
        def more(folder: Path) -> str:
            point = self.mounted(folder)
            return (self.block(folder, f"check filesystem fs with path {point}",
                               {"half else free": "space usage > 50%", "files else few": "inode usage > 20",
                                "left": "space free < 512 kB", "flags": "changed fsflags", "mode": "failed permission 0755",
                                "uid": "failed uid 1", "read": "read > 0 B/s", "gone else back": "does not exist"}) +
                    self.block(folder, f"check filesystem here with path {point}", {"there": "exist"}))

        self.run_both(lambda folder: [], more)
        points = [folder / "fs" for folder in self.folders()]
        expected = ["mode: Permission failed: permission test failed for /fs [current permission 0700]",
                    "uid: UID failed: uid test failed for fs -- current uid is 0",
                    "there: Does exist: filesystem '/fs' exists"]
        self.fired(expected)
        for point in points:
            (point / "big").write_bytes(b"x" * 600 * KILOBYTE)
            for number in range(30):
                (point / str(number)).touch()
        expected += ["half: Resource limit matched: space usage 58.6% matches resource limit [space usage > 50.0%]",
                     "left: Resource limit matched: space free 424 kB matches resource limit [space free < 512 kB]",
                     "files: Resource limit matched: inode usage 32 matches resource limit [inode usage > 20]"]
        self.fired(expected)
        for point in points:
            for path in point.iterdir():
                path.unlink()
        expected += ["free: Resource limit succeeded: space usage test succeeded [current space usage = 0.0%]",
                     "few: Resource limit succeeded: inode usage test succeeded [current inode usage = 1]"]
        self.fired(expected)
        for point in points:
            mount("-o", "remount,ro", str(point))
        flags = "relatime,size=1024k,nr_inodes=100,mode=700"
        expected += [f"flags: Filesystem flags changed: filesystem flags changed from 'rw,{flags}' to 'ro,{flags}'"]
        self.fired(expected)
        for point in points:
            subprocess.run(["umount", str(point)], check=True)
        expected += ["gone: Does not exist: unable to read filesystem '/fs' state"]
        self.fired(expected)

    def test_a_device_is_found_by_its_name_and_what_is_mounted_from_nowhere_is_not(self):
        daemon = self.start("check filesystem root with path /\n  if space usage > 0% then alert\n"
                            "check filesystem none with path //host/share\n  if does not exist then alert\n")
        self.wait_for(lambda: "space usage" in daemon.log_text(), "the first look")
        self.wait_for(lambda: "unable to read filesystem '//host/share' state" in daemon.log_text(), "the second")


if __name__ == "__main__":
    support.main()
