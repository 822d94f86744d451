# SPDX-License-Identifier: MIT
"""Lists of rows: define and for each, files and commands that are read again while the daemon runs."""
import json
import os
import random
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

    def write_rows(self, *nodes: dict) -> None:
        """Puts them into the file `rows`, a line each."""
        fresh = self.path("rows.new")
        fresh.write_text("".join(json.dumps(node) + "\n" for node in nodes))
        fresh.chmod(0o600)
        os.replace(fresh, self.path("rows"))

    def test_a_row_that_lacks_a_field_is_told_once_with_an_alert(self):
        rows = self.path("rows")
        def told() -> list[str]:
            return [one["text"] for one in daemon.ask("history")["records"] if "the row 'b' is refused" in one["text"]]

        whole = {"name": "a", "ip": "10.0.0.1"}
        self.write_rows(whole)
        daemon = self.start(f'for each NODE from file "{rows}" every 1 second {{\n'
                            f'  check program ping_${{NODE}} with path "{self.program} ${{NODE.ip}}"\n'
                            f'    if status != 0 then alert\n}}\n')
        self.wait_for_names(daemon, "a")
        self.write_rows(whole, {"name": "b"})
        self.wait_for(told, "the row to be told of", detail=daemon.log_text)
        self.write_rows(whole, {"name": "b"}, {"name": "c", "ip": "10.0.0.3"})
        self.wait_for_names(daemon, "a", "c")
        self.assertEqual(len(told()), 1)
        self.assertIn("it has no field 'ip'", told()[0])

    def test_a_row_that_lacks_what_its_workflow_needs_is_refused_before_it_is_healed_half_way(self):
        rows = self.path("rows")
        self.write_rows({"name": "a", "mac": "02:00:00:00:00:0a"})
        daemon = self.start(f'set settle 1 s\nfor each NODE from file "{rows}" every 1 second {{\n'
                            f'  check program ping_${{NODE}} with path "/bin/false"\n    if status != 0 then heal with w\n}}\n'
                            f'workflow w {{\n  step program "/bin/sh -c \'echo $HEALER_TARGET >> {self.path("steps")}\'"\n'
                            f'  step program "/bin/true ${{NODE.mac}}"\n}}\n')
        self.wait_for_names(daemon, "a")
        self.write_rows({"name": "a", "mac": "02:00:00:00:00:0a"}, {"name": "b"}, {"name": "c", "mac": "02:00:00:00:00:0c"})
        self.wait_for_names(daemon, "a", "c")
        refused = "the row 'b' is refused: the workflow 'w' needs ${NODE.mac}, and 'ping_b' has no such value"
        self.wait_for(lambda: self.told_of(daemon, refused), "a word of the row", detail=daemon.log_text)
        self.wait_for(lambda: "c" in self.text("steps"), "a healing", limit=3 * support.LIMIT)
        self.assertNotIn("b", self.text("steps"))

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
        self.wait_for(lambda: "list NODE: three equal readings: it is accepted" in daemon.log_text(), "the log")

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

    # ---- rows that do not compile

    def other(self, name: str) -> str:
        return f'check program {name} with path "{self.program} {name}"\n  if status != 0 then alert\n'

    def collide(self, *names: str, before: str = "", after: str = ""):
        block = self.block(f'from file "{self.nodes(*names)}" every 1 second').replace("ping_", "")
        return self.start(before + block + after)

    def told_of(self, daemon, words: str) -> list[str]:
        return [one["text"] for one in daemon.ask("history")["records"] if words in one["text"]]

    def check_syntax(self, daemon, *options) -> subprocess.CompletedProcess:
        return subprocess.run([support.BUILD / "healerd", "-t", "-c", daemon.rules, *options], capture_output=True, text=True,
                              timeout=support.LIMIT)

    def test_a_row_that_collides_is_refused_alone_and_healer_starts_again(self):
        daemon = self.collide("a", before=self.other("Collide"))
        self.wait_for(lambda: self.names(daemon) == {"a", "Collide"}, "the first rows")
        self.nodes("a", "collide", "b")
        self.wait_for(lambda: self.names(daemon) == {"a", "b", "Collide"}, "the row that can be", detail=daemon.log_text)
        refused = "the row 'collide' is refused: there is a service 'collide' already"
        self.wait_for(lambda: self.told_of(daemon, refused), "a word of the other")
        self.assertIn(refused, daemon.ctl("lists").stdout)
        self.assertIn(refused, daemon.ctl("status").stdout.replace("\n", " "))
        self.assertTrue(any(refused in row for row in daemon.ask("status")["daemon"]["refused_rows"]))
        self.assertIn(refused, daemon.ctl("doctor", "--rules", daemon.rules).stdout.replace("\n", " ").replace("  ", " "))
        # Later changes of lists and rules are taken over all the same, and it is told once.
        self.nodes("a", "collide", "b", "c")
        self.wait_for(lambda: "c" in self.names(daemon), "a change of the list")
        daemon.write_rules(daemon.rules.read_text() + self.other("more"))
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: "more" in self.names(daemon), "a change of the rules")
        self.assertEqual(len(self.told_of(daemon, refused)), 1)
        saved = (daemon.folder / "healer.state.lists").read_text()
        self.assertNotIn("collide", saved)
        for end in (daemon.kill, daemon.stop):
            end()
            daemon.launch()
            self.assertEqual(self.names(daemon), {"a", "b", "c", "Collide", "more"})
        self.wait_for(lambda: refused in daemon.ctl("lists").stdout, "the same word after a start")

    def test_a_row_stays_as_it_was_while_its_new_fields_do_not_compile(self):
        rows = self.path("rows")

        def write(*nodes: tuple) -> None:
            fresh = self.path("rows.new")
            fresh.write_text("".join(json.dumps({"name": name, "v": value}) + "\n" for name, value in nodes))
            fresh.chmod(0o600)
            os.replace(fresh, rows)

        write(("a", "aaa"), ("b", "bbb"))
        daemon = self.start(f'for each NODE from file "{rows}" every 1 second {{\n  check process p_${{NODE}} matching "${{NODE.v}}"\n}}\n')
        self.wait_for(lambda: self.names(daemon) == {"p_a", "p_b"}, "the rows")
        write(("a", "("), ("b", "bbb"), ("c", "ccc"))
        self.wait_for(lambda: self.names(daemon) == {"p_a", "p_b", "p_c"}, "a new row beside it")
        self.assertTrue(self.told_of(daemon, "the row 'a' is refused: '(' is not a valid regular expression"))
        write(("a", "axa"), ("b", "bbb"), ("c", "ccc"))
        self.wait_for(lambda: "the row 'a' is refused" not in daemon.ctl("lists").stdout, "the end of it")

    def test_a_reload_whose_service_collides_refuses_the_row_and_keeps_its_states(self):
        (self.path("failed") / "b").touch()
        daemon = self.start(self.block(f'from file "{self.nodes("a", "b")}" every 1 second')
                            .replace("  if status", f'  group g\n  if status').replace("}\n", f'  check program http_${{NODE}} with path "{self.program} ${{NODE}}"\n'
                                     f'    if status != 0 then exec "{self.told} ${{NODE}}"\n}}\n'))
        self.wait_for(lambda: self.text("told.txt").count("b=b") == 2, "the actions of the row that failed")
        self.assertEqual(daemon.ctl("pause", "http_b").returncode, 0)
        rules = daemon.rules.read_text()
        daemon.write_rules(rules + self.other("ping_b").replace('ping_b"', 'b"'))
        self.assertEqual(daemon.reload().returncode, 0)
        self.assertEqual(self.names(daemon), {"ping_a", "http_a", "ping_b"})
        refused = "the row 'b' is refused: there is a service 'ping_b' already"
        self.wait_for(lambda: self.told_of(daemon, refused), "a word of the row")
        self.assertTrue(self.told_of(daemon, "is kept until it leaves the list"))
        daemon.kill()
        daemon.launch()
        self.assertEqual(self.names(daemon), {"ping_a", "http_a", "ping_b"})
        daemon.write_rules(rules)
        self.assertEqual(daemon.reload().returncode, 0)
        self.wait_for(lambda: self.names(daemon) == {"ping_a", "http_a", "ping_b", "http_b"}, "the row again")
        self.assertIn("paused", daemon.ctl("status", "http_b").stdout)
        self.wait_for(lambda: self.text("pings.txt").count("b=") >= 6, "more runs of it")
        self.assertEqual(self.text("told.txt").count("b=b"), 2)  # it stood failed all the time

    def test_a_syntax_check_judges_with_what_lists_said_last(self):
        daemon = self.collide("a", "collide")
        self.wait_for(lambda: self.names(daemon) == {"a", "collide"}, "the rows")
        saved = daemon.folder / "healer.state.lists"
        self.wait_for(saved.exists, "the file of the lists")
        daemon.write_rules(daemon.rules.read_text() + self.other("collide"))
        done = self.check_syntax(daemon)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warning: the row 'collide' of the list NODE is refused: there is a service 'collide' already", done.stderr)
        self.assertIn("its block is checked with the 2 rows that it had when healerd last read it", done.stderr)
        self.assertEqual(self.check_syntax(daemon, "--strict").returncode, 1)

    def test_a_full_disk_is_told_of_once(self):
        daemon = self.of_file("a")
        self.wait_for(lambda: "proven    yes" in daemon.ctl("lists").stdout, "three readings")
        saved = daemon.folder / "healer.state.lists"
        self.wait_for(saved.exists, "the file of the lists")
        saved.unlink()
        saved.mkdir()  # nothing can be put in its place
        (saved / "in").touch()
        for count in range(4):
            self.nodes("a", *(f"x{i}" for i in range(count + 1)))
            self.wait_for(lambda: f"ping_x{count}" in self.names(daemon), "a change of the list")
        self.wait_for(lambda: "the lists cannot be remembered: " in daemon.log_text(), "a word")
        self.assertEqual(daemon.log_text().count("the lists cannot be remembered: "), 1)
        (saved / "in").unlink()
        saved.rmdir()
        self.nodes("a", "y")
        self.wait_for(lambda: "the lists are remembered again" in daemon.log_text(), "the end of it")

    def test_services_keep_their_states_however_their_list_is_written(self):
        (self.path("failed") / "b").touch()
        daemon = self.start(self.block('in "a", "b"'))
        self.wait_for(lambda: self.text("told.txt") == "b=b\n", "the action of the row that failed")
        self.assertEqual(daemon.ctl("pause", "ping_a").returncode, 0)

        head = daemon.rules.read_text().split("for each", 1)[0]

        def rewrite(source: str) -> None:
            daemon.write_rules(head + self.block(source))
            done = daemon.reload()
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.names(daemon), {"ping_a", "ping_b"})
            runs = self.text("pings.txt").count("b=")
            self.wait_for(lambda: self.text("pings.txt").count("b=") >= runs + 2, "more runs")
            self.assertEqual(self.text("told.txt"), "b=b\n")
            self.assertIn("paused", daemon.ctl("status", "ping_a").stdout)
            self.assertRegex(done.stdout, "nothing has changed|0 added, 0 removed")

        nodes = self.nodes("a", "b")
        daemon.write_rules(head + self.block(f'from file "{nodes}" every 1 hour'))
        self.assertIn("the list NODE was never read: a reload reads it first, and keeps what is known of its services",
                      daemon.ctl("diff").stdout)
        rewrite(f'from file "{nodes}" every 1 hour')
        self.assertIn("proven    no: 1 of 3 equal readings", daemon.ctl("lists").stdout)
        rewrite(f'from command "/bin/cat {nodes}" every 1 hour')
        rewrite('in "b", "a"')
        # Where the new list cannot be read at first, they come back as they were.
        late = self.path("late")
        daemon.write_rules(head + self.block(f'from file "{late}" every 1 second'))
        self.assertEqual(daemon.reload().returncode, 0)
        self.assertEqual(self.names(daemon), set())
        self.assertIn("list NODE cannot be read: ", " ".join(daemon.ask("status")["daemon"]["troubles"]))
        self.assertIn("warning: list NODE cannot be read: ", daemon.ctl("summary").stdout)
        daemon.kill()
        daemon.launch()
        self.assertEqual(self.names(daemon), set())
        late.write_text("a\nb\n")
        late.chmod(0o600)
        self.wait_for_names(daemon, "a", "b")
        self.assertNotIn("cannot be read", daemon.ctl("summary").stdout)
        runs = self.text("pings.txt").count("b=")
        self.wait_for(lambda: self.text("pings.txt").count("b=") >= runs + 2, "more runs")
        self.assertEqual(self.text("told.txt"), "b=b\n")
        self.assertIn("paused", daemon.ctl("status", "ping_a").stdout)

    def test_whatever_is_saved_and_whatever_lists_say_healer_starts(self):
        lot = random.Random(20260712)
        values = ["a", "b", "other", "OTHER", "(", "[", "*", "0", "/x", "", "any", "h_a", "${N}", "b c", "x" * 300]
        names = ["a", "b", "c", "A", "other", "any-NODE", "h_a", "Other", "d.e", "1"]

        def row() -> dict:
            return {"name": lot.choice(names), **{key: lot.choice(values) for key in ("v", "w") if lot.random() < 0.9}}

        def lists() -> str:
            return "".join(lot.choice([json.dumps(row()), lot.choice(names), "$(x)", "{", ""]) + "\n" for _ in range(lot.randrange(1, 8)))

        def damaged(text: str) -> str:
            saved = json.loads(text)
            for one in saved["lists"]:
                memory = one["memory"]
                for _ in range(lot.randrange(4)):
                    new = row()
                    memory["rows"].insert(0, {"name": new.pop("name"), "fields": list(new.items())})
                lot.shuffle(memory["names"])
                memory["missing"] = {lot.choice(names): lot.randrange(5)}
                memory["proven"] = lot.random() < 0.5
                one["read"] = lot.choice([0, -1, 2**62, -2**62, one["read"]])
            whole = json.dumps(saved)
            return lot.choice([whole, whole, whole, whole[:lot.randrange(len(whole))], "", "null", "[]"])

        nodes = self.nodes("a", "b")
        daemon = self.start(
            f'for each NODE from file "{nodes}" every 1 second {{\n'
            f'  check program ${{NODE}} with path "{self.program} ${{NODE}}"\n    if status != 0 then alert\n}}\n'
            f'for each ROW from file "{nodes}" every 1 second {{\n'
            f'  check process h_${{ROW}} matching "${{ROW.v}}"\n    depends on h_${{ROW.w}}\n}}\n' + self.other("other"))
        for _ in range(12):
            fresh = self.path("nodes.new")
            fresh.write_text(lists())
            fresh.chmod(0o600)
            os.replace(fresh, nodes)
            self.wait_for(lambda: "read      not yet" not in daemon.ctl("lists").stdout or "failure" in daemon.ctl("lists").stdout, "readings")
            lot.choice([daemon.kill, daemon.stop])()
            saved = daemon.folder / "healer.state.lists"
            if saved.exists():
                try:
                    text = damaged(saved.read_text())
                except (ValueError, KeyError, TypeError):
                    text = "{}"
                saved.write_text(text)
            daemon.launch()
            self.assertIn("other", self.names(daemon))

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
