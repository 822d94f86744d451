# SPDX-License-Identifier: MIT
"""Real servers of Debian, each up, closed, hanging, refusing in its protocol, closing half-way, and another than expected:
what the real Monit and `healerctl probe` say, side by side. What is not installed is left out, and said. No server was to
be had for mongodb, tns and dwp, and inn2 (nntp) installs only where the host has a full name: theirs are the stubs of
protocols_test.py, made from the published specifications."""
import os
import shutil
import signal
import socket
import subprocess
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import further_servers
import probe_test
import real_servers
import support

SECRET = "p4ss"


# What Monit passes although it should not: silence and any answer are PostgreSQL's, and of fail2ban's it wants the first
# byte. Of half a line of SIP it reads what it had in that place before, or not.
MONIT_PASSES = {("pgsql", "hanging"), ("pgsql", "another"), ("fail2ban", "half-way")}
MONIT_VARIES = {("sip", "half-way")}


@dataclass
class Server:
    """One that is up: where, what is asked of it and how many bytes of its answers are half of them."""

    place: int | Path  # a port, or the path of a unix socket
    words: str
    half: int = 1
    refusing: tuple[int, str] | None = None  # a port, and words if others
    lost: dict[str, int | Path] = field(default_factory=dict)  # further states in which it does not answer
    monit: bool | None = True  # what Monit says of it when it is up; None: it does not have the protocol
    monit_refusing: bool | None = False
    more: list[tuple[str, str, str]] = field(default_factory=list)  # words, verdict, a part of the text: healer's own


