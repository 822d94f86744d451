# SPDX-License-Identifier: MIT
"""Each protocol against a stub that is well, closed, hanging, refusing in the protocol, closing half-way and speaking
nonsense: what the real Monit and `healerctl probe` say, side by side. Real servers: see servers_test.py."""
import base64
import contextlib
import hashlib
import hmac
import re
import socket
import sqlite3
import ssl
import struct
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Callable

import probe_test
import support

SINCE_1900 = 2208988800
NONSENSE = b"\x7fxyzzy plugh nothing happens here\r\n" * 3
BEHAVIOURS = ("up", "closed", "hanging", "refusing", "half-way", "nonsense")
Part = bytes | Callable[[bytes], bytes]


@dataclass
class Protocol:
    """What a server of one protocol says: one part after each thing that it hears, the first at once if `first`."""

    words: str
    up: list[Part]
    refusing: list[Part]
    first: bool = False
    udp: bool = False
    tls: bool = False
    begins_tls: int | None = None  # after so many parts
    closes: bool = False  # after its last part; Monit reads on until it does, or the time is over
    own: bool = False  # Monit does not have it
    passes: dict[str, tuple[bool | None, bool]] = field(default_factory=dict)  # Monit's (None: any) and healer's verdict, if not usual


def bson(ok: float) -> bytes:
    return b"\x11\0\0\0\x01ok\0" + struct.pack("<d", ok) + b"\0"


def mongodb(ok: float) -> Callable[[bytes], bytes]:
    """In the form in which it was asked: Monit 5.33 asks as servers before 5.1 understand it."""
    def answer(asked: bytes) -> bytes:
        number, _, code = struct.unpack("<iii", asked[4:16])
        body, reply = (b"\0\0\0\0\0" + bson(ok), 2013) if code == 2013 else (struct.pack("<iqii", 0, 0, 0, 1) + bson(ok), 1)
        return struct.pack("<iiii", 16 + len(body), 9, number, reply) + body
    return answer


def ldap(code: int) -> Callable[[bytes], bytes]:
    return lambda asked: b"0\x0c\x02\x01" + asked[4:5] + b"a\x07\n\x01" + bytes([code]) + b"\x04\0\x04\0"


def memcache(status: int) -> bytes:
    return struct.pack(">BBHBBHIIQ", 0x81, 0x0A, 0, 0, 0, status, 0, 0, 0)


def my(number: int, body: bytes) -> bytes:
    return struct.pack("<I", len(body))[:3] + bytes([number]) + body


MYSQL = my(0, b"\x0a8.0.1\0\1\0\0\0abcdefgh\0\xff\xff\x08\x02\0\xff\xdf\x15" + b"\0" * 10 + b"ijklmnopqrst\0mysql_native_password\0")
MYSQL_FULL = my(0, b"\xff\x10\x04Too many connections")


def pg(kind: bytes, body: bytes) -> bytes:
    return kind + struct.pack(">I", 4 + len(body)) + body


def dns(code: int, tcp: bool) -> Callable[[bytes], bytes]:
    def answer(asked: bytes) -> bytes:
        number = asked[2:4] if tcp else asked[:2]
        whole = number + struct.pack(">HHHHH", 0x8180 | code, 1, int(code == 0), 0, 0) + b"\0\0\2\0\1"
        whole += b"\0\0\2\0\1\0\0\0\x3c\0\4\1a\0\0"[:15] if code == 0 else b""
        return struct.pack(">H", len(whole)) + whole if tcp else whole
    return answer


def ntp(first: int) -> Callable[[bytes], bytes]:
    def answer(asked: bytes) -> bytes:
        now = struct.pack(">II", int(time.time()) + SINCE_1900, 0)
        return bytes([first, 2, 6, 0xEC]) + b"\0" * 20 + asked[40:48] + now + now
    return answer


def radius(code: int) -> Callable[[bytes], bytes]:
    def answer(asked: bytes) -> bytes:
        signed = asked[:22] + b"\0" * 16
        if hmac.new(b"s3cret", signed, "md5").digest() != asked[22:38]:
            return b""
        head = struct.pack(">BBH", code, asked[1], 20)
        return head + hashlib.md5(head + asked[4:20] + b"s3cret").digest()
    return answer


def sip(status: bytes) -> bytes:
    return b"SIP/2.0 " + status + b"\r\nVia: SIP/2.0/UDP x\r\nContent-Length: 0\r\n\r\n"


