# SPDX-License-Identifier: MIT
"""Figures of the structure of src/: one `name value` a line, with its goal. Fails where one is worse than it was.

usage: figures.py SOURCE_DIR
"""
import re
import sys
from pathlib import Path

from layers import code_only

# What a figure is to be, and what it may be until then: whoever makes one better lowers the second.
LIMITS = {
    "Engine.functions": (80, 80),
    "Engine.members": (25, 25),
    "engine.hpp.lines": (250, 250),
    "engine.cpp.lines": (250, 250),
    "Healings.functions": (60, 60),
    "Daemon.functions": (60, 48),
    "Daemon.members": (40, 36),
    "parts.that.change.each.other": (0, 0),
    "parts.that.include.the.engine": (0, 0),
    "fields.written.by.others": (0, 0),
    "acts.past.releases": (0, 0),
    "longest.function.lines": (80, 82),
    "files.of.a.kind.of.step": (4, 4),
}


def class_body(text: str, name: str) -> str:
    """What is between the braces of `class NAME ... {`."""
    begin = re.search(rf"\bclass {name}\b[^;{{]*\{{", text)
    if begin is None:
        sys.exit(f"there is no class {name}")
    depth, at = 1, begin.end()
    while depth:
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        at += 1
    return text[begin.end():at - 1]


def declarations(body: str) -> tuple[int, int]:
    """The functions and the members that a class declares, without those of classes within it."""
    functions = members = 0
    statement, depth = "", 0
    for c in body:
        if c == "{":
            depth += 1
        elif c == "}":
            depth -= 1
            if depth == 0 and "(" in statement and not re.match(r"\s*(struct|class|enum)\b", statement):
                functions += 1
                statement = ""
            continue
        if depth:
            continue
        if c != ";":
            statement += c
            continue
        statement = re.sub(r"\b(public|private|protected):", "", statement).strip()
        if re.match(r"(struct|class|enum|using|friend|static constexpr)\b", statement) or not statement:
            pass
        elif re.search(r"\w_( = [^()]+)?$", statement):
            members += 1
        elif "(" in statement:
            functions += 1
        statement = ""
    return functions, members


def longest_function(src: Path) -> tuple[int, str]:
    """Of the functions that begin at the left margin. Tables are none."""
    longest = (0, "")
    for path in sorted(src.rglob("*.cpp")):
        begin, name = None, ""
        for number, line in enumerate(code_only(path.read_text()).splitlines(), 1):
            if begin is None and re.match(r"[A-Za-z].*\)( const)?( override)? \{$", line):
                begin, name = number, line
            elif line == "}" and begin is not None:
                longest = max(longest, (number - begin + 1, f"{path.relative_to(src)}: {name}"))
                begin = None
    return longest


def parts_at_fault(parts: Path, others: list[Path]) -> tuple[list[str], list[str]]:
    """The parts that hold another one so that they could change it; those that include the engine, or healings theirs."""
    headers = {path: code_only(path.read_text()) for path in [*sorted(parts.rglob("*.hpp")), *others]
               if path.suffix == ".hpp"}
    classes = {name for text in headers.values() for name in re.findall(r"^class (\w+) (?:final )?\{", text, re.M)}
    change = [f"{path.name} holds {name}" for path, text in headers.items()
              for const, name in re.findall(r"^\s+(const )?(\w+)& \w+_;", text, re.M) if name in classes and not const]
    include = [path.name for path in [*sorted(parts.rglob("*")), *others]
               if path.suffix in (".hpp", ".cpp") and ('"engine/engine.hpp"' in path.read_text() or
                  "healing/parts" in path.as_posix() and '"engine/healing/healings.hpp"' in path.read_text())]
    return change, include


# Fields of ServiceState that a part owns: the only files that write them.
OWNED = {
    "starts": "bringing/starts", "presence": "bringing/starts", "child": "bringing/children", "job": "bringing/jobs",
    "monitored": "monitoring", "initialising": "monitoring",
}


