# SPDX-License-Identifier: MIT
"""The tests of a build folder, as CMake declares them, and how one of them, or a suite in one process, is run.

A test's labels say how it may be run: `pure` (nothing but its own memory: all of a program's in one process), `alone`
(it measures time: beside nothing else). What a sanitizer reports is written to a folder of the test's own, so that
a report counts as such whatever the test made of it.
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import xml.etree.ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tally import LOGS, TOP, tail

REPORT_WORDS = ("AddressSanitizer", "ThreadSanitizer", "LeakSanitizer", "UndefinedBehaviorSanitizer", ": runtime error: ")


@dataclass(frozen=True)
class Test:
    """One test of a build folder."""

    stage: str
    name: str
    command: tuple[str, ...]
    labels: frozenset[str] = frozenset()
    limit: float = 300.0  # seconds
    environment: tuple[tuple[str, str], ...] = ()
    skip_status: int | None = None
    skip_pattern: str = ""

    @property
    def title(self) -> str:
        return f"{self.stage}: {self.name}"


@dataclass
class Result:
    """How a test ended. `reported`: a sanitizer has reported something, which running it again cannot undo."""

    test: Test
    verdict: str  # "passed", "failed", "skipped"
    output: str = ""
    seconds: float = 0.0
    reported: bool = False


def discover(stage: str, folder: Path, labels: frozenset[str] = frozenset()) -> list[Test]:
    """The tests of a build folder that have one of `labels` (none: all tests); raises RuntimeError with what ctest says
    where it cannot tell."""
    done = subprocess.run(["ctest", "--test-dir", str(folder), "--show-only=json-v1"], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stdout + done.stderr)
    found = []
    for entry in json.loads(done.stdout)["tests"]:
        properties = {one["name"]: one["value"] for one in entry.get("properties", [])}
        if labels and not labels.intersection(properties.get("LABELS", [])):
            continue
        if "command" not in entry or properties.get("DISABLED"):
            raise RuntimeError(f"{entry['name']}: its program has not been built")
        found.append(Test(
            stage, entry["name"], tuple(entry["command"]), frozenset(properties.get("LABELS", [])),
            float(properties.get("TIMEOUT", 300)) * (10 if os.environ.get("HEALER_LONG") else 1),
            tuple(tuple(one.split("=", 1)) for one in properties.get("ENVIRONMENT", [])),
            properties.get("SKIP_RETURN_CODE"), "|".join(properties.get("SKIP_REGULAR_EXPRESSION", []))))
    return found


def sanitizer_options(folder: str, pure: bool = False) -> dict[str, str]:
    """The sanitizers' environment; their reports go into files of `folder`, with names of functions where they can. What
    calls nothing back later is not watched for uses of what a function has left, which takes a quarter of its time."""
    symbolizer = shutil.which("llvm-symbolizer-16") or shutil.which("llvm-symbolizer")
    common = f"log_path={folder}/report" + (f":external_symbolizer_path={symbolizer}" if symbolizer else "")
    return {
        "ASAN_OPTIONS": f"detect_stack_use_after_return={0 if pure else 1}:strict_string_checks=1:detect_leaks=1:{common}",
        "LSAN_OPTIONS": f"print_suppressions=0:suppressions={TOP}/tests/support/lsan.supp",
        "UBSAN_OPTIONS": f"print_stacktrace=1:halt_on_error=1:{common}",
        "TSAN_OPTIONS": f"halt_on_error=1:second_deadlock_stack=1:{common}:"
                        f"suppressions={TOP}/tests/support/tsan.supp",
    }


def address_prefix(stage: str) -> list[str]:
    """The thread sanitizer cannot place its shadow where the kernel spreads memory widely."""
    fixable = stage == "tsan" and shutil.which("setarch") and subprocess.run(["setarch", "-R", "true"]).returncode == 0
    return ["setarch", "-R"] if fixable else []


@contextlib.contextmanager
def report_folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="healer-reports-") as folder:
        os.chmod(folder, 0o1777)  # a daemon's programs may run as somebody else
        yield folder


def reports_in(folder: str) -> str:
    return "\n".join(path.read_text(errors="replace") for path in sorted(Path(folder).iterdir()))


FOR_SANITIZED: dict[str, str] = {}  # more of the environment, for tests of a sanitizer's build
RUNNING: set[int] = set()  # sessions of commands that have not ended
STARTING = threading.Lock()  # held while one is started, until it is in RUNNING


def end_all() -> None:
    """Kills every command that `execute` runs, whole, and lets it start no more: for a gate that is stopped."""
    STARTING.acquire()  # for good
    for session in list(RUNNING):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(session, signal.SIGKILL)


def execute(command: list[str], environment: dict[str, str], limit: float) -> tuple[int, str]:
    """Runs a command in a session of its own; its status (negative: the signal) and output. What outlives `limit` is
    killed, whole."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        with STARTING:
            process = subprocess.Popen(command, cwd=TOP, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                                       stdout=output, stderr=subprocess.STDOUT, start_new_session=True)
            RUNNING.add(process.pid)
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
            output.write(f"\nkilled: it took longer than {limit:.0f} s\n")
        finally:
            RUNNING.discard(process.pid)
        output.flush()
        output.seek(0)
        return status, output.read()


