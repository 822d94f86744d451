#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do the real Monits give the verdicts that corpus/monit.tsv says they give?

usage: monit_verdicts.py [--update]

Lays each case of the corpus out in a directory of its own and runs `monit -t` of 5.33 and of 6.0.0 on it. The C++ side
(corpus_test.cpp) compares `--dialect monit-5.33` and `--dialect monit` with the same table, so together they compare healer
with Monit. A version that is not here is passed over, and exit status is 77 (skipped) where none is. `--update` writes the
table from what both say, and needs both.
"""
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import monits  # noqa: E402

CORPUS = HERE / "corpus"
TABLE = CORPUS / "monit.tsv"
HEADER = "# case\tverdict of Monit 5.33.0\tof 6.0.0\twhat 5.33.0 says first\n"


def is_for_monit(text):
    first = text.split("\n", 1)[0]
    return not (first.startswith("# options: ") and re.search("strict|offline|directory|unsupported", first))


def lay_out(case, directory):
    """Writes the files of a case; returns the main one."""
    main = directory / "main.rules"
    path, lines, modes = main, {main: []}, {}
    for line in case.read_text(encoding="utf-8", errors="surrogateescape").replace("@DIR@", str(directory)).split("\n"):
        if line.startswith("--- "):
            words = line[4:].split()
            path = directory / words[0] if not words[0].startswith("/") else None
            facts = dict(word.split("=", 1) for word in words[1:])
            if path is None:
                continue
            if words[0].endswith("/"):
                path.mkdir(parents=True, exist_ok=True)
                path = None
            else:
                lines.setdefault(path, [])
                modes[path] = facts
        elif path is not None:
            lines[path].append(line)
    for file, text in lines.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        text = "\n".join(text)
        # Monit is told where to put what it writes; on the first line, so that no line number changes.
        if file == main:
            text = "".join(f"set {kind} {directory}/{kind} " for kind in ("idfile", "statefile", "pidfile")) + text
        file.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
        file.chmod(0o600)
    for file, facts in modes.items():
        if "mode" in facts:
            file.chmod(int(facts["mode"], 8))
        if "uid" in facts and os.geteuid() == 0:
            os.chown(file, int(facts["uid"]), -1)
    return main


def ask(monit, case):
    with tempfile.TemporaryDirectory() as name:
        main = lay_out(case, pathlib.Path(name))
        run = subprocess.run([monit, "-t", "-c", str(main)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                             errors="replace", timeout=30, cwd="/")
        said = [line for line in (run.stdout + run.stderr).replace(name, "@DIR@").split("\n")
                if line.strip() and "New Monit id" not in line and "Stored in" not in line
                and "Control file syntax OK" not in line]
        first = re.sub(rf"\b{re.escape(socket.gethostname())}\b", "@HOST@", said[0]) if said else ""
        return {0: "ok", 1: "reject"}.get(run.returncode, f"exit {run.returncode}"), first


def main():
    found = monits.found()
    missing = [version for version in monits.DIALECT if version not in found]
    if not found or ("--update" in sys.argv and missing):
        print(f"skipped: there is no monit {' and none '.join(missing)} here")
        return 77
    if os.geteuid() != 0:
        print("skipped: some cases need root")
        return 77
    table = {}
    if TABLE.exists():
        for line in TABLE.read_text().splitlines():
            if line and not line.startswith("#"):
                name, *verdicts = line.split("\t")[:3]
                table[name] = dict(zip(monits.DIALECT, verdicts))
    result, bad, asked = [HEADER], 0, 0
    for case in sorted(CORPUS.glob("*/*.rules")):
        if not is_for_monit(case.read_text(encoding="utf-8", errors="surrogateescape")):
            continue
        name = f"{case.parent.name}/{case.stem}"
        said = {version: ask(monit, case) for version, monit in found.items()}
        for version, (verdict, message) in said.items():
            asked += 1
            if table.get(name, {}).get(version) != verdict and "--update" not in sys.argv:
                print(f"{name}: the table says {table.get(name)}, Monit {version} says {verdict}: {message}")
                bad += 1
        if "--update" in sys.argv:
            verdicts = [said[version][0] for version in monits.DIALECT]
            result.append("\t".join([name, *verdicts, said[monits.OLD][1]]) + "\n")
    if "--update" in sys.argv:
        TABLE.write_text("".join(result))
    print(f"Monit gives the verdict of the table on {asked - bad} of {asked} cases" +
          "".join(f"; monit {version} is not here" for version in missing))
    return 1 if bad or asked == 0 else 0


sys.exit(main())
