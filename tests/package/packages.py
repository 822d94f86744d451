# SPDX-License-Identifier: MIT
"""How the deb and the rpm are installed, upgraded and removed in a container, and the version before this one."""
import os
import re
import subprocess
import tempfile
from pathlib import Path

from container import Container

TOP = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ.get("HEALER_PACKAGES") or TOP / "packages")


def only(pattern: str) -> Path:
    """The one package of that name."""
    found = [path for path in sorted(FOLDER.glob(pattern)) if not re.search(r"dbgsym|debug|\.src\.rpm$", path.name)]
    if len(found) != 1:
        raise FileNotFoundError(f"{FOLDER} has {len(found)} packages {pattern}: run ./start package")
    return found[0]


class Deb:
    kind = "deb"
    defaults = "/etc/default/healer"

    def __init__(self, box: Container) -> None:
        self.box = box

    @staticmethod
    def file() -> Path:
        return only("healer_*.deb")

    @classmethod
    def file_before(cls) -> Path:
        """The same package with a lower version, and with another default file of settings; tests beside this one see
        it whole or not at all."""
        target = FOLDER / "before" / "healer_0.0.9_all.deb"
        if not target.exists() or target.stat().st_mtime < cls.file().stat().st_mtime:
            target.parent.mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory() as folder:
                subprocess.run(["dpkg-deb", "-R", str(cls.file()), folder], check=True)
                control = Path(folder, "DEBIAN/control")
                control.write_text(re.sub("^Version: .*", "Version: 0.0.9", control.read_text(), flags=re.M))
                settings = Path(folder, "etc/healer/rules.d/00-settings.rules")
                settings.write_text(settings.read_text() + "\n# of the version before\n")
                Path(folder, "DEBIAN/md5sums").unlink()
                made = Path(tempfile.mkdtemp(dir=target.parent), target.name)
                subprocess.run(["dpkg-deb", "-Zgzip", "-b", folder, str(made)], check=True, stdout=subprocess.DEVNULL)
                made.replace(target)
                made.parent.rmdir()
        return target

    def install(self, file: Path | None = None, *options: str) -> None:
        self.box.run("apt-get", "install", "-y", *options, "--no-install-recommends", self.box.put(file or self.file()))

    def upgrade(self, *options: str) -> None:
        self.install(None, *options)

    def remove(self) -> None:
        self.box.run("apt-get", "remove", "-y", "healer")

    def purge(self) -> None:
        self.box.run("apt-get", "purge", "-y", "healer")


class Rpm:
    """Debian's own rpm installs it; what it needs is there as Debian's packages."""

    kind = "rpm"
    defaults = "/etc/sysconfig/healer"
    how = ("--force-debian", "--dbpath", "/var/lib/rpm", "--nodeps")

    def __init__(self, box: Container) -> None:
        self.box = box

    @staticmethod
    def file() -> Path:
        return only("healer-[0-9]*-1.*.rpm")

    @staticmethod
    def file_before() -> Path:
        return only("before/healer-[0-9]*-0.*.rpm")

    def install(self, file: Path | None = None) -> None:
        self.box.run("rpm", *self.how, "-i", self.box.put(file or self.file()))
        self.box.run("systemctl", "enable", "--now", "healer")

    def upgrade(self) -> None:
        self.box.run("rpm", *self.how, "-U", self.box.put(self.file()))

    def remove(self) -> None:
        self.box.run("rpm", *self.how, "-e", "healer")
