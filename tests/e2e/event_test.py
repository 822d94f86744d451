# SPDX-License-Identifier: MIT
"""`check event` and `healerctl event`: what was answered is kept over a kill, and each distinct event is acted on once."""
import json
import os
import random
import re
import subprocess
import threading

import support

KILLS = 20 if os.environ.get("HEALER_LONG") else 6


class Events(support.Case):
    def state(self, daemon: support.Daemon, name: str) -> dict:
        return daemon.ask("status", name)["services"][0]

    def body(self, **fields) -> str:
        path = self.path(f"body{random.randrange(1 << 40)}")
        path.write_text(json.dumps(fields))
        return str(path)

    def event(self, daemon: support.Daemon, name: str, *words: str, **fields) -> subprocess.CompletedProcess:
        return daemon.ctl("event", name, self.body(**fields), *words)

    def events(self, daemon: support.Daemon, *names: str) -> list[dict]:
        return daemon.ask("events", *names)["events"]

    def test_an_event_runs_a_program_that_knows_its_values(self):
        notes = self.path("notes")
        note = self.script("note", f'echo "$1 $HEALER_EVENT_LABELS_HOST $HEALER_EVENT_LEVEL $MONIT_SERVICE" >> {notes}')
        daemon = self.start(f"""check event alarms with hook "/hooks/alarms" key json '.id' state json '.state'
            if json '.state' = "bad" then exec "{note} ${{EVENT.labels.host}}"
            """)
        done = self.event(daemon, "alarms", id="a1", state="bad", level=3, labels={"host": "h1"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.wait_for(lambda: notes.exists() and notes.read_text().endswith("\n"), "the program")
        self.assertEqual(notes.read_text(), "h1 h1 3 alarms\n")
        again = self.event(daemon, "alarms", id="a1", state="bad", level=3, labels={"host": "h1"})
        self.assertEqual(again.returncode, 0, again.stdout + again.stderr)
        (event,) = self.events(daemon)
        self.assertEqual((event["id"], event["state"], event["count"], event["status"], event["stage"]),
                         ("a1", "bad", 2, 202, "judged"))
        self.assertIn("then exec", event["outcome"])
        self.assertEqual(notes.read_text().count("\n"), 1)
        once_more = daemon.ctl("event", "again", str(event["event"]))
        self.assertEqual(once_more.returncode, 0, once_more.stdout + once_more.stderr)
        self.wait_for(lambda: notes.read_text().count("\n") == 2, "the program, once more")
        shown = daemon.ctl("status", "alarms").stdout
        self.assertRegex(shown, r"hook +/hooks/alarms \(json\)")
        self.assertRegex(shown, r"last event .*a1: bad")
        self.assertRegex(daemon.ctl("summary").stdout, r"alarms +running .*last event .* ago: a1: bad")
        self.assertIn("The last event came", daemon.ctl("explain", "alarms").stdout)

    def test_an_event_heals_what_it_names_through_the_guard(self):
        healed, asked = self.path("healed"), self.path("asked")
        guard = self.script("guard", f'echo "$1" >> {asked}; [ "$1" != vm-2 ]')
        heal = self.script("heal", f'echo "$1 $HEALER_EVENT_VM" >> {healed}')
        daemon = self.start(f"""workflow rebuild {{
              guard program "{guard} ${{TARGET}}"
              step "rebuild" program "{heal} ${{EVENT.vm}}"
              limit 10 at once
            }}
            check event gone with hook "/hooks/gone" key json '.vm' state json '.state'
              if json '.state' = "gone" then heal "${{EVENT.vm}}" with rebuild any target
            """, cycle="1")
        for vm in ("vm-1", "vm-2"):
            done = self.event(daemon, "gone", vm=vm, state="gone")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.wait_for(lambda: healed.exists() and asked.exists() and len(asked.read_text().split()) == 2, "both guards")
        self.wait_for(lambda: healed.read_text() == "vm-1 vm-1\n", "the healing")
        self.assertEqual(self.state(daemon, "gone")["events"]["targets"], ["vm-1", "vm-2"])
        self.assertEqual(self.event(daemon, "gone", vm="vm-2", state="there").returncode, 0)
        self.wait_for(lambda: self.state(daemon, "gone")["events"]["targets"] == ["vm-1"], "that it is there")
        history = " | ".join(one["text"] for one in daemon.ask("history")["records"])
        self.assertIn("healing of vm-2 with rebuild dropped: an event has said that all is well", history)

    def test_refusals_are_told_and_listed(self):
        daemon = self.start("""workflow call { step "call" alert "${EVENT.who}" }
            check event one with hook "/hooks/one"
              if json '.a' = 1 then heal "${EVENT.who}" with call
            check program two with path "/bin/true"
              if status != 0 then alert
            """)
        bad = self.path("bad")
        bad.write_text("{")
        for words, status, said in ((("one", str(bad)), 1, ""),
                                    (("one", self.body(a=1)), 1, "it has no plain value ${EVENT.who}"),
                                    (("one", self.body(a=1, who="a b")), 1, "is not a name of a target"),
                                    (("one", self.body(a=1, who="nobody")), 1, "no rule knows the target nobody"),
                                    (("one", self.body(a=1, who="two")), 0, ""),
                                    (("two", str(bad)), 1, "two is no check of events"),
                                    (("tow", str(bad)), 1, 'no service "tow"'),
                                    (("again", "x"), 2, "not a number"),
                                    (("again", "1"), 1, "there is no event 1"),
                                    (("one", str(self.path("none"))), 2, "none")):
            done = daemon.ctl("event", *words)
            self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
            self.assertIn(said, done.stdout + done.stderr)
        self.assertEqual([one["status"] for one in self.events(daemon, "ONE")], [422, 422, 422, 202])
        self.assertEqual(len([one for one in daemon.ask("history", "one")["records"] if one["kind"] == "event"]), 3)
        shown = daemon.ctl("events").stdout
        self.assertRegex(shown, r"422 refused: it has no plain value \$\{EVENT.who\}")
        dry = daemon.ctl("event", "one", self.body(a=1, who="two", more=2), "--dry-run")
        self.assertEqual(dry.returncode, 0, dry.stdout + dry.stderr)
        self.assertIn("it holds, and would heal two with call", dry.stdout)
        self.assertEqual(len(self.events(daemon)), 4)

    def test_a_paused_check_accepts_events_and_holds_them(self):
        notes = self.path("notes")
        note = self.script("note", f'echo "$1" >> {notes}')
        daemon = self.start(f"""check event alarms with hook "/hooks/alarms" key json '.id'
            if json '.bad' = true then exec "{note} ${{EVENT.id}}"
            """)
        self.assertEqual(daemon.ctl("pause", "alarms").returncode, 0)
        for number in range(3):
            self.assertEqual(self.event(daemon, "alarms", id=f"e{number}", bad=True).returncode, 0)
        self.assertEqual(self.state(daemon, "alarms")["events"]["waiting"], 3)
        self.assertEqual(self.state(daemon, "alarms")["events"]["held"], "paused")
        daemon.kill()
        daemon.launch()
        self.assertEqual(self.state(daemon, "alarms")["events"]["waiting"], 3)
        self.assertFalse(notes.exists())
        self.assertEqual(daemon.ctl("resume", "alarms").returncode, 0)
        self.wait_for(lambda: notes.exists() and notes.read_text() == "e0\ne1\ne2\n", "all of them, in their order")

    def test_what_was_answered_survives_kills_and_each_is_acted_on_once(self):
        notes = self.path("notes")
        note = self.script("note", f'echo "$1" >> {notes}')
        daemon = self.start(f"""check event alarms with hook "/hooks/alarms" key json '.id' within 1 hour
            if json '.bad' = true then exec "{note} ${{EVENT.id}}"
            """)
        answered: set[str] = set()
        sent: list[str] = []
        seed = random.randrange(1 << 30)
        chance = random.Random(seed)
        for kill in range(KILLS):
            enough = threading.Event()

            def play(player: int) -> None:
                number = 0
                while not enough.is_set():
                    name = f"k{kill}p{player}n{number // 2}"  # each twice
                    number += 1
                    sent.append(name)
                    if self.event(daemon, "alarms", id=name, bad=True).returncode == 0:
                        answered.add(name)

            players = [threading.Thread(target=play, args=(i,)) for i in range(4)]
            before = len(answered)
            for player in players:
                player.start()
            many = len(sent) + chance.randrange(10, 40)
            self.wait_for(lambda: len(answered) > before and len(sent) >= many, "events")
            daemon.kill()
            enough.set()
            for player in players:
                player.join()
            daemon.launch()

        def done() -> list[str]:
            return notes.read_text().split() if notes.exists() else []

        self.wait_for(lambda: answered <= set(done()), f"all that was answered, seed {seed}",
                      detail=lambda: f"missing: {sorted(answered - set(done()))[:5]}")
        self.wait_for(lambda: all(one["stage"] == "judged" for one in self.events(daemon)), "the queue")
        self.wait_for(lambda: not daemon.ask("jobs")["jobs"], "the programs")
        twice = {name for name in done() if done().count(name) > 1}
        self.assertEqual(twice, set(), f"seed {seed}")
        self.assertLessEqual(set(done()), set(sent))

    def test_a_script_plays_events(self):
        rules, script = self.path("a.rules"), self.path("a.script")
        rules.write_text("""set daemon 30
workflow rebuild {
  guard program "/bin/may-go ${TARGET}"
  step "rebuild" program "/bin/rebuild ${EVENT.vm}"
}
check event gone with hook "/hooks/gone" key json '.vm' state json '.state'
  if json '.state' = "gone" then heal "${EVENT.vm}" with rebuild any target
  if json '.state' = "slow" then exec "/bin/note ${EVENT.vm}"
  if more than 2 events within 1 minute then exec "/bin/many"
check program other with path "/bin/true"
  if status != 0 then alert
""")
        rules.chmod(0o600)
        script.write_text("""at 10 minutes event gone '{"vm": "vm-1", "state": "gone"}'
at 11 minutes event gone '{"vm": "vm-2", "state": "slow"}'
at 12 minutes event gone '{"vm": "vm-2", "state": "slow"}'
at 13 minutes event gone '{"vm": "vm-3", "state": "well"}' key "x" state "y"
at 14 minutes event gone '{"state": "gone"}'
expect healing vm-1 begun
expect fired gone exec 1 times
run for 1 hour
""")
        play = [support.BUILD / "healerctl", "simulate", rules, "--script", script]
        done = subprocess.run(play, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        self.assertIn("events come by 'healerctl event' alone", done.stderr)
        self.assertTrue(re.search(r"no plain value \$\{EVENT.vm\}", done.stdout), done.stdout)
        for line, said in (("at 5 minutes event other '{}'", "'other' is no check of events"),
                           ("gone: 0 0 1", "these come, it is not checked"),
                           ("at 5 minutes event gone '['", "this is not a JSON object")):
            script.write_text(line + "\n")
            refused = subprocess.run(play, capture_output=True, text=True)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(said, refused.stderr)


if __name__ == "__main__":
    support.main()
