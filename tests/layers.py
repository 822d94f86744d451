# SPDX-License-Identifier: MIT
"""Holds the layer law of src/README.md: who may include what, what the pure parts may call, what they link.

usage: layers.py SOURCE_DIR [BUILD_DIR]
"""
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

# For each folder, or file without suffix, the longest match counts: the project's folders it may include, and the
# libraries by the head of the include's path. The standard library is allowed everywhere.
LIBRARIES = {
    "spdlog": r"spdlog/",
    "xxhash": r"xxhash\.h",
    "pegtl": r"tao/pegtl",
    "uv": r"uv\.h",
    "curl": r"curl/",
    "openssl": r"openssl/",
    "cares": r"ares\w*\.h",
    "systemd": r"systemd/",
    "jq": r"j[qv]\.h",
    "json": r"nlohmann/",
    "nghttp2": r"nghttp2/",
    "microhttpd": r"microhttpd\.h",
    "sqlite": r"sqlite3\.h",
    "zlib": r"zlib\.h",
    "cli11": r"CLI/",
    "ncurses": r"(ncursesw/)?(n?curses|term)\.h",
}
LAW = {
    "util": (set(), {"spdlog", "xxhash", "jq"}),
    "grammar": ({"util"}, {"pegtl"}),
    "engine": ({"util"}, set()),
    "simulation": ({"engine", "util"}, set()),
    "replay": ({"engine", "util"}, set()),
    "actions": ({"engine", "util"}, set()),
    "checks": ({"engine", "util"}, set()),
    "protocols/docker": ({"protocols", "util"}, {"json"}),
    "protocols": ({"util"}, {"openssl", "nghttp2"}),  # libcrypto's checksums; libssl is runtime's
    "delivery": ({"engine", "util"}, set()),
    "delivery/outbox": ({"delivery", "engine", "runtime", "util"}, set()),
    "config": ({"grammar", "engine", "protocols", "delivery", "util"}, {"pegtl"}),
    "config/lists/list_rows": ({"util"}, {"json"}),
    "config/lists/scripted_lists": ({"config", "engine", "simulation", "util"}, set()),
    "config/rules_text": ({"config", "engine", "replay"}, set()),
    "runtime": ({"engine", "actions", "protocols", "config/environment", "util"}, {"uv", "curl", "openssl", "systemd", "cares", "spdlog"}),
    "store": ({"engine", "util"}, {"sqlite"}),
    "store/healing_json": ({"store/healing_fields", "engine", "util"}, {"json"}),
    "hooks": ({"util"}, {"json"}),
    "hooks/signature": ({"hooks", "util"}, {"openssl"}),  # libcrypto
    "readings": ({"engine", "replay", "store", "util"}, {"zlib"}),
    "control/wire": ({"util"}, {"json"}),
    "control/client": ({"control/wire", "util"}, {"json"}),
    "control/diagnostic_json": ({"config", "control/wire"}, {"json"}),
    "control": ({"control", "engine", "hooks", "store", "util"}, {"uv", "json"}),  # the server and its commands
    "web": ({"control", "engine", "hooks", "protocols/digest", "store", "util"}, {"json", "openssl"}),
    "web/server": ({"web", "control", "engine", "protocols/digest", "protocols/tls_versions", "runtime", "util"}, {"microhttpd", "openssl"}),
    "web/metrics": ({"web", "control", "engine", "protocols/probe", "store", "util"}, set()),
    "web/monit": ({"web", "control", "engine", "protocols/probe", "protocols/sentence", "store", "util"}, {"json"}),
    "doctor": ({"control/client", "control/wire", "config", "engine", "util", "store", "runtime/clock", "runtime/descriptor",
                "runtime/home", "runtime/host", "runtime/inspection/proc_stat", "runtime/inspection/proc_table",
                "runtime/process/own_programs"}, {"json"}),
    "doctor/facts": ({"util"}, set()),
    "doctor/judge": ({"doctor/facts", "util"}, set()),
    "ctl": ({"doctor", "control/client", "control/diagnostic_json", "control/views", "control/wire", "config", "engine",
             "grammar", "protocols", "readings", "replay", "simulation", "store", "util", "usage", "runtime/clock",
             "runtime/descriptor", "runtime/files/read_input", "runtime/files/write_file", "runtime/home", "runtime/host",
             "runtime/inspection/proc_stat", "runtime/inspection/proc_table", "runtime/jq_helper", "runtime/loop",
             "runtime/net/connector", "runtime/pattern", "runtime/process/own_programs"}, {"cli11", "json"}),
    "ctl/server": ({"ctl/server", "control/client", "control/wire", "runtime/descriptor", "runtime/files/read_input", "util"},
                   {"cli11", "curl", "json"}),
    "ctl/words": ({"ctl/words", "control/wire", "usage", "util", "runtime"}, {"cli11", "json"}),
    "ctl/render": ({"control/wire", "util"}, {"json"}),
    "ctl/render/decisions": ({"control/wire", "util"}, set()),
    "ctl/render/screen": ({"ctl/render/top_view", "util"}, {"ncurses"}),
    # The composition root.
    "daemon": ({"util", "engine", "actions", "config", "delivery", "protocols", "readings", "replay", "runtime", "store", "control", "web", "usage"},
               {"uv", "cli11", "json", "openssl", "systemd"}),
    "registries": ({"engine", "protocols"}, set()),
    "usage": ({"util"}, {"cli11"}),
    "precompiled": (set(), set()),
    "precompiled_project": ({"config", "control", "engine", "protocols", "util"}, {"json"}),
}
# Each file of these is one of many alike.
MOST_FILES = {"src/protocols": 150, "src/checks": 60, "src": 6}
FORMATTING = r"spdlog/fmt/"  # fmt, which stands in for std::format: everywhere
ONLY_IN_CPP = r"(uv\.h|j[qv]\.h|nghttp2/nghttp2\.h|microhttpd\.h|ares\.h|curl/curl\.h|sqlite3\.h|n?curses\.h)"
POOL = r"\b(uv_queue_work|uv_fs_\w+)\s*\("