def accept(asked: bytes) -> bytes:
    key = re.search(rb"Key: (\S+)", asked)[1]
    right = base64.b64encode(hashlib.sha1(key + b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest())
    return (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " + right +
            b"\r\n\r\n")


def tns(kind: int, text: bytes) -> bytes:
    return struct.pack(">HHBBH", 12 + len(text), 0, kind, 0, 0) + b'"\0' + struct.pack(">H", len(text)) + text


def page(scoreboard: bytes) -> bytes:
    body = b"Total Accesses: 1\nScoreboard: " + scoreboard + b"\n"
    return b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body


def rdate(ahead: int) -> Callable[[bytes], bytes]:
    return lambda _: struct.pack(">I", int(time.time()) + SINCE_1900 + ahead)


def amqp(number: int, arguments: bytes) -> bytes:
    """A method of the class connection."""
    return b"\1\0\0" + struct.pack(">IHH", 4 + len(arguments), 10, number) + arguments + b"\xce"


def amqp_close(code: int, why: bytes) -> bytes:
    return amqp(50, struct.pack(">HB", code, len(why)) + why + b"\0\0\0\0")


AMQP_START = amqp(10, b"\0\x09" + b"\0\0\0\0" + struct.pack(">I", 14) + b"PLAIN AMQPLAIN" + b"\0\0\0\5en_US")
AMQP_TUNE = amqp(30, struct.pack(">HIH", 2047, 131072, 60))


def grpc(code: bytes, message: bytes) -> bytes:
    """Frames of HTTP/2: settings, the headers, a message, how the call ended."""
    def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
        return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload

    def field(name: bytes, value: bytes) -> bytes:
        return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value
    return (frame(4, 0, 0, b"") + frame(1, 4, 1, field(b":status", b"200") + field(b"content-type", b"application/grpc")) +
            frame(0, 0, 1, b"\0" + struct.pack(">I", len(message)) + message) + frame(1, 5, 1, field(b"grpc-status", code)))


def logout(asked: bytes) -> bytes:
    return b"* BYE out\r\n" + asked[:3] + b" OK done\r\n"


def snmp(kind: int) -> Callable[[bytes], bytes]:
    """An agent that answers with its uptime, or with nothing but a mark of that kind."""
    def ber(tag: int, content: bytes) -> bytes:
        return bytes([tag, len(content)]) + content

    def answer(asked: bytes) -> bytes:
        at = asked.index(b"\xa0")  # of the request: its number, two zeros, a list of a pair of a name and null
        request = asked[at + 4:at + 8]
        name = asked[at + 20:at + 20 + asked[at + 19]]
        value = ber(0x43, b"\x01\x00") if kind == 0x43 else ber(kind, b"")
        listed = ber(0x30, ber(0x30, ber(6, name) + value))
        return ber(0x30, asked[2:at] + ber(0xA2, ber(2, request) + ber(2, b"\0") + ber(2, b"\0") + listed))
    return answer


def docker(state: bytes) -> bytes:
    body = b'{"Id": "1", "Name": "/web", "State": {%b}}' % state
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)


