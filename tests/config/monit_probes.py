#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small rules files, a statement each: do the real Monits give the verdicts of probes.tsv, and healer's dialects the same?

usage: monit_probes.py VERDICT [--update]     VERDICT is the program of tests/grammar/verdict.cpp
Each line of probes.tsv has the verdicts of Monit 5.33.0, 5.34.3 and 6.0.0, what the service is, and the text. Whatever one
of them accepts must be accepted without a dialect. The tables beside this checkout (monits.shared(): monit/probes.tsv and
probes6.tsv) are compared likewise, where they are there. Monits that are not here are told of; what the table says of them
is compared all the same. `--update` writes the verdicts of the table, and needs all three.
"""
import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import monits  # noqa: E402

TABLE = HERE / "probes.tsv"
MIDDLE = "5.34.3"
VERSIONS = {monits.OLD: "monit-5.33", MIDDLE: "monit-5.34", monits.NEW: "monit"}
HEADERS = {
    "program": 'check program x with path "/bin/true"', "process": "check process x with pidfile /run/x.pid",
    "system": "check system x", "file": "check file x with path /etc/passwd", "directory": "check directory x with path /etc",
    "fifo": "check fifo x with path /run/x", "filesystem": "check filesystem x with path /",
    "host": "check host x with address 127.0.0.1", "network": "check network x with interface lo", "set": ""}

# What {passwords} names in the table: a file as /etc/passwd, where more than 64 bytes are behind the name of a user.
PASSWORDS = f"root:x:0:0:root:/root:/bin/sh\njohn:x:1000:1000:{'John ' * 12}:/home/john:/bin/sh\n"

# Where a dialect of healer gives another verdict than that Monit, on purpose: how the file ends, the version, why.
MEANT = [
    ("allow cleartext /dev/null", monits.NEW, "what kind of file passwords are in is seen when they are read"),
    ("allow cleartext {passwords}", monits.OLD, "5.33 refuses a password of more than 64 bytes; it is read when it is used"),
    ("allow {passwords}", monits.OLD, "5.33 refuses a password of more than 64 bytes; it is read when it is used"),
    ("allow md5 /etc", monits.OLD, "5.33 hangs for ever at a directory of passwords"),
    ("allow /etc", monits.OLD, "5.33 hangs for ever at a directory of passwords"),
]


class Probes:
    """Files, and what each Monit says of them."""

    def __init__(self, folder: Path):
        self.folder, self.rows = folder, []
        self.passwords = folder / "passwords"
        self.passwords.write_text(PASSWORDS)
        self.passwords.chmod(0o600)

    def add(self, header: str, text: str, verdicts: dict[str, str]) -> None:
        path = self.folder / str(len(self.rows))
        written = text.replace("{passwords}", str(self.passwords))
        path.write_bytes(f"set daemon 5\n{header}\n{written}\n".encode("utf8", "surrogateescape"))
        path.chmod(0o600)
        self.rows.append((path, f"{header[:20]} | {text}", verdicts))

    def healer(self, program: str, *options: str) -> list[str]:
        said = []
        for at in range(0, len(self.rows), 400):
            paths = [str(path) for path, _, _ in self.rows[at:at + 400]]
            said += subprocess.run([program, *options, *paths], capture_output=True, text=True, errors="replace",
                                   timeout=300).stdout.splitlines()
        if len(said) != len(self.rows):
            sys.exit(f"{program} gave {len(said)} verdicts on {len(self.rows)} files")
        return said

    def compare(self, program: str) -> list[str]:
        free, wrong = self.healer(program), []
        for version, dialect in VERSIONS.items():
            for (_, text, verdicts), verdict, generous in zip(self.rows, self.healer(program, "--dialect", dialect), free):
                wanted = verdicts.get(version)
                if wanted is None or any(text.endswith(end) and at == version for end, at, _ in MEANT):
                    continue
                if verdict.split(" ")[0] != wanted or (wanted == "ok" and generous != "ok"):
                    wrong.append(f"{text}: Monit {version} says {wanted}; healer {verdict}, without a dialect {generous}")
        return wrong


def unescaped(text: str) -> str:
    return text.encode().decode("unicode_escape").encode("latin1").decode("utf8", "surrogateescape")


def ask(monit: str, path: Path) -> str:
    try:
        done = subprocess.run([monit, "-t", "-c", str(path)], stdin=subprocess.DEVNULL, capture_output=True, timeout=10)
    except subprocess.TimeoutExpired:
        return "hang"
    return {0: "ok", 1: "reject"}.get(done.returncode, f"exit {done.returncode}")


def own(probes: Probes) -> list[list[str]]:
    rows = [line.split("\t") for line in TABLE.read_text().splitlines() if line and not line.startswith("#")]
    for *verdicts, kind, text in rows:
        probes.add(HEADERS[kind], unescaped(text), dict(zip(VERSIONS, verdicts)))
    return rows


def shared(probes: Probes) -> int:
    found = 0
    for name, columns in (("probes.tsv", {monits.OLD: "verdict"}),
                          ("probes6.tsv", {monits.NEW: "verdict", monits.OLD: "v5.33.0", MIDDLE: "v5.34.3"})):
        path = monits.shared() / "monit" / name
        if not path.exists():
            print(f"passed over: there is no {name} beside this checkout")
            continue
        for row in csv.DictReader(path.open(), delimiter="\t", quoting=csv.QUOTE_NONE):
            probes.add(row["header"], unescaped(row["text"]), {version: row[column] for version, column in columns.items()})
            found += 1
    return found


def main() -> None:
    program = sys.argv[1]
    monit = {version: path for version in VERSIONS if (path := monits.find(version))}
    for version in VERSIONS:
        if version not in monit:
            print(f"passed over: there is no monit {version} here")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["HOME"] = folder
        probes = Probes(Path(folder))
        rows, wrong = own(probes), []
        for row, (path, text, verdicts) in zip(rows, list(probes.rows)):
            for at, version in enumerate(VERSIONS):
                asks = version in monit and verdicts[version] != "hang"
                said = ask(monit[version], path) if asks else verdicts[version]
                if said != verdicts[version] and "--update" not in sys.argv:
                    wrong.append(f"{text}: the table says {verdicts[version]}, Monit {version} says {said}")
                row[at] = said
        if "--update" in sys.argv:
            if len(monit) < len(VERSIONS):
                sys.exit("not written: not all versions of Monit are here")
            head = [line for line in TABLE.read_text().splitlines() if line.startswith("#")]
            TABLE.write_text("\n".join([*head, *("\t".join(row) for row in rows)]) + "\n")
            return
        more = shared(probes)
        wrong += probes.compare(program)
    print("\n".join(wrong[:40]))
    print(f"{len(rows)} probes and {more} of others: {len(wrong)} differ")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
