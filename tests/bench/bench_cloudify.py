#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Thousands of the probes of Cloudify's healer plugin in one healerd: nodes with a ping, a port, an own probe (a program) and
a composite of the three, each in the group of its deployment, every 10 seconds. What it costs, how late the probes are, how
long a deployment's history takes, and how soon the healings of nodes that break at once have started their executions, each
once.

usage: bench_cloudify.py BUILD [--short]      --short has a twentieth of the nodes
"""
import json
import os
import resource
import socket
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / name) for name in ("support", "e2e")]
import cloudify  # noqa: E402
from bench_lists import Daemon, write  # noqa: E402

NODES = 5_000
DEPLOYMENTS = 100
BROKEN = 10
WATCHED = 60.0  # seconds


def accept_all(listener: socket.socket) -> None:
    while True:
        try:
            listener.accept()[0].close()
        except OSError:
            return


def rules(folder: Path, api: str, port: int) -> str:
    login = 'username "${secret:cloudify[1]}" password "${secret:cloudify[2]}" header "Tenant: ${secret:cloudify[3]}"'
    return (
        f'set daemon 10\nset secrets "{folder}/secrets"\nworkflow heal_instance {{\n  guard program "/bin/true"\n'
        f'  step "heal" http post "{api}/executions" {login}\n'
        '    body \'{"deployment_id": "${NODE.deployment}", "workflow_id": "heal", "parameters": {"node_instance_id": "${NODE}"}}\'\n'
        f'    expect 201 save json ".id" as EXECUTION until get "{api}/executions/${{EXECUTION}}" {login}\n'
        '    json ".status" = "terminated" every 1 second within 10 minutes\n'
        '  step "verify" recovered within 10 minutes\n  limit 20 at once\n}\n'
        f'for each NODE from file "{folder}/nodes" every 5 minutes {{\n'
        '  check host ping_${NODE} with address "${NODE.ip}"\n    group "${NODE.deployment}"\n'
        "    if failed ping count 1 timeout 5 seconds for 3 cycles then alert\n"
        '  check host port_${NODE} with address "${NODE.ip}"\n    group "${NODE.deployment}"\n'
        f"    if failed port {port} timeout 5 seconds for 3 cycles then alert\n"
        f'  check program own_${{NODE}} with path "/usr/bin/test ! -e {folder}/broken/${{NODE}}" timeout 10 seconds\n'
        '    group "${NODE.deployment}"\n    every 60 seconds\n    if status != 0 then alert\n'
        "  check composite node_${NODE} with members ping_${NODE}, port_${NODE}, own_${NODE}\n"
        '    group "${NODE.deployment}"\n    if any member failed then heal with heal_instance\n}\n')


def cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def bench(build: Path, folder: Path, count: int) -> None:
    manager = cloudify.Cloudify("healer", "sesame", "default_tenant")
    manager.heals = lambda name: (folder / "broken" / name).unlink(missing_ok=True)
    listener = socket.create_server(("", 0), backlog=4096)
    threading.Thread(target=accept_all, args=[listener], daemon=True).start()
    (folder / "broken").mkdir()
    (folder / "secrets").mkdir(mode=0o700)
    write(folder / "secrets" / "cloudify", "healer,sesame,default_tenant\n")
    names = [f"vm_{number:05}" for number in range(count)]
    rows = ""
    for number, name in enumerate(names):
        deployment = f"d{number % DEPLOYMENTS}"
        manager.add_instance(name, deployment)
        rows += json.dumps({"name": name, "deployment": deployment, "ip": f"127.1.{number // 250}.{number % 250 + 1}"}) + "\n"
    write(folder / "nodes", rows)
    daemon = Daemon(build, folder / "daemon", rules(folder, manager.api, listener.getsockname()[1]))
    try:
        daemon.wait_for(lambda: f"rows      {count}" in daemon.ctl("lists"))
        daemon.ctl("accept", "list", "NODE")
        runs = lambda: json.loads(daemon.ctl("summary", "--json"))["daemon"]  # noqa: E731
        time.sleep(70)  # each has run
        pid = daemon.process.pid
        begin, used = time.monotonic(), cpu(pid)
        pings = []
        while time.monotonic() < begin + WATCHED:
            pings.append(daemon.ping())
            time.sleep(0.05)
        share = (cpu(pid) - used) / (time.monotonic() - begin)
        pings.sort()
        print(f"{count} nodes, {4 * count} services: {100 * share:.1f} % of a core, {memory(pid):.0f} MB; a ping of healerctl takes "
              f"{pings[len(pings) * 99 // 100] * 1000:.0f} ms at p99, {pings[-1] * 1000:.0f} ms at most; {runs()['cycles']} cycles")

        broken = names[:BROKEN]
        begin = time.monotonic()
        for name in broken:
            (folder / "broken" / name).touch()
        started: dict[str, float] = {}
        while len(started) < len(broken):
            if time.monotonic() > begin + 300:
                sys.exit(f"only {len(started)} executions were started: " + daemon.ctl("healing", "status"))
            for one in manager.started():
                if one["status"] == "started" and one["id"] not in started:
                    started[one["id"]] = time.monotonic() - begin
            time.sleep(0.05)
        for number in started:
            manager.finish(number)
        daemon.wait_for(lambda: not json.loads(daemon.ctl("healing", "status", "--json"))["healings"])
        asked = manager.count("POST", f"{cloudify.API}/executions")
        print(f"{len(broken)} nodes of as many deployments break (an own probe each minute): all executions are started within "
              f"{max(started.values()):.0f} s, {asked} calls; all verified {time.monotonic() - begin:.0f} s after the break")
        begin = time.monotonic()
        lines = daemon.ctl("history", "d0", "-n", "1000").count("\n")
        print(f"the history of a deployment of {4 * count // DEPLOYMENTS} services: {lines} lines in {(time.monotonic() - begin) * 1000:.0f} ms")
    finally:
        daemon.end()
        manager.stop()
        listener.close()


def main() -> None:
    build, share = Path(sys.argv[1]).resolve(), 20 if "--short" in sys.argv else 1
    with tempfile.TemporaryDirectory() as folder:
        bench(build, Path(folder), NODES // share)


if __name__ == "__main__":
    main()
