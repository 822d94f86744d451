# SPDX-License-Identifier: MIT
"""Builds and runs all tests, stage by stage, and ends with one line of totals. Called by `./start test`.

Every stage runs, also after a failure; what failed is told again at the end, with its output. Logs are in build/log.
"""
import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
LOGS = TOP / "build" / "log"
JOBS = os.environ.get("HEALER_JOBS") or str(os.cpu_count() or 1)
SANITIZER_OPTIONS = {
    "ASAN_OPTIONS": "detect_stack_use_after_return=1:strict_string_checks=1:detect_leaks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
    "TSAN_OPTIONS": f"halt_on_error=1:second_deadlock_stack=1:suppressions={TOP}/tests/support/tsan.supp",
}
OUTPUT_KEPT = 200  # lines of a failed test's output that are told again at the end


@dataclass
class Tally:
    """What a stage found."""

    passed: int = 0
    skipped: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)  # name and output

    def check(self, name: str, good: bool, output: str = "") -> bool:
        if good:
            self.passed += 1
        else:
            self.failed.append((name, output))
        return good


def tail(text: str, lines: int = OUTPUT_KEPT) -> str:
    kept = text.rstrip().splitlines()
    return "\n".join((["..."] if len(kept) > lines else []) + kept[-lines:])


def call(name: str, command: list[str], env: dict[str, str] | None = None, limit: int = 3000) -> tuple[bool, str]:
    """Runs a command, its output in build/log/NAME.log too; whether it went well, and the output."""
    log = LOGS / f"{name}.log"
    with log.open("w+", errors="replace") as file:
        try:
            done = subprocess.run(command, cwd=TOP, env={**os.environ, **(env or {})}, stdin=subprocess.DEVNULL,
                                  stdout=file, stderr=subprocess.STDOUT, timeout=limit)
            status = done.returncode
        except subprocess.TimeoutExpired:
            file.write(f"\nended: it took longer than {limit} s\n")
            status = 1
        except FileNotFoundError:
            file.write(f"\nnot found: {command[0]}\n")
            status = 127
        file.flush()
        file.seek(0)
        return status == 0, file.read()


def source_files(*suffixes: str) -> list[str]:
    """The project's own files with these suffixes: of git where there is one, else of the folders."""
    found = []
    for folder in ("src", "grammar", "tests", "rules.d", "packaging", "man", ".ci"):
        found += [path for path in (TOP / folder).rglob("*") if path.is_file() and path.suffix in suffixes]
    return sorted(str(path.relative_to(TOP)) for path in found if "__pycache__" not in path.parts)


def missing(tally: Tally, *tools: str) -> bool:
    absent = [tool for tool in tools if not shutil.which(tool)]
    tally.skipped += [f"{tool} is not installed" for tool in absent]
    return bool(absent)


# ---- stages -------------------------------------------------------------------------------------------------------


def stage_format(tally: Tally) -> None:
    """Every C++ file is as clang-format writes it."""
    if missing(tally, "clang-format"):
        return
    for name in source_files(".cpp", ".hpp"):
        done = subprocess.run(["clang-format", "--dry-run", "--Werror", name], cwd=TOP, capture_output=True, text=True)
        tally.check(f"format {name}", done.returncode == 0, tail(done.stderr, 20))


def stage_scripts(tally: Tally) -> None:
    """Shell scripts pass shellcheck; Python files compile."""
    if not missing(tally, "shellcheck"):
        shell = ["start", ".ci/run"] + source_files(".sh", ".postinst", ".prerm", ".postrm")
        for name in shell:
            done = subprocess.run(["shellcheck", "-x", name], cwd=TOP, capture_output=True, text=True)
            tally.check(f"shellcheck {name}", done.returncode == 0, done.stdout)
    for name in source_files(".py"):
        try:
            compile((TOP / name).read_text(), name, "exec")
            tally.check(f"python {name}", True)
        except SyntaxError as error:
            tally.check(f"python {name}", False, str(error))


