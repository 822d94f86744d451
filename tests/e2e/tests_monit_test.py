# SPDX-License-Identifier: MIT
"""Every test of Monit's language that another file here does not go through by itself: beside the real Monit, once so
that it is true and once so that it is not. The true ones fire in both, as the same event and in the same words but for
what is measured; the others in neither."""
import os
import re
from pathlib import Path

import both
import support

# A test that is true and one that is not, of the same quantity.
PROCESS = [
    ("cpu > 0.1%", "cpu usage > 99.9%"),
    ("total cpu > 0.1%", "total cpu > 99.9%"),
    ("memory > 10 MB", "mem usage > 90%"),
    ("total memory > 40 MB", "total mem > 99%"),
    ("children > 3", "children > 4"),
    ("threads > 5", "threads > 6"),
    ("filedescriptors > 39", "filedescriptors > 90%"),
    ("total filedescriptors > 40", "total filedescriptors > 100000"),
    ("uptime > 0 seconds", "uptime > 1 day"),
    ("disk write > 1 kB/s", "disk write > 100 GB/s"),
    ("disk read < 1 GB/s", "disk read > 100 GB/s"),
    ("disk write activity < 100000 operations/s", "disk write > 100000 operations/s"),
    ("exist", "not exist"),
    ("failed uid 1", "failed uid 0"),
    ("failed euid 1", "failed euid 0"),
    ("failed gid 1", "failed gid 0"),
]
SYSTEM = [
    ("loadavg (1min) < 1000", "loadavg (1min) > 1000"),
    ("loadavg (5min) < 1000", "loadavg (5min) > 1000"),
    ("loadavg (15min) < 1000", "loadavg (15min) per core > 1000"),
    ("cpu > 0%", "cpu usage < 0%"),
    *((f"cpu ({part}) < 100.1%", f"cpu usage ({part}) > 100%")
      for part in ("user", "system", "wait", "nice", "hardirq", "softirq", "steal", "guest", "guestnice")),
    ("memory usage > 1 MB", "memory > 99.9%"),
    ("swap < 99%", "swap usage > 99%"),
    ("uptime > 1 second", "uptime > 100000 days"),
    ("filedescriptors > 10", "filedescriptors > 99%"),
]
FILESYSTEM = [
    ("space usage > 0%", "space usage > 99.99%"),
    ("space free > 1 MB", "space free < 1 B"),
    ("inodes free > 1", "inodes usage > 99.9%"),
    ("read rate < 100 GB/s", "read rate > 100 GB/s"),
    ("write < 100000 operations/s", "write rate > 100000 operations/s"),
    ("service time < 60 seconds", "servicetime > 60000 ms"),
    ("failed permission 0123", "failed permission 0755"),
    ("failed uid 1", "failed uid 0"),
    ("failed gid 1", "failed gid 0"),
]
PROGRAM_THAT_ENDS = [
    ("status = 3", "status > 3"),
    ("status != 0", "status < 3"),
    ('content = "wor."', 'content = "^word"'),
    ('content != "other"', 'content != "word"'),
]
# Of a file or folder whose last change was long ago, in which nothing changes.
OLD = [
    ("failed permission 0123", "failed permission 0755"),
    ("failed uid 1", "failed uid 0"),
    ("failed gid 1", "failed gid 0"),
    ("mtime > 1 hour", "modification time < 1 hour"),
    ("atime > 1 hour", "access time < 1 hour"),
    ("ctime < 1 hour", "change time > 1 hour"),
    ("timestamp < 1 hour", "timestamp > 1 hour"),
    ("exist", "does not exist"),
]
FILE = OLD + [("size = 5 B", "size > 5 B")]
CHANGES = ["changed permission", "changed mtime", "changed ctime", "changed timestamp"]
NUMBER = re.compile(r"-?\d+(\.\d+)?( ?([kMG]?B|ms|s|m|h|d)\b)?")


