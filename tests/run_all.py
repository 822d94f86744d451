# SPDX-License-Identifier: MIT
"""Builds and runs all tests and ends with one line of totals. Called by `./start test`.

One build after the other; the tests of each run beside the next build, which gives way to them: end-to-end tests mostly
sleep. What measures time runs last, beside nothing. A test that fails is run again, up to twice, alone: one that passes
then is listed as flaky and fails nothing; what a sanitizer reports is never run again, nor are many that fail at once.
Logs and the times of all tests are in build/log.
"""
import argparse
import json
import os
import shutil
import signal
import sys
import threading
import time
import traceback
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent / "gate"))
import package  # noqa: E402
import stages  # noqa: E402
import tests  # noqa: E402
from stages import BUILDS, CORES, OTHERS, TEXT, Build  # noqa: E402
from tally import LOGS, Stopwatch, Tally, Times, table, total  # noqa: E402
from tests import Result, Test  # noqa: E402

AGAIN = 2        # how often a test that failed is run again
MOST_AGAIN = 15  # more failures than these have one cause, and are not run again: it would take hours
CONTAINERS = 2   # of the tests of packages, at a time: each boots a system
SLEEPERS = 4     # tests at a time for each core: most of them wait
ALL = [*TEXT, *BUILDS, "package", "fuzz", "bench", "demo"]
ASKED_FOR = ["tidy", "debian13", "servers"]  # run when they are named; the last two also with --long
ABOUT = {**TEXT, **OTHERS, "package": package}


class Gate:
    """One run: the chosen stages, and what they found."""

    def __init__(self, chosen: list[str], long: bool) -> None:
        self.chosen, self.long = chosen, long
        self.known, self.times = Times.before(), Times()
        self.tallies = {name: Tally(name) for name in chosen}
        self.to_repeat: list[Result] = []
        self.alone: list[Test] = []
        self.lock = threading.Lock()
        self.sleeping = ThreadPoolExecutor(SLEEPERS * CORES)
        self.computing = ThreadPoolExecutor(CORES)
        self.booting = ThreadPoolExecutor(CONTAINERS)
        self.running: dict[str, int] = {}  # pieces of a build's tests that have not ended

    def run(self) -> list[Tally]:
        for name in [one for one in self.chosen if one in TEXT]:
            print(f"==> {name}: {TEXT[name].__doc__}", flush=True)
            with Stopwatch(self.tallies[name], "test_seconds"):
                TEXT[name](self.tallies[name])
            self.tallies[name].tell()
        pieces: list[Future] = []
        for name in [one for one in self.chosen if one in BUILDS]:
            pieces += self.start_tests(BUILDS[name])
            if name == "release" and self.benchmarks_beside():
                pieces.append(self.sleeping.submit(self.run_other, "bench"))
        if "package" in self.chosen:
            pieces += self.start_packages()
        if "fuzz" in self.chosen:
            self.run_other("fuzz")
        self.finish(pieces)
        for name in [one for one in self.chosen if one in BUILDS or one == "package"]:
            self.tallies[name].tell()
        for name in [one for one in self.chosen if one in OTHERS and one != "fuzz"]:
            if name != "bench" or not self.benchmarks_beside():
                self.run_other(name)
        self.times.write()
        return list(self.tallies.values())

    def benchmarks_beside(self) -> bool:
        """Whether the benchmarks run beside the tests, which shows that they run; what they measure then is no figure."""
        return not self.long and {"bench", "release"} <= set(self.chosen)

    def start_tests(self, one: Build) -> list[Future]:
        """Builds; has its tests run in the background."""
        tally = self.tallies[one.name]
        print(f"==> {one.name}: {one.about}", flush=True)
        if stages.missing(tally, one.compiler) or not stages.build(tally, one.name, one.folder, one.targets):
            return []
        print(f"    {one.name}: built in {tally.build_seconds:.0f} s", flush=True)
        if one.name == "release":
            tests.FOR_SANITIZED["HEALER_QUICK_CTL"] = str(one.folder / "healerctl")
        try:
            found = one.tests(self.long)
        except RuntimeError as error:
            tally.check(f"{one.name}: ctest", False, str(error))
            return []
        tally.check(f"{one.name}: there are tests", bool(found))
        return self.start(tally, found)

    def start_packages(self) -> list[Future]:
        """Builds the packages and has them judged; has them tried in the background."""
        print(f"==> package: {package.__doc__}", flush=True)
        return self.start(self.tallies["package"], package.prepare(self.tallies["package"], self.long, stages.missing))

    def start(self, tally: Tally, found: list[Test]) -> list[Future]:
        """Has tests run in the background, but for those that want to be alone."""
        self.alone += [test for test in found if "alone" in test.labels]
        pieces = tests.work_of([test for test in found if "alone" not in test.labels], self.known, CORES)
        began = time.monotonic()

        def run_piece(piece: list[Test]) -> None:
            try:
                for result in tests.run_piece(piece):
                    self.take(result)
            except Exception:  # the gate's own fault is told, and loses no result
                tally.check(f"{tally.stage}: the gate could not run {piece[0].name} and what goes with it", False,
                            traceback.format_exc())
            with self.lock:
                tally.test_seconds = time.monotonic() - began
                self.running[tally.stage] -= 1
                last = self.running[tally.stage] == 0
            if last:
                print(f"    {tally.stage}: tests run once in {tally.test_seconds:.0f} s", flush=True)

        self.running[tally.stage] = len(pieces)
        return [self.workers_for(piece[0]).submit(run_piece, piece) for piece in pieces]

    def workers_for(self, test: Test) -> ThreadPoolExecutor:
        if "pure" in test.labels:
            return self.computing
        return self.booting if "package" in test.labels else self.sleeping

    def finish(self, pieces: list[Future]) -> None:
        """Waits for the tests; then runs those that want to be alone, and again those that failed."""
        for piece in pieces:
            piece.result()
        self.run_alone()
        self.repeat_failures()

    def take(self, result: Result) -> None:
        """Counts a result; a failure that no sanitizer has reported is kept to be run again."""
        tally = self.tallies[result.test.stage]
        self.times.add(result.seconds, result.test.title)
        if result.verdict == "skipped":
            tally.skip(result.test.title)
        elif result.verdict == "passed":
            tally.check(result.test.title, True)
        else:
            tests.log_failure(result)
            print(f"    failed  {result.test.title}{' (reported by a sanitizer)' if result.reported else ''}", flush=True)
            if result.reported:
                tally.check(result.test.title, False, result.output)
            else:
                with self.lock:
                    self.to_repeat.append(result)

    def run_alone(self) -> None:
        if self.alone:
            print("==> tests that measure time, beside nothing else", flush=True)
        for test in self.alone:
            self.take(tests.run(test))

    def repeat_failures(self) -> None:
        if len(self.to_repeat) > MOST_AGAIN:
            print(f"==> {len(self.to_repeat)} failed: too many to be run again", flush=True)
            for first in self.to_repeat:
                self.tallies[first.test.stage].check(first.test.title, False, first.output)
            return
        if self.to_repeat:
            print(f"==> again, each alone: {len(self.to_repeat)} that failed", flush=True)
        for first in self.to_repeat:
            tally = self.tallies[first.test.stage]
            for _ in range(AGAIN):
                again = tests.run(first.test)
                self.times.add(again.seconds, first.test.title)
                if again.verdict == "passed":
                    tally.pass_after_failure(first.test.title, first.output)
                    break
                tests.log_failure(again)
                if again.reported:
                    tally.check(first.test.title, False, again.output)
                    break
            else:
                tally.check(first.test.title, False, first.output)

    def run_other(self, name: str) -> None:
        print(f"==> {name}: {OTHERS[name].__doc__}", flush=True)
        OTHERS[name](self.tallies[name], self.long, self.times)
        self.tallies[name].tell()


