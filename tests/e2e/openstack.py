# SPDX-License-Identifier: MIT
"""Keystone, Nova, Heat and Mistral with the paths, bodies and statuses of Zed, as far as a healing calls them, on one port:
a stack whose units are servers."""
import itertools
import uuid

from far_ends import Answer, Call, FarEnd

PROJECT, STACK, STACK_ID = "2fbb95f17b9f4d5ba0f4b3a1f8a2f6b1", "web", "6f1b0d4e-8f38-4ba1-9d0d-7c2f7a4d1a11"
TOKENS = "/v3/auth/tokens"
STACKS = f"/v1/{PROJECT}/stacks"
FULL = f"{STACKS}/{STACK}/{STACK_ID}"
EXECUTIONS = "/v2/executions"
ACCEPTED = ("<html>\n <head>\n  <title>202 Accepted</title>\n </head>\n <body>\n  <h1>202 Accepted</h1>\n  "
            "The request is accepted for processing.<br /><br />\n </body>\n</html>")


def heat_error(status: int, title: str, kind: str, message: str) -> Answer:
    return Answer(status, {"code": status, "title": title, "explanation": message,
                           "error": {"type": kind, "message": message, "traceback": None}})


class OpenStack(FarEnd):
    """An update runs until `finish` ends it, an execution of Mistral until `end_execution`."""

    def __init__(self, user: str, password: str, units: tuple[str, ...]) -> None:
        self.login = (user, password)
        self.tokens: set[str] = set()
        self.number = itertools.count(1)
        self.stack_status, self.stack_reason = "CREATE_COMPLETE", "Stack CREATE completed successfully"
        self.legacy = False  # an engine that refuses an update while another one runs
        self.resources = {name: {"resource_name": name, "logical_resource_id": name, "physical_resource_id": f"i-{name}-1",
                                 "resource_status": "CREATE_COMPLETE", "resource_status_reason": "state changed",
                                 "resource_type": "OS::Nova::Server", "links": []} for name in units}
        self.servers = {one["physical_resource_id"]: "ACTIVE" for one in self.resources.values()}
        self.executions: dict[str, dict] = {}
        super().__init__()

    # ---- what tests say and ask

    def expire_tokens(self) -> None:
        with self.lock:
            self.tokens.clear()

    def server_of(self, unit: str) -> str:
        with self.lock:
            return self.resources[unit]["physical_resource_id"]

    def finish(self, status: str = "UPDATE_COMPLETE") -> None:
        """The end of an update: what is marked has been replaced."""
        with self.lock:
            self.stack_status, self.stack_reason = status, f"Stack {status}"
            if status == "UPDATE_COMPLETE":
                self.replace_marked()

    def replace_marked(self) -> None:
        for name, resource in self.resources.items():
            if resource["resource_status"] != "CHECK_FAILED":
                continue
            self.servers.pop(resource["physical_resource_id"], None)
            server = f"i-{name}-{next(self.number) + 1}"
            self.servers[server] = "ACTIVE"
            resource.update(physical_resource_id=server, resource_status="CREATE_COMPLETE", resource_status_reason="state changed")

    def end_execution(self, number: str, state: str = "SUCCESS") -> None:
        """A workflow that marks the unit and updates the stack has come to its end."""
        with self.lock:
            execution = self.executions[number]
            execution["state"] = state
            if state == "SUCCESS":
                for resource in self.resources.values():
                    if resource["physical_resource_id"] == execution["asked"]["server"]:
                        resource["resource_status"] = "CHECK_FAILED"
                self.replace_marked()

    # ---- what it does

    def answer(self, call: Call) -> Answer:
        if call.path == TOKENS and call.method == "POST":
            return self.token(call.json())
        if call.headers.get("x-auth-token") not in self.tokens:
            if call.path.startswith("/v1/"):  # Heat says it in HTML
                return Answer(401, "<html><head><title>401 Unauthorized</title></head></html>",
                              {"WWW-Authenticate": "Keystone uri='http://127.0.0.1/'"})
            return Answer(401, {"error": {"code": 401, "title": "Unauthorized",
                                          "message": "The request you have made requires authentication."}})
        if call.path.startswith(STACKS + "/"):
            return self.heat(call, call.path.removeprefix(STACKS + "/").split("/"))
        if call.path.startswith("/v2.1/servers/"):
            name = call.path.removeprefix("/v2.1/servers/")
            if name in self.servers:
                return Answer(200, {"server": {"id": name, "status": self.servers[name]}})
            return Answer(404, {"itemNotFound": {"code": 404, "message": f"Instance {name} could not be found."}})
        if call.path.startswith(EXECUTIONS):
            return self.mistral(call, call.path.removeprefix(EXECUTIONS).strip("/"))
        return Answer(404, "<html><head><title>404 Not Found</title></head></html>")

    def token(self, asked: dict) -> Answer:
        user = asked.get("auth", {}).get("identity", {}).get("password", {}).get("user", {})
        if (user.get("name"), user.get("password")) != self.login:
            return Answer(401, {"error": {"code": 401, "title": "Unauthorized",
                                          "message": "The request you have made requires authentication."}})
        token = f"gAAAAAB{uuid.uuid4().hex}"
        self.tokens.add(token)
        return Answer(201, {"token": {"methods": ["password"], "user": {"name": user["name"]},
                                      "expires_at": "2036-11-21T05:35:11.000000Z"}}, {"X-Subject-Token": token})

    def heat(self, call: Call, parts: list[str]) -> Answer:
        if parts[0] != STACK or (len(parts) > 1 and parts[1] != STACK_ID):
            return heat_error(404, "Not Found", "EntityNotFound", f"The Stack ({parts[0]}) could not be found.")
        match call.method, parts[2:]:
            case "GET", [] if len(parts) == 1:
                return Answer(302, "<html><head><title>302 Found</title></head></html>", {"Location": self.url + FULL})
            case "GET", []:
                return Answer(200, {"stack": {"id": STACK_ID, "stack_name": STACK, "stack_status": self.stack_status,
                                              "stack_status_reason": self.stack_reason}})
            case "GET", ["resources"]:
                return Answer(200, {"resources": list(self.resources.values())})
            case "PATCH", ["resources", name]:
                return self.mark(name, call.json())
            case "PATCH", [] if len(parts) == 2:
                if self.legacy and self.stack_status.endswith("_IN_PROGRESS"):
                    return heat_error(409, "Conflict", "ActionInProgress", f"Stack {STACK} already has an action (UPDATE) in progress.")
                self.stack_status, self.stack_reason = "UPDATE_IN_PROGRESS", "Stack UPDATE started"
                return Answer(202, ACCEPTED)
        return heat_error(404, "Not Found", "NotFound", f"{call.method} {call.path}")

    def mark(self, name: str, asked: dict) -> Answer:
        resource = next((one for one in self.resources.values() if name in (one["resource_name"], one["physical_resource_id"])), None)
        if resource is None:
            return heat_error(404, "Not Found", "ResourceNotFound", f"The Resource ({name}) could not be found in Stack {STACK}.")
        if asked.get("mark_unhealthy"):
            resource.update(resource_status="CHECK_FAILED", resource_status_reason=asked.get("resource_status_reason", ""))
        return Answer(200, None)

    def mistral(self, call: Call, number: str) -> Answer:
        if call.method == "POST" and not number:
            asked = call.json()
            if asked.get("workflow_name") != "heal_unit":
                return Answer(404, {"faultcode": "Client", "faultstring": f"Workflow not found [{asked.get('workflow_name')}]",
                                    "debuginfo": None})
            number = asked.get("id") or str(uuid.uuid4())
            # A number that is known is no second execution.
            one = self.executions.setdefault(number, {"id": number, "workflow_name": "heal_unit", "state": "RUNNING",
                                                      "state_info": None, "asked": asked["input"]})
            return Answer(201, {name: value for name, value in one.items() if name != "asked"})
        one = self.executions.get(number)
        if one is None:
            return Answer(404, {"faultcode": "Client", "faultstring": f"WorkflowExecution not found [{number}]", "debuginfo": None})
        if call.method == "PUT":
            one["state"] = call.json()["state"]
        return Answer(200, {name: value for name, value in one.items() if name != "asked"})