@unittest.skipIf(os.geteuid() != 0, "some servers begin as root")
class Servers(real_servers.RealServers):
    def setUp(self):
        super().setUp()
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", "/CN=localhost",
                        "-keyout", self.path("key"), "-out", self.path("crt")], check=True, stderr=subprocess.DEVNULL)
        self.path("key").chmod(0o644)
        self.endings: list = []  # what ends more than what was begun here

    def tearDown(self):
        while self.endings:
            self.endings.pop()()
        super().tearDown()

    def conf(self, name: str, text: str):
        file = self.path(name)
        file.write_text(text)
        return file

    def own_folder(self, name: str, user: str | None = None):
        folder = self.path(name)
        folder.mkdir()
        if user:
            shutil.chown(folder, user)
        return folder

    # ---- the servers: each is begun at once, and waited for later

    def dovecot(self) -> dict[str, Server]:
        imap, imaps, pop, pops, lmtp, sieve = (self.own_port() for _ in range(6))
        folder = self.own_folder("dovecot")
        listeners = "".join(
            f"service {service} {{\n inet_listener {name} {{\n address = 127.0.0.1\n port = {port}\n{more} }}\n}}\n"
            for service, name, port, more in (
                ("imap-login", "imap", imap, ""), ("imap-login", "imaps", imaps, " ssl = yes\n"), ("pop3-login", "pop3", pop, ""),
                ("pop3-login", "pop3s", pops, " ssl = yes\n"), ("lmtp", "lmtp", lmtp, ""),
                ("managesieve-login", "sieve", sieve, "")))
        conf = self.conf("dovecot.conf", f"""base_dir = {folder}/run
state_dir = {folder}/state
log_path = {folder}/log
protocols = imap pop3 lmtp sieve
ssl = yes
ssl_cert = <{self.path('crt')}
ssl_key = <{self.path('key')}
disable_plaintext_auth = no
first_valid_uid = 1
mail_location = maildir:{folder}/mail/%u
passdb {{
  driver = static
  args = password={SECRET}
}}
userdb {{
  driver = static
  args = uid=nobody gid=nogroup home={folder}/home/%u
}}
{listeners}""")
        folder.chmod(0o777)
        self.begin("/usr/sbin/dovecot", "-F", "-c", conf)
        login = f'username "u" password "{SECRET}"'
        wrong = 'username "u" password "n0t so"'
        return {
            "imap": Server(imap, "protocol imap", more=[
                ("protocol imap starttls " + login, "passed", "with TLS"), ("protocol imap " + login, "passed", "an IMAP server"),
                ("protocol imap " + wrong, "failed", "its answer to the login is"),
                ("protocol imap starttls certificate valid > 50 days", "failed", "at least 50 days")]),
            "imaps": Server(imaps, "protocol imaps", more=[("protocol imaps " + login, "passed", "an IMAP server")]),
            "pop": Server(pop, "protocol pop", more=[
                ("protocol pop starttls " + login, "passed", "with TLS"),
                ("protocol pop " + wrong, "failed", "its answer to the login is")]),
            "pops": Server(pops, "protocol pops"),
            "lmtp": Server(lmtp, "protocol lmtp", half=8, more=[("protocol lmtp starttls", "passed", "with TLS")]),
            "sieve": Server(sieve, "protocol sieve", half=8, more=[("protocol sieve starttls", "passed", "with TLS")]),
        }

    def slapd(self) -> dict[str, Server]:
        good, bad = self.own_port(), self.own_port()
        for name, port, allowed in (("good", good, "allow bind_v2"), ("bad", bad, "disallow bind_anon")):
            folder = self.own_folder(f"slapd-{name}")
            conf = self.conf(f"slapd-{name}.conf", f"include /etc/ldap/schema/core.schema\nmodulepath /usr/lib/ldap\n"
                             f"moduleload back_mdb\npidfile {folder}/pid\n{allowed}\nTLSCertificateFile {self.path('crt')}\n"
                             f"TLSCertificateKeyFile {self.path('key')}\ndatabase mdb\nsuffix \"dc=example\"\ndirectory {folder}\n")
            self.begin("/usr/sbin/slapd", "-d", "0", "-h", f"ldap://127.0.0.1:{port}", "-f", conf)
        return {
            "ldap2": Server(good, "protocol ldap2", half=5, refusing=(bad, "")),
            "ldap3": Server(good, "protocol ldap3", half=5, refusing=(bad, ""), more=[
                ("protocol ldap3 starttls", "passed", "anybody bind")]),
        }

    def memcached(self) -> dict[str, Server]:
        good, text = self.own_port(), self.own_port()
        self.begin("/usr/bin/memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", good)
        self.begin("/usr/bin/memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", text, "-B", "ascii")
        return {"memcache": Server(good, "protocol memcache", half=9, refusing=(text, ""))}

    def mosquitto(self) -> dict[str, Server]:
        good, closed = self.own_port(), self.own_port()
        for port, anybody in ((good, "true"), (closed, "false")):
            self.begin("/usr/sbin/mosquitto", "-c", self.conf(
                f"mosquitto{port}", f"listener {port} 127.0.0.1\nallow_anonymous {anybody}\nuser root\n"))
        return {"mqtt": Server(good, "protocol mqtt", half=2, refusing=(closed, ""))}

    def mariadb(self) -> dict[str, Server]:
        port, full = self.own_port(), self.own_port()
        for at, more in ((port, ()), (full, ("--max-connections=10", "--connect-timeout=600"))):
            folder = self.own_folder(f"mariadb{at}", "mysql")
            subprocess.run(["mariadb-install-db", "--no-defaults", "--user=mysql", f"--datadir={folder}", "--skip-test-db",
                            "--auth-root-authentication-method=normal"], check=True, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)
            init = self.conf(f"init{at}.sql", f"create user u@'%' identified by '{SECRET}';\ncreate user u@localhost identified by '{SECRET}';\n")
            self.begin("/usr/sbin/mariadbd", "--no-defaults", "--user=mysql", f"--datadir={folder}", f"--socket={folder}/s",
                       f"--port={at}", "--bind-address=127.0.0.1", f"--ssl-cert={self.path('crt')}", f"--ssl-key={self.path('key')}",
                       f"--pid-file={folder}/pid", f"--init-file={init}", "--innodb-buffer-pool-size=8M", *more)
        login = f'username "u" password "{SECRET}"'
        wrong = 'protocol mysql username "u" password "n0t so"'
        self.answers(full)
        room = 11  # for one more than it was told, an administrator
        while room > 0:
            client = socket.create_connection(("127.0.0.1", full))
            self.addCleanup(client.close)
            room -= client.recv(64)[4:5] == b"\n"  # the greeting; while one that was there before goes, an error
        return {
            "mysql": Server(port, "protocol mysql", half=20, refusing=(full, "")),
            "mysqls": Server(port, "protocol mysqls", half=20, refusing=(full, ""), more=[
                ("protocol mysqls certificate valid > 5 days", "passed", "with TLS")]),
            "mysql login": Server(port, "protocol mysql " + login, half=20, refusing=(port, wrong), more=[
                (f"protocol mysqls {login}", "passed", "accepts the login, with TLS"),
                (f'protocol mysql {login} query "select 1"', "passed", "answers the query"),
                (f'protocol mysql {login} query "select 1 from dual where 1 = 0"', "failed", "no rows"),
                (f'protocol mysql {login} query "selekt"', "failed", "error 1064")]),
        }

    def postgres(self) -> dict[str, Server]:
        bins = sorted(p for p in os.listdir("/usr/lib/postgresql"))[-1]
        program = f"/usr/lib/postgresql/{bins}/bin"
        port = self.own_port()
        folder = self.own_folder("postgres", "postgres")
        password = self.conf("pgpass", SECRET + "\n")
        password.chmod(0o644)
        subprocess.run([f"{program}/initdb", "-D", folder / "d", "-U", "u", "-A", "scram-sha-256", f"--pwfile={password}"],
                       check=True, user="postgres", cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name in ("crt", "key"):
            shutil.copy(self.path(name), folder / name)
            shutil.chown(folder / name, "postgres")
            (folder / name).chmod(0o600)
        self.begin(f"{program}/postgres", "-D", folder / "d", "-p", port, "-c", "listen_addresses=127.0.0.1", "-k", folder,
                   "-c", "ssl=on", "-c", f"ssl_cert_file={folder}/crt", "-c", f"ssl_key_file={folder}/key", user="postgres", cwd=folder)
        login = f'protocol pgsql username "u" password "{SECRET}" database "postgres"'
        wrong = 'protocol pgsql username "u" password "n0t so" database "postgres"'
        return {
            "pgsql": Server(port, "protocol pgsql", half=3, more=[
                ("using tls protocol pgsql", "passed", "takes connections"),
                (login, "passed", "accepts the login"), ("using tls " + login, "passed", "accepts the login"),
                (wrong, "failed", "its answer to the login is"), (login + ' query "select 1"', "passed", "answers the query"),
                (login + ' query "select 1 where false"', "failed", "no rows")]),
        }

    def unbound(self) -> dict[str, Server]:
        port = self.own_port()
        self.begin("/usr/sbin/unbound", "-d", "-c", self.conf("unbound.conf", f"""server:
  interface: 127.0.0.1@{port}
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "{self.folder}"
  pidfile: "{self.path('unbound.pid')}"
  use-syslog: no
  local-zone: "." refuse
  local-zone: "example." static
  local-data: "www.example. A 192.0.2.5"
  local-data: "www.example. AAAA 2001:db8::5"
  local-data: "example. MX 10 mail.example."
remote-control:
  control-enable: no
"""))
        asked = [('query "www.example"', "passed", '"192.0.2.5"'), ('query "www.example" expect "192.0.2.5"', "passed", "192.0.2.5"),
                 ('query "www.example" expect "192.0.2.6"', "failed", 'not "192.0.2.6"'),
                 ('query "www.example" type aaaa expect "2001:db8::5"', "passed", "2001:db8::5"),
                 ('query "example" type mx expect "mail.example."', "passed", "mail.example"),
                 ('query "none.example"', "failed", "no such name"), ('query "www.example" type txt', "failed", "no such record")]
        return {
            "dns": Server(port, "protocol dns", half=5, more=[("protocol dns " + words, *then) for words, *then in asked]),
            "dns udp": Server(port, "type udp protocol dns", half=0, more=[
                ("type udp protocol dns " + words, *then) for words, *then in asked]),
        }

    def chronyd(self) -> dict[str, Server]:
        good, lost = self.own_port(), self.own_port()
        for port, local in ((good, "local stratum 5"), (lost, "")):
            self.begin("/usr/sbin/chronyd", "-d", "-x", "-u", "root", "-f", self.conf(
                f"chrony{port}", f"port {port}\n{local}\nallow 127.0.0.1\nbindaddress 127.0.0.1\ncmdport 0\n"
                f"bindcmdaddress /\npidfile {self.path(f'chrony{port}.pid')}\n"))
        return {"ntp3": Server(good, "protocol ntp3", half=0, refusing=(lost, ""), more=[
            ("protocol ntp3 offset < 500 ms", "passed", "ms"), ("protocol ntp3 offset > 500 ms", "failed", "not > 500 ms")])}

    def proftpd(self) -> dict[str, Server]:
        port = self.own_port()
        self.begin("/usr/sbin/proftpd", "-n", "-c", self.conf("proftpd.conf", f"""ServerType standalone
DefaultAddress 127.0.0.1
SocketBindTight on
Port {port}
UseIPv6 off
User nobody
Group nogroup
AuthPAM off
WtmpLog off
SystemLog none
PidFile {self.path('proftpd.pid')}
ScoreboardFile {self.path('proftpd.score')}
DelayTable none
"""))
        return {"ftp": Server(port, "protocol ftp", half=8)}

    def fail2ban(self) -> dict[str, Server]:
        """Three without jails, which ban nobody: one is stopped as by Ctrl-Z, one killed; their sockets stay."""
        servers = {}
        for name in ("up", "stopped", "killed"):
            folder = self.own_folder(f"fail2ban-{name}")
            (folder / "fail2ban.conf").write_text(f"""[Definition]
loglevel = INFO
logtarget = STDERR
syslogsocket = auto
socket = {folder}/socket
pidfile = {folder}/pid
dbfile = None
""")
            (folder / "jail.conf").write_text("[DEFAULT]\nenabled = false\n")
            servers[folder / "socket"] = self.begin("/usr/bin/fail2ban-server", "-f", "-c", folder, "-s", folder / "socket",
                                                    "-p", folder / "pid")
        up, stopped, killed = servers
        for place in servers:
            self.up(Server(place, "protocol fail2ban"))
        servers[stopped].send_signal(signal.SIGSTOP)
        servers[killed].kill()
        servers[killed].wait()
        return {"fail2ban": Server(up, "protocol fail2ban", half=20, lost={"stopped": stopped, "killed": killed})}

    def rsyncd(self) -> dict[str, Server]:
        port = self.own_port()
        self.begin("/usr/bin/rsync", "--daemon", "--no-detach", f"--port={port}", "--address=127.0.0.1", "--config", self.conf(
            "rsyncd.conf", f"use chroot = no\n[backup]\npath = {self.folder}\ncomment = all\n"))
        return {"rsync": Server(port, "protocol rsync", half=5)}

    def postgrey(self) -> dict[str, Server]:
        port = self.own_port()
        folder = self.own_folder("postgrey", "postgrey")
        self.begin("/usr/sbin/postgrey", f"--inet=127.0.0.1:{port}", f"--dbdir={folder}", "--user=postgrey")
        return {"postfix-policy": Server(port, "protocol postfix-policy", half=3)}

    def clamd(self) -> dict[str, Server]:
        port = self.own_port()
        base = self.own_folder("clamdb")
        (base / "test.hdb").write_text("44d88612fea8a8f36de82e1278abb02f:68:Eicar-Test\n")
        self.begin("/usr/sbin/clamd", "-c", self.conf(
            "clamd.conf", f"Foreground yes\nTCPSocket {port}\nTCPAddr 127.0.0.1\nDatabaseDirectory {base}\nUser root\n"))
        return {"clamav": Server(port, "protocol clamav", half=2)}

    def spamd(self) -> dict[str, Server]:
        port = self.own_port()
        self.begin("/usr/sbin/spamd", "-x", "-L", "-i", "127.0.0.1", "-p", port, "-u", "nobody", "-m", "1", "-s", "stderr",
                   "-r", self.path("spamd.pid"))
        return {"spamassassin": Server(port, "protocol spamassassin", half=8)}

    def freeradius(self) -> dict[str, Server]:
        port = self.own_port()
        folder = self.own_folder("radius")
        (folder / "radiusd.conf").write_text(f"""prefix = /usr
name = radiusd
logdir = {folder}
run_dir = {folder}
libdir = /usr/lib/freeradius
security {{
  status_server = yes
  allow_vulnerable_openssl = yes
}}
client here {{
  ipaddr = 127.0.0.1
  secret = s3cret
}}
modules {{
}}
server default {{
  listen {{
    type = auth
    ipaddr = 127.0.0.1
    port = {port}
  }}
  authorize {{
  }}
}}
""")
        self.begin("/usr/sbin/freeradius", "-f", "-l", "stdout", "-d", folder, "-n", "radiusd")
        words = 'type udp protocol radius secret "s3cret"'
        return {"radius": Server(port, words, half=0, refusing=(port, 'type udp protocol radius secret "other"'))}

    def apache(self) -> dict[str, Server]:
        port = self.own_port()
        modules = "".join(f"LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"
                          for name in ("mpm_event", "authz_core", "status"))
        self.begin("/usr/sbin/apache2", "-DFOREGROUND", "-d", self.folder, "-f", self.conf(
            "apache.conf", f"{modules}ServerName localhost\nListen 127.0.0.1:{port}\nPidFile {self.path('apache.pid')}\n"
            f"ErrorLog {self.path('apache.log')}\nDefaultRuntimeDir {self.folder}\nUser nobody\nGroup nogroup\n"
            "<Location /server-status>\n SetHandler server-status\n</Location>\n<Location /no>\n Require all denied\n</Location>\n"))
        words = "protocol apache-status loglimit > 60%"
        return {"apache-status": Server(port, words, half=12, refusing=(port, "protocol apache-status waitlimit > 1%"))}

    def kamailio(self) -> dict[str, Server]:
        good, bad = self.own_port(), self.own_port()
        for port, answer in ((good, '"200", "OK"'), (bad, '"503", "Busy"')):
            self.begin("/usr/sbin/kamailio", "-DD", "-E", "-m", "32", "-M", "4", "-Y", self.folder, "-f", self.conf(
                f"kamailio{port}", f"fork=yes\nchildren=1\ntcp_children=1\nlisten=udp:127.0.0.1:{port}\nlisten=tcp:127.0.0.1:{port}\n"
                f'mpath="/usr/lib/x86_64-linux-gnu/kamailio/modules/"\nloadmodule "sl.so"\nloadmodule "pv.so"\n'
                f"request_route {{\n sl_send_reply({answer});\n}}\n"))
        return {"sip": Server(good, "protocol sip", half=8, refusing=(bad, "")),
                "sip udp": Server(good, "type udp protocol sip", half=0, refusing=(bad, ""))}

    def gpsd(self) -> dict[str, Server]:
        port, receiver, lone = self.own_port(), self.own_port(), self.own_port()
        self.begin("/usr/sbin/gpsd", "-N", "-n", "-S", port, f"udp://127.0.0.1:{receiver}")
        self.begin("/usr/sbin/gpsd", "-N", "-n", "-S", lone, "-F", self.path("gpsd"))
        return {"gps": Server(port, "protocol gps", half=9, refusing=(lone, ""), monit=False)}  # Monit asks as before 2.90

    def bind9(self) -> dict[str, Server]:
        port = self.own_port()
        folder = self.own_folder("bind")
        zone = self.conf("bind/zone", "$TTL 60\n@ SOA a. b. 1 60 60 60 60\n NS ns\nns A 192.0.2.1\nwww A 192.0.2.5\nmail MX 10 www\n")
        self.begin("/usr/sbin/named", "-g", "-n", "1", "-c", self.conf("bind/conf", f"""options {{
  directory "{folder}";
  listen-on port {port} {{ 127.0.0.1; }};
  listen-on-v6 {{ none; }};
  recursion no;
  pid-file none;
  session-keyfile "{folder}/key";
}};
controls {{ }};
zone "example" {{ type primary; file "{zone}"; }};
"""))
        asked = [('query "www.example" expect "192.0.2.5"', "passed", '"192.0.2.5"'), ('query "mail.example" type mx', "passed", "www.example"),
                 ('query "none.example"', "failed", "no such name"), ('query "www.example" type aaaa', "failed", "no such record"),
                 ('query "example" type soa', "passed", '"a"'), ('query "www.elsewhere"', "failed", "refused")]
        return {
            "dns bind9": Server(port, "protocol dns", half=5, more=[("protocol dns " + words, *then) for words, *then in asked]),
            "dns udp bind9": Server(port, "type udp protocol dns", half=0, more=[
                ("type udp protocol dns " + words, *then) for words, *then in asked]),
        }

    def inetd(self) -> dict[str, Server]:
        """It tells the time at the port of that service alone."""
        if real_servers.speaks(37):
            print("left out: somebody listens on the port of the service time", file=sys.stderr)
            return {}
        self.begin("/usr/sbin/inetd", "-i", self.conf("inetd.conf", "127.0.0.1:time stream tcp nowait root internal\n"))
        return {"rdate": Server(37, "protocol rdate", half=2)}

    def snmpd(self) -> dict[str, Server]:
        port = self.own_port()
        conf = self.conf("snmpd.conf", f"rocommunity {SECRET} 127.0.0.1\nsysName node7\nsysServices 72\n")
        self.begin("/usr/sbin/snmpd", "-f", "-Lo", "-C", "-c", conf, "-p", self.path("snmpd.pid"), f"udp:127.0.0.1:{port}",
                   env={**os.environ, "SNMP_PERSISTENT_DIR": str(self.own_folder("snmp"))})
        words = f'type udp protocol snmp community "{SECRET}" oid '
        name, uptime, services = "1.3.6.1.2.1.1.5.0", "1.3.6.1.2.1.1.3.0", "1.3.6.1.2.1.1.7.0"
        return {"snmp": Server(port, f'{words}"{uptime}"', half=0, monit=None, monit_refusing=None,
                               refusing=(port, f'{words}"1.3.6.1.2.1.1.999.0"'), more=[
            (f'{words}"{name}" = "node7"', "passed", f'its {name} is "node7"'),
            (f'{words}"{name}" != "node7"', "failed", 'is "node7", not != "node7"'),
            (f'{words}".{services}" = 72', "passed", "is 72"), (f'{words}"{services}" > 72', "failed", "is 72, not > 72"),
            (f'{words}"{uptime}" > 0', "passed", f"its {uptime} is "),  # TimeTicks
            (f'{words}"1.3.6.1.2.1.2.2.1.10.1" >= 0', "passed", "its 1.3.6.1.2.1.2.2.1.10.1 is "),  # Counter32
            (f'{words}"1.3.6.1.2.1.31.1.1.1.6.1" >= 0', "passed", "its 1.3.6.1.2.1.31.1.1.1.6.1 is "),  # Counter64
            (f'{words}"1.3.6.1.2.1.2.2.1.5.1" > 1000', "passed", "its 1.3.6.1.2.1.2.2.1.5.1 is "),  # Gauge32
            (f'{words}"1.3.6.1.2.1.1.2.0"', "passed", "is 1.3.6.1.4.1.8072."),  # the name of an object
            (f'{words}"1.3.6.1.2.1.4.20.1.1.127.0.0.1" = "127.0.0.1"', "passed", "is 127.0.0.1"),  # an address
            (f'{words}"1.3.6.1.2.1.1.5"', "failed", "noSuchInstance"), (f'{words}"1.3.6.1.9.9"', "failed", "noSuchObject"),
            (f'type udp protocol snmp oid "{uptime}"', "failed", "no answer within")])}

    def podman(self) -> dict[str, Server]:
        """The API of Docker, with containers of one program each: a busybox."""
        if not os.path.exists("/bin/busybox"):
            print("left out: busybox-static, for a container, is not installed", file=sys.stderr)
            return {}
        at = self.own_podman()
        if at is None:
            return {}
        port = self.own_port()
        self.begin(*at, "system", "service", "--time=0", f"tcp://127.0.0.1:{port}")
        self.begin(*at, "system", "service", "--time=0", f"unix://{self.path('podman.sock')}")
        return {"docker": Server(port, 'protocol docker container "web"', half=20, monit=None, monit_refusing=None,
                                 refusing=(port, 'protocol docker container "gone"'), more=[
            ('protocol docker container "nobody"', "failed", 'there is no container "nobody"'),
            ('protocol docker container "web/../gone"', "failed", "there is no container"),
            ('protocol docker container "gone"', "failed", "the container is not running: it is "),
            ('protocol docker container "well"', "passed", "running and healthy"),
            ('protocol docker container "ill"', "failed", 'its health is "unhealthy"'),
            ('protocol docker container "new"', "passed", "its first health check is not done")])}

    def own_podman(self) -> list[str] | None:
        """Its command, with containers of the test's own; None: none can be run here, and why is said."""
        root = self.own_folder("rootfs")
        for name in ("bin", "proc", "sys", "dev", "etc", "tmp", "run"):
            (root / name).mkdir()
        shutil.copy("/bin/busybox", root / "bin")
        for name in ("sleep", "true", "false", "sh"):
            (root / "bin" / name).symlink_to("busybox")
        runtime = "runc" if shutil.which("runc") else "crun"
        at = ["/usr/bin/podman", "--root", self.path("podman"), "--runroot", self.path("podman-run"), "--tmpdir", self.path("podman-tmp"),
              "--cgroup-manager", "cgroupfs", "--storage-driver", "vfs", "--events-backend", "none", "--runtime", runtime]

        def run(*words) -> subprocess.CompletedProcess:
            return subprocess.run([*map(str, at), *map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)

        self.endings.append(lambda: run("rm", "-f", "-a", "-t", "0"))
        limits = ["--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000", "--network", "none", "--health-interval", "disable"]
        for name, health in (("web", None), ("well", "true"), ("ill", "false"), ("new", "true")):
            checked = ["--health-cmd", health, "--health-retries", "1"] if health else []
            done = run("run", "-d", "--name", name, *limits, *checked, "--rootfs", root, "/bin/sleep", "3600")
            if done.returncode != 0:
                print(f"left out: no container can be run here: {done.stderr.strip()}", file=sys.stderr)
                return None
        run("create", "--name", "gone", *limits, "--rootfs", root, "/bin/sleep", "1")
        for name in ("well", "ill"):
            run("healthcheck", "run", name)
        return at

    def rabbitmq(self) -> dict[str, Server]:
        return {name: Server(**one, monit=None) for name, one in further_servers.rabbitmq(self).items()}

    def node(self) -> dict[str, Server]:
        return {name: Server(**one, monit=None if "grpc" in name else True) for name, one in further_servers.node(self).items()}

    STARTED = {"/usr/sbin/dovecot": dovecot, "/usr/sbin/slapd": slapd, "/usr/bin/memcached": memcached,
               "/usr/sbin/mosquitto": mosquitto, "/usr/sbin/mariadbd": mariadb, "/usr/lib/postgresql": postgres,
               "/usr/sbin/unbound": unbound, "/usr/sbin/chronyd": chronyd, "/usr/sbin/proftpd": proftpd,
               "/usr/bin/rsync": rsyncd, "/usr/sbin/postgrey": postgrey, "/usr/sbin/clamd": clamd, "/usr/sbin/spamd": spamd,
               "/usr/sbin/freeradius": freeradius, "/usr/sbin/apache2": apache, "/usr/sbin/kamailio": kamailio,
               "/usr/sbin/gpsd": gpsd, "/usr/sbin/named": bind9, "/usr/sbin/inetd": inetd, "/usr/sbin/snmpd": snmpd,
               "/usr/bin/fail2ban-server": fail2ban, "/usr/bin/podman": podman, "/usr/lib/rabbitmq/bin/rabbitmq-server": rabbitmq, "/usr/bin/node": node}

    def up(self, server: Server) -> None:
        def passes() -> bool:
            return probe_test.probe("127.0.0.1", f"{probe_test.at(server.place)} {server.words} timeout 2 seconds")[0] == 0
        self.wait_for(passes, f"a server for {server.words} on {server.place}", limit=3 * support.LIMIT,
                      detail=lambda: self.path("servers.log").read_text(errors="replace")[-3000:])

    def test_each_state_of_each_server_is_judged_as_by_monit_or_better(self):
        servers: dict[str, Server] = {}
        for program, start in self.STARTED.items():
            if os.path.exists(program):
                servers |= start(self)
            else:
                print(f"left out: {program} is not installed", file=sys.stderr)
        for server in servers.values():
            self.up(server)
        rows: dict[tuple[str, str], tuple[int | Path, str, bool, bool]] = {}  # place, words, Monit's verdict, healer's
        other = self.own_port()
        self.begin("/usr/bin/redis-server", "--port", other, "--bind", "127.0.0.1", "--save", "", "--dir", self.folder)
        self.answers(other)
        for name, one in servers.items():
            tcp = "udp" not in one.words and "ntp3" not in one.words
            no = None if one.monit is None else False
            rows[name, "up"] = (one.place, one.words, one.monit, True)
            closed = self.path("no.socket") if isinstance(one.place, Path) else self.own_port()
            for state, place in {"closed": closed, **one.lost}.items():
                rows[name, state] = (place, one.words, no, False)
            if one.refusing:
                rows[name, "refusing"] = (one.refusing[0], one.refusing[1] or one.words, no if no is None else one.monit_refusing, False)
            if tcp:
                for state, port in (("hanging", self.silent()), ("half-way", self.cut(one.place, one.half)), ("another", other)):
                    monit = None if (name, state) in MONIT_VARIES else True if (name, state) in MONIT_PASSES else no
                    rows[name, state] = (port, one.words, monit, False)
        self.judge(rows)
        if "docker" in servers:
            self.judge_socket()
        wrong = []
        for name, one in servers.items():
            for words, verdict, text in one.more:
                document = probe_test.probe("127.0.0.1", f"{probe_test.at(one.place)} {words} timeout 10 seconds")[1]
                print(f"{name:15} {document['verdict']:7} {words}: {document['text']}", file=sys.stderr)
                if document["verdict"] != verdict or text not in document["text"]:
                    wrong.append((words, document["text"]))
        self.assertEqual(wrong, [])

    def judge_socket(self) -> None:
        """What the daemon says of containers over Podman's socket, in a check of a host."""
        socket_path = self.path("podman.sock")
        daemon = self.start("check host containers with address localhost\n" + "".join(
            f'  if failed unixsocket {socket_path} protocol docker container "{name}" then alert\n' for name in ("web", "gone")), cycle="1")
        verdicts = lambda: [one["verdict"] for one in daemon.ask("status", "containers")["services"][0]["connections"]]  # noqa: E731
        self.wait_for(lambda: verdicts() == ["passed", "failed"], "verdicts over the socket of Podman",
                      detail=lambda: str(daemon.ask("status", "containers")["services"][0]["connections"]))

    def judge(self, rows: dict) -> None:
        rows = {row: (place, f"{words} timeout {20 if row[1] == 'up' else 3} seconds", *verdicts)  # a machine may be busy
                for row, (place, words, *verdicts) in rows.items()}
        say = {True: "passed", False: "failed", None: "-"}
        known = [row for row, (_, _, monit, _) in rows.items() if monit is not None]
        parts = [known[at::6] for at in range(6)]
        with ThreadPoolExecutor(8) as workers:
            theirs = workers.map(lambda part: probe_test.ask_monit(self, [rows[row][:2] for row in part[1]], f"monit{part[0]}"),
                                 enumerate(parts))
            ours = dict(zip(rows, workers.map(
                lambda row: probe_test.probe("127.0.0.1", f"{probe_test.at(row[0])} {row[1]}")[1], rows.values())))
            told = {row: verdict for part, verdicts in zip(parts, theirs) for row, verdict in zip(part, verdicts)}
        wrong = []
        print(f"{'':15} {'server':9} {'monit':7} {'healer':7}", file=sys.stderr)
        for (name, state), (_, _, monit, healer) in rows.items():
            document, seen = ours[name, state], told.get((name, state))
            print(f"{name:15} {state:9} {say[seen]:7} {document['verdict']:7} {document['text']}", file=sys.stderr)
            if seen is not None and seen != monit:
                wrong.append(f"{name} {state}: Monit says {say[seen]}")
            if document["verdict"] != say[healer]:
                wrong.append(f"{name} {state}: healer says {document['text']}")
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    support.main()
