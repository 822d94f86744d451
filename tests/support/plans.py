# SPDX-License-Identifier: MIT
"""Random services with known outcomes, as rules for healer and Monit alike, and at which run their actions must fire.

A service has one rule: with several different ones in a service Monit lets them touch each other, which healer does not.
"""
import random
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Tolerance:
    """`count` of the last `window` runs."""

    count: int = 1
    window: int = 1

    def words(self) -> str:
        if self.window == 1:
            return ""
        if self.count == self.window:
            return f"for {self.count} cycles"
        return f"{self.count} times within {self.window} cycles"


@dataclass
class Service:
    name: str
    outcomes: list[int]  # exit statuses, run by run
    test: str            # "!= 0"
    fails: list[bool]
    failure: Tolerance
    recovery: Tolerance | None
    repeat: int          # 0: never
    every: int

    def rules(self, check: str, act: str) -> str:
        every = f"  every {self.every} cycles\n" if self.every > 1 else ""
        repeat = f" repeat every {self.repeat} cycles" if self.repeat else ""
        text = (f'check program {self.name} with path "{check}"\n{every}'
                f'  if status {self.test} {self.failure.words()} then exec "{act} {self.name} failed"{repeat}\n')
        if self.recovery:
            text += f'    else if succeeded {self.recovery.words()} then exec "{act} {self.name} recovered"\n'
        return text

    def firings(self, newer: bool = False) -> list[str]:
        """By a model of Monit's counting, which was found by experiment; `newer`: as Monit 6 counts."""
        found, history, failed, since = [], [], False, 0
        recovery = self.recovery or Tolerance()
        for run, bad in enumerate(self.fails, 1):
            history.append(bad)
            fired = None
            if not failed:
                if bad and sum(history[-self.failure.window:]) >= self.failure.count:
                    failed, since, history, fired = True, 1, [True], "failed"
            # What was before the failure counts as clear; but not to Monit 6.
            elif not bad and (min(recovery.window, len(history)) if newer else recovery.window) - sum(
                    history[-recovery.window:]) >= recovery.count:
                failed, history = False, []
                fired = "recovered" if self.recovery else None
            else:
                since += 1
                if (bad or newer) and self.repeat and since % self.repeat == 0:
                    fired = "failed"
            if fired:
                found.append(f"{self.name} {fired} {run}")
        return found


def services(seed: int, count: int, runs: int) -> list[Service]:
    dice = random.Random(seed)
    made = []
    for number in range(count):
        if dice.random() < 0.35:  # blocks of failure and of health
            outcomes = []
            while len(outcomes) < runs:
                outcomes += [dice.choice([0, 0, 1, 2])] * dice.randint(1, 6)
            outcomes = outcomes[:runs]
        else:
            outcomes = [dice.randint(1, 3) if dice.random() < dice.choice([0.3, 0.6, 0.85]) else 0 for _ in range(runs)]
        test, judge = dice.choice([("!= 0", lambda s: s != 0), ("= 2", lambda s: s == 2), ("> 1", lambda s: s > 1),
                                   ("!= 0", lambda s: s != 0), ("<= 1", lambda s: s <= 1)])

        def tolerance() -> Tolerance:
            window = dice.randint(1, 5)
            return Tolerance(dice.choice([window, dice.randint(1, window)]), window)

        made.append(Service(f"service{number:03}", outcomes, test, [judge(status) for status in outcomes], tolerance(),
                            tolerance() if dice.random() < 0.6 else None, dice.choice([0, 0, 1, 2, 3]),
                            dice.choice([1, 1, 1, 2])))
    return made


def programs(folder: Path, plan: list[Service]) -> str:
    """Writes the programs of a plan into `folder`; the rules. Each action leaves "SERVICE BRANCH RUN" in `fired`."""
    rules = ""
    act = folder / "act"
    act.write_text(f"""#!/bin/sh
run=$(printf '%s' "$MONIT_DESCRIPTION" | grep -o 'run-[0-9]*' | tail -n 1)
echo "$1 $2 ${{run#run-}}" >> {folder}/fired
""")
    act.chmod(0o755)
    for service in plan:
        check = folder / service.name
        cases = " ".join(f"{run}) exit {status};;" for run, status in enumerate(service.outcomes, 1))
        check.write_text(f"""#!/bin/sh
run=0
[ ! -e {check}.runs ] || read run < {check}.runs
run=$((run + 1))
echo $run > {check}.runs
echo run-$run
case $run in {cases} *) exit {service.outcomes[-1]};; esac
""")
        check.chmod(0o755)
        rules += service.rules(str(check), str(act))
    return rules


def fired(folder: Path, runs: int) -> list[str]:
    """What the actions left, of the first `runs` runs."""
    path = folder / "fired"
    lines = path.read_text().splitlines() if path.exists() else []
    return sorted(line for line in lines if int(line.split()[-1] or 0) <= runs)


def finished(folder: Path, plan: list[Service], runs: int) -> bool:
    """Whether every service has judged its last run (it is at the one after that)."""
    def count(service: Service) -> int:
        path = folder / f"{service.name}.runs"
        return int(path.read_text() or 0) if path.exists() else 0
    return all(count(service) > runs for service in plan)
