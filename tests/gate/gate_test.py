# SPDX-License-Identifier: MIT
"""The gate itself: what fails once does not fail it and is listed; what fails always does; what a sanitizer reports does."""
import contextlib
import io
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from collections.abc import Sequence
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import run_all  # noqa: E402
import stages  # noqa: E402
import tests  # noqa: E402
from tests import Test  # noqa: E402

RACE = """
#include <thread>
int shared = 0;
int main() {
  std::thread other([] { ++shared; });
  ++shared;
  other.join();
}
"""

CATCH = """
#if __has_include(<catch2/catch.hpp>)
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#else
#include <catch2/catch_test_macros.hpp>
#endif
#include <csignal>
#include <cstdlib>
TEST_CASE("good") { CHECK(1 == 1); }
TEST_CASE("bad, with [brackets]") { int two = 2; CHECK(two == 3); }
TEST_CASE("dies") { std::raise(SIGKILL); }
TEST_CASE("after it") { CHECK(1 == 1); }
"""


class GateTest(unittest.TestCase):
    def setUp(self) -> None:
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="healer-gate-")))
        logs = self.folder / "log"
        logs.mkdir()
        for module in (run_all, tests, sys.modules["tally"]):
            module.LOGS = logs
        self.gate = run_all.Gate(["release"], long=False)

    def run_gate(self, *found: Test) -> tuple[int, str]:
        """The gate's exit status and words for these tests."""
        with contextlib.redirect_stdout(io.StringIO()) as told:
            self.gate.finish(self.gate.start(self.gate.tallies["release"], list(found)))
            status = run_all.conclude(list(self.gate.tallies.values()), 0)
        return status, told.getvalue()

    def fails_before(self, runs: int) -> Test:
        """A test that fails until it has run so often."""
        count = self.folder / "count"
        script = f"echo run >> {count}; echo 'words of the failure'; test $(wc -l < {count}) -gt {runs}"
        return Test("release", "often", ("/bin/sh", "-c", script))

    def test_one_that_fails_once_is_listed_as_flaky_with_its_output_and_fails_nothing(self):
        status, told = self.run_gate(self.fails_before(1))
        self.assertEqual(status, 0, told)
        self.assertIn("---- flaky: release: often\nwords of the failure", told)
        self.assertIn("\nflaky: release: often\n", told)
        self.assertTrue(told.endswith("\n1 passed, 0 failed\n"), told)

    def test_one_that_fails_twice_and_then_passes_is_flaky_and_is_run_no_more(self):
        status, told = self.run_gate(self.fails_before(2))
        self.assertEqual(status, 0, told)
        self.assertEqual((self.folder / "count").read_text().count("run"), 3)

    def test_one_that_fails_always_fails_the_gate(self):
        status, told = self.run_gate(self.fails_before(3))
        self.assertEqual(status, 1, told)
        self.assertTrue(told.endswith("\n0 passed, 1 failed\n"), told)

    def test_many_that_fail_at_once_are_not_run_again(self):
        count = self.folder / "count"
        found = [Test("release", f"broken {number}", ("/bin/sh", "-c", f"echo run >> {count}; exit 1")) for number in range(16)]
        status, told = self.run_gate(*found)
        self.assertEqual(status, 1, told)
        self.assertEqual((count.read_text()).count("run"), 16)
        self.assertTrue(told.endswith("\n0 passed, 16 failed\n"), told)

    def test_an_end_to_end_test_runs_under_one_of_both_sanitizers_and_under_both_where_there_is_time(self):
        found = [Test("any", f"e2e {number}", ("true",), frozenset({"e2e"})) for number in range(100)]
        found.append(Test("any", "of a unit", ("true",), frozenset({"runtime"})))
        with unittest.mock.patch.object(stages, "discover", lambda *_: found):
            ran = {name: stages.BUILDS[name].tests(long=False) for name in ("release", "asan", "tsan")}
            self.assertEqual(ran["release"], found)
            self.assertCountEqual(ran["asan"][:-1] + ran["tsan"][:-1], found[:-1])
            self.assertGreater(min(len(ran["asan"]), len(ran["tsan"])), 25)
            self.assertEqual(stages.BUILDS["tsan"].tests(long=True), found)

    def test_one_that_hangs_is_killed_with_all_that_it_has_started_and_fails(self):
        status, told = self.run_gate(Test("release", "hangs", ("/bin/sh", "-c", "sleep 1000 & echo $! > "
                                                              f"{self.folder}/pid; wait"), limit=3))
        self.assertEqual(status, 1, told)
        self.assertIn("killed: it took longer than", told)
        self.assertTrue(self.gone(int((self.folder / "pid").read_text())))

    def test_a_gate_that_is_stopped_leaves_nothing_running(self):
        pid = self.folder / "pid"
        script = (f"import sys; sys.path[:0] = {sys.path[:2]!r}\n"
                  "import run_all, signal, tests\n"
                  "run_all.stop_when_told()\n"
                  f"tests.execute(['/bin/sh', '-c', 'sleep 1000 & echo $! > {pid}; wait'], {{}}, 900)\n")
        gate = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.DEVNULL)
        while not pid.exists() or not pid.read_text().endswith("\n"):
            self.assertIsNone(gate.poll())
            time.sleep(0.02)
        gate.terminate()
        self.assertEqual(gate.wait(60), 128 + signal.SIGTERM)
        self.assertTrue(self.gone(int(pid.read_text())))

    def gone(self, pid: int) -> bool:
        """Whether a process that has been killed is gone, or will be when its parent looks."""
        state = Path(f"/proc/{pid}/stat")
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                if state.read_text().split()[2] != "Z":
                    time.sleep(0.02)
                    continue
            return True
        return False

    def test_one_that_says_so_is_skipped(self):
        status, told = self.run_gate(Test("release", "outside", ("/bin/sh", "-c", "exit 77"), skip_status=77),
                                     Test("release", "word", ("/bin/echo", "SKIPPED: no root"), skip_pattern="SKIPPED: "),
                                     Test("release", "good", ("/bin/true",)))
        self.assertEqual(status, 0, told)
        self.assertTrue(told.endswith("\n1 passed, 0 failed, 2 skipped\n"), told)

    def compiled(self, text: str, *options: str, libraries: Sequence[str] = ()) -> str:
        source, program = self.folder / "program.cpp", self.folder / "program"
        source.write_text(text)
        subprocess.run(["c++", "-std=c++20", *options, str(source), "-o", str(program), *libraries], check=True)
        return str(program)

    def test_a_data_race_that_the_sanitizer_sees_once_fails_the_gate_though_the_test_passes(self):
        racy = self.compiled(RACE, "-O1", "-g1", "-fsanitize=thread", "-pthread")
        prefix = tests.address_prefix("tsan")
        count = self.folder / "count"
        script = f"echo run >> {count}; if test $(wc -l < {count}) = 1; then {' '.join(prefix)} {racy}; fi; exit 0"
        status, told = self.run_gate(Test("release", "race", ("/bin/sh", "-c", script)))
        self.assertEqual(status, 1, told)
        self.assertIn("ThreadSanitizer: data race", told)
        self.assertEqual(count.read_text().count("run"), 1, "what a sanitizer reports is not run again")

    def test_a_suite_in_one_process_tells_each_case_and_runs_what_a_crash_has_hidden(self):
        catch = [] if Path("/usr/include/catch2/catch.hpp").exists() else ["-lCatch2Main", "-lCatch2"]  # version 3
        program = self.compiled(CATCH, "-O0", libraries=catch)
        found = [Test("release", f"suite: {name}", (program, name.replace(",", "\\,").replace("[", "\\[")),
                      frozenset({"pure"})) for name in ("good", "bad, with [brackets]", "dies", "after it")]
        results = {one.test.name: one for one in tests.run_suite(found)}
        self.assertEqual({name: one.verdict for name, one in results.items()}, {
            "suite: good": "passed", "suite: bad, with [brackets]": "failed", "suite: dies": "failed", "suite: after it": "passed"})
        self.assertIn("two == 3", results["suite: bad, with [brackets]"].output)
        self.assertIn("with: 2 == 3", results["suite: bad, with [brackets]"].output)

    def test_no_piece_of_work_is_empty_though_its_tests_took_no_time(self):
        suite = [Test("release", name, ("test_x",), frozenset({"pure"})) for name in "abc"]
        pieces = tests.work_of(suite, {one.title: 0.0 for one in suite}, 2)
        self.assertEqual(sorted(len(piece) for piece in pieces), [1, 2])

    def test_stages_of_the_text_and_the_table_come_out_whole(self):
        tallies = [sys.modules["tally"].Tally("one", passed=3, build_seconds=61), sys.modules["tally"].Tally("two", passed=4)]
        self.assertEqual(run_all.table(tallies, 125).splitlines()[1].split(), ["one", "61", "s", "0", "s", "3", "0", "0", "0"])
        self.assertTrue(run_all.table(tallies, 125).endswith("2 min 5 s"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