NO = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
SIEVE = b'"IMPLEMENTATION" "x"\r\n"SIEVE" "fileinto"\r\nOK "ready"\r\n'
AMQP_LOGIN = 'protocol amqp username "u" password "p4ss"'
PROTOCOLS = {
    "amqp": Protocol("protocol amqp", [AMQP_START, AMQP_TUNE], [AMQP_START, amqp_close(403, b"ACCESS_REFUSED - no")], own=True),
    "amqp login": Protocol(AMQP_LOGIN, [AMQP_START, AMQP_TUNE, amqp(41, b"\0")],
                           [AMQP_START, AMQP_TUNE, amqp_close(530, b"NOT_ALLOWED - no")], own=True),
    "amqp tls": Protocol("using tls " + AMQP_LOGIN, [AMQP_START, AMQP_TUNE, amqp(41, b"\0")], [b"AMQP\0\1\0\0"], tls=True, own=True),
    "apache-status": Protocol("protocol apache-status loglimit > 60%", [page(b"LL________")], [NO]),
    "clamav": Protocol("protocol clamav", [b"PONG\n"], [b"UNKNOWN COMMAND\n"]),
    "dns": Protocol("protocol dns", [dns(0, True)], [dns(2, True)]),
    "dns udp": Protocol("type udp protocol dns", [dns(0, False)], [dns(2, False)], udp=True),
    "docker": Protocol('protocol docker container "web"', [docker(b'"Running": true, "Health": {"Status": "healthy"}')],
                       [docker(b'"Running": true, "Health": {"Status": "unhealthy"}')], own=True),
    "dwp": Protocol("protocol dwp", [b"DWP/1.0 200 OK\r\n\r\n"], [b"DWP/1.0 500 no\r\n\r\n"]),
    "fail2ban": Protocol("protocol fail2ban", [b"\x80\x02K\0U\x04pongq\x01\x86q\x02.<F2B_END_COMMAND>"],
                         [b"\x80\x02K\1U\x04nopeq\x01\x86q\x02.<F2B_END_COMMAND>"],
                         passes={"refusing": (True, False), "half-way": (True, False)}),  # Monit looks at its beginning alone
    "ftp": Protocol("protocol ftp", [b"220-x\r\n220 y\r\n", b"221 bye\r\n"], [b"421 too many\r\n"], first=True),
    "gps": Protocol("protocol gps", [b"GPSD,G=GPS\r\n"], [b"GPSD,G=?\r\n"]),
    "grpc": Protocol("protocol grpc", [grpc(b"0", b"\x08\1")], [grpc(b"12", b"")], own=True),
    "grpc tls": Protocol('using tls protocol grpc service "a"', [grpc(b"0", b"\x08\1")], [grpc(b"0", b"\x08\2")], tls=True, own=True),
    "imap": Protocol("protocol imap", [b"* OK x\r\n", logout], [b"* BYE full\r\n"], first=True),
    "imaps": Protocol("protocol imaps", [b"* OK x\r\n", logout], [b"* BYE full\r\n"], first=True, tls=True),
    "ldap2": Protocol("protocol ldap2", [ldap(0)], [ldap(2)]),
    "ldap3": Protocol("protocol ldap3", [ldap(0)], [ldap(48)]),
    "lmtp": Protocol("protocol lmtp", [b"220 x\r\n", b"250-x\r\n250 y\r\n", b"221 bye\r\n"], [b"421 busy\r\n"], first=True),
    "memcache": Protocol("protocol memcache", [memcache(0)], [memcache(0x85)]),
    "mongodb": Protocol("protocol mongodb", [mongodb(1.0)], [mongodb(0.0)]),
    "mqtt": Protocol("protocol mqtt", [b"\x20\2\0\0"], [b"\x20\2\0\5"]),
    "mysql": Protocol("protocol mysql", [MYSQL], [MYSQL_FULL], first=True),
    "mysql login": Protocol('protocol mysql username "u" password "p4ss"', [MYSQL, my(2, b"\0\0\0\2\0\0\0")],
                            [MYSQL, my(2, b"\xff\x15\x04#28000Access denied")], first=True),
    "mysqls": Protocol("protocol mysqls", [MYSQL], [MYSQL_FULL], first=True, begins_tls=1),
    "nntp": Protocol("protocol nntp", [b"200 x\r\n", b"205 bye\r\n"], [b"400 no\r\n"], first=True),
    "ntp3": Protocol("protocol ntp3", [ntp(0x1C)], [ntp(0xDC)], udp=True),
    # Monit takes silence, and whatever error, for an answer.
    "pgsql": Protocol("protocol pgsql", [pg(b"R", b"\0\0\0\0") + pg(b"Z", b"I")],
                      [pg(b"E", b"SFATAL\0C57P03\0Mthe database system is starting up\0\0")],
                      passes={"hanging": (True, False), "refusing": (True, False)}),
    "pgsql login": Protocol('protocol pgsql username "u" password "p4ss"',
                            [pg(b"R", b"\0\0\0\5abcd"), pg(b"R", b"\0\0\0\0") + pg(b"Z", b"I")],
                            [pg(b"R", b"\0\0\0\3"), pg(b"E", b"SFATAL\0C28P01\0Mno\0\0")], passes={"hanging": (True, False)}),
    "pop": Protocol("protocol pop", [b"+OK x\r\n", b"+OK bye\r\n"], [b"-ERR busy\r\n"], first=True),
    "pops": Protocol("protocol pops", [b"+OK x\r\n", b"+OK bye\r\n"], [b"-ERR busy\r\n"], first=True, tls=True),
    "postfix-policy": Protocol("protocol postfix-policy", [b"action=dunno\n\n"], [b"\n"]),
    "radius": Protocol('type udp protocol radius secret "s3cret"', [radius(2)], [radius(3)], udp=True),
    "rdate": Protocol("protocol rdate", [rdate(0)], [rdate(60)], first=True, closes=True),
    "redis": Protocol("protocol redis", [b"+PONG\r\n"], [b"-LOADING x\r\n"]),
    "rsync": Protocol("protocol rsync", [b"@RSYNCD: 31.0\n", b"a\tb\n@RSYNCD: EXIT\n"],
                      [b"@RSYNCD: 31.0\n", b"@ERROR: max connections (1) reached\n"], first=True),
    "sieve": Protocol("protocol sieve", [SIEVE, b'OK "bye"\r\n'], [b'BYE "full"\r\n'], first=True,
                      passes={"half-way": (True, True)}),  # all that it is asked has been said
    # Of half an answer Monit reads what it had in that place before, or not.
    "sip": Protocol("protocol sip", [sip(b"200 OK")], [sip(b"503 Service Unavailable")], passes={"half-way": (None, False)}),
    "sip udp": Protocol("type udp protocol sip", [sip(b"200 OK")], [sip(b"404 Not Found")], udp=True,
                        passes={"half-way": (None, False)}),
    "smtp": Protocol("protocol smtp", list(probe_test.SMTP), [b"421 busy\r\n"], first=True),
    "snmp": Protocol('type udp protocol snmp community "hush" oid "1.3.6.1.2.1.1.3.0" > 9', [snmp(0x43)], [snmp(0x80)], udp=True,
                     own=True),
    "spamassassin": Protocol("protocol spamassassin", [b"SPAMD/1.5 0 PONG\r\n"], [b"SPAMD/1.0 76 Bad header line\r\n"]),
    "ssh": Protocol("protocol ssh", [b"SSH-2.0-x\r\n"], [b"Not allowed\r\n"], first=True),
    # Monit takes an error of the listener for an answer, too.
    "tns": Protocol("protocol tns", [tns(4, b"(DESCRIPTION=(TMP=)(VSNNUM=0)(ERR=0)(ALIAS=LISTENER))")],
                    [tns(4, b"(DESCRIPTION=(ERR=1189)(ERROR_STACK=x))")], passes={"refusing": (True, False)}),
    "websocket": Protocol("protocol websocket version 13", [accept, b"\x8a\0", b"\x88\0"], [NO],
                          passes={"half-way": (True, True)}),  # only its farewell is cut
}


