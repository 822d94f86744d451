# SPDX-License-Identifier: MIT
"""healerctl simulate: workflows that are rehearsed, and tested, before they do anything."""
import json
import subprocess

import support

RULES = """set daemon 30
set secrets "SECRETS"
workflow rebuild {
  guard program "/bin/may-go ${NODE}" timeout 10 seconds
  step "ticket" http post "https://tickets.example/new" header "X-Key: ${secret:key}" body '{}' expect 201 save json '.id' as TICKET repeatable
  step "rebuild" program "/bin/rebuild ${NODE} ${TICKET}" timeout 20 minutes
  step "verify" recovered within 5 minutes
  pause while more than 40% of group nodes failed
}
for each NODE from file "/nonexistent/nodes" {
  check program ping_${NODE} with path "/bin/ping ${NODE} ${NODE.ip}"
    group nodes
    if status != 0 for 2 cycles then heal with rebuild
}
"""
SCRIPT = """list NODE from file "lists/nodes"
step rebuild ticket: 201:'{"id": 77}'
step rebuild rebuild takes 3 minutes
step rebuild rebuild heals
at 5 minutes n1 fails
"""


class Simulate(support.Case):
    def write(self, name: str, text: str):
        file = self.path(name)
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
        file.chmod(0o600)
        return file

    def setUp(self):
        super().setUp()
        self.write("secrets/key", "hush-hush")
        self.write("lists/nodes", "".join(f'{{"name": "n{number}", "ip": "192.0.2.{number}"}}\n' for number in range(1, 7)))
        self.rules = self.write("a.rules", RULES.replace("SECRETS", str(self.path("secrets"))))

    def play(self, script: str, *options: str) -> subprocess.CompletedProcess:
        return subprocess.run([support.BUILD / "healerctl", "simulate", self.rules, "--script", self.write("a.script", script), *options],
                              capture_output=True, text=True)

    def test_what_becomes_of_a_healing_is_told(self):
        done = self.play(SCRIPT)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        for line in ("healing-asked  healing of n1 with rebuild asked for by its rule",
                     "exec  guard of rebuild: /bin/may-go n1",
                     "healing-begun  healing of n1 with rebuild begins",
                     "request  step \"ticket\" of rebuild: POST https://tickets.example/new",
                     "exec  step \"rebuild\" of rebuild: /bin/rebuild n1 77",
                     "healing-ended  healing of n1 with rebuild recovered"):
            self.assertIn(line, done.stdout)
        self.assertNotIn("hush", done.stdout)
        actions = self.play(SCRIPT, "--actions").stdout.splitlines()[:-1]
        self.assertEqual([line.split("  ")[3] for line in actions], ["exec", "healing-begun", "request", "exec"], actions)

    def test_the_same_as_json(self):
        events = json.loads(self.play(SCRIPT, "--json").stdout)["events"]
        self.assertEqual([event["turn"] for event in events if event["target"] == "n1" and event["turn"]],
                         ["asked", "begun", "recovered"])
        self.assertEqual([(event["workflow"], event["step"]) for event in events if event["kind"] in ("exec", "request")],
                         [("rebuild", "guard"), ("rebuild", "ticket"), ("rebuild", "rebuild")])

    def test_what_is_expected_of_workflows_makes_the_exit_status(self):
        storm = SCRIPT + "".join(f"at 1 hour n{number} fails\n" for number in range(3, 6)) + "run for 2 hours\n"
        met = self.play(storm + "expect healing n1 recovered with rebuild by 10 minutes\nexpect workflow rebuild paused 1 time\n"
                                "expect not healing n4 begun\nexpect healing n5 held \"pause while\"\n")
        self.assertEqual((met.returncode, met.stderr), (0, ""))
        self.assertTrue(met.stdout.endswith("4 of 4 expectations are met\n"), met.stdout)
        unmet = self.play(SCRIPT + "expect healing n1 begun by 5 minutes\n")
        self.assertEqual(unmet.returncode, 1)
        self.assertEqual(unmet.stderr, f"{self.path('a.script')}:6:1: error: expected the healing of n1 to be begun by 00:05:00: "
                                       "it did so at 00:05:31\n  expect healing n1 begun by 5 minutes\n  ^\n")

    def test_a_script_that_is_wrong_is_told_where_and_what_was_meant(self):
        script = self.path("a.script")
        for line, said in (("step rebuild rebuidl: fails", ":2:14: error: 'rebuidl' is no step of workflow 'rebuild'\n"
                            "  step rebuild rebuidl: fails\n               ^\n  note: did you mean 'rebuild'?\n"),
                           ("at 5 minutes approve m1", ":2:22: error: 'm1' is no target of a healing\n"
                            "  at 5 minutes approve m1\n                       ^\n  note: did you mean 'n1'?\n"),
                           ("list NODES: a", ":2:6: error: the rules have no list 'NODES'\n"
                            "  list NODES: a\n       ^\n  note: did you mean 'NODE'?\n")):
            done = self.play(f'list NODE from file "lists/nodes"\n{line}\n')
            self.assertEqual(done.returncode, 1)
            self.assertIn(f"{script}{said}", done.stderr)
            self.assertEqual(done.stdout, "")

    def test_the_rows_of_lists_come_from_the_script(self):
        self.rules.write_text(self.rules.read_text().replace(" ${NODE.ip}", ""))
        done = self.play("list NODE: a b\nat 5 minutes b fails\n", "--json")
        self.assertEqual({event["service"] for event in json.loads(done.stdout)["events"]} - {""}, {"ping_b"})
        self.write("rows", "x\ny\n")  # where the script says nothing, a file is read
        self.rules.write_text(self.rules.read_text().replace("/nonexistent/nodes", str(self.path("rows"))))
        done = self.play("at 5 minutes y fails\n", "--json")
        self.assertEqual({event["service"] for event in json.loads(done.stdout)["events"]} - {""}, {"ping_y"})
        done = self.play("list NODE: a 'b c'\n")
        self.assertEqual(done.returncode, 1)
        self.assertIn(":1:6: error: list NODE: ", done.stderr)
        done = self.play('list NODE from file "nowhere"\n')
        self.assertIn(f":1:6: error: list NODE: {self.path('nowhere')}: No such file or directory", done.stderr)


if __name__ == "__main__":
    support.main()
