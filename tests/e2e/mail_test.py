# SPDX-License-Identifier: MIT
"""Mails: one at each transition, none lost and none doubled by dead servers and kills, no password where others can read."""
import subprocess

import mails
import support


class Mail(mails.Receiving, support.Case):
    def rules(self, port: int, statuses: list[int]) -> str:
        check = self.statuses("check", statuses)
        return (f"set mailserver 127.0.0.1 port {port}\nset alert admin@localhost not on {{ instance }}\n"
                f'check program node with path "{check}"\n  if status != 0 for 3 cycles then alert\n')

    def test_one_mail_at_each_transition(self):
        _, port = self.sink()
        self.start(self.rules(port, [1, 1, 1, 1, 1, 0, 0]))
        self.wait_for(lambda: len(self.subjects()) >= 2 and self.runs("check") >= 9, "two mails and quiet runs after them")
        self.assertEqual(self.subjects(), ["monit alert --  Status failed node", "monit alert --  Status succeeded node"])

    def test_a_dead_server_and_kills_lose_and_double_nothing(self):
        server, port = self.sink()
        server.kill()
        server.wait()
        daemon = self.start(self.rules(port, [1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 0]))
        self.wait_for(lambda: self.runs("check") >= 6, "a transition without a server")
        daemon.kill()
        daemon.launch()
        self.wait_for(lambda: self.runs("check") >= 12, "more transitions")
        self.sink("--port", str(port))
        self.wait_for(lambda: len(self.subjects()) >= 4, "the mails that waited", limit=3 * support.LIMIT)
        daemon.kill()
        daemon.launch()
        before = self.runs("check")
        self.wait_for(lambda: self.runs("check") >= before + 3, "quiet runs")
        failed, well = "monit alert --  Status failed node", "monit alert --  Status succeeded node"
        self.assertEqual(self.subjects(), [failed, well, failed, well])

    def test_a_password_is_nowhere_to_be_read(self):
        secret = "hunter2-not-to-be-seen"
        check = self.statuses("check", [1])
        daemon = self.start(f'set mailserver 127.0.0.1 port 1 username "u" password "{secret}"\nset alert a@localhost\n'
                            f'check program node with path "{check}"\n  if status != 0 then exec "/usr/bin/env"\n',
                            options=("-v",))
        self.wait_for(lambda: "exec /usr/bin/env exited" in daemon.log_text(), "the exec")
        told = daemon.log_text() + daemon.errors.read_text()
        for words in (("status",), ("status", "--json"), ("explain", "node"), ("history", "--json")):
            told += daemon.ctl(*words).stdout
        for output in (daemon.folder / "healer.state.actions").glob("*"):
            told += output.read_text(errors="replace")
        told += subprocess.run(["ps", "axww", "-o", "args"], capture_output=True, text=True).stdout
        told += subprocess.run([str(support.BUILD / "healerd"), "-t", "-v", "-c", str(daemon.rules)], capture_output=True,
                               text=True).stdout
        self.assertIn("node", told)
        self.assertNotIn(secret, told)


if __name__ == "__main__":
    support.main()