# Symbols that the pure folders may not refer to: clocks, files, processes, sockets, the environment, other threads.
PURE = ("grammar", "engine", "simulation", "replay", "checks", "actions", "delivery", "protocols", "config", "hooks")
IMPURE = ("delivery/outbox",)  # files and folders of theirs that touch the world; they are in another library
IMPURE_SYMBOLS = re.compile(
    r"^(time|clock|clock_gettime|clock_nanosleep|gettimeofday|nanosleep|sleep|usleep|localtime(_r)?|mktime|tzset"
    r"|_ZNSt6chrono3_V21[0-9](system|steady)_clock3nowEv|_ZNSt6chrono3_V212(system|steady)_clock3nowEv"
    r"|f?open(at)?(64)?|fopen(64)?|freopen(64)?|read|write|stat(64)?|lstat(64)?|fstatat(64)?|access|realpath|readlink"
    r"|opendir|glob(64)?|unlink|rename|mkdir|fork|vfork|exec[lv]\w*|posix_spawnp?|system|popen|waitpid|waitid|kill"
    r"|socket|connect|bind|listen|accept4?|send\w*|recv\w*|poll|select|getaddrinfo|gethostname"
    r"|getenv|secure_getenv|setenv|environ|getpw\w+|getgr\w+|getpid|getuid|geteuid|pthread_create"
    r"|_ZNSt14basic_[io]fstream\w*|_ZNSt13basic_fstream\w*|_ZNSt13basic_filebuf\w*|_ZNS?t10filesystem(?!7__cxx114path)\w*)$")
# The same by sight, so that a fault is found with its line and before anything is built.
IMPURE_TEXT = re.compile(
    r"(_clock::now\s*\(|(?<![\w.>])(clock_gettime|gettimeofday|fopen|open|openat|popen|system|fork|execve|posix_spawn|getenv"
    r"|time(?=\s*\(\s*(nullptr|NULL|0|&))|localtime_r|gethostname|getaddrinfo|getpid|socket)\s*\(|std::(i|o)?fstream\b|std::filesystem::(?!path\b)|std::c(out|err|in)\b"
    r"|#include\s*<(fstream|thread|unistd\.h|fcntl\.h|sys/\w+\.h)>)")
