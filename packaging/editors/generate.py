#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the syntax files of vim and nano beside this program, from the one word table of the language
(grammar/words.hpp) and healer's own words in the rules of grammar/*.hpp and src/config/steps/*.cpp.

usage: generate.py [--check]      --check writes nothing; exit status 1 where a file is not what would be written
"""
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
GRAMMAR = HERE.parent.parent / "grammar"
STEPS = HERE.parent.parent / "src" / "config" / "steps"

# The kinds of grammar/kinds.hpp, by what an editor tells apart. Whatever is not here is an option.
GROUPS = {
    "Noise": "Noise",
    "Statement": "Set Include CheckProcess CheckFile CheckDirectory CheckFilesystem CheckFifo CheckHost CheckSystem CheckProgram"
                 " CheckNetwork Every NotEvery NoAlert Group Depends Mode OnReboot Ignore",
    "Condition": "If Else Then Not",
    "Action": "Alert Exec Start Stop Restart Unmonitor Repeat",
    "Unit": "Cycle Second Millisecond Minute Hour Day Month SizeUnit Rate PacketRate OperationRate Packet Operation Percent",
    "Event": "EventName",
    "Test": "Failed Changed Succeeded Exist Status Content Match Cpu TotalCpu Memory TotalMemory CpuPart LoadAverage Swap",
}
VIM = {"Noise": "Comment", "Statement": "Statement", "Condition": "Conditional", "Action": "Function", "Unit": "Type",
       "Event": "Constant", "Test": "Identifier", "Option": "Keyword"}
NANO = {"Noise": "brightblack", "Statement": "brightblue", "Condition": "magenta", "Action": "brightred", "Unit": "green",
        "Event": "cyan", "Test": "cyan", "Option": "blue"}
JOINS = {" ": " ", "\t": " +", "\v": " *"}  # what stands between the words of a spelling; two blanks: one or more


def spellings() -> dict[str, set[str]]:
    """Spellings by group, as regular expressions that grep -E and vim's \\v share."""
    group_of = {kind: group for group, kinds in GROUPS.items() for kind in kinds.split()}
    found: dict[str, set[str]] = {}
    table = (GRAMMAR / "words.hpp").read_text()
    for spelling, kind in re.findall(r'^\s*\{"((?:[^"\\]|\\.)*)", Kind::(\w+)', table, re.M):
        text = spelling.encode().decode("unicode_escape")
        if not re.search(r"\w", text):
            continue
        text = re.sub(r"[()]", lambda sign: "\\" + sign[0], text.strip("\t"))
        text = "".join(JOINS.get(c, c) for c in text.replace("  ", "\t"))
        found.setdefault(group_of.get(kind, "Option"), set()).add(text)
    found["Statement"].add("workflow")  # Kind::Workflow: no word of the table, for it is never reserved
    known = {word for words in found.values() for word in words}
    for rules in [*GRAMMAR.glob("*.hpp"), *STEPS.glob("*.cpp")]:
        for alternatives in re.findall(r'\btext<("[^>]*)>', rules.read_text()):
            found["Option"].update(word for word in re.findall(r'"([^"]+)"', alternatives) if word not in known and re.search(r"\w", word))
    return found


def is_plain(word: str) -> bool:
    return re.fullmatch(r"[a-z]\w*", word) is not None


def vim(words: dict[str, set[str]]) -> str:
    lines = ['" SPDX-License-Identifier: MIT', '" Vim syntax of healer\'s and Monit\'s rules. Made by generate.py: do not edit.',
             "if exists('b:current_syntax')", "  finish", "endif", "", "syntax case ignore", ""]
    for group in sorted(words):
        plain = sorted(filter(is_plain, words[group]))
        for at in range(0, len(plain), 8):
            lines.append(f"syntax keyword healer{group} {' '.join(plain[at:at + 8])}")
        for word in sorted(words[group] - set(plain)):
            pattern = re.sub(r"([/<>=%@])", r"\\\1", word)
            begin = "" if word.startswith("-") else "<"
            lines.append(f"syntax match healer{group} /\\v{begin}{pattern}{'>' if word[-1].isalnum() else ''}/")
    lines += ["", r"syntax match healerNumber /\v<\d+(\.\d+)?\a*>/",
              r"syntax match healerOperator /\v[<>=!]\=?|[<>]/",
              r"syntax match healerPath /\v(^|\s|\=)@<=\/[^ \t,;(){}\"']+/",
              r'syntax region healerString start=/"/ end=/"/',
              r"syntax region healerString start=/'/ end=/'/",
              r"syntax match healerComment /\v(^|[ \t,;(){}\"'])@<=#.*$/ contains=healerTodo",
              "syntax keyword healerTodo contained TODO FIXME XXX", ""]
    for group in sorted(words):
        lines.append(f"highlight default link healer{group} {VIM[group]}")
    for group, link in (("Number", "Number"), ("Operator", "Operator"), ("Path", "String"), ("String", "String"),
                        ("Comment", "Comment"), ("Todo", "Todo")):
        lines.append(f"highlight default link healer{group} {link}")
    return "\n".join([*lines, "", "let b:current_syntax = 'healer'", ""])


def filetype() -> str:
    return ("\" SPDX-License-Identifier: MIT\n\" Rules of healer; those of Monit have a syntax of their own in vim. Made by "
            "generate.py: do not edit.\nautocmd BufRead,BufNewFile */healer/rules.d/*.rules,*/healer/*.rules set filetype=healer\n")


def nano(words: dict[str, set[str]]) -> str:
    lines = ["# SPDX-License-Identifier: MIT", "# nano's syntax of healer's rules. Made by generate.py: do not edit.",
             r'syntax "healer" "/healer/.*\.rules$"', 'comment "#"', ""]
    for group in sorted(words):
        ordered = sorted(words[group], key=lambda word: (-len(word), word))
        for at in range(0, len(ordered), 24):
            lines.append(f'icolor {NANO[group]} "(^|[[:space:],;(){{}}])({"|".join(ordered[at:at + 24])})([[:space:],;(){{}}]|$)"')
    lines += [r'color yellow "(^|[[:space:]])/[^[:space:],;(){}]+"', 'color yellow "\\"[^\\"]*\\"" "\'[^\']*\'"',
              'color brightblack "(^|[[:space:],;])#.*$"', ""]
    return "\n".join(lines)


def main() -> None:
    words = spellings()
    files = {"healer.vim": vim(words), "ftdetect-healer.vim": filetype(), "healer.nanorc": nano(words)}
    stale = [name for name, text in files.items() if not (HERE / name).exists() or (HERE / name).read_text() != text]
    if "--check" in sys.argv:
        count = sum(map(len, words.values()))
        print("\n".join(f"{name} is not what generate.py writes" for name in stale) or f"{count} words are in the files of the editors")
        sys.exit(bool(stale))
    for name in stale:
        (HERE / name).write_text(files[name])
        print(f"{name} is brought up to date")


main()