def conclude(tallies: list[Tally], began: float) -> int:
    """Shows the failures, the flaky tests and the table, and ends with the line of totals; the exit status."""
    whole = total(tallies)
    for name, output in whole.failed:
        print(f"\n---- FAILED: {name}\n{output.rstrip()}")
    if whole.flaky:
        print("\nflaky: failed once, and passed when run again alone")
        for name, output in whole.flaky:
            print(f"\n---- flaky: {name}\n{output.rstrip()}")
    print(f"\n{table(tallies, time.monotonic() - began)}")
    for what, found in (("flaky", whole.flaky), ("failed", whole.failed)):
        if found:
            print(f"{what}: {'; '.join(name for name, _ in found)}")
    skipped = f", {len(whole.skipped)} skipped" if whole.skipped else ""
    print(f"\n{whole.passed} passed, {len(whole.failed)} failed{skipped}", flush=True)
    return 1 if whole.failed or not whole.passed else 0


# ---- the other ways to run tests ------------------------------------------------------------------------------------


def quick() -> int:
    """Format, then the Release build, then the tests that what was built anew can have changed; none end to end."""
    began = time.monotonic()
    tally, times = Tally("quick"), Times()
    stages.check_format(tally)
    release = BUILDS["release"]
    if stages.build(tally, "release", release.folder):
        stamps = LOGS / "quick.json"
        passed = json.loads(stamps.read_text()) if stamps.exists() else {}

        def stamp(test: Test) -> str:
            files = [Path(word) for word in test.command if word.startswith("/")]
            return " ".join(f"{file.stat().st_mtime_ns}" for file in files if file.exists())

        wanted = [test for test in tests.discover("release", release.folder)
                  if not {"e2e", "alone", "torture"} & test.labels and passed.get(test.name) != stamp(test)]
        pieces = tests.work_of(wanted, Times.before(), CORES)
        with Stopwatch(tally, "test_seconds"), ThreadPoolExecutor(SLEEPERS * CORES) as workers:
            for results in workers.map(tests.run_piece, pieces):
                for result in results:
                    times.add(result.seconds, result.test.title)
                    if result.verdict == "skipped":
                        tally.skip(result.test.title)
                    elif tally.check(result.test.title, result.verdict == "passed", result.output):
                        passed[result.test.name] = stamp(result.test)
        stamps.write_text(json.dumps(passed))
    return conclude([tally], began)


