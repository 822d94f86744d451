#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""grammar/rules.ebnf is the grammar: what words one has the other has, each rule is there and used, and sentences made
from it at random are parsed.

usage: ebnf_test.py HEALERD [SEED [COUNT]]
A sentence may say what is no sense (a test that its service has not, `for 99 cycles`): only the codes "syntax",
"unknown-word" and "unsupported" are faults.
"""
import json
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

GRAMMAR = Path(__file__).resolve().parent.parent.parent / "grammar"
STEPS = GRAMMAR.parent / "src" / "config" / "steps"  # the forms of most kinds of steps
PIECE = re.compile(r"'(?P<word>[^']+)'|\"(?P<own>[^\"]+)\"|(?P<sign><\||\|>|[{}\[\]()|=;])|(?P<name>[A-Za-z][\w-]*)")

# What is no rule but a token of README.md, or is told in words there.
LEAVES = {
    "NAME": ["one", '"two words"', "three"], "STRING": ['"a text"', "'b'", "foo"], "PATH": ["/bin/true", '"/x y"'],
    "NUMBER": ["3", "7", "20"], "MAIL": ["a@b"], "SCHEDULE": ['"* 5 * * 1-5"'], "COMMAND": ['"/bin/true a \'b c\'"'],
    "PATTERN": ["/etc/none/*.x"], "LINE": ["some line\n"], "TEXT": ["some\ntext\n"], "URL": ["http://a.b/c"],
    "PROTOCOL": ["http", "smtp"], "HOSTGROUPS": ["[ one, \"two words\" ]"], "HEADERS": ["[Host: a.b, X: y]"], "any-word": ["word"],
    "operator": [">", "<", "!=", "=="], "event": ["timeout", "exec", "nonexist"], "tls-version": ["tlsv12", "auto"],
    "tls-path": ["pemfile", "cacertificatefile"], "size-unit": ["kB", "MB", "B"], "size-name": ["programOutput"],
    "time-name": ["networkTimeout"], "limit-name": ["loglimit"], "tight-duration": ["5minutes", "30s"],
    "tight-cycles": ["3cycles"], "tight-size": ["10MB"], "tight-quantity": [">10MB"], "tight-test": ["status>0"],
    "own-name": ["one", '"two words"', "restart", "for"], "own-text": ['"a text"', "'b'"], "own-word": ["X", "Y"],
}
# Rules of which the text says more in a comment, or in README.md, than the form can: these make what fits.
MADE = {
    "foreground": lambda make: 'with program "/bin/true a"',
    "tight-quantity": lambda make: make.pick(["10", "5"]),
    "amount": lambda make: make.pick(["> 5 MB", "changed 3", "7 packets/s"]),
    "quantity": lambda make: make.pick(["> 5", "5%", "< 3 MB", "= 3 days"]),
    "group": lambda make: "group one",
    "alert": lambda make: "alert a@b" + make.pick(["", " not on { timeout }"]) + make.pick(["", " reminder 3"]),
    "depends": lambda make: "depends on one, two",
    "stop-signal": lambda make: "stop signal TERM within 5 seconds",
    "ready": lambda make: "",
    "composite": lambda make: "check composite one with members two, three, of group four",
    "heartbeat": lambda make: "check heartbeat one every 1 day within 1 hour token \"two\"",
    "event-check": lambda make: 'check event one with hook "/hooks/one" ' + make.pick(
        ['secret "a", "b" within 5 minutes', 'token "two" format json key json ".id"', "valid 1 hour state json '.s'"]),
    "row": lambda make: "check row one",
    "delay": lambda make: "delay 20 minutes",
    "check-unit": lambda make: 'check unit one with name "two.service"',
    "unit-restarts": lambda make: "restarts > 3" + make.pick(["", " within 10 minutes"]),
    "leftovers": lambda make: "leftovers ended",
    "service-program": lambda make: make.pick(["start", "stop"]) + ' program = "/bin/true a" with timeout 5 seconds',
    "owner": lambda make: make.pick(["uid root", "gid 0"]),
    "connection": lambda make: make.pick(["failed", "succeeded"]) + " " + make.rule(make.pick(
        ["port-test", "unix-test", "ping-test", "url-test"])),
    "protocol-option": lambda make: "request \"/x\"",
    "protocol": lambda make: "protocol http",
    "content": lambda make: 'content = "x"',
    "program": lambda make: make.pick(['"/bin/true a"', "/bin/true"]),
    "exec": lambda make: 'exec "/bin/true a"' + make.pick(["", " repeat every 3 cycles", " as uid root"]),
    "recovery": lambda make: make.pick(["alert", "if succeeded for 2 cycles then alert"]),
    "if": lambda make: make.statement(),
    "credential": lambda make: "me",
    "allowed": lambda make: make.pick(["me:you", "@users read-only", "localhost"]),
    "httpd": lambda make: "httpd port 2812 allow localhost",
    "server": lambda make: "a.b port 25",
    "limits": lambda make: "limits { programOutput: 1 kB networkTimeout: 5 seconds }",
    "mmonit": lambda make: "mmonit http://a.b/c",
    "mail-format": lambda make: "mail-format { from: a@b\n subject: x\n message: y\n }",
    "test": lambda make: make.test(),
    # A block is a statement of its own; what is in it has other names each time.
    "for-each": lambda make: f"for each X{make.pick('ABC')}{make.random.randint(0, 99999)} " + make.pick(
        ['in "a1", "b1" .. "b3"', 'from file "/x"', 'from command "/x y" every 5 minutes', "from http " + make.rule("request") + " " +
         make.rule("request-option") + " rows '.[]' name '.name' next link every 5 seconds"]) + " {\n check system s\n}\n",
    "define": lambda make: f"define D{make.random.randint(0, 99999)} " + make.pick(['"a text"', "/bin/true", "7"]),
    "list-source": lambda make: "", "list-item": lambda make: "",
}


class Grammar:
    def __init__(self, text: str):
        text = re.sub(r"\(\*.*?\*\)", " ", text, flags=re.S)
        self.words, self.own, self.used = set(), set(), set()
        self.pieces = [match for match in PIECE.finditer(text)]
        left = PIECE.sub("", text).strip()
        if left:
            sys.exit(f"rules.ebnf has what is no EBNF: {left[:80]!r}")
        self.at = 0
        self.rules = {}
        while self.at < len(self.pieces):
            name = self.take()["name"]
            if self.take().group() != "=":
                sys.exit(f"rules.ebnf: a rule has no '=': {name}")
            self.rules[name] = self.choice()
            if self.take().group() != ";":
                sys.exit(f"rules.ebnf: {name} has no end")

    def take(self):
        self.at += 1
        return self.pieces[self.at - 1]

    def sees(self, *signs: str) -> bool:
        return self.at < len(self.pieces) and self.pieces[self.at]["sign"] in signs

    def choice(self):
        rows = [self.row()]
        while self.sees("|"):
            self.take()
            rows.append(self.row())
        return ("choice", rows)

    def row(self):
        parts = []
        while not self.sees("|", ";", "}", "]", ")", "|>"):
            parts.append(self.part())
        return ("row", parts)

    def part(self):
        piece = self.take()
        if piece["word"]:
            self.words.add(piece["word"])
            return ("text", piece["word"])
        if piece["own"]:
            self.own.add(piece["own"])
            return ("text", piece["own"])
        if piece["name"]:
            self.used.add(piece["name"])
            return ("name", piece["name"])
        ends = {"{": "}", "[": "]", "(": ")", "<|": "|>"}
        if piece.group() not in ends:
            sys.exit(f"rules.ebnf: unexpected {piece.group()} near {chr(32).join(one.group() for one in self.pieces[max(0, self.at - 9):self.at + 3])}")
        inner = self.choice()
        if self.take().group() != ends[piece.group()]:
            sys.exit(f"rules.ebnf: {piece.group()} is not closed")
        return ({"{": "many", "[": "maybe"}.get(piece.group(), "choice"), inner[1])


class Maker:
    def __init__(self, grammar: Grammar, seed: int):
        self.grammar, self.random = grammar, random.Random(seed)
        self.pick = self.random.choice
        self.reached = set()

    def rule(self, name: str, depth: int = 0) -> str:
        self.reached.add(name)
        if name in MADE:
            return MADE[name](self)
        if name in LEAVES:
            return self.pick(LEAVES[name])
        return self.make(self.grammar.rules[name], depth + 1)

    def make(self, node, depth: int) -> str:
        kind, what = node
        if kind == "text":
            return what
        if kind == "name":
            return self.rule(what, depth)
        if kind == "row":
            return " ".join(filter(None, (self.make(part, depth) for part in what)))
        if kind == "choice":
            return self.make(self.pick(what), depth)
        times = self.random.randint(0, 1 if kind == "maybe" or depth > 6 else 2)
        return " ".join(self.make(("choice", what), depth) for _ in range(times))

    def test(self) -> str:
        return self.pick(
            ["status != 0", "changed status", 'content = "x"', "changed pid", "not exist", "failed uid root", "failed permission 644",
             "failed checksum", "changed timestamp", "link down", "changed link", "saturation > 5%", "total upload > 5 MB in last 2 hours",
             "uptime > 3 days", "size > 5 MB", "any member failed", self.rule("members"), "space usage > 5%", 'match "x"', self.rule("connection")])

    def statement(self) -> str:
        then = self.rule("action")
        tolerance = self.pick(["", "for " + self.rule("tolerance")])
        return f"if {self.pick([self.rule('test'), self.rule('resource')])} {tolerance} then {then}"

    def sentence(self) -> str:
        if self.random.random() < 0.2:
            return self.rule("workflow") + "\n"
        if self.random.random() < 0.3:
            return self.rule("set") + "\n"
        if self.random.random() < 0.1:
            return self.rule(self.pick(["define", "for-each"])) + "\n"
        body = "".join(self.rule("service-statement") + "\n" for _ in range(self.random.randint(1, 3)))
        return self.rule("check") + "\n" + body


def normal(spelling: str) -> str:
    text = spelling.encode().decode("unicode_escape")
    return re.sub(r"\s+", " ", text.replace("\v", "")).strip()


def words_of(grammar: Grammar) -> list[str]:
    """What the word table and the rules have, and the EBNF has not, or the other way round."""
    kinds: dict[str, set[str]] = {}
    for spelling, kind in re.findall(r'^\s*\{"((?:[^"\\]|\\.)*)", Kind::(\w+)', (GRAMMAR / "words.hpp").read_text(), re.M):
        kinds.setdefault(kind, set()).add(normal(spelling))
    kinds.pop("Noise", None)
    rules = "".join(path.read_text() for path in [*GRAMMAR.glob("*.hpp"), *STEPS.glob("*.cpp")]
                    if path.name not in ("words.hpp", "kinds.hpp"))
    used = set(re.findall(r"Kind::(\w+)", rules))
    own = [set(re.findall(r'"([^"]+)"', some)) for some in re.findall(r'\btext<("[^>]*)>', rules)]  # spellings of one word
    own.append({"workflow"})  # a kind of its own, where a name and '{' come: Kind::Workflow
    spelled = {re.sub(r"\s*\(\s*", "(", word) for words in kinds.values() for word in words} | {
        word for words in kinds.values() for word in words}
    told = {re.sub(r"\s*\(\s*", "(", word) for word in grammar.words}
    faults = [f"rules.ebnf has '{word}', which is no word of words.hpp" for word in sorted(told - spelled - SIGNS)]
    faults += [f"rules.ebnf has \"{word}\", which no rule has" for word in sorted(grammar.own - set().union(*own))]
    faults += [f"rules.ebnf has not \"{min(words)}\" of the rules" for words in own if not words & (grammar.own | told)]
    for kind, words in sorted(kinds.items()):
        if kind in used and kind not in BY_LEAF and not ({re.sub(r"\s*\(\s*", "(", word) for word in words} | words) & told:
            faults.append(f"rules.ebnf has no spelling of Kind::{kind} ({', '.join(sorted(words)[:4])}), which the rules have")
    return faults


SIGNS = {"{", "}", ":", "%", "/s", "@", "!"}
# Kinds that a leaf of the EBNF, told in words, stands for.
BY_LEAF = {"Operator", "EventName", "SslVersion", "Auto", "PemPath", "CaPath", "SizeUnit", "Rate", "SizeLimit", "TimeLimit",
           "ProtocolName", "LimitName", "Percent", "LoadAverage", "CpuPart"}


def main() -> None:
    if not Path(sys.argv[1]).exists():
        print("SKIPPED: healerd is not built")
        sys.exit(77)
    grammar = Grammar((GRAMMAR / "rules.ebnf").read_text())
    faults = words_of(grammar)
    faults += [f"rules.ebnf uses {name}, which is no rule" for name in sorted(grammar.used - set(grammar.rules) - set(LEAVES))]
    faults += [f"rules.ebnf has the rule {name}, which none uses" for name in sorted(set(grammar.rules) - grammar.used - {"file"})]
    faults += [f"{name} is made by the test, but no rule of rules.ebnf" for name in sorted(set(LEAVES) - grammar.used)]
    maker = Maker(grammar, int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 200
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rules")
        for _ in range(count if not faults else 0):
            text = maker.sentence()
            path.write_text(text)
            done = subprocess.run([sys.argv[1], "-t", "--offline", "--json", "-c", path], capture_output=True, text=True)
            wrong = [one for one in json.loads(done.stdout)["diagnostics"]
                     if one["severity"] == "error" and one["code"] in ("syntax", "unknown-word", "unsupported")
                     and not one["message"].endswith("is given twice")]  # `{ a | b }` is each once
            if wrong:
                faults.append(f"line {wrong[0]['line']}, column {wrong[0]['column']}: {wrong[0]['message']} ({wrong[0]['remedy']})\n{text}")
    print("\n".join(faults[:30]) or f"{len(grammar.rules)} rules, {len(grammar.words)} words; {count} sentences are parsed")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
