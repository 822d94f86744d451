# SPDX-License-Identifier: MIT
"""The same rules and the same runs: healer and the real Monit mail the same people the same words.

Where they differ on purpose, the test says how. Each check program tells which run it is, so that a mail proves by which
run it came.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
from pathlib import Path

import mails
import support
from support import processes

NAMES = ("healer", "monit")
INSTANCE = f"monit alert --  Monit instance changed {socket.gethostname()}"


class MailMonit(mails.Receiving, support.Case):
    def setUp(self):
        super().setUp()
        if not shutil.which("monit"):
            self.skipTest("monit is not installed")
        self.monit: subprocess.Popen | None = None

    def tearDown(self):
        if self.monit:
            self.monit.kill()
            self.monit.wait()
        super().tearDown()

    def program(self, name: str, statuses: list[int], folder: Path) -> Path:
        """Its n-th run ends with the n-th status, the last one stays, and says so."""
        folder.mkdir(exist_ok=True)
        wanted = " ".join(map(str, statuses))
        path = folder / name
        path.write_text(f"""#!/bin/sh
cd {folder}
echo x >> {name}.runs
run=$(wc -l < {name}.runs)
set -- {wanted}
[ $run -lt $# ] && shift $((run - 1)) || shift $(($# - 1))
echo "run $run"
exit $1
""")
        path.chmod(0o755)
        return path

    def run_both(self, rules, only_monit=lambda folder: "") -> None:
        """Starts both with the rules that `rules` (a function of a folder) gives; each has a mail server of its own."""
        self.ports = {name: self.sink(name=f"{name}-mails")[1] for name in NAMES}
        texts = {}
        for name in NAMES:
            folder = self.path(f"by-{name}")
            folder.mkdir()
            beat = self.program("beat", [0], folder)
            texts[name] = (f"set mailserver 127.0.0.1 port {self.ports[name]}\n{rules(folder)}"
                           f'check program beat with path "{beat}"\n  if status != 0 then alert\n')
        self.daemon = self.start(texts["healer"])
        self.control = self.path("monitrc")
        folder = self.path("by-monit")
        self.control.write_text(f"set daemon 1\nset log {folder}/log\nset pidfile {folder}/pid\nset idfile {folder}/id\n"
                                f"set statefile {folder}/state\nset httpd unixsocket {folder}/socket allow me:me\n"
                                + only_monit(folder) + texts["monit"])
        self.control.chmod(0o600)
        self.monit = subprocess.Popen(["monit", "-I", "-c", str(self.control)], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                      preexec_fn=processes.die_with_parent)

    def beats(self, name: str) -> int:
        return self.lines(f"by-{name}/beat.runs")

    def more_beats(self, count: int, *names: str) -> None:
        before = {name: self.beats(name) for name in NAMES}
        for name in names or NAMES:
            self.wait_for(lambda: self.beats(name) >= before[name] + count, f"cycles of {name}")

    def command(self, *words: str) -> None:
        done = self.daemon.ctl(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        subprocess.run(["monit", "-c", str(self.control), *words], check=True, capture_output=True)

    def told(self, name: str, to: str = "") -> list[str]:
        """What one of them mailed about services: the subject's end, the action and the description."""
        return [f"{mail.subject.removeprefix('monit alert --  ')} | {mail.field('Action')} | {mail.field('Description')}"
                for mail in self.mails(f"{name}-mails") if to in mail.to and not mail.subject.startswith(INSTANCE)]

    def both_told(self, expected: list[str], to: str, ordered: bool = True) -> None:
        """Both have mailed this to that person, and nothing else."""
        order = list if ordered else sorted
        for name in NAMES:
            self.wait_for(lambda: len(self.told(name, to)) >= len(expected), f"mails of {name} to {to}",
                          detail=lambda: str(self.told(name, to)))
        self.assertEqual(self.told("healer", to), expected)
        self.assertEqual(order(self.told("monit", to)), order(expected))

    # ---- whom, and when -----------------------------------------------------------------------------------------

    def test_one_mail_at_each_transition_to_each_recipient(self):
        self.run_both(lambda folder: f"""
set alert all@x.org
set alert calm@x.org not on {{ instance }}
set alert status@x.org only on {{ status }}
set alert content@x.org on {{ content }}
set alert away@x.org
set alert changed@x.org
check program node with path "{self.program('node', [0, 1, 1, 1, 0, 0, 2, 2, 0], folder)}"
  if status != 0 for 2 cycles then alert
  alert local@x.org
  alert changed@x.org only on {{ instance }}
  noalert away@x.org
""")
        expected = ["Status failed node | alert | status failed (1) -- run 3",
                    "Status succeeded node | alert | status succeeded (0) -- run 5",
                    "Status failed node | alert | status failed (2) -- run 8",
                    "Status succeeded node | alert | status succeeded (0) -- run 9"]
        for to in ("all@x.org", "calm@x.org", "status@x.org", "local@x.org"):
            self.both_told(expected, to)
        self.more_beats(3)
        for to in ("content@x.org", "away@x.org", "changed@x.org"):
            self.both_told([], to)
        for name in NAMES:  # the word of the start went to all but those who excluded it, and to no service's own
            started = {mail.to for mail in self.mails(f"{name}-mails") if mail.subject.startswith(INSTANCE)}
            self.assertEqual(started, {"all@x.org", "away@x.org", "changed@x.org"}, name)

    def test_reminders_come_with_the_same_runs(self):
        self.run_both(lambda folder: f"""
check program node with path "{self.program('node', [0] + 10 * [1] + [0], folder)}"
  if status != 0 then alert
  alert third@x.org with reminder on 3 cycles
  alert each@x.org reminder 1
  alert once@x.org
""")
        failed = "Status failed node | alert | status failed (1) -- run "
        well = "Status succeeded node | alert | status succeeded (0) -- run 12"
        self.both_told([failed + run for run in ("2", "4", "7", "10")] + [well], "third@x.org")
        self.both_told([f"{failed}{run}" for run in range(2, 12)] + [well], "each@x.org")
        self.both_told([failed + "2", well], "once@x.org")

    def test_starts_stops_and_commands_are_mailed(self):
        self.run_both(lambda folder: f"""
set alert all@x.org
set alert calm@x.org not on {{ instance, action }}
check program node with path "{self.program('node', [0], folder)}"
  start program = "/bin/true"
  stop program = "/bin/true"
  if status != 0 then alert
""")
        expected = []
        self.more_beats(2)
        for verb in ("unmonitor", "monitor", "stop", "start", "restart"):
            self.command(verb, "node")
            expected.append(f"Action done node | alert | {verb} action done")
            self.both_told(expected, "all@x.org")
        self.both_told([], "calm@x.org")
        self.daemon.stop()
        self.monit.terminate()
        self.monit.wait(support.LIMIT)
        for name in NAMES:
            self.wait_for(lambda: [(mail.to, mail.field("Action")) for mail in self.mails(f"{name}-mails")
                                   if mail.subject.startswith(INSTANCE)] == [("all@x.org", "start"), ("all@x.org", "stop")],
                          f"the words of {name}'s start and stop", detail=lambda: str(self.mails(f"{name}-mails")))

    def test_a_start_that_fails_is_mailed_once_until_one_succeeds(self):
        def rules(folder):
            start = folder / "start"
            start.write_text(f'''#!/bin/sh
cd {folder}
echo x >> tries
[ -e able ] || {{ echo nope; exit 3; }}
setsid --fork sh -c 'echo $$ > node.pid; exec sleep 100000' > /dev/null 2>&1 < /dev/null
''')
            start.chmod(0o755)
            return f"""
set alert all@x.org
set alert exec@x.org on {{ exec }}
check process node with pidfile {folder}/node.pid
  start program = "{start}" with timeout 5 seconds
  if does not exist then restart
  alert calm@x.org not on {{ exec }}
"""

        folders = [self.path(f"by-{name}") for name in NAMES]
        self.run_both(rules)
        for times in range(1, 3):
            tries = [self.lines(folder / "tries") for folder in folders]
            for folder, before in zip(folders, tries, strict=True):
                self.wait_for(lambda: self.lines(folder / "tries") >= before + 3, "three tries")
                (folder / "able").touch()
            expected = {name: times * [f"Execution failed node | alert | failed to start (exit status 3) -- "
                                       f"'{folder}/start': nope", "Execution succeeded node | alert | started"]
                        for name, folder in zip(NAMES, folders, strict=True)}
            for name, folder in zip(NAMES, folders, strict=True):
                self.wait_for(lambda: len(self.told(name, "exec@x.org")) >= 2 * times, f"mails of {name}",
                              detail=lambda: str(self.told(name, "exec@x.org")))
                self.assertEqual(self.told(name, "exec@x.org"), expected[name])
                (folder / "able").unlink()
                self.wait_for(lambda: (folder / "node.pid").exists(), "its pid file")
                pid = int((folder / "node.pid").read_text())
                os.kill(pid, signal.SIGKILL)
                self.wait_for(lambda: processes.reap({self.daemon.pid, self.monit.pid}) or not processes.state(pid), "its end")
        self.more_beats(3)
        for name in NAMES:
            told = {to: [word for word in self.told(name, to) if word.startswith("Execution")]
                    for to in ("all@x.org", "exec@x.org", "calm@x.org")}
            third = expected[name] + expected[name][:1]
            self.assertEqual(told, {"all@x.org": third, "exec@x.org": third, "calm@x.org": []}, name)

    # ---- the words ------------------------------------------------------------------------------------------------

    def test_a_format_has_every_variable(self):
        message = "E=$EVENT S=$SERVICE D=$DATE H=$HOST A=$ACTION T=$DESCRIPTION U=$UNKNOWN L=$event M=$SERVICES 5$\n"
        self.run_both(lambda folder: f"""
set mail-format {{
  from: "Watch $HOST" <watch@$HOST.org>
  reply-to: duty@x.org
  subject: [$HOST] $SERVICE: $EVENT ($ACTION) $DESCRIPTION
  message: {message}}}
set alert all@x.org not on {{ instance }}
check program node with path "{self.program('node', [1], folder)}"
  if status != 0 then alert
  alert own@x.org with mail-format {{ subject: $SERVICE!
    message: $DATE }}
""")
        for name in NAMES:
            self.wait_for(lambda: len(self.mails(f"{name}-mails")) >= 2, f"mails of {name}")
        host = socket.gethostname()
        date = re.compile(r"\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d")
        seen = {}
        for name in NAMES:
            general, own = sorted(self.mails(f"{name}-mails"), key=lambda mail: mail.to)
            self.assertEqual(general.subject, f"[{host}] node: Status failed (alert) status failed (1) -- run 1", name)
            self.assertEqual(general.sender, f'Watch {host} <watch@{host}.org>', name)
            self.assertEqual(general.reply_to, "duty@x.org", name)
            self.assertEqual(own.subject, "node!", name)
            self.assertEqual(own.sender, general.sender, name)
            self.assertRegex(own.text.strip(), f"^{date.pattern}$", name)
            self.assertRegex(general.text, f"D={date.pattern} ", name)
            seen[name] = date.sub("DATE", general.text).strip()
        self.assertEqual(seen["healer"], seen["monit"])
        self.assertEqual(seen["healer"], f"E=Status failed S=node D=DATE H={host} A=alert T=status failed (1) -- run 1 "
                                         "U=$UNKNOWN L=$event M=nodeS 5$")

    # ---- servers that fail ------------------------------------------------------------------------------------------

    def test_a_server_that_refuses_gets_each_mail_once_when_it_is_up(self):
        """Monit needs a queue to be set for it, and sends what waited in another order."""
        self.run_both(lambda folder: f"""
set alert all@x.org not on {{ instance }}
check program node with path "{self.program('node', [0, 0, 0, 1, 1, 0, 0, 3, 3], folder)}"
  if status != 0 then alert
  alert local@x.org
""", only_monit=lambda folder: f"set eventqueue basedir {folder}/queue\n")
        for name in NAMES:
            self.mode("refuse", f"{name}-mails")
        for name in NAMES:
            self.wait_for(lambda: self.lines(f"by-{name}/node.runs") >= 11, f"runs of {name}")
        self.assertEqual([self.told(name) for name in NAMES], [[], []])
        for name in NAMES:
            self.mode("", f"{name}-mails")
        expected = ["Status failed node | alert | status failed (1) -- run 4",
                    "Status succeeded node | alert | status succeeded (0) -- run 6",
                    "Status failed node | alert | status failed (3) -- run 8"]
        for to in ("all@x.org", "local@x.org"):
            self.both_told(expected, to, ordered=False)
        self.more_beats(4)
        for to in ("all@x.org", "local@x.org"):
            self.both_told(expected, to, ordered=False)

    def test_a_server_that_never_greets_holds_up_monit_and_not_healer(self):
        self.run_both(lambda folder: f"""
set alert all@x.org not on {{ instance }}
check program node with path "{self.program('node', [0, 0, 0, 1], folder)}"
  if status != 0 then alert
""")
        for name in NAMES:
            self.mode("silent", f"{name}-mails")
        for name in NAMES:
            commands = self.path(f"{name}-mails") / "commands.log"
            self.wait_for(lambda: commands.exists() and "(silent)" in commands.read_text(), f"{name} to wait for a greeting")
        self.more_beats(1, "healer")
        stands = self.beats("monit")
        self.more_beats(5, "healer")
        self.assertLessEqual(self.beats("monit"), stands)
        waiting = self.daemon.ask("status")["daemon"]["mail"]
        self.assertEqual(waiting["waiting"], 1)


if __name__ == "__main__":
    support.main()
