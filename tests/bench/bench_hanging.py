#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Beside twenty hanging check programs: the longest gap between two runs of a quick one, in healer and in the real monit.

usage: bench_hanging.py BUILD [--short]      prints both gaps and their ratio; a gap of one cycle (1 s) is the ideal
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HANGING = 20


def longest_gap(command: list[str], folder: Path, seconds: float) -> float:
    """Runs a daemon for that long on the rules; the longest time between two runs of the quick program."""
    folder.mkdir()
    beat = folder / "beat"
    beat.write_text(f"#!/bin/sh\ndate +%s.%N >> {folder}/beats\n")
    hang = folder / "hang"
    hang.write_text("#!/bin/sh\ntrap '' TERM\nsleep 600 &\nwait\nsleep 600\n")
    rules = f"set daemon 1\nset pidfile {folder}/pid\nset idfile {folder}/id\nset statefile {folder}/state\nset log {folder}/log\n"
    rules += f'check program beat with path "{beat}"\n  if status != 0 then alert\n'
    for number in range(HANGING):
        rules += f'check program hang{number} with path "{hang}" with timeout 3 seconds\n  if status != 0 then alert\n'
    control = folder / "control"
    control.write_text(rules)
    for path, mode in ((beat, 0o755), (hang, 0o755), (control, 0o600)):
        path.chmod(mode)
    daemon = subprocess.Popen([*command, "-I", "-c", str(control)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    daemon.send_signal(signal.SIGTERM)
    daemon.wait(30)
    for process in Path("/proc").glob("[0-9]*"):  # what the daemon left behind
        try:
            if str(hang) in (process / "cmdline").read_text():
                os.killpg(int(process.name), signal.SIGKILL)
        except OSError:
            pass
    beats = [float(line) for line in (folder / "beats").read_text().split()]
    return max(later - earlier for earlier, later in zip(beats, beats[1:]))


def main() -> None:
    build, seconds = Path(sys.argv[1]), 8.0 if "--short" in sys.argv else 30.0
    with tempfile.TemporaryDirectory(prefix="healer-bench-") as name:
        folder = Path(name)
        healer = longest_gap([str(build / "healerd"), "--socket", f"{name}/socket"], folder / "healer", seconds)
        print(f"{HANGING} hanging programs beside a quick one, cycle 1 s, {seconds:.0f} s")
        print(f"healer   longest gap {healer:.3f} s")
        if not shutil.which("monit"):
            print("monit    SKIPPED: not installed")
            return
        monit = longest_gap(["monit"], folder / "monit", seconds)
        print(f"monit    longest gap {monit:.3f} s\nratio    {monit / healer:.2f}")


main()
