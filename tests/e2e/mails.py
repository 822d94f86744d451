# SPDX-License-Identifier: MIT
"""Mail servers for end-to-end tests."""
import email
import email.policy
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import support


@dataclass
class Mail:
    """One that a server has taken."""

    to: str
    subject: str
    sender: str
    reply_to: str
    id: str
    text: str

    def field(self, name: str) -> str:
        """Of a body as Monit writes it: what follows "Description:" and the like."""
        return next((line.split(":", 1)[1].strip() for line in self.text.splitlines() if line.strip().startswith(f"{name}:")),
                    "")


class Receiving:
    """Beside a Case: a test that receives mails."""

    def setUp(self):
        super().setUp()
        self.servers: list[subprocess.Popen] = []

    def tearDown(self):
        for server in self.servers:
            server.kill()
            server.wait()
            server.stdin.close()
        super().tearDown()

    def sink(self, number: int = 0, name: str = "mails"):
        """An SMTP server of this test, with its mails in the folder of that name; the server and its port, which is
        `number` unless that is 0."""
        folder = self.path(name)
        folder.mkdir(exist_ok=True)
        port = folder / "port"
        port.unlink(missing_ok=True)
        server = subprocess.Popen([sys.executable, str(support.TOP / "tests/support/smtp_sink.py"), str(folder),
                                   "--port", str(number or self.own_port())], stdin=subprocess.PIPE)  # it ends with this pipe
        self.servers.append(server)
        self.wait_for(lambda: port.exists() and port.read_text().strip(), "the mail server")
        return server, int(port.read_text())

    def mode(self, text: str, name: str = "mails") -> None:
        """What that server does wrong from now on."""
        (self.path(name) / "mode").write_text(text)

    def mails(self, name: str = "mails") -> list[Mail]:
        """What it has taken, in order."""
        found = []
        for envelope in sorted(self.path(name).glob("*.json")):
            read = email.message_from_bytes(envelope.with_suffix(".eml").read_bytes(), policy=email.policy.default)
            to = json.loads(envelope.read_text())["to"]
            found.append(Mail(to=", ".join(to), subject=str(read["Subject"]), sender=str(read["From"]),
                              reply_to=str(read["Reply-To"] or ""), id=str(read["Message-Id"]),
                              text=read.get_content().replace("\r\n", "\n")))
        return found

    def taken(self, name: str = "mails") -> int:
        """How many it has taken."""
        return sum(1 for _ in self.path(name).glob("*.json"))

    def all_ended(self, name: str = "mails") -> bool:
        """Whether nobody talks to that server any more."""
        lines = [line.split(" ", 1) for line in (self.path(name) / "commands.log").read_text().splitlines()]
        return {number for number, _ in lines} == {number for number, words in lines if words == "(end)"}

    def subjects(self, to: str | None = None) -> list[str]:
        return [mail.subject for mail in self.mails() if not to or to in mail.to]
