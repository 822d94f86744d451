# SPDX-License-Identifier: MIT
"""The OpenStack of a cluster of tests/support/kubernetes_cluster.py: Keystone below /identity, Nova below /compute, Magnum below
/magnum and Heat below /heat, as far as who repairs nodes asks them."""
import json
import uuid
from dataclasses import dataclass
from typing import Any

from far_end import Answer, FarEnd, Request

PASSWORD = "pa55word-of-keystone"
SUBJECT_TOKEN = "gAAAA-t0ken-that-nobody-may-see"
CLUSTER = "c418c335-0e52-42fc-bd68-baa8d264e072"
STACK = "5d2b8f6e-53b7-4c0e-9a3c-0d4c9f1f2a11"


@dataclass
class Server:
    id: str
    name: str
    status: str = "ACTIVE"


class Cloud(FarEnd):
    """What it is asked to do happens at once, unless `holds` names it: "boot NODE", "update". Then finish() makes it happen."""

    def __init__(self, cluster: Any) -> None:
        super().__init__()
        self.cluster = cluster
        self.lock = cluster.lock                 # one world
        self.servers_known: dict[str, Server] = {}
        self.healed_by_reboot: set[str] = set()  # nodes
        self.holds: set[str] = set()
        self.marked: set[str] = set()            # servers that Heat replaces with its next update
        self.doomed: list[str] = []              # servers that the update under way removes
        self.updating = ""                       # by Magnum or by Heat
        self.cluster_status = self.stack_status = "CREATE_COMPLETE"
        self.fails_updates = False
        self.labels = {"auto_healing_enabled": "true"}
        self.workers_made = 0
        self.make_routes()

    def new_server(self, name: str) -> str:
        server = Server(str(uuid.uuid4()), name)
        self.servers_known[server.id] = server
        return server.id

    def server_of(self, node: str) -> Server:
        with self.lock:
            return self.servers_known[self.cluster.nodes[node].server]

    def make_routes(self) -> None:
        self.route("POST", "/identity/v3/auth/tokens", "token", self.token)
        self.route("POST", "/compute/v2.1/servers/([^/]+)/action", self.action_name, self.action)
        self.route("GET", "/compute/v2.1/servers/([^/]+)", "show server", self.show)
        self.route("GET", "/magnum/v1/clusters/([^/]+)", "show cluster", self.show_cluster)
        self.route("POST", "/magnum/v1/clusters/([^/]+)/actions/resize", self.resize_name, self.resize)
        self.route("GET", "/heat/v1/p1/stacks/([^/]+)", "find stack", self.find_stack)
        self.route("GET", "/heat/v1/p1/stacks/([^/]+)/([^/]+)", "show stack", self.show_stack)
        self.route("GET", "/heat/v1/p1/stacks/([^/]+)/([^/]+)/resources", "list resources", self.resources)
        self.route("PATCH", "/heat/v1/p1/stacks/([^/]+)/([^/]+)/resources/([^/]+)", self.mark_name, self.mark)
        self.route("PATCH", "/heat/v1/p1/stacks/([^/]+)/([^/]+)", "update stack", self.update)

    def allowed(self, request: Request, name: str) -> Answer | None:
        if name != "token" and request.headers.get("X-Auth-Token") != SUBJECT_TOKEN:
            return Answer(401, {"error": {"code": 401, "message": "The request you have made requires authentication.",
                                          "title": "Unauthorized"}})
        return None

    def refusal(self, status: int, name: str) -> Answer:
        if status == 503:  # a proxy in front of it
            return Answer(503, b"<html><body><h1>503 Service Unavailable</h1></body></html>", kind="text/html")
        return Answer(status, {"errors": [{"status": status, "title": "refused", "detail": name}]})

    def token(self, request: Request) -> Answer:
        password = request.json()["auth"]["identity"]["password"]["user"]["password"]
        if password != PASSWORD:
            return Answer(401, {"error": {"code": 401, "title": "Unauthorized"}})
        return Answer(201, {"token": {"methods": ["password"], "expires_at": "2036-11-21T05:35:11.000000Z"}},
                      {"X-Subject-Token": SUBJECT_TOKEN})

    # ---- Nova -------------------------------------------------------------------------------------------------

    def action_name(self, request: Request, server: str) -> str:
        word = {"reboot": "reboot", "os-stop": "stop", "os-start": "start"}.get(next(iter(request.json())), "act on")
        return f"{word} {self.servers_known[server].name}" if server in self.servers_known else f"{word} nothing"

    def show(self, _request: Request, server: str) -> Answer:
        if server not in self.servers_known:
            return Answer(404, {"itemNotFound": {"code": 404, "message": f"Instance {server} could not be found."}})
        known = self.servers_known[server]
        return Answer(200, {"server": {"id": known.id, "name": known.name, "status": known.status}})

    def action(self, request: Request, server: str) -> Answer:
        if server not in self.servers_known:
            return self.show(request, server)
        known, word = self.servers_known[server], next(iter(request.json()))
        wrong = {"reboot": known.status != "ACTIVE", "os-stop": known.status == "SHUTOFF", "os-start": known.status != "SHUTOFF"}
        if wrong.get(word):
            return Answer(409, {"conflictingRequest": {"code": 409, "message":
                                                       f"Cannot '{word}' instance {server} while it is in vm_state {known.status}"}})
        if word == "os-stop":
            known.status = "SHUTOFF"
            self.cluster.silence(known.name)
        else:
            known.status = "REBOOT"
            if f"boot {known.name}" not in self.holds:
                self.booted(known.name)
        return Answer(202)

    def booted(self, name: str) -> None:
        with self.lock:
            self.holds.discard(f"boot {name}")
            self.server_of(name).status = "ACTIVE"
            if name in self.healed_by_reboot:
                self.cluster.awake(name)

    # ---- Magnum -----------------------------------------------------------------------------------------------

    def show_cluster(self, _request: Request, cluster: str) -> Answer:
        if cluster != CLUSTER:
            return Answer(404, {"errors": [{"status": 404, "title": "Cluster could not be found"}]})
        nodes = self.cluster.nodes.values()
        return Answer(200, {"uuid": CLUSTER, "name": "demo", "status": self.cluster_status, "stack_id": STACK, "labels": self.labels,
                            "node_count": sum(not node.master for node in nodes), "master_count": sum(node.master for node in nodes),
                            "health_status": None})

    def resize_name(self, request: Request, _cluster: str) -> str:
        names = [self.servers_known[server].name if server in self.servers_known else "nothing"
                 for server in request.json().get("nodes_to_remove", [])]
        return f"replace {' '.join(names)}"

    def resize(self, request: Request, _cluster: str) -> Answer:
        body = request.json()
        if self.updating or not isinstance(body["node_count"], int):
            return self.refusal(409, "the cluster is being updated")
        self.doomed = [server for server in body["nodes_to_remove"] if server in self.servers_known]
        if any(self.cluster.nodes[self.servers_known[server].name].master for server in self.doomed):
            return self.refusal(400, "masters cannot be removed")
        self.begin("magnum")
        return Answer(202, {"uuid": CLUSTER})

    def begin(self, by: str) -> None:
        self.updating = by
        self.cluster_status = self.stack_status = "UPDATE_IN_PROGRESS"
        if "update" not in self.holds:
            self.finish()

    def finish(self) -> None:
        """The update ends: what it was to replace is replaced, workers under a new name and masters under the same."""
        with self.lock:
            self.holds.discard("update")
            if self.fails_updates:
                self.doomed, self.updating = [], ""
                self.cluster_status = self.stack_status = "UPDATE_FAILED"
                return
            for server in self.doomed:
                del self.servers_known[server]
                self.workers_made += 1
                # The Node of the old one stays: whoever asked for this takes it away.
                self.cluster.add(f"worker-new-{self.workers_made}", f"127.0.0.{150 + self.workers_made}", False)
            for server in self.marked if self.updating == "heat" else ():
                name = self.servers_known.pop(server).name
                self.cluster.nodes[name].server = self.new_server(name)
                self.cluster.nodes[name].api_well = True
                self.cluster.awake(name)
            self.marked = set() if self.updating == "heat" else self.marked
            self.doomed, self.updating = [], ""
            self.cluster_status = self.stack_status = "UPDATE_COMPLETE"

    # ---- Heat -------------------------------------------------------------------------------------------------

    def stack_url(self, request: Request, nested: str = "") -> str:
        place = f"{nested}/{uuid.uuid5(uuid.NAMESPACE_URL, nested)}" if nested else f"demo/{STACK}"
        return f"http://{request.headers['Host']}/heat/v1/p1/stacks/{place}"

    def find_stack(self, request: Request, stack: str) -> Answer:
        if stack not in (STACK, "demo"):
            return Answer(404, {"code": 404, "title": "Not Found", "error": {"type": "EntityNotFound"}})
        return Answer(302, b"<html>302 Found</html>", {"Location": self.stack_url(request)}, "text/html")

    def show_stack(self, request: Request, _name: str, _id: str) -> Answer:
        return Answer(200, {"stack": {"id": STACK, "stack_name": "demo", "stack_status": self.stack_status, "stack_status_reason": "",
                                      "links": [{"rel": "self", "href": self.stack_url(request)}]}})

    def resources(self, request: Request, _name: str, _id: str) -> Answer:
        """Each server is a resource of a stack of its own, below that of the cluster."""
        listed = [{"resource_name": "kube-master" if node.master else "kube-minion", "physical_resource_id": node.server,
                   "resource_type": "OS::Nova::Server", "resource_status": "CREATE_COMPLETE",
                   "links": [{"rel": "self", "href": f"{self.stack_url(request, node.name)}/resources/kube-node"},
                             {"rel": "stack", "href": self.stack_url(request, node.name)}]} for node in self.cluster.nodes.values()]
        return Answer(200, {"resources": listed})

    @staticmethod
    def mark_name(_request: Request, stack: str, _id: str, _resource: str) -> str:
        return f"mark {stack}"

    def mark(self, request: Request, stack: str, _id: str, _resource: str) -> Answer:
        if request.json().get("mark_unhealthy"):
            self.marked.add(self.cluster.nodes[stack].server)
        return Answer(200, None)

    def update(self, _request: Request, _stack: str, _id: str) -> Answer:
        if self.updating:
            return self.refusal(409, "ActionInProgress")
        self.begin("heat")
        return Answer(202, b"<html><head><title>202 Accepted</title></head></html>", kind="text/html")

    @staticmethod
    def login() -> str:
        """The body of a request for a token."""
        return json.dumps({"auth": {"identity": {"methods": ["password"], "password": {
            "user": {"name": "healer", "domain": {"id": "default"}, "password": PASSWORD}}}}})
