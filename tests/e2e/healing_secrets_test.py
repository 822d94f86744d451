# SPDX-License-Identifier: MIT
"""Secrets of healings: neither a mail nor who follows a program is told one."""
import json
import subprocess

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
        number, = {one["id"] for one in daemon.ask("healing", "status")["healings"]}
        self.assertEqual(daemon.ctl("approve", str(number)).returncode, 0)
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

    def test_who_follows_a_program_that_tells_a_secret_is_told_nothing_of_it(self):
        self.path("hold").touch()
        daemon = self.launch("", saves='save "key (.*)" as KEY secret')
        told = self.follow(daemon)
        self.assertEqual(told.count("[its output holds a secret, and is not shown]"), 2, told)
        self.assert_untold(told)
        self.assert_no_mail_tells()


if __name__ == "__main__":
    support.main()
