# SPDX-License-Identifier: MIT
"""Secrets of healings: neither a mail nor who follows a program is told one."""
import base64
import contextlib
import http.server
import json
import subprocess
import threading
import urllib.parse

import mails
import support


class Secrets(mails.Receiving, support.Case):
    """Its target fails while the file `broken` is there. A step's program says `said`, and goes on while `hold` is
    there; then it ends with the status in `status`."""

    SECRET = "nobody-reads-this-4711"
    SAVED = "nor-this-0815"

    def setUp(self) -> None:
        super().setUp()
        self.path("broken").touch()
        credentials = self.path("credentials")
        credentials.mkdir()
        (credentials / "x").write_text(f"{self.SECRET}\n")
        (credentials / "x").chmod(0o600)
        self.step = self.script("step", f"""
echo "$TOKEN" > {self.path("token")}
echo "working for $HEALER_TARGET"
echo "key {self.SAVED}"
[ ! -e {self.path("repeats")} ] || echo "it was given $TOKEN"
touch {self.path("runs")}
while [ -e {self.path("hold")} ]; do sleep 0.05; done
echo "at its end"
exit "$(cat {self.path("status")})" """)
        self.path("status").write_text("0\n")

    def launch(self, steps: str, more: str = "", saves: str = "") -> support.Daemon:
        """A workflow with these steps before one whose program is given the secret."""
        _, port = self.sink()
        broken = self.path("broken")
        fine = self.script("fine", "true")
        mend = self.script("mend", f"rm -f {broken}")
        check = self.script("check", f"test ! -e {broken}")
        daemon = self.configure(
            f"set mailserver 127.0.0.1 port {port}\nset alert admin@localhost\n"
            "set mail-format { message: $SERVICE $EVENT $ACTION $DESCRIPTION $PROGRAM }\n"
            f'workflow rebuild {{\n  guard program "{fine}"\n{steps}'
            f'  step "rebuild" program "{self.step}" environment TOKEN "${{secret:x}}" {saves}\n'
            f'  step "mend" program "{mend}"\n'
            f'  step "verify" recovered within 1 hour\n  cooldown 1 hour\n{more}}}\n'
            f'check program node with path "{check}"\n'
            "  if status != 0 for 2 cycles then heal with rebuild\n")
        daemon.environment["CREDENTIALS_DIRECTORY"] = str(self.path("credentials"))
        return daemon.launch()

    def wait_told(self, daemon: support.Daemon, words: str) -> None:
        texts = lambda: [record["text"] for record in daemon.ask("history")["records"]]  # noqa: E731
        self.wait_for(lambda: any(words in text for text in texts()), f'"{words}" in the history',
                      detail=lambda: "\n".join(texts()))

    def wait_mail(self, words: str) -> None:
        self.wait_for(lambda: any(words in f"{mail.subject}\n{mail.text}" for mail in self.mails()), f'a mail of "{words}"',
                      detail=lambda: str(self.mails()))

    def test_a_secret_that_cannot_be_read_refuses_the_healing_before_its_first_step(self) -> None:
        secret = self.path("credentials") / "x"
        secret.chmod(0o644)
        daemon = self.launch('  step "drain" program "/bin/touch DRAINED"\n'.replace("DRAINED", str(self.path("drained"))),
                             more='  on failure program "/bin/touch FAILED"\n'.replace("FAILED", str(self.path("failed"))))
        self.wait_told(daemon, f"healing of node with rebuild refused: secret x: others may read {secret} (chmod 600 {secret})")
        self.wait_mail("Healing refused")
        self.assertFalse(self.path("drained").exists() or self.path("failed").exists() or self.path("runs").exists())
        self.assertEqual(daemon.ask("healing", "report")["workflows"][0]["failed"], 0)

    def test_whoever_checks_the_rules_is_told_of_a_secret_that_cannot_be_read(self) -> None:
        rules = self.path("some.rules")
        rules.write_text(f'''set secrets "{self.path("credentials")}"
            workflow rebuild {{
              guard program "/bin/true"
              step "one" program "/bin/true" environment A "${{secret:x}}" environment B "${{secret:absent}}"
            }}
            check program node with path "/bin/false" if status != 0 then heal with rebuild\n''')
        rules.chmod(0o600)
        absent = self.path("credentials") / "absent"

        def check(*command: str) -> tuple[int, str]:
            done = subprocess.run([support.BUILD / command[0], *command[1:], rules], capture_output=True, text=True)
            return done.returncode, done.stdout + done.stderr
        for command, status, kind in ((("healerd", "-t", "-c"), 1, "error"), (("healerd", "-t", "--offline", "-c"), 0, "warning"),
                                      (("healerctl", "lint"), 2, "error"), (("healerctl", "lint", "--offline"), 1, "warning")):
            told, text = check(*command)
            self.assertEqual(told, status, text)
            self.assertIn(f"{rules}:4:", text)
            self.assertIn(f"{kind}: secret absent: cannot read {absent}: No such file or directory", text)
            self.assertNotIn("secret x", text)
        absent.write_text("a")
        absent.chmod(0o640)
        self.assertIn(f"error: secret absent: others may read {absent}", check("healerd", "-t", "-c")[1])
        absent.chmod(0o600)
        self.assertEqual(check("healerd", "-t", "-c")[0], 0)

    def assert_untold(self, text: str, saved: bool = True) -> None:
        self.assertNotIn(self.SECRET, text)
        if saved:
            self.assertNotIn(self.SAVED, text)

    def assert_no_mail_tells(self, saved: bool = True) -> None:
        """Neither as they are read nor as they were sent."""
        self.assertTrue(self.mails())
        for mail in self.mails():
            self.assert_untold(f"{mail.subject}\n{mail.text}", saved)
        for path in self.path("mails").iterdir():
            if path.suffix != ".tmp":  # that is not there any more in a moment
                self.assert_untold(path.read_text(errors="replace"), saved)

    def was_given(self) -> None:
        self.assertEqual(self.path("token").read_text(), f"{self.SECRET}\n")

    def test_mails_of_a_healing_that_is_approved_and_recovers(self):
        daemon = self.launch('  step "tell" alert "${TARGET} is being rebuilt"\n', "  approval within 1 hour\n",
                             'save "key (.*)" as KEY secret')
        self.wait_mail("approv")
        (number, plan), = {(one["id"], one["plan_hash"]) for one in daemon.ask("healing", "status")["healings"]}
        self.assertEqual(daemon.ctl("approve", str(number), "--plan", plan).returncode, 0)
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.wait_mail("node is being rebuilt")
        self.wait_mail("Healing recovered")
        self.was_given()
        self.assert_no_mail_tells()

    def test_mails_of_a_healing_that_fails(self):
        self.path("status").write_text("3\n")
        daemon = self.launch("", '  on failure alert "${TARGET} needs a person"\n', 'save "key (.*)" as KEY secret')
        self.wait_told(daemon, "healing of node with rebuild failed")
        self.wait_mail("node needs a person")
        self.wait_mail("Healing failed")
        self.was_given()
        self.assert_no_mail_tells()

    def test_mails_of_a_request_that_cannot_be_made(self):
        port = self.own_port()  # nobody listens
        daemon = self.launch(f'  step "ask" http post "http://127.0.0.1:{port}/x" header "X-Key: ${{secret:x}}" '
                             'body \'{"key": "${secret:x}"}\'\n')
        self.wait_told(daemon, "healing of node with rebuild failed")
        self.wait_mail("Healing failed")
        self.assertTrue(any(f"127.0.0.1:{port}" in mail.text for mail in self.mails()), self.mails())
        self.assert_no_mail_tells()

    def follow(self, daemon: support.Daemon) -> str:
        """What two are told who follow the healing while the step runs and until the end, with and without --json."""
        self.wait_for(self.path("runs").exists, "the step")
        job, = self.wait_for(lambda: [one for one in daemon.ask("jobs")["jobs"] if one["pid"]], "its program among the jobs")
        self.assert_untold(json.dumps(job) + daemon.ctl("jobs").stdout)
        followers = [subprocess.Popen([str(support.BUILD / "healerctl"), "--socket", str(daemon.socket), "jobs", "follow",
                                       str(job["id"]), *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                     for more in ((), ("--json",))]
        begins = [follower.stdout.readline() for follower in followers]
        self.path("hold").unlink()
        all_told = ""
        for begin, follower in zip(begins, followers):
            with follower:
                told, complaints = follower.stdout.read(), follower.stderr.read()
            self.assertEqual((follower.returncode, complaints), (0, ""))
            self.assertIn("heal node with rebuild, rebuild", begin + told)
            all_told += begin + told
        self.wait_told(daemon, "healing of node with rebuild recovered")
        self.wait_mail("Healing recovered")
        late = daemon.ctl("jobs", "follow", str(job["id"]))
        self.assertEqual(late.returncode, 1)
        return all_told + late.stdout + late.stderr

    def test_who_follows_a_program_is_not_told_what_it_was_given(self):
        self.path("hold").touch()
        daemon = self.launch("")
        told = self.follow(daemon)
        self.assertEqual((told.count("working for node"), told.count("at its end")), (2, 2), told)
        self.was_given()
        self.assert_untold(told, saved=False)  # what it says itself is not secret here
        self.assert_no_mail_tells(saved=False)

    def test_who_follows_a_program_that_repeats_what_it_was_given_does_not_see_that(self):
        self.path("repeats").touch()
        self.path("hold").touch()
        daemon = self.launch("")
        told = self.follow(daemon)
        self.assertEqual((told.count("it was given *****"), told.count("at its end")), (2, 2), told)
        self.assert_untold(told, saved=False)
        self.assert_no_mail_tells(saved=False)

    def test_who_follows_a_program_that_was_given_a_secret_by_an_earlier_daemon_is_told_nothing_of_it(self):
        self.path("repeats").touch()
        self.path("hold").touch()
        self.path("status").write_text("3\n")
        daemon = self.launch("")
        self.wait_for(self.path("runs").exists, "the step")
        daemon.kill()
        daemon.launch()
        job, = self.wait_for(lambda: [one for one in daemon.ask("jobs")["jobs"] if one["pid"]], "its program among the jobs")
        told = daemon.ctl("output", str(job["id"]))
        self.assertIn("its output holds a secret", told.stderr + told.stdout)
        self.path("hold").unlink()
        self.wait_told(daemon, "healing of node with rebuild failed")
        self.wait_mail("Healing failed")
        self.assert_untold("".join(record["text"] for record in daemon.ask("history")["records"]) + told.stderr + told.stdout)
        self.assert_no_mail_tells()

    def test_who_follows_a_program_that_tells_a_secret_is_told_nothing_of_it(self):
        self.path("hold").touch()
        daemon = self.launch("", saves='save "key (.*)" as KEY secret')
        told = self.follow(daemon)
        self.assertEqual(told.count("[its output holds a secret, and is not shown]"), 2, told)
        self.assert_untold(told)
        self.assert_no_mail_tells()


class Used(mails.Receiving, support.Case):
    """Steps that are given secrets, and fail; what they call or run repeats them."""

    SECRETS = {"tok": "TOPSECRET1", "odd": "TOP/SE CRET&2", "hook": "", "base": "", "short": "e"}
    SAVED = "ABCTOKEN-saved"
    PATH = "/services/T0/Zyxwvut1234"

    def setUp(self) -> None:
        super().setUp()
        self.heard: list[str] = []
        test = self

        class Echo(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                test.heard.append(self.path)
                text = json.dumps({"tok": self.headers.get("X-Tok"), "path": self.path,
                                   "login": self.headers.get("Authorization")}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            do_POST = do_GET

            def log_message(self, *_args) -> None:
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.token = self.script("token", f"echo token={self.SAVED}")
        folder = self.path("secrets")
        folder.mkdir(mode=0o700)
        for name, value in {**self.SECRETS, "hook": self.url + self.PATH, "base": self.url}.items():
            (folder / name).write_text(f"{value}\n")
            (folder / name).chmod(0o600)

    def begin(self, **workflows: str) -> support.Daemon:
        """For each of these a service that fails, and is healed with it."""
        _, port = self.sink()
        rules = (f'set secrets "{self.path("secrets")}"\n'
                 f"set mailserver 127.0.0.1 port {port}\nset alert admin@localhost\n"
                 "set mail-format { message: $SERVICE $EVENT $ACTION $DESCRIPTION $PROGRAM }\n")
        for name, steps in workflows.items():
            guard = "" if steps.startswith("guard") else 'guard program "/bin/true"\n  '
            rules += (f"workflow w_{name} {{\n  {guard}{steps}\n  cooldown 1 hour\n}}\n"
                      f'check program {name} with path "/bin/false"\n  if status != 0 then heal with w_{name}\n')
        return self.start(rules)

    def texts(self, daemon: support.Daemon) -> list[str]:
        return [record["text"] for record in daemon.ask("history")["records"]]

    def wait_told(self, daemon: support.Daemon, name: str, words: str) -> None:
        told = lambda text: f"healing of {name} " in text and words in text  # noqa: E731
        self.wait_for(lambda: any(told(text) for text in self.texts(daemon)), f'"{words}" of {name}',
                      detail=lambda: "\n".join(self.texts(daemon)))

    def assert_untold(self, daemon: support.Daemon) -> None:
        shown = "".join(daemon.ctl(*words).stdout for words in (["history", "-v"], ["healing", "status"], ["status"]))
        for place in [path for path in daemon.folder.rglob("*") if path.is_file() and path != daemon.rules]:
            with contextlib.suppress(FileNotFoundError):  # a mail that was waiting is sent
                shown += place.read_bytes().decode(errors="replace")
        shown += "".join(f"{mail.subject}\n{mail.text}" for mail in self.mails())
        for secret in (self.SECRETS["tok"], self.SECRETS["odd"], self.SAVED, self.PATH):
            for form in (secret, secret.lower(), urllib.parse.quote(secret, safe=""), urllib.parse.quote(secret),
                         base64.b64encode(f"me:{secret}".encode()).decode()):
                self.assertNotIn(form, shown)

    def test_answers_that_repeat_what_they_were_asked_with(self):
        tok = 'header "X-Tok: ${secret:tok}"'
        daemon = self.begin(
            header=f'step "s" http get "{self.url}/" {tok} json ".tok" = "x"',
            until=f'step "s" http get "{self.url}/" until get "{self.url}/" {tok} json ".tok" = "y"\n'
                  "    every 100 ms within 4 seconds",
            failed=f'step "s" http get "{self.url}/" until get "{self.url}/" {tok} json ".tok" = "y"\n'
                   '    fail json ".tok" != "z" every 100 ms within 1 minute',
            saved=f'step "t" program "{self.token}" save "token=(.*)" as K secret repeatable\n'
                  f'  step "s" http get "{self.url}/" header "X-Tok: ${{K}}" json ".tok" = "x"',
            query=f'step "s" http get "{self.url}/?k=${{secret:odd}}" json ".path" = "x"',
            host='step "s" http get "http://${secret:tok}.invalid/"',
            login=f'step "s" http get "{self.url.replace("//", "//me:${secret:tok}@")}/" json ".login" = "x"',
            short=f'step "s" http get "{self.url}/" header "X-Tok: ${{secret:short}}" json ".tok" = "x"')
        self.wait_told(daemon, "header", 'failed: step "s"')
        self.wait_told(daemon, "header", 'answered 200, but .tok is "*****"')
        self.wait_told(daemon, "until", 'was not done within 4 s: .tok is "*****"')
        self.wait_told(daemon, "failed", 'and then failed: .tok is "*****"')
        self.wait_told(daemon, "saved", 'answered 200, but .tok is "*****"')
        self.wait_told(daemon, "query", 'answered 200, but .path is "/?k=*****"')
        self.wait_told(daemon, "host", "GET http://*****.invalid/: cannot resolve *****.invalid")
        self.wait_told(daemon, "login", 'answered 200, but .login is "Basic *****"')
        self.wait_told(daemon, "short", "answered 200, but .tok is *****")
        self.wait_for(lambda: sum("Healing failed" in mail.text for mail in self.mails()) >= 8, "the mails")
        self.assert_untold(daemon)

    def test_programs_that_repeat_what_they_were_given(self):
        say = self.script("say", 'echo "for \'$TOKEN\'"; echo "failed with $TOKEN"; exit 3')
        daemon = self.begin(
            given=f'step "s" program "{say}" environment TOKEN "${{secret:tok}}"',
            saved=f'step "t" program "{self.token}" save "token=(.*)" as K secret repeatable\n'
                  f'  step "s" program "{say}" environment TOKEN "${{K}}"',
            guarded=f'guard program "{say}" environment TOKEN "${{secret:tok}}"\n  step "s" wait 1 second')
        self.wait_told(daemon, "given", "exited with status 3: failed with *****")
        self.wait_told(daemon, "saved", "exited with status 3: failed with *****")
        self.wait_told(daemon, "guarded", "exited with status 3: failed with *****")
        self.wait_for(lambda: daemon.ctl("output", "given").stdout == "for '*****'\nfailed with *****\n", "its output",
                      detail=lambda: str(daemon.ctl("output", "given")))
        folder = next(path for path in daemon.folder.rglob("*.out")).parent
        said = lambda: "".join(path.read_text() for path in folder.glob("*.out"))  # noqa: E731
        self.wait_for(lambda: self.SECRETS["tok"] not in said() and self.SAVED not in said(), "that they are gone")
        self.assert_untold(daemon)

    def test_a_url_that_is_a_secret(self):
        daemon = self.begin(
            whole='step "s" http post "${secret:hook}" json ".path" = "x"',
            begin='step "s" http get "${secret:base}/${secret:odd}" json ".path" = "x"')
        self.wait_told(daemon, "whole", 'POST *****: answered 200, but .path is "*****"')
        self.wait_told(daemon, "begin", 'GET *****/*****: answered 200, but .path is "/*****"')
        self.assertEqual(sorted(self.heard), sorted([self.PATH, "/" + urllib.parse.quote(self.SECRETS["odd"], safe="")]))
        self.assert_untold(daemon)


if __name__ == "__main__":
    support.main()
