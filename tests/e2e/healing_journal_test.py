# SPDX-License-Identifier: MIT
"""A healing goes its way once, at whatever write of its journal healerd is killed: a sample of these in the gate, all of
them with HEALER_LONG=1 (./start test --long)."""
import contextlib
import json
import os
import random

import support

FAULT = support.BUILD / "journal_fault.so"
SAMPLE = 12
SEED = 20  # of the sample
STEPS = ("guard", "drain", "rebuild")


class Journal(support.Case):
    def setUp(self) -> None:
        super().setUp()
        if not FAULT.exists():
            self.skipTest(f"{FAULT} is not built")

    def healing(self, name: str) -> support.Daemon:
        """A daemon in a folder of that name, whose target fails until its workflow has run to the end."""
        place = self.path(name)
        check = self.script(f"check-{name}", f"test -e {place}/rebuild.done")
        do = self.script(f"do-{name}", f'echo "$1 $HEALER_HEALING $HEALER_STEP" >> {place}/trace\nsleep 0.1\n: > {place}/$1.done')
        steps = "".join(f'  step "{word}" program "{do} {word}"\n' for word in STEPS[1:])
        return self.configure(
            f'check program node with path "{check}"\n  if status != 0 then heal with rebuild\n'
            f'workflow rebuild {{\n  guard program "{do} guard"\n{steps}'
            '  step "verify" recovered within 1 hour\n  cooldown 1 hour\n}\n', name)

    def killed_at(self, daemon: support.Daemon, at: int, drop: bool) -> int:
        """Runs it until it is killed at that write, or the healing has ended. Returns how many writes there were."""
        count = daemon.folder / "writes"
        daemon.environment = {"LD_PRELOAD": str(FAULT), "HEALER_JOURNAL": str(daemon.folder / "healer.state"),
                              "HEALER_JOURNAL_COUNT": str(count), "HEALER_JOURNAL_AT": str(at)}
        if drop:
            daemon.environment["HEALER_JOURNAL_DROP"] = "1"
        with contextlib.suppress(self.failureException):  # it may be killed before it answers
            daemon.launch()
        self.wait_for(lambda: daemon.ended() or self.over(daemon), "the kill, or the end of the healing", detail=daemon.told)
        if not daemon.ended():
            daemon.kill()
        daemon.environment = {}
        return count.stat().st_size

    def texts(self, daemon: support.Daemon) -> list[str]:
        done = daemon.ctl("history", "--json")
        return [] if done.returncode else [record["text"] for record in json.loads(done.stdout)["records"]]

    def ends(self, daemon: support.Daemon) -> list[str]:
        return [text for text in self.texts(daemon) if text.startswith("healing of node with rebuild recovered")
                or text.startswith("healing of node with rebuild failed")]

    def over(self, daemon: support.Daemon) -> bool:
        return bool(self.ends(daemon)) and not daemon.ended()

    def goes_its_way(self, name: str, at: int, drop: bool) -> None:
        daemon = self.healing(name)
        self.killed_at(daemon, at, drop)
        daemon.launch()
        self.wait_for(lambda: self.ends(daemon), "the end of the healing", detail=daemon.told)
        trace = [line.split() for line in (daemon.folder / "trace").read_text().splitlines()]
        told = f"killed at write {at}: {trace}\n{self.texts(daemon)}"
        # What a guard said to a daemon that then holds the healing back, as it has just started, is asked anew: it only asks.
        words = [word for word, _, _ in trace]
        self.assertEqual(words[words.count("guard") - 1:], list(STEPS), told)
        self.assertEqual(len({healing for _, healing, _ in trace}), 1, told)
        self.assertEqual(len({step for _, _, step in trace}), len(STEPS), told)
        self.assertEqual(len(self.ends(daemon)), 1, told)
        self.assertIn("recovered", self.ends(daemon)[0], told)
        self.assertEqual(daemon.ask("jobs")["jobs"], [], told)
        self.assertEqual(list((daemon.folder / "healer.state.actions").glob("*.end")), [], told)
        daemon.stop()

    def goes_its_way_at_each(self, drop: bool) -> None:
        points = self.killed_at(self.healing("counted"), 0, drop)
        chosen = list(range(1, points + 1))
        if not os.environ.get("HEALER_LONG"):
            chosen = sorted(random.Random(SEED).sample(chosen, min(SAMPLE, points)))
        for at in chosen:
            with self.subTest(at=at):
                self.goes_its_way(f"at-{at}", at, drop)
        print(f"{points} writes to be killed at, tried {len(chosen)}")

    def test_a_healing_goes_on_from_a_kill_at_any_write_of_its_journal(self):
        self.goes_its_way_at_each(drop=False)

    def test_a_healing_goes_on_where_what_was_not_synced_is_lost_with_healer(self):
        self.goes_its_way_at_each(drop=True)


if __name__ == "__main__":
    support.main()
