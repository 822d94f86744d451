#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""An SMTP server for tests: takes mails into a directory and fails on demand. Standard library only.

    smtp_sink.py DIRECTORY [--port N] [--tls starttls|implicit --certificate PEM [--client-ca PEM]] [--auth USER:PASSWORD]

It listens on 127.0.0.1 and writes its port into DIRECTORY/port once it accepts connections. The n-th mail taken becomes
DIRECTORY/NNNNNN.eml (the text as sent) and DIRECTORY/NNNNNN.json (envelope), both complete once the .json is there;
every command goes to DIRECTORY/commands.log. What it does wrong is read from DIRECTORY/mode before each command, one
word group a line:

    refuse                421 instead of a greeting
    silent                accepts, never greets
    rcpt CODE ADDRESS     answers CODE to RCPT of that address ("*": of every one)
    from CODE             answers CODE to MAIL
    data CODE             answers CODE after the text
    drop data             closes the connection in the middle of the text
    drop after N          closes the connection after N mails of it
    no-answer data        takes the text (writes it) and closes without answering
    slow answer MS        takes the text (writes it), and answers after so many milliseconds
    hang data             takes the text and never answers
    hang quit             never answers QUIT
"""
import argparse
import base64
import json
import os
import socket
import ssl
import sys
import threading
import time

lock = threading.Lock()
counter = 0
connections = 0


def modes(directory):
    try:
        with open(os.path.join(directory, "mode")) as file:
            return [line.split() for line in file if line.strip()]
    except FileNotFoundError:
        return []


class Session:
    def __init__(self, options, connection, number):
        self.options = options
        self.connection = connection
        self.number = number
        self.file = None
        self.secure = False
        self.user = None
        self.ehlo = None
        self.sender = None
        self.recipients = []
        self.taken = 0

    def log(self, text):
        with lock, open(os.path.join(self.options.directory, "commands.log"), "a") as file:
            file.write(f"{self.number} {text}\n")

    def mode(self, *words):
        for line in modes(self.options.directory):
            if line[: len(words)] == list(words):
                return line[len(words):] or True
        return None

    def say(self, text):
        self.file.write((text + "\r\n").encode())
        self.file.flush()

    def start_tls(self):
        self.connection = self.options.context.wrap_socket(self.connection, server_side=True)
        self.secure = True
        self.file = self.connection.makefile("rwb")

    def save(self, data):
        global counter
        with lock:
            counter += 1
            base = os.path.join(self.options.directory, f"{counter:06d}")
        with open(base + ".eml", "wb") as file:
            file.write(data)
        envelope = {"from": self.sender, "to": self.recipients, "ehlo": self.ehlo, "tls": self.secure,
                    "user": self.user, "connection": self.number, "time": time.time()}
        with open(base + ".tmp", "w") as file:
            json.dump(envelope, file)
        os.rename(base + ".tmp", base + ".json")

    def data(self):
        """Reads the text up to the lone dot, undoing dot stuffing. None where the connection was dropped."""
        lines = []
        drop = self.mode("drop", "data")
        while True:
            line = self.file.readline()
            if not line:
                return None
            if line == b".\r\n":
                return b"".join(lines)
            lines.append(line[1:] if line.startswith(b".") else line)
            if drop and len(lines) >= 3:
                return None

    def authenticate(self, argument):
        words = argument.split()
        if words[:1] == ["PLAIN"]:
            if len(words) < 2:
                self.say("334 ")
                words.append(self.file.readline().decode().strip())
            secret = base64.b64decode(words[1]).split(b"\0")[1:]
        elif words[:1] == ["LOGIN"]:
            self.say("334 VXNlcm5hbWU6")
            name = base64.b64decode(self.file.readline())
            self.say("334 UGFzc3dvcmQ6")
            secret = [name, base64.b64decode(self.file.readline())]
        else:
            self.say("504 unknown mechanism")
            return
        if b":".join(secret).decode() == self.options.auth:
            self.user = secret[0].decode()
            self.say("235 welcome")
        else:
            self.say("535 authentication failed")

    def serve(self):
        if self.options.tls == "implicit":
            self.start_tls()
        else:
            self.file = self.connection.makefile("rwb")
        if self.mode("silent"):
            self.log("(silent)")
            self.file.read()
            return
        if self.mode("refuse"):
            self.say("421 not now")
            return
        self.say("220 sink ESMTP")
        while True:
            line = self.file.readline()
            if not line:
                return
            text = line.decode(errors="replace").strip()
            verb, _, argument = text.partition(" ")
            verb = verb.upper()
            self.log("AUTH (hidden)" if verb == "AUTH" else text)
            if verb in ("EHLO", "HELO"):
                self.ehlo = argument
                words = ["sink", "8BITMIME", "SMTPUTF8"]
                if self.options.tls == "starttls" and not self.secure:
                    words.append("STARTTLS")
                if self.options.auth:
                    words.append("AUTH PLAIN LOGIN")
                for word in words[:-1]:
                    self.say("250-" + word)
                self.say("250 " + words[-1])
            elif verb == "STARTTLS" and self.options.tls == "starttls":
                self.say("220 go ahead")
                self.start_tls()
            elif verb == "AUTH" and self.options.auth:
                self.authenticate(argument)
            elif verb == "MAIL":
                code = self.mode("from")
                if self.options.auth and not self.user:
                    self.say("530 authenticate first")
                elif code:
                    self.say(f"{code[0]} sender refused")
                else:
                    self.sender = argument[argument.index("<") + 1 : argument.index(">")]
                    self.recipients = []
                    self.say("250 ok")
            elif verb == "RCPT":
                address = argument[argument.index("<") + 1 : argument.index(">")]
                code = next((line[1] for line in modes(self.options.directory)
                             if line[0] == "rcpt" and line[2] in ("*", address)), None)
                if code:
                    self.say(f"{code} recipient refused")
                else:
                    self.recipients.append(address)
                    self.say("250 ok")
            elif verb == "DATA":
                if not self.recipients:
                    self.say("503 no recipients")
                    continue
                self.say("354 go on")
                data = self.data()
                if data is None:
                    return
                code = self.mode("data")
                if self.mode("hang", "data"):
                    self.file.read()
                    return
                if code:
                    self.say(f"{code[0]} text refused")
                    continue
                self.save(data)
                if self.mode("no-answer", "data"):
                    return
                if late := self.mode("slow", "answer"):
                    time.sleep(int(late[0]) / 1000)
                self.say("250 taken")
                self.taken += 1
                limit = self.mode("drop", "after")
                if limit and self.taken >= int(limit[0]):
                    return
            elif verb == "RSET":
                self.say("250 ok")
            elif verb == "NOOP":
                self.say("250 ok")
            elif verb == "QUIT":
                if self.mode("hang", "quit"):
                    self.file.read()
                    return
                self.say("221 bye")
                return
            else:
                self.say("502 unknown command")

    def run(self):
        try:
            self.serve()
        except (OSError, ValueError, ssl.SSLError) as error:
            self.log(f"({type(error).__name__}: {error})")
        finally:
            self.log("(end)")
            try:
                self.connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            self.connection.close()
            if self.file:
                try:
                    self.file.close()
                except (OSError, ValueError):
                    pass


def main():
    global connections
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tls", choices=["starttls", "implicit"])
    parser.add_argument("--certificate")
    parser.add_argument("--client-ca")
    parser.add_argument("--tls-maximum", choices=["1.2", "1.3"])
    parser.add_argument("--auth")
    options = parser.parse_args()
    options.context = None
    if options.tls:
        options.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        options.context.load_cert_chain(options.certificate)
        if options.tls_maximum == "1.2":
            options.context.maximum_version = ssl.TLSVersion.TLSv1_2
        if options.client_ca:
            options.context.load_verify_locations(options.client_ca)
            options.context.verify_mode = ssl.CERT_REQUIRED
    os.makedirs(options.directory, exist_ok=True)
    listener = socket.create_server(("127.0.0.1", options.port), backlog=64)
    port_file = os.path.join(options.directory, "port")
    with open(port_file + ".tmp", "w") as file:
        file.write(f"{listener.getsockname()[1]}\n")
    os.rename(port_file + ".tmp", port_file)
    # The sink dies with the test that started it: its standard input is a pipe of that test.
    if not sys.stdin.isatty():
        threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
    while True:
        connection, _ = listener.accept()
        connections += 1
        threading.Thread(target=Session(options, connection, connections).run, daemon=True).start()


if __name__ == "__main__":
    main()
