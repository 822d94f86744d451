# SPDX-License-Identifier: MIT
"""A Kubernetes cluster that Magnum has made, with the paths, bodies and statuses of the real services: the API server (nodes,
pods, evictions under disruption budgets), and in cluster_cloud.py what OpenStack answers for its servers."""
import datetime
import json
import ssl
import subprocess
import urllib.parse
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from cluster_cloud import Cloud
from far_end import Answer, FarEnd, Request

TOKEN = "k8s-t0ken.that.nobody-may-see"
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
HEALTHY = {"Ready": "True", "MemoryPressure": "False", "DiskPressure": "False", "PIDPressure": "False"}
# So kubectl finds out what there is: group, version, and the resources with their kinds.
GROUPS = {"": ("v1", [("nodes", "Node", False), ("pods", "Pod", True), ("pods/eviction", "Eviction", True)]),
          "apps": ("v1", [("daemonsets", "DaemonSet", True)]), "policy": ("v1", [])}


def now() -> str:
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass
class Node:
    name: str
    address: str
    server: str  # the id that Nova knows it by
    master: bool = False
    conditions: dict[str, str] = field(default_factory=lambda: dict(HEALTHY))
    since: str = field(default_factory=now)
    created: str = "2026-01-01T00:00:00Z"
    uid: str = field(default_factory=lambda: str(uuid.uuid4()))
    annotations: dict[str, str] = field(default_factory=dict)
    cordoned: bool = False
    api_well: bool = True  # a master's own API server answers /healthz with 200

    @property
    def ready(self) -> bool:
        return self.conditions["Ready"] == "True"

    def document(self) -> dict:
        why = ("NodeStatusUnknown", "Kubelet stopped posting node status.") if self.conditions["Ready"] == "Unknown" else \
            ("KubeletReady", "kubelet is posting ready status")
        labels = {"kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux"}
        spec: dict = {"podCIDR": "10.244.0.0/24", "providerID": f"openstack:///{self.server}"}
        if self.cordoned:
            spec["unschedulable"] = True
            spec["taints"] = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule", "timeAdded": now()}]
        return {"metadata": {"name": self.name, "uid": self.uid, "resourceVersion": "1000", "creationTimestamp": self.created,
                             "labels": labels | ({CONTROL_PLANE: ""} if self.master else {}), "annotations": self.annotations},
                "spec": spec,
                "status": {"conditions": [{"type": kind, "status": status, "lastHeartbeatTime": self.since,
                                           "lastTransitionTime": self.since, "reason": why[0], "message": why[1]}
                                          for kind, status in self.conditions.items()],
                           "addresses": [{"type": "InternalIP", "address": self.address}, {"type": "Hostname", "address": self.name}],
                           "nodeInfo": {"machineID": self.server.replace("-", ""), "kubeletVersion": "v1.27.4"}}}


@dataclass
class Pod:
    name: str
    app: str
    node: str
    owner: str = "ReplicaSet"  # nothing: nobody would start it elsewhere
    namespace: str = "default"
    started: bool = True
    deleted: str = ""  # when it was told to end: it does when its kubelet says so

    def document(self) -> dict:
        metadata: dict = {"name": self.name, "namespace": self.namespace, "labels": {"app": self.app}, "uid": f"uid-{self.name}"}
        if self.owner:
            metadata["ownerReferences"] = [{"apiVersion": "apps/v1", "kind": self.owner, "name": self.app, "uid": "1", "controller": True}]
        if self.deleted:
            metadata |= {"deletionTimestamp": self.deleted, "deletionGracePeriodSeconds": 30}
        return {"metadata": metadata, "spec": {"nodeName": self.node, "containers": [{"name": "main", "image": "main"}]},
                "status": {"phase": "Running" if self.started else "Pending"}}


