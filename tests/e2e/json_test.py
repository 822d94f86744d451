# SPDX-License-Identifier: MIT
"""Tests of the JSON that a program writes: real programs, and the filters in their own process."""
import json
import subprocess

import support


class Json(support.Case):
    def program(self, text: str = "{}") -> str:
        """A program that writes what is in the file `text`."""
        self.say(text)
        return str(self.script("disks", f"cat {self.path('text')}"))

    def say(self, text: str, name: str = "text") -> None:
        new = self.path(name + ".new")
        new.write_text(text)
        new.rename(self.path(name))

    def explained(self, daemon: support.Daemon) -> str:
        return daemon.ctl("explain", "disks").stdout

    def test_a_rule_stands_failed_while_the_value_is_too_high(self):
        acted = self.path("acted")
        daemon = self.start(f'''
            check program disks with path "{self.program(json.dumps({"worst": 12, "state": "ok"}))}"
              if json '.worst' > 90 and json '.state' = "bad" for 2 cycles
                then exec "{self.script("act", f'echo "$MONIT_DESCRIPTION" >> {acted}')}"
                else if succeeded then exec "{self.script("well", f'echo well >> {acted}')}"''')
        self.wait_for(lambda: "exit status 0" in self.explained(daemon), "a run")
        self.assertIn(".worst 12, .state \"ok\"", self.explained(daemon))
        self.say(json.dumps({"worst": 93.5, "state": "ok"}))
        self.wait_for(lambda: ".worst 93.5" in self.explained(daemon), "the value")
        self.assertFalse(acted.exists())
        self.say(json.dumps({"worst": 93.5, "state": "bad"}))
        self.wait_for(acted.exists, "the action")
        self.assertEqual(acted.read_text(), "json .worst is 93.5 (> 90)\n")
        self.assertEqual(daemon.ask("status", "disks")["services"][0]["state"], "failed")
        self.assertIn(".worst 93.5", daemon.ctl("summary").stdout)
        self.say(json.dumps({"worst": 50, "state": "bad"}))
        self.wait_for(lambda: "well" in acted.read_text(), "the recovery")

    def test_what_is_not_known_neither_fires_nor_recovers(self):
        daemon = self.start(f'''
            check program disks with path "{self.program(json.dumps({"worst": 93}))}"
              if json '.worst' > 90 then alert''')
        self.wait_for(lambda: "disks is failed" in self.explained(daemon), "the failure")
        for text, why in (("no json", "this is not JSON"), ("", "this is not JSON"),
                          (json.dumps({"best": [1]}) + "1", "this is not JSON"),
                          (json.dumps([1]), "the filter has failed"),
                          (json.dumps({"worst": "x" * 600}), "longer than the 512 B that are kept"),
                          (json.dumps({"worst": [1]}), "cannot be compared")):
            self.say(text)
            told = self.wait_for(lambda: why in self.explained(daemon) and self.explained(daemon), why,
                                 detail=lambda: self.explained(daemon))
            self.assertIn("was not reported by the last run", told)
            self.assertIn("disks is failed", told)
        self.say(json.dumps({"worst": 7}))
        self.wait_for(lambda: "disks is running" in self.explained(daemon), "the recovery")
        kinds = [record["text"] for record in daemon.ask("history", "disks")["records"]]
        self.assertEqual(len([text for text in kinds if "json .worst is 7" in text]), 1, kinds)

    def test_what_is_written_on_the_error_output_is_no_part_of_the_document(self):
        self.say(json.dumps({"worst": 95}))
        program = self.script("disks", f"echo 'a warning' >&2; cat {self.path('text')}; exit 3")
        daemon = self.start(f'''
            check program disks with path "{program}"
              if json '.worst' > 90 and status = 3 then alert''')
        self.wait_for(lambda: "disks is failed" in self.explained(daemon), "the failure")

    def test_a_filter_that_runs_for_ever_holds_up_nothing_else(self):
        daemon = self.start(f'''
            check program disks with path "{self.program(json.dumps({"worst": 95}))}"
              if json 'last(range(1e18))' > 1 then alert
              if json '.worst' > 90 then alert
            check program other with path "/bin/false"
              if status != 0 then alert''')
        self.wait_for(lambda: "disks is failed" in self.explained(daemon), "the failure")
        self.assertIn("gave no value within 2 s", self.explained(daemon))
        self.assertIn("other is failed", daemon.ctl("explain", "other").stdout)

    def test_documents_that_take_their_time_hold_up_no_other(self):
        slow = "".join(f"""
            check program slow{i} with path "{self.program('{"a": 1}')}"
              if json 'last(range(1e18))' > 1 then alert""" for i in range(8))
        daemon = self.start(f"""
            check program quick with path "{self.program('{"worst": 95}')}"
              if json '.worst' > 90 then alert{slow}""")
        runs = lambda name: daemon.ask("status", name)["services"][0]["runs"]  # noqa: E731
        self.wait_for(lambda: runs("slow7") >= 1, "a first run of all")
        at_first, of_slow = runs("quick"), sum(runs(f"slow{i}") for i in range(8))
        self.wait_for(lambda: runs("quick") >= at_first + 3, "its next runs")
        # Were it one after the other, each of the eight would have run at least twice meanwhile.
        self.assertLess(sum(runs(f"slow{i}") for i in range(8)) - of_slow, 16)

    def test_a_simulation_plays_what_a_program_writes(self):
        rules = self.path("rules")
        rules.write_text(f'''set daemon 10
            check program disks with path "/bin/true"
              if json '.worst' > 90 for 2 cycles then exec "/bin/true act"''')
        rules.chmod(0o600)
        script = self.path("script")
        script.write_text("""disks: 0:'{"worst": 12}' 0:'{"worst": 95}'*2 0 0:'{"worst": 5}'\n""")
        played = subprocess.run([support.BUILD / "healerctl", "simulate", rules, "--script", script], capture_output=True, text=True)
        self.assertEqual(played.returncode, 0, played.stderr)
        self.assertEqual(played.stdout.count("exec  /bin/true act  "), 1, played.stdout)
        self.assertIn("json .worst is 95 (> 90)", played.stdout)
        # Without a word of what it writes a run is well.
        script.write_text("")
        played = subprocess.run([support.BUILD / "healerctl", "simulate", rules, "--script", script], capture_output=True, text=True)
        self.assertNotIn("/bin/true act", played.stdout)


if __name__ == "__main__":
    support.main()
