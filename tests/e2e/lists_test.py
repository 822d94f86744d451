# SPDX-License-Identifier: MIT
"""Lists of rows: define and for each, files and commands that are read again while the daemon runs."""
import json
import os
import subprocess

import support

BLOCK = """for each NODE {source} {{
  check program ping_${{NODE}} with path "{program} ${{NODE}}"
    if status != 0 then exec "{told} ${{NODE}}"
}}
"""


class Lists(support.Case):
    def setUp(self) -> None:
        super().setUp()
        # A node is well while there is no file of its name in "failed"; who runs notes what the environment says.
        self.path("failed").mkdir()
        self.program = self.script("ping", f'echo "$1=$HEALER_NODE,$HEALER_NODE_IP" >> {self.path("pings.txt")}\n'
                                           f'test ! -e {self.path("failed")}/$1')
        self.told = self.script("told", f'echo "$1=$HEALER_NODE" >> {self.path("told.txt")}')

    def block(self, source: str) -> str:
        return BLOCK.format(source=source, program=self.program, told=self.told)

    def nodes(self, *names: str):
        path = self.path("nodes")
        fresh = self.path("nodes.new")
        fresh.write_text("".join(f"{name}\n" for name in names))
        fresh.chmod(0o600)
        os.replace(fresh, path)
        return path

    def names(self, daemon) -> set[str]:
        return set(daemon.ctl("names").stdout.split())

    def wait_for_names(self, daemon, *names: str) -> None:
        wanted = {f"ping_{name}" for name in names}
        self.wait_for(lambda: self.names(daemon) == wanted, f"the services {sorted(wanted)}")

    def text(self, name: str) -> str:
        path = self.path(name)
        return path.read_text() if path.exists() else ""

    def of_file(self, *names: str, every: str = "1 second"):
        return self.start(self.block(f'from file "{self.nodes(*names)}" every {every}'))

    def test_rows_that_are_written(self):
        (self.path("failed") / "db2").touch()
        daemon = self.start(self.block('in "web", "db1" .. "db3"'))
        self.wait_for_names(daemon, "web", "db1", "db2", "db3")
        self.wait_for(lambda: "db2=db2" in self.text("told.txt"), "the action of the row that failed")
        self.wait_for(lambda: "web=web," in self.text("pings.txt"), "a check with its environment")
        self.assertNotIn("db1=", self.text("told.txt"))

    def test_services_come_and_go_with_a_file_and_the_others_keep_their_state(self):
        (self.path("failed") / "b").touch()
        daemon = self.of_file("a", "b")
        self.wait_for_names(daemon, "a", "b")
        self.wait_for(lambda: "b=b" in self.text("told.txt"), "the action of the row that failed")
        self.nodes("a", "b", "c")
        self.wait_for_names(daemon, "a", "b", "c")
        self.nodes("b", "c")
        self.wait_for_names(daemon, "b", "c")
        # It stood failed all the time: it acted once.
        self.assertEqual(self.text("told.txt"), "b=b\n")

    def test_a_row_that_lacks_a_field_is_told_once_with_an_alert(self):
        rows = self.path("rows")

        def write(*nodes: dict) -> None:
            fresh = self.path("rows.new")
            fresh.write_text("".join(json.dumps(node) + "\n" for node in nodes))
            fresh.chmod(0o600)
            os.replace(fresh, rows)

        def told() -> list[str]:
            return [one["text"] for one in daemon.ask("history")["records"] if "'b' of the list NODE is skipped" in one["text"]]

        whole = {"name": "a", "ip": "10.0.0.1"}
        write(whole)
        daemon = self.start(f'for each NODE from file "{rows}" every 1 second {{\n'
                            f'  check program ping_${{NODE}} with path "{self.program} ${{NODE.ip}}"\n'
                            f'    if status != 0 then alert\n}}\n')
        self.wait_for_names(daemon, "a")
        write(whole, {"name": "b"})
        self.wait_for(told, "the row to be told of", detail=daemon.log_text)
        write(whole, {"name": "b"}, {"name": "c", "ip": "10.0.0.3"})
        self.wait_for_names(daemon, "a", "c")
        self.assertEqual(len(told()), 1)
        self.assertIn("it has no field 'ip'", told()[0])

    def test_a_failed_listing_keeps_the_rows_and_is_told(self):
        daemon = self.of_file("a", "b")
        self.wait_for_names(daemon, "a", "b")
        self.nodes()
        self.wait_for(lambda: "list NODE: could not be read: it was empty, which is not accepted" in daemon.log_text(), "a word")
        self.path("nodes").unlink()
        self.wait_for(lambda: "list NODE: could not be read: " in daemon.log_text().split("not accepted", 1)[1], "another word")
        self.assertEqual(self.names(daemon), {"ping_a", "ping_b"})
        self.assertIn("No such file", daemon.ctl("lists").stdout)
        self.nodes("a", "b")
        self.wait_for(lambda: "list NODE: it is read again" in daemon.log_text(), "the end of it")

    def test_a_file_that_others_write_is_refused(self):
        daemon = self.of_file("a")
        self.wait_for_names(daemon, "a")
        self.path("nodes").chmod(0o666)
        self.wait_for(lambda: "others can write it (mode 0666)" in daemon.log_text(), "a word")
        self.assertEqual(self.names(daemon), {"ping_a"})

    def test_a_command_with_objects(self):
        command = self.script("list", f'cat {self.path("rows")}')
        self.path("rows").write_text(json.dumps({"name": "n1", "ip": "10.0.0.1"}) + "\n$(reboot)\nn2\n")
        daemon = self.start(self.block(f'from command "{command} all" every 1 second'))
        self.wait_for_names(daemon, "n1", "n2")
        self.wait_for(lambda: "n1=n1,10.0.0.1" in self.text("pings.txt"), "the field in the environment")
        self.assertIn("list NODE: a row is refused: line 2: '$(reboot)' is not a valid row name", daemon.log_text())
        self.path("list").write_text("#!/bin/sh\necho no such project >&2\nexit 3\n")
        self.wait_for(lambda: "its program has ended with status 3: no such project" in daemon.log_text(), "a word")
        self.assertEqual(self.names(daemon), {"ping_n1", "ping_n2"})

    def test_a_command_that_hangs_holds_nothing_up(self):
        command = self.script("list", f'test -e {self.path("go")} || exec sleep 1000\necho n1')
        daemon = self.start(self.block(f'from command "{command}" every 1 second')
                            + f'check program other with path "{self.program} other"\n  if status != 0 then alert\n')
        self.wait_for(lambda: self.text("pings.txt").count("other=") >= 3, "the checks of the others")
        self.assertEqual(self.names(daemon), {"other"})

    def test_the_last_good_rows_are_there_at_once_after_a_restart(self):
        daemon = self.of_file("a", "b", every="1 second")
        self.wait_for_names(daemon, "a", "b")
        saved = daemon.folder / "healer.state.lists"
        self.wait_for(saved.exists, "the file of the lists")
        self.assertEqual(saved.stat().st_mode & 0o777, 0o600)
        daemon.kill()
        self.path("nodes").unlink()
        daemon.launch()
        self.assertEqual(self.names(daemon), {"ping_a", "ping_b"})

    def test_a_list_is_proven_by_three_readings_or_by_a_person(self):
        daemon = self.of_file("a", "b", every="1 hour")
        self.wait_for_names(daemon, "a", "b")
        self.assertIn("proven    no: 1 of 3 equal readings", daemon.ctl("lists").stdout)
        refused = daemon.ctl("accept", "list", "NODES")
        self.assertNotEqual(refused.returncode, 0)
        self.assertIn("there is no list NODES", refused.stderr)
        self.assertEqual(daemon.ctl("accept", "list", "NODE").returncode, 0)
        self.assertIn("proven    yes", daemon.ctl("lists").stdout)

    def test_a_reload_is_no_reading(self):
        command = self.script("list", f'echo >> {self.path("readings")}\necho n1')
        daemon = self.start(self.block(f'from command "{command}" every 1 hour'))
        self.wait_for_names(daemon, "n1")
        for _ in range(3):
            self.assertEqual(daemon.reload().returncode, 0)
        self.assertEqual(self.text("readings"), "\n")
        self.assertIn("proven    no: 1 of 3 equal readings", daemon.ctl("lists").stdout)

    def test_readings_prove_a_list(self):
        daemon = self.of_file("a", "b")
        self.wait_for(lambda: "proven    yes" in daemon.ctl("lists").stdout, "three readings")
        self.assertIn("list NODE: three equal readings: it is accepted", daemon.log_text())

    def test_a_failed_row_leaves_late_or_by_a_persons_word(self):
        for name in ("b", "c"):
            (self.path("failed") / name).touch()
        daemon = self.of_file("a", "b", "c", every="1 hour")
        self.wait_for(lambda: {"b=b", "c=c"} <= set(self.text("told.txt").split()), "the failures")
        daemon.write_rules(daemon.rules.read_text().replace("every 1 hour", "every 2 seconds"))
        self.nodes("a")
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: "missing   b, c" in daemon.ctl("lists").stdout, "the rows that are missing", limit=60)
        self.assertNotEqual(daemon.ctl("forget", "a").returncode, 0)
        self.assertEqual(daemon.ctl("forget", "b").returncode, 0)
        self.wait_for(lambda: "ping_b" not in self.names(daemon), "the end of a row")
        self.wait_for(lambda: "the row 'c' is being removed although it has failed: it was missing from 3 readings" in daemon.log_text(),
                      "the end of the other")
        self.wait_for_names(daemon, "a")

    def test_an_edit_of_the_rules_is_not_taken_over_by_a_reading(self):
        daemon = self.of_file("a")
        self.wait_for_names(daemon, "a")
        daemon.write_rules(daemon.rules.read_text() + f'check program new with path "{self.program} new"\n  if status != 0 then alert\n')
        self.nodes("a", "b")
        self.wait_for_names(daemon, "a", "b")
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: self.names(daemon) == {"ping_a", "ping_b", "new"}, "the new service")

    def test_a_syntax_check_runs_nothing(self):
        command = self.script("list", f'touch {self.path("ran")}\necho n1')
        rules = self.path("check.rules")
        rules.write_text(self.block(f'from command "{command}" every 1 second'))
        rules.chmod(0o600)
        done = subprocess.run([support.BUILD / "healerd", "-t", "-c", rules], capture_output=True, text=True, timeout=support.LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("note: the list NODE is not read here: its block is checked with one row that stands for any", done.stderr)
        self.assertFalse(self.path("ran").exists())


if __name__ == "__main__":
    support.main()
