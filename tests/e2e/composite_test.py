# SPDX-License-Identifier: MIT
"""Services made of others."""
import support


class Composite(support.Case):
    def member(self, name: str) -> str:
        """A check program that fails while its file is there; its run is counted in another."""
        check = self.script(name, f"echo x >> {self.path(name + '.runs')}\ntest ! -e {self.path(name + '.bad')}")
        return f'check program {name} with path "{check}"\n  group box\n  if status != 0 then alert\n'

    def test_the_second_failed_member_fires_at_once(self):
        acted = self.path("acted")
        act = self.script("act", f'echo "$HEALER_SERVICE $HEALER_EVENT $HEALER_DESCRIPTION" >> {acted}')
        members = "".join(self.member(name) for name in ("ping", "http", "port"))
        # The cycle is long: nothing of this comes by the next one.
        daemon = self.start(f'''{members}
            check composite box with members ping, http, port
              if 2 members failed then exec "{act}" else if succeeded then exec "{act}"
            check composite slow with members of group box
              if more than 40% members failed for 2 cycles then exec "{act}"''', cycle="600")
        self.wait_for(lambda: daemon.ask("status", "box")["services"][0]["state"] == "running", "the first look")
        self.assertEqual(daemon.ask("status", "box")["services"][0]["text"], "no member of 3 failed")

        self.path("ping.bad").touch()
        self.assertEqual(daemon.ctl("validate", "ping").returncode, 1)
        self.path("http.bad").touch()
        self.assertFalse(acted.exists())
        self.assertEqual(daemon.ctl("validate", "http").returncode, 1)
        self.wait_for(acted.exists, "the action")
        self.wait_for(lambda: self.lines("acted") == 1, "its line")
        self.assertEqual(acted.read_text(), "box Status failed 2 of 3 members failed: ping, http\n")

        status = daemon.ask("status", "box")["services"][0]
        self.assertEqual((status["state"], status["text"]), ("failed", "2 of 3 members failed: ping, http"))
        self.assertEqual(status["members"], [{"name": "ping", "health": "failed"}, {"name": "http", "health": "failed"},
                                             {"name": "port", "health": "ok"}])
        self.assertIn("members ping (failed), http (failed) and port (ok)",
                      " ".join(daemon.ctl("status", "box").stdout.split()))
        told = daemon.ctl("explain", "box").stdout
        self.assertIn("Its members: ping (failed), http (failed), port (ok).", " ".join(told.split()))
        self.assertIn('label="has"', daemon.ctl("graph", "box").stdout)
        self.assertEqual(daemon.ask("status", "slow")["services"][0]["state"], "running")

        # What it was stays so over a crash of healer, and is not acted on again.
        daemon.kill()
        daemon.launch()
        self.wait_for(lambda: daemon.ask("status", "box")["services"][0]["runs"] > 0, "a look of the new healer")
        self.assertEqual(daemon.ask("status", "box")["services"][0]["state"], "failed")
        self.assertEqual(self.lines("acted"), 1)
        self.path("ping.bad").unlink()
        self.assertEqual(daemon.ctl("validate", "ping").returncode, 0)
        self.wait_for(lambda: self.lines("acted") == 2, "the recovery")
        self.assertEqual(acted.read_text().splitlines()[1], "box Status succeeded 1 of 3 members failed: http")

        # The group has another member less: the rest is judged at once.
        daemon.write_rules(daemon.rules.read_text().replace("members ping, http, port", "members http, port"))
        self.assertEqual(daemon.reload().returncode, 0)
        self.assertEqual(daemon.ask("status", "box")["services"][0]["text"], "1 of 2 members failed: http")


if __name__ == "__main__":
    support.main()