PURE_TESTS = ("test_engine", "test_hooks", "test_config", "test_grammar", "test_actions", "test_delivery", "test_protocols", "test_util")
IMPURE_LIBRARIES = re.compile(r"lib(uv|cares|curl|sqlite3|systemd|ssl|microhttpd|z)[.-]")


def code_only(text: str) -> str:
    """The text with comments and the inside of string literals blanked, line by line."""
    def blank(match: re.Match) -> str:
        return "".join(c if c == "\n" else " " for c in match.group())
    return re.sub(r'//[^\n]*|/\*.*?\*/|(?<!include )"(\\.|[^"\\\n])*"', blank, text, flags=re.S)


def part_of(relative: str) -> str:
    """grammar/x.cpp and src/grammar/x.cpp: grammar/x."""
    return re.sub(r"\.(cpp|hpp)$", "", relative.removeprefix("src/"))


def law_of(part: str):
    best = max((key for key in LAW if part == key or part.startswith(key + "/") or part.startswith(key + "_")),
               key=len, default="")
    return best, LAW.get(best, (set(), set()))


def allowed(include: str, folders: set[str]) -> bool:
    target = part_of(include)
    return any(target == f or target.startswith(f + "/") or target.startswith(f + "_") for f in folders)


def check_file(top: Path, path: Path) -> list[str]:
    relative = str(path.relative_to(top))
    part = part_of(relative)
    key, (folders, libraries) = law_of(part)
    own = key if "/" in key else part.split("/")[0]
    text = path.read_text()
    code = code_only(text)
    faults = []

    def fault(line: int, what: str) -> None:
        faults.append(f"{relative}:{line}: {what}")

    if not key:
        fault(1, "no layer: every folder has a row in this test and in src/README.md")
    for number, line in enumerate(code.splitlines(), 1):
        if match := re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line):
            quote, include = match.groups()
            if quote == '"' and not allowed(include, folders | {own}):
                fault(number, f"{own} may not include {include}")
            library = next((name for name, head in LIBRARIES.items() if re.match(head, include)), None)
            if library and library not in libraries and not re.match(FORMATTING, include):
                fault(number, f"{own} may not use {include}")
            if path.suffix == ".hpp" and re.match(ONLY_IN_CPP, include):
                fault(number, f"{include} belongs in .cpp files only")
        if re.search(POOL, line):
            fault(number, "libuv's pool is not used: what hangs there stops everything")
        if part.split("/")[0] in PURE and not part.startswith(IMPURE) and (match := IMPURE_TEXT.search(line)):
            fault(number, f"a pure part touches the world: {match.group().strip()}")
    if not text.startswith("// SPDX-License-Identifier: MIT\n"):
        fault(1, "the SPDX line is missing")
    if path.suffix == ".hpp" and "#pragma once" not in text:
        fault(1, "#pragma once is missing")
    if text.count("\n") > 600:
        fault(601, "a file of more than 600 lines is split")
    return faults


def check_objects(build: Path) -> tuple[list[str], int]:
    faults, seen = [], 0
    made = set(re.findall(r"^build (\S+\.o):", (build / "build.ninja").read_text(), re.M))  # others are of former builds
    for found in sorted(build.rglob("*.o")):
        name = str(found)
        if str(found.relative_to(build)) not in made:
            continue
        if "/healer_core.dir/" not in name or not any(f"/{folder}/" in name for folder in PURE):
            continue
        seen += 1
        symbols = subprocess.run(["nm", "-u", name], capture_output=True, text=True, check=True).stdout.split()
        used = sorted({symbol.split("@")[0] for symbol in symbols if IMPURE_SYMBOLS.match(symbol.split("@")[0])})
        if used:
            faults.append(f"{found.relative_to(build)}: a pure part refers to {', '.join(used)}")
    for test in PURE_TESTS:
        if (build / test).exists():
            seen += 1
            # What the libraries of the system need in their turn is theirs: Debian 13's libcrypto needs libz.
            linked = subprocess.run(["readelf", "-d", str(build / test)], capture_output=True, text=True, check=True).stdout
            for library in IMPURE_LIBRARIES.finditer(linked):
                faults.append(f"{test} links lib{library.group(1)}, and tests pure parts only")
    return faults, seen


