# SPDX-License-Identifier: MIT
"""What the gate is made of: checks of the text, builds, fuzzers, benchmarks, the demo."""
import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import debian13
from tally import LOGS, TOP, Stopwatch, Tally, Times, tail
from tests import Test, discover, execute, report_folder, reports_in, sanitizer_options

CORES = os.cpu_count() or 1
JOBS = os.environ.get("HEALER_JOBS") or str(CORES)
CLANG = os.environ.get("HEALER_CLANG") or "16"  # the release of clang: ./start knows which this system has


@dataclass(frozen=True)
class Build:
    """A build whose tests are run: the CMake preset of the same name, what is built, and which tests are run (by label)."""

    name: str
    about: str
    targets: tuple[str, ...] = ("all",)
    labels: frozenset[str] = frozenset()  # empty: all tests
    compiler: str = "c++"
    half: int | None = None  # of the end-to-end tests: those that belong to this half; None: all

    @property
    def folder(self) -> Path:
        return TOP / ("build" if self.name == "release" else f"build-{self.name}")

    def tests(self, long: bool) -> list[Test]:
        """The tests that are run; raises RuntimeError as `discover` does. An end-to-end test runs under one of both
        sanitizers, by its name under which; where there is time, under both."""
        found = discover(self.name, self.folder, self.labels)
        if long or self.half is None:
            return found
        return [one for one in found if "e2e" not in one.labels or zlib.crc32(one.name.encode()) % 2 == self.half]


BUILDS = {one.name: one for one in (
    Build("release", "Release build without a warning, and all tests"),
    Build("asan", "Unit tests and half of the end-to-end tests, under address and undefined behaviour sanitizers"
                  " (with --long: all of them)", compiler=f"clang++-{CLANG}", half=0),
    Build("tsan", "What has threads, and the other half of the end-to-end tests, under the thread sanitizer (with --long:"
                  " all of them)", ("test_runtime", "test_store", "test_control", "test_torture", "healerd", "healerctl"),
          frozenset({"runtime", "store", "control", "torture", "e2e"}), f"clang++-{CLANG}", half=1),
)}


def call(name: str, command: list[str], environment: dict[str, str] | None = None, limit: int = 4800) -> tuple[bool, str]:
    """Runs a command, its output in build/log/NAME.log too; whether it went well, and the output."""
    try:
        status, output = execute(command, environment or {}, limit)
    except FileNotFoundError:
        status, output = 127, f"not found: {command[0]}\n"
    (LOGS / f"{name}.log").write_text(output)
    return status == 0, output


def missing(tally: Tally, *tools: str) -> bool:
    absent = [tool for tool in tools if not shutil.which(tool)]
    for tool in absent:
        tally.skip(f"{tool} is not installed")
    return bool(absent)


def source_files(*suffixes: str) -> list[str]:
    """The project's own files with these suffixes."""
    found = []
    for folder in ("src", "grammar", "tests", "rules.d", "packaging", "man", ".ci"):
        found += [path for path in (TOP / folder).rglob("*") if path.is_file() and path.suffix in suffixes]
    return sorted(str(path.relative_to(TOP)) for path in found if "__pycache__" not in path.parts)


def build(tally: Tally, preset: str, folder: Path, targets: tuple[str, ...] = ("all",)) -> bool:
    """Configures and builds a preset. What is compiled gives way to tests that run beside it."""
    with Stopwatch(tally, "build_seconds"):
        compilers = [f"-DCMAKE_CXX_COMPILER=clang++-{CLANG}"] if preset != "release" else []
        compilers += [f"-DCMAKE_CXX_CLANG_TIDY=clang-tidy-{CLANG};--quiet"] if preset == "tidy" else []
        good, output = call(f"{preset}-configure", ["cmake", "--preset", preset, *compilers])
        if good:
            good, output = call(f"{preset}-build", ["nice", "cmake", "--build", str(folder), "--parallel", JOBS,
                                                    "--target", *targets])
    return tally.check(f"{preset}: build", good, tail(output))


# ---- checks of the text -------------------------------------------------------------------------------------------


def check_format(tally: Tally) -> None:
    """Every C++ file is as clang-format writes it."""
    if missing(tally, "clang-format"):
        return
    version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True).stdout
    if " version 14." not in version:
        tally.skip(f"the files are formatted by clang-format 14, and this is {version.strip()}")
        return

    def one(name: str) -> None:
        done = subprocess.run(["clang-format", "--dry-run", "--Werror", name], cwd=TOP, capture_output=True, text=True)
        tally.check(f"format {name}", done.returncode == 0, tail(done.stderr, 20))

    with ThreadPoolExecutor(CORES) as workers:
        list(workers.map(one, source_files(".cpp", ".hpp")))


def check_scripts(tally: Tally) -> None:
    """Shell scripts pass shellcheck; Python files compile."""
    if not missing(tally, "shellcheck"):
        for name in ["start", ".ci/run"] + source_files(".sh", ".postinst", ".prerm", ".postrm"):
            done = subprocess.run(["shellcheck", "-x", name], cwd=TOP, capture_output=True, text=True)
            tally.check(f"shellcheck {name}", done.returncode == 0, done.stdout)
    for name in source_files(".py"):
        try:
            compile((TOP / name).read_text(), name, "exec")
            tally.check(f"python {name}", True)
        except SyntaxError as error:
            tally.check(f"python {name}", False, str(error))


