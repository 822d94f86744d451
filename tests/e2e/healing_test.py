# SPDX-License-Identifier: MIT
"""Workflows: guard, steps, tries and brakes with real programs; crashes of healerd between them."""
import os
import re
import signal
from pathlib import Path

import healings
import support
from support import processes


class Healing(healings.Case):
    # ---- from the failure to the end --------------------------------------------------------------------------

    def test_a_healing_asks_its_guard_does_its_steps_and_leaves_its_target_alone_for_a_while(self):
        _, port = self.sink()
        self.put("broken.node")
        self.put("heals.rebuild")
        self.put("output.rebuild", "rebuilt as vm-77\n")
        daemon = self.start(
            f"set mailserver 127.0.0.1 port {port}\nset alert admin@localhost\n" + self.service("node") +
            f'workflow rebuild {{\n  guard {self.program("guard")} timeout 10 seconds\n'
            f'  step "note" {self.program("note")}\n'
            f'  step "rebuild" {self.program("rebuild")} save "vm-([0-9]+)" as VM\n'
            f'  step "calm" wait 1 second\n  step "tell" alert "${{TARGET}} is number ${{VM}}"\n'
            f'  step "say" program "{self.do} said-${{VM}}"\n'
            '  step "verify" recovered within 1 hour\n  cooldown 1 hour\n}\n')
        self.wait_told(daemon, "healing of node with rebuild recovered")
        ran = ["guard", "note", "rebuild", "said-77"]
        self.assertEqual(self.trace(), [f"node {word}" for word in ran])
        for name, different in (("HEALER_TARGET", 1), ("HEALER_HEALING", 1), ("HEALER_STEP", len(ran))):
            values = {self.variable(word, "node", name) for word in ran}
            self.assertNotIn(None, values)
            self.assertEqual(len(values), different, name)
        self.assertEqual(self.variable("said-77", "node", "HEALER_VM"), "77")
        self.assertEqual(self.told(daemon, "status succeeded (0)"), 1)
        self.wait_for(lambda: any("node is number 77" in mail.text for mail in self.mails()), "the mail of the step",
                      detail=lambda: str(self.mails()))
        self.put("broken.node")
        self.wait_told(daemon, "is held back: cooldown")
        self.more_cycles(daemon, 3)
        self.assertEqual(len(self.trace()), len(ran))

    def test_a_guard_that_refuses_is_told_of_once_and_asked_again(self):
        _, port = self.sink()
        self.put("broken.node")
        self.put("heals.rebuild")
        self.put("status.guard", "3")
        daemon = self.start(f"set mailserver 127.0.0.1 port {port}\nset alert admin@localhost\n" + self.service("node") +
                            self.workflow(cooldown="1 second"))
        self.wait_told(daemon, "refused by its guard: exited with status 3", 3)
        self.assertEqual(set(self.trace()), {"node guard"})
        refusals = lambda: [one for one in self.subjects() if "Healing refused" in one]  # noqa: E731
        self.wait_for(refusals, "the mail", detail=lambda: str(self.subjects()))
        self.take("status.guard")
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.wait_for(lambda: any("Healing recovered" in one for one in self.subjects()), "the mail of the end")
        self.assertEqual(len(refusals()), 1)
        self.assertEqual(self.trace()[-2:], ["node guard", "node rebuild"])

    def test_a_step_is_retried_tries_are_made_and_another_workflow_takes_over_through_its_guard(self):
        self.put("broken.node")
        self.put("status.rebuild", "1")
        self.put("heals.redeploy")
        daemon = self.start(
            self.service("node") + self.workflow(name="redeploy", steps=("redeploy",), guard="certified") +
            f'workflow rebuild {{\n  guard {self.program("guard")}\n'
            f'  step "rebuild" {self.program("rebuild")} retry 1 times every 1 second\n'
            '  step "verify" recovered within 1 hour\n  cooldown 1 second\n  tries 2\n'
            '  on failure heal with redeploy\n}\n')
        self.wait_told(daemon, "healing of node with redeploy recovered")
        tried = ["guard", "rebuild", "rebuild"]
        self.assertEqual(self.trace(), [f"node {word}" for word in (*tried, *tried, "certified", "redeploy")])
        self.assertEqual(len({self.variable(word, "node", "HEALER_HEALING") for word in (*tried, "certified", "redeploy")}), 1)

    def test_each_workflow_counts_what_it_has_done_itself(self):
        self.put("broken.node")
        self.put("status.rebuild", "1")
        self.put("status.redeploy", "1")
        daemon = self.start(
            self.service("node") + self.workflow(more="  on failure heal with redeploy\n") +
            self.workflow(name="redeploy", steps=("redeploy",), guard="certified", cooldown="1 second",
                          more="  breaker 1 failed within 1 hour\n"))
        self.wait_told(daemon, "workflow redeploy is stopped: 1 of its healings have failed")
        self.wait_told(daemon, "healing of node with redeploy failed")
        self.assertEqual([brake["workflow"] for brake in daemon.ask("healing", "status")["open"]], ["redeploy"])
        counts = {one["workflow"]: (one["ran"], one["recovered"], one["failed"])
                  for one in daemon.ask("healing", "report")["workflows"]}
        self.assertEqual(counts, {"rebuild": (1, 0, 1), "redeploy": (1, 0, 1)})

    def test_an_escalation_that_its_guard_refuses_ends_the_healing(self):
        self.put("broken.node")
        self.put("status.rebuild", "1")
        self.put("status.certified", "1")
        daemon = self.start(self.service("node") + self.workflow(more="  on failure heal with redeploy\n") +
                            self.workflow(name="redeploy", steps=("redeploy",), guard="certified"))
        self.wait_told(daemon, "healing of node with redeploy refused")
        self.more_cycles(daemon, 3)
        self.assertEqual(self.trace(), ["node guard", "node rebuild", "node certified"])

    # ---- crashes ----------------------------------------------------------------------------------------------

    def test_a_step_runs_on_while_healer_is_away_and_the_next_ones_follow(self):
        self.put("broken.node")
        self.put("heals.rebuild")
        self.put("hold.rebuild")
        daemon = self.start(self.service("node") + self.workflow(steps=("note", "rebuild", "say")))
        self.wait_trace("node rebuild", daemon)
        pid = self.pid("rebuild")
        for _ in range(2):
            daemon.kill()
            daemon.launch()
            self.more_cycles(daemon, 2)
        self.assertTrue(processes.command_line(pid))
        self.take("hold.rebuild")
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.assertEqual(self.trace(), ["node guard", "node note", "node rebuild", "node say"])
        self.assertEqual({self.variable(word, "node", "HEALER_HEALING") for word in ("guard", "note", "rebuild")},
                         {self.variable("say", "node", "HEALER_HEALING")})

    def test_a_step_that_ends_while_healer_is_away_is_done(self):
        self.put("broken.node")
        self.put("heals.rebuild")
        self.put("hold.rebuild")
        self.put("output.rebuild", "vm-9\n")
        daemon = self.start(
            self.service("node") + f'workflow rebuild {{\n  guard {self.program("guard")}\n'
            f'  step "rebuild" {self.program("rebuild")} save "vm-([0-9]+)" as VM\n'
            f'  step "say" program "{self.do} say-${{VM}}"\n  step "verify" recovered within 1 hour\n}}\n')
        self.wait_trace("node rebuild", daemon)
        pid = self.pid("rebuild")
        daemon.kill()
        self.take("hold.rebuild")
        self.wait_gone(pid)
        daemon.launch()
        ended = lambda: re.search("with rebuild (recovered|failed)", "\n".join(self.texts(daemon)))  # noqa: E731
        self.wait_for(ended, "the end of the healing")
        self.assertEqual(self.trace(), ["node guard", "node rebuild", "node say-9"])

    def test_a_step_that_fails_while_healer_is_away_has_failed_with_its_status(self):
        self.put("broken.node")
        self.put("hold.rebuild")
        self.put("output.rebuild", "no such vm\n")
        self.put("status.rebuild", "3")
        daemon = self.start(self.service("node") + self.workflow(
            steps=("rebuild", "say"), more=f'  on failure {self.program("give-up")}\n'))
        self.wait_trace("node rebuild", daemon)
        pid = self.pid("rebuild")
        daemon.kill()
        self.take("hold.rebuild")
        self.wait_gone(pid)
        daemon.launch()
        self.wait_told(daemon, 'failed: step "rebuild" exited with status 3: no such vm')
        self.wait_trace("node give-up", daemon)
        self.assertEqual(self.trace(), ["node guard", "node rebuild", "node give-up"])

    def test_the_timeout_of_a_step_passes_while_healer_is_away(self):
        self.put("broken.node")
        script = self.script("stubborn", f"""trap '' TERM
set -m
sleep 600 &
echo $! > {self.folder}/part.pid
echo $$ > {self.folder}/stubborn.pid
echo "$HEALER_TARGET stubborn" >> {self.folder}/trace
wait
sleep 600""")
        daemon = self.start(
            self.service("node") + f'workflow rebuild {{\n  guard {self.program("guard")}\n'
            f'  step "rebuild" program "{script}" timeout 3 seconds\n  step "verify" recovered within 1 hour\n}}\n')
        self.wait_trace("node stubborn", daemon)
        daemon.kill()
        waiter = processes.parent(self.pid("stubborn"))
        self.assertEqual(processes.command_line(waiter), "healer-waiter --wait-for-program")
        for one in (self.pid("part"), self.pid("stubborn"), waiter):
            self.wait_gone(one)
        daemon.launch()
        self.wait_told(daemon, 'failed: step "rebuild" timed out after')
        self.assertEqual(self.trace(), ["node guard", "node stubborn"])

    def test_what_a_guard_said_while_healer_was_away_is_asked_again(self):
        for name in ("broken.node", "heals.rebuild", "hold.guard"):
            self.put(name)
        daemon = self.start(self.service("node") + self.workflow())
        self.wait_trace("node guard", daemon)
        pid = self.pid("guard")
        daemon.kill()
        self.take("hold.guard")
        self.wait_gone(pid)
        daemon.launch()
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.assertEqual(self.trace(), ["node guard", "node guard", "node rebuild"])

    def test_a_step_whose_waiter_is_lost_with_healer_is_in_doubt(self):
        self.put("broken.node")
        self.put("hold.rebuild")
        daemon = self.start(self.service("node") + self.workflow())
        self.wait_trace("node rebuild", daemon)
        pid = self.pid("rebuild")
        waiter = processes.parent(pid)
        daemon.kill()
        os.kill(waiter, signal.SIGKILL)
        self.wait_gone(waiter)
        self.take("hold.rebuild")
        self.wait_gone(pid)
        daemon.launch()
        self.wait_told(daemon, "healing of node with rebuild failed: step \"rebuild\" was cut off when healer ended")
        self.assertEqual(self.trace(), ["node guard", "node rebuild"])

    def test_a_target_that_recovers_after_a_restart_of_healer_is_seen_to(self):
        self.put("broken.node")
        daemon = self.start(self.service("node") + self.workflow())
        self.wait_told(daemon, 'step "rebuild": exited with status 0')
        daemon.kill()
        daemon.launch()
        self.more_cycles(daemon, 2)
        self.take("broken.node")
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.assertEqual(self.trace(), ["node guard", "node rebuild"])

    def test_records_of_ends_stay_no_longer_than_they_are_needed(self):
        for name in ("broken.node", "heals.rebuild"):
            self.put(name)
        daemon = self.start(self.service("node") + self.workflow())
        self.wait_told(daemon, "healing of node with rebuild recovered")
        actions = daemon.folder / "healer.state.actions"
        self.wait_for(lambda: not list(actions.glob("*.end")), "the end of all records", detail=lambda: str(os.listdir(actions)))
        daemon.stop()
        (actions / "4711.end").write_text("ended 0 0 0 0 \n")
        daemon.launch()
        self.assertEqual(list(actions.glob("*.end")), [])

    def lose(self, daemon: support.Daemon, word: str) -> None:
        """As where the machine goes down: healer, what waits for the end of the program, and the program itself."""
        pid = self.pid(word)
        waiter = processes.parent(pid)
        daemon.kill()
        for one in (waiter, pid):
            os.kill(one, signal.SIGKILL)
            self.wait_gone(one)

    def test_a_step_in_doubt_has_failed(self):
        self.put("broken.node")
        self.put("hold.rebuild")
        daemon = self.start(self.service("node") + self.workflow(
            steps=("note", "rebuild", "say"), more=f'  on failure {self.program("give-up")}\n'))
        self.wait_trace("node rebuild", daemon)
        self.lose(daemon, "rebuild")
        self.take("hold.rebuild")
        daemon.launch()
        self.wait_told(daemon, "healing of node with rebuild failed: step \"rebuild\" was cut off when healer ended")
        self.wait_trace("node give-up", daemon)
        self.more_cycles(daemon, 2)
        self.assertEqual(self.trace(), ["node guard", "node note", "node rebuild", "node give-up"])

    def test_a_step_in_doubt_that_may_be_repeated_is_run_again(self):
        self.put("broken.node")
        self.put("heals.rebuild")
        self.put("hold.rebuild")
        daemon = self.start(
            self.service("node") + f'workflow rebuild {{\n  guard {self.program("guard")}\n'
            f'  step "note" {self.program("note")}\n  step "rebuild" {self.program("rebuild")} repeatable\n'
            '  step "verify" recovered within 1 hour\n}\n')
        self.wait_trace("node rebuild", daemon)
        key = self.variable("rebuild", "node", "HEALER_STEP")
        self.lose(daemon, "rebuild")
        self.take("hold.rebuild")
        daemon.launch()
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.assertEqual(self.trace(), ["node guard", "node note", "node rebuild", "node rebuild"])
        self.assertEqual(self.variable("rebuild", "node", "HEALER_STEP"), key)

    # ---- brakes -----------------------------------------------------------------------------------------------

    def group(self, *names: str) -> str:
        return "".join(self.service(name, more="  group nodes\n") for name in names)

    def one_after_the_other(self, *names: str) -> None:
        """Whoever is seen to fail still goes first."""
        trace = self.trace()
        self.assertEqual(sorted(line.split()[0] for line in trace[::2]), sorted(names))
        self.assertEqual(trace, [f"{line.split()[0]} {word}" for line in trace[::2] for word in ("guard", "rebuild")])

    def test_two_that_fail_at_once_are_healed_one_after_the_other(self):
        for name in ("broken.a", "broken.c", "heals.rebuild", "hold.rebuild"):
            self.put(name)
        daemon = self.start(self.group("a", "b", "c", "d") + self.workflow())
        self.wait_for(lambda: any(line.endswith(" rebuild") for line in self.trace()), "the first")
        self.wait_told(daemon, "is held back: limit reached: 1 of 1 running")
        self.more_cycles(daemon, 2)
        self.assertEqual(len(self.trace()), 2)
        self.take("hold.rebuild")
        self.wait_told(daemon, "with rebuild recovered", 2)
        self.one_after_the_other("a", "c")

    def test_nothing_is_healed_while_more_than_half_of_the_group_fail(self):
        for name in ("broken.a", "broken.b", "broken.c", "heals.rebuild"):
            self.put(name)
        daemon = self.start(self.group("a", "b", "c", "d") + self.workflow())
        self.wait_told(daemon, "workflow rebuild is paused: 3 of 4 in group nodes are not well")
        self.more_cycles(daemon, 3)
        self.assertEqual(self.trace(), [])
        self.take("broken.b")
        self.wait_told(daemon, "workflow rebuild goes on")
        self.wait_told(daemon, "with rebuild recovered", 2)
        self.one_after_the_other("a", "c")

    def test_a_comma_in_a_comment_goes_on_with_no_setting(self):
        daemon = self.start(self.service("a", more="  group nodes\n") + self.workflow() +
                            "set healing limit 1 at once group nodes  # one, and no more\n" +
                            self.service("b", more="  group nodes\n") +
                            "set healing only while a,  # and\n  b\n# one, two\n" + self.service("c"))
        self.assertEqual(daemon.ctl("names").stdout.split(), ["a", "b", "c"])

    def test_a_restart_by_rule_waits_while_its_target_is_healed(self):
        for name in ("broken.node", "heals.rebuild", "hold.rebuild"):
            self.put(name)
        daemon = self.start(
            self.service("node", more=f'  start program = "{self.do} start"\n  stop program = "{self.do} stop"\n') +
            "  if status != 0 for 3 cycles then restart\n" + self.workflow(cooldown="1 second"))
        self.wait_trace("node rebuild", daemon)
        self.wait_told(daemon, "its target is being healed")
        self.more_cycles(daemon, 2)
        self.assertEqual(self.trace(), ["node guard", "node rebuild"])
        self.take("hold.rebuild")
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.assertEqual(self.trace(), ["node guard", "node rebuild"])
        self.put("status.guard", "1")
        self.put("broken.node")
        self.wait_trace(" start", daemon)  # where nothing heals it, it is restarted

    # ---- what a step is given ---------------------------------------------------------------------------------

    SECRET = "nobody-reads-this-4711"

    def secret(self, mode: int, name: str = "x") -> Path:
        folder = self.path("credentials")
        folder.mkdir(exist_ok=True)
        path = folder / name
        path.write_text(f"{self.SECRET}\n")
        path.chmod(mode)
        return folder

    def secretive(self) -> support.Daemon:
        return self.configure(
            self.service("node") + f'workflow rebuild {{\n  guard {self.program("guard")}\n'
            f'  step "rebuild" {self.program("rebuild")} environment TOKEN "${{secret:x}}"\n'
            '  step "verify" recovered within 1 hour\n}\n')

    def shows_no_secret(self, daemon: support.Daemon) -> None:
        kept = [path for path in daemon.folder.iterdir() if path.is_file()]
        self.assertIn(daemon.folder / "healer.state", kept)
        for path in kept:
            self.assertNotIn(self.SECRET.encode(), path.read_bytes(), path)
        for words in (["history"], ["status"], ["summary"], ["jobs"], ["explain", "node"]):
            for more in ([], ["--json"]):
                done = daemon.ctl(*words, *more)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertNotIn(self.SECRET, done.stdout + done.stderr)

    def test_a_secret_is_the_program_s_alone(self):
        for name in ("broken.node", "heals.rebuild", "hold.rebuild"):
            self.put(name)
        daemon = self.secretive()
        daemon.environment["CREDENTIALS_DIRECTORY"] = str(self.secret(0o600))
        daemon.launch()
        self.wait_trace("node rebuild", daemon)
        self.assertEqual(self.variable("rebuild", "node", "TOKEN"), self.SECRET)
        self.shows_no_secret(daemon)
        waiter = processes.parent(self.pid("rebuild"))
        self.assertEqual(Path(f"/proc/{waiter}/environ").read_bytes(), b"")
        self.assertNotIn(self.SECRET, processes.command_line(waiter))
        self.take("hold.rebuild")
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.shows_no_secret(daemon)

    def test_a_secret_that_others_may_read_is_not_used(self):
        self.put("broken.node")
        daemon = self.secretive()
        folder = self.secret(0o644)
        daemon.environment["CREDENTIALS_DIRECTORY"] = str(folder)
        daemon.launch()
        self.wait_told(daemon, "healing of node with rebuild refused: ")
        self.assertEqual(self.told(daemon, f"(chmod 600 {folder}/x)") > 0, True, self.texts(daemon))
        self.assertEqual(self.trace(), [])
        self.shows_no_secret(daemon)

    def test_what_a_program_says_is_never_taken_for_a_secret(self):
        for name in ("broken.node", "heals.rebuild"):
            self.put(name)
        self.put("output.rebuild", "it is ${secret:x}\n")
        self.check = self.script("check", f"echo 'wants ${{secret:x}}'; test ! -e {self.path('broken.')}$1")
        daemon = self.configure(
            self.service("node") + f'workflow rebuild {{\n  guard {self.program("guard")}\n'
            f'  step "rebuild" {self.program("rebuild")} save "it is (.*)" as VM\n'
            f'  step "say" {self.program("say")} environment NEXT "${{VM}}" environment TOKEN "${{secret:x}}"\n'
            f'    environment PLAIN "$${{secret:x}}"\n'
            '  step "verify" recovered within 1 hour\n}\n')
        daemon.environment["CREDENTIALS_DIRECTORY"] = str(self.secret(0o600))
        daemon.launch()
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.assertEqual({name: self.variable("say", "node", name) for name in ("HEALER_VM", "NEXT", "PLAIN", "TOKEN")},
                         {"HEALER_VM": "${secret:x}", "NEXT": "${secret:x}", "PLAIN": "${secret:x}", "TOKEN": self.SECRET})
        self.assertIn("wants ${secret:x}", self.variable("say", "node", "HEALER_REASON"))

    def saving(self, saves: str, more: str = "") -> support.Daemon:
        for name in ("broken.node", "heals.rebuild"):
            self.put(name)
        return self.configure(
            self.service("node") + f'workflow rebuild {{\n  guard {self.program("guard")}\n'
            f'  step "rebuild" {self.program("rebuild")} retry 3 times {saves}\n'
            f'  step "say" {self.program("say")} {more}\n'
            '  step "verify" recovered within 1 hour\n}\n')

    def test_what_is_saved_is_found_in_all_of_the_output_that_is_kept(self):
        self.put("output.rebuild", "begins\n" + "x" * 20_000 + "\nvm-9 is there\n" + "y\n" * 8_000)
        daemon = self.saving('save "vm-([0-9]+)" as VM', 'environment LANG "${VM}" environment NEXT "${VM}"')
        daemon.launch()
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.assertEqual(self.trace(), ["node guard", "node rebuild", "node say"])
        self.assertEqual(self.variable("say", "node", "NEXT"), "9")
        texts = self.path("say.node.environment").read_text().splitlines()
        self.assertEqual([line for line in texts if line.startswith("LANG=")], ["LANG=9"])
        names = [line.partition("=")[0] for line in texts if "=" in line]
        self.assertEqual(sorted(names), sorted(set(names)))

    def test_what_has_nothing_to_save_is_not_done_again(self):
        self.put("output.rebuild", "nothing\n")
        daemon = self.saving('save "vm-([0-9]+)" as VM')
        daemon.launch()
        self.wait_told(daemon, "healing of node with rebuild failed")
        self.assertEqual(self.trace(), ["node guard", "node rebuild"])
        self.assertEqual(self.told(daemon, "but its output has nothing to save as VM") > 0, True, self.texts(daemon))

    def test_a_search_without_end_stops_nobody(self):
        self.put("output.rebuild", "a" * 60 + "!\n")
        daemon = self.saving(r'save "(a*)*(a*)*(a*)*(a*)*\\1\\2\\3\\4b" as VM')
        daemon.launch()
        self.wait_told(daemon, "healing of node with rebuild failed")
        self.assertEqual(self.trace(), ["node guard", "node rebuild"])
        self.more_cycles(daemon, 2)

    def test_a_nul_in_a_value_changes_nothing_but_the_step_fails(self):
        self.put("output.rebuild", '{"vm": "9\\u0000HOME=/evil"}')
        daemon = self.saving("save json '.vm' as VM", 'environment NEXT "${VM}"')
        daemon.launch()
        self.wait_told(daemon, "healing of node with rebuild failed")
        self.assertEqual(self.trace(), ["node guard", "node rebuild"])
        self.assertEqual(self.told(daemon, "contains control characters in what is to be saved as VM") > 0, True,
                         self.texts(daemon))

    def test_what_is_saved_as_a_secret_is_on_no_disk_and_shown_to_nobody(self):
        self.put("output.rebuild", f"key {self.SECRET}\n")
        self.put("hold.say")
        daemon = self.saving('save "key (.*)" as KEY secret', 'environment NEXT "${KEY}"')
        daemon.launch()
        self.wait_trace("node say", daemon)
        self.assertEqual(self.variable("say", "node", "NEXT"), self.SECRET)
        actions = daemon.folder / "healer.state.actions"
        held = lambda: [path.name for path in actions.iterdir()  # noqa: E731
                        if self.SECRET in path.read_text(errors="replace")]
        self.wait_for(lambda: not held(), "the end of what was written", detail=lambda: str(held()))
        self.shows_no_secret(daemon)
        number = min(int(path.stem) for path in actions.glob("*.out") if "held a secret" in path.read_text())
        done = daemon.ctl("output", str(number))
        self.assertIn("its output held a secret", done.stdout)
        daemon.kill()
        daemon.launch()
        self.take("hold.say")
        # KEY is lost, and nobody asks for it again: "say" has it already.
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.shows_no_secret(daemon)

    def test_nobody_is_shown_a_secret_while_it_is_written(self):
        self.put("output.rebuild", f"key {self.SECRET}\n")
        self.put("status.rebuild", "1")
        self.put("hold.rebuild")
        daemon = self.saving('save "key (.*)" as KEY secret')
        daemon.launch()
        self.wait_trace("node rebuild", daemon)
        done = daemon.ctl("output", "node")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertIn("its output holds a secret", done.stderr)
        self.take("hold.rebuild")
        self.wait_told(daemon, "healing of node with rebuild failed")
        self.shows_no_secret(daemon)
        self.assertEqual(self.told(daemon, 'step "rebuild" exited with status 1'), 1, self.texts(daemon))

    def test_a_step_runs_in_its_directory(self):
        for name in ("broken.node", "heals.rebuild"):
            self.put(name)
        self.path("node").mkdir()
        daemon = self.start(
            self.service("node") + f'workflow rebuild {{\n  guard {self.program("guard")}\n'
            f'  step "rebuild" {self.program("rebuild")} directory "{self.folder}/${{TARGET}}"\n'
            '  step "verify" recovered within 1 hour\n}\n')
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.assertEqual(self.path("guard.directory").read_text(), "/\n")
        self.assertEqual(self.path("rebuild.directory").read_text(), f"{self.path('node')}\n")

    # ---- people -----------------------------------------------------------------------------------------------

    def test_who_cancels_a_healing_ends_its_program(self):
        self.put("broken.node")
        self.put("hold.rebuild")
        daemon = self.start(self.service("node") + self.workflow(
            steps=("rebuild", "say"), more=f'  on failure {self.program("give-up")}\n  on cancel {self.program("undo")}\n'))
        self.wait_trace("node rebuild", daemon)
        pid = self.pid("rebuild")
        job, = daemon.ask("jobs")["jobs"]
        done = daemon.ctl("jobs", "cancel", str(job["id"]))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.wait_told(daemon, "healing of node with rebuild cancelled")
        self.assertFalse(processes.command_line(pid))
        self.more_cycles(daemon, 3)
        self.assertEqual(self.trace(), ["node guard", "node rebuild", "node undo"])
        self.take("hold.rebuild")


if __name__ == "__main__":
    support.main()
