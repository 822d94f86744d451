# SPDX-License-Identifier: MIT
"""People and healings under way: targets that are taken away, plans that are approved as they were shown."""
import os
import re
import subprocess

import mails
import support


class People(mails.Receiving, support.Case):
    """Each target NAME fails while the file broken.NAME is there. A workflow runs `do WORD TARGET`: it leaves
    "TARGET WORD" in the file `trace`, mends its target where there is heals.WORD, goes on while hold.WORD is there, and
    ends with the status in status.WORD."""

    def setUp(self) -> None:
        super().setUp()
        self.check = self.script("check", f"test ! -e {self.path('broken.')}$1")
        self.do = self.script("do", f"""
cd {self.folder}
echo "$HEALER_TARGET $1" >> trace
if [ -e "heals.$1" ]; then rm -f "broken.$HEALER_TARGET"; fi
while [ -e "hold.$1" ]; do sleep 0.05; done
if [ -e "status.$1" ]; then exit "$(cat "status.$1")"; fi""")

    def put(self, name: str, text: str = "") -> None:
        self.path(name).write_text(text)

    def take(self, name: str) -> None:
        self.path(name).unlink()

    def trace(self) -> list[str]:
        path = self.path("trace")
        return path.read_text().splitlines() if path.exists() else []

    def texts(self, daemon: support.Daemon) -> list[str]:
        return [record["text"] for record in daemon.ask("history")["records"]]

    def wait_trace(self, line: str, daemon: support.Daemon) -> None:
        self.wait_for(lambda: line in self.trace(), line, detail=lambda: f"{self.trace()}\n{self.texts(daemon)}")

    def wait_told(self, daemon: support.Daemon, words: str) -> None:
        self.wait_for(lambda: any(words in text for text in self.texts(daemon)), f'"{words}" in the history',
                      detail=lambda: "\n".join(self.texts(daemon)))

    def wait_stage(self, daemon: support.Daemon, stage: str) -> dict:
        found: list[dict] = []

        def is_there() -> bool:
            found[:] = [one for one in daemon.ask("healing", "status")["healings"] if one["stage"] == stage]
            return bool(found)
        self.wait_for(is_there, f"a healing that {stage}", detail=lambda: "\n".join(self.texts(daemon)))
        return found[0]

    def more_cycles(self, daemon: support.Daemon, count: int) -> None:
        cycles = lambda: daemon.ask("summary")["daemon"]["cycles"]  # noqa: E731
        wanted = cycles() + count
        self.wait_for(lambda: cycles() >= wanted, f"{count} more cycles")

    def program(self, word: str) -> str:
        return f'program "{self.do} {word}"'

    def rules(self, targets: str, more: str = "", step: str = "reboot") -> str:
        """A fleet whose reboot is checked, and which is rebuilt where that does not help."""
        return f"""set mailserver 127.0.0.1 port {self.mail_port}
set alert admin@localhost
workflow rebuild {{
  guard {self.program("guard")}
  step "rebuild" {self.program("rebuild")}
  step "verify" recovered within 1 hour
}}
workflow reboot {{
  guard {self.program("guard")}
  step "{step}" {self.program(step)}
  step "verify" recovered within 2 seconds
  on failure heal with rebuild
  cooldown 1 second
  breaker 1 failed within 1 hour
{more}}}
for each NODE in {targets} {{
  check program ping_${{NODE}} with path "{self.check} ${{NODE}}"
    if status != 0 for 2 cycles then heal with reboot
}}
"""

    def launch(self, targets: str, **how: str) -> support.Daemon:
        _, self.mail_port = self.sink()
        return self.start(self.rules(targets, **how))

    def ends_abandoned(self, daemon: support.Daemon, why: str) -> None:
        self.wait_told(daemon, f"healing of n1 with reboot abandoned: {why}")
        self.wait_for(lambda: any("Healing abandoned" in one for one in self.subjects()), "the mail",
                      detail=lambda: str(self.subjects()))
        self.more_cycles(daemon, 5)
        self.assertEqual(self.trace(), ["n1 guard", "n1 reboot"])
        report = {one["workflow"]: one for one in daemon.ask("healing", "report")["workflows"]}
        self.assertEqual((report["reboot"]["abandoned"], report["reboot"]["failed"], report["rebuild"]["proposed"]), (1, 0, 0))
        self.assertEqual(daemon.ask("healing", "status")["open"], [])

    # ---- the target is taken away -----------------------------------------------------------------------------

    def test_a_target_that_is_unmonitored_during_a_step_is_not_rebuilt(self) -> None:
        for name in ("broken.n1", "heals.reboot", "hold.reboot"):
            self.put(name)
        daemon = self.launch('"n1", "n2"')
        self.wait_trace("n1 reboot", daemon)
        said = daemon.ctl("unmonitor", "ping_n1")
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        self.assertRegex(said.stdout, r'^ping_n1 unmonitored\nhealing \d+ of n1 with reboot is abandoned: step "reboot" goes on '
                                      r'to its end, and nothing follows\n$')
        self.assertIn("its target was unmonitored by", daemon.ctl("healing").stdout)
        self.take("hold.reboot")
        self.ends_abandoned(daemon, "its target was unmonitored by")
        self.wait_told(daemon, 'done: "reboot"')

    def test_a_target_that_is_unmonitored_while_its_recovery_is_awaited_is_not_rebuilt(self) -> None:
        self.put("broken.n1")
        daemon = self.launch('"n1", "n2"')
        self.wait_trace("n1 reboot", daemon)
        self.wait_for(lambda: any(one["waits_for"] == "the target to recover"
                                  for one in daemon.ask("healing", "status")["healings"]), "its verification")
        said = daemon.ctl("unmonitor", "ping_n1")
        self.assertRegex(said.stdout, r"\nhealing \d+ of n1 with reboot is abandoned\n$")
        self.ends_abandoned(daemon, "its target was unmonitored by")

    def test_a_target_that_an_edit_removes_from_a_written_list_is_not_rebuilt(self) -> None:
        for name in ("broken.n1", "heals.reboot", "hold.reboot"):
            self.put(name)
        daemon = self.launch('"n1", "n2"')
        self.wait_trace("n1 reboot", daemon)
        daemon.write_rules(self.settings(daemon) + self.rules('"n2"'))
        would = daemon.ctl("diff")
        told = r'ends +healing \d+ of n1 with reboot: abandoned, as the rules no longer have it; step "reboot" goes on to its end'
        self.assertRegex(would.stdout, told)
        self.assertEqual(len(daemon.ask("diff")["changes"]["healings"]), 1)
        self.assertNotIn("abandoned", "".join(self.texts(daemon)))
        self.assertRegex(daemon.reload().stdout, told)
        self.take("hold.reboot")
        self.ends_abandoned(daemon, "the rules no longer have it")

    def test_a_target_that_an_edit_removes_while_healer_is_away_is_not_rebuilt(self) -> None:
        for name in ("broken.n1", "hold.reboot"):
            self.put(name)
        self.put("status.reboot", "1")
        daemon = self.launch('"n1", "n2"')
        self.wait_trace("n1 reboot", daemon)
        daemon.kill()
        self.take("hold.reboot")
        daemon.write_rules(self.settings(daemon) + self.rules('"n2"'))
        daemon.launch()
        self.ends_abandoned(daemon, "the rules no longer have it")

    def test_a_row_that_is_being_healed_is_not_forgotten(self) -> None:
        for name in ("broken.n1", "hold.reboot"):
            self.put(name)
        rows = self.path("rows")
        rows.write_text("n1\nn2\n")
        daemon = self.launch(f'from file "{rows}" every 1 second')
        self.wait_for(lambda: daemon.ctl("accept", "list", "NODE").returncode == 0, "the first reading")
        self.wait_trace("n1 reboot", daemon)
        rows.write_text("n2\n")
        self.wait_for(lambda: "missing   n1" in daemon.ctl("lists").stdout, "n1 to be missing")
        said = daemon.ctl("forget", "n1")
        self.assertEqual(said.returncode, 1)
        self.assertRegex(said.stderr, r"n1 is being healed \(healing \d+ with reboot\)\n  `healerctl cancel \d+` ends that first")
        number, = re.findall(r"cancel (\d+)", said.stderr)
        self.assertEqual(daemon.ctl("cancel", number).returncode, 0)
        self.take("hold.reboot")
        self.wait_told(daemon, "healing of n1 with reboot cancelled")
        self.assertNotIn("abandoned", "".join(self.texts(daemon)))
        self.wait_for(lambda: "n1" not in daemon.ctl("names").stdout or daemon.ctl("forget", "n1").returncode == 0,
                      "n1 to leave")

    # ---- approval ---------------------------------------------------------------------------------------------

    def test_a_plan_is_approved_as_it_was_shown(self) -> None:
        self.put("broken.n1")
        self.put("heals.reboot")
        self.put("heals.destroy")
        daemon = self.launch('"n1"', more="  approval within 1 hour\n")
        first = self.wait_stage(daemon, "waits for approval")
        line = f"healerctl approve {first['id']} --plan {first['plan_hash']}"
        shown = daemon.ctl("healing", "status").stdout
        self.assertIn(f"\n  {line}\n", shown)
        self.assertIn(f'  step "reboot": program {self.do} reboot, timeout 5 m\n', shown)
        self.wait_for(lambda: any(line in mail.text and f'step "reboot": program {self.do} reboot' in mail.text
                                  for mail in self.mails()), "the mail with the steps", detail=lambda: str(self.mails()))
        # Without a terminal the plan has to be named.
        bare = daemon.ctl("approve", str(first["id"]))
        self.assertEqual(bare.returncode, 1)
        self.assertIn(f"`{line}`", bare.stderr)
        # After an edit the number and the hash that were shown approve nothing.
        daemon.write_rules(self.settings(daemon) + self.rules('"n1"', more="  approval within 1 hour\n", step="destroy"))
        self.assertEqual(daemon.reload().returncode, 0)
        second = self.wait_stage(daemon, "waits for approval")
        self.assertNotEqual(second["id"], first["id"])
        self.assertNotEqual(second["plan_hash"], first["plan_hash"])
        self.assertEqual(daemon.ctl("approve", str(first["id"]), "--plan", first["plan_hash"]).returncode, 1)
        other = daemon.ctl("approve", "n1", "--plan", first["plan_hash"])
        self.assertEqual(other.returncode, 1)
        self.assertIn(f"nothing was approved: the plan of healing {second['id']} is not {first['plan_hash']}", other.stderr)
        self.more_cycles(daemon, 3)
        self.assertEqual(self.trace(), [])
        self.assertEqual(daemon.ctl("approve", str(second["id"]), "--plan", second["plan_hash"]).returncode, 0)
        self.wait_told(daemon, "healing of n1 with reboot recovered")
        self.assertEqual(self.trace(), ["n1 guard", "n1 destroy"])

    def at_terminal(self, daemon: support.Daemon, words: list[str], answer: str) -> tuple[int, str]:
        ours, theirs = os.openpty()
        with os.fdopen(ours, "r+b", buffering=0) as terminal:
            client = subprocess.Popen([support.BUILD / "healerctl", "--socket", daemon.socket, *words], stdin=theirs,
                                      stdout=theirs, stderr=theirs, start_new_session=True)
            os.close(theirs)
            terminal.write(answer.encode())
            said = b""
            try:
                while part := terminal.read(4096):
                    said += part
            except OSError:  # its other end is closed
                pass
            return client.wait(support.LIMIT), said.decode().replace("\r\n", "\n")

    def test_at_a_terminal_the_plan_is_shown_and_confirmed(self) -> None:
        self.put("broken.n1")
        self.put("heals.reboot")
        daemon = self.launch('"n1"', more="  approval within 1 hour\n")
        healing = self.wait_stage(daemon, "waits for approval")
        status, said = self.at_terminal(daemon, ["approve", "n1"], "n\n")
        self.assertEqual(status, 1, said)
        self.assertIn(f"healing {healing['id']} of n1 with reboot, plan {healing['plan_hash']}:\n", said)
        self.assertIn('step "reboot": program ', said)
        self.assertIn("nothing was approved", said)
        self.wait_stage(daemon, "waits for approval")
        status, said = self.at_terminal(daemon, ["approve", str(healing["id"])], "y\n")
        self.assertEqual(status, 0, said)
        self.assertIn("healing of n1 with reboot approved by ", said)
        self.wait_told(daemon, "healing of n1 with reboot recovered")


if __name__ == "__main__":
    support.main()
