# SPDX-License-Identifier: MIT
"""The example cloudify.rules against a manager of Cloudify that is played: nodes that break, executions that run, faults
of the network and of the manager, healerd killed at each step. What the manager was asked to do is counted."""
import http.server
import json
import re
import shutil
import signal
import subprocess
import threading

import cloudify
import support
from far_ends import Answer

EXAMPLES = support.TOP / "rules.d" / "examples"
USER, PASSWORD, TENANT = "heal@er", "pa:ss/word%of cloudify", "default_tenant"
EXECUTIONS = f"{cloudify.API}/executions"
NODES = {"webbox_x1y2z3": "shop", "webbox_p4q5r6": "shop", "webbox_a2b3c4": "blog", "webbox_d5e6f7": "blog"}
NODE = "webbox_x1y2z3"


class Node:
    """What an instance serves: /health, well or not, at an address of its own."""

    def __init__(self, address: str, port: int) -> None:
        self.well = True
        node = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if node.well else 500)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_args) -> None:
                pass

        class Server(http.server.ThreadingHTTPServer):
            allow_reuse_address = True
            daemon_threads = True

        self.server = Server((address, port), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=[0.05])
        self.thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Case(support.Case):
    COOLDOWN = "1 second"

    def setUp(self) -> None:
        super().setUp()
        self.manager = cloudify.Cloudify(USER, PASSWORD, TENANT)
        self.addCleanup(self.manager.stop)
        port = self.own_port()
        self.nodes = {}
        rows = ""
        for number, (name, deployment) in enumerate(NODES.items(), 1):
            address = f"127.0.9.{number}"
            self.nodes[name] = Node(address, port)
            self.addCleanup(self.nodes[name].stop)
            self.manager.add_instance(name, deployment)
            rows += json.dumps({"name": name, "deployment": deployment, "ip": address}) + "\n"
        self.manager.heals = self.mend
        self.place = self.path("cloudify")
        shutil.copytree(EXAMPLES / "cloudify", self.place)
        (self.place / "nodes").write_text(rows)
        secrets = self.path("secrets")
        secrets.mkdir(mode=0o700)
        (secrets / "cloudify").write_text(f"{USER},{PASSWORD},{TENANT}\n")
        (secrets / "cloudify").chmod(0o600)
        self.port = port

    def mend(self, name: str) -> None:
        self.nodes[name].well = True

    def rules(self) -> str:
        """The example as shipped, at this manager, and quicker."""
        text = (EXAMPLES / "cloudify.rules").read_text().partition("  # ---- what the plugin does not have")[0] + "}\n"
        for old, new in (("https://cloudify.example/api/v3.1", self.manager.api), ("/etc/healer/cloudify", str(self.place)),
                         ("port 80 ", f"port {self.port} "), ("port 22 ", f"port {self.port} "),
                         ("cooldown 10 minutes", f"cooldown {self.COOLDOWN}"), ("every 1 minute", "every 1 second"),
                         ("every 10 seconds within", "every 100 ms within"), ("every 10 seconds", "every 1 second"),
                         ("every 30 seconds", "every 1 second")):
            self.assertIn(old, text)
            text = text.replace(old, new)
        return f'set secrets "{self.path("secrets")}"\n' + text

    def watch(self, **how) -> support.Daemon:
        """A daemon that believes the list and has found all well."""
        daemon = self.start(self.rules(), **how)
        self.wait_for(lambda: "proven    yes" in daemon.ctl("lists").stdout, "three readings of the list",
                      detail=lambda: daemon.ctl("lists").stdout)
        self.wait_for(lambda: all(one["state"] == "running" and one["runs"] > 0 for one in daemon.ask("status")["services"]),
                      "the first run of every probe", detail=lambda: daemon.ctl("summary").stdout)
        return daemon

    def texts(self, daemon: support.Daemon, *names: str) -> list[str]:
        return [record["text"] for record in daemon.ask("history", *names, "--lines", "1000")["records"]]

    def wait_told(self, daemon: support.Daemon, words: str, count: int = 1) -> str:
        found = lambda: [text for text in self.texts(daemon) if words in text]  # noqa: E731
        self.wait_for(lambda: len(found()) >= count, f'"{words}" in the history',
                      detail=lambda: "\n".join([*self.texts(daemon), *map(str, self.manager.calls[-20:])]))
        return found()[-1]

    def starts(self) -> int:
        """How many executions of `heal` the manager was asked to start."""
        return self.manager.count("POST", EXECUTIONS)

    def wait_started(self, daemon: support.Daemon, count: int = 1) -> str:
        self.wait_for(lambda: len(self.manager.started()) >= count, f"execution {count} of heal",
                      detail=lambda: "\n".join(self.texts(daemon)))
        return self.manager.started()[count - 1]["id"]

    def more_runs(self, daemon: support.Daemon, count: int) -> None:
        runs = lambda: next(one["runs"] for one in daemon.ask("status", f"http_{NODE}")["services"])  # noqa: E731
        wanted = runs() + count
        self.wait_for(lambda: runs() >= wanted, f"{count} more runs")

    def polls(self, number: str) -> int:
        return self.manager.count("GET", f"{EXECUTIONS}/{number}")

    def shows_no_secret(self, daemon: support.Daemon) -> None:
        shown = "".join(daemon.ctl(*words).stdout for words in (["history"], ["healing", "status"], ["jobs"], ["status"]))
        for place in [path for path in daemon.folder.rglob("*") if path.is_file()]:
            shown += place.read_bytes().decode(errors="replace")
        self.assertNotIn(PASSWORD, shown)
        self.assertNotIn(USER, shown)


