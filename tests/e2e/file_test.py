# SPDX-License-Identifier: MIT
"""Files: the same rules in healer and the real Monit, which fire the same and say the same of it."""
import os
from pathlib import Path

import both
import support

MD5_OF_X = "9dd4e461268c8034f5c8564e155c67a6"
SHA1_OF_X = "11f6ad8ec52a2984abaafd7c3b516503785c2072"
GROWN = "x" + 16 * "y"
MD5_GROWN = "7bcee0d701b0925e7feebc48c6e41e63"
SHA1_GROWN = "c8b0b4d4a67a92d34dfe98cc285ca02a97607172"


class File(both.Acts):
    def test_a_file_is_tested_as_in_monit(self):
        def more(folder: Path) -> str:
            path = folder / "file"
            path.write_text("x")
            path.chmod(0o640)
            # Monit keeps only the last test of a checksum, and of a permission, in a service.
            return (self.block(folder, f"check file a with path {path}",
                               {"big else small": "size > 10 B", "less": "size < 3", "huge": "size > 1 kB",
                                "sum": "changed checksum", "size": "changed size", "mode": "failed permission 0600",
                                "gone else back": "does not exist"}) +
                    self.block(folder, f"check file b with path {path}",
                               {"wrong else right": f"failed md5 checksum expect {MD5_OF_X}"}) +
                    self.block(folder, f"check file c with path {path}", {"first": "failed checksum"}) +
                    self.block(folder, f"check file d with path {path}",
                               {"wrong1": f"failed sha1 checksum expect {SHA1_OF_X}"}) +
                    self.block(folder, f"check file e with path {path}", {"there": "exist", "old": "mtime > 1 hour"}))

        self.run_both(lambda folder: [], more)
        paths = [folder / "file" for folder in self.folders()]
        expected = ["mode: Permission failed: permission test failed for /file [current permission 0640]",
                    "less: Size failed: size test failed for /file -- current size is 1 B",
                    "there: Does exist: file exists"]
        self.fired(expected)
        for path in paths:
            path.write_text(GROWN)
        failed = f"checksum failed, expected {MD5_OF_X} got {MD5_GROWN}"
        expected += [f"sum: Checksum changed: checksum changed to {MD5_GROWN}",
                     "size: Size changed: size for /file changed to 17 B",
                     "big: Size failed: size test failed for /file -- current size is 17 B",
                     f"wrong: Checksum failed: {failed}", f"first: Checksum failed: {failed}",
                     f"wrong1: Checksum failed: checksum failed, expected {SHA1_OF_X} got {SHA1_GROWN}"]
        self.fired(expected)
        for path in paths:
            path.unlink()
        expected += ["gone: Does not exist: file doesn't exist"]
        self.fired(expected)
        for path in paths:
            path.write_text("x")
            path.chmod(0o640)
        expected += ["back: Exists: file exists", f"sum: Checksum changed: checksum changed to {MD5_OF_X}",
                     "size: Size changed: size for /file changed to 1 B",
                     "small: Size succeeded: size check succeeded [current size = 1 B]",
                     "less: Size failed: size test failed for /file -- current size is 1 B",
                     "right: Checksum succeeded: checksum is valid"]
        # What has fired before a file went may fire anew when it is there again.
        again = {"mode: Permission failed: permission test failed for /file [current permission 0640]",
                 "there: Does exist: file exists"}
        for folder in self.folders():
            self.wait_for(lambda: set(expected) <= set(self.acts(folder)), f"the actions of {folder.name}",
                          detail=lambda: str(self.acts(folder)))
        healer, monit = (self.acts(folder) for folder in self.folders())
        self.assertEqual(set(healer) - again, set(monit) - again)
        for path in paths:
            os.utime(path, (1e9, 1e9))
        for folder in self.folders():
            self.wait_for(lambda: any(line.startswith("old: Timestamp failed") for line in self.acts(folder)),
                          f"the age in {folder.name}")

    def test_new_lines_are_found_as_in_monit(self):
        def more(folder: Path) -> str:
            for name in ("log", "other"):
                (folder / name).write_text("old error\n")
            return (self.block(folder, f"check file log with path {folder}/log",
                               {"eq": 'content = "error"', "ne": 'content != "error"', "match": 'match "warn"',
                                "unlike": 'not match "error"'}) +
                    self.block(folder, f"check file other with path {folder}/other\n"
                                       '  ignore content eq "skip"\n  ignore match "noise"',
                               {"other": 'content = "error"'}))

        self.run_both(lambda folder: [], more)
        self.fired([])

        def written(name: str, text: str) -> None:
            for folder in self.folders():
                with (folder / name).open("a") as log:
                    log.write(text)

        expected = []

        def told(name: str, *lines: str) -> list[str]:
            expected.extend([f"{name}: Content match: content match:", *lines])

        written("log", "new error A\nplain line\nnew error B\nwarn me\n")
        told("eq", "new error A", "new error B")
        told("ne", "plain line", "warn me")
        told("match", "warn me")
        told("unlike", "plain line", "warn me")
        self.fired_lines(expected)
        written("log", "half err")
        self.fired_lines(expected)
        written("log", "or\n")
        told("eq", "half error")
        self.fired_lines(expected)
        for folder in self.folders():
            (folder / "log").rename(folder / "log.1")
        written("log", "fresh error\n")
        told("eq", "fresh error")
        self.fired_lines(expected)
        for folder in self.folders():
            os.truncate(folder / "log", 0)
        self.more_beats(both.QUIET)
        written("log", "error\n")
        told("eq", "error")
        self.fired_lines(expected)
        written("other", "error skip\nerror noise\nerror real\n")
        told("other", "error real")
        self.fired_lines(expected)

    def fired_lines(self, expected: list[str]) -> None:
        """A description of lines ends in a newline, after which the program's own leaves an empty line."""
        for folder in self.folders():
            self.wait_for(lambda: [line for line in self.acts(folder) if line] == sorted(expected),
                          f"the actions of {folder.name}", detail=lambda: "\n".join(self.acts(folder)))
        self.more_beats(both.QUIET)
        for folder in self.folders():
            self.assertEqual([line for line in self.acts(folder) if line], sorted(expected), folder.name)

    def test_lines_that_come_while_nobody_looks_are_found_after_a_restart(self):
        log = self.path("log")
        log.write_text("old error\n")
        daemon = self.start(f'check file a with path {log}\n  if content = "error" then alert\n')
        self.wait_for(lambda: "running" in daemon.ctl("summary").stdout, "the first look")
        daemon.stop()
        with log.open("a") as more:
            more.write("an error while down\n")
        daemon.launch()
        self.wait_for(lambda: "an error while down" in daemon.log_text(), "the firing")
        self.assertNotIn("old error", daemon.log_text())

    def test_what_a_checksum_was_at_first_outlives_a_restart(self):
        path = self.path("file")
        path.write_text("x")
        daemon = self.start(f"check file a with path {path}\n  if failed sha256 checksum then alert\n")
        self.wait_for(lambda: "running" in daemon.ctl("summary").stdout, "the first look")
        daemon.stop()
        path.write_text("changed while nobody looked")
        daemon.launch()
        self.wait_for(lambda: "checksum failed, expected 2d711642" in daemon.log_text(), "the firing")


if __name__ == "__main__":
    support.main()
