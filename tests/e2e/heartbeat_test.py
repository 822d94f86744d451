# SPDX-License-Identifier: MIT
"""`check heartbeat` and `healerctl beat`: what was answered is kept over a kill, what is not heard is missed."""
import json
import os
import pwd
import random
import stat
import subprocess
import threading

import support

STRANGER, OPERATOR = "daemon", "nobody"
KILLS = 50 if os.environ.get("HEALER_LONG") else 6
TOKEN = "a-token-of-a-heartbeat"


class Heartbeats(support.Case):
    def state(self, daemon: support.Daemon, name: str) -> dict:
        return daemon.ask("status", name)["services"][0]

    def beat(self, daemon: support.Daemon, *words: str) -> None:
        done = daemon.ctl("beat", *words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_job_of_cron_tells_how_it_ended(self):
        alarms = self.path("alarms")
        act = self.script("act", f'echo "$HEALER_SERVICE $HEALER_EVENT: $HEALER_DESCRIPTION" >> {alarms}')
        daemon = self.start(f"""check heartbeat backup every 1 day within 30 minutes
            if failed then exec "{act}"
            if duration > 1 day then alert
            """)
        job = self.script("job", f"""
            healerctl="{support.BUILD}/healerctl --socket {daemon.socket}"
            $healerctl beat backup start
            echo "no space left" > {self.path('output')}
            (exit $1)
            $healerctl beat backup exit $? --text "$(cat {self.path('output')})" """)
        self.assertEqual(subprocess.run([job, "3"]).returncode, 0)
        heartbeat = self.state(daemon, "backup")["heartbeat"]
        self.assertEqual((heartbeat["word"], heartbeat["status"], heartbeat["text"]), ("exit", 3, "no space left"))
        self.assertIsNotNone(heartbeat["ran_ms"])
        self.assertIsNone(heartbeat["started"])
        self.wait_for(alarms.exists, "the action")
        self.assertEqual(alarms.read_text(),
                         "backup Status failed: its last beat is exit status 3: no space left\n")
        self.assertEqual(self.state(daemon, "backup")["state"], "failed")
        self.assertEqual(subprocess.run([job, "0"]).returncode, 0)
        self.assertEqual(self.state(daemon, "backup")["state"], "running")
        shown = daemon.ctl("status", "backup").stdout
        self.assertRegex(shown, r"last beat +(just now|\d+ m?s ago): exit status 0")
        self.assertIn("every 1 d within 30 m", shown)
        self.assertRegex(daemon.ctl("summary").stdout, r"backup +running .*last beat .* ago: exit status 0")
        self.assertIn("Its last run took", daemon.ctl("explain", "backup").stdout)
        kinds = [one["kind"] for one in daemon.ask("history", "backup")["records"]]
        self.assertEqual(kinds.count("beat"), 2)

    def test_what_is_not_heard_is_missed_at_its_time_and_recovers_by_a_beat(self):
        daemon = self.start("check heartbeat pulse every 1500 ms within 500 ms\n  if missed then alert\n", cycle="600")
        self.beat(daemon, "pulse")
        self.wait_for(lambda: self.state(daemon, "pulse")["state"] == "failed", "the miss")
        status = self.state(daemon, "pulse")
        self.assertIsNotNone(status["heartbeat"]["missed"])
        records = {one["kind"]: one for one in daemon.ask("history", "pulse")["records"]}
        self.assertRegex(records["rule-failed"]["text"], r"^no beat for \d+ s \(every 1.5 s within 500 ms\)$")
        self.beat(daemon, "pulse")
        self.assertEqual(self.state(daemon, "pulse")["state"], "running")

    def test_a_run_that_takes_too_long_is_told_while_it_runs(self):
        daemon = self.start("check heartbeat job every 1 day within 1 hour\n  if duration > 1 second then alert\n")
        self.beat(daemon, "job", "start")
        self.wait_for(lambda: self.state(daemon, "job")["state"] == "failed", "the rule")
        self.assertIsNotNone(self.state(daemon, "job")["heartbeat"]["started"])
        self.beat(daemon, "job")
        self.assertIsNone(self.state(daemon, "job")["heartbeat"]["started"])

    def test_refusals_have_their_exit_status(self):
        daemon = self.start('check heartbeat one every 1 day within 1 hour\n  if missed then alert\n'
                            'check program two with path "/bin/true"\n  if status != 0 then alert\n')
        for words, status, said in (
                (("one", "--text", "x" * 4096), 0, ""),
                (("one", "--text", "x" * 4097), 2, "at most 4096 bytes"),
                (("two",), 1, "two is not a heartbeat"),
                (("tow",), 1, 'no service "tow"'),
                (("one", "exit"), 2, "which status?"),
                (("one", "exit", "256"), 2, "between 0 and 255"),
                (("one", "strat"), 2, 'did you mean "start"?')):
            done = daemon.ctl("beat", *words)
            self.assertEqual(done.returncode, status, (words, done.stdout, done.stderr))
            self.assertIn(said, done.stdout + done.stderr)
        daemon.stop()
        self.assertEqual(daemon.ctl("beat", "one").returncode, 2)

    def test_an_answered_beat_survives_a_kill(self):
        names = [f"job{i}" for i in range(20)]
        daemon = self.start("".join(f"check heartbeat {name} every 1 day within 1 hour\n  if failed for 3 cycles then alert\n"
                                    for name in names))
        answered = {name: 0 for name in names}
        sent = dict(answered)
        seed = random.randrange(1 << 30)
        chance = random.Random(seed)
        for _ in range(KILLS):
            enough = threading.Event()

            def play(mine: list[str]) -> None:
                while not enough.is_set():
                    name = mine[0]
                    mine.append(mine.pop(0))
                    sent[name] += 1
                    done = daemon.ctl("beat", name, "exit", str(sent[name] % 256), "--text", str(sent[name]))
                    if done.returncode == 0:
                        answered[name] = sent[name]

            players = [threading.Thread(target=play, args=(names[i::4],)) for i in range(4)]
            before = sum(answered.values())
            for player in players:
                player.start()
            many = before + chance.randrange(5, 40)
            self.wait_for(lambda: sum(answered.values()) > before and sum(sent.values()) >= many, "beats")
            daemon.kill()
            enough.set()
            for player in players:
                player.join()
            daemon.launch()
            for name in names:
                heartbeat = self.state(daemon, name)["heartbeat"]
                told = int(heartbeat["text"] or 0)
                # One that was not answered may have been written.
                self.assertIn(told, range(answered[name], sent[name] + 1), f"{name}, seed {seed}")
                self.assertEqual(heartbeat["status"], told % 256 if told else 0)
                answered[name] = told

    def test_a_script_plays_beats(self):
        rules, script = self.path("a.rules"), self.path("a.script")
        rules.write_text("""set daemon 30
check heartbeat backup every 1 hour within 5 minutes
  if missed then exec "/bin/wake"
  if failed then exec "/bin/repair"
  if duration > 5 minutes then exec "/bin/hurry"
check program other with path "/bin/true"
  if status != 0 then alert
""")
        rules.chmod(0o600)
        script.write_text("""at 10 minutes beat backup start
at 20 minutes beat backup exit 3 "no space left"
at 30 minutes beat backup
at 40 minutes crash for 2 hours
expect fired backup exec 3 times
expect backup failed at 21 minutes
expect backup failed
run for 3 hours
""")
        play = [support.BUILD / "healerctl", "simulate", rules, "--script", script]
        done = subprocess.run(play, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        for line in ("exec  /bin/hurry", "exec  /bin/repair", "exec  /bin/wake", "its last beat is exit status 3: no space left"):
            self.assertIn(line, done.stdout)
        for line, said in (("at 5 minutes beat other", "'other' is not a heartbeat"), ("backup: 0 0 1", "it is heard, not checked"),
                           ("at 5 minutes beat backup exit", "the exit status is missing")):
            script.write_text(line + "\n")
            refused = subprocess.run(play, capture_output=True, text=True)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn(said, refused.stderr)


class Tokens(support.Case):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")

    def beat_as(self, daemon: support.Daemon, user: str, name: str, token: str | None) -> subprocess.CompletedProcess:
        entry = pwd.getpwnam(user)
        environment = {**os.environ, **({} if token is None else {"HEALER_TOKEN": token})}
        return subprocess.run([str(support.BUILD / "healerctl"), "--socket", str(daemon.socket), "beat", name],
                              capture_output=True, text=True, user=entry.pw_uid, group=entry.pw_gid, extra_groups=[],
                              env=environment, timeout=support.LIMIT)

    def test_a_stranger_beats_with_the_token_that_is_in_force(self):
        secrets = self.path("secrets")
        secrets.mkdir(0o700)
        secret = secrets / "beat"
        secret.write_text(TOKEN + "\n")
        secret.chmod(0o600)
        daemon = self.start(f"""set secrets "{secrets}"
            check heartbeat open every 1 day within 1 hour token "${{secret:beat}}"
              if missed then alert
            check heartbeat closed every 1 day within 1 hour
              if missed then alert
            """)
        for folder in (self.folder, daemon.folder):
            folder.chmod(0o755)
        self.assertEqual(stat.S_IMODE(daemon.socket.stat().st_mode), 0o666)
        self.assertEqual(self.beat_as(daemon, STRANGER, "open", TOKEN).returncode, 0)
        for name, token in (("open", None), ("open", "wrong"), ("open", TOKEN + "x"), ("closed", TOKEN), ("none", TOKEN)):
            refused = self.beat_as(daemon, STRANGER, name, token)
            self.assertEqual(refused.returncode, 1, (name, token, refused.stderr))
            self.assertIn("HEALER_TOKEN", refused.stderr)
        secret.write_text("another-token-from-now-on\n")
        self.assertEqual(self.beat_as(daemon, STRANGER, "open", TOKEN).returncode, 1)
        self.assertEqual(self.beat_as(daemon, STRANGER, "open", "another-token-from-now-on").returncode, 0)
        secret.unlink()
        self.assertEqual(self.beat_as(daemon, STRANGER, "open", "another-token-from-now-on").returncode, 1)
        self.wait_for(lambda: "a secret by which a heartbeat or a hook is told cannot be read" in daemon.log_text(), "the word of it")
        everything = daemon.log_text() + json.dumps(daemon.ask("status")) + json.dumps(daemon.ask("history"))
        for token in (TOKEN, "another-token"):
            self.assertNotIn(token, everything)

    def test_operators_need_no_token_and_the_socket_is_open_while_there_is_one(self):
        rules = "check heartbeat one every 1 day within 1 hour{}\n  if missed then alert\n"
        daemon = self.start(f"set operators {OPERATOR}\n" + rules.format(""))
        for folder in (self.folder, daemon.folder):
            folder.chmod(0o755)
        self.assertEqual(self.beat_as(daemon, OPERATOR, "one", None).returncode, 0)
        self.assertEqual(self.beat_as(daemon, STRANGER, "one", TOKEN).returncode, 1)
        daemon.write_rules(self.settings(daemon) + rules.format(""))
        daemon.reload()
        self.assertEqual(stat.S_IMODE(daemon.socket.stat().st_mode) & 0o006, 0)
        daemon.write_rules(self.settings(daemon) + rules.format(f' token "{TOKEN}"'))
        daemon.reload()
        self.assertEqual(stat.S_IMODE(daemon.socket.stat().st_mode), 0o666)
        self.assertEqual(self.beat_as(daemon, STRANGER, "one", TOKEN).returncode, 0)
        printed = subprocess.run([str(support.BUILD / "healerd"), "-t", "-v", "-c", str(daemon.rules)],
                                 capture_output=True, text=True)
        self.assertNotIn(TOKEN, printed.stdout + printed.stderr + daemon.log_text())


if __name__ == "__main__":
    support.main()
