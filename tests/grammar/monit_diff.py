#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Do `--dialect monit-5.33` and `--dialect monit` give the verdict of the real Monits, 5.33 and 6.0.0, on rules files that are
broken by one token?

usage: monit_diff.py VERDICT [SEED [COUNT [SHOWN]]]     VERDICT is the program of verdict.cpp
Makes COUNT files of the statements that are supported, breaks most of them by one token, and compares `monit -t` with
VERDICT --dialect; what Monit accepts must be accepted without the dialect, too. Prints each disagreement and last `agree N of
M` of each version; exit status 0 only where all agree. A version that is not here is told of and passed over; where none is,
exit status is 77.
"""
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))
import monits  # noqa: E402

ACTIONS = ['alert', 'unmonitor', 'restart', 'start', 'stop', 'exec "/bin/true"', 'exec "/bin/true" repeat every 3 cycles', "exec '/bin/true'",
           'exec "/bin/true" as uid root', 'exec "/bin/true a \'b c\' d" as uid root and gid root',
           'ignore', 'exec "/bin/true" with timeout 5 seconds', 'exec "/bin/true" as uid root timeout 0 s repeat every 2 cycles',
           'exec /bin/true', 'exec "/bin/true" "a b" /c d', 'exec "/bin/true" gid root repeat every 2 cycle']
TOLERANCES = ['', '', '', 'for 3 cycles', '3 times within 5 cycles', '2 cycles', 'times 2 4 cycles', 'for 2 5 cycles']
STATUS = ['status != 0', 'status 1', 'status > 3', 'status = 5', 'status >= 2', 'status lt 7', 'status is greater than 2',
          'status notequal 1', '(status != 0)', 'status !=0', 'status eq 1', 'status == 255']
NEWER_MATCHES = ['content changed', 'content not changed', 'the content has changed', 'content is not changed']
MATCHES = ['content = "a b"', "content != 'x'", 'content == foo', 'content equal "y"', 'changed status', 'changed the status']
RECOVERIES = ['', '', 'else alert', 'else if succeeded then alert', 'else if recovered for 2 cycles then exec "/bin/true"',
              'else if passed 2 times within 4 cycles then unmonitor', 'else exec "/bin/true" repeat every 2 cycles']
HEADERS = ['check program x with path "/bin/true"', 'check program x path /bin/true', "check program 'x y' path '/bin/true'",
           'check program x with path "/bin/true a b" with timeout 15 seconds', 'CHECK PROGRAM if PATH "/bin/true"',
           'check program x with path "/bin/true" as uid root and gid root with timeout 5 seconds',
           'check program "x" with path /bin/true a "b c" as uid 0']
PROCESSES = ['check process x with pidfile /tmp/x', 'check composite with pidfile /tmp/x', 'check composite matching "a b"', 'check composite\n is path /tmp/x', 'check process x pidfile "/tmp/x y"', "check process 'x' matching 'a b'",
             'check process x match foo', 'check x with pidfile /tmp/x', 'check process start matching /usr/bin/x',
             'check process x path /tmp/x', 'check process x with program pidfile /tmp/x', 'check process x matching program "a b"']
SYSTEMS = ['check system x', 'check system $HOST', 'check system "a b"', 'CHECK SYSTEM $HOST_x']
RESOURCES = ['cpu > 50%', '(memory > 10 MB', 'cpu > 5%)', '((memory > 10 MB) cpu > 5%)', 'mem usage > 5.5%', 'memory > 10', 'loadavg > 1.5', 'loadavg (5min) > 2',
             'loadavg(1min) per core >= 1', 'cpu usage is greater than 5 percent', '(cpu > 5%)', 'memory changed 5 kB/s',
             'loadavg 3', 'memory 5 b']
OF_PROCESS = RESOURCES + ['total cpu > 5%', 'totalmem > 5 kilobytes', 'total memory usage < 5%', 'children > 3', 'threads 5',
                          'read > 1 MB/s', 'disk read rate > 5 operations/s', 'disk write activity > 1.5 GB', 'write 5',
                          'disk write > 3 operation']
OF_SYSTEM = RESOURCES + ['pagein > 50 per second', 'pageout rate 3 s', 'pageouts changed 5 seconds', 'cpu (user) > 5%', 'cpu usage (wait) > 5.5%', 'cpu(guestnice) 5%', 'swap > 5%', 'swap usage > 5.5 MB']
ALONE_OF_PROCESS = ['filedescriptors > 5', 'filedescriptors > 5.5%', 'total filedescriptors > 5', 'uptime > 3 days', 'uptime 5',
                    'uptime < 2 months', 'failed uid root', 'failed euid 0', 'failed gid "root"', 'not exist', 'not (exist)', '(not exist', 'does exist',
                    'does not exists', 'failed security attribute "s"', 'failed security attribute foo',
                    'security attribute = "a"', 'security attribute =~ "a.*"', 'security attribute !=~ a.*', 'security attribute ne foo']
ALONE_OF_SYSTEM = ['filedescriptors > 5', 'filedescriptors > 5 %', 'uptime > 3 hours', 'uptime 5 seconds']
CHANGES = ['changed pid', 'changed ppid', 'changed the pid']
RESTARTS = ['3 restarts within 5 cycles', '1 restart 1 cycle', '2 restarts for 4 cycles', '70 restarts within 100 cycles']
PROGRAMS = ['start program = "/bin/true"', 'stop program "/bin/true a" as uid root and gid root', 'restart "/bin/true" timeout 5 seconds',
            'start program is "/bin/true" with timeout 30 seconds', "stop '/bin/true'", 'start /bin/true a "b c"',
            'restart program = "/bin/true \'a b\'" gid root uid root', 'stop signal TERM', 'stop program "/bin/true" ready on notify']
DEPENDS = ['depends on y', 'depends y', 'depend on y, y', 'depends on "y"', "depends on 'Y'", 'depends on y; y']
SERVICE = ['every "*/5 * * * *"', 'not every "0-10/2,7 * * * *"', 'every "1,,2 * * * -5"', 'every 2 cycles', 'every "* * * * *"', "not every '* 0-5 * * 1,2'", 'every "0 8,9 1-5 * *"', 'group www',
           'group "a"', 'group if', 'mode active', 'mode passive', 'onreboot start', 'onreboot nostart',
           'onreboot laststate', 'alert a@b', 'alert a@b on { status, timeout }', 'alert a@b not on {pid} with reminder on 3 cycles',
           'alert a@b with mail-format { subject: x y }', 'noalert a@b',
           'alert a@b {exec} mail-format { from: A B <a@b>\n subject: s\n message: m\n } reminder 2']
HOSTS = ['check host x with address localhost', 'check host x address 127.0.0.1', 'check host "a b" with address "a b"',
         'check host http with address ::1', 'CHECK HOST x ADDRESS 2001:db8::1']
OPTIONS = ['', '', 'timeout 5 seconds', 'with timeout 10 seconds retry 2', 'retry 3', 'responsetime > 500 ms', 'responsetime 2 s',
           'send "a\\r\\n" expect "b"', 'expect \'c\'', 'content = "x"', 'content != y', 'protocol http', 'proto ssh', 'protocol redis',
           'protocol http request "/x"', 'protocol https request /x status >= 400 and method head', 'protocol http hostheader a.b content == "x"',
           'protocol http with http headers [Host: a.b, Cookie: a=1; b=2]', 'protocol http username "u" password \'p\' checksum 8f7f419955cefa0b33a2ba316cba3659',
           'protocol apache-status loglimit > 10% or dnslimit > 50 percent', 'protocol apache-status path "/x" waitlimit 10%',
           'protocol mysql username "a" password "p" rsakey checksum sha1 1ED948A6F4258ACAB964227EF4EB19FCC453B0F8', 'protocol mqtt username "a"',
           'protocol pgsql database "d"', 'protocol sip target "a@b" maxforward 6', 'protocol websocket request / origin "x" version 13',
           'protocol smtp username "u" password "p"', 'protocol imaps', 'protocol ldap3', 'protocol postfix-policy']
OF_PORT = OPTIONS + ['type tcp', 'type udp', 'type tcpssl', 'type tcpssl auto', 'type tcpssl tlsv12 certmd5 8f7f419955cefa0b33a2ba316cba3659', 'ipv4',
                     'ipv6', 'address 127.0.0.1', 'using ssl', 'with tls options { verify: enable, version: tlsv12 -tlsv13 }',
                     'certificate valid > 30 days', 'certificate valid for 20 days', 'certificate checksum md5 = 8f7f419955cefa0b33a2ba316cba3659',
                     'type udp protocol radius secret hush', 'type udp protocol dns']
OF_PING = ['', '', 'count 5', 'size 64', 'size 1492 count 2', 'responsetime > 100 ms', 'timeout 5 seconds', 'address 127.0.0.1']
OF_URL = ['', 'content == "x"', 'timeout 5 seconds', 'retry 2', 'using ssl with options {verify: enable}', 'certificate valid > 3 days']
NETWORKS = ['check network x with interface eth0', 'check network x interface "eth0"', 'check network x with address 127.0.0.1',
            'check network x address ::1']
OF_NETWORK = ['link down', 'link up', 'failed link', 'changed link', 'changed link capacity', 'saturation > 90%', 'upload > 5 MB/s',
              'download 3 packets/s', 'total upload > 1 GB in last hour', 'total downloaded > 5 packets in last 3 days',
              'total download > 10 MB in last 5 minutes', 'total uploaded 5 in last day']
FILES = ['check file x with path /tmp/x', 'check file x path "/tmp/x y"']
PATHS = ['check directory x with path /tmp/x', 'check fifo x path /tmp/x']
OF_PATH = ['timestamp > 5 minutes', 'mtime older than 3 days', 'changed timestamp', 'failed permission 0644', 'failed uid root', 'failed gid 0',
           'changed permission', 'not exist', 'does exist', 'access time > 5 seconds', 'changed ctime',
           'hardlink > 1', 'hardlinks 2', 'changed hardlink', 'changed the hardlinks']
OF_FILE = OF_PATH + ['failed sha256 checksum', 'changed sha256 checksum', 'size > 5 MB',
                     'failed checksum expect e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 'changed size', 'failed checksum', 'failed md5 checksum expect the sum 8f7f419955cefa0b33a2ba316cba3659',
                     'changed sha1 checksum', 'content = "x"', 'match "x y"', 'not match foo', 'size 5']
IGNORES = ['ignore content = "x"', 'ignore match foo', 'ignore not match "x y"', 'ignore content eq x']
FILESYSTEMS = ['check filesystem x with path /', 'check device x path /dev/sda1', 'check filesystem x path "//a/b"', 'check filesystem x path a:/b']
OF_FILESYSTEM = ['space usage > 90%', 'space > 5 GB', 'space free < 10%', 'inode usage > 90 percent', 'inodes free < 500', 'changed fsflags',
                 'read rate > 5 MB/s', 'write > 3 operations/s', 'service time > 20 ms', 'servicetime > 1 second', 'failed permission 755', 'not exist']
SETS = ['set limits { execTimeout: 5 s }', 'set limits { networkTimeout: 0 s }', 'set log syslog facility log_user', 'set mailserver a.b timeout 0 seconds',
        'set mmonit http://a.b/c hostgroups [ one, "two words" ] timeout 5 seconds', 'set mmonit http://a.b/c with hostgroups [a b] and register without credentials',
        'set httpd port 2812 allow localhost', 'set httpd port 2812 read-only and use address localhost allow admin:monit allow @users readonly',
        'set httpd unixsocket /tmp/u uid root gid root permission 0600 read-only allow 192.0.2.0/24', 'set httpd allow "u v":\'p\' read-only allow ::1',
        'set httpd port 2812 signature disable ssl disable allow 192.0.2.0/255.255.255.0', 'set httpd',
        'set mmonit http://u:p@a.b:8080/c', 'set mmonit http://a.b/c https://u:p@c.d/e with timeout 30 seconds and register without credentials',
        'set mmonit https://a.b/c using ssl with options { verify: enable } certificate checksum md5 8f7f419955cefa0b33a2ba316cba3659',
        'set ssl { verify: enable, selfsigned: allow }', 'set tls options { version: auto ciphers: "A:B" }', 'set fips', 'set expectbuffer 5 kB',
        'set expectbuffer 512',
        'set daemon 7', 'set daemon 5 with start delay 60', 'set init', 'set log /tmp/monit_diff.log', 'set logfile syslog',
        'set log syslog facility log_daemon', 'set pidfile /tmp/a.pid', 'set idfile "/tmp/a.id"', "set statefile '/tmp/a.state'",
        'set terminal batch', 'set onreboot start', 'set limits { programOutput: 1 kB, networkTimeout: 5 s }',
        'set limits { stoptimeout: 30 seconds sendexpectbuffer: 256 B }', 'set limits { httpcontentbuffer: 1 MB }',
        'set mailserver localhost', 'set mailserver a.b port 25 username "u" password p, c.d port 465 using ssl with timeout 5 seconds',
        'set mailserver a.b using tlsv12 using hostname "h"', 'set mailserver a.b port 587 using tls with options { verify: enable, version: tlsv12 }',
        'set mailserver a.b using ssl {selfsigned: allow ciphers: "A:B"} certificate checksum md5 8f7f419955cefa0b33a2ba316cba3659',
        'set mail-format { from: a@b }', 'set mail-format { from: A <a@b>\n reply-to: c@d\n subject: $SERVICE\n message: hello\n you\n}',
        'set alert a@b', 'set alert a@b only on { timeout, nonexist } with reminder on 3 cycles', 'set alert a@b but not on {instance}',
        'set alert a@b { exec } with mail-format { subject: z }', '# a comment "', 'set alert root@localhost',
        'set eventqueue basedir /tmp/monit_diff', 'set eventqueue slots 5', 'set eventqueue with basedir "/tmp/monit diff" with slots 100']
VOCABULARY = ('set check program if then else status content changed succeeded > >= = == != % 5 3 0 0.5 -1 cycles cycle '
              'for within with the not every exec "/bin/true" alert unmonitor repeat group mode passive active timeout '
              'seconds minutes times as uid gid root on and or usage MB kB ( ) , ; { } : . /bin/true foo "a b" \'c\' a@b # '
              '\n path port using ssl tls options verify enable mailserver hostname username password daemon start delay '
              'limits reminder mail-format from: subject: message: include init onreboot laststate noalert to is @ ! '
              'every\n2 pidfile matching depends start stop MB/s operations/s memory disk read (user) percent days "* * * * *" "" log syslog facility certificate checksum md5 cpu exist failed total restart '
              'nonexist pid x<y a=b 5MB 3cycles ~/x $HOST a:b ::1 http http://a/b \\ * < <= overlapping shadow '
              'eventqueue basedir slots program signal ready after notify digest mail limit mails TERM '
              'host address localhost succeeded ping ping4 icmp echo count size protocol http https redis request headers [a:b] hostheader send '
              'expect responsetime ms retry url http://a.b/x certificate valid md5 sha1 type tcp udp tcpssl ipv4 ipv6 unixsocket unix '
              'network interface link up down capacity saturation upload download total packets packets/s hour last day allow httpd signature '
              'read-only @users admin:monit mmonit register credentials fips expectbuffer 2001:db8::1 1.2.3.0/24 ignore match permission '
              'hardlink hardlinks pagein pageouts sha256 sha1 exectimeout hostgroups =~ ~ changed 0 [a] [ a ] log_user '
              'space inode free fsflags timestamp loglimit secret database target version origin').split(' ')
TOKEN = re.compile(r'"[^"]*"|\'[^\']*\'|[A-Za-z0-9_/.\-@]+:?|[<>=!]+|\S|\n')


class Maker:
    def __init__(self, seed: int):
        self.random = random.Random(seed)

    def pick(self, of):
        return self.random.choice(of)

    def rule(self) -> str:
        if self.random.random() < 0.1:
            return f'if {self.pick(NEWER_MATCHES)} {self.pick(TOLERANCES)} then {self.pick(ACTIONS)} {self.pick(RECOVERIES)}'
        if self.random.random() < 0.3:
            return f'if {self.pick(MATCHES)} {self.pick(TOLERANCES)} then {self.pick(ACTIONS)}'
        return f'if {self.pick(STATUS)} {self.pick(TOLERANCES)} then {self.pick(ACTIONS)} {self.pick(RECOVERIES)}'

    def restarts(self) -> str:
        return f'if {self.pick(RESTARTS)} then {self.pick(ACTIONS + ["timeout"])}'

    def resources(self, row: list, alone: list) -> str:
        tests = [self.pick(row) for _ in range(self.random.choice([1, 1, 1, 2, 3]))]
        test = self.pick([' and ', ' or ', ' ']).join(tests) if self.random.random() < 0.6 else self.pick(alone)
        return f'if {test} {self.pick(TOLERANCES)} then {self.pick(ACTIONS)} {self.pick(RECOVERIES)}'

    def of_process(self) -> str:
        if self.random.random() < 0.15:
            return f'if {self.pick(CHANGES)} {self.pick(TOLERANCES)} then {self.pick(ACTIONS)}'
        return self.resources(OF_PROCESS, ALONE_OF_PROCESS)

    def of_system(self) -> str:
        return self.resources(OF_SYSTEM, ALONE_OF_SYSTEM)

    def connection(self, of_host: bool) -> str:
        state = self.pick(['failed', 'failed', 'succeeded'])
        what = self.random.random()
        if what < 0.6:
            host = self.pick(['', '', 'host a.b ', "host '::1' "])
            options = [self.pick(OF_PORT) for _ in range(self.random.randint(0, 3))]
            target = f'{host}{self.pick(["port", "port", "portnumber"])} {self.pick(["80", "443", "65536", "0"])}'
        elif what < 0.75 and of_host:
            options, target = [self.pick(OF_PING) for _ in range(2)], self.pick(['ping', 'ping4', 'ping6', 'icmp type echo'])
        elif what < 0.85 and not of_host:
            options, target = [self.pick(OPTIONS) for _ in range(2)], self.pick(['unixsocket /tmp/x', 'unix "/tmp/x y"'])
        else:
            options, target = [self.pick(OF_URL) for _ in range(2)], self.pick(['url http://a.b/x?y=z', 'url https://u:p@[::1]:80/', 'url http://a.b'])
        return f'if {state} {target} {" ".join(options)} {self.pick(TOLERANCES)} then {self.pick(ACTIONS)} {self.recovery(state == "succeeded")}'

    def of_host(self) -> str:
        return self.connection(True)

    def connection_of_process(self) -> str:
        return self.connection(False)

    def recovery(self, to_failed: bool) -> str:
        """The way back, and seldom one that there is not."""
        if self.random.random() < 0.1:
            to_failed = not to_failed
        return self.pick(['', 'else alert', 'else if failed then alert', 'else if failed for 2 cycles then alert'] if to_failed else RECOVERIES)

    def alone(self, tests: list) -> str:
        test = self.pick(tests)
        has_else = test.startswith(('changed link', 'changed permission')) or not test.startswith(('changed', 'content', 'match', 'not match'))
        recovery = self.recovery(test == 'link up') if has_else or self.random.random() < 0.1 else ''
        return f'if {test} {self.pick(TOLERANCES)} then {self.pick(ACTIONS)} {recovery}'

    def of_network(self) -> str:
        return self.alone(OF_NETWORK)

    def of_file(self) -> str:
        return self.pick(IGNORES) if self.random.random() < 0.15 else self.alone(OF_FILE)

    def of_path(self) -> str:
        return self.alone(OF_PATH)

    def of_filesystem(self) -> str:
        return self.alone(OF_FILESYSTEM)

    def service(self) -> list:
        headers, rule = self.pick([(HEADERS, self.rule), (PROCESSES, self.of_process), (PROCESSES, self.connection_of_process),
                                   (SYSTEMS, self.of_system), (HOSTS, self.of_host), (HOSTS, self.of_host), (HOSTS, self.of_host),
                                   (NETWORKS, self.of_network), (FILES, self.of_file), (PATHS, self.of_path),
                                   (FILESYSTEMS, self.of_filesystem)])
        common = [lambda: self.pick(SERVICE), lambda: self.pick(PROGRAMS), lambda: self.pick(DEPENDS), self.restarts]
        lines = [rule()] + [self.pick([rule, rule, rule, rule] + common)() for _ in range(self.random.randint(0, 3))]
        self.random.shuffle(lines)
        return [self.pick(headers)] + lines

    def broken(self, text: str) -> str:
        """One token of the text taken away, put in, replaced, doubled or swapped; one in five is left alone."""
        tokens = TOKEN.findall(text)
        at = self.random.randrange(len(tokens))
        how = self.random.random()
        if how < 0.15:
            pass
        elif how < 0.35:
            del tokens[at]
        elif how < 0.5:
            tokens.insert(at, self.pick(VOCABULARY))
        elif how < 0.7:
            tokens[at] = self.pick(VOCABULARY)
        elif how < 0.78:
            tokens.insert(at, tokens[at])
        elif how < 0.86 and at:
            tokens[at - 1], tokens[at] = tokens[at], tokens[at - 1]
        elif how < 0.93:
            tokens.insert(at, '\n')
        elif len(tokens[at]) > 1:  # one character of it
            cut = self.random.randrange(len(tokens[at]))
            tokens[at] = tokens[at][:cut] + self.pick(['', '', '"', "'", ' ', 'x', '1', '{', ':', '=', '#']) + tokens[at][cut + 1:]
        joined = ' '.join(tokens)
        return joined.replace(' %', '%').replace(' :', ':') if self.random.random() < 0.5 else joined

    def file(self, is_broken: bool = True) -> str:
        part = self.service() if self.random.random() < 0.65 else [self.pick(SETS) for _ in range(self.random.randint(1, 2))]
        text = '\n'.join(part)
        return f'set daemon 5\n{self.broken(text) if is_broken else text}\ncheck program y path "/bin/true" if status != 0 then alert\n'


def healer(program: str, paths: list, *options: str) -> list:
    said = []
    for at in range(0, len(paths), 400):
        part = paths[at:at + 400]
        run = subprocess.run([program, *options, *part], capture_output=True, text=True, errors='replace', timeout=300)
        lines = run.stdout.splitlines()
        if run.returncode != 0 or len(lines) != len(part):
            sys.exit(f'{program} failed with {run.returncode} at {part[min(len(lines), len(part) - 1)]}: {run.stderr[-500:]}')
        said += lines
    return said


def require_monit() -> dict[str, str]:
    """The Monits that are here, by version: at least one."""
    found = monits.found()
    for version in monits.DIALECT:
        if version not in found:
            print(f'{"skipped" if not found else "passed over"}: there is no monit {version} here')
    if not found:
        sys.exit(77)
    return found


def judge(program: str, texts: list, shown: int, version: str, real: str) -> tuple[int, int, int]:
    """Asks both about each text and prints the first disagreements: how many texts Monit rejects, how many are left out
    as beyond what can be compared, and how many get another verdict. `real` is the Monit of that version."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ['HOME'] = folder
        paths = []
        for number, text in enumerate(texts):
            paths.append(f'{folder}/{number}')
            with open(paths[-1], 'w', encoding='utf8', errors='surrogateescape', newline='') as out:
                out.write(text)
            os.chmod(paths[-1], 0o600)
        strict, free = healer(program, paths, '--dialect', monits.DIALECT[version]), healer(program, paths)
        rejected = bad = beyond = 0
        for path, text, verdict, generous in zip(paths, texts, strict, free):
            run = subprocess.run([real, '-t', '-c', path], capture_output=True, text=True, errors='replace',
                                 stdin=subprocess.DEVNULL, timeout=60)
            monit = 'ok' if run.returncode == 0 else 'reject'
            rejected += monit == 'reject'
            said = (run.stderr + run.stdout).replace(path, 'f').split('\n')
            message = next((line for line in said if line.strip() and 'deprecated' not in line), '')
            if 'version of healer' in verdict or 'opening the log file' in message:
                beyond += 1  # not supported yet, or not a matter of the language: nothing to compare
                continue
            if verdict.split(' ')[0] == monit and (monit == 'reject' or generous == 'ok'):
                continue
            bad += 1
            if bad <= shown:
                print(f'Monit {version}: {monit} ({message})\nhealer: {verdict}; without the dialect: {generous}\n{text}')
    return rejected, beyond, bad


def main() -> None:
    found = require_monit()
    program = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    shown = int(sys.argv[4]) if len(sys.argv) > 4 else 20
    maker = Maker(seed)
    texts = [maker.file() for _ in range(count)]
    wrong = 0
    for version, real in found.items():
        rejected, beyond, bad = judge(program, texts, shown, version, real)
        wrong += bad
        print(f'seed {seed}, Monit {version}: {rejected} rejected by Monit, {beyond} left out; '
              f'agree {count - beyond - bad} of {count - beyond}')
    sys.exit(wrong != 0)


if __name__ == '__main__':
    main()