def fields_written_by_others(engine: Path) -> list[str]:
    """Where a field of ServiceState is written that is another part's."""
    found = []
    write = re.compile(r"\b(?:state|services_\[[^\]]*\])\.(" + "|".join(OWNED) +
                       r")(?: = |\.(?:edit|set|reset|on|settle)\()")
    for path in sorted(engine.rglob("*.cpp")):
        for field in write.findall(code_only(path.read_text())):
            if not path.as_posix().endswith(f"parts/{OWNED[field]}.cpp"):
                found.append(f"{path.name} writes {field}")
    return found


def acts_past_releases(engine: Path) -> list[str]:
    """Where an effect on the world is let go that parts/releases has not let go."""
    others = r"effect::(Measure|CancelRun|Adopt|Watch|Note)\b|std::move\((commit|reply)\)"
    around = ("releases.cpp", "granting.cpp")  # the second hands on what an engine has let go
    return [path.name for path in sorted(engine.rglob("*.[ch]pp")) if path.name not in around
            for _ in re.finditer(rf"\bemit\((?!Effect\b|{others})", code_only(path.read_text()))]


# A simple kind of step by which it is seen what another one costs: what names its structs, its form or its file.
KIND_OF_STEP = re.compile(r'\bstep::Note\b|\bNoteStepSyntax\b|\bnote_step\b|\btext<[^>]*"note"|\bsteps/note\.')


def files_of_a_kind_of_step(top: Path) -> list[str]:
    """The files of src and grammar that name that kind, with its own."""
    files = [path for folder in ("src", "grammar") for path in sorted((top / folder).rglob("*.[ch]pp"))]
    return [name for name, text in ((str(path.relative_to(top)), path.read_text()) for path in files)
            if KIND_OF_STEP.search(name) or KIND_OF_STEP.search(text)]


def main() -> int:
    src = Path(sys.argv[1]).resolve() / "src"
    figures: dict[str, int] = {}
    notes: dict[str, str] = {}
    for name, path in (("Engine", "engine/engine.hpp"), ("Healings", "engine/healing/healings.hpp"),
                       ("Daemon", "daemon/daemon_impl.hpp")):
        functions, members = declarations(class_body(code_only((src / path).read_text()), name))
        figures[f"{name}.functions"], figures[f"{name}.members"] = functions, members
    for name in ("engine.hpp", "engine.cpp"):
        figures[f"{name}.lines"] = (src / "engine" / name).read_text().count("\n")
    healing = [*(src / "engine/healing").glob("driver.*"), *(src / "engine/healing/parts").rglob("*")]
    change, include = parts_at_fault(src / "engine/parts", sorted(healing))
    figures["parts.that.change.each.other"], figures["parts.that.include.the.engine"] = len(change), len(include)
    notes["parts.that.change.each.other"], notes["parts.that.include.the.engine"] = "; ".join(change), "; ".join(include)
    others = fields_written_by_others(src / "engine")
    figures["fields.written.by.others"], notes["fields.written.by.others"] = len(others), "; ".join(others)
    past = acts_past_releases(src / "engine")
    figures["acts.past.releases"], notes["acts.past.releases"] = len(past), "; ".join(past)
    figures["longest.function.lines"], notes["longest.function.lines"] = longest_function(src)
    kind = files_of_a_kind_of_step(src.parent)
    figures["files.of.a.kind.of.step"], notes["files.of.a.kind.of.step"] = len(kind), "; ".join(kind)
    worse = 0
    for name, value in figures.items():
        goal, limit = LIMITS.get(name, (value, value))
        goal = min(goal, limit)  # what is better than its goal stays so
        worse += value > limit
        text = f"{name} {value}"
        if value > goal:
            text += f"  (goal: {goal}{f'; at most {limit} now' if value > limit else ''})"
        print(text + (f"  {notes[name]}" if value > goal and notes.get(name) else ""))
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
