# SPDX-License-Identifier: MIT
"""What is measured of a process: healer and the real Monit look at the same one."""
import re
import subprocess
import sys

import both
import support

# Six threads, two children of which each has one, forty files and 40 MB.
PROGRAM = """
import os, sys, threading, time
files = [open("/dev/null") for _ in range(40)]
room = bytearray(os.urandom(1 << 20) * 40)
for _ in range(5):
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
for _ in range(2):
    if os.fork() == 0:
        os.fork()
        time.sleep(1000)
        os._exit(0)
with open(sys.argv[1] + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(1000)
"""


class SupervisionFigures(both.Case):
    def measured(self) -> dict[str, str]:
        """What Monit's status says of the process, by its words."""
        text = self.end(self.begin("monit", "-B", "-c", self.monitrc, "status", "node")).stdout
        return {words[0]: words[1].strip() for line in text.splitlines()
                if len(words := re.split(r"\s{2,}", line.strip(), maxsplit=1)) == 2}

    def test_a_process_has_the_figures_of_monit(self):
        pidfile, program = self.path("node.pid"), self.path("node.py")
        program.write_text(PROGRAM)
        node = subprocess.Popen([sys.executable, str(program), str(pidfile)], start_new_session=True)
        self.addCleanup(node.wait)
        self.wait_for(pidfile.exists, "the process")
        self.run_both(lambda folder: [], lambda folder: f"check process node with pidfile {pidfile}\n")
        self.wait_for(lambda: "memory total" in self.measured(), "the figures of Monit")
        self.more_beats(3)
        monit = self.measured()
        healer, = self.daemon.ask("status", "node")["services"]
        seen = healer["process"]
        for name, words in (("pid", "pid"), ("parent", "parent pid"), ("uid", "uid"), ("euid", "effective uid"),
                            ("gid", "gid")):
            self.assertEqual(seen[name], int(monit[words]), words)
        values = {(one["name"], one["unit"]): one["value"] for one in healer["measured"]}
        for name in ("threads", "children", "filedescriptors"):
            self.assertEqual(values[name, "number"], int(monit[name].split()[0]), name)
        self.assertEqual([values[name, "number"] for name in ("threads", "children")], [6, 4])
        for name, words in (("memory", "memory"), ("total memory", "memory total")):
            percent, size = re.fullmatch(r"([\d.]+)% \[([\d.]+) MB\]", monit[words]).groups()
            self.assertAlmostEqual(values[name, "bytes"] / 2**20, float(size), delta=1, msg=words)
            self.assertAlmostEqual(values[name, "percent"], float(percent), delta=0.1, msg=words)
        self.assertGreater(values["total memory", "bytes"], values["memory", "bytes"] + 40 * 2**20)
        percent, limit = re.search(r"\[([\d.]+)% of (\d+) limit\]", monit["filedescriptors"]).groups()
        self.assertAlmostEqual(values["filedescriptors", "percent"], float(percent), delta=0.1)


if __name__ == "__main__":
    support.main()