class Cloudify(Case):
    def test_an_instance_is_healed_once_and_its_probe_goes_on_when_it_is_well(self):
        daemon = self.watch()
        self.nodes[NODE].well = False
        first = self.wait_started(daemon)
        call, = self.manager.of("POST", EXECUTIONS)
        self.assertEqual(call.json(), {"deployment_id": "shop", "workflow_id": "heal", "parameters": {"node_instance_id": NODE}})
        self.assertEqual((call.login(), call.headers["tenant"]), ((USER, PASSWORD), TENANT))
        # The probe rests: what it finds meanwhile is no reason for another.
        self.wait_for(lambda: self.polls(first) > 3, "questions how far it is")
        self.more_runs(daemon, 5)
        self.assertEqual(self.starts(), 1)
        self.manager.finish(first)
        self.wait_told(daemon, f"healing of {NODE} with heal_instance recovered")
        self.assertEqual(self.starts(), 1)
        # It goes on: the next failure is another one.
        self.nodes[NODE].well = False
        second = self.wait_started(daemon, 2)
        self.manager.finish(second)
        self.wait_told(daemon, f"healing of {NODE} with heal_instance recovered", 2)
        self.assertEqual(self.starts(), 2)
        self.shows_no_secret(daemon)
        # A deployment's history is that of its instances, and of no other.
        shop, blog = self.texts(daemon, "shop"), self.texts(daemon, "blog")
        self.assertTrue(any("recovered" in text for text in shop), shop)
        self.assertEqual([text for text in blog if NODE in text], [])
        self.assertEqual(shop, self.texts(daemon, "-g", "shop"))
        self.assertTrue(any(f"POST http://*****@{self.manager.url[7:]}{EXECUTIONS} answered 201" in text for text in shop), shop)

    def test_while_another_execution_runs_in_its_deployment_the_healing_waits(self):
        daemon = self.watch()
        scaling = self.manager.start("shop", "scale", {})
        self.manager.start("blog", "scale", {})  # another deployment's matters not
        self.nodes[NODE].well = False
        asked = lambda: self.manager.count("GET", EXECUTIONS, lambda call: "started" in call.query.get("status", [])  # noqa: E731
                                           and "workflow_id" not in call.query)
        self.wait_for(lambda: asked() > 3, "questions what runs", detail=lambda: "\n".join(self.texts(daemon)))
        self.assertEqual(self.starts(), 0)
        self.manager.finish(scaling["id"])
        self.manager.finish(self.wait_started(daemon))
        self.wait_told(daemon, f"healing of {NODE} with heal_instance recovered")
        self.assertEqual(self.starts(), 1)

    def test_what_a_person_has_started_is_not_started_again(self):
        daemon = self.watch()
        by_hand = self.manager.start("shop", "heal", {"node_instance_id": NODE})
        self.nodes[NODE].well = False
        self.wait_told(daemon, f"execution {by_hand['id']} heals {NODE} already: it is started")
        self.manager.finish(by_hand["id"])
        self.wait_for(lambda: not daemon.ask("summary", "--failed")["services"], "all to be well")
        self.assertEqual(self.starts(), 0)

    def test_an_instance_that_is_being_built_is_left_alone(self):
        daemon = self.watch()
        self.manager.instances[NODE]["state"] = "creating"
        self.nodes[NODE].well = False
        self.wait_told(daemon, f"{NODE} is creating: it may be one that is still being built")
        self.more_runs(daemon, 5)
        self.assertEqual(self.starts(), 0)

    def test_a_healing_that_is_cancelled_cancels_its_execution(self):
        daemon = self.watch()
        self.nodes[NODE].well = False
        number = self.wait_started(daemon)
        self.wait_for(lambda: self.polls(number) > 1, "questions how far it is")
        one, = daemon.ask("healing", "status")["healings"]
        done = daemon.ctl("cancel", str(one["id"]))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.wait_told(daemon, f"healing of {NODE} with heal_instance cancelled")
        call, = self.manager.of("POST", f"{EXECUTIONS}/{number}")
        self.assertEqual(call.json(), {"deployment_id": "shop", "action": "cancel"})
        self.assertEqual(self.manager.executions[number]["status"], "cancelled")
        self.assertEqual(self.starts(), 1)

    def test_a_person_is_called_when_executions_fail(self):
        daemon = self.watch()
        self.nodes[NODE].well = False
        for count in (1, 2):
            self.manager.finish(self.wait_started(daemon, count), "failed")
        told = self.wait_told(daemon, f"{NODE} of deployment shop could not be healed")
        self.assertIn(NODE, told)
        self.more_runs(daemon, 5)
        self.assertEqual(self.starts(), 2)  # two tries, and no more

    def test_the_deployment_that_was_quicker_refuses_and_the_next_try_starts_it(self):
        daemon = self.watch()
        self.manager.fail("POST", EXECUTIONS, cloudify.refusal(400, "existing_running_execution_error", "another one"))
        self.nodes[NODE].well = False
        self.wait_told(daemon, "answered 400, expected 201")
        self.manager.finish(self.wait_started(daemon))
        self.wait_told(daemon, f"healing of {NODE} with heal_instance recovered")
        self.assertEqual((self.starts(), len(self.manager.started())), (2, 1))

    def test_whatever_the_manager_answers_while_it_runs_it_is_followed_to_its_end(self):
        daemon = self.watch()
        self.nodes[NODE].well = False
        number = self.wait_started(daemon)
        path = f"{EXECUTIONS}/{number}"
        for fault in ({"answer": Answer(503, "<html>Service Unavailable</html>")}, {"answer": Answer(200, "<html>log in</html>")},
                      {"answer": Answer(302, "", {"Location": "/login"})}, {"answer": Answer(200, {"status": None})},
                      {"answer": Answer(401, {"error_code": "unauthorized_error"})}, {"lost": True}, {"refused": True}):
            self.manager.fail("GET", path, **fault)
            before = self.polls(number)
            self.wait_for(lambda: self.polls(number) > before + 1, f"another question after {fault}")
        self.manager.finish(number)
        self.wait_told(daemon, f"healing of {NODE} with heal_instance recovered")
        self.assertEqual(self.starts(), 1)

    def test_where_credentials_are_wrong_the_guard_says_so(self):
        daemon = self.watch()
        self.manager.login = (USER, "changed")
        self.nodes[NODE].well = False
        self.wait_told(daemon, "Cloudify answered 401 for node-instances/" + NODE)
        self.assertEqual(self.starts(), 0)

    def test_a_secret_with_too_few_parts_is_found_before_anything_is_done(self):
        daemon = self.watch()
        (self.path("secrets") / "cloudify").write_text("user,password\n")
        self.nodes[NODE].well = False
        self.wait_told(daemon, "secret cloudify[3]: commas separate only 2 parts in it")
        self.assertEqual(self.starts(), 0)
        done = subprocess.run([support.BUILD / "healerd", "-t", "-c", daemon.rules], capture_output=True, text=True)
        self.assertIn("commas separate only 2 parts in it", done.stderr)


