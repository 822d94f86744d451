# SPDX-License-Identifier: MIT
"""What the manual pages and the README show is true: every example of rules is accepted, every option is told of, and
what commands print in the examples is what they print.

In a page a comment before a display says what it is:

    .\\" file NAME                 the display is this file; it is there for all commands that follow in the page
    .\\" file NAME, with errors    the same, of rules that are not to be accepted
    .\\" run                       lines that begin with "$ " are commands, what follows each of them is its output

Output is shown without the date at the beginning of a line and without the rule at its end, in lines of at most 72
characters. `docs_test.py --update` writes what the commands print now into the pages.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
MAN = TOP / "man"
BUILD = Path(os.environ.get("HEALER_BUILD") or TOP / "build").resolve()
WIDTH = 72
PAGES = sorted(page.name for page in MAN.glob("*.[1-8]"))
EXAMPLE = re.compile(r'^\.\\" (?:file (?P<name>[^\s,]+)(?:, with errors)?|run)\n\.Bd -literal[^\n]*\n(?P<text>.*?)^\.Ed', re.S | re.M)
ESCAPES = (("\\", "\\e"), ("^", "\\(ha"), ("~", "\\(ti"))


def shown(text: str) -> str:
    """What a reader sees of the source of a display."""
    text = re.sub(r"^\\&", "", text, flags=re.M)
    for plain, escape in (*reversed(ESCAPES), ("-", "\\-"), ('"', "\\(dq"), ("'", "\\(aq")):
        text = text.replace(escape, plain)
    return text


def source(text: str) -> str:
    """The source of a display."""
    for plain, escape in ESCAPES:
        text = text.replace(plain, escape)
    return re.sub(r"^(?=[.'])", r"\\&", text, flags=re.M)


def displays(page: str) -> list[str]:
    """Literal displays of a page in mdoc, or in man."""
    text = (MAN / page).read_text()
    text = re.sub(r'^\.\\" file \S+, with errors\n\.Bd.*?^\.Ed', "", text, flags=re.S | re.M)
    found = re.findall(r"^\.Bd -literal[^\n]*\n(.*?)^\.Ed", text, re.S | re.M)
    return [shown(display) for display in found + re.findall(r"^\.(?:nf|EX)\n(.*?)^\.(?:fi|EE)", text, re.S | re.M)]


def code_blocks(name: str) -> list[str]:
    """Indented blocks of a Markdown file."""
    blocks = re.findall(r"(?:^(?: {4}[^\n]*)?\n)+", (TOP / name).read_text(), re.M)
    return [re.sub(r"^ {4}", "", block, flags=re.M) for block in blocks if block.strip()]


def is_rules(text: str) -> bool:
    found = re.search(r"^\s*check (program|process|system|file|directory|filesystem|fifo|network|host|composite|heartbeat|event|row|unit) \S+", text, re.M)
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
    blocks = [shown(block) for block in re.findall(r"^\.EX\n(.*?)^\.EE", text, re.S | re.M)]
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


def folded(line: str) -> str:
    """The line in pieces that fit."""
    pieces = []
    while len(line) > WIDTH and (at := line.rfind(" ", 5, WIDTH + 1)) > 0:
        pieces.append(line[:at].rstrip())
        line = "    " + line[at:].lstrip()
    return "\n".join([*pieces, line])


def printed(command: str, folder: str) -> str:
    """What the command prints, in the form of the pages."""
    environment = {**os.environ, "PATH": f"{BUILD}:{os.environ['PATH']}", "TZ": "UTC", "LC_ALL": "C.UTF-8", "NO_COLOR": "1"}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, timeout=60,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = []
    for line in done.stdout.splitlines():
        line = re.sub(r"^\d{4}-\d\d-\d\d (?=\d\d:)", "", line)
        lines.append(folded(re.sub(r"  \S+\.rules:\d+: if .*", "", line)) + "\n")
    return "".join(lines)


def run_examples(page: str, update: bool) -> tuple[list[str], int]:
    """Faults of the examples of a page that are run, and how many commands were run."""
    faults, commands = [], 0
    with tempfile.TemporaryDirectory() as folder:
        def example(match: re.Match) -> str:
            nonlocal commands
            text = shown(match["text"])
            if match["name"]:
                file = Path(folder, match["name"])
                file.write_text(text)
                file.chmod(0o600)
                return match[0]
            new = ""
            for command in re.findall(r"^\$ (.*)", text, re.M):
                commands += 1
                new += f"$ {command}\n{printed(command, folder)}"
            if new != text:
                faults.append(f"{page}: this is shown:\n{text}but this is printed:\n{new}")
            begin, end = match.start("text") - match.start(), match.end("text") - match.start()
            return match[0][:begin] + source(new) + match[0][end:]

        before = (MAN / page).read_text()
        after = EXAMPLE.sub(example, before)
    if update and after != before:
        (MAN / page).write_text(after)
        print(f"{page} is brought up to date")
        faults = []
    return faults, commands


def options_of(program: str) -> set[str]:
    text = subprocess.run([BUILD / program, "--help"], capture_output=True, text=True, check=True).stdout
    return set(re.findall(r"(?<=[\s,])-{1,2}[A-Za-z][a-z-]*", text))


def mentioned(page: str) -> str:
    text = subprocess.run(["mandoc", "-Tascii", str(MAN / page)], capture_output=True, text=True).stdout
    return re.sub(r".\x08", "", text)


def lint(page: str) -> list[str]:
    """What mandoc warns of."""
    done = subprocess.run(["mandoc", "-Tlint", "-Wwarning", str(MAN / page)], capture_output=True, text=True)
    return done.stdout.splitlines()


def quotes_in_quotes(page: str) -> list[str]:
    """Lines of which one quote swallows the next: `.Ql a , Ql b` is one quote within another."""
    return [f"{page}:{number}: quotes within quotes: {line}"
            for number, line in enumerate((MAN / page).read_text().splitlines(), 1)
            if line.startswith(".") and len(re.findall(r"(?<![^ .])(?:Ql|Sq|Dq)(?= )", line)) > 1]


def see_also(page: str) -> list[str]:
    """The pages that this one does not refer to at its end."""
    text = mentioned(page)
    text = text[text.rfind("SEE ALSO"):]
    others = (re.fullmatch(r"(.*)\.(\d)", other).groups() for other in PAGES if other != page)
    return [f"{page} does not refer to {name}({section})" for name, section in others if f"{name}({section})" not in text]


def error_samples(name: str) -> tuple[list[str], int]:
    """Faults of what healerd is shown to print about wrong rules, and how many lines of rules are shown."""
    faults, lines = [], 0
    for block in code_blocks(name):
        found = re.match(r"\$ healerd -t -c (?P<file>\S+)\n(?P<said>.*: error: .*)", block.strip(), re.S)
        if not found:
            continue
        quoted = re.findall(rf"^{re.escape(found['file'])}:(\d+):\d+: .*\n  (.*)\n", found["said"], re.M)
        lines += len(quoted)
        rules = {1: "set daemon 30", 2: 'check program web with path "/bin/true"', **{int(number): text for number, text in quoted}}
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, found["file"])
            file.write_text("".join(rules.get(number, "") + "\n" for number in range(1, max(rules) + 1)))
            file.chmod(0o600)
            done = subprocess.run([BUILD / "healerd", "-t", "-c", file.name], cwd=folder, capture_output=True, text=True)
        if done.stderr.strip() != found["said"].strip():
            faults.append(f"{name}: this is shown:\n{found['said']}but this is printed:\n{done.stderr}")
    return faults, lines


def main() -> None:
    if not (BUILD / "healerd").exists() or not (BUILD / "healerctl").exists():
        print(f"SKIPPED: {BUILD}/healerd or {BUILD}/healerctl is not built")
        sys.exit(77)
    if not mentioned("healerd.8"):
        print("SKIPPED: there is no mandoc to read the pages with")
        sys.exit(77)
    faults, rules, commands = [], 0, 0
    for where, blocks in [*((page, displays(page)) for page in PAGES), ("README.md", code_blocks("README.md"))]:
        for block in filter(is_rules, blocks):
            rules += 1
            if complaint := accepted(block):
                faults.append(f"{where}: an example is not accepted:\n{complaint}")
    tests = examples_of_tests()
    faults += [f"healerctl.1: an example of a test is not met:\n{said}" for one in tests if (said := unmet(*one))]
    if not tests:
        faults.append("healerctl.1 shows no rules that are tested")
    for page in PAGES:
        wrong, run = run_examples(page, "--update" in sys.argv)
        faults += wrong + lint(page) + quotes_in_quotes(page) + see_also(page)
        commands += run
    wrong, lines = error_samples("README.md")
    faults += wrong
    if not lines:
        faults.append("README.md shows no errors")
    if rules < 30 or commands < 20:
        faults.append(f"only {rules} examples of rules and {commands} commands were found")
    for program, page in (("healerd", "healerd.8"), ("healerctl", "healerctl.1")):
        text = mentioned(page)
        faults += [f"{page} does not tell of {option}" for option in sorted(options_of(program))
                   if option not in ("--help", "--verbose", "--version") and option not in text]
    print("\n".join(faults) or f"{rules} examples of rules are accepted, {commands} commands print what is shown")
    sys.exit(1 if faults else 0)


main()