def stage_man(tally: Tally) -> None:
    """Manual pages have no fault that mandoc sees."""
    if missing(tally, "mandoc"):
        return
    for page in sorted((TOP / "man").glob("*.[1-8]")):
        done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", str(page)], capture_output=True, text=True)
        tally.check(f"man page {page.name}", done.returncode == 0, done.stdout + done.stderr)


def build(tally: Tally, preset: str, target: str = "all") -> Path | None:
    """Configures and builds a preset; its folder, or None when that failed."""
    folder = TOP / ("build" if preset == "release" else f"build-{preset}")
    good, output = call(f"{preset}-configure", ["cmake", "--preset", preset])
    if good:
        good, output = call(f"{preset}-build", ["cmake", "--build", str(folder), "--target", target, "--parallel", JOBS])
    return folder if tally.check(f"{preset}: build", good, tail(output)) else None


def run_ctest(tally: Tally, preset: str, folder: Path) -> None:
    report = LOGS / f"{preset}-tests.xml"
    report.unlink(missing_ok=True)
    # The thread sanitizer of g++ 12 cannot place its shadow where the kernel spreads memory widely.
    prefix = ["setarch", "-R"] if preset == "tsan" and can_fix_addresses() else []
    _, output = call(f"{preset}-tests", prefix + ["ctest", "--test-dir", str(folder), "--parallel", JOBS, "--output-junit",
                     str(report), "--output-on-failure", "--test-output-size-failed", "100000", "--no-tests=error"],
                     env=SANITIZER_OPTIONS)
    try:
        cases = xml.etree.ElementTree.parse(report).getroot().findall("testcase")
    except (OSError, xml.etree.ElementTree.ParseError) as error:
        tally.check(f"{preset}: ctest", False, f"{error}\n{tail(output)}")
        return
    for case in cases:
        name, told = f"{preset}: {case.get('name')}", tail(case.findtext("system-out") or "")
        skipped = case.find("skipped")
        if skipped is not None and skipped.get("message", "").startswith("SKIP_"):  # it said so itself
            tally.skipped.append(name)
        elif case.get("status") == "disabled":
            tally.skipped.append(name)
        else:  # "notrun" without such a word: its program is missing
            tally.check(name, case.get("status") == "run", told)


def can_fix_addresses() -> bool:
    return shutil.which("setarch") is not None and subprocess.run(["setarch", "-R", "true"]).returncode == 0


def build_and_test(tally: Tally, preset: str) -> None:
    if folder := build(tally, preset):
        run_ctest(tally, preset, folder)


def stage_release(tally: Tally) -> None:
    """Release build without a warning, and all tests."""
    build_and_test(tally, "release")


def stage_asan(tally: Tally) -> None:
    """All tests under address and undefined behaviour sanitizers."""
    build_and_test(tally, "asan")


def stage_tsan(tally: Tally) -> None:
    """All tests under the thread sanitizer."""
    build_and_test(tally, "tsan")


def stage_tidy(tally: Tally) -> None:
    """Every file through clang-tidy (slow; only when asked for)."""
    if not missing(tally, "clang-tidy-16", "clang++-16"):
        build(tally, "tidy")


def stage_fuzz(tally: Tally) -> None:
    """Each fuzzer for a short while, from the seeds (with --long: five minutes)."""
    if missing(tally, "clang++-16"):
        return
    folder = build(tally, "fuzz")
    for program in sorted(folder.glob("fuzz_*")) if folder else []:
        name = program.name.removeprefix("fuzz_")
        corpus = TOP / "tests" / "config" / "corpus"
        seeds = [corpus / "accept", corpus / "reject"] if name == "rules" else [TOP / "tests" / "fuzz" / "seeds" / name]
        words = TOP / "tests" / "fuzz" / f"{name}.dict"
        with tempfile.TemporaryDirectory(prefix="healer-fuzz-") as found:
            good, output = call(f"fuzz-{name}", [
                str(program), f"-max_total_time={300 if LONG else 20}", "-timeout=10", "-rss_limit_mb=2048",
                f"-artifact_prefix={LOGS}/fuzz-{name}-", "-print_final_stats=1",
                *([f"-dict={words}"] if words.exists() else []), found, *map(str, seeds)],
                env=SANITIZER_OPTIONS)
        tally.check(f"fuzz {name}", good, tail(output, 60))