def check_man(tally: Tally) -> None:
    """Manual pages have no fault that mandoc sees."""
    if missing(tally, "mandoc"):
        return
    for page in sorted((TOP / "man").glob("*.[1-8]")):
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", str(page)], capture_output=True, text=True)
        tally.check(f"man page {page.name}", done.returncode == 0, done.stdout + done.stderr)


TEXT = {"format": check_format, "scripts": check_scripts, "man": check_man}

# ---- what is neither text nor a test of a build ---------------------------------------------------------------------


def run_tidy(tally: Tally, long: bool, times: Times) -> None:
    """Every file through clang-tidy (slow; only when asked for)."""
    if not missing(tally, f"clang-tidy-{CLANG}", f"clang++-{CLANG}"):
        build(tally, "tidy", TOP / "build-tidy")


SLOW_TO_FUZZ = ("parse", "rules", "wire", "http", "https")  # the others are protocols, and many


def run_fuzz(tally: Tally, long: bool, times: Times) -> None:
    """Each fuzzer for a short while, from the seeds, in the build of `asan` (with --long: optimised, five minutes)."""
    preset = "fuzz" if long else "asan"
    folder = TOP / f"build-{preset}"
    if missing(tally, f"clang++-{CLANG}") or not build(tally, preset, folder, ("fuzzers", *(["verdict"] if long else []))):
        return

    def one(program: Path) -> None:
        name = program.name.removeprefix("fuzz_")
        corpus = TOP / "tests" / "config" / "corpus"
        seeds = [corpus / "accept", corpus / "reject"] if name == "rules" else [TOP / "tests" / "fuzz" / "seeds" / name]
        words = TOP / "tests" / "fuzz" / f"{name}.dict"
        with tempfile.TemporaryDirectory(prefix="healer-fuzz-") as found, report_folder() as folder:
            good, output = call(f"fuzz-{name}", [
                str(program), f"-max_total_time={300 if long else 5 if name in SLOW_TO_FUZZ else 2}", "-timeout=10", "-rss_limit_mb=2048",
                f"-artifact_prefix={LOGS}/fuzz-{name}-", "-print_final_stats=1",
                *([f"-dict={words}"] if words.exists() else []), found, *map(str, seeds)], sanitizer_options(folder))
            tally.check(f"fuzz {name}", good, tail(f"{output}\n{reports_in(folder)}", 60))

    with Stopwatch(tally, "test_seconds"), ThreadPoolExecutor(CORES) as workers:
        list(workers.map(one, sorted(folder.glob("fuzz_*"))))
        if long:
            good, output = call("mutants", [sys.executable, str(TOP / "tests/grammar/mutants.py"), str(folder / "verdict"), "--long"])
            tally.check("broken files get the real Monit's verdict", good or "skipped:" in output, tail(output, 60))


def run_bench(tally: Tally, long: bool, times: Times) -> None:
    """Every benchmark once, shortly, beside the tests (with --long: in full, shown, beside nothing else)."""
    release = BUILDS["release"]
    if not build(tally, "release", release.folder):
        return
    with Stopwatch(tally, "test_seconds"):
        for program in sorted(release.folder.glob("bench_*")):
            measure(tally, long, times, program.name, [str(program)] + ([] if long else ["--benchmark_min_time=0.01"]))
        for script in sorted((TOP / "tests" / "bench").glob("bench_*.py")):
            measure(tally, long, times, script.stem,
                    [sys.executable, str(script), str(release.folder), *([] if long else ["--short"])])


def measure(tally: Tally, long: bool, times: Times, name: str, command: list[str]) -> None:
    """One benchmark. What it measures is read by people; that it fails once on a busy machine proves nothing."""
    failures: list[str] = []
    for _ in range(3):
        watch = Tally(name)
        with Stopwatch(watch, "test_seconds"):
            good, output = call(name, command)
        times.add(watch.test_seconds, name)
        if long:
            print(output)
        if good:
            break
        failures.append(tail(output, 60))
    if good and failures:
        tally.pass_after_failure(name, failures[0])
    else:
        tally.check(name, good, failures[0] if failures else "")


def run_demo(tally: Tally, long: bool, times: Times) -> None:
    """The demo, which checks itself."""
    folder = BUILDS["release"].folder
    if build(tally, "release", folder, ("product",)):
        with Stopwatch(tally, "test_seconds"):
            measure(tally, False, times, "demo",
                    [sys.executable, str(TOP / "tests" / "demo" / "demo.py"), "--build", str(folder)])


def run_servers(tally: Tally, long: bool, times: Times) -> None:
    """Each protocol against the real servers of Debian, beside the real Monit."""
    folder = BUILDS["release"].folder
    if not build(tally, "release", folder, ("product",)):
        return
    with Stopwatch(tally, "test_seconds"):
        told = {name: call(name, [sys.executable, str(TOP / "tests" / "e2e" / f"{name}_test.py")], {"HEALER_BUILD": str(folder)})
                for name in ("servers", "examples")}
    times.add(tally.test_seconds, "servers")
    for name, what in (("servers", "each state of each server is judged as by Monit or better"),
                       ("examples", "the examples of rules find the servers of Debian well")):
        good, output = told[name]
        print(output)
        tally.check(what, good, tail(output, 60))


OTHERS = {"fuzz": run_fuzz, "bench": run_bench, "demo": run_demo, "tidy": run_tidy, "debian13": debian13.run, "servers": run_servers}