def self_test() -> None:
    """A law that nothing can break is none: each kind of fault is seen."""
    import tempfile
    bad = {
        "src/engine/a.hpp": '// SPDX-License-Identifier: MIT\n#pragma once\n#include "runtime/loop.hpp"\n',
        "src/engine/b.cpp": "// SPDX-License-Identifier: MIT\nauto x = std::chrono::steady_clock::now();\n",
        "src/runtime/c.hpp": "// SPDX-License-Identifier: MIT\n#pragma once\n#include <uv.h>\n",
        "src/runtime/d.cpp": "// SPDX-License-Identifier: MIT\nvoid f() { uv_fs_stat(0); }\n",
        "src/runtime/e.cpp": '// SPDX-License-Identifier: MIT\n#include "store/store.hpp"\n',
        "src/ctl/rules.cpp": '// SPDX-License-Identifier: MIT\n#include "daemon/daemon.hpp"\n',
        "src/daemon/paths.cpp": '// SPDX-License-Identifier: MIT\n#include "ctl/output.hpp"\n',
        "src/engine/i.cpp": '// SPDX-License-Identifier: MIT\n#include "simulation/script.hpp"\n',
        "src/newcomer.cpp": "// SPDX-License-Identifier: MIT\n",
        "src/control/client.cpp": '// SPDX-License-Identifier: MIT\n#include "control/server.hpp"\n',
        "src/util/f.cpp": "// SPDX-License-Identifier: MIT\n#include <uv.h>\n",
        "src/engine/g.cpp": "// SPDX-License-Identifier: MIT\nauto x = time(nullptr);\n",
        "src/util/g.cpp": "#include <string>\n",
        "src/ctl/top.cpp": "// SPDX-License-Identifier: MIT\n#include <ncurses.h>\n",
        "grammar/h.cpp": '// SPDX-License-Identifier: MIT\n#include "config/syntax/syntax.hpp"\n',
    }
    good = {
        "src/runtime/a.cpp": '// SPDX-License-Identifier: MIT\n#include "config/environment.hpp"\n#include <uv.h>\n',
        "src/engine/b.cpp": '// SPDX-License-Identifier: MIT\n// opens no file: open(x)\nauto x = "time(0)"; auto y = uptime(z) + time(interval) + file.open(z);\n',
        "src/ctl/ask.cpp": '// SPDX-License-Identifier: MIT\n#include "ctl/output.hpp"\n',
        "src/daemon/daemon.cpp": '// SPDX-License-Identifier: MIT\n#include "daemon/paths.hpp"\n#include "runtime/loop.hpp"\n#include "store/store.hpp"\n',
        "src/control/server.cpp": '// SPDX-License-Identifier: MIT\n#include "control/wire.hpp"\n#include "store/store.hpp"\n',
    }
    with tempfile.TemporaryDirectory() as folder:
        for files, wanted in ((bad, True), (good, False)):
            for name, text in files.items():
                path = Path(folder) / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
                if bool(check_file(Path(folder), path)) != wanted:
                    sys.exit(f"layers.py itself is at fault: {name}: {check_file(Path(folder), path)}")


def main() -> int:
    top = Path(sys.argv[1]).resolve()
    self_test()
    files = sorted(path for folder in ("src", "grammar") for path in (top / folder).rglob("*.[ch]pp"))
    if len(files) < 20:
        sys.exit(f"only {len(files)} source files under {top}: is this the project?")
    faults = [fault for path in files for fault in check_file(top, path)]
    for folder, files_in_it in sorted(Counter(path.parent for path in files).items()):
        name = str(folder.relative_to(top))
        most = MOST_FILES.get(name, 36)
        if files_in_it > most:
            faults.append(f"{name}: {files_in_it} files side by side, of which nobody finds his place: at most {most}")
    seen = 0
    if len(sys.argv) > 2:
        more, seen = check_objects(Path(sys.argv[2]))
        faults += more
        if not seen:
            faults.append("no object of the pure library was found to look at")
    print("\n".join(faults))
    print(f"{len(files)} files, {seen} objects and programs looked at, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
