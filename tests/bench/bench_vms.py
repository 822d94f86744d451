#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""A virtual machine breaks so that only a rebuild helps: from the fault to the verified recovery, in healer and in the real
monit, with the same playbook; and what the rebuild takes as a step of a workflow, against the bare playbook.

usage: bench_vms.py BUILD [--short]      prints both and their ratios: 1.1 is the most that a step may take of the bare
                                         playbook. Needs emulated machines and minutes, so --short does nothing.
"""
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import processes  # noqa: E402
import virtual_machines  # noqa: E402

ROUNDS = 5
NODE = "webbox1"
LIMIT = 300.0  # seconds that one recovery may take


@dataclass
class Times:
    """Seconds from the fault to the start of the playbook, to its end, and until the daemon, that being done, has seen the
    node to be well. And how long the step of the workflow took."""

    began: float
    ended: float
    well: float
    step: float = 0.0


class Bench:
    def __init__(self, build: Path, folder: Path, vms: virtual_machines.Hypervisor) -> None:
        self.build, self.folder, self.vms = build, folder, vms
        # What each of them runs: the example's playbook; it notes when it began and ended, to the nanosecond.
        environment = " ".join(f'{name}="{vms.environment[name]}"'
                               for name in ("LIBVIRT_DEFAULT_URI", "ANSIBLE_HOME", "HOME", "LC_ALL"))
        self.rebuild = self.script("rebuild", f"""
date +%s.%N > {folder}/began
env {environment} /usr/bin/ansible-playbook {vms.plays}/rebuild.yml -e vm_name={NODE} || exit
date +%s.%N > {folder}/ended""")
        self.seen = self.script("seen", f"date +%s.%N > {folder}/well")
        self.test = f'failed port {vms.port} protocol http request "/health" timeout 5 seconds for 3 cycles'

    def script(self, name: str, body: str) -> Path:
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return path

    def bare(self) -> float:
        self.vms.fault(NODE)
        began = time.monotonic()
        subprocess.run([self.rebuild], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return time.monotonic() - began

    def recovery(self, command: list[str], rules: str, look: Callable[[], None] = lambda: None) -> Times:
        """Runs a daemon on the rules, breaks the node, waits for the recovery, and has a look."""
        for name in ("began", "ended", "well"):
            (self.folder / name).unlink(missing_ok=True)
        own = self.folder / "daemon"
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir()
        control = own / "control"
        control.write_text(f"set daemon 1\nset pidfile {own}/pid\nset idfile {own}/id\nset statefile {own}/state\n"
                           f"set log {own}/log\n{rules}")
        control.chmod(0o600)
        daemon = subprocess.Popen([*command, "-I", "-c", str(control)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL, preexec_fn=processes.die_with_parent)
        try:
            time.sleep(5)  # it has looked at the node by then, and found it well
            fault = time.time()
            self.vms.fault(NODE)
            virtual_machines.wait_for(lambda: all(self.noted(name) for name in ("began", "ended", "well")), "the recovery", LIMIT)
            look()
        finally:
            daemon.terminate()
            daemon.wait(60)
        began, ended, well = (float((self.folder / name).read_text()) - fault for name in ("began", "ended", "well"))
        return Times(began, ended, max(ended, well))

    def noted(self, name: str) -> bool:
        path = self.folder / name
        return path.exists() and path.read_text().endswith("\n")

    def with_monit(self) -> Times:
        return self.recovery(["monit"], f"check host {NODE} with address {self.vms.address(NODE)}\n"
                             f'  if {self.test} then exec "{self.rebuild}" else if succeeded then exec "{self.seen}"\n')

    def with_healer(self) -> Times:
        """And how long the step took, by healer's history."""
        ask = [self.build / "healerctl", "--socket", f"{self.folder}/socket", "history", "--json"]
        step: list[float] = []

        def look() -> None:
            records = json.loads(subprocess.run(ask, capture_output=True, text=True, check=True).stdout)["records"]
            step.extend(datetime.fromisoformat(one["when"]).timestamp() for one in records if 'step "rebuild"' in one["text"])

        times = self.recovery(
            [str(self.build / "healerd"), "--socket", f"{self.folder}/socket"],
            f'set environment LIBVIRT_DEFAULT_URI "{self.vms.uri}"\n'
            f'workflow rebuild {{\n  guard once program "{self.vms.plays}/is-certified ${{TARGET}}"\n'
            f'  step "rebuild" program "{self.rebuild}" timeout 5 minutes\n  step "verify" recovered within 5 minutes\n'
            f'  step "seen" program "{self.seen}"\n}}\n'
            f"check host {NODE} with address {self.vms.address(NODE)}\n  if {self.test} then heal with rebuild\n", look)
        times.step = max(step) - min(step)
        return times


def measure(bench: Bench) -> None:
    bare, healer, monit = [], [], []
    for _ in range(ROUNDS):  # in turn, so that what else the machine does falls on all
        bare.append(bench.bare())
        healer.append(bench.with_healer())
        monit.append(bench.with_monit())
    print(f"a virtual machine breaks; cycle 1 s, three failures in a row; medians of {ROUNDS}")
    print(f"bare     playbook alone {spread(bare)}")
    for name, times in (("healer", healer), ("monit", monit)):
        print(f"{name:8} playbook begins after {spread([one.began for one in times])}, ends after "
              f"{spread([one.ended for one in times])}; seen to be well after {spread([one.well for one in times])}")
    recovery = [median([one.well for one in times]) for times in (healer, monit)]
    print(f"ratio    verified recovery, healer to monit {recovery[0] / recovery[1]:.2f}")
    step = [one.step for one in healer]
    print(f"ratio    step of the workflow {spread(step)}, to the bare playbook {median(step) / median(bare):.2f}")
    own = [one.step - (one.ended - one.began) for one in healer]
    print(f"         of the step, not the playbook's {1000 * median(own):.0f} ms")


def spread(times: list[float]) -> str:
    return f"{median(times):.2f} s ({min(times):.2f} to {max(times):.2f})"


def main() -> None:
    build = Path(sys.argv[1]).resolve()
    if "--short" in sys.argv:
        print("SKIPPED: takes minutes (./start bench)")
        return
    if why := virtual_machines.missing() or ("" if shutil.which("monit") else "not installed: monit"):
        print(f"SKIPPED: {why}")
        return
    processes.adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="healer-bench-") as name:
        vms = virtual_machines.Hypervisor(Path(name) / "vms", 8899, 8898, 1)
        try:
            vms.deploy()
            bench = Bench(build, Path(name), vms)
            measure(bench)
        finally:
            vms.end()
            processes.end_all()


main()
