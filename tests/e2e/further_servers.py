# SPDX-License-Identifier: MIT
"""Servers for servers_test.py that take more than a file of settings: RabbitMQ, and programs for node with what npm fetches
for them. Each function begins them and tells, by name, the fields of servers_test.Server."""
import json
import os
import shutil
import subprocess
import sys

import real_servers

SECRET = "p4ss"

# gRPC with its health service (also over TLS) and without; WebSocket, which nginx stands before.
NODE = """
const fs = require('fs'), grpc = require('@grpc/grpc-js'), {HealthImplementation} = require('grpc-health-check');
const [well, tls, bare, web] = process.argv.slice(2, 6), [crt, key] = process.argv.slice(6).map(f => fs.readFileSync(f));
function serve(port, healthy, credentials) {
  const server = new grpc.Server();
  if (healthy) new HealthImplementation({'': 'SERVING', 'shop.Cart': 'SERVING', 'shop.Ill': 'NOT_SERVING'}).addToServer(server);
  server.bindAsync('127.0.0.1:' + port, credentials, wrong => { if (wrong) throw wrong; });
}
serve(well, true, grpc.ServerCredentials.createInsecure());
serve(tls, true, grpc.ServerCredentials.createSsl(null, [{cert_chain: crt, private_key: key}]));
serve(bare, false, grpc.ServerCredentials.createInsecure());
new (require('ws').WebSocketServer)({host: '127.0.0.1', port: Number(web)});
"""
PACKAGES = ("@grpc/grpc-js@1", "grpc-health-check@2", "ws@8")


def rabbitmq(case: real_servers.RealServers) -> dict[str, dict]:
    port, tls, own, names = (case.own_port() for _ in range(4))
    folder = case.path("rabbitmq")
    folder.mkdir()
    may = {"vhost": "/", "configure": ".*", "write": ".*", "read": ".*"}
    users = {"guest": "guest", "u": SECRET, "lone": SECRET}
    (folder / "definitions.json").write_text(json.dumps({
        "vhosts": [{"name": "/"}], "users": [{"name": name, "password": word, "tags": ""} for name, word in users.items()],
        "permissions": [{"user": name, **may} for name in ("guest", "u")]}))
    (folder / "rabbitmq.conf").write_text(
        f"listeners.tcp.1 = 127.0.0.1:{port}\nlisteners.ssl.1 = 127.0.0.1:{tls}\nssl_options.certfile = {case.path('crt')}\n"
        f"ssl_options.keyfile = {case.path('key')}\nload_definitions = {folder}/definitions.json\n")
    (folder / "plugins").write_text("[].\n")
    # Erlang's own name server, which rabbitmq-server would else begin and leave behind.
    case.begin("/usr/bin/epmd", "-port", names, "-address", "127.0.0.1")
    case.answers(names)
    case.begin("/usr/lib/rabbitmq/bin/rabbitmq-server", cwd=folder, env={
        "PATH": os.environ["PATH"], "HOME": str(folder), "RUNNING_UNDER_SYSTEMD": "true", "ERL_EPMD_PORT": str(names), "ERL_EPMD_ADDRESS": "127.0.0.1",
        "RABBITMQ_NODENAME": f"healer{port}@localhost", "RABBITMQ_DIST_PORT": str(own), "RABBITMQ_MNESIA_BASE": f"{folder}/base",
        "RABBITMQ_LOG_BASE": f"{folder}/log", "RABBITMQ_LOGS": "-", "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
        "RABBITMQ_ENABLED_PLUGINS_FILE": f"{folder}/plugins", "RABBITMQ_PID_FILE": f"{folder}/pid",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": '-kernel inet_dist_use_interface {127,0,0,1}'})
    login = f'protocol amqp username "u" password "{SECRET}"'
    wrong = 'protocol amqp username "u" password "n0t so"'
    lone = f'protocol amqp username "lone" password "{SECRET}"'
    return {
        "amqp": {"place": port, "words": "protocol amqp", "half": 40, "refusing": (port, wrong), "more": [
            (login, "passed", "it accepts the login"),
            (wrong, "failed", 'its answer to the login is 403: "ACCESS_REFUSED'),
            (lone, "failed", 'its answer to the opening of "/" is 530: "NOT_ALLOWED')]},
        "amqp tls": {"place": tls, "words": "using tls " + login, "half": 40, "refusing": (tls, "using tls " + wrong)},
    }


def node(case: real_servers.RealServers) -> dict[str, dict]:
    npm = shutil.which("npm")
    if npm is None:
        print("left out: grpc and websocket: npm is not installed", file=sys.stderr)
        return {}
    folder = case.path("node")
    folder.mkdir()
    done = subprocess.run([npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefer-offline", *PACKAGES], cwd=folder,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        print(f"left out: grpc and websocket: npm cannot fetch {' '.join(PACKAGES)}: {done.stderr.strip()}", file=sys.stderr)
        return {}
    well, tls, bare, behind, web = (case.own_port() for _ in range(5))
    (folder / "serve.js").write_text(NODE)
    case.begin(shutil.which("node"), folder / "serve.js", well, tls, bare, behind, case.path("crt"), case.path("key"))
    servers = {
        "grpc": {"place": well, "words": "protocol grpc", "half": 12, "refusing": (bare, ""), "more": [
            ('protocol grpc service "shop.Cart"', "passed", 'the status of "shop.Cart" is SERVING'),
            ('protocol grpc service "shop.Ill"', "failed", 'the status of "shop.Ill" is NOT_SERVING'),
            ('protocol grpc service "shop.None"', "failed",
             'its answer to Check is 5 (NOT_FOUND): "Health status unknown for service shop.None"')]},
        "grpc tls": {"place": tls, "words": "using tls protocol grpc", "half": 40,
                     "refusing": (tls, 'using tls protocol grpc service "shop.Ill"')},
    }
    if not os.path.exists("/usr/sbin/nginx"):
        print("left out: websocket: nginx is not installed", file=sys.stderr)
        return servers
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/nginx.pid; error_log {folder}/nginx.log; events {{}}\nhttp {{ access_log off;\n" +
        "".join(f"{part}_temp_path {folder}/{part};\n" for part in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")) +
        f"server {{ listen 127.0.0.1:{web}; location /no {{ return 403; }}\nlocation / {{ proxy_pass http://127.0.0.1:{behind};\n"
        "proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection upgrade; } } }\n")
    case.begin("/usr/sbin/nginx", "-e", folder / "nginx.log", "-p", folder, "-c", folder / "nginx.conf")
    servers["websocket"] = {"place": web, "words": "protocol websocket version 13", "half": 20,
                            "refusing": (web, 'protocol websocket request "/no" version 13')}
    return servers
