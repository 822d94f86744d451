# SPDX-License-Identifier: MIT
"""Hooks and heartbeats over HTTP: by those who send such things, in their own shapes, and over a kill."""
import base64
import collections
import fcntl
import hashlib
import hmac
import http.client
import json
import os
import shutil
import ssl
import subprocess
import threading
import time
import urllib.error
import urllib.request

import support

TOKEN = "a-token-of-a-hook-of-some-length"
SECRET = "whsec_" + base64.b64encode(b"a secret of 24 bytes: 1.").decode()
OTHER_SECRET = "whsec_" + base64.b64encode(b"a secret of 24 bytes: 2.").decode()
PACKAGES = ("standardwebhooks", "cloudevents")
KILLS = 20 if os.environ.get("HEALER_LONG") else 3

# What real services have sent.
ALARM = {"alarm_name": "vm-down", "alarm_id": "44fe", "severity": "critical", "previous": "insufficient data", "current": "alarm",
         "reason": "Event <id=1> hits the query.",
         "reason_data": {"type": "event", "event": {
             "event_type": "compute.instance.update", "message_id": "m", "message_signature": "x",
             "generated": "2026-11-21T04:47:14.915354",
             "traits": [["state", 1, "stopped"], ["instance_id", 1, "i-1"], ["project_id", 1, "p1"]], "raw": {}}}}
AODH = {"User-Agent": "python-requests/2.28.1", "content-type": "application/json", "x-openstack-request-id": "req-1"}


def signed(secret: str, name: str, body: str, when: float | None = None) -> dict:
    sent = str(int(when or time.time()))
    key = base64.b64decode(secret.removeprefix("whsec_"))
    digest = hmac.new(key, f"{name}.{sent}.{body}".encode(), hashlib.sha256).digest()
    return {"webhook-id": name, "webhook-timestamp": sent, "webhook-signature": "v1," + base64.b64encode(digest).decode()}