def run(test: Test) -> Result:
    """Runs one test by itself."""
    began = time.monotonic()
    with report_folder() as folder:
        more = FOR_SANITIZED if test.stage != "release" else {}
        environment = {**sanitizer_options(folder), **more, **dict(test.environment)}
        try:
            status, output = execute(address_prefix(test.stage) + list(test.command), environment, test.limit)
        except OSError as error:
            return Result(test, "failed", str(error))
        reports = reports_in(folder)
    seconds = time.monotonic() - began
    reported = bool(reports) or any(word in output for word in REPORT_WORDS)
    if reported:
        verdict = "failed"
    elif status == test.skip_status and status is not None or test.skip_pattern and re.search(test.skip_pattern, output):
        verdict = "skipped"
    else:
        verdict = "passed" if status == 0 else "failed"
        output += f"\nended with status {status}\n" if status else ""
    return Result(test, verdict, tail(f"{output}\n{reports}".strip()), seconds, reported)


def told_by_catch(case: xml.etree.ElementTree.Element) -> str:
    """A failed test case of Catch's XML report as text."""
    lines = []
    for one in case.iter():
        place = f"{one.get('filename')}:{one.get('line')}"
        if one.tag == "Expression" and one.get("success") != "true":
            lines.append(f"{place}: {one.get('type')}( {one.findtext('Original', '').strip()} )\n"
                         f"  with: {one.findtext('Expanded', '').strip()}")
        elif one.tag in ("Failure", "Exception", "FatalErrorCondition"):
            lines.append(f"{place}: {one.tag}: {(one.text or '').strip()}")
        elif one.tag in ("Info", "Warning"):
            lines.append(f"  {(one.text or '').strip()}")
    return "\n".join(lines)


def run_suite(tests: list[Test]) -> list[Result]:
    """Runs test cases of one Catch program in one process; what a crash has kept from running is run by itself."""
    began = time.monotonic()
    with report_folder() as folder, tempfile.NamedTemporaryFile(suffix=".xml") as report:
        program = tests[0].command[0]
        wanted = ",".join(one.command[1] for one in tests)
        command = [*address_prefix(tests[0].stage), program, wanted, "-r", "xml", "-d", "yes", "-o", report.name]
        status, output = execute(command, sanitizer_options(folder, pure=True), sum(min(one.limit, 60) for one in tests))
        reports = reports_in(folder)
        parser = xml.etree.ElementTree.XMLPullParser(["start", "end"])
        cases: dict[str, xml.etree.ElementTree.Element] = {}
        last = None
        with contextlib.suppress(xml.etree.ElementTree.ParseError):
            parser.feed(Path(report.name).read_text(errors="replace"))
            for event, element in parser.read_events():
                if element.tag == "TestCase":
                    last = element.get("name")
                    if event == "end":
                        cases[last] = element
    results, seconds = [], time.monotonic() - began
    for test in tests:
        name = test.name.split(":", 1)[1].strip()
        case = cases.get(name)
        overall = case.find("OverallResult") if case is not None else None
        if overall is not None:
            good = overall.get("success") == "true"
            results.append(Result(test, "passed" if good else "failed", "" if good else told_by_catch(case),
                                  float(overall.get("durationInSeconds", 0))))
        elif name == last:
            results.append(Result(test, "failed", tail(f"{output}\n{reports}\nended with status {status}"), seconds,
                                  bool(reports)))
        else:
            results.append(run(test))
    if reports and not any(one.reported for one in results):  # at the end of the process: a leak
        results.append(Result(Test(tests[0].stage, f"{Path(program).name} as a whole", tests[0].command), "failed", tail(reports),
                              seconds, True))
    elif status < 0 and not any(one.verdict == "failed" for one in results):
        results.append(Result(Test(tests[0].stage, f"{Path(program).name} as a whole", tests[0].command), "failed",
                              tail(f"{output}\nended with status {status}"), seconds))
    return results


def work_of(tests: list[Test], known: dict[str, float], processes: int) -> list[list[Test]]:
    """Tests as pieces of work, longest first: those of a pure program in at most `processes` pieces, any other by itself."""
    def cost(test: Test) -> float:
        return known.get(test.title, 1.0 if "pure" in test.labels else 5.0)

    pieces: list[list[Test]] = [[one] for one in tests if "pure" not in one.labels]
    programs: dict[str, list[Test]] = {}
    for one in tests:
        if "pure" in one.labels:
            programs.setdefault(one.command[0], []).append(one)
    for suite in programs.values():
        shares: list[list[Test]] = [[] for _ in range(min(processes, len(suite)))]
        for one in sorted(suite, key=cost, reverse=True):
            min(shares, key=lambda share: (sum(map(cost, share)), len(share))).append(one)  # some cost nothing
        pieces += shares
    return sorted(pieces, key=lambda piece: sum(map(cost, piece)), reverse=True)


def run_piece(piece: list[Test]) -> list[Result]:
    return run_suite(piece) if "pure" in piece[0].labels else [run(piece[0])]


def log_failure(result: Result) -> None:
    """Keeps a failure's whole output in build/log/failed."""
    folder = LOGS / "failed"
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^A-Za-z0-9]+", "-", result.test.title)[:120]
    with (folder / f"{name}.log").open("a") as file:
        file.write(result.output + "\n")