class Patient(Case):
    """The cooldown is long enough that what is in doubt is seen before the next try."""

    COOLDOWN = "6 seconds"

    def test_a_lost_answer_starts_nothing_a_second_time(self):
        daemon = self.watch()
        self.manager.fail("POST", EXECUTIONS, lost=True)
        self.nodes[NODE].well = False
        self.wait_told(daemon, "whether it was done is unknown")
        self.manager.finish(self.wait_started(daemon))
        self.wait_told(daemon, "it recovered between its tries")
        self.assertEqual(self.starts(), 1)

    def test_a_proxy_that_gives_up_starts_nothing_a_second_time(self):
        daemon = self.watch()
        held = self.manager.hold("POST", EXECUTIONS)
        self.manager.fail("POST", EXECUTIONS, Answer(504, "<html>Gateway Time-out</html>"))
        self.nodes[NODE].well = False
        self.wait_for(held.came.is_set, "the call")
        self.manager.start("shop", "heal", {"node_instance_id": NODE})  # behind the proxy
        held.go_on()
        self.wait_told(daemon, "whether it was done is unknown")
        self.manager.finish(self.wait_started(daemon))
        self.wait_told(daemon, "it recovered between its tries")
        self.assertEqual(self.starts(), 1)

    def test_a_lost_answer_whose_execution_still_runs_before_the_next_try_starts_nothing(self):
        daemon = self.watch()
        self.manager.fail("POST", EXECUTIONS, lost=True)
        self.nodes[NODE].well = False
        number = self.wait_started(daemon)
        told = self.wait_told(daemon, f"execution {number} heals {NODE} already")
        self.assertIn("refused", told)
        self.manager.finish(number)
        self.wait_for(lambda: not daemon.ask("summary", "--failed")["services"], "all to be well")
        self.assertEqual(self.starts(), 1)