class Stub:
    """A server of one protocol that behaves in one way."""

    def __init__(self, case: "Protocols", protocol: Protocol, behaviour: str):
        self.case, self.protocol, self.behaviour = case, protocol, behaviour
        if protocol.udp:
            self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.socket.bind(("127.0.0.1", 0))
            self.port = self.socket.getsockname()[1]
            case.addCleanup(self.socket.close)
            if behaviour == "closed":  # nobody else is given the port, and who is connected hears his peer alone
                self.socket.connect(self.socket.getsockname())
            else:  # closing a socket wakes nobody who waits for a datagram
                threading.Thread(target=self.answer_datagrams, daemon=True).start()
        elif behaviour == "closed":
            self.port = case.own_port()
        else:
            server = probe_test.Server(self.serve)
            self.port = server.port
            case.addCleanup(server.close)

    def parts(self) -> list[Part]:
        return self.protocol.refusing if self.behaviour == "refusing" else self.protocol.up

    def said(self, part: Part, heard: bytes) -> bytes:
        if self.behaviour == "nonsense":
            return NONSENSE
        return part(heard) if callable(part) else part

    def answer_datagrams(self) -> None:
        while True:
            try:
                heard, client = self.socket.recvfrom(65536)
                if self.behaviour == "hanging":
                    continue
                said = self.said(self.parts()[0], heard)
                self.socket.sendto(said[:5] if self.behaviour == "half-way" else said, client)
            except OSError:
                return
            except (IndexError, ValueError, struct.error):  # what was asked is none of its protocol
                continue

    def serve(self, client: socket.socket) -> None:
        if self.protocol.tls:
            client = self.case.context.wrap_socket(client, server_side=True)
        if self.behaviour == "hanging":
            return probe_test.silent(client)
        heard = b""
        for number, part in enumerate(self.parts()):
            if number > 0 or not self.protocol.first:
                heard = client.recv(65536)
                if not heard:
                    return None
            said = self.said(part, heard)
            if self.behaviour == "half-way" and number == len(self.parts()) - 1:
                client.sendall(said[:2])
                client.shutdown(socket.SHUT_RDWR)
                return client.close()
            client.sendall(said)
            if self.behaviour == "nonsense":
                break
        if self.protocol.begins_tls and self.behaviour == "up" and client.recv(65536):
            client = self.case.context.wrap_socket(client, server_side=True)
        if self.protocol.closes:
            return client.close()
        return probe_test.silent(client)


