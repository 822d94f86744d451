# SPDX-License-Identifier: MIT
"""The example openstack-heat.rules against services of OpenStack that are played: a server that has gone, faults of the
network and of the services, healerd killed at each step. What the services were asked to do is counted."""
import json
import shutil
import signal
import urllib.error
import urllib.request

import openstack
import support
from far_ends import Answer
from openstack import EXECUTIONS, FULL, TOKENS

EXAMPLES = support.TOP / "rules.d" / "examples"
USER, PASSWORD = "healer", "pa55word-of-keystone"
UNIT, SERVER = "unit1", "i-unit1-1"
TOKENS_OF_HOOKS = {"aodh": "token-of-the-hook-of-aodh", "zaqar": "token-of-the-hook-of-zaqar"}


def alarm(server: str, number: str = "44fe5c1c", current: str = "alarm") -> dict:
    """As aodh-notifier sends it."""
    return {"alarm_name": "vm-down", "alarm_id": number, "severity": "critical", "previous": "insufficient data", "current": current,
            "reason": "Event <id=b3,event_type=compute.instance.update> hits the query <query=[]>.",
            "reason_data": {"type": "event", "event": {
                "event_type": "compute.instance.update", "message_id": "b3", "message_signature": "x",
                "generated": "2026-11-21T04:47:14.915354",
                "traits": [["state", 1, "stopped"], ["instance_id", 1, server], ["project_id", 1, "p1"]], "raw": {}}}}


class Case(support.Case):
    WORKFLOW = "rebuild_unit"
    COOLDOWN = "1 second"

    def setUp(self) -> None:
        super().setUp()
        self.cloud = openstack.OpenStack(USER, PASSWORD, ("unit1", "unit2", "unit3"))
        self.addCleanup(self.cloud.stop)
        self.place = self.path("openstack-heat")
        shutil.copytree(EXAMPLES / "openstack-heat", self.place)
        auth = self.place / "auth.json"
        auth.write_text(auth.read_text().replace("CHANGE-ME", PASSWORD))
        auth.chmod(0o600)
        secrets = self.path("secrets")
        secrets.mkdir(mode=0o700)
        for name, token in TOKENS_OF_HOOKS.items():
            (secrets / name).write_text(token)
            (secrets / name).chmod(0o600)
        self.port = self.own_port()

    def example(self) -> str:
        """As shipped, at these services, and quicker."""
        text = (EXAMPLES / "openstack-heat.rules").read_text()
        for old, new in (("set httpd port 2812 use", f"set httpd port {self.port} use"), ("https://nova.example:8774", self.cloud.url),
                         ("https://keystone.example:5000", self.cloud.url),
                         ("https://heat.example:8004", self.cloud.url), ("https://mistral.example:8989", self.cloud.url),
                         ("/etc/healer/openstack-heat", str(self.place)), ("cooldown 10 minutes", f"cooldown {self.COOLDOWN}"),
                         ("every 10 seconds", "every 100 ms"), ("every 5 seconds", "every 100 ms")):
            self.assertIn(old, text)
            text = text.replace(old, new)
        return text

    def watch(self, **how) -> support.Daemon:
        """A daemon whose hooks listen."""
        rules = self.example().replace("with rebuild_unit any target", f"with {self.WORKFLOW} any target")
        daemon = self.start(f'set secrets "{self.path("secrets")}"\n{rules}', **how)
        self.wait_hooks(daemon)
        return daemon

    def wait_hooks(self, daemon: support.Daemon) -> None:
        def listens() -> bool:
            try:
                return self.tell("none", {}) == 404
            except OSError:
                return False
        self.wait_for(listens, "an answer over HTTP", detail=daemon.log_text)

    def tell(self, hook: str, body: dict) -> int:
        """The status of the answer."""
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}/hooks/{hook}?token={TOKENS_OF_HOOKS.get(hook)}",
                                       data=json.dumps(body).encode(), headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(asked, timeout=support.LIMIT) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code

    def sound_alarm(self, server: str = SERVER, **how) -> None:
        self.assertEqual(self.tell("aodh", alarm(server, **how)), 202)

    def break_unit(self) -> None:
        self.cloud.servers[SERVER] = "SHUTOFF"
        self.sound_alarm()

    def texts(self, daemon: support.Daemon) -> list[str]:
        return [record["text"] for record in daemon.ask("history", "--lines", "1000")["records"]]

    def wait_told(self, daemon: support.Daemon, words: str) -> str:
        found = lambda: next((text for text in self.texts(daemon) if words in text), None)  # noqa: E731
        return self.wait_for(found, f'"{words}" in the history',
                             detail=lambda: "\n".join([*self.texts(daemon), *map(str, self.cloud.calls[-20:])]))

    def wait_until(self, daemon: support.Daemon, condition, what: str) -> None:
        self.wait_for(condition, what, detail=lambda: "\n".join(self.texts(daemon)))

    def updates(self) -> int:
        return self.cloud.count("PATCH", FULL)

    def marks(self) -> int:
        return self.cloud.count("PATCH", f"{FULL}/resources/*")

    def polls(self) -> int:
        return self.cloud.count("GET", FULL)

    def wait_updating(self, daemon: support.Daemon, count: int = 1) -> None:
        self.wait_until(daemon, lambda: self.updates() >= count, f"update {count} of the stack")

    def wait_polled(self, daemon: support.Daemon, more: int = 2) -> None:
        wanted = self.polls() + more
        self.wait_until(daemon, lambda: self.polls() >= wanted, "questions how far it is")

    def only_that_unit_was_replaced(self) -> None:
        self.assertNotEqual(self.cloud.server_of(UNIT), SERVER)
        self.assertEqual([self.cloud.server_of(unit) for unit in ("unit2", "unit3")], ["i-unit2-1", "i-unit3-1"])

    def shows_no_secret(self, daemon: support.Daemon) -> None:
        shown = "".join(daemon.ctl(*words).stdout for words in (["history"], ["healing", "status"], ["jobs"], ["status"]))
        for place in [path for path in daemon.folder.rglob("*") if path.is_file()]:
            shown += place.read_bytes().decode(errors="replace")
        for secret in (PASSWORD, "gAAAAAB", *TOKENS_OF_HOOKS.values()):
            self.assertNotIn(secret, shown)


