#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Loading 100,000 services with two rules each: `healerd -t` and `nagios4 -v` with as many, in one run; whether the time is
linear in their number; and what a service takes of the memory of a running healerd that has looked at all of them once,
where all is well: a file that is not there has nothing to be remembered of.

usage: bench_loading.py BUILD [--short]      prints times, peaks and ratios; --short has a twentieth of the services
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
import processes  # noqa: E402

SERVICES = 100_000
LIMIT = 600.0  # seconds that one measurement may take
SETTLED = 30.0  # after as many a daemon has given back what it needed for its first looks alone

NAGIOS = """define command{
  command_name c
  command_line /bin/true $ARG1$
}
define timeperiod{
  timeperiod_name always
  alias always
  monday 00:00-24:00
}
define contact{
  contact_name root
  host_notifications_enabled 1
  service_notifications_enabled 1
  host_notification_period always
  service_notification_period always
  host_notification_options d
  service_notification_options c
  host_notification_commands c
  service_notification_commands c
}
"""
HOST = """define host{{
  host_name host{0}
  alias host{0}
  address 127.0.0.1
  max_check_attempts 3
  check_period always
  contacts root
  notification_interval 30
  notification_period always
  check_command c
}}
"""
SERVICE = """define service{{
  host_name host{0}
  service_description service{1}
  check_command c!/var/tmp/none/file{1}
  max_check_attempts 3
  check_interval 1
  retry_interval 1
  check_period always
  notification_interval 30
  notification_period always
  contacts root
  event_handler c!service{1}
}}
"""


def of_healer(count: int, watched: Path) -> str:
    return "set daemon 3600\nset mailserver localhost\nset alert root@localhost\n" + "".join(
        f"check file service{number} with path {watched}/file{number}\n  if size > 10 MB for 3 cycles then alert\n"
        f'  if timestamp > 1 hour then exec "/bin/true service{number}"\n' for number in range(count))


def of_nagios(count: int) -> str:
    return NAGIOS + "".join((HOST.format(number // 100) if number % 100 == 0 else "") + SERVICE.format(number // 100, number)
                            for number in range(count))


def measured(command: list[str]) -> tuple[float, float]:
    """Seconds of processor time, and the peak in MB."""
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.stdout.close()
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command[0]}: {output[-2000:]}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


class Bench:
    def __init__(self, build: Path, folder: Path) -> None:
        self.build, self.folder, self.watched = build, folder, folder / "w"
        self.watched.mkdir()

    def healer(self, count: int) -> tuple[float, float]:
        rules = self.rules(count)
        return measured([str(self.build / "healerd"), "-t", "-c", str(rules)])

    def rules(self, count: int) -> Path:
        path = self.folder / f"{count}.rules"
        path.write_text(of_healer(count, self.watched))
        path.chmod(0o600)
        return path

    def nagios(self, count: int) -> tuple[float, float]:
        objects, main = self.folder / "objects.cfg", self.folder / "nagios.cfg"
        objects.write_text(of_nagios(count))
        main.write_text(f"cfg_file={objects}\nlog_file={self.folder}/nagios.log\ncheck_result_path={self.folder}\n"
                        f"lock_file={self.folder}/lock\nobject_cache_file={self.folder}/cache\nstatus_file={self.folder}/status\n"
                        f"nagios_user=root\nnagios_group=root\ntemp_path={self.folder}\ntemp_file={self.folder}/temp\nillegal_macro_output_chars=`~$&|'\"<>\n")
        return measured(["nagios4", "-v", str(main)])

    def kept(self, count: int) -> tuple[float, float]:
        """Memory in MB of a daemon that has looked at all services once: what it keeps, and the most it has had."""
        own = self.folder / f"daemon{count}"
        own.mkdir(mode=0o700)
        for number in range(count):
            (self.watched / f"file{number}").touch()
        rules = self.rules(count)
        beat = own / "beat"
        beat.write_text(f"#!/bin/sh\n: > {own}/done\n")
        beat.chmod(0o755)
        with rules.open("a") as out:
            out.write(f'check program last with path "{beat}"\n  if status != 0 then alert\n')
        daemon = subprocess.Popen([self.build / "healerd", "--shadow", "-I", "-c", rules, "-l", own / "log", "-p", own / "pid",
                                   "-s", own / "state", "--socket", own / "socket"], stdin=subprocess.DEVNULL,
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=processes.die_with_parent)
        try:
            until = time.monotonic() + LIMIT
            time.sleep(SETTLED)
            while not self.quiet(daemon, own / "done"):
                if daemon.poll() is not None or time.monotonic() > until:
                    sys.exit("healerd does not come to rest")
            status = dict(line.split(":", 1) for line in Path(f"/proc/{daemon.pid}/status").read_text().splitlines())
            return int(status["RssAnon"].split()[0]) / 1024, int(status["VmHWM"].split()[0]) / 1024
        finally:
            daemon.terminate()
            daemon.wait()

    @staticmethod
    def quiet(daemon: subprocess.Popen, done: Path) -> bool:
        """Whether it has begun to look, and then done next to nothing for two seconds."""
        def used() -> int:
            return sum(map(int, Path(f"/proc/{daemon.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]))
        before = used()
        time.sleep(2)
        return done.exists() and daemon.poll() is None and used() - before < 4


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    count = SERVICES // (20 if "--short" in sys.argv else 1)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(Path(sys.argv[1]).resolve(), Path(folder))
        half, _ = bench.healer(count // 2)
        took, peak = bench.healer(count)
        print(f"loading {count} services with two rules each: healerd -t {took:.2f} s, {peak:.0f} MB at most; "
              f"twice the services take {took / half:.1f} times the time")
        if shutil.which("nagios4"):
            other, most = bench.nagios(count)
            print(f"  nagios4 -v {other:.2f} s, {most:.0f} MB; healer takes {took / other:.1f} times the time and "
                  f"{peak / most:.1f} times the memory (wanted: 1)")
        else:
            print("  there is no nagios4 here to compare it with")
        few, _ = bench.kept(count // 20)
        kept, peak = bench.kept(count)
        each = (kept - few) * 1024 / (count - count // 20)
        print(f"  a running healerd keeps {kept:.0f} MB ({peak:.0f} MB at most): {each:.2f} kB a service (wanted: 1.5)")


if __name__ == "__main__":
    main()
