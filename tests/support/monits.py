# SPDX-License-Identifier: MIT
"""The real Monits that healer is compared with: 5.33, as it is installed on this machine, and 6.0.0, which a script beside
this checkout fetches ($HEALER_SHARED or ../shared: monit/get-monit.sh)."""
import os
import shutil
import subprocess
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent.parent
OLD, NEW = "5.33", "6.0.0"
DIALECT = {OLD: "monit-5.33", NEW: "monit"}


def shared() -> Path:
    return Path(os.environ.get("HEALER_SHARED") or TOP.parent / "shared")


def version_of(monit: str) -> str:
    text = subprocess.run([monit, "-V"], capture_output=True, text=True).stdout
    return text.split("version ", 1)[1].split()[0] if "version " in text else ""


def find(version: str) -> str | None:
    """The program of that version; None: it is not to be had here."""
    if version == OLD:
        monit = shutil.which("monit")
        return monit if monit and version_of(monit).startswith(OLD) else None
    script = shared() / "monit/get-monit.sh"
    if not script.exists():
        return None
    done = subprocess.run([script, version], capture_output=True, text=True, timeout=600)
    monit = done.stdout.strip()
    return monit if done.returncode == 0 and version_of(monit) == version else None


def found() -> dict[str, str]:
    """Those that are to be had, by version."""
    return {version: monit for version in (OLD, NEW) if (monit := find(version))}