class Heat(Case):
    def test_a_unit_whose_server_has_gone_is_replaced_and_no_other(self):
        daemon = self.watch()
        self.break_unit()
        self.wait_updating(daemon)
        mark, = self.cloud.of("PATCH", f"{FULL}/resources/{UNIT}")
        self.assertTrue(mark.json()["mark_unhealthy"])
        self.assertEqual(self.cloud.resources[UNIT]["resource_status"], "CHECK_FAILED")
        self.wait_polled(daemon)
        self.cloud.finish()
        self.wait_told(daemon, f"healing of {SERVER} with rebuild_unit done")
        self.only_that_unit_was_replaced()
        self.assertEqual((self.marks(), self.updates()), (1, 1))
        self.shows_no_secret(daemon)

    def test_the_same_alarm_again_and_by_the_queue_is_one_healing(self):
        daemon = self.watch()
        self.break_unit()
        self.sound_alarm()
        self.assertEqual(self.tell("zaqar", {"ttl": 300, "body": alarm(SERVER), "Message_Type": "Notification", "queue_name": "heal"}), 202)
        self.wait_updating(daemon)
        self.sound_alarm(number="another-alarm-on-the-same-server")
        self.wait_polled(daemon)
        self.cloud.finish()
        self.wait_told(daemon, f"healing of {SERVER} with rebuild_unit done")
        self.sound_alarm()
        came = {(one["service"], one["id"]): one["count"] for one in daemon.ask("events")["events"]}
        self.assertEqual(sorted(came.values()), [1, 1, 3], came)
        self.assertIn(("unit_gone", "another-alarm-on-the-same-server"), came)
        cycles = lambda: daemon.ask("summary")["daemon"]["cycles"]  # noqa: E731
        wanted = cycles() + 4
        self.wait_for(lambda: cycles() >= wanted, "some more cycles")
        self.assertEqual((self.marks(), self.updates()), (1, 1))

    def test_an_alarm_that_has_ended_and_who_has_no_token_heal_nothing(self):
        daemon = self.watch()
        self.cloud.servers[SERVER] = "SHUTOFF"
        self.sound_alarm(current="ok")
        asked = urllib.request.Request(f"http://127.0.0.1:{self.port}/hooks/aodh", data=json.dumps(alarm(SERVER)).encode())
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(asked, timeout=support.LIMIT)
        self.assertEqual(refused.exception.code, 401)
        self.wait_until(daemon, lambda: daemon.ask("events")["events"], "the events")
        self.assertEqual((daemon.ask("healing", "status")["healings"], self.marks(), self.updates()), ([], 0, 0))

    def test_a_server_that_is_well_again_is_left_alone(self):
        daemon = self.watch()
        self.sound_alarm()
        self.wait_told(daemon, f"refused by its guard: exited with status 1: {SERVER} is ACTIVE")
        self.assertEqual((self.marks(), self.updates()), (0, 0))

    def test_an_alarm_about_what_was_replaced_already_does_nothing(self):
        daemon = self.watch()
        self.cloud.resources[UNIT]["physical_resource_id"] = "i-unit1-7"
        self.break_unit()
        self.wait_told(daemon, f"{SERVER} is no unit of the stack, or not any more")
        self.assertEqual((self.marks(), self.updates()), (0, 0))

    def test_an_update_that_runs_is_waited_for(self):
        daemon = self.watch()
        self.cloud.stack_status = "UPDATE_IN_PROGRESS"
        self.break_unit()
        self.wait_polled(daemon, 3)
        self.assertEqual((self.marks(), self.updates()), (0, 0))
        self.cloud.finish()
        self.wait_updating(daemon)
        self.cloud.finish()
        self.wait_told(daemon, f"healing of {SERVER} with rebuild_unit done")
        self.only_that_unit_was_replaced()

    def test_an_update_that_another_was_quicker_with_is_tried_again_after_it(self):
        daemon = self.watch()
        self.cloud.legacy = True
        marked = self.cloud.hold("PATCH", f"{FULL}/resources/*")
        self.break_unit()
        self.wait_until(daemon, marked.came.is_set, "the mark")
        self.cloud.stack_status = "UPDATE_IN_PROGRESS"  # a person's
        marked.go_on()
        self.wait_told(daemon, "answered 409, expected 202")
        self.wait_polled(daemon, 3)
        self.cloud.stack_status = "UPDATE_COMPLETE"
        self.wait_updating(daemon, 2)
        self.cloud.finish()
        self.wait_told(daemon, f"healing of {SERVER} with rebuild_unit done")
        self.only_that_unit_was_replaced()

    def test_whatever_heat_answers_while_it_updates_it_is_followed_to_its_end(self):
        daemon = self.watch()
        self.break_unit()
        self.wait_updating(daemon)
        for fault in ({"answer": Answer(503, "<html>503 Service Unavailable</html>")}, {"answer": Answer(200, openstack.ACCEPTED)},
                      {"answer": Answer(302, "<html>302 Found</html>", {"Location": self.cloud.url + FULL})},
                      {"answer": Answer(200, {"stack": None})}, {"answer": Answer(500, {"error": "x"})}, {"lost": True},
                      {"refused": True}):
            self.cloud.fail("GET", FULL, **fault)
            self.wait_polled(daemon)
        self.cloud.finish()
        self.wait_told(daemon, f"healing of {SERVER} with rebuild_unit done")
        self.assertEqual((self.marks(), self.updates()), (1, 1))

    def test_keystone_and_heat_may_be_away_for_a_while(self):
        daemon = self.watch()
        busy = Answer(503, "<html>503 Service Unavailable</html>")
        self.cloud.hold("GET", f"{FULL}/resources").go_on()  # the guard's first
        self.break_unit()
        self.wait_until(daemon, lambda: self.cloud.count("GET", "/v2.1/servers/*") > 0, "the guard's look at the server")
        self.cloud.fail("PATCH", f"{FULL}/resources/*", busy, times=2)
        self.wait_updating(daemon)
        self.cloud.finish()
        self.wait_told(daemon, f"healing of {SERVER} with rebuild_unit done")
        self.assertEqual((self.marks(), self.updates()), (3, 1))

    def test_where_keystone_refuses_the_guard_says_so(self):
        daemon = self.watch()
        self.cloud.login = (USER, "changed")
        self.break_unit()
        self.wait_told(daemon, "refused by its guard: exited with status 1: Keystone answered 401")
        self.assertEqual((self.marks(), self.updates()), (0, 0))

    def test_an_update_that_fails_is_told_to_a_person(self):
        daemon = self.watch()
        self.break_unit()
        for count in (1, 2):
            self.wait_updating(daemon, count)
            self.cloud.finish("UPDATE_FAILED")
        self.wait_told(daemon, f"the unit of server {SERVER} could not be replaced")
        self.assertEqual(self.updates(), 2)


