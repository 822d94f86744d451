# SPDX-License-Identifier: MIT
"""What the manual pages and the README show is true: every example of rules is accepted, every option is told of."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("HEALER_BUILD") or TOP / "build")


def displays(page: str) -> list[str]:
    """Literal displays of a page in mdoc, or in man."""
    text = (TOP / "man" / page).read_text()
    return re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed", text, re.S | re.M) + re.findall(r"^\.nf\n(.*?)^\.fi", text, re.S | re.M)


def code_blocks(name: str) -> list[str]:
    """Indented blocks of a Markdown file."""
    blocks = re.findall(r"(?:^(?: {4}[^\n]*)?\n)+", (TOP / name).read_text(), re.M)
    return [re.sub(r"^ {4}", "", block, flags=re.M) for block in blocks if block.strip()]


def is_rules(text: str) -> bool:
    found = re.search(r"^\s*check (program|process|system) \S+", text, re.M)
    return bool(found) and "$ " not in text and "error:" not in text


def accepted(rules: str) -> str:
    """What healerd says against the rules; empty where they are accepted."""
    with tempfile.NamedTemporaryFile("w", suffix=".rules") as file:
        file.write(rules)
        file.flush()
        done = subprocess.run([BUILD / "healerd", "-t", "--offline", "-c", file.name], capture_output=True, text=True)
        return "" if done.returncode == 0 else done.stderr or f"exit status {done.returncode}"


def examples_of_tests() -> list[tuple[str, str]]:
    """Of healerctl.1: rules, and the script behind them that says what it expects of them."""
    text = (TOP / "man" / "healerctl.1").read_text()
    blocks = re.findall(r"^\.EX\n(.*?)^\.EE", text, re.S | re.M)
    return [(rules, script) for rules, script in zip(blocks, blocks[1:])
            if is_rules(rules) and re.search(r"^expect ", script, re.M)]


def unmet(rules: str, script: str) -> str:
    """What a simulation says against an example of a test; empty where it is met."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("rules", rules), ("script", script)):
            Path(folder, name).write_text(content)
            Path(folder, name).chmod(0o600)
        done = subprocess.run([BUILD / "healerctl", "simulate", f"{folder}/rules", "--script", f"{folder}/script"],
                              capture_output=True, text=True)
    return "" if done.returncode == 0 and "met" in done.stdout else done.stderr or f"exit status {done.returncode}"


def options_of(program: str) -> set[str]:
    text = subprocess.run([BUILD / program, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"(?<=[\s,])-{1,2}[A-Za-z][a-z-]*", text))


def mentioned(page: str) -> str:
    text = subprocess.run(["mandoc", "-Tascii", str(TOP / "man" / page)], capture_output=True, text=True).stdout
    return re.sub(r".\x08", "", text)


def main() -> None:
    if not (BUILD / "healerd").exists():
        print(f"SKIPPED: {BUILD}/healerd is not built")
        sys.exit(77)
    faults, examples = [], 0
    for where, blocks in (("healer-rules.5", displays("healer-rules.5")), ("README.md", code_blocks("README.md"))):
        for block in filter(is_rules, blocks):
            examples += 1
            if complaint := accepted(block):
                faults.append(f"{where}: an example is not accepted:\n{complaint}")
    tests = examples_of_tests()
    faults += [f"healerctl.1: an example of a test is not met:\n{said}" for one in tests if (said := unmet(*one))]
    if not tests:
        faults.append("healerctl.1 shows no rules that are tested")
    if examples < 4:
        faults.append(f"only {examples} examples were found")
    for program, page in (("healerd", "healerd.8"), ("healerctl", "healerctl.1")):
        text = mentioned(page)
        if not text:
            print("SKIPPED: there is no mandoc to read the pages with")
            sys.exit(77)
        faults += [f"{page} does not tell of {option}" for option in sorted(options_of(program))
                   if option not in ("--help", "--verbose", "--version") and option not in text]
    print("\n".join(faults) or f"{examples} examples are accepted")
    sys.exit(1 if faults else 0)


main()
