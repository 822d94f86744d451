# SPDX-License-Identifier: MIT
"""The demo: the published self-healing VM system, small, before your eyes. Called by `./start demo`.

Three nodes, each a web server in a folder built from a template, and the real ansible-playbook to ping, to synchronise
and to rebuild them. Two have the article's checks (its Listing 3), whose action is a program that is started, and a real
mail program; the third has a workflow: a guard, steps, a verification. One node of each kind is damaged so that no
restart heals it. The demo shows what healerd does, and checks it: exit status 0 only if each was rebuilt once, with the
mails that belong to it, both answer again, and the third node was left alone.

Everything lives in one temporary folder and below one process, so that nothing is left behind; a session of its own for
each child keeps Ctrl-C for this process, which then takes all away.
"""
import argparse
import json
import math
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))
import processes  # noqa: E402

NODES = ("webbox4", "webbox5", "webbox6")
PLAIN = "webbox5"   # is rebuilt by the article's exec
HEALED = "webbox6"  # is rebuilt by a workflow
BROKEN = (PLAIN, HEALED)
SERVICES = {PLAIN: "ping_test_node_5", HEALED: "ping_webbox6"}
OTHER = "webbox4"
OTHER_SERVICES = ("ping_test_node_4", "sync_all_node_4", "sync_all_node_5")
TIME_LIMIT = 170.0  # seconds, after which the demo gives up
CYCLES = (3, 12)    # the shortest and the longest cycle, in seconds
QUIET_CYCLES = 2    # that pass after the recovery, to see that nothing more is done
LINE = 110          # columns of an answer that are shown
SHOW_LATE = 1.0     # seconds that an event waits to be shown, so that events of several sources come in order


class Failed(Exception):
    """The demo did not show what it must."""


class Stopped(Exception):
    """A signal ended the demo."""


@dataclass(frozen=True)
class Event:
    time: float
    source: str
    text: str


def paint(code: str, text: str) -> str:
    return f"\033[{code}m{text}\033[0m" if sys.stdout.isatty() else text


def title(text: str) -> None:
    print(paint("1", f"==> {text}"), flush=True)


def say(text: str) -> None:
    print(f"    {text}", flush=True)


def read_lines(path: Path) -> list[str]:
    """Complete lines of a file; none where it does not exist."""
    try:
        return path.read_text(errors="replace").rpartition("\n")[0].splitlines()
    except FileNotFoundError:
        return []


