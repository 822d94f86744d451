# SPDX-License-Identifier: MIT
"""Small virtual machines under a libvirt of their own, with the playbooks of the example self-healing-vms.

A guest is a Linux kernel, busybox and a disk of a few megabytes, emulated; it serves a page, and can be broken so that
no reboot mends it. libvirtd runs in a folder, as if an ordinary user had started it, and touches nothing of the
machine's own; `./start test` fetches what is needed.
"""
import http.client
import json
import lzma
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import processes

TOP = Path(__file__).resolve().parents[2]
FILES = TOP / "tests" / "support" / "vms"
EXAMPLE = TOP / "rules.d" / "examples" / "self-healing-vms"
CACHE = TOP / "build" / "vms"  # the guests' kernel, unpacked by ./start, and what libvirt knows of qemu
PROGRAMS = ("libvirtd", "virsh", "qemu-system-x86_64", "qemu-img", "ansible-playbook", "cpio", "mke2fs", "unshare")
BUSYBOX = Path("/bin/busybox")
MODULES = ("failover", "net_failover", "virtio_ring", "virtio", "virtio_pci_modern_dev", "virtio_pci_legacy_dev", "virtio_pci",
           "virtio_blk", "virtio_net")
# As an ordinary user (`daemon`, whom every system has), libvirtd asks for no rights; files stay those of who started it.
# And all of its processes, machines too, end with the first one.
APART = ("unshare", "--user", "--map-user=1", "--map-group=1", "--pid", "--fork", "--kill-child", "--mount-proc")
MEMORY = 96  # MiB of a guest: the least that boots
CERTIFICATE = "urn:healer:certified"


def kernel() -> Path | None:
    return next(iter(sorted((CACHE / "kernel" / "boot").glob("vmlinuz-*"))), None)


def place_module(name: str, folder: Path) -> None:
    """A module of the kernel; Debian 13 packs them, and has some of them in the kernel itself."""
    for module in (CACHE / "kernel").rglob(f"{name}.ko*"):
        content = module.read_bytes()
        (folder / f"{name}.ko").write_bytes(lzma.decompress(content) if module.suffix == ".xz" else content)


def missing() -> str:
    """Why there can be no virtual machines here; nothing where there can."""
    if platform.machine() != "x86_64":
        return "the guests are made for x86_64"
    if absent := [name for name in PROGRAMS if not shutil.which(name)]:
        return f"not installed: {', '.join(absent)}"
    if not BUSYBOX.exists() or subprocess.run(["ldd", BUSYBOX], capture_output=True).returncode == 0:
        return "not installed: busybox-static"
    if not kernel():
        return f"the kernel of the guests is not in {CACHE}/kernel (./start test fetches it)"
    if subprocess.run([*APART, "true"], capture_output=True).returncode != 0:
        return "there are no namespaces of users and processes here"
    return ""