class Protocols(support.Case):
    def setUp(self):
        super().setUp()
        certificate = self.path("certificate")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", "/CN=localhost",
                        "-keyout", self.path("key"), "-out", certificate], check=True, stderr=subprocess.DEVNULL)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(certificate, self.path("key"))
        self.context.set_alpn_protocols(["h2"])

    def test_each_behaviour_of_each_protocol_is_judged_as_by_monit_or_better(self):
        cases = [(name, behaviour) for name in PROTOCOLS for behaviour in BEHAVIOURS]
        ports = {case: Stub(self, PROTOCOLS[case[0]], case[1]).port for case in cases}

        def words(name: str, behaviour: str) -> str:
            return f"{PROTOCOLS[name].words} timeout {2 if behaviour in ('hanging', 'nonsense') else 20} seconds"  # for a machine that is busy

        def monit(behaviour: str) -> list[bool | None]:
            theirs = [name for name, protocol in PROTOCOLS.items() if not protocol.own]
            asked = [(ports[name, behaviour], words(name, behaviour)) for name in theirs]
            verdicts = dict(zip(theirs, probe_test.ask_monit(self, asked, f"monit-{behaviour}")))
            return [verdicts.get(name) for name in PROTOCOLS]

        def probe(case: tuple[str, str]) -> dict:
            return probe_test.probe("127.0.0.1", f"port {ports[case]} {words(*case)}")[1]

        with ThreadPoolExecutor(8) as workers:
            theirs = workers.map(monit, BEHAVIOURS)
            ours = dict(zip(cases, workers.map(probe, cases)))
            told = {(name, behaviour): verdict for behaviour, verdicts in zip(BEHAVIOURS, theirs)
                    for name, verdict in zip(PROTOCOLS, verdicts)}
        self.judge(ours, told)

    def test_nothing_shows_the_community_of_an_agent(self):
        """Though one agent repeats it in its answer, and another one answers it back."""
        parrot = Protocol("", [lambda asked: b"what is " + asked], [], udp=True)
        ports = [Stub(self, one, "up").port for one in (PROTOCOLS["snmp"], parrot)]
        daemon = self.start("check host agents with address 127.0.0.1\n" + "".join(
            f'  if failed port {port} protocol snmp community "hush-hush" oid "1.3.6.1.2.1.1.3.0" then alert\n' for port in ports))
        connections = lambda: daemon.ask("status", "agents")["services"][0]["connections"]  # noqa: E731
        self.wait_for(lambda: [one["verdict"] for one in connections()] == ["passed", "failed"], "the verdicts",
                      detail=lambda: str(connections()))
        self.assertIn("what is 0", connections()[1]["text"])
        shown = "".join(daemon.ctl(*words).stdout for words in (
            ("status", "agents"), ("--json", "status", "agents"), ("history",), ("explain", "agents"), ("summary",)))
        self.assertIn('community "*****"', shown)
        daemon.stop()
        # The rules themselves are kept as they were written, where only healer's user reads them.
        files = {file.name: file.read_bytes() for file in daemon.folder.rglob("*") if file.is_file()}
        kept = {}
        for name, rules in (("healer.state", {"sources"}), ("healer.state.readings", {"texts", "chunks"})):
            with contextlib.closing(sqlite3.connect(daemon.folder / name)) as state:
                tables = {table for table, in state.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
                kept |= {table: str(state.execute(f"SELECT * FROM {table}").fetchall()).encode() for table in tables - rules}
            del files[name]
        del files["healer.conf"]
        self.assertIn("records", kept)
        self.assertIn("healer.log", files)
        for name, text in {**files, **kept, "shown": shown.encode()}.items():
            self.assertFalse(b"hush-hush" in text, f"the community is in {name}")

    def judge(self, ours: dict, told: dict) -> None:
        say = {True: "passed", False: "failed", None: "-"}
        wrong = []
        print(f"{'':16} {'server':9} {'monit':7} {'healer':7}", file=sys.stderr)
        for (name, behaviour), document in ours.items():
            monit, healer = PROTOCOLS[name].passes.get(behaviour, (behaviour == "up", behaviour == "up"))
            seen = told[name, behaviour]
            print(f"{name:16} {behaviour:9} {say[seen]:7} {document['verdict']:7} {document['text']}", file=sys.stderr)
            if None not in (seen, monit) and seen != monit:
                wrong.append(f"{name} {behaviour}: Monit says {say[seen]}")
            if document["verdict"] != say[healer]:
                wrong.append(f"{name} {behaviour}: healer says {document['text']}")
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    support.main()