# Which call healerd waits for when it is killed: it has been done, and is answered when healerd is gone.
KILLED_AT = {
    "guard": ("GET", f"{cloudify.API}/node-instances/{NODE}"),
    "wait": ("GET", f"{cloudify.API}/deployments/shop"),
    "what_runs": ("GET", EXECUTIONS),
    "heal": ("POST", EXECUTIONS),
    "until": ("GET", f"{EXECUTIONS}/e1"),
}


class Killed(Case):
    COOLDOWN = "6 seconds"

    def killed_at(self, *points: str) -> None:
        daemon = self.watch()
        self.manager.hold("GET", EXECUTIONS).go_on()  # the guard's
        held_at = {point: self.manager.hold(*KILLED_AT[point]) for point in points}
        self.nodes[NODE].well = False
        for point, held in held_at.items():
            self.wait_for(held.came.is_set, f"the call of {point}", detail=lambda: "\n".join(self.texts(daemon)))
            daemon.kill(signal.SIGKILL)
            held.go_on()
            daemon.launch()
        self.manager.finish(self.wait_started(daemon))
        self.wait_for(lambda: any(re.search(f"healing of {NODE} with heal_instance (recovered|done|refused)|it recovered between its tries",
                                            text) for text in self.texts(daemon)), "the end of the healing",
                      detail=lambda: "\n".join(self.texts(daemon)))
        self.wait_for(lambda: not daemon.ask("healing", "status")["healings"], "no healing", detail=lambda: str(self.texts(daemon)))
        self.assertEqual((self.starts(), len(self.manager.started())), (1, 1))
        self.shows_no_secret(daemon)

    def test_killed_at_each_question_before_it_begins_it_starts_one_execution(self):
        self.killed_at("guard", "wait", "what_runs")

    def test_killed_while_the_execution_is_started_it_starts_no_second_one(self):
        self.killed_at("heal")

    def test_killed_while_it_follows_the_execution_it_goes_on_following(self):
        self.killed_at("until")

    def test_killed_while_it_verifies_it_recovers(self):
        daemon = self.watch()
        self.manager.heals = lambda name: None  # slow to come up
        self.nodes[NODE].well = False
        self.manager.finish(self.wait_started(daemon))
        self.wait_for(lambda: any('step "heal": ' in text and ", and was done " in text for text in self.texts(daemon)),
                      "the end of the execution", detail=lambda: "\n".join(self.texts(daemon)))
        daemon.kill(signal.SIGKILL)
        daemon.launch()
        self.mend(NODE)
        self.wait_told(daemon, f"healing of {NODE} with heal_instance recovered")
        self.assertEqual(self.starts(), 1)


if __name__ == "__main__":
    support.main()
