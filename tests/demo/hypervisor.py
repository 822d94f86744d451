# SPDX-License-Identifier: MIT
"""A hypervisor of processes: a node is a folder copied from the template and a process that serves from it.

usage: hypervisor.py list
       hypervisor.py info|deploy|poweron|poweroff|destroy|certify|certified|damage NAME

It stands in for vCenter in the published self-healing VM system and keeps that system's rules: a name can be deployed
once, power goes off without asking the guest, and a note on the instance certifies it as ready. What it does goes to
hypervisor.log, with the time. All its files are in the folder of this script.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).resolve().parent
NODES = TOP / "nodes"


def log(node: str, what: str) -> None:
    line = json.dumps({"time": time.time(), "node": node, "text": what}) + "\n"
    with (TOP / "hypervisor.log").open("a") as file:
        file.write(line)  # one write of less than a page: lines of two processes do not mix


def pid_of(node: str) -> int | None:
    """The node's process, if it runs. A number that another process has got meanwhile is not believed."""
    try:
        pid = int((NODES / node / "pid").read_text())
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except (OSError, ValueError):
        return None
    return pid if str(NODES / node / "boot.py").encode() in command else None


def info(node: str) -> dict:
    folder = NODES / node
    if not folder.is_dir():
        return {}
    pid = pid_of(node)
    address = (folder / "address").read_text().strip() if pid and (folder / "address").exists() else ""
    note = (folder / "annotation").read_text() if (folder / "annotation").exists() else ""
    return {"instance": {"name": node, "state": "poweredon" if pid else "poweredoff", "pid": pid, "address": address,
                         "certified": note.startswith("certified")}}


def poweroff(node: str) -> None:
    if pid := pid_of(node):
        os.kill(pid, signal.SIGKILL)
        while pid_of(node):
            time.sleep(0.01)
    log(node, "powered off")


def poweron(node: str) -> None:
    if pid_of(node):
        return
    folder = NODES / node
    (folder / "address").unlink(missing_ok=True)
    host = "127.0.0." + "".join(c for c in node if c.isdigit())[-2:]
    with (TOP / f"{node}.console").open("ab") as console:
        # The machine's own python3, and a session of its own: a node does not end with who switched it on.
        boot = subprocess.Popen(["/usr/bin/python3", str(folder / "boot.py"), node, host], start_new_session=True,
                                cwd="/", stdin=subprocess.DEVNULL, stdout=console, stderr=console, close_fds=True)
    (folder / "pid").write_text(f"{boot.pid}\n")
    log(node, "powered on")


def deploy(node: str) -> None:
    try:
        (NODES / node).mkdir()
    except FileExistsError:
        sys.exit(f"{node}: an instance of that name exists")
    shutil.copytree(TOP / "template", NODES / node, dirs_exist_ok=True)
    log(node, "deployed from the template")
    poweron(node)


def destroy(node: str) -> None:
    if pid_of(node):
        sys.exit(f"{node}: is powered on")
    shutil.rmtree(NODES / node)
    log(node, "destroyed")


def certify(node: str) -> None:
    (NODES / node / "annotation").write_text(f"certified {time.strftime('%FT%TZ', time.gmtime())}\n")
    log(node, "certified")


def certified(node: str) -> None:
    """Ends with status 0 if the node may be destroyed: one that is being built has no certificate yet."""
    if not info(node)["instance"]["certified"]:
        sys.exit(f"{node}: is not certified: it may be a node that is still being built")


def damage(node: str) -> None:
    """The fault that the demo is about: it kills the node, and switching it on again does not help."""
    log(node, "the disk is damaged, and the node dies")
    shutil.rmtree(NODES / node / "www")
    if pid := pid_of(node):
        os.kill(pid, signal.SIGKILL)


def main() -> None:
    command, *names = sys.argv[1:] or ["help"]
    NODES.mkdir(exist_ok=True)
    if command == "list" and not names:
        print(json.dumps([info(path.name)["instance"] for path in sorted(NODES.iterdir())], indent=1))
    elif command == "info" and len(names) == 1:
        print(json.dumps(info(names[0])))
    elif command in ("deploy", "poweron", "poweroff", "destroy", "certify", "certified", "damage") and len(names) == 1:
        if command != "deploy" and not (NODES / names[0]).is_dir():
            sys.exit(f"{names[0]}: no such instance")
        globals()[command](names[0])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
