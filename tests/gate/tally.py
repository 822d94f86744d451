# SPDX-License-Identifier: MIT
"""What a run of the gate found: counts by stage, failures with their output, flaky tests, times."""
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
LOGS = TOP / "build" / "log"
OUTPUT_KEPT = 200  # lines of a failed test's output that are shown again at the end


def tail(text: str, lines: int = OUTPUT_KEPT) -> str:
    kept = text.rstrip().splitlines()
    return "\n".join((["..."] if len(kept) > lines else []) + kept[-lines:])


@dataclass
class Tally:
    """One stage's results. Safe to use from several threads."""

    stage: str
    about: str = ""
    passed: int = 0
    skipped: list[str] = field(default_factory=list)
    failed: list[tuple[str, str]] = field(default_factory=list)  # name and output
    flaky: list[tuple[str, str]] = field(default_factory=list)  # passed when run again; name and output of the failure
    build_seconds: float = 0.0
    test_seconds: float = 0.0  # from the first test's start to the last one's end
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def check(self, name: str, good: bool, output: str = "") -> bool:
        with self.lock:
            if good:
                self.passed += 1
            else:
                self.failed.append((name, output))
        return good

    def skip(self, name: str) -> None:
        with self.lock:
            self.skipped.append(name)

    def pass_after_failure(self, name: str, output: str) -> None:
        """`name` failed with `output`, and passed when it was run again alone."""
        with self.lock:
            self.passed += 1
            self.flaky.append((name, output))

    def counts(self) -> str:
        parts = [f"{self.passed} passed", f"{len(self.failed)} failed"]
        parts += [f"{len(self.skipped)} skipped"] if self.skipped else []
        parts += [f"{len(self.flaky)} flaky"] if self.flaky else []
        return ", ".join(parts)

    def tell(self) -> None:
        """The stage's last words."""
        print(f"    {self.stage}: {self.counts()} (build {self.build_seconds:.0f} s, tests {self.test_seconds:.0f} s)",
              flush=True)
        for name, _ in self.failed:
            print(f"    FAILED  {name}", flush=True)
        for name, _ in self.flaky:
            print(f"    flaky   {name}", flush=True)
        for name in self.skipped:
            print(f"    skipped {name}", flush=True)


class Stopwatch:
    """Adds the seconds of a `with` block to an attribute of a tally."""

    def __init__(self, tally: Tally, attribute: str) -> None:
        self.tally, self.attribute = tally, attribute

    def __enter__(self) -> None:
        self.began = time.monotonic()

    def __exit__(self, *_) -> None:
        setattr(self.tally, self.attribute, getattr(self.tally, self.attribute) + time.monotonic() - self.began)


@dataclass
class Times:
    """How long every test took, kept in build/log/times.txt, slowest first."""

    rows: list[tuple[float, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def add(self, seconds: float, name: str) -> None:
        with self.lock:
            self.rows.append((seconds, name))

    def write(self) -> None:
        lines = [f"{seconds:9.2f} s  {name}\n" for seconds, name in sorted(self.rows, reverse=True)]
        (LOGS / "times.txt").write_text("".join(lines))

    @staticmethod
    def before() -> dict[str, float]:
        """What the last run took, by name: the longest tests start first."""
        known = {}
        try:
            for line in (LOGS / "times.txt").read_text().splitlines():
                seconds, _, name = line.strip().partition(" s  ")
                known[name] = float(seconds)
        except (OSError, ValueError):
            pass
        return known


def table(tallies: list[Tally], seconds: float) -> str:
    """All stages, a line each, and the sum. Stages overlap: their times add up to more than the whole."""
    rows = [("stage", "build", "tests", "passed", "failed", "skipped", "flaky")]
    for one in tallies:
        rows.append((one.stage, f"{one.build_seconds:.0f} s", f"{one.test_seconds:.0f} s",
                     *(str(n) for n in (one.passed, len(one.failed), len(one.skipped), len(one.flaky)))))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                       for i, (cell, width) in enumerate(zip(row, widths))) for row in rows]
    return "\n".join([*lines, f"all stages, which overlap: {seconds // 60:.0f} min {seconds % 60:.0f} s"])


def total(tallies: list[Tally]) -> Tally:
    whole = Tally("total")
    for one in tallies:
        whole.passed += one.passed
        for name in ("skipped", "failed", "flaky"):
            getattr(whole, name).extend(getattr(one, name))
    return whole
