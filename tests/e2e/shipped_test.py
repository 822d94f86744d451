# SPDX-License-Identifier: MIT
"""What the package puts on a machine is right: rules, examples, unit, the group of the control socket."""
import json
import os
import re
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import support

EXAMPLES = support.TOP / "rules.d" / "examples"


class Shipped(support.Case):
    def judge(self, rules) -> subprocess.CompletedProcess:
        """Where the secrets that examples name are there."""
        secrets = self.path("secrets")
        secrets.mkdir(mode=0o700, exist_ok=True)
        for name in ("cloudify", "aodh", "zaqar", "kubernetes"):
            (secrets / name).write_text("user,password,tenant\n")
            (secrets / name).chmod(0o600)
        return subprocess.run([support.BUILD / "healerd", "-t", "--offline", "--strict", "-c", rules],
                              capture_output=True, text=True, env={**os.environ, "CREDENTIALS_DIRECTORY": str(secrets)})

    def test_the_rules_as_shipped_are_accepted(self):
        rules = self.path("rules.d")
        shutil.copytree(support.TOP / "rules.d", rules)
        done = self.judge(rules)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_first_steps_are_accepted_when_they_are_no_comments_any_more(self):
        examples = []
        for line in (EXAMPLES / "first-steps.rules").read_text().splitlines():
            words = r"# ?( *(check|set|if|with|every|alert|start|stop|restart|depends)\b.*)"
            if re.match(words, line) and not line.endswith("."):
                examples.append(line.removeprefix("#"))
        self.assertGreater(len(examples), 20)
        self.assertEqual({line.split()[1] for line in examples if line.split()[0] == "check"},
                         {"program", "process", "system"})
        rules = self.path("examples.rules")
        rules.write_text("\n".join(examples) + "\n")
        rules.chmod(0o600)
        done = self.judge(rules)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def accepted(self, rules) -> None:
        """Without a word, but for notes: that a list from outside is not read here."""
        done = self.judge(rules)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertNotRegex(done.stderr, "error:|warning:", rules)

    def test_each_example_is_accepted_alone_and_all_of_them_beside_the_shipped_rules(self):
        together = self.path("rules.d")
        shutil.copytree(support.TOP / "rules.d", together)
        files = sorted(EXAMPLES.rglob("*.rules"))
        self.assertLessEqual({"apache", "backups", "bind", "certificates", "cloudify", "cron", "disks", "docker", "dovecot",
                              "gke-repair", "haproxy", "haproxy-servers", "keepalived", "kubernetes-nodes", "kubernetes-repair",
                              "liveness-probes", "machine", "mariadb",
                              "nagios-plugins", "openstack-heat", "network", "nginx", "php-fpm", "postfix", "postgresql", "raid", "redis", "rsyslog",
                              "self-healing-vms", "ssh", "vm"}, {file.stem for file in files})
        for file in files:
            shutil.copy(file, together / file.name)
            (together / file.name).chmod(0o600)
            self.accepted(together / file.name)
            neat = subprocess.run([support.BUILD / "healerctl", "fmt", "--check", file], capture_output=True, text=True)
            self.assertEqual((neat.returncode, neat.stdout, neat.stderr), (0, "", ""))
        self.accepted(together)

    def test_the_scripts_of_the_examples_are_met(self):
        shutil.copytree(EXAMPLES, self.path("examples"))
        scripts = sorted(self.path("examples").rglob("*.script"))
        self.assertLessEqual({"cloudify", "gke-repair", "haproxy-servers", "keepalived", "liveness-probes", "nagios-plugins",
                              "openstack-heat", "self-healing-vms"}, {script.stem for script in scripts})
        for script in scripts:
            rules = script.with_suffix(".rules")
            rules.chmod(0o600)
            done = subprocess.run([support.BUILD / "healerctl", "simulate", rules, "--script", script], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
            self.assertRegex(done.stdout, r"(\d+) of \1 expectations are met\n$")

    def test_a_plugin_of_nagios_is_shown_as_json_with_its_status(self):
        for does, status, shown in (
                ("echo 'DISK OK - free space: / 3326 MB (56%);| /=2643MB;5948;5958;0;5968'", 0,
                 {"status": 0, "text": "DISK OK - free space: / 3326 MB (56%);",
                  "perf": {"/": {"value": 2643.0, "unit": "MB", "warn": "5948", "crit": "5958", "min": 0.0, "max": 5968.0}}}),
                ("echo \"HTTP CRITICAL|time=0.5s;;;0 'the size'=14B;10:20;~:30\"; exit 2", 2,
                 {"status": 2, "text": "HTTP CRITICAL",
                  "perf": {"time": {"value": 0.5, "unit": "s", "min": 0.0},
                           "the size": {"value": 14.0, "unit": "B", "warn": "10:20", "crit": "~:30"}}}),
                ("printf 'LOAD WARNING|load1=9.1\\nmore of it | load5=-1e2;1 load15=U\\nload60=3\\n'; exit 1", 1,
                 {"status": 1, "text": "LOAD WARNING\nmore of it",
                  "perf": {"load1": {"value": 9.1, "unit": ""}, "load5": {"value": -100.0, "unit": "", "warn": "1"},
                           "load60": {"value": 3.0, "unit": ""}}}),
                ("exit 7", 3, {"status": 3, "text": "", "perf": {}})):
            done = subprocess.run([EXAMPLES / "nagios-plugins" / "as-json", "/bin/sh", "-c", does], capture_output=True, text=True)
            self.assertEqual((done.returncode, json.loads(done.stdout)), (status, shown), done.stderr)
        done = subprocess.run([EXAMPLES / "nagios-plugins" / "as-json", "/no/plugin"], capture_output=True, text=True)
        self.assertEqual((done.returncode, json.loads(done.stdout)["perf"]), (3, {}))

    def test_the_servers_of_haproxy_are_read_from_its_socket(self):
        table = ("# pxname,svname,qcur,scur,status,lastchg,check_status,check_code,addr,\n"
                 "web,FRONTEND,,3,OPEN,,,,,\nweb,app1,0,2,UP,77,L7OK,200,192.0.2.61:8080,\n"
                 "web,app2,4,0,DOWN 1/2,12,L7STS,503,192.0.2.62:8080,\nweb,app3,0,0,MAINT,5,,,192.0.2.63:8080,\n"
                 "web,app4,0,0,no check,5,,,192.0.2.64:8080,\nweb,BACKEND,0,2,UP,77,,,,\n\n")
        path, asked = self.path("admin.sock"), []
        listener = socket.socket(socket.AF_UNIX)
        self.addCleanup(listener.close)
        listener.bind(str(path))
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    door, _ = listener.accept()
                except OSError:
                    return
                with door:
                    asked.append(door.recv(100))
                    door.sendall(table.encode())

        threading.Thread(target=serve, daemon=True).start()
        stats = lambda *words: subprocess.run([EXAMPLES / "haproxy-servers" / "stats", *words], capture_output=True, text=True)  # noqa: E731
        rows = [json.loads(line) for line in stats(path, "list").stdout.splitlines()]
        self.assertEqual([one["name"] for one in rows], ["web.app1", "web.app2", "web.app3", "web.app4"])
        self.assertEqual(rows[0], {"name": "web.app1", "backend": "web", "server": "app1", "address": "192.0.2.61:8080"})
        self.assertEqual([stats(path, "show", "web", name).returncode for name in ("app1", "app2", "app3", "app4", "app5")],
                         [0, 1, 2, 0, 3])
        self.assertEqual(json.loads(stats(path, "show", "web", "app2").stdout),
                         {"status": "DOWN 1/2", "check": "L7STS", "code": 503, "for_seconds": 12, "sessions": 0, "queue": 4})
        self.assertEqual(stats(path, "may-restart", "web", "app2").returncode, 0)
        self.assertEqual(stats(path, "may-restart", "web", "app3").stdout, "web/app3 is MAINT\n")
        self.assertEqual(set(asked), {b"show stat -1 4 -1\n"})
        self.assertEqual(stats(self.path("none"), "show", "web", "app1").returncode, 3)
        self.assertNotEqual(stats(self.path("none"), "list").returncode, 0)

    def test_a_node_of_kubernetes_is_repaired_only_if_it_is_still_ill_and_not_new(self):
        kubectl, answer = self.path("kubectl"), self.path("node")
        kubectl.write_text(f"#!/bin/sh\ncat {answer}\n")
        kubectl.chmod(0o755)

        def says(ready: str, **more) -> tuple[int, str]:
            answer.write_text(json.dumps({
                "metadata": {"creationTimestamp": more.get("created", "2026-01-01T00:00:00Z"), "annotations": more.get("notes", {})},
                "status": {"conditions": [{"type": "Ready", "status": ready}, *more.get("conditions", [])]}}))
            done = subprocess.run([EXAMPLES / "gke-repair" / "may-be-repaired", "n1"], capture_output=True, text=True,
                                  env={**os.environ, "KUBECTL": str(kubectl)})
            return done.returncode, done.stdout

        self.assertEqual(says("Unknown"), (0, ""))
        self.assertEqual(says("False"), (0, ""))
        self.assertEqual(says("True", conditions=[{"type": "DiskPressure", "status": "True"}]), (0, ""))
        self.assertEqual(says("True"), (1, "n1 is Ready\n"))
        self.assertEqual(says("False", notes={"healer/repair": "disabled"}), (1, "n1 has the annotation healer/repair=disabled\n"))
        self.assertIn("n1 is new", says("False", created="2999-01-01T00:00:00Z")[1])
        kubectl.write_text("#!/bin/sh\necho 'Unable to connect to the server' >&2; exit 1\n")
        self.assertEqual(says("False"), (1, "the API server does not tell of n1: Unable to connect to the server\n"))

    def guard_of_machines(self, certified: str, ask: str) -> subprocess.CompletedProcess:
        """What the guard of the example says of webbox2, where these stand in place of what asks."""
        folder = self.path("guard")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name in ("may-be-healed", "nodes"):
            shutil.copy(EXAMPLES / "self-healing-vms" / name, folder)
        for name, does in (("is-certified", certified), ("ask-from", ask)):
            (folder / name).write_text(f"#!/bin/sh\n{does}\n")
            (folder / name).chmod(0o755)
        return subprocess.run([folder / "may-be-healed", "webbox2"], capture_output=True, text=True, timeout=60)

    def test_a_machine_that_others_reach_is_not_healed(self):
        for certified, ask, status, said in (
                ("exit 0", "exit 1", 0, ""),
                ("exit 0", "kill -SEGV $$", 1, "no other node could be asked whether webbox2 answers it\n"),
                ("exit 0", "exit 255", 1, "no other node could be asked whether webbox2 answers it\n"),
                ("exit 0", '[ "$1 $2" = "192.168.122.13 192.168.122.12" ]', 1,
                 "webbox2 is well: it answers webbox3, so only the path from here is cut\n"),
                ("echo it is being built; exit 3", "exit 1", 1, "webbox2 is not certified: it is being built\n")):
            done = self.guard_of_machines(certified, ask)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (status, said, ""))

    def test_the_guard_for_vcenter_prints_one_plain_line(self):
        if not shutil.which("ansible-playbook"):
            self.skipTest("ansible-core is not installed")
        folder = self.path("certified")
        folder.mkdir()
        shutil.copy(EXAMPLES / "self-healing-vms" / "vcenter" / "is-certified", folder)
        plain = (EXAMPLES / "self-healing-vms" / "vcenter" / "is_certified.yml").read_text()
        message = re.search(r"fail_msg: (.*)", plain).group(1)
        for task, said in ((f"ansible.builtin.assert: {{that: false, fail_msg: {message}}}",
                            "webbox5 is not certified: it may be a node that is still being built\n"),
                           ("ansible.builtin.fail: {msg: Unable to reach vCenter}", "Unable to reach vCenter\n")):
            (folder / "is_certified.yml").write_text(f"- hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks:\n    - {task}\n")
            done = subprocess.run([folder / "is-certified", "webbox5"], capture_output=True, text=True,
                                  env={**os.environ, "ANSIBLE_LOCAL_TEMP": str(self.folder)})
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, said, ""))

    def test_the_guard_for_libvirt_believes_no_exit_status_alone(self):
        # Where a machine has no such note virsh 9 fails, and virsh 11 exits with 0.
        folder = self.path("certified")
        folder.mkdir()
        virsh, guard = folder / "virsh", folder / "is-certified"
        guard.write_text((EXAMPLES / "self-healing-vms" / "libvirt" / "is-certified").read_text().replace("/usr/bin/virsh", str(virsh)))
        for does, status, said in (("echo \"<certified at='first'/>\"", 0, ""),
                                   ("echo", 1, "there is no certificate\n"),
                                   ("echo 'error: metadata not found' >&2; exit 1", 1, ""),
                                   ("echo 'error: failed to connect to the hypervisor' >&2; exit 1", 1, "")):
            virsh.write_text(f"#!/bin/sh\n{does}\n")
            virsh.chmod(0o755)
            done = subprocess.run(["/bin/sh", guard, "webbox5"], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout), (status, said), does)

    def check_playbooks(self, folder: Path, *names: str) -> None:
        if not shutil.which("ansible-playbook"):
            self.skipTest("ansible-core is not installed")
        for name in names:
            done = subprocess.run(["ansible-playbook", "--syntax-check", "-i", "localhost,", folder / f"{name}.yml"],
                                  capture_output=True, text=True, env={**os.environ, "ANSIBLE_LOCAL_TEMP": str(self.folder)})
            if re.search(r"(could not|couldn't) resolve .*community\.", done.stderr):
                self.skipTest("a collection of Ansible is not installed")
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_playbooks_of_the_examples_are_playbooks(self):
        self.check_playbooks(EXAMPLES / "vm", "ping_monitor", "rebuild_node")
        self.check_playbooks(EXAMPLES / "self-healing-vms" / "libvirt", "ping", "reboot", "rebuild")

    def test_the_playbook_destroys_only_what_no_other_machine_reaches(self):
        if not shutil.which("ansible-playbook"):
            self.skipTest("ansible-core is not installed")
        folder, programs, calls = self.path("vm"), self.path("programs"), self.path("calls")
        shutil.copytree(EXAMPLES / "vm", folder)
        settings = (folder / "vars.yml").read_text()
        (folder / "vars.yml").write_text(re.sub(r"(?m)^network: .*", "network: 127.0.9", settings))
        programs.mkdir()

        def program(name: str, body: str) -> None:
            path = programs / name
            path.write_text(f"#!/bin/sh\necho {name} $* >> {calls}\n{body}\n")
            path.chmod(0o755)

        program("virsh", 'case "$*" in *desc*) echo certified;; *list*) echo webbox5; echo webbox6; echo db1;; esac')
        program("qemu-img", "exit 1")
        for curl, destroys in ((0, False), (255, False), (28, True)):
            program("ssh", f"exit {curl}")
            calls.write_text("")
            done = subprocess.run(["ansible-playbook", "-i", "localhost,", folder / "rebuild_node.yml", "-e", "vm_name=webbox5"],
                                  capture_output=True, text=True,
                                  env={**os.environ, "ANSIBLE_LOCAL_TEMP": str(self.folder),
                                       "PATH": f"{programs}:{os.environ['PATH']}"})
            self.assertNotEqual(done.returncode, 0)
            self.assertEqual(re.findall("ssh .*curl.*", calls.read_text()),
                             ["ssh -o BatchMode=yes -o ConnectTimeout=5 root@127.0.9.6 curl -fsS -m 10 -o /dev/null "
                              "http://127.0.9.5/"], done.stdout)
            self.assertEqual("destroy webbox5" in calls.read_text(), destroys, done.stdout)

    def test_the_playbooks_for_vcenter_are_playbooks(self):
        self.check_playbooks(EXAMPLES / "self-healing-vms" / "vcenter", "ping", "reboot", "rebuild", "is_certified")

    def test_the_unit_starts_the_daemon_with_options_that_it_has(self):
        unit = (support.TOP / "packaging" / "systemd" / "healer.service").read_text()
        words = re.search(r"^ExecStart=/usr/sbin/healerd(.*)$", unit, re.M).group(1).split()
        self.assertEqual(words.pop(), "$HEALERD_OPTIONS")
        done = subprocess.run([support.BUILD / "healerd", *words, "--version"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_unit_neither_ends_nor_cripples_what_the_rules_have_started(self):
        unit = (support.TOP / "packaging" / "systemd" / "healer.service").read_text()
        options = dict(re.findall(r"^(\w+)=(.*)$", unit, re.M))
        self.assertEqual([options[name] for name in ("KillMode", "OOMPolicy", "TasksMax")],
                         ["process", "continue", "infinity"])
        # What systemd gives without that line: healerd raises its own limit, and what it starts gets the first number.
        self.assertEqual(options.pop("LimitNOFILE"), "1024:524288")
        inherited = re.compile("Limit|Protect|Private|Restrict|System|Lock|NoNew|Capability|Memory|Read|Inaccessible"
                               "|Dynamic|User")
        self.assertEqual([name for name in options if inherited.match(name)], [])

    def installed(self, prefix: str) -> str:
        """Installs with this prefix, below a folder of the test; that folder."""
        root = str(self.path("root"))
        done = subprocess.run(["cmake", "--install", support.BUILD, "--prefix", prefix], capture_output=True, text=True,
                              env={**os.environ, "DESTDIR": root})
        self.assertEqual(done.returncode, 0, done.stderr)
        return root

    def test_an_installation_finds_its_parts_under_any_prefix(self):
        for prefix, etc in (("/usr", "/etc"), ("/usr/local", "/usr/local/etc"), ("/opt/healer", "/opt/healer/etc")):
            root = self.installed(prefix)
            self.assertTrue(os.path.isdir(f"{root}{etc}/healer/rules.d"), prefix)
            unit = Path(f"{root}{prefix}/lib/systemd/system/healer.service").read_text()
            self.assertEqual(re.search(r"^ExecStart=(\S+)", unit, re.M).group(1), f"{prefix}/sbin/healerd")
            self.assertEqual(re.search(r"^ExecReload=(\S+)", unit, re.M).group(1), f"{prefix}/bin/healerctl")
            self.assertEqual(re.search(r"^EnvironmentFile=-(\S+)", unit, re.M).group(1), f"{etc}/default/healer")
            self.assertTrue(os.path.isfile(f"{root}{etc}/default/healer"))
            health = Path(f"{root}{etc}/healer/rules.d/20-healer.rules")
            self.assertIn(f'path "{prefix}/bin/healerctl doctor"', health.read_text())
            self.assertEqual(health.stat().st_mode & 0o777, 0o600)
            self.assertTrue(os.access(f"{root}{prefix}/sbin/healerd", os.X_OK))
            shutil.rmtree(root)

    def test_installations_at_the_same_time_have_nothing_of_each_other(self):
        prefixes = [f"{self.folder}/{number}" for number in range(24)]
        script = support.BUILD / "packaging" / "install.cmake"  # the part that writes something
        running = [subprocess.Popen(["cmake", f"-DCMAKE_INSTALL_PREFIX={prefix}", "-P", script], stdout=subprocess.DEVNULL)
                   for prefix in prefixes]
        self.assertEqual([one.wait() for one in running], [0] * len(running))
        for prefix in prefixes:
            self.assertIn(f"ExecStart={prefix}/sbin/healerd ", Path(f"{prefix}/lib/systemd/system/healer.service").read_text())
            self.assertIn(f'path "{prefix}/bin/healerctl doctor"',
                          Path(f"{prefix}/etc/healer/rules.d/20-healer.rules").read_text())

    def test_an_installed_daemon_reads_the_rules_of_its_prefix(self):
        prefix = f"{self.folder}/prefix"
        done = subprocess.run(["cmake", "--install", support.BUILD, "--prefix", prefix], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        told = subprocess.run([f"{prefix}/sbin/healerd", "--help"], capture_output=True, text=True).stdout
        self.assertIn(f"{prefix}/etc/healer/rules.d", told)
        done = subprocess.run([f"{prefix}/sbin/healerd", "-t", "--offline"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        told = subprocess.run([support.BUILD / "healerd", "--help"], capture_output=True, text=True).stdout
        self.assertIn("=/etc/healer/rules.d", told.replace(" ", "").replace("[", "="))

    def test_the_remedy_for_a_daemon_that_is_not_there_names_the_unit(self):
        done = subprocess.run([support.BUILD / "healerctl", "--socket", self.path("nowhere"), "ping"], capture_output=True,
                              text=True)
        unit, = (support.TOP / "packaging" / "systemd").glob("*.service")
        self.assertIn(f"systemctl start {unit.stem})", done.stderr)

    def test_the_installation_makes_the_group_that_the_daemon_looks_for(self):
        wire = (support.TOP / "src" / "control" / "wire.hpp").read_text()
        group = re.search(r'kControlGroup = "(\w+)"', wire).group(1)
        script = (support.TOP / "packaging" / "debian" / "healer.postinst").read_text()
        self.assertIn(f"groupadd --system {group}\n", script)


if __name__ == "__main__":
    support.main()
