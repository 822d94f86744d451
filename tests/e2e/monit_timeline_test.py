# SPDX-License-Identifier: MIT
"""The same rules, the same outcomes: healer, the real monit of 5.33 and of 6.0.0, and a model of their counting fire at the
same runs. Nothing in it differs on purpose. With HEALER_LONG each seed has some 280 firings."""
import os
import subprocess

import support
from support import processes

import monits
import plans

RUNS = 14
SERVICES = 100 if os.environ.get("HEALER_LONG") else 20


class MonitTimeline(support.Case):
    def run_monit(self, monit: str, plan) -> subprocess.Popen:
        folder = self.path("monit")
        folder.mkdir()
        control = folder / "monitrc"
        control.write_text(f"set daemon 1\nset log {folder}/log\nset pidfile {folder}/pid\nset idfile {folder}/id\n"
                           f"set statefile {folder}/state\n" + plans.programs(folder, plan))
        control.chmod(0o600)
        return subprocess.Popen([monit, "-I", "-c", str(control)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, preexec_fn=processes.die_with_parent)

    def same(self, folder, expected: list[str]) -> None:
        """The last actions may still be writing their line."""
        try:
            self.wait_for(lambda: plans.fired(folder, RUNS) == expected, "equal firings", limit=20)
        except self.failureException:
            self.assertEqual(plans.fired(folder, RUNS), expected)

    def compare(self, seed: int, version: str = monits.OLD) -> None:
        plan = plans.services(seed, SERVICES, RUNS)
        newer = version == monits.NEW
        expected = sorted(line for service in plan for line in service.firings(newer))
        self.assertGreater(len(expected), 20)
        folder = self.path("healer")
        folder.mkdir()
        daemon = self.start(("set monit 6\n" if newer else "") + plans.programs(folder, plan))
        program = monits.find(version)
        monit = self.run_monit(program, plan) if program else None
        limit = 5 * support.LIMIT
        self.wait_for(lambda: plans.finished(folder, plan, RUNS), "the last run", limit=limit)
        self.same(folder, expected)
        if monit is None:
            self.skipTest(f"monit {version} is not here: compared with the model only")
        self.wait_for(lambda: plans.finished(self.path("monit"), plan, RUNS), "the last run of monit", limit=limit)
        self.same(self.path("monit"), expected)
        monit.terminate()
        monit.wait(support.LIMIT)

    def test_seed_1_fires_as_in_monit(self):
        self.compare(1)

    def test_seed_2_fires_as_in_monit(self):
        self.compare(2)

    def test_seed_3_fires_as_in_monit(self):
        self.compare(3)

    def test_seed_4_fires_as_in_monit_6(self):
        self.compare(4, monits.NEW)

    def test_seed_5_fires_as_in_monit_6(self):
        self.compare(5, monits.NEW)


if __name__ == "__main__":
    support.main()
