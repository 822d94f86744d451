#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does healer make of whole files what the real Monit makes of them?

usage: meaning.py MEANING [SEED [COUNT [SHOWN]]]     MEANING is the program of meaning.cpp
Takes the files of the corpora and COUNT that monit_diff.py makes. What healer has understood of each, written in the
language again from the graph that its engine judges, must be the same to Monit as the file itself: `monit -t -v` tells
the same of both, service by service and rule by rule, but for the differences on purpose of ALLOWED. Prints each other
difference, and last how many files, services and rules were compared and how often each difference was allowed; exit
status 0 only where there is no other. Prints `skipped` and exits with 77 where there is no monit 5.33.
"""
import collections
import itertools
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import monit_diff
import monits
import mutants

# Lines of the dump that tell of the run, not of the rules.
OF_THE_RUN = re.compile(r' (Control file|Log file|Use syslog|Log|Id file|Pid file|State file|Debug|Is Daemon) +=|^ *(New Monit id|Stored in)|^Adding |^-+$|^$')
OPTION = re.compile(r'^ +(\w[^=]*?) *= (.*)$')


class Dump:
    """What `monit -t -v` tells: of the whole, and of each service, in the order of the files."""

    def __init__(self, text: str):
        self.whole, self.services, into = [], {}, None
        for line in text.splitlines():
            if line.startswith('The service list contains'):
                into = False
            elif into is None:
                if not OF_THE_RUN.match(line):
                    self.whole.append(line)
            elif line and not line.startswith((' ', '-')) and ' = ' in line:
                into = self.services.setdefault(line, [])
            elif into is not False and line and not line.startswith(('-', 'Control file')):
                into.append(line)


def dump(path: Path) -> Dump | None:
    """None where Monit does not take the file."""
    done = subprocess.run(['monit', '-t', '-v', '-c', path], capture_output=True, text=True, errors='replace',
                          stdin=subprocess.DEVNULL, timeout=60)
    return Dump(done.stdout) if done.returncode == 0 else None


def is_rule(line: str) -> bool:
    return bool(re.search(r'= (if|If) ', line))


# Differences on purpose: why, what of the file's line may be another, and what it has then become.
ALLOWED = [
    ('without `set daemon` Monit runs once, and healer each 30 seconds', r'Poll time += 0 seconds', r'Poll time += 30 seconds'),
    ('restarts are counted over 64 cycles at most, which a warning says', r'restarted \d+ times within (?:6[5-9]|[7-9]\d|\d{3,}) ', r'restarted \d+ times within 64 '),
    ('a quantity that has `changed N` is not N', r'= if changed', r'= if not equal to'),
    ('a response time without an operator is the longest: no answer takes exactly so long', r'responsetime equal to', r'responsetime less than'),
    ('there is no such port: nothing ever answers, and a warning says so', r'\]:(?:6553[6-9]|655[4-9]\d|65[6-9]\d\d|6[6-9]\d\d\d|[7-9]\d{4}|\d{6,})\b', r'\]:0\b'),
    ('`set limits { networkTimeout: 8 s }` is not that of the first test of a kind in Monit, and of all in healer', r'with timeout 5 s\b', r'with timeout 8 s\b'),
    ('M/Monit is not done yet: what is said last is kept for all', r'(M/Monit\(s\)|^=) .*', r'(M/Monit\(s\)|^=) .*'),
    ('a mail server has a port, or is none', r'= .*:0, (?=c\.example)', r'= (?=c\.example)'),
    ('what single quotes hold is a command with arguments, too (1.4)', r"exec '/bin/true \"(?=\w+')", r"exec '/bin/true (?=\w+')"),
    ('Monit loses a double quote that ends what stands in single quotes', r"(?<=\w)'", r"(?<=\w)\"'"),
    ('numbers so large that their sums would overflow', r'\b20 MB|\b1215752191\b|\b\d{5,}(?= cycle)', r'\b16 MB|\b315360000\b|\b(?:1000000|65535)(?= cycle)'),
    ('a timeout of nothing is the usual one, and `every 0 cycles` is each', r': +0 ms|within 0 ms|every 0 ', r': +\d+ m?s?\b|within \d+ m\b|every 1 '),
]
# A statement that says two things of one: which of them Monit takes is no matter of the language.
TWICE = re.compile(r'\bproto(?:col)? \S+ .*\bproto(?:col)? |\bversion: \S+ -?\w+ .*\btype tcpssl|\btype tcpssl.*\bversion: \S+ -?\w+', re.I)

UNITS = {'minute': 60, 'hour': 3600, 'day': 86400, 'week': 604800}
TIMEOUT = re.compile(r'timeout (\d+) (minute|hour|day|week)s?\b')


def for_monit(text: str) -> str:
    """Timeouts in seconds: Monit reads no others."""
    return TIMEOUT.sub(lambda found: f'timeout {int(found[1]) * UNITS[found[2]]} seconds', text)


def kinds_of(lines: list[str]) -> dict[str, list[str]]:
    """By what they are of. What is a set is told once and without case; whom nothing is mailed to is no recipient."""
    kinds = collections.defaultdict(list)
    for line, after in itertools.zip_longest(lines, lines[1:], fillvalue=''):
        found = OPTION.match(line)
        kind, what = (found[1], found[2]) if found else ('', '')
        if kind == 'Depends on Service':
            kinds[kind] = sorted({*kinds[kind], what.lower()})
        elif kind == 'Group':
            kinds[kind] = sorted(set(what.split(', ')))
        elif 'No events' not in (what, after.partition('= ')[2]):
            kinds[kind].append(line.strip())
    return kinds


def allowed(was: str, now: str) -> list[str]:
    """Why they may differ; nothing where they may not."""
    reasons = []
    for why, before, after in ALLOWED:
        if re.search(before, was) and re.search(after, now):
            was, now = re.sub(before, '...', was), re.sub(after, '...', now)
            reasons.append(why)
    return reasons if was == now else []


class Comparison:
    def __init__(self):
        self.files = self.services = self.rules = 0
        self.why = collections.Counter()

    def of_lines(self, name: str, before: list[str], after: list[str]) -> list[str]:
        """What is another in the second. Lines of one kind keep their order."""
        one, other, wrong = kinds_of(before), kinds_of(after), []
        for kind in one.keys() | other.keys():
            for was, now in itertools.zip_longest(one.get(kind, []), other.get(kind, []), fillvalue='nothing'):
                if was == now:
                    continue
                if reasons := allowed(was, now):
                    self.why.update(reasons)
                else:
                    wrong.append(f'{name}{was}\n  became {now}')
        return wrong

    def of_dumps(self, before: Dump, after: Dump) -> list[str]:
        self.files += 1
        wrong = self.of_lines('', before.whole, after.whole)
        if list(before.services) != list(after.services):
            wrong.append(f'{list(before.services)}\n  became {list(after.services)}')
        for name in before.services.keys() & after.services.keys():
            self.services += 1
            self.rules += sum(map(is_rule, before.services[name]))
            wrong += self.of_lines(f'{name}: ', before.services[name], after.services[name])
        return wrong


def compared(program: str, texts: list[str], folder: Path, comparison: Comparison) -> list[tuple[str, list[str]]]:
    """Those that Monit takes, and what is wrong with each."""
    written, understood, dumps = folder / 'written', folder / 'understood', {}
    for path in (written, understood):
        path.mkdir()
    for number, text in enumerate(texts):
        path = written / f'{number:04}'
        path.write_text(text, encoding='utf8', errors='surrogateescape')
        path.chmod(0o600)
        if (told := dump(path)) is not None:
            dumps[path] = told
    subprocess.run([program, understood, *dumps], check=True)
    wrong = {}
    for path, before in dumps.items():
        meant = understood / path.name
        if not meant.exists():
            wrong[path] = ['healer refuses it']
            continue
        meant.write_bytes(for_monit(meant.read_bytes().decode('utf8', 'surrogateescape')).encode('utf8', 'surrogateescape'))
        after = dump(meant)
        wrong[path] = comparison.of_dumps(before, after) if after else ['Monit does not read what it has become']
    return [(path.read_text(encoding='utf8', errors='replace'), lines) for path, lines in wrong.items()]


def main() -> None:
    if monits.OLD not in monit_diff.require_monit():
        sys.exit(77)
    program = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    shown = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    maker = monit_diff.Maker(seed)
    texts = mutants.corpus() + [maker.file(is_broken=False) for _ in range(count)]
    comparison = Comparison()
    with tempfile.TemporaryDirectory() as folder:
        os.environ['HOME'] = folder
        told = compared(program, [text for text in texts if not TWICE.search(text)], Path(folder), comparison)
    bad = [(text, wrong) for text, wrong in told if wrong]
    for text, wrong in bad[:shown]:
        print('\n'.join(wrong) + f'\n--- of\n{text}')
    for why, times in comparison.why.most_common():
        print(f'allowed {times} times: {why}')
    print(f'seed {seed}: {comparison.files} files, {comparison.services} services and {comparison.rules} rules compared; '
          f'agree {len(told) - len(bad)} of {len(told)}')
    sys.exit(bool(bad))


if __name__ == '__main__':
    main()
