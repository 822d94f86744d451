# SPDX-License-Identifier: MIT
"""What the package puts on a machine is right: rules, examples, unit, the group of the control socket."""
import re
import shutil
import subprocess

import support


class Shipped(support.Case):
    def judge(self, rules) -> subprocess.CompletedProcess:
        return subprocess.run([support.BUILD / "healerd", "-t", "--offline", "--strict", "-c", rules],
                              capture_output=True, text=True)

    def test_the_rules_as_shipped_are_accepted(self):
        rules = self.path("rules.d")
        shutil.copytree(support.TOP / "rules.d", rules)
        for file in rules.iterdir():
            file.chmod(0o600)
        done = self.judge(rules)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_examples_are_accepted_when_they_are_no_comments_any_more(self):
        examples = []
        for file in sorted((support.TOP / "rules.d").glob("*.rules")):
            for line in file.read_text().splitlines():
                if re.match(r"# ?( *(check|set|if|with|every|alert)\b.*)", line) and not line.endswith("."):
                    examples.append(line.removeprefix("#"))
        self.assertGreater(len(examples), 10)
        rules = self.path("examples.rules")
        rules.write_text("\n".join(examples) + "\n")
        rules.chmod(0o600)
        done = self.judge(rules)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_unit_starts_the_daemon_with_options_that_it_has(self):
        unit = (support.TOP / "packaging" / "systemd" / "healer.service").read_text()
        words = re.search(r"^ExecStart=/usr/sbin/healerd(.*)$", unit, re.M).group(1).split()
        done = subprocess.run([support.BUILD / "healerd", *words, "--version"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_installation_makes_the_group_that_the_daemon_looks_for(self):
        wire = (support.TOP / "src" / "control" / "wire.hpp").read_text()
        group = re.search(r'kControlGroup = "(\w+)"', wire).group(1)
        script = (support.TOP / "packaging" / "debian" / "healer.postinst").read_text()
        self.assertIn(f"groupadd --system {group}\n", script)


if __name__ == "__main__":
    support.main()