class Hooks(support.Case):
    def setUp(self) -> None:
        super().setUp()
        self.port = self.own_port()

    def begin(self, rules: str, httpd: str = "allow localhost") -> support.Daemon:
        daemon = self.start(f"set httpd port {self.port} {httpd}\n{rules}")
        self.answers(daemon)
        return daemon

    def answers(self, daemon: support.Daemon) -> None:
        def is_heard() -> bool:
            try:
                return self.send("/hooks/none", b"").status == 404
            except OSError:
                return False
        self.wait_for(is_heard, "an answer over HTTP", detail=daemon.log_text)

    def send(self, path: str, body: bytes | str | dict, headers: dict | None = None, method: str = "POST",
             **how) -> http.client.HTTPResponse:
        """The response, with its body as `text`."""
        data = json.dumps(body).encode() if isinstance(body, dict) else body.encode() if isinstance(body, str) else body
        scheme = "https" if "context" in how else "http"
        request = urllib.request.Request(f"{scheme}://127.0.0.1:{self.port}{path}", data=data, headers=headers or {}, method=method)
        try:
            response = urllib.request.urlopen(request, timeout=support.LIMIT, **how)
        except urllib.error.HTTPError as refused:
            response = refused
        with response:
            response.text = response.read().decode()
        return response

    def events(self, daemon: support.Daemon, name: str = "") -> list[dict]:
        return daemon.ask("events", *([name] if name else []))["events"]

    def judged(self, daemon: support.Daemon, count: int, name: str = "") -> list[dict]:
        """The events, when so many have been judged."""
        self.wait_for(lambda: sum(one["stage"] == "judged" for one in self.events(daemon, name)) >= count, "the events",
                      detail=daemon.told)
        return self.events(daemon, name)

    def node(self, script: str, *arguments: str) -> str:
        if not shutil.which("npm") or not shutil.which("node"):
            self.skipTest("there is no npm")
        folder = support.BUILD / "npm-senders"
        folder.mkdir(exist_ok=True)
        with open(folder / "lock", "w") as lock:  # tests run side by side
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "installed").exists():
                done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", *PACKAGES], cwd=folder,
                                      capture_output=True, text=True, timeout=5 * support.LIMIT)
                if done.returncode != 0:
                    self.skipTest(f"npm installs nothing here: {done.stderr[-300:]}")
                (folder / "installed").touch()
        done = subprocess.run(["node", "-e", script, "--", *arguments], cwd=folder, capture_output=True, text=True,
                              timeout=support.LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.strip()

    # ---- who sends

    def test_messages_of_the_standard_webhooks_library_are_believed(self):
        secrets = self.path("secrets")
        secrets.mkdir(mode=0o700)
        for name, secret in (("new", SECRET), ("old", OTHER_SECRET)):
            (secrets / name).write_text(secret + "\n")
            (secrets / name).chmod(0o600)
        daemon = self.begin(f'''set secrets "{secrets}"
            check event unit_gone with hook "/hooks/units" secret "${{secret:new}}", "${{secret:old}}"
              if json '.unit' = "7" then alert''')
        script = """
            const { Webhook } = require("standardwebhooks");
            const [url, secret, id, ago] = process.argv.slice(1);
            const payload = JSON.stringify({ unit: 7 }), when = new Date(Date.now() - 1000 * Number(ago));
            const headers = { "webhook-id": id, "webhook-timestamp": String(Math.floor(when / 1000)),
                              "webhook-signature": new Webhook(secret).sign(id, when, payload) };
            fetch(url, { method: "POST", body: payload, headers }).then(answer => console.log(answer.status));"""
        url = f"http://127.0.0.1:{self.port}/hooks/units"
        for secret, name, ago, status in ((SECRET, "msg_1", 0, "202"), (OTHER_SECRET, "msg_2", 0, "202"),
                                          (SECRET, "msg_1", 100, "202"), (SECRET, "msg_3", 400, "401"),
                                          ("whsec_" + base64.b64encode(b"x" * 24).decode(), "msg_4", 0, "401")):
            self.assertEqual(self.node(script, url, secret, name, str(ago)), status, (name, daemon.told()))
        known = {one["id"]: one["count"] for one in self.judged(daemon, 2) if one["status"] == 202}
        self.assertEqual(known, {"msg_1": 2, "msg_2": 1})
        # A secret that changes is read anew.
        (secrets / "new").write_text("whsec_" + base64.b64encode(b"x" * 24).decode())
        self.assertEqual(self.node(script, url, "whsec_" + base64.b64encode(b"x" * 24).decode(), "msg_4", "0"), "202")
        self.assertEqual(self.node(script, url, SECRET, "msg_5", "0"), "401")
        # Of those who were kept out people find one a minute.
        self.assertRegex(daemon.ctl("events").stdout, r"401 refused: its webhook-timestamp is 6 m \d+ s behind the time here")

    def test_events_of_the_cloudevents_library_are_read(self):
        daemon = self.begin(f'''check event unit_gone with hook "/hooks/units" token "{TOKEN}" format cloudevents
              if json '.data.unit' = 7 then alert''')
        script = """
            const { CloudEvent, HTTP } = require("cloudevents");
            const [url, token, mode, id] = process.argv.slice(1);
            const event = new CloudEvent({ id, source: "/cloud/units", type: "unit.gone", subject: "ünit", data: { unit: 7 } });
            const message = HTTP[mode](event);
            fetch(url, { method: "POST", body: message.body, headers: { ...message.headers, authorization: `Bearer ${token}` } })
              .then(answer => console.log(answer.status));"""
        url = f"http://127.0.0.1:{self.port}/hooks/units"
        for mode in ("binary", "structured"):
            for _ in range(2):
                self.assertEqual(self.node(script, url, TOKEN, mode, mode), "202", daemon.told())
        self.assertEqual(self.node(script, url, "another", "binary", "3"), "401")
        events = [one for one in self.judged(daemon, 2) if one["status"] == 202]
        self.assertEqual([(one["id"], one["count"]) for one in events],
                         [("/cloud/units binary", 2), ("/cloud/units structured", 2)])
        handshake = self.send(f"/hooks/units?token={TOKEN}", b"", {"WebHook-Request-Origin": "cloud.example"}, "OPTIONS")
        self.assertEqual((handshake.status, handshake.headers["WebHook-Allowed-Origin"], handshake.headers["Allow"]),
                         (200, "cloud.example", "OPTIONS, POST"))

    def test_alerts_of_a_real_alertmanager_are_events(self):
        program = shutil.which("prometheus-alertmanager")
        if program is None:
            self.skipTest("there is no prometheus-alertmanager")
        daemon = self.begin(f'''check event alerts with hook "/hooks/alerts" token "{TOKEN}" format alertmanager
              if json '.labels.severity' = "page" then alert''')
        port = self.own_port()
        settings = self.path("alertmanager.yml")
        settings.write_text(f"""
route: {{receiver: healer, group_by: [alertname], group_wait: 0s, group_interval: 1s, repeat_interval: 1h}}
receivers:
- name: healer
  webhook_configs:
  - url: http://127.0.0.1:{self.port}/hooks/alerts
    http_config: {{authorization: {{credentials: {TOKEN}}}}}
""")
        server = subprocess.Popen([program, f"--config.file={settings}", f"--storage.path={self.path('alertmanager')}",
                                   f"--web.listen-address=127.0.0.1:{port}", "--cluster.listen-address="],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def raise_alerts(ends: str | None = None) -> bool:
            alerts = [{"labels": {"alertname": "Down", "instance": name, "severity": "page"}, **({"endsAt": ends} if ends else {})}
                      for name in ("a", "b")]
            request = urllib.request.Request(f"http://127.0.0.1:{port}/api/v2/alerts", data=json.dumps(alerts).encode(),
                                             headers={"Content-Type": "application/json"})
            try:
                return urllib.request.urlopen(request, timeout=support.LIMIT).status == 200
            except OSError:
                return False
        try:
            self.wait_for(raise_alerts, "Alertmanager")
            events = self.judged(daemon, 2)
            self.assertEqual([one["state"] for one in events], ["firing"] * 2)
            self.assertEqual(len({one["id"] for one in events}), 2)
            self.assertTrue(raise_alerts(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())))
            events = self.judged(daemon, 4)
            self.assertEqual(sorted(one["state"] for one in events), ["firing"] * 2 + ["resolved"] * 2)
        finally:
            server.kill()
            server.wait()

    def test_an_alarm_heals_once_however_often_and_by_whichever_way_it_comes(self):
        healed = self.path("healed")
        guard = self.script("guard", "exit 0")
        rebuild = self.script("rebuild", f'echo "$HEALER_TARGET $HEALER_EVENT_INSTANCE_ID" >> {healed}')
        rules = f'''
            workflow rebuild {{
              guard program "{guard}"
              step "rebuild" program "{rebuild}"
              cooldown 1 second
            }}
            check event direct with hook "/hooks/aodh" token "{TOKEN}" format aodh within 10 minutes
              if json '.current' = "alarm" then heal "${{EVENT.instance_id}}" with rebuild any target
            check event queue with hook "/hooks/zaqar" token "{TOKEN}" format zaqar within 10 minutes
              if json '.current' = "alarm" then heal "${{EVENT.instance_id}}" with rebuild any target
            '''
        daemon = self.begin(rules)
        for _ in range(3):
            self.assertEqual(self.send(f"/hooks/aodh?token={TOKEN}", ALARM, AODH).status, 202, daemon.told())
        self.wait_for(healed.exists, "the healing", detail=daemon.told)
        daemon.kill()
        daemon.launch()
        self.answers(daemon)
        self.assertEqual(self.send(f"/hooks/aodh?token={TOKEN}", ALARM, AODH).status, 202)
        self.judged(daemon, 1)
        self.assertEqual([(one["id"], one["state"], one["count"]) for one in self.events(daemon, "direct")],
                         [("44fe", "alarm", 4)])
        message = {"ttl": 300, "body": {**ALARM, "alarm_id": "55aa"}, "Message_Type": "Notification", "queue_name": "heal"}
        message["body"]["reason_data"] = json.loads(json.dumps(ALARM["reason_data"]).replace("i-1", "i-2"))
        for ttl in (300, 200):
            message["ttl"] = ttl  # another message, of the same alarm
            self.assertEqual(self.send(f"/hooks/zaqar?token={TOKEN}", message, AODH).status, 202)
        self.wait_for(lambda: self.lines("healed") == 2, "the second healing", detail=daemon.told)
        self.assertEqual(healed.read_text(), "i-1 i-1\ni-2 i-2\n")
        # It lacks what the rules ask for.
        self.assertEqual(self.send(f"/hooks/aodh?token={TOKEN}", {"alarm_id": "66", "current": "alarm"}, AODH).status, 422)

    def test_what_a_stranger_or_a_mistake_sends_is_answered_by_its_status(self):
        daemon = self.begin(f'''check event units with hook "/hooks/units" token "{TOKEN}" key json '.id' state json '.state'
              if json '.state' = "gone" then alert''')
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        for path, body, headers, method, status in (
                ("/hooks/units", {"id": 1, "state": "gone"}, bearer, "POST", 202),
                ("/hooks/units", "{", bearer, "POST", 400),
                ("/hooks/units", {"id": 1, "state": "gone"}, {}, "POST", 401),
                ("/hooks/other", {"id": 1, "state": "gone"}, bearer, "POST", 404),
                ("/hooks/units", b"", bearer, "PUT", 405),
                ("/hooks/units", b" " * (1 << 20) + b"{}", bearer, "POST", 413),
                ("/hooks/units", {"state": "gone"}, bearer, "POST", 422)):
            response = self.send(path, body, headers, method)
            self.assertEqual(response.status, status, (path, body if len(body) < 100 else "", response.text))
        self.assertEqual(self.send("/hooks/units", b"", bearer, "GET").headers["Allow"], "POST")
        shown = {one["status"]: one for one in self.events(daemon)}
        self.assertEqual(set(shown), {202, 400, 401, 422})
        self.assertEqual((shown[202]["id"], shown[202]["state"], shown[202]["sender"]), ("1", "gone", "127.0.0.1"))
        # The token is nowhere to be seen.
        self.assertNotIn(TOKEN, daemon.told() + daemon.ctl("events").stdout + daemon.ctl("status").stdout)

    def test_a_subscription_of_zaqar_is_shown_with_the_call_that_confirms_it(self):
        daemon = self.begin(f'check event queue with hook "/hooks/zaqar" token "{TOKEN}" format zaqar\n'
                            "  if more than 5 events within 1 minute then alert\n")
        body = {"Message_Type": "SubscriptionConfirmation", "Message": "You have chosen to subscribe to the queue: heal",
                "URL-Signature": "6a63", "URL-Methods": "PUT", "URL-Paths": "/v2/queues/heal/subscriptions/s1/confirm",
                "X-Project-ID": "p1", "URL-Expires": "2030-01-01T00:00:00", "SubscribeBody": {"confirmed": True},
                "WSGISubscribeURL": "http://127.0.0.1:8888/v2/queues/heal/subscriptions/s1/confirm"}
        self.assertEqual(self.send(f"/hooks/zaqar?token={TOKEN}", body).status, 202)
        self.assertIn("-H 'URL-Signature: 6a63'", daemon.ctl("events").stdout)
        self.assertEqual([one["stage"] for one in self.events(daemon)], ["dropped"])

    def test_a_certificate_of_a_client_lets_it_send(self):
        def certificate(name: str) -> str:
            path = str(self.path(name))
            subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", path, "-out", f"{path}.crt",
                            "-days", "2", "-subj", f"/CN={name}"], check=True, capture_output=True)
            with open(path, "a") as whole, open(f"{path}.crt") as made:
                whole.write(made.read())
            os.chmod(path, 0o600)
            return path
        own, aodh, other = certificate("localhost"), certificate("aodh"), certificate("other")
        clients = self.path("clients.pem")
        clients.write_text(open(f"{aodh}.crt").read() + open(f"{other}.crt").read())
        shown = subprocess.run(["openssl", "x509", "-noout", "-fingerprint", "-sha256", "-in", f"{other}.crt"], check=True,
                               capture_output=True, text=True).stdout.split("=")[1].strip()
        daemon = self.start(f'''set httpd port {self.port}
              with ssl {{ pemfile: {own} clientpemfile: {clients} }}
              allow localhost
            check event by_name with hook "/hooks/name" certificate "aodh"
              if more than 5 events within 1 minute then alert
            check event by_hash with hook "/hooks/hash" certificate "sha256:{shown}"
              if more than 5 events within 1 minute then alert
            check heartbeat backup every 1 day within 1 hour certificate "aodh"
              if missed then alert''')

        def of(client: str) -> ssl.SSLContext:
            context = ssl.create_default_context(cafile=f"{own}.crt")
            context.check_hostname = False
            context.load_cert_chain(client)
            return context

        def is_heard() -> bool:
            try:
                return self.send("/hooks/none", b"", context=of(aodh)).status == 404
            except OSError:
                return False
        self.wait_for(is_heard, "TLS", detail=daemon.told)
        for path, client, status in (("/hooks/name", aodh, 202), ("/hooks/name", other, 401), ("/hooks/hash", other, 202),
                                     ("/hooks/hash", aodh, 401), ("/beat/backup", aodh, 200), ("/beat/backup", other, 401)):
            self.assertEqual(self.send(path, {"from": client}, context=of(client)).status, status, (path, client))
        self.assertEqual([one["sender"] for one in self.events(daemon) if one["status"] == 202], ["aodh", "other"])

    # ---- heartbeats

    def test_a_job_beats_by_curl(self):
        daemon = self.begin(f'''check heartbeat backup every 1 day within 1 hour token "{TOKEN}"
              if failed then alert
            check heartbeat here every 1 day within 1 hour
              if failed then alert''')

        def curl(*words: str) -> str:
            return subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", *words], capture_output=True, text=True,
                                  timeout=support.LIMIT).stdout
        url = f"http://127.0.0.1:{self.port}/beat"
        self.assertEqual(curl(f"{url}/backup/start?token={TOKEN}"), "200")
        self.assertEqual(curl("-H", f"Authorization: Bearer {TOKEN}", "-d", "no space left", f"{url}/backup/3"), "200")
        state = daemon.ask("status", "backup")["services"][0]
        self.assertEqual((state["heartbeat"]["status"], state["heartbeat"]["text"], state["state"]), (3, "no space left", "failed"))
        self.assertEqual(curl(f"{url}/backup?token={TOKEN}"), "200")
        self.assertEqual(daemon.ask("status", "backup")["services"][0]["state"], "running")
        self.assertEqual([curl(f"{url}/backup"), curl(f"{url}/backup?token=x"), curl(f"{url}/here/fail"), curl("-X", "PUT", f"{url}/here"),
                          curl(f"{url}/here/256"), curl("-d", "x" * 4097, f"{url}/here")],
                         ["401", "401", "200", "405", "404", "413"])
        self.assertEqual(daemon.ask("status", "here")["services"][0]["heartbeat"]["word"], "fail")

    # ---- over a kill

    def test_what_was_answered_202_is_kept_and_acted_on_once_over_kills(self):
        acted = self.path("acted")
        act = self.script("act", f'echo "$1 $HEALER_EVENT_ID" >> {acted}')
        daemon = self.begin(f'''check event units with hook "/hooks/units" token "{TOKEN}" key json '.id' within 1 hour
              if json '.id' != "" then exec "{act} ${{EVENT.id}}"''')
        answered: set[str] = set()
        sent = 0
        for _ in range(KILLS):
            enough = threading.Event()
            lock = threading.Lock()

            def play() -> None:
                nonlocal sent
                while not enough.is_set():
                    with lock:
                        sent += 1
                        name = f"u{sent // 4}"  # each comes four times
                    try:
                        if self.send(f"/hooks/units?token={TOKEN}", {"id": name}).status == 202:
                            with lock:
                                answered.add(name)
                    except (OSError, http.client.HTTPException):
                        pass

            players = [threading.Thread(target=play) for _ in range(4)]
            before = len(answered)
            for player in players:
                player.start()
            self.wait_for(lambda: len(answered) >= before + 15, "events", detail=daemon.told)
            daemon.kill()
            enough.set()
            for player in players:
                player.join()
            daemon.launch()
            self.answers(daemon)
        self.wait_for(lambda: not any(one["stage"] == "waiting" for one in self.events(daemon)), "all to be judged",
                      detail=daemon.told)
        self.assertLessEqual(answered, {one["id"] for one in self.events(daemon)})
        self.wait_for(lambda: not daemon.ask("status", "units")["services"][0]["events"]["waiting"], "all programs")

        def done() -> collections.Counter:
            return collections.Counter(line.split()[0] for line in acted.read_text().splitlines())
        # A program that a kill may have interrupted is not run again; every other event is acted on once.
        self.wait_for(lambda: len(answered - set(done())) <= KILLS, "the programs", detail=lambda: str(answered - set(done())))
        self.assertEqual([name for name, times in done().items() if times > 1], [])


if __name__ == "__main__":
    support.main()
