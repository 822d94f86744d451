# SPDX-License-Identifier: MIT
"""An administrator restarts services without a word to healer, two hundred times, by healer's own defaults."""
import random
import time
from dataclasses import dataclass, field

import supervised
import support

SETTLE = 1.0       # seconds: healer's own default
LONGEST = 0.85     # of a pause between stop and start; the hand takes some time on top
JUDGED = 0.97      # a start that was later than this after the stop races healer, which may start it as well
RESTARTS = 200
SERVICES = 20

# Each start leaves its pid, by whom it was and when its pid file was there; each restart when it began.
LIVE = 'write_pid; echo "$$ ${{BY:-healer}} $(date +%s.%N)" >> {name}.starts'.replace("{{", "{").replace("}}", "}")
HAND = """
pid=$(cat {pidfile})
date +%s.%N >> {folder}/{name}.stops
kill "$pid"
while kill -0 "$pid" 2>/dev/null; do sleep 0.005; done
[ "$2" = stale ] || rm -f {pidfile}
sleep "$1"
BY=hand exec setsid --fork {live} >/dev/null 2>&1 </dev/null"""


@dataclass
class Hand:
    """The restarts of one service."""

    service: supervised.Process
    left: int
    program: object = None
    next_at: float = 0.0  # monotonic
    gone: int = 0
    pauses: list[float] = field(default_factory=list)

    def lines(self, what: str) -> list[list[str]]:
        path = self.service.folder / f"{self.service.name}.{what}"
        return [line.split() for line in path.read_text().splitlines()] if path.exists() else []