def stage_bench(tally: Tally) -> None:
    """Every benchmark once, shortly (with --long: in full, and shown)."""
    folder = build(tally, "release")
    for program in sorted(folder.glob("bench_*")) if folder else []:
        good, output = call(program.name, [str(program)] + ([] if LONG else ["--benchmark_min_time=0.01"]))
        if LONG:
            print(output)
        tally.check(program.name, good, tail(output, 60))
    for script in sorted((TOP / "tests" / "bench").glob("bench_*.py")) if folder else []:
        good, output = call(script.stem, [sys.executable, str(script), str(folder), *([] if LONG else ["--short"])])
        if LONG:
            print(output)
        tally.check(script.stem, good, tail(output, 60))


def stage_demo(tally: Tally) -> None:
    """The demo, which checks itself."""
    demo = TOP / "tests" / "demo" / "demo.py"
    if not all((TOP / "build" / program).exists() for program in ("healerd", "healerctl")):
        tally.check("demo", False, "build/healerd or build/healerctl is missing: run the stage release first")
        return
    good, output = call("demo", [sys.executable, str(demo), "--build", str(TOP / "build")], limit=300)
    tally.check("demo", good, tail(output, 80))


STAGES = {name.removeprefix("stage_"): function for name, function in list(globals().items())
          if name.startswith("stage_")}
QUICK = ["format", "scripts", "man", "release"]
ALL = QUICK + ["bench", "demo", "fuzz", "asan", "tsan"]
LONG = False


def main() -> int:
    global LONG
    parser = argparse.ArgumentParser(prog="./start test", description=__doc__.splitlines()[0])
    parser.add_argument("stage", nargs="*", help="stages to run, 'quick' or 'all' (default: all)")
    parser.add_argument("--list", action="store_true", help="show the stages and end")
    parser.add_argument("--long", action="store_true", help="fuzzers and benchmarks at full length")
    options = parser.parse_args()
    if options.list:
        for name, function in STAGES.items():
            print(f"{name:8} {'' if name in ALL else '(not in all) '}{function.__doc__}")
        return 0
    LONG = options.long
    groups = {"all": ALL, "quick": QUICK}
    chosen = [stage for word in options.stage or ["all"] for stage in groups.get(word, [word])]
    if unknown := [stage for stage in chosen if stage not in STAGES]:
        parser.error(f"no such stage: {', '.join(unknown)} (there are: {', '.join([*groups, *STAGES])})")
    LOGS.mkdir(parents=True, exist_ok=True)

    totals = Tally()
    for stage in chosen:
        print(f"==> {stage}: {STAGES[stage].__doc__}", flush=True)
        tally, began = Tally(), time.monotonic()
        STAGES[stage](tally)
        print(f"    {tally.passed} passed, {len(tally.failed)} failed, {len(tally.skipped)} skipped"
              f" in {time.monotonic() - began:.0f} s", flush=True)
        for name, _ in tally.failed:
            print(f"    FAILED  {name}", flush=True)
        for name in tally.skipped:
            print(f"    skipped {name}", flush=True)
        totals.passed += tally.passed
        totals.failed += tally.failed
        totals.skipped += tally.skipped

    for name, output in totals.failed:
        print(f"\n---- FAILED: {name}\n{output.rstrip()}")
    skipped = f", {len(totals.skipped)} skipped" if totals.skipped else ""
    print(f"\n{totals.passed} passed, {len(totals.failed)} failed{skipped}", flush=True)
    return 1 if totals.failed or not totals.passed else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("\nstopped")
