# SPDX-License-Identifier: MIT
"""What healer tells Prometheus, judged by promtool, scraped by a real Prometheus; and the alerts and the dashboard that
are shipped for it."""
import http.client
import json
import re
import shutil
import subprocess
import urllib.parse
import xml.etree.ElementTree

import support

SHIPPED = support.TOP / "packaging" / "prometheus"
# Words of queries that are no names of metrics.
FUNCTIONS = {"sum", "by", "rate", "increase", "changes", "histogram_quantile", "count", "and", "or", "vector", "le",
             "label_values"}


def names_in(text: str) -> set[str]:
    """The families that an exposition tells of, with the names of a histogram's samples."""
    return set(re.findall(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?=[{ ])", text, re.M))


def names_asked(query: str) -> set[str]:
    """The names of metrics in a query of Prometheus, or of a variable of Grafana."""
    query = re.sub(r'"[^"]*"', '""', query)
    query = re.sub(r"\b(by|without|on|ignoring) *\([^)]*\)", " ", query)
    query = re.sub(r"label_values\(([^,{]*)(\{[^}]*\})?,[^)]*\)", r"\1", query)
    query = re.sub(r"\{[^}]*\}|\[[^\]]*\]", " ", query)
    return set(re.findall(r"\b[a-zA-Z_][a-zA-Z0-9_]*\b", query)) - FUNCTIONS


def queries_of(panel: dict) -> list[str]:
    return [target["expr"] for target in panel.get("targets", [])]


class Metrics(support.Case):
    def need(self, *programs: str) -> None:
        for program in programs:
            if not shutil.which(program):
                self.skipTest(f"{program} is not installed")

    def serve(self) -> support.Daemon:
        """A healer with services of several kinds, of which some fail, workflows and a contact."""
        self.port = self.own_port()
        failing = self.statuses("failing", [1])
        (self.folder / "file").write_text("something")
        return self.start(f"""
            set httpd port {self.port} and use address 127.0.0.1 allow 127.0.0.1
            set contact wall url "http://127.0.0.1:{self.own_port()}/"
            set alert to wall
            workflow rebuild {{
              step "rebuild" program "/bin/true"
              cooldown 20 minutes
            }}
            workflow ask {{
              approval within 2 hours else skip
              step "rebuild" program "/bin/true"
            }}
            check program good with path "/bin/true" if status != 0 then alert
            check program 'odd "name"' with path "{failing}" if status != 0 then heal with ask
            check program sick with path "{failing}" if status != 0 then heal with rebuild
            check file data with path "{self.folder}/file" if size > 1 MB then alert
            check filesystem root with path / if space usage > 99.9% then alert
            check network lo with interface lo if saturation > 99% then alert
            check host here with address 127.0.0.1 if failed port {self.port} then alert
            check process self with pidfile "{self.folder}/healerd/healer.pid" if cpu > 99% then alert
            check system box if loadavg(1min) > 1000 then alert""")

    def get(self, path: str, accept: str | None = None, headers: dict | None = None) -> tuple[int, dict, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=support.LIMIT)
        try:
            connection.request("GET", path, headers={**({"Accept": accept} if accept else {}), **(headers or {})})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read().decode()
        finally:
            connection.close()

    def text(self, path: str, accept: str | None = None) -> str:
        status, _, body = self.get(path, accept)
        self.assertEqual(status, 200, body)
        return body

    def measured(self) -> str:
        """/metrics/services, when all services were checked."""
        def whole() -> str | None:
            try:
                text = self.text("/metrics/services")
            except ConnectionRefusedError:  # the control socket answers before the page does
                return None
            checked = re.findall(r"^healer_service_last_check_timestamp_seconds\{", text, re.M)
            return text if len(checked) == 9 and "healer_service_cpu_ratio" in text else None
        return self.wait_for(whole, "a check of each service", detail=lambda: self.text("/metrics/services"))

    def test_metrics_tell_of_the_daemon_and_of_each_service(self):
        daemon = self.serve()
        services = self.measured()
        self.assertIn('healer_service_failed{service="odd \\"name\\"",kind="program"} 1\n', services)
        self.assertIn('healer_service_failed{service="good",kind="program"} 0\n', services)
        self.assertIn('healer_service_exit_status{service="sick",kind="program"} 1\n', services)
        self.assertIn('healer_service_size_bytes{service="data",kind="file"} 9\n', services)
        self.assertIn(f'healer_service_connection_up{{service="here",kind="host",connection="port 127.0.0.1:{self.port}"}} 1\n',
                      services)
        self.wait_for(lambda: 'healer_healings_started_total{workflow="rebuild"} 1\n' in self.text("/metrics"), "a healing")
        text = self.text("/metrics")
        self.assertIn('healer_services{state="failed"} 2\n', text)
        self.assertIn("healer_config_last_reload_successful 1\n", text)
        self.assertRegex(text, r"(?m)^process_resident_memory_bytes [1-9]\d{6,}$")
        self.assertRegex(text, r"(?m)^process_open_fds [1-9]\d*$")
        self.assertRegex(text, r"(?m)^healer_loop_lag_seconds \d")
        daemon.rules.write_text("check program\n")
        self.assertNotEqual(daemon.reload().returncode, 0)
        self.assertIn("healer_config_last_reload_successful 0\n", self.text("/metrics"))
        self.assertEqual(daemon.ctl("pause", "good").returncode, 0)
        self.assertIn('healer_service_paused{service="good",kind="program"} 1\n', self.text("/metrics/services"))
        monit = self.text("/metrics?compat=monit")
        self.assertIn("\nmonit_up 1\n", monit)
        self.assertIn('monit_service_check{check_name="sick",type="program",monitored="1"} 2097152\n', monit)
        status, headers, picture = self.get("/badge/sick.svg?label=a%26b")
        self.assertEqual((status, headers["content-type"]), (200, "image/svg+xml"))
        root = xml.etree.ElementTree.fromstring(picture)
        self.assertEqual(root.attrib["aria-label"], "a&b: failed")
        self.assertEqual(self.get("/badge/sick.svg?label=a%26b", headers={"If-None-Match": headers["etag"]})[0], 304)
        self.assertEqual(self.get("/badge/nobody.svg")[0], 404)

    def test_promtool_finds_nothing_wrong(self):
        self.need("promtool")
        self.serve()
        self.measured()
        for path in ("/metrics", "/metrics/services", "/metrics?compat=monit"):
            status, headers, body = self.get(path)
            self.assertEqual((status, headers["content-type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
            done = subprocess.run(["promtool", "check", "metrics"], input=body, capture_output=True, text=True,
                                  timeout=support.LIMIT)
            self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), f"{path}\n{body}")

    def test_prometheus_scrapes_it(self):
        self.need("prometheus")
        self.serve()
        self.measured()
        own, data = self.own_port(), self.path("data")
        # Together Prometheus asks for OpenMetrics; a job that insists on the text format is asked below by promtool.
        jobs = {"healer": "/metrics", "healer-services": "/metrics/services", "monit": "/metrics"}
        configuration = "global: {scrape_interval: 1s}\nrule_files: [" + json.dumps(str(SHIPPED / "healer.rules.yml")) + "]\n"
        configuration += "scrape_configs:\n" + "".join(
            f"  - job_name: {job}\n    metrics_path: {path}\n" + ("    params: {compat: [monit]}\n" if job == "monit" else "") +
            f'    static_configs: [{{targets: ["127.0.0.1:{self.port}"]}}]\n' for job, path in jobs.items())
        self.path("prometheus.yml").write_text(configuration)
        log = self.path("prometheus.log").open("wb")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            ["prometheus", f"--config.file={self.path('prometheus.yml')}", f"--storage.tsdb.path={data}",
             f"--web.listen-address=127.0.0.1:{own}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)

        def ask(path: str) -> list | dict | None:
            connection = http.client.HTTPConnection("127.0.0.1", own, timeout=support.LIMIT)
            try:
                connection.request("GET", "/api/v1/" + path)
                return json.loads(connection.getresponse().read()).get("data")
            except (OSError, ValueError, http.client.HTTPException):
                return None  # it is not up yet
            finally:
                connection.close()

        def query(text: str) -> list:
            return (ask("query?query=" + urllib.parse.quote(text)) or {}).get("result", [])

        def said() -> str:
            return json.dumps(ask("targets")) + self.path("prometheus.log").read_text()

        try:
            self.wait_for(lambda: len(query("up == 1")) == len(jobs), "all targets up", detail=said)
            self.wait_for(lambda: query('healer_service_failed{service="odd \\"name\\""} == 1'), "a service", detail=said)
            self.assertEqual(len(query("healer_build_info")), 1)
            self.assertEqual(len(query("healer_unhealthy_duration_seconds_bucket")), 11)
            self.assertEqual(len(query('monit_service_check{type="program"}')), 3)
            targets = ask("targets")["activeTargets"]
            self.assertEqual([target["lastError"] for target in targets], [""] * len(jobs))
            for name, kind, unit in (("healer_loop_lag_seconds", "gauge", "seconds"), ("healer_runs_total", "counter", ""),
                                     ("healer_unhealthy_duration_seconds", "histogram", "seconds")):
                known = ask(f"metadata?metric={name.removesuffix('_total')}") or ask(f"metadata?metric={name}")
                (facts,), = known.values()
                self.assertEqual((facts["type"], facts["unit"]), (kind, unit), name)
            rules = ask("rules")["groups"][0]["rules"]
            self.assertEqual({rule["lastError"] for rule in rules if "lastError" in rule} - {""}, set())
        finally:
            process.terminate()
            process.wait(support.LIMIT)

    def test_shipped_alerts_fire_when_they_should(self):
        self.need("promtool")
        for words in (("check", "rules", "healer.rules.yml"), ("test", "rules", "healer.rules.test.yml"),
                      ("check", "config", "prometheus.yml")):
            done = subprocess.run(["promtool", *words], cwd=SHIPPED, capture_output=True, text=True, timeout=support.LIMIT)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_shipped_alerts_and_dashboard_ask_for_what_there_is(self):
        self.serve()
        there = names_in(self.measured())
        waiting = 'healer_healings_held{workflow="ask",reason="approval"} 1\n'
        self.wait_for(lambda: waiting in self.text("/metrics"), "a healing that waits",
                      detail=lambda: self.text("/metrics"))
        there |= names_in(self.text("/metrics")) | {"up"}
        rules = (SHIPPED / "healer.rules.yml").read_text()
        asked = {query: names_asked(query) for query in re.findall(r"^ *expr: (.*)$", rules, re.M)}
        self.assertEqual(len(asked), len(re.findall(r"^ *- alert:", rules, re.M)))
        dashboard = json.loads((SHIPPED / "healer-dashboard.json").read_text())
        queries = [query for panel in dashboard["panels"] for query in queries_of(panel)]
        queries += [one["expr"] for one in dashboard["annotations"]["list"]]
        queries += [one["definition"] for one in dashboard["templating"]["list"] if one["type"] == "query"]
        self.assertGreater(len(queries), 20)
        asked |= {query: names_asked(query) for query in queries}
        for query, names in asked.items():
            self.assertTrue(names, query)
            self.assertLessEqual(names, there, query)
        numbers = [panel["id"] for panel in dashboard["panels"]]
        self.assertEqual(len(numbers), len(set(numbers)))


if __name__ == "__main__":
    support.main()