class SupervisionHand(supervised.Case):
    def test_two_hundred_restarts_by_hand_are_not_raced(self):
        lot = random.Random(7)
        services = [self.process(f"node{number}", live=LIVE) for number in range(SERVICES)]
        daemon = self.start(self.rules(*services), cycle="5")
        self.wait_up(daemon, *services)
        hands = [Hand(one, RESTARTS // SERVICES) for one in services]
        for hand in hands:
            self.place_hand(hand.service)
            hand.next_at = time.monotonic() + 2 * lot.random()
        seen: dict[str, int] = {}

        def all_done() -> bool:
            seen.update({one["name"]: (one.get("process") or {}).get("pid", 0) for one in daemon.ask("status")["services"]})
            for hand in hands:
                self.go_on(hand, seen[hand.service.name], lot)
            return not any(hand.left or hand.program for hand in hands)

        self.wait_for(all_done, "the last restart", limit=5 * support.LIMIT,
                      detail=lambda: str([(hand.service.name, hand.left, hand.service.living(), seen.get(hand.service.name))
                                          for hand in hands if hand.left or hand.program]))
        self.more_cycles(daemon, 1)
        good = sum(self.judge(hand, daemon) for hand in hands)
        self.assertTrue(all(len(one.living()) == 1 for one in services))
        if good < RESTARTS / 4:
            self.skipTest(f"too slow to restart processes by hand within the settle time: {good} of {RESTARTS}")

    def test_a_restart_by_hand_beside_a_restart_of_healer_is_not_raced(self):
        # As where an upgrade of the system restarts both.
        services = [self.process(f"node{number}") for number in range(3)]
        for one, end in zip(services, ("stop", "kill", "kill later"), strict=True):
            daemon = self.start(self.rules(one), name=one.name + "-healer", cycle="5")
            self.wait_up(daemon, one)
            if end == "stop":
                daemon.stop()
            elif end == "kill":
                daemon.kill()
            begun = time.monotonic()
            one.kill()
            if end == "kill later":  # while it waits
                self.wait_for(lambda: "process-died" in self.kinds(daemon, one.name), "the death")
                daemon.kill()
            daemon.launch()
            one.by_hand()
            self.wait_for(lambda: one.living(), "the start by hand")
            if time.monotonic() - begun > JUDGED * SETTLE:
                self.skipTest("too slow to restart processes by hand within the settle time")
            self.wait_up(daemon, one)
            self.more_cycles(daemon, 1)
            self.assertEqual((one.name, len(one.copies()), self.log().count(f"{one.name} start")), (one.name, 2, 1),
                             self.told(daemon, one.name))
        self.alone()

    def test_a_restart_by_hand_of_what_only_polls_see_is_not_raced(self):
        # More processes than there are descriptors to watch them.
        services = [self.process(f"node{number}") for number in range(60)]
        daemon = self.configure(self.rules(*services))
        daemon.binary = self.script("few", f'exec prlimit --nofile=80:80 {support.BUILD / "healerd"} "$@"')
        daemon.launch()
        self.wait_up(daemon, *services)
        begun = time.monotonic()
        self.wait_for(lambda: time.monotonic() - begun > 11, "the time after which no death is a quick one")
        raced = set()
        for one in services[-20:]:
            begun = time.monotonic()
            one.kill()
            self.wait_for(lambda: time.monotonic() - begun > SETTLE / 2, "half of the settle time")
            if not one.pid():
                one.by_hand()
            self.wait_for(one.pid, "the start by hand")
            if self.log().count(f"{one.name} start") > 1 and time.monotonic() - begun < JUDGED * SETTLE:
                raced.add(one.name)
        self.assertEqual(raced, set())

    def place_hand(self, service: supervised.Process) -> None:
        text = HAND
        for word, value in {"live": service.live_script, "pidfile": service.pidfile, "folder": service.folder,
                            "name": service.name}.items():
            text = text.replace("{" + word + "}", str(value))
        service.place(service.folder / f"{service.name}.hand", text)

    def go_on(self, hand: Hand, seen: int, lot: random.Random) -> None:
        """One restart after the other, each when the one before has come to rest."""
        service, now = hand.service, time.monotonic()
        if hand.program is None:
            if hand.left and now >= hand.next_at:
                hand.gone = service.pid()
                self.assertEqual(service.living(), [hand.gone])
                hand.pauses.append(lot.uniform(0, LONGEST))
                hand.program = self.begin(service.folder / f"{service.name}.hand", f"{hand.pauses[-1]:.3f}",
                                          lot.choice(("stale", "gone")))
                hand.next_at = now + hand.pauses[-1] + SETTLE + 0.3
            return
        if hand.program.poll() is None or now < hand.next_at or service.pid() in (0, hand.gone) or seen != service.pid():
            return
        if sum(by == "hand" for _, by, _ in hand.lines("starts")) < len(hand.lines("stops")):
            return  # it is on its way yet, beside one that healer started
        self.end(hand.program)
        if not self.in_time(hand, -1):  # it raced healer: the one whose pid file it is stays
            for pid in service.living():
                if pid != service.pid():
                    self.end(self.begin("kill", "-9", pid))
        if len(service.living()) == 1:
            hand.program = None
            hand.left -= 1
            hand.next_at = now + 0.5 * lot.random()

    @staticmethod
    def in_time(hand: Hand, number: int) -> bool:
        """Whether the hand of that restart was faster than healer's patience."""
        begun = [float(when) for when, in hand.lines("stops")]
        by_hand = [float(when) for _, by, when in hand.lines("starts") if by == "hand"]
        return by_hand[number] - begun[number] < JUDGED * SETTLE

    def judge(self, hand: Hand, daemon: support.Daemon) -> int:
        """How many of the restarts were in time; healer has started nothing in them."""
        begun = [float(when) for when, in hand.lines("stops")] + [float("inf")]
        by_healer = [float(when) for _, by, when in hand.lines("starts")[1:] if by == "healer"]
        self.assertEqual(len(hand.lines("starts")) - len(by_healer) - 1, len(begun) - 1)
        good = 0
        for number in range(len(begun) - 1):
            if not self.in_time(hand, number):
                continue
            good += 1
            raced = [when for when in by_healer if begun[number] <= when < begun[number + 1]]
            self.assertEqual(raced, [], f"{hand.service.name}: pause {hand.pauses[number]}, stopped at {begun[number]}\n" +
                             "\n".join(map(str, hand.lines("starts") + self.told(daemon, hand.service.name))))
        return good


if __name__ == "__main__":
    support.main()
