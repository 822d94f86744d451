#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do whole files, of the corpora and made up, get the real Monit's verdict when something in them is broken?

usage: mutants.py VERDICT [--seed N] [--count N] [--long] [--shown N]     VERDICT is the program of verdict.cpp
Takes files that Monit accepts and breaks each at one to three places: a word taken away, put in, replaced by one of the
language, doubled, or changed for its neighbour; a line taken away, doubled, or moved; newlines and blanks put in and
taken away. As monit_diff.py, which does the same to single statements, it prints each disagreement and last `agree N of
M` of each version of Monit; exit status 0 only where all agree, 77 where there is no Monit. `--long` is a count of 20000.
"""
import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import monit_diff

TOP = Path(__file__).resolve().parent.parent.parent
PIECE = re.compile(r'"[^"\n]*"|\'[^\'\n]*\'|#[^\n]*|\s+|[A-Za-z0-9_/.+@$-]+|.', re.S)
# What names files of the machine or of Monit's own: the verdict would be on them, or Monit would make them.
OWN = re.compile(r'^\s*(set\s+(log|logfile|pidfile|idfile|statefile|eventqueue|httpd|mmonit|ssl)\b|include\b|basedir|slots|use\s+address'
                 r'|pemfile|allow\b|enable\b|signature|ssl\b)', re.I)

# Broken text may name Monit's own files, or others', again.
OTHERS = re.compile(r'\b(idfile|statefile|pidfile|logfile|eventqueue|include)\b|set\s+log\b', re.I)


def corpus() -> list[str]:
    """Texts of single files, without what Monit would make or look for on this machine."""
    paths = sorted((TOP / 'tests/config/corpus/accept').glob('*.rules')) + sorted((TOP / 'rules.d/examples').glob('*.rules'))
    shared = Path(os.environ.get('HEALER_SHARED', '/nonexistent')) / 'monit/corpus/files'
    paths += sorted(shared.glob('*')) if shared.is_dir() else []
    texts = []
    for path in paths:
        text = path.read_text(encoding='utf8', errors='surrogateescape')
        if '\n--- ' in text or '@DIR@' in text or text.startswith('# options') or len(text) > 20000:
            continue
        texts.append('\n'.join(line for line in text.splitlines() if not OWN.match(line)) + '\n')
    return texts


def accepted(texts: list[str], monit: str) -> list[str]:
    """Those that Monit accepts: what is broken already tells nothing when more of it is broken."""
    kept = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ['HOME'] = folder
        path = Path(folder, 'rules')
        for text in texts:
            path.write_text(text, encoding='utf8', errors='surrogateescape')
            path.chmod(0o600)
            done = subprocess.run([monit, '-t', '-c', path], capture_output=True, stdin=subprocess.DEVNULL, timeout=60)
            if done.returncode == 0:
                kept.append(text)
    return kept


class Breaker:
    def __init__(self, seed: int, texts: list[str]):
        self.random = random.Random(seed)
        self.texts = texts
        self.maker = monit_diff.Maker(seed)
        self.words = [word for word in monit_diff.VOCABULARY if word.strip()]

    def mutant(self) -> str:
        r = self.random
        if r.random() < 0.25 or not self.texts:
            text = self.maker.file()
        else:
            text = r.choice(self.texts)
        for _ in range(r.choice([1, 1, 1, 2, 3])):
            text = self.broken(text)
        return text

    def broken(self, text: str) -> str:
        r = self.random
        if r.random() < 0.15:
            return self.lines(text)
        pieces = PIECE.findall(text)
        words = [i for i, piece in enumerate(pieces) if not piece.isspace() and not piece.startswith('#')]
        blanks = [i for i, piece in enumerate(pieces) if piece.isspace()]
        if not words:
            return text
        at = r.choice(words)
        how = r.choice(['delete', 'insert', 'replace', 'replace', 'double', 'swap', 'newline', 'join', 'blank'])
        if how == 'delete':
            pieces[at] = ''
        elif how == 'insert':
            pieces[at] = f'{r.choice(self.words)} {pieces[at]}'
        elif how == 'replace':
            pieces[at] = r.choice(self.words)
        elif how == 'double':
            pieces[at] = f'{pieces[at]} {pieces[at]}'
        elif how == 'swap':
            other = words[(words.index(at) + 1) % len(words)]
            pieces[at], pieces[other] = pieces[other], pieces[at]
        elif how == 'newline':
            pieces[at] = '\n' + pieces[at]
        elif how == 'blank':
            pieces[at] = r.choice([' ', '\t', '  ', '\r\n']) + pieces[at]
        elif blanks:
            pieces[r.choice(blanks)] = r.choice(['', ' ', '\n'])
        return ''.join(pieces)

    def lines(self, text: str) -> str:
        lines, r = text.splitlines(), self.random
        at = r.randrange(len(lines))
        how = r.choice(['delete', 'double', 'move'])
        if how == 'double':
            lines.insert(at, lines[at])
        else:
            line = lines.pop(at)
            if how == 'move':
                lines.insert(r.randrange(len(lines) + 1), line)
        return '\n'.join(lines) + '\n'


def main() -> None:
    words = argparse.ArgumentParser()
    words.add_argument('verdict')
    words.add_argument('--seed', type=int, default=1)
    words.add_argument('--count', type=int, default=300)
    words.add_argument('--long', action='store_true')
    words.add_argument('--shown', type=int, default=20)
    said = words.parse_args()
    found = monit_diff.require_monit()
    count = 20000 if said.long else said.count
    texts = corpus()
    random.Random(said.seed).shuffle(texts)
    texts = accepted(texts if said.long else texts[:max(30, count // 8)], next(iter(found.values())))
    breaker = Breaker(said.seed, texts)
    done = 0
    sums = {version: [0, 0, 0] for version in found}
    while done < count:
        part = []
        while len(part) < min(1000, count - done):
            if not OTHERS.search(text := breaker.mutant()):
                part.append(text)
        done += len(part)
        for version, real in found.items():
            numbers = monit_diff.judge(said.verdict, part, max(0, said.shown - sums[version][2]), version, real)
            sums[version] = [one + more for one, more in zip(sums[version], numbers)]
    for version, (rejected, beyond, bad) in sums.items():
        print(f'seed {said.seed}, Monit {version}: {len(texts)} files broken {count} times, {rejected} rejected by Monit, '
              f'{beyond} left out; agree {count - beyond - bad} of {count - beyond}')
    sys.exit(any(bad for _, _, bad in sums.values()))


if __name__ == '__main__':
    main()