class Hypervisor:
    """A libvirtd in `folder` and its nodes, webbox1 and on, each at an address of its own."""

    def __init__(self, folder: Path, port: int, other_port: int, count: int) -> None:
        self.folder, self.port, self.other_port = folder, port, other_port
        self.nodes = [f"webbox{number}" for number in range(1, count + 1)]
        self.plays = folder / "plays"    # what is /etc/healer/self-healing-vms elsewhere
        self.disks = folder / "disks"
        self.guest = folder / "guest"
        self.socket = folder / "run" / "libvirt" / "libvirt-sock"
        self.uri = f"qemu+unix:///session?socket={self.socket}"
        self.environment = {**os.environ, "LIBVIRT_DEFAULT_URI": self.uri, "LC_ALL": "C.UTF-8", "HOME": str(folder),
                            "ANSIBLE_HOME": str(folder / "ansible")}
        self.children: list[subprocess.Popen] = []
        for name in ("run", "config/libvirt", "disks", "guest", "ansible"):
            (folder / name).mkdir(parents=True)
        self.make_guest()
        self.make_plays()
        self.start_libvirtd()

    # ---- making -----------------------------------------------------------------------------------------------

    def make_guest(self) -> None:
        """The first file system of a guest, and the disk that all are copies of."""
        root = self.guest / "root"
        for name in ("bin", "dev", "proc", "sys", "disk", "modules"):
            (root / name).mkdir(parents=True)
        shutil.copy(BUSYBOX, root / "bin" / "busybox")
        for name in subprocess.run([BUSYBOX, "--list"], capture_output=True, text=True, check=True).stdout.split():
            if name != "busybox":
                (root / "bin" / name).symlink_to("busybox")
        for name in MODULES:
            place_module(name, root / "modules")
        shutil.copy(FILES / "init", root / "init")
        names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
        with (self.guest / "initrd").open("wb") as initrd:
            subprocess.run(["cpio", "--create", "--format=newc", "--quiet", "--owner=0:0"], input=names.encode(), stdout=initrd,
                           cwd=root, check=True)
        (self.guest / "vmlinuz").symlink_to(kernel())
        disk = self.guest / "disk"
        shutil.copytree(FILES / "cgi-bin", disk / "www" / "cgi-bin")
        (disk / "www" / "health").write_text("well\n")
        run("mke2fs", "-q", "-t", "ext4", "-d", disk, self.guest / "template.raw", "16M")
        run("qemu-img", "convert", "-O", "qcow2", self.guest / "template.raw", self.guest / "template.qcow2")

    def make_plays(self) -> None:
        """The playbooks of the example, adapted to these machines as its README says."""
        shutil.copytree(EXAMPLE / "libvirt", self.plays)
        shutil.copy(EXAMPLE / "may-be-healed", self.plays)
        for name in ("ask-from", "hand_over.yml", "node.xml.j2"):
            shutil.copy(FILES / name, self.plays)
        text = (self.plays / "ask-from").read_text()
        (self.plays / "ask-from").write_text(text.replace("PORT", str(self.other_port)))
        settings = {"template_disk": f"{self.guest}/template.qcow2", "disks": self.disks, "memory_mib": MEMORY,
                    "health": '"http://{{ address }}:{{ guest_port }}/health"'}
        text = (self.plays / "vars.yml").read_text()
        for name, value in settings.items():
            text, found = re.subn(rf"^{name}: .*$", f"{name}: {value}", text, flags=re.M)
            assert found == 1, name
        # The guests measure nothing, so they are told how fast the clock of the processor goes.
        clock = re.search(r"^cpu MHz\s*: ([0-9.]+)", Path("/proc/cpuinfo").read_text(), re.M)
        self.more = {"guest_port": self.port, "other_port": self.other_port, "guest": self.guest, "clock_khz": int(float(clock.group(1)) * 1000)}
        (self.plays / "vars.yml").write_text(text + "".join(f"{name}: {value}\n" for name, value in self.more.items()))
        self.write_nodes(self.nodes)

    def write_nodes(self, nodes: list[str]) -> None:
        """The list that healer reads."""
        new = self.plays / "nodes.new"
        new.write_text("".join(json.dumps({"name": node, "ip": self.address(node)}) + "\n" for node in nodes))
        new.chmod(0o600)
        new.rename(self.plays / "nodes")

    def rules(self, quicker: dict[str, str]) -> str:
        """The example's rules for these machines, with other times."""
        text = (EXAMPLE.parent / "self-healing-vms.rules").read_text()
        places = {"/etc/healer/self-healing-vms": str(self.plays), "qemu:///system": self.uri, " port 80": f" port {self.port}"}
        for old, new in {**places, **quicker}.items():
            assert old in text, old
            text = text.replace(old, new)
        return f'set environment ANSIBLE_HOME "{self.folder}/ansible"\n{text}'

    def start_libvirtd(self) -> None:
        (self.folder / "config" / "libvirt" / "qemu.conf").write_text(
            'security_driver = "none"\nstdio_handler = "file"\ncgroup_controllers = [ ]\nnamespaces = [ ]\n')
        settings = self.folder / "libvirtd.conf"
        settings.write_text(f'log_outputs = "2:file:{self.folder}/libvirtd.log"\n')
        CACHE.mkdir(parents=True, exist_ok=True)
        places = {"RUNTIME_DIR": self.folder / "run", "CONFIG_HOME": self.folder / "config", "DATA_HOME": self.folder / "data",
                  "CACHE_HOME": CACHE / "cache"}
        self.spawn([*APART, sys.executable, __file__, "libvirtd", "--config", str(settings), "--pid-file",
                    str(self.folder / "libvirtd.pid")],
                   self.folder / "libvirtd.out", {f"XDG_{name}": str(path) for name, path in places.items()})
        wait_for(lambda: self.socket.exists() and self.virsh("version", judge=False).returncode == 0, "libvirtd", 120)
        self.spawn(["virsh", "event", "--all", "--loop", "--timestamp"], self.folder / "events")

    def spawn(self, command: list[str], output: Path, more: dict[str, str] | None = None) -> None:
        with output.open("wb") as out:
            self.children.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd="/",
                                                  env={**self.environment, **(more or {})}, start_new_session=True,
                                                  preexec_fn=processes.die_with_parent))

    # ---- using ------------------------------------------------------------------------------------------------

    def address(self, node: str) -> str:
        """One of this process's own on the loopback interface."""
        return f"127.{64 + os.getpid() // 256 % 128}.{os.getpid() % 256}.{node.removeprefix('webbox')}"

    def virsh(self, *words: str, judge: bool = True) -> subprocess.CompletedProcess:
        return subprocess.run(["virsh", "--quiet", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              env=self.environment, check=judge)

    def play(self, name: str, node: str) -> subprocess.CompletedProcess:
        return subprocess.run(["ansible-playbook", self.plays / f"{name}.yml", "-e", f"vm_name={node}"], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, env=self.environment)

    def deploy(self) -> None:
        """All nodes at once, without Ansible, which is not what is tried here; certified when they answer."""
        for node in self.nodes:
            disk = self.disks / f"{node}.qcow2"
            run("qemu-img", "create", "-q", "-f", "qcow2", "-F", "qcow2", "-b", self.guest / "template.qcow2", disk)
            known = {**self.more, "vm_name": node, "disk": disk, "disks": self.disks, "memory_mib": MEMORY,
                     "address": self.address(node)}
            description = self.disks / f"{node}.xml"
            template = (FILES / "node.xml.j2").read_text()
            description.write_text(re.sub(r"{{ (\w+) }}", lambda name: str(known[name.group(1)]), template))  # noqa: B023
            self.virsh("define", str(description))
            self.virsh("start", node)
        for node in self.nodes:
            wait_for(lambda: self.well(node), f"{node} to answer", 240)  # noqa: B023
            self.certify(node)

    def certify(self, node: str) -> None:
        self.virsh("metadata", node, CERTIFICATE, "--live", "--config", "--key", "healer", "--set", "<certified at='first'/>")

    def take_certificate(self, node: str) -> None:
        self.virsh("metadata", node, CERTIFICATE, "--live", "--config", "--remove")

    def certified(self, node: str) -> bool:
        return "certified" in self.virsh("metadata", node, CERTIFICATE, judge=False).stdout  # virsh 11 exits with 0 without one

    def instance(self, node: str) -> str:
        """What another instance of that name does not share."""
        return self.virsh("domuuid", node).stdout.strip()

    def ask(self, node: str, path: str, limit: float = 5.0) -> str:
        """What the node says; OSError or HTTPException where it says nothing."""
        connection = http.client.HTTPConnection(self.address(node), self.port, timeout=limit)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            if answer.status != 200:
                raise OSError(f"{path}: {answer.status}")
            return answer.read().decode()
        finally:
            connection.close()

    def well(self, node: str) -> bool:
        try:
            return bool(self.ask(node, "/health", 2.0))
        except (OSError, http.client.HTTPException):
            return False

    def fault(self, node: str) -> None:
        """From now on the node answers nothing, and a reboot does not help."""
        self.ask(node, "/cgi-bin/break", 30.0)
        wait_for(lambda: not self.well(node), f"the fault of {node}", 60)

    def cut(self, node: str) -> None:
        """From now on the node is well, and healer cannot reach it; the others can."""
        self.virsh("qemu-monitor-command", node, "--hmp", f"hostfwd_remove forwarded tcp:{self.address(node)}:{self.port}")
        wait_for(lambda: not self.well(node), f"the cut of {node}", 60)

    def all_events(self) -> list[tuple[str, str]]:
        """What the hypervisor has done with whom: Defined, Started, Stopped, Undefined, reboot, metadata-change."""
        found = []
        for line in (self.folder / "events").read_text().splitlines():
            if match := re.search(r": event '([\w-]+)' for domain '(\w+)'(?:: (\w+))?", line):
                found.append((match.group(2), match.group(3) if match.group(1) == "lifecycle" else match.group(1)))
        return found

    def events(self, node: str) -> list[str]:
        return [event for whom, event in self.all_events() if whom == node]

    def end(self) -> None:
        for child in self.children:
            child.kill()
            child.wait()


def run(*words: object) -> None:
    subprocess.run([str(word) for word in words], check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def wait_for(condition, what: str, limit: float) -> None:
    deadline = time.monotonic() + limit
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {limit:.0f} s in vain for {what}")
        time.sleep(0.1)


def keep(command: list[str]) -> None:
    """The first process of those: it runs libvirtd and waits for what that leaves behind, for libvirtd takes no machine for
    gone whose process nobody has waited for."""
    daemon = subprocess.Popen(command)
    while os.wait()[0] != daemon.pid:
        pass


if __name__ == "__main__":
    keep(sys.argv[1:])
