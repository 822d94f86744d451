# SPDX-License-Identifier: MIT
"""What is measured of a process: healer and the real Monit look at the same one."""
import re

import both
import support


class SupervisionFigures(both.Case):
    def measured(self) -> dict[str, str]:
        """What Monit's status says of the process, by its words."""
        text = self.end(self.begin("monit", "-B", "-c", self.monitrc, "status", "node")).stdout
        return {words[0]: words[1].strip() for line in text.splitlines()
                if len(words := re.split(r"\s{2,}", line.strip(), maxsplit=1)) == 2}

    def test_a_process_has_the_figures_of_monit(self):
        pidfile = self.busy_process()
        self.run_both(lambda folder: [], lambda folder: f"check process node with pidfile {pidfile}\n" +
                      ("  if children memory > 1 TB or children cpu > 5000% then alert\n" if folder.name == "by-healer" else ""))
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
        self.assertAlmostEqual(values["children memory", "bytes"],
                               values["total memory", "bytes"] - values["memory", "bytes"], delta=2**12)
        percent, limit = re.search(r"\[([\d.]+)% of (\d+) limit\]", monit["filedescriptors"]).groups()
        self.assertAlmostEqual(values["filedescriptors", "percent"], float(percent), delta=0.1)


if __name__ == "__main__":
    support.main()