class Doubt(Case):
    COOLDOWN = "6 seconds"

    def test_a_lost_answer_to_the_update_begins_no_second_one(self):
        daemon = self.watch()
        self.cloud.fail("PATCH", FULL, lost=True)
        self.break_unit()
        self.wait_told(daemon, "whether it was done is unknown")
        self.cloud.finish()
        self.wait_told(daemon, f"{SERVER} is no unit of the stack, or not any more")
        self.only_that_unit_was_replaced()
        self.assertEqual(self.updates(), 1)

    def killed_at(self, *points: tuple[str, str, int]) -> None:
        """Each a call and which of them healerd waits for when it is killed."""
        daemon = self.watch()
        held_at = []
        for method, path, number in points:
            for _ in range(number - 1):
                self.cloud.hold(method, path).go_on()
            held_at.append(self.cloud.hold(method, path))
        self.break_unit()
        for held in held_at:
            self.wait_until(daemon, held.came.is_set, f"{held.method} {held.path}")
            daemon.kill(signal.SIGKILL)
            held.go_on()
            daemon.launch()
        self.wait_updating(daemon)
        self.cloud.finish()
        self.wait_until(daemon, lambda: not daemon.ask("healing", "status")["healings"], "the end of the healing")
        self.only_that_unit_was_replaced()
        self.assertEqual(self.updates(), 1)
        self.shows_no_secret(daemon)

    def test_killed_while_its_guard_asks_it_asks_anew(self):
        self.killed_at(("POST", TOKENS, 1), ("GET", f"{FULL}/resources", 1), ("GET", "/v2.1/servers/*", 1))

    def test_killed_before_the_update_it_goes_on(self):
        self.killed_at(("POST", TOKENS, 2), ("GET", f"{FULL}/resources", 2), ("GET", FULL, 1), ("PATCH", f"{FULL}/resources/*", 1))

    def test_killed_while_the_update_is_asked_for_it_asks_for_no_second_one(self):
        self.killed_at(("PATCH", FULL, 1))

    def test_killed_while_it_follows_the_update_it_goes_on_following(self):
        self.killed_at(("GET", FULL, 2), ("GET", FULL, 1), ("GET", FULL, 3))


