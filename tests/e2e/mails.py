# SPDX-License-Identifier: MIT
"""Mail servers for end-to-end tests."""
import json
import subprocess
import sys

import support


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

    def sink(self, *options: str):
        """An SMTP server of this test; the folder of its mails and its port."""
        folder = self.path("mails")
        folder.mkdir(exist_ok=True)
        port = folder / "port"
        port.unlink(missing_ok=True)
        server = subprocess.Popen([sys.executable, str(support.TOP / "tests/support/smtp_sink.py"), str(folder), *options],
                                  stdin=subprocess.PIPE)  # it ends with this pipe
        self.servers.append(server)
        self.wait_for(lambda: port.exists() and port.read_text().strip(), "the mail server")
        return server, int(port.read_text())

    def subjects(self, to: str | None = None) -> list[str]:
        found = []
        for envelope in sorted(self.path("mails").glob("*.json")):
            if to and to not in json.dumps(json.loads(envelope.read_text())):
                continue
            text = envelope.with_suffix(".eml").read_text(errors="replace")
            found += [line.split(":", 1)[1].strip() for line in text.splitlines() if line.startswith("Subject:")]
        return found