def hunt(name: str, count: int, stage: str) -> int:
    """Runs the tests whose names contain `name` over and over, more at a time than there are cores, until one fails."""
    one, tally = BUILDS[stage], Tally(stage)
    if not stages.build(tally, stage, one.folder, one.targets):
        print(tally.failed[0][1])
        return 1
    wanted = [test for test in tests.discover(stage, one.folder, one.labels) if name in test.title]
    if not wanted:
        print(f"no test of {stage} has {name!r} in its name")
        return 1
    print(f"==> hunting {len(wanted)} tests, {count} runs of each, {SLEEPERS * CORES} at a time")
    runs = 0
    with ThreadPoolExecutor(SLEEPERS * CORES) as workers:
        queue = (test for _ in range(count) for test in wanted)
        under_way = {workers.submit(tests.run, test) for test, _ in zip(queue, range(SLEEPERS * CORES))}
        while under_way:
            done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
            for future in done:
                result, runs = future.result(), runs + 1
                if result.verdict == "failed":
                    print(f"\n---- FAILED: {result.test.title}\n{result.output}\n\nfailed in run {runs}", flush=True)
                    workers.shutdown(cancel_futures=True)
                    return 1
                if (test := next(queue, None)) is not None:
                    under_way.add(workers.submit(tests.run, test))
            print(f"\r    {runs} runs, no failure", end="", flush=True)
    print(f"\r    {runs} runs, no failure")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="./start test", description=__doc__.split("\n\n", maxsplit=1)[0],
        usage="./start test [--long] [STAGE...] | quick | hunt NAME [-n N] [--in STAGE] | --list",
        epilog="quick: Release, no end-to-end tests, only what the last change touches. hunt: repeats the tests whose names"
               " contain NAME under load until one fails.")
    parser.add_argument("words", nargs="*", metavar="STAGE",
                        help="stages to run, 'quick' or 'all' (default: all); or 'hunt NAME'")
    parser.add_argument("--list", action="store_true", help="show the stages and end")
    parser.add_argument("--long", action="store_true",
                        help="what is too slow for the gate, too: long fuzzing and torture, whole benchmarks")
    parser.add_argument("-n", type=int, default=200, metavar="N", help="hunt: at most N runs of each test (default 200)")
    parser.add_argument("--in", dest="stage", choices=BUILDS, default="release", help="hunt: in which build (default release)")
    options = parser.parse_args()
    if options.list:
        for name in [*ALL, *ASKED_FOR]:
            about = BUILDS[name].about if name in BUILDS else (ABOUT[name].__doc__ or "").rstrip(".")
            print(f"{name:8} {about}")
        return 0
    LOGS.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(LOGS / "failed", ignore_errors=True)
    words = options.words or ["all"]
    if words[0] == "hunt":
        if len(words) != 2:
            parser.error("hunt takes one name, or a part of one: ./start test hunt NAME [-n N]")
        return hunt(words[1], options.n, options.stage)
    if words == ["quick"]:
        return quick()
    every = [*ALL, "debian13", "servers"] if options.long else ALL
    chosen = [stage for word in words for stage in (every if word == "all" else [word])]
    if unknown := [stage for stage in chosen if stage not in [*ALL, *ASKED_FOR]]:
        parser.error(f"no such stage: {', '.join(unknown)} (there are: all, quick, {', '.join([*ALL, *ASKED_FOR])})")
    if options.long:
        os.environ["HEALER_LONG"] = "1"
    began = time.monotonic()
    return conclude(Gate(list(dict.fromkeys(chosen)), options.long).run(), began)


def stop(number: int, _frame: object) -> None:
    """A signal that ends the gate ends what it runs, too. In a thread: the one that it came to may be starting a command."""
    def end() -> None:
        tests.end_all()
        print("\nstopped", flush=True)
        os._exit(128 + number)  # threads that wait for tests would start the next

    threading.Thread(target=end).start()


def stop_when_told() -> None:
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, stop)


if __name__ == "__main__":
    stop_when_told()
    sys.exit(main())