class EveryTest(both.Acts):
    def blocks(self, folder: Path, header: str, pairs: list[tuple[str, str]]) -> str:
        """A service for each test, as Monit keeps only the last of some tests in one."""
        text, word = "", header.split()[1]
        for number, pair in enumerate(pairs):
            for holds, test in zip(("true", "false"), pair):
                name = f"{word}{number}{holds}"
                text += self.block(folder, header.replace("NAME", name), {name: test})
        return text

    def events(self, folder: Path) -> dict[str, str]:
        """By the name of a test: its event and its description, without figures."""
        told = {}
        for line in self.acts(folder):
            if (parts := line.split(": ", 1)) and len(parts) == 2:
                # Monit has no name for the system in one sentence.
                told[parts[0]] = NUMBER.sub("N", parts[1].replace(parts[0], "NAME").replace("(null)", "here"))
        return told

    def compare(self, header: str, pairs: list[tuple[str, str]]) -> None:
        word = header.split()[1]
        self.run_both(lambda folder: [], lambda folder: self.blocks(folder, header.replace("FOLDER", str(folder)), pairs))
        self.same({f"{word}{number}true": pair[0] for number, pair in enumerate(pairs)})

    def same(self, holding: dict[str, str]) -> None:
        """These tests, by their names, and no others fire in both, as the same."""
        for folder in self.folders():
            self.wait_for(lambda: set(holding) <= set(self.events(folder)), f"the true tests in {folder.name}",
                          detail=lambda: str([test for name, test in holding.items() if name not in self.events(folder)]))
        self.more_beats(both.QUIET)
        healer, monit = (self.events(folder) for folder in self.folders())
        self.assertEqual(set(healer), set(holding))
        self.assertEqual(set(monit), set(holding))
        for name, test in holding.items():
            with self.subTest(test):
                self.assertEqual(healer[name], monit[name])

    def test_each_test_of_a_process_is_true_and_false_where_it_is_in_monit(self):
        self.compare(f"check process NAME with pidfile {self.busy_process()}", PROCESS)

    def test_each_test_of_the_system_is_true_and_false_where_it_is_in_monit(self):
        def more(folder: Path) -> str:
            tests = {}
            for number, pair in enumerate(SYSTEM):
                tests |= {f"{number}true": pair[0], f"{number}false": pair[1]}
            return self.block(folder, "check system here", tests)

        self.run_both(lambda folder: [], more)
        self.same({f"{number}true": pair[0] for number, pair in enumerate(SYSTEM)})

    def test_each_test_of_a_filesystem_is_true_and_false_where_it_is_in_monit(self):
        self.compare("check filesystem NAME with path /", FILESYSTEM)

    def test_each_test_of_a_program_is_true_and_false_where_it_is_in_monit(self):
        for folder in self.folders():
            folder.mkdir()
            self.place(folder, "ends", "echo a word; exit 3")
        self.compare('check program NAME with path "FOLDER/ends"', PROGRAM_THAT_ENDS)

    def old(self, make) -> None:
        for folder in self.folders():
            folder.mkdir()
            make(folder / "old")
            (folder / "old").chmod(0o755)
            os.utime(folder / "old", (1e9, 1e9))

    def test_each_test_of_a_file_is_true_and_false_where_it_is_in_monit(self):
        self.old(lambda path: path.write_text("12345"))
        self.compare("check file NAME with path FOLDER/old", FILE)

    def test_each_test_of_a_directory_is_true_and_false_where_it_is_in_monit(self):
        self.old(Path.mkdir)
        self.compare("check directory NAME with path FOLDER/old", OLD)

    def test_each_change_is_found_as_in_monit(self):
        self.old(Path.mkdir)
        for folder in self.folders():
            (folder / "file").write_text("x")
        kinds = {"directory": "old", "file": "file"}

        def more(folder: Path) -> str:
            return "".join(self.block(folder, f"check {kind} {kind}{number} with path {folder}/{name}", {f"{kind}{number}": test})
                           for kind, name in kinds.items() for number, test in enumerate(CHANGES))

        self.run_both(lambda folder: [], more)
        self.fired([])
        for folder in self.folders():
            for name in kinds.values():
                (folder / name).chmod(0o700)
                os.utime(folder / name, (1.1e9, 1.1e9))
        names = {f"{kind}{number}" for kind in kinds for number in range(len(CHANGES))}
        for folder in self.folders():
            self.wait_for(lambda: names <= set(self.events(folder)), f"the changes in {folder.name}",
                          detail=lambda: str(names - set(self.events(folder))))
        healer, monit = (self.events(folder) for folder in self.folders())
        self.assertEqual(healer, monit)


if __name__ == "__main__":
    support.main()