class Demo:
    def __init__(self, build: Path):
        self.build = build.resolve()
        self.folder = Path(tempfile.mkdtemp(prefix="healer-demo-"))
        self.deadline = time.monotonic() + TIME_LIMIT
        self.healerd: subprocess.Popen | None = None
        self.children: set[int] = set()  # that are waited for here
        self.broken_at = 0.0
        self.failures: dict[str, list[tuple[float, str]]] = {node: [] for node in BROKEN}  # when, how the rule stood then
        self.runs_seen: dict[tuple[str, float], Event] = {}
        self.viewed = False  # what healerctl healing status says was shown
        self.shown: set[Event] = set()

    # ---- the stage --------------------------------------------------------------------------------------------

    def lay_out(self) -> None:
        """Copies the demo's files and fills in where they are."""
        for name in ("hypervisor.py", "ping_monitor.yml", "sync_files.yml", "rebuild_node.yml", "inventory"):
            shutil.copy(HERE / name, self.folder)
        shutil.copytree(HERE / "template", self.folder / "template")
        for name in ("monit.d", "ansible/tmp", "mail"):
            (self.folder / name).mkdir(parents=True)
        self.start_mail_sink()
        for name in ("ansible.cfg", "mailrc"):
            self.fill(HERE / name, self.folder / name)
        for node in (OTHER, PLAIN):
            self.fill(HERE / "node.rules", self.folder / "monit.d" / f"{node}.rules", N=node[-1])
        self.fill(HERE / "workflow.rules", self.folder / "monit.d" / f"{HEALED}.rules")

    def fill(self, source: Path, target: Path, **more: str) -> None:
        text = source.read_text()
        for word, value in {"DEMO": str(self.folder), "SMTP_PORT": self.smtp_port, **more}.items():
            text = text.replace(f"@{word}@", value)
        target.write_text(text)
        target.chmod(0o600)

    def start_mail_sink(self) -> None:
        """A mail server that keeps what it is given in the folder mail/. It ends with this process."""
        sink = subprocess.Popen([sys.executable, str(HERE.parent / "support" / "smtp_sink.py"), str(self.folder / "mail")],
                                stdin=subprocess.PIPE, start_new_session=True,
                                preexec_fn=processes.die_with_parent)
        self.children.add(sink.pid)
        self.sink = sink
        port = self.folder / "mail" / "port"
        self.wait(port.exists, "the mail server")
        self.smtp_port = port.read_text().strip()

    def hypervisor(self, *words: str) -> dict:
        done = subprocess.run(["/usr/bin/python3", str(self.folder / "hypervisor.py"), *words], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, start_new_session=True)
        if done.returncode:
            raise Failed(f"hypervisor {' '.join(words)}: {done.stderr.strip()}")
        return json.loads(done.stdout) if done.stdout else {}

    def instance(self, node: str) -> dict:
        return self.hypervisor("info", node).get("instance", {})

    def answers(self, node: str) -> bool:
        address = self.instance(node).get("address")
        if not address:
            return False
        try:
            with urllib.request.urlopen(f"http://{address}/", timeout=5) as page:
                return page.status == 200
        except OSError:
            return False

    def build_nodes(self) -> None:
        for node in NODES:
            self.hypervisor("deploy", node)
            self.wait(lambda: self.answers(node), f"{node} to answer")
            self.hypervisor("certify", node)
            say(f"{node}  http://{self.instance(node)['address']}/  certified")
        self.before = {node: self.instance(node) for node in NODES}

    def choose_cycle(self) -> None:
        """A cycle in which the checks of all nodes have time to end on this machine, so that no run is left out."""
        began = time.monotonic()
        runs = [subprocess.Popen(["/usr/bin/ansible-playbook", str(self.folder / "ping_monitor.yml"), "-e", f"vmname={node}"],
                                 stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                 start_new_session=True, env=self.playbook_environment()) for node in NODES]
        self.children.update(run.pid for run in runs)
        self.wait(lambda: all(run.poll() is not None for run in runs), "a check of each node")
        took = time.monotonic() - began
        self.cycle = min(max(math.ceil(1.4 * took), CYCLES[0]), CYCLES[1])
        say(f"the pings of all nodes take {took:.1f} s here, so a cycle lasts {self.cycle} s")
        self.fill(HERE / "healer.conf", self.folder / "healer.conf", CYCLE=str(self.cycle))

    def playbook_environment(self, **more: str) -> dict[str, str]:
        return {"PATH": "/usr/bin:/bin", "HOME": str(self.folder), "LANG": "C.UTF-8",
                "ANSIBLE_CONFIG": str(self.folder / "ansible.cfg"), **more}

    def start_healerd(self) -> None:
        with (self.folder / "healerd.out").open("ab") as out:
            self.healerd = subprocess.Popen(
                [str(self.build / "healerd"), "-I", "-c", str(self.folder / "healer.conf")], cwd="/",
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
                preexec_fn=processes.die_with_parent)
        self.children.add(self.healerd.pid)
        self.wait(lambda: self.ctl("ping", judge=False) is not None, "healerd to answer")

    def told(self, *words: str, judge: bool = True) -> str | None:
        """What healerctl WORDS says."""
        done = subprocess.run([str(self.build / "healerctl"), "--socket", str(self.folder / "healer.sock"), *words],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL, start_new_session=True)
        if done.returncode == 0:
            return done.stdout
        if judge:
            raise Failed(f"healerctl {' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
        return None

    def ctl(self, *words: str, judge: bool = True) -> dict | None:
        """What healerctl WORDS --json says."""
        document = self.told(*words, "--json", judge=judge)
        return None if document is None else json.loads(document)

    # ---- watching ---------------------------------------------------------------------------------------------

    def wait(self, condition, what: str) -> None:
        while not condition():
            processes.reap(self.children)
            if self.healerd and self.healerd.poll() is not None:
                raise Failed(f"healerd ended with status {self.healerd.returncode}")
            if time.monotonic() > self.deadline:
                raise Failed(f"waited in vain for {what}")
            time.sleep(0.1)

    def history(self) -> list[dict]:
        return self.ctl("history", "--lines", "1000")["records"]

    def status(self, service: str) -> dict:
        return self.ctl("status", service)["services"][0]

    def look_at_runs(self, node: str) -> None:
        """Keeps what the last run of the broken node's check said, which no record tells while it is tolerated."""
        status, failures = self.status(SERVICES[node]), self.failures[node]
        last, rule = status.get("last"), status["rules"][0]
        if not last:
            return
        when = seconds_of(last["when"])
        if when <= self.broken_at or (node, when) in self.runs_seen:
            return
        if last["outcome"] == "exited" and last["status"] == 0:
            text = f"{SERVICES[node]}: a run passes"
        else:
            # Having fired, a rule of Monit counts the window anew, so the runs are counted here.
            failures.append((when, "fired" if rule["state"] == "failed" else f"{rule['failed']} of {rule['count']}"))
            text = f"{SERVICES[node]}: a run fails, number {len(failures)} in a row (status {last['status']})"
        self.runs_seen[node, when] = Event(when, "healer", text)

    def events(self) -> list[Event]:
        """All that happened since the node was broken, from healerd's history, the logs of hypervisor and nodes, the mail."""
        found = list(self.runs_seen.values())
        for record in self.history():
            service = record.get("service")
            # That a slow machine left a run out is of interest for the nodes that are broken; of programs of a workflow
            # its steps tell.
            if service and (service in SERVICES.values() or record["kind"] != "run-overrun") \
                    and not (service == SERVICES[HEALED] and record["text"].startswith("program ")):
                text = record["text"].splitlines()[0].partition(" -- ")[0]  # what follows is the playbook's output
                found.append(Event(seconds_of(record["when"]), "healer", f"{service}: {text}"))
        for path, source in [(self.folder / "hypervisor.log", "hypervisor")] + \
                            [(self.folder / f"{node}.console", "node") for node in NODES]:
            lines = [json.loads(line) for line in read_lines(path)]
            if source == "node":
                answers = [entry for entry in lines if entry["text"].startswith("answers")
                           and entry["time"] > self.broken_at]
                lines = [entry for entry in lines if not entry["text"].startswith("answers")] + \
                    (answers[:2] if path.stem in BROKEN else [])
            found += [Event(entry["time"], source, f"{entry['node']}: {entry['text']}") for entry in lines]
        for path in sorted((self.folder / "mail").glob("*.json")):
            subject = next((line for line in path.with_suffix(".eml").read_text().splitlines()
                            if line.startswith("Subject: ")), "Subject: none")
            envelope = json.loads(path.read_text())
            found.append(Event(envelope["time"], "mail", f"to {', '.join(envelope['to'])}: {subject[9:]}"))
        return sorted((event for event in found if event.time >= self.broken_at), key=lambda event: event.time)

    def show(self, until: float) -> None:
        colours = {"healer": "36", "hypervisor": "33", "node": "32", "mail": "35"}
        for event in self.events():
            if event in self.shown or event.time > until:
                continue
            self.shown.add(event)
            clock = datetime.fromtimestamp(event.time).strftime("%H:%M:%S.%f")[:-3]
            print(f"    {clock}  {event.time - self.broken_at:+8.3f} s  "
                  f"{paint(colours[event.source], f'{event.source:10}')}  {event.text}", flush=True)

    def watch(self, condition, what: str) -> None:
        """Waits like wait(), and shows what happens."""
        def look() -> bool:
            for node in BROKEN:
                self.look_at_runs(node)
            self.show(time.time() - SHOW_LATE)
            self.view_healing()
            return condition()
        self.wait(look, what)

    def view_healing(self) -> None:
        """Shows once what healer says of the healing while its program is under way."""
        if self.viewed or not any('step "rebuild": /' in event.text for event in self.shown):
            return
        self.viewed, said = True, self.told("healing", "status")
        self.quote("healing status", said)

    def quote(self, words: str, said: str) -> None:
        """A question to healer, and what it says; of what programs have written, only the beginning."""
        say(paint("1", f"$ healerctl {words}"))
        for line in said.replace(str(self.folder), "$DEMO").rstrip().splitlines():
            say(f"  {line if len(line) <= LINE else f'{line[:LINE]}...'}")

    def acted(self, node: str, kind: str) -> list[dict]:
        return [record for record in self.history() if record["kind"] == kind and record.get("service") == SERVICES[node]]

    # ---- the play ---------------------------------------------------------------------------------------------

    def play(self) -> None:
        print(paint("1", "The self-healing VM system: monitor, playbooks and mail, and two nodes that break"))
        say(f"its files are in {self.folder}")
        title("Three nodes are built from the template")
        self.lay_out()
        self.build_nodes()
        title(f"healerd starts. {PLAIN} has the article's rules, whose action is a program that is started:")
        self.show_rules(PLAIN)
        title(f"{HEALED} has a workflow: a guard, steps, and no end before the node is seen to be well")
        self.show_rules(HEALED)
        self.choose_cycle()
        self.start_healerd()
        title("All checks run once")
        services = [*SERVICES.values(), *OTHER_SERVICES]
        self.wait(lambda: all(self.status(service)["state"] == "running" for service in services),
                  "every check to have passed")
        say(f"{len(services)} checks pass")

        title(f"{PLAIN} and {HEALED} break: disks damaged, processes killed, and switching them on does not help")
        self.broken_at = time.time()
        for node in BROKEN:
            self.hypervisor("damage", node)
            self.hypervisor("poweron", node)
        self.watch(lambda: all(self.acted(node, "rule-failed") for node in BROKEN), "the third failures in a row")
        self.watch(lambda: all(self.acted(node, "rule-recovered") for node in BROKEN) and self.healings("rebuild_node recovered"),
                   "the recoveries")
        recovered = time.time()
        quiet = QUIET_CYCLES * self.cycle
        self.watch(lambda: time.time() > recovered + quiet, "two more cycles")
        self.show(time.time())
        self.after = {node: self.instance(node) for node in NODES}
        self.seen = self.events()

        title("What healer says of it afterwards, and what the mail says")
        self.quote(f"explain {SERVICES[HEALED]}", self.told("explain", SERVICES[HEALED]))
        self.show_mail()

        title("A node that is still being built is not destroyed")
        self.refuse_by_playbook()
        self.refuse_by_guard()

    def show_rules(self, node: str) -> None:
        for line in read_lines(self.folder / "monit.d" / f"{node}.rules"):
            say(line.replace(str(self.folder), "$DEMO"))

    def show_mail(self) -> None:
        """What healer has written of the end of the healing."""
        mails = [path.with_suffix(".eml").read_text() for path in sorted((self.folder / "mail").glob("*.json"))]
        self.mailed = next((mail for mail in mails if f"Healing recovered {SERVICES[HEALED]}" in mail), "")
        head, _, body = self.mailed.partition("\n\n")
        lines = [line for line in head.splitlines() if line.startswith(("From:", "To:", "Subject:"))]
        for line in [*lines, *(line for line in body.splitlines() if line.strip())]:
            say(f"  {line}")

    def healings(self, words: str) -> list[str]:
        """What the history of the node with the workflow says with these words."""
        return [record["text"].splitlines()[0] for record in self.history()
                if record.get("service") == SERVICES[HEALED] and words in record["text"]]

    def refuse_by_playbook(self) -> None:
        """Asks for the rebuild of a node without the flag, as a second monitor would in the middle of a rebuild."""
        self.hypervisor("deploy", "webbox7")
        before = self.instance("webbox7")
        done = subprocess.run(["/usr/bin/ansible-playbook", str(self.folder / "rebuild_node.yml")], capture_output=True,
                              text=True, stdin=subprocess.DEVNULL, start_new_session=True,
                              env=self.playbook_environment(MONIT_SERVICE="ping_test_node_7"))
        self.refused = done.returncode != 0 and "is not certified" in done.stdout and \
            self.instance("webbox7").get("pid") == before["pid"]
        say(f"rebuild_node.yml for webbox7, which nobody certified: exit status {done.returncode}, "
            f"{'the node runs on' if self.refused else 'and the node was touched'}")

    def refuse_by_guard(self) -> None:
        """Asks healer for the healing of a node that somebody is building at the moment."""
        for command in ("poweroff", "destroy", "deploy"):
            self.hypervisor(command, HEALED)
        before = self.instance(HEALED)
        service = SERVICES[HEALED]
        self.quote(f"heal {service} --override cooldown", self.told("heal", service, "--override", "cooldown"))
        self.wait(lambda: self.healings("refused: exited with status 1"), "the guard")
        self.refused_by_guard = self.instance(HEALED)["pid"] == before["pid"]
        say(f"  {self.healings('refused: exited with status 1')[0]}")

    def judge(self) -> bool:
        """Shows what was to be shown, and whether it was."""
        title("Checked")
        log = [json.loads(line) for line in read_lines(self.folder / "hypervisor.log")]
        done = [(entry["node"], entry["text"]) for entry in log if self.broken_at + 0.001 < entry["time"] <= self.seen[-1].time]
        rebuilds = sorted(node for node, text in done if text.startswith("deployed"))
        destroyed = sorted(node for node, text in done if text == "destroyed")
        mails = [event.text for event in self.seen if event.source == "mail"]
        plain = [mail for mail in mails if "ping failed" in mail]
        fired = {node: min((seconds_of(record["when"]) for record in self.acted(node, "rule-failed")), default=0.0)
                 for node in BROKEN}
        steps = {node: [step for when, step in self.failures[node] if when <= fired[node] + 0.01] for node in BROKEN}
        told = "\n".join(record["text"] for record in self.acted(HEALED, "healing-step"))
        checks = [
            (f"both acted at the third failure in a row (seen: {', '.join(steps[PLAIN])})",
             all(seen == ["1 of 3", "2 of 3", "fired"] for seen in steps.values())),
            (f"exactly one rebuild of {PLAIN}, and one of {HEALED}", rebuilds == destroyed == list(BROKEN)),
            (f"exactly one mail by the exec of {PLAIN}: Node 5 ping failed", len(plain) == 1),
            (f"the workflow of {HEALED} did its steps in order, and ended when the node was seen to be well",
             in_order(told, '"power off"', '"rebuild"', '"verify"') and len(self.healings("rebuild_node recovered")) == 1),
            (f"a mail tells of it: Healing recovered {SERVICES[HEALED]}", bool(self.mailed)),
            ("both answer again, are certified, and are other instances",
             all(self.after[node]["certified"] and self.after[node]["pid"] != self.before[node]["pid"] for node in BROKEN)
             and all(self.answers(node) for node in BROKEN)),
            (f"{OTHER} was not touched",
             self.after[OTHER] == self.before[OTHER] and not any(node == OTHER for node, _ in done)),
            ("a node without the certificate is not rebuilt: neither by the playbook nor past the guard",
             self.refused and self.refused_by_guard),
        ]
        for text, good in checks:
            say(f"{paint('32', 'ok    ') if good else paint('31', 'FAILED')}  {text}")
        return all(good for _, good in checks)

    def tell_trouble(self) -> None:
        """The logs, when something went wrong."""
        for name in ("healerd.out", "healer.log", "hypervisor.log", *(f"{node}.console" for node in NODES)):
            if lines := read_lines(self.folder / name):
                print(f"---- {name}\n" + "\n".join(lines[-30:]), file=sys.stderr)

    # ---- the end ----------------------------------------------------------------------------------------------

    def keep(self, tell_parent, status: int) -> None:
        """Leaves the stage standing until a signal comes."""
        ctl = f"{self.build / 'healerctl'} --socket {self.folder / 'healer.sock'}"
        title("It goes on running")
        say("look at it   " + ctl + " status")
        say("             " + ctl + f" explain {SERVICES[HEALED]}")
        say("             " + ctl + " history")
        say(f"break more   /usr/bin/python3 {self.folder}/hypervisor.py damage {OTHER}")
        say(f"stop it      kill {os.getpid()}      (this removes its files too)")
        sys.stdout.flush()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        os.close(nowhere)
        os.setsid()
        tell_parent(status)
        while self.healerd.poll() is None:
            processes.reap(self.children)
            time.sleep(0.5)

    def clear(self) -> None:
        """Ends every process of the demo and removes its files."""
        if self.healerd and self.healerd.poll() is None:
            self.healerd.terminate()
            try:
                self.healerd.wait(10)
            except subprocess.TimeoutExpired:
                pass
        left = processes.end_all()
        shutil.rmtree(self.folder, ignore_errors=True)
        if left:
            print("these processes could not be ended: " + "; ".join(left), file=sys.stderr)


def in_order(text: str, *words: str) -> bool:
    places = [text.find(word) for word in words]
    return -1 not in places and places == sorted(places)


def seconds_of(when: str) -> float:
    return datetime.fromisoformat(when).timestamp()


def stop(number: int, _frame) -> None:
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)
    raise Stopped(signal.Signals(number).name)


