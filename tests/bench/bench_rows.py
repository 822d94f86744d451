#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Rows of lists: 10,000 of them, from one answer of 20 MB every 15 seconds. How late the loop is meanwhile, measured by
what a client of the control socket waits for, beside a daemon without rows; how long a reading takes from its request to
the last row that is judged; the memory and the processor time of the daemon and of its helper.

usage: bench_rows.py BUILD [--short]      prints figures; --short has 1,000 rows in 2 MB, every 3 seconds
"""
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import processes  # noqa: E402

SHORT = "--short" in sys.argv
ROWS = 1_000 if SHORT else 10_000
SIZE = 2_000  # bytes of a row
EVERY = 3 if SHORT else 15
SECONDS = 4 * EVERY
WANTED = 10  # milliseconds


def document(beat: int) -> bytes:
    """As a cluster lists its nodes: most of it nobody asks for, and some of that changes each time."""
    padding = "x" * (SIZE - 500)
    return json.dumps({"items": [
        {"metadata": {"name": f"node{i}", "labels": {"zone": f"z{i % 3}"}, "resourceVersion": str(beat * 100_000 + i)},
         "spec": {"providerID": f"cloud:///{i}"},
         "status": {"conditions": [{"type": "MemoryPressure", "status": "False", "lastHeartbeatTime": f"{beat}"},
                                   {"type": "Ready", "status": "False" if i % 1000 == 7 else "True"}],
                    "images": padding}} for i in range(ROWS)]}).encode()


class Nodes(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answers: list[bytes] = []
    asked: list[float] = []

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = self.answers[len(self.asked) % len(self.answers)]
        self.asked.append(time.time())
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def figures(times: list[float]) -> str:
    times = sorted(times)
    return (f"median {times[len(times) // 2]:.2f} ms, p99 {times[int(len(times) * 0.99) - 1]:.2f} ms, "
            f"p99.9 {times[int(len(times) * 0.999) - 1]:.2f} ms, longest {times[-1]:.2f} ms of {len(times)}")


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def cpu(pid: int) -> float:
    """Seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> str:
    fields = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return f"{int(fields['VmRSS'].split()[0]) / 1024:.0f} MB, at most {int(fields['VmHWM'].split()[0]) / 1024:.0f} MB"


def waits(path: str, seconds: float) -> tuple[list[float], list[float]]:
    """What a `ping` over the socket waits for, a hundred times a second, and by how much the sleep before it was late, which is
    the machine's: milliseconds."""
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.connect(path)
    times: list[float] = []
    late: list[float] = []
    until = time.monotonic() + seconds
    question = json.dumps({"version": 1, "command": "ping"}).encode() + b"\n"
    while time.monotonic() < until:
        begun = time.monotonic()
        client.send(question)
        answer = b""
        while b'"end":' not in answer and b'"error":' not in answer:
            answer += client.recv(1 << 16)
        times.append(1000 * (time.monotonic() - begun))
        begun = time.monotonic()
        time.sleep(0.01)
        late.append(1000 * (time.monotonic() - begun) - 10)
    return times, late


class Daemon:
    def __init__(self, build: Path, folder: Path, rules: str):
        self.build, self.path = build, str(folder / "socket")
        config = folder / "rules"
        config.write_text("set daemon 30\ncheck program nothing with path /bin/true\n  if status != 0 then alert\n" + rules)
        config.chmod(0o600)
        self.log = folder / "log"
        self.process = subprocess.Popen([build / "healerd", "-I", "-c", config, "-p", folder / "pid", "-s", folder / "state",
                                         "-l", self.log, "--socket", self.path], stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, preexec_fn=processes.die_with_parent)
        until = time.monotonic() + 120
        while subprocess.run([build / "healerctl", "--socket", self.path, "ping"], capture_output=True).returncode != 0:
            if time.monotonic() > until or self.process.poll() is not None:
                sys.exit("healerd does not answer")
            time.sleep(0.05)

    def ask(self, *words: str) -> dict:
        return json.loads(subprocess.run([self.build / "healerctl", "--socket", self.path, *words, "--json"],
                                         capture_output=True, check=True).stdout)

    def end(self) -> None:
        self.process.kill()
        self.process.wait()


def main() -> None:
    build = Path(sys.argv[1])
    folder = Path(tempfile.mkdtemp(prefix="healer-rows-"))
    Nodes.answers = [document(beat) for beat in range(2)]
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Nodes)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    daemons: list[Daemon] = []
    try:
        bare_folder = folder / "bare"
        bare_folder.mkdir()
        bare = Daemon(build, bare_folder, "")
        daemons.append(bare)
        time.sleep(3)
        print(f"without rows: a client waits {figures(waits(bare.path, SECONDS)[0])}")
        bare.end()
        daemon = Daemon(build, folder, f"""for each NODE from http "http://127.0.0.1:{server.server_address[1]}/nodes"
              rows '.items[]' name '.metadata.name' every {EVERY} seconds {{
            check row node_${{NODE}} group nodes
              if json '.status.conditions[] | select(.type=="Ready") | .status' != "True" for 2 cycles then alert
              if json '.status.conditions[] | select(.type=="MemoryPressure") | .status' = "True" then alert
              if json '.spec.unschedulable' = true for 10 cycles then alert
          }}
          """)
        daemons.append(daemon)
        last, until = f"node_node{ROWS - 1}", time.monotonic() + 600
        runs = lambda: daemon.ask("status", last)["services"][0]["runs"]  # noqa: E731
        while subprocess.run([build / "healerctl", "--socket", daemon.path, "status", last], capture_output=True).returncode != 0 \
                or runs() < 2:
            if time.monotonic() > until:
                sys.exit("the rows do not come:\n" + daemon.log.read_text()[-2000:])
            time.sleep(0.5)
        begun, used, asked = time.monotonic(), cpu(daemon.process.pid), len(Nodes.asked)
        helpers = {pid: cpu(pid) for pid in children(daemon.process.pid)}
        times, late = waits(daemon.path, SECONDS)
        took = time.monotonic() - begun
        print(f"{ROWS} rows in {len(Nodes.answers[0]) / 1e6:.1f} MB every {EVERY} s, {len(Nodes.asked) - asked} readings: "
              f"a client waits {figures(times)}")
        print(f"a sleep of a program beside it is late by {figures(late)}")
        print(f"the daemon takes {100 * (cpu(daemon.process.pid) - used) / took:.0f} % of a core, {memory(daemon.process.pid)}")
        for pid, before in helpers.items():
            if Path(f"/proc/{pid}").exists():
                print(f"its helper {pid} takes {100 * (cpu(pid) - before) / took:.0f} % of a core, {memory(pid)}")
        asked, before = len(Nodes.asked), runs()
        while len(Nodes.asked) == asked:
            time.sleep(0.005)
        begun = time.monotonic()
        while runs() == before:
            time.sleep(0.01)
        print(f"a reading is judged {time.monotonic() - begun:.1f} s after its request")
        if max(times) > WANTED:
            print(f"the longest wait is more than the {WANTED} ms that are wanted")
    finally:
        for daemon in daemons:
            daemon.end()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
