# SPDX-License-Identifier: MIT
"""healerctl top in a real terminal (that of tmux): keys act, its size changes, and it is given back as it was."""
import os
import re
import shutil
import signal
import subprocess

import support


class Terminal:
    """A shell in a window of a tmux of its own."""

    def __init__(self, case: support.Case, columns: int = 80, rows: int = 24, **variables: str):
        if not shutil.which("tmux"):
            case.skipTest("there is no tmux")
        self.case = case
        self.socket = str(case.path(f"tmux{len(case.terminals)}"))
        environment = [word for name, value in variables.items() for word in ("-e", f"{name}={value}")]
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(rows),
                  "-e", "LC_ALL=C.UTF-8", *environment, "sh")
        case.terminals.append(self)
        self.tmux("set-option", "-g", "status", "off")
        self.tmux("set-option", "-g", "window-size", "manual")
        self.resize(columns, rows)

    def tmux(self, *words: str) -> str:
        return subprocess.run(["tmux", "-u", "-S", self.socket, *words], capture_output=True, text=True, check=True,
                              timeout=support.LIMIT).stdout

    def resize(self, columns: int, rows: int) -> None:
        self.tmux("resize-window", "-x", str(columns), "-y", str(rows))

    def screen(self, colours: bool = False) -> str:
        return self.tmux("capture-pane", "-p", *(["-e"] if colours else []))

    def type(self, *keys: str) -> None:
        self.tmux("send-keys", *keys)

    def run(self, command: str) -> None:
        self.tmux("send-keys", "-l", command)
        self.type("Enter")

    def shows(self, pattern: str) -> str:
        """Waits until the screen has a match, and returns the screen."""
        return self.case.wait_for(lambda: text if re.search(pattern, text := self.screen(), re.M) else "",
                                  f"/{pattern}/ on the screen", detail=self.screen)

    def program(self) -> int:
        """The process that the shell waits for."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        return int(subprocess.run(["ps", "-o", "pid=", "--ppid", shell], capture_output=True, text=True, check=True).stdout)

    def state(self) -> str:
        """What a program may have left: the other screen, a hidden cursor, keys that are not echoed."""
        tty = self.tmux("display-message", "-p", "#{pane_tty}").strip()
        settings = subprocess.run(["stty", "-a", "-F", tty], capture_output=True, text=True, check=True).stdout
        return self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{keypad_flag}") + settings


class Top(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.terminals: list[Terminal] = []

    def tearDown(self) -> None:
        for terminal in self.terminals:
            subprocess.run(["tmux", "-S", terminal.socket, "kill-server"], capture_output=True)
        super().tearDown()

    def watch(self, daemon: support.Daemon, options: str = "", **how) -> Terminal:
        terminal = Terminal(self, **how)
        terminal.shows(r"^[$#]")
        self.before = terminal.state()
        terminal.run(f"{support.BUILD}/healerctl --socket {daemon.socket} top --interval 200ms {options}; echo status=$?")
        terminal.shows(r"^healer .*, up .*cycle \d")
        return terminal

    def two(self) -> support.Daemon:
        self.may_outlive = True  # the program that heals
        good, bad = self.statuses("good", [0]), self.statuses("bad", [1])
        heal = self.script("heal", "echo healing; sleep 300")
        return self.start(f'check program good with path "{good}"\n  if status != 0 then alert\n'
                          f'check program "böse-数据" with path "{bad}"\n  if status != 0 for 2 cycles then exec "{heal}"\n')

    def shop(self) -> support.Daemon:
        """A process that healer starts; its start program leaves it in the background."""
        pid = self.path("shop.pid")
        start = self.script("start", f"sleep 300 >/dev/null 2>&1 & echo $! > {pid}; echo shop is open")
        stop = self.script("stop", f"kill $(cat {pid}); rm -f {pid}; echo shop is closed")
        return self.start(f'check process shop with pidfile {pid}\n  start program = "{start}"\n  stop program = "{stop}"\n')

    def ends(self, terminal: Terminal, status: int) -> None:
        # A shell whose program was interrupted gives up the whole line.
        terminal.shows(rf"^status={status}$" if status != 128 + signal.SIGINT else r"^[$#] ?$")
        self.assertEqual(terminal.state(), self.before)

    def test_services_are_shown_and_the_terminal_is_given_back(self):
        daemon = self.two()
        terminal = self.watch(daemon)
        terminal.shows(r"^böse-数据 +failed")
        text = terminal.shows(r"(?s)^UNDER WAY: 1$.*^LAST *$")
        self.assertLess(text.index("böse"), text.index("good  "))
        self.assertIn("exec /", text)
        terminal.type("q")
        self.ends(terminal, 0)
        daemon.ctl("unmonitor", "all")

    def test_keys_ask_and_act(self):
        daemon = self.shop()
        self.wait_for(lambda: daemon.ask("summary")["services"][0]["state"] == "running", "the shop")
        terminal = self.watch(daemon)
        terminal.shows(r"^shop +running")
        terminal.type("t")
        terminal.shows(r"^stop shop\? y does it")
        terminal.type("n")
        terminal.shows(r"^nothing was done")
        self.assertEqual(daemon.ask("summary")["services"][0]["state"], "running")
        terminal.type("t", "y")
        terminal.shows(r"^shop +unmonitored")
        terminal.shows(r"^shop stopped")
        terminal.type("o")
        terminal.shows(r"^shop is closed")
        terminal.type("Escape")
        terminal.type("s", "y")
        terminal.shows(r"^shop +running")
        terminal.type("p")
        terminal.shows(r"^pause shop for how long")
        terminal.type("-l", "2 hours")
        terminal.type("Enter")
        terminal.shows(r"^shop paused")
        self.assertIsNotNone(daemon.ask("status")["services"][0]["pause"]["until"])
        terminal.type("P")
        terminal.shows(r"^shop resumed")
        terminal.type("Enter")
        terminal.shows(r"^shop is running")
        terminal.type("q")
        terminal.type("/")
        terminal.type("-l", "nosuch")
        terminal.shows(r"none with this name")
        terminal.type("Escape", "?")
        terminal.shows(r"start, stop, restart \(asks first\)")
        terminal.type("q", "q")
        self.ends(terminal, 0)
        daemon.ctl("stop", "shop")

    def test_a_service_without_output_says_why(self):
        check = self.script("check", "echo all is well")
        daemon = self.start(f'check process none with pidfile {self.path("none.pid")}\n  mode passive\n'
                            f'check program quiet with path "{self.statuses("quiet", [0])}"\n  if status != 0 then alert\n'
                            f'check program well with path "{check}"\n  if status != 0 then alert\n')
        terminal = self.watch(daemon)
        terminal.shows(r"^well +running")
        for order, name in enumerate(("none", "quiet", "well")):
            with self.subTest(name):
                terminal.type("-l", f"/{name}")
                terminal.type("Enter", "o")
                terminal.shows((r"^q goes back; no program of none has run yet$",
                                r"^q goes back; the last check, which wrote nothing$",
                                r"(?s)^all is well$.*^q goes back; the last check$")[order])
                terminal.type("Escape", "Escape")
                terminal.shows(r"^SERVICE ")
        terminal.type("q")
        self.ends(terminal, 0)

    def test_the_size_of_the_terminal_changes(self):
        daemon = self.two()
        daemon.ctl("unmonitor", "all")
        terminal = self.watch(daemon)
        for columns, rows in ((200, 50), (30, 10), (12, 4), (80, 24)):
            terminal.resize(columns, rows)
            # A frame of the new size has the help of the keys on its last line, and fills it or shows all of it.
            whole = "? help  q leave  / filter  Enter explain  o output  s start  t stop  r restart"
            foot = whole if columns >= len(whole) else whole[:columns - 1].rstrip() + "…"
            self.wait_for(lambda: terminal.screen().split("\n")[rows - 1] == foot, f"a frame of {columns}x{rows}",
                          detail=terminal.screen)
        terminal.type("q")
        self.ends(terminal, 0)

    def test_a_signal_gives_the_terminal_back_too(self):
        daemon = self.two()
        daemon.ctl("unmonitor", "all")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with self.subTest(number.name):
                terminal = self.watch(daemon)
                os.kill(terminal.program(), number)
                self.ends(terminal, 128 + number)

    def test_it_waits_for_a_daemon_that_is_started_again(self):
        daemon = self.two()
        daemon.ctl("unmonitor", "all")
        terminal = self.watch(daemon)
        daemon.stop()
        terminal.shows(r"^no answer since .* s, trying again: healerd is not running")
        terminal.shows(r"^good ")  # what was known is still there
        daemon.launch()
        terminal.shows(r"^healerd was started again, as process \d+$")
        terminal.shows(r"^healer .*, up")
        terminal.type("q")
        self.ends(terminal, 0)

    def test_colours_are_left_out_where_they_are_not_wanted(self):
        daemon = self.two()
        for variables, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
            terminal = self.watch(daemon, **variables)
            terminal.shows(r"^böse-数据 +failed")
            self.assertEqual(bool(re.search(r"\x1b\[[0-9;]*3[1-6]m", terminal.screen(colours=True))), coloured)
            terminal.type("q")
            self.ends(terminal, 0)

    def test_a_terminal_that_cannot_draw_is_refused(self):
        daemon = self.two()
        daemon.ctl("unmonitor", "all")
        terminal = Terminal(self)
        terminal.shows(r"^[$#]")
        for kind, complaint in (("dumb", "this terminal cannot place its cursor"), ("nosuch", "the type of this terminal is not")):
            before = terminal.state()
            terminal.run(f"clear; TERM={kind} {support.BUILD}/healerctl --socket {daemon.socket} top; echo status=$?")
            terminal.shows(rf"^healerctl: {complaint}")
            terminal.shows(r"^status=1$")
            self.assertEqual(terminal.state(), before)

    def test_without_a_terminal_it_prints_one_frame(self):
        daemon = self.two()
        self.wait_for(lambda: daemon.ask("summary")["daemon"]["counts"]["programs"], "the program that heals")
        done = daemon.ctl("top")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("2 services: 1 failed, 1 running", done.stdout)
        self.assertIn("per second since the start:", done.stdout)
        self.assertIn("\nUNDER WAY\n", done.stdout)
        self.assertIn("healer: healer ", done.stdout)
        self.assertNotIn("\x1b", done.stdout)
        self.wait_for(lambda: daemon.ask("summary")["daemon"]["counts"]["runs"] >= 4, "two runs of each")
        counts = daemon.ask("summary")["daemon"]["counts"]
        self.assertEqual((counts["changes"], counts["programs"], counts["mails_waiting"]), (1, 1, 0))
        self.assertEqual(daemon.ctl("top", "--json").returncode, 2)
        self.assertEqual(daemon.ctl("top", "--interval", "0").returncode, 2)

    def test_many_services_hold_up_nobody(self):
        many = 1_000 if support.SANITIZED else 10_000
        rules = "".join(f"check process node{i} with pidfile {self.folder}/none{i}\n  mode passive\n" for i in range(many))
        daemon = self.start(rules, cycle="60")
        terminal = self.watch(daemon, "--interval 100ms")
        terminal.shows(rf"^{many} services")
        terminal.type("End")
        terminal.shows(rf"^node{many - 1} ")
        terminal.type("/")
        terminal.type("-l", "node77")
        terminal.shows(rf"; {11 if support.SANITIZED else 111} with \"node77\"")
        terminal.type("Enter")
        for _ in range(3):
            self.assertEqual(daemon.ctl("ping", limit=10).returncode, 0)
        terminal.type("q")
        self.ends(terminal, 0)


if __name__ == "__main__":
    support.main()