class Cluster(FarEnd):
    """Masters have addresses of their own from 127.0.0.11 on, where each serves /healthz. Until something goes wrong all is well,
    and what the cloud is asked to do it does at once."""

    def __init__(self, folder: Path, port: int, masters: int = 3, workers: int = 3) -> None:
        super().__init__()
        self.port = port
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.budgets: dict[str, int] = {}  # of an app: how many of its pods must be there
        self.pods_start = True             # a pod that takes the place of an evicted one is ready at once
        self.made = 0                      # pods and workers that took the place of others
        self.certificate = self.make_certificate(folder)
        self.cloud = Cloud(self)
        for number in range(masters):
            self.add(f"master-{number}", f"127.0.0.{11 + number}", True)
        for number in range(workers):
            self.add(f"worker-{number}", f"127.0.0.{101 + number}", False)
        self.make_routes()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        self.serve(port=port, context=context)
        for node in [node for node in self.nodes.values() if node.master]:
            self.serve(node.address, port, context, lambda request, name=node.name: self.health(request, name))
        self.cloud_url = f"http://127.0.0.1:{self.serve(handle=self.cloud.handle)}"

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"

    @staticmethod
    def make_certificate(folder: Path) -> Path:
        """That of the API server, and its own authority."""
        path = folder / "cluster.pem"
        names = ",".join(f"IP:127.0.0.{number}" for number in (1, 11, 12, 13, 14, 15))
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "9",
                        "-subj", "/CN=kubernetes", "-addext", f"subjectAltName={names}", "-keyout", path, "-out", f"{path}.crt"],
                       check=True, capture_output=True)
        with path.open("a") as both:
            both.write(Path(f"{path}.crt").read_text())
        return path

    def stop(self) -> None:
        for gate in self.cloud.gates:
            gate.open.set()
        super().stop()

    # ---- what happens to it -----------------------------------------------------------------------------------

    def add(self, name: str, address: str, master: bool, created: str = "2026-01-01T00:00:00Z") -> Node:
        with self.lock:
            server = self.cloud.new_server(name)
            self.nodes[name] = Node(name, address, server, master, created=created)
            return self.nodes[name]

    def set_conditions(self, name: str, **conditions: str) -> None:
        with self.lock:
            node = self.nodes[name]
            node.conditions = node.conditions | conditions
            node.since = now()

    def silence(self, *names: str) -> None:
        """Their kubelets post nothing any more: the node controller says so of all conditions."""
        for name in names:
            self.set_conditions(name, **dict.fromkeys(HEALTHY, "Unknown"))

    def awake(self, name: str) -> None:
        """Its kubelet posts again; what it was told to end meanwhile ends."""
        with self.lock:
            self.set_conditions(name, **HEALTHY)
            self.pods = {key: pod for key, pod in self.pods.items() if not (pod.node == name and pod.deleted)}

    def run(self, app: str, *nodes: str, owner: str = "ReplicaSet", need: int = 0) -> None:
        """A pod of `app` on each of them, of which as many must stay as it needs."""
        with self.lock:
            for node in nodes:
                self.made += 1
                pod = Pod(f"{app}-{self.made}", app, node, owner)
                self.pods[pod.name] = pod
            if need:
                self.budgets[app] = need

    def start_pods(self) -> None:
        with self.lock:
            self.pods_start = True
            for pod in self.pods.values():
                pod.started = True

    def on(self, node: str) -> list[str]:
        """The apps of the pods that are there, and not about to end."""
        with self.lock:
            return sorted(pod.app for pod in self.pods.values() if pod.node == node and not pod.deleted)

    def ready_nodes(self) -> list[str]:
        with self.lock:
            return sorted(name for name, node in self.nodes.items() if node.ready and not node.cordoned)

    def told(self) -> str:
        with self.lock:
            return f"Kubernetes was asked: {self.asked}\nOpenStack was asked: {self.cloud.asked}"

    # ---- what it answers ----------------------------------------------------------------------------------------

    def make_routes(self) -> None:
        one = "/api/v1/nodes/([^/]+)"
        self.route("GET", "/api/v1/nodes", "list nodes", self.list_nodes)
        self.route("GET", one, "read {0}", lambda _request, name: self.of_node(name))
        self.route("PATCH", one, self.change, self.patch)
        self.route("DELETE", one, "forget {0}", self.forget)
        self.route("GET", "/api/v1/pods", "list pods", self.list_pods)
        self.route("GET", "/api/v1/namespaces/([^/]+)/pods/([^/]+)", "read pod {1}", self.read_pod)
        self.route("POST", "/api/v1/namespaces/([^/]+)/pods/([^/]+)/eviction", "evict {1}", self.evict)
        self.route("GET", "/apis/apps/v1/namespaces/([^/]+)/daemonsets/([^/]+)", "read daemonset {1}", self.daemon_set)
        self.route("GET", "/api", "versions", lambda _: Answer(200, {"kind": "APIVersions", "versions": ["v1"]}))
        self.route("GET", "/apis", "groups", self.groups)
        self.route("GET", "/(api/v1|apis/[^/]+/v1)", "resources {0}", self.resources)
        self.route("GET", "/healthz", "health", lambda _: Answer(200, b"ok", kind="text/plain"))

    @staticmethod
    def change(request: Request, name: str) -> str:
        """What a patch is called."""
        spec = request.json().get("spec", {})
        return f"{'patch' if 'unschedulable' not in spec else 'cordon' if spec['unschedulable'] else 'uncordon'} {name}"

    def allowed(self, request: Request, name: str) -> Answer | None:
        if name != "health" and request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.status(401, "Unauthorized", "Unauthorized")
        return None

    @staticmethod
    def status(code: int, reason: str, message: str, details: dict | None = None, headers: dict | None = None) -> Answer:
        return Answer(code, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message,
                             "reason": reason, "details": details or {}, "code": code}, headers)

    def refusal(self, status: int, name: str) -> Answer:
        return self.status(status, "InternalError", f"an error on the server has prevented the request: {name}")

    def unknown(self, request: Request) -> Answer:
        return self.status(404, "NotFound", "the server could not find the requested resource")

    def health(self, _request: Request, name: str) -> Answer:
        """Of one master."""
        with self.lock:
            well = name in self.nodes and self.nodes[name].api_well
        return Answer(200, b"ok", kind="text/plain") if well else Answer(500, b"[-]etcd failed: reason withheld", kind="text/plain")

    def list_nodes(self, request: Request) -> Answer:
        documents = [node.document() for node in self.nodes.values()]
        first, last = int(request.query.get("continue") or 0), int(request.query.get("limit") or len(documents) or 1)
        more = {"continue": str(first + last)} if first + last < len(documents) else {}
        return Answer(200, {"kind": "NodeList", "apiVersion": "v1", "metadata": {"resourceVersion": "1003"} | more,
                            "items": documents[first:first + last]})

    def of_node(self, name: str) -> Answer:
        if name not in self.nodes:
            return self.status(404, "NotFound", f'nodes "{name}" not found', {"name": name, "kind": "nodes"})
        return Answer(200, {"kind": "Node", "apiVersion": "v1"} | self.nodes[name].document())

    def patch(self, request: Request, name: str) -> Answer:
        kind = request.headers.get("Content-Type", "").partition(";")[0]
        if kind not in ("application/merge-patch+json", "application/strategic-merge-patch+json"):
            return self.status(415, "UnsupportedMediaType", f"the body of the request was in an unknown format: {kind}")
        if name not in self.nodes:
            return self.of_node(name)
        node, change = self.nodes[name], request.json()
        for key, value in change.get("metadata", {}).get("annotations", {}).items():
            node.annotations.pop(key, None)
            node.annotations |= {} if value is None else {key: value}
        if "unschedulable" in change.get("spec", {}):
            node.cordoned = bool(change["spec"]["unschedulable"])
        return self.of_node(name)

    def forget(self, request: Request, name: str) -> Answer:
        if name not in self.nodes:
            return self.of_node(name)
        uid = ((request.json() or {}).get("preconditions") or {}).get("uid")
        if uid and uid != self.nodes[name].uid:
            return self.status(409, "Conflict", f"Precondition failed: UID in precondition: {uid}, "
                               f"UID in object meta: {self.nodes[name].uid}")
        del self.nodes[name]
        self.pods = {key: pod for key, pod in self.pods.items() if pod.node != name}  # the collector of orphans
        return Answer(200, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"})

    def list_pods(self, request: Request) -> Answer:
        field, _, node = urllib.parse.unquote(request.query.get("fieldSelector", "")).partition("=")
        found = [pod.document() for pod in self.pods.values() if field != "spec.nodeName" or pod.node == node]
        return Answer(200, {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1003"}, "items": found})

    def read_pod(self, _request: Request, _namespace: str, name: str) -> Answer:
        if name not in self.pods:
            return self.status(404, "NotFound", f'pods "{name}" not found', {"name": name, "kind": "pods"})
        return Answer(200, {"kind": "Pod", "apiVersion": "v1"} | self.pods[name].document())

    def well(self, pod: Pod) -> bool:
        return pod.started and not pod.deleted and pod.node in self.nodes and self.nodes[pod.node].ready

    def evict(self, request: Request, namespace: str, name: str) -> Answer:
        if request.json().get("kind") != "Eviction":
            return self.status(400, "BadRequest", "no Eviction")
        if name not in self.pods:
            return self.read_pod(request, namespace, name)
        pod, need = self.pods[name], self.budgets.get(self.pods[name].app, 0)
        has = sum(self.well(other) for other in self.pods.values() if other.app == pod.app)
        if not pod.deleted and need and has - self.well(pod) < need:
            return self.status(429, "TooManyRequests", "Cannot evict pod as it would violate the pod's disruption budget.",
                               {"causes": [{"reason": "DisruptionBudget", "message":
                                            f"The disruption budget {pod.app} needs {need} healthy pods and has {has} currently"}]})
        if not pod.deleted:
            pod.deleted = now()
            if pod.owner:
                self.replace(pod)
        if self.nodes[pod.node].ready:
            del self.pods[name]
        return Answer(201, {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201})

    def replace(self, pod: Pod) -> None:
        """Its controller starts another one, where there is a node for it."""
        places = [node.name for node in self.nodes.values() if node.ready and not node.cordoned and not node.master]
        self.made += 1
        other = Pod(f"{pod.app}-{self.made}", pod.app, places[self.made % len(places)] if places else "", pod.owner,
                    started=self.pods_start and bool(places))
        self.pods[other.name] = other

    def daemon_set(self, _request: Request, namespace: str, name: str) -> Answer:
        return Answer(200, {"kind": "DaemonSet", "apiVersion": "apps/v1", "metadata": {"name": name, "namespace": namespace, "uid": "1"}})

    @staticmethod
    def groups(_request: Request) -> Answer:
        listed = [{"name": name, "versions": [{"groupVersion": f"{name}/{version}", "version": version}],
                   "preferredVersion": {"groupVersion": f"{name}/{version}", "version": version}}
                  for name, (version, _) in GROUPS.items() if name]
        return Answer(200, {"kind": "APIGroupList", "apiVersion": "v1", "groups": listed})

    def resources(self, request: Request, place: str) -> Answer:
        group = place.split("/")[1] if place.startswith("apis") else ""
        if group not in GROUPS:
            return self.unknown(request)
        listed = [{"name": name, "singularName": "", "namespaced": namespaced, "kind": kind, "verbs": ["create", "get", "list", "patch"]}
                  | ({"group": "policy", "version": "v1"} if kind == "Eviction" else {}) for name, kind, namespaced in GROUPS[group][1]]
        return Answer(200, {"kind": "APIResourceList", "groupVersion": f"{group}/v1" if group else "v1", "resources": listed})

    def kubeconfig(self, path: Path) -> Path:
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "clusters": [{"name": "here", "cluster": {"server": self.url, "certificate-authority": f"{self.certificate}.crt"}}],
            "users": [{"name": "healer", "user": {"token": TOKEN}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "healer"}}]}))
        path.chmod(0o600)
        return path
