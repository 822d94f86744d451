# SPDX-License-Identifier: MIT
"""A manager of Cloudify as its REST API shows it: deployments with instances of nodes, and executions of workflows, of
which one at a time runs in a deployment."""
import itertools
from collections.abc import Callable

from far_ends import Answer, Call, FarEnd

API = "/api/v3.1"
ACTIVE = ("pending", "started", "cancelling", "force_cancelling", "kill_cancelling", "queued")
OVER = ("terminated", "failed", "cancelled")


def refusal(status: int, code: str, message: str) -> Answer:
    return Answer(status, {"message": message, "error_code": code, "server_traceback": "Traceback ..."})


class Cloudify(FarEnd):
    """What was started runs until `finish` ends it; a cancel ends it by itself."""

    def __init__(self, user: str, password: str, tenant: str) -> None:
        self.login, self.tenant = (user, password), tenant
        self.instances: dict[str, dict] = {}
        self.executions: dict[str, dict] = {}
        self.number = itertools.count(1)
        self.heals: Callable[[str], None] = lambda instance: None  # a heal workflow has ended well
        super().__init__()

    @property
    def api(self) -> str:
        return self.url + API

    def add_instance(self, name: str, deployment: str) -> None:
        self.instances[name] = {"id": name, "deployment_id": deployment, "node_id": name.rpartition("_")[0], "state": "started",
                                "runtime_properties": {"ip": "127.0.0.1"}}

    def start(self, deployment: str, workflow: str, parameters: dict) -> dict:
        """An execution that a person, or a call, has started."""
        with self.lock:
            execution = {"id": f"e{next(self.number)}", "deployment_id": deployment, "workflow_id": workflow, "status": "started",
                         "parameters": parameters, "created_at": "2026-11-28T10:00:00.000Z", "error": "",
                         "is_system_workflow": False, "created_by": self.login[0], "tenant_name": self.tenant}
            self.executions[execution["id"]] = execution
            return execution

    def finish(self, number: str, status: str = "terminated") -> None:
        with self.lock:
            execution = self.executions[number]
            execution["status"] = status
            if status == "terminated" and execution["workflow_id"] == "heal":
                self.heals(execution["parameters"]["node_instance_id"])

    def started(self) -> list[dict]:
        """The executions of `heal`, as they were started."""
        with self.lock:
            return [one for one in self.executions.values() if one["workflow_id"] == "heal"]

    def answer(self, call: Call) -> Answer:
        if call.login() != self.login:
            return refusal(401, "unauthorized_error", "User unauthorized: No authentication info provided")
        if call.headers.get("tenant") != self.tenant:
            return refusal(403, "forbidden_error", f"{call.login()[0]} is not permitted to this tenant")
        parts = call.path.removeprefix(API + "/").split("/")
        match call.method, parts:
            case "GET", ["node-instances", name] if name in self.instances:
                return Answer(200, self.instances[name])
            case "GET", ["deployments", name] if any(one["deployment_id"] == name for one in self.instances.values()):
                return Answer(200, {"id": name, "blueprint_id": name, "created_by": self.login[0]})
            case "GET", ["node-instances"]:
                return self.page(call, list(self.instances.values()))
            case "GET", ["executions"]:
                return self.page(call, list(self.executions.values()))
            case "GET", ["executions", number] if number in self.executions:
                return Answer(200, self.executions[number])
            case "POST", ["executions"]:
                return self.execute(call)
            case "POST", ["executions", number] if number in self.executions:
                return self.act(self.executions[number], call.json().get("action"))
        return refusal(404, "not_found_error", f"{call.path}: not found")

    @staticmethod
    def page(call: Call, all_of_them: list[dict]) -> Answer:
        items = [one for one in all_of_them
                 if all(one.get(name) in values for name, values in call.query.items() if not name.startswith("_"))]
        return Answer(200, {"items": items, "metadata": {"pagination": {"total": len(items), "size": 1000, "offset": 0}}})

    def execute(self, call: Call) -> Answer:
        if call.headers.get("content-type") != "application/json":
            return refusal(415, "unsupported_content_type_error", "Content type must be application/json")
        asked = call.json()
        deployment, parameters = asked.get("deployment_id"), asked.get("parameters") or {}
        if not any(one["deployment_id"] == deployment for one in self.instances.values()):
            return refusal(404, "not_found_error", f"Requested `Deployment` with ID `{deployment}` was not found")
        running = [one["id"] for one in self.executions.values()
                   if one["deployment_id"] == deployment and one["status"] in ACTIVE]
        if running and not asked.get("force"):
            return refusal(400, "existing_running_execution_error",
                           f"The following executions are currently running for this deployment: {running}. To execute this "
                           "workflow anyway, pass \"force=true\" as a query parameter to this request")
        if parameters.get("node_instance_id") not in self.instances:
            return refusal(400, "illegal_execution_parameters_error", "there is no such instance of a node")
        return Answer(201, {**self.start(deployment, asked["workflow_id"], parameters), "status": "pending"})

    @staticmethod
    def act(execution: dict, action: str) -> Answer:
        if action not in ("cancel", "force-cancel", "kill"):
            return refusal(400, "bad_parameters_error", f"Invalid action: {action}")
        if execution["status"] not in ("pending", "started"):
            return refusal(400, "illegal_action_error", f"Can't {action} execution {execution['id']} because it's in status "
                                                        f"{execution['status']}")
        execution["status"] = "cancelled"
        return Answer(200, {**execution, "status": "cancelling"})