def run(build: Path, tell_parent=None) -> int:
    """The whole demo; `tell_parent` is called when it is left running."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    processes.adopt_orphans()
    began = time.monotonic()
    demo, status = Demo(build), 1
    try:
        demo.play()
        status = 0 if demo.judge() else 1
        say(f"{'all of it in' if status == 0 else 'it did not work; that took'} {time.monotonic() - began:.0f} s")
        if status:
            demo.tell_trouble()
        if tell_parent:
            demo.keep(tell_parent, status)
    except Stopped as signalled:
        status = 130
        print(f"\nstopped by {signalled}; all is taken away", file=sys.stderr)
    except Failed as failure:
        print(f"the demo failed: {failure}", file=sys.stderr)
        demo.tell_trouble()
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        demo.clear()
    return status


def run_and_keep(build: Path) -> int:
    """Runs the demo in a child, which goes on when this process, having shown it all, ends."""
    reading, writing = os.pipe()
    sys.stdout.flush()
    worker = os.fork()
    if worker == 0:
        os.close(reading)
        status = 1
        try:
            status = run(build, lambda shown: (os.write(writing, bytes([shown])), os.close(writing)))
        finally:
            os._exit(status)
    os.close(writing)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda each, _: os.kill(worker, each))
    if shown := os.read(reading, 1):
        return shown[0]
    return os.waitstatus_to_exitcode(os.waitpid(worker, 0)[1])


def main() -> int:
    parser = argparse.ArgumentParser(prog="./start demo", description="A node breaks and is rebuilt before your eyes.")
    parser.add_argument("--build", type=Path, default=HERE.parents[1] / "build", help=argparse.SUPPRESS)
    parser.add_argument("--keep", action="store_true", help="leave it running at the end, to look around")
    options = parser.parse_args()
    return run_and_keep(options.build) if options.keep else run(options.build)


if __name__ == "__main__":
    sys.exit(main())