class Mistral(Case):
    WORKFLOW = "rebuild_by_mistral"

    def wait_execution(self, daemon: support.Daemon) -> str:
        self.wait_until(daemon, lambda: self.cloud.executions, "an execution")
        return next(iter(self.cloud.executions))

    def test_an_execution_is_started_followed_and_verified(self):
        daemon = self.watch()
        self.break_unit()
        number = self.wait_execution(daemon)
        call, = self.cloud.of("POST", EXECUTIONS)
        self.assertEqual(call.json(), {"id": number, "workflow_name": "heal_unit", "input": {"server": SERVER}})
        self.cloud.end_execution(number)
        self.wait_told(daemon, f"healing of {SERVER} with rebuild_by_mistral done")
        self.only_that_unit_was_replaced()

    def test_a_lost_answer_is_asked_for_again_and_is_one_execution(self):
        daemon = self.watch()
        self.cloud.fail("POST", EXECUTIONS, lost=True)
        self.break_unit()
        self.wait_until(daemon, lambda: self.cloud.count("POST", EXECUTIONS) == 2, "the call once more")
        self.assertEqual(len(self.cloud.executions), 1)
        self.cloud.end_execution(self.wait_execution(daemon))
        self.wait_told(daemon, f"healing of {SERVER} with rebuild_by_mistral done")
        self.assertEqual(len(self.cloud.executions), 1)

    def test_killed_while_it_starts_the_execution_it_is_one_execution(self):
        daemon = self.watch()
        held = self.cloud.hold("POST", EXECUTIONS)
        self.break_unit()
        self.wait_until(daemon, held.came.is_set, "the call")
        daemon.kill(signal.SIGKILL)
        held.go_on()
        daemon.launch()
        self.wait_until(daemon, lambda: self.cloud.count("POST", EXECUTIONS) == 2, "the call once more")
        first, second = (json.loads(call.text)["id"] for call in self.cloud.of("POST", EXECUTIONS))
        self.assertEqual(first, second)
        self.cloud.end_execution(first)
        self.wait_told(daemon, f"healing of {SERVER} with rebuild_by_mistral done")
        self.assertEqual(len(self.cloud.executions), 1)

    def test_a_healing_that_is_cancelled_cancels_the_execution(self):
        daemon = self.watch()
        self.break_unit()
        number = self.wait_execution(daemon)
        self.wait_until(daemon, lambda: self.cloud.count("GET", f"{EXECUTIONS}/{number}") > 1, "questions how far it is")
        one, = daemon.ask("healing", "status")["healings"]
        self.assertEqual(daemon.ctl("cancel", str(one["id"])).returncode, 0)
        self.wait_told(daemon, f"healing of {SERVER} with rebuild_by_mistral cancelled")
        self.assertEqual(self.cloud.executions[number]["state"], "CANCELLED")


if __name__ == "__main__":
    support.main()
