"""A model that says what a script tells it to, for Claude Code, Codex and opencode.

It speaks the streaming form of three interfaces on the loopback interface: Anthropic Messages, OpenAI Responses and OpenAI Chat Completions. A script
is a list of steps, one for each request: `Say` a text, `Call` a tool, or a function that makes one of these of the request. What each request showed
the model is kept in `requests`, and those for which the client asks for itself in `own`.
"""
import json
import re
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

EXHAUSTED = "The script has no more steps."


@dataclass
class Say:
    """The last message of a turn. `TASK-ID` stands for the id that the prompt of a loop names."""
    text: str


@dataclass
class Call:
    """A call of one of the memory's tools, or of the client's own: `Call("command", {"command": LINE})`, `Call("write", {"path": PATH, "content": LINE})`,
    `Call("read", {"path": PATH})`, `Call("edit", {"path": PATH, "old": LINE, "new": LINE})`."""
    tool: str
    input: dict


@dataclass
class Offered:
    """A tool as a client offers it."""
    name: str
    namespace: str | None = None
    custom: bool = False

    def full_name(self):
        return f"{self.namespace}.{self.name}" if self.namespace else self.name


class Request:
    """What a client sent: the texts that the model is shown, each with its role, and the tools."""

    def __init__(self, body):
        self.model = body.get("model")
        self.parts, self.tools = [], offered(body.get("tools"))
        system = body.get("system") or body.get("instructions")
        if system:
            self.parts.append(("system", strings(system)))
        for item in body.get("messages") or body.get("input") or []:
            if item.get("type") in ("additional_tools", "tool_search_output"):
                self.tools += offered(item.get("tools"))
                continue
            role = item.get("role") or ("tool" if item["type"].endswith("_output") else "assistant")
            content = item.get("content")
            for block in content if isinstance(content, list) else [content if isinstance(content, str) else item]:
                result = isinstance(block, dict) and block.get("type") == "tool_result"
                self.parts.append(("tool" if result else role, strings(block)))

    def housekeeping(self):
        """Whether the client asks for itself, as for the title of a session. Such requests use up no step."""
        return not self.tools

    def holds(self, text):
        return any(text in shown for _, shown in self.parts)

    def last_result(self):
        """What the last call of a tool returned."""
        return next((shown for role, shown in reversed(self.parts) if role == "tool"), "")

    def task_id(self):
        found = [name for _, shown in self.parts for name in re.findall(r"<task-done>([^<]+)</task-done>", shown)]
        return found[-1] if found else "no-task"


def strings(value):
    """All text in a JSON value."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        value = [inner for key, inner in value.items() if key not in ("id", "type", "role", "cache_control")]
    return "\n".join(filter(None, map(strings, value))) if isinstance(value, list) else ""


def offered(tools):
    found = []
    for tool in tools or []:
        if tool.get("type") == "namespace":
            found += [Offered(inner["name"], tool["name"], inner.get("type") == "custom") for inner in tool["tools"]]
        else:
            name = tool.get("name") or tool.get("function", {}).get("name") or tool["type"]
            found.append(Offered(name, custom=tool.get("type") == "custom"))
    return found


def own_tools(call):
    """What clients call their own tool for commands or for files, with its input; the last is that of Codex."""
    if call.tool == "command":
        line = call.input["command"]
        return [("Bash", {"command": line, "description": "Run a command"}), ("bash", {"command": line, "description": "Run a command"}), ("exec_command", {"cmd": line})]
    path = call.input["path"]
    if call.tool == "read":
        return [("Read", {"file_path": path}), ("read", {"filePath": path}), ("exec_command", {"cmd": f"cat {path}"})]
    if call.tool == "edit":
        old, new = call.input["old"], call.input["new"]
        return [("Edit", {"file_path": path, "old_string": old, "new_string": new}), ("edit", {"filePath": path, "oldString": old, "newString": new}),
                ("apply_patch", f"*** Begin Patch\n*** Update File: {path}\n@@\n-{old}\n+{new}\n*** End Patch\n")]
    content = call.input["content"]
    return [("Write", {"file_path": path, "content": content}), ("write", {"filePath": path, "content": content}),
            ("apply_patch", f"*** Begin Patch\n*** Add File: {path}\n+{content}\n*** End Patch\n")]


def resolve(call, tools):
    """The tool of this client that a call means, and its input; `None` if the client offers no such tool."""
    if call.tool in ("command", "read", "write", "edit"):
        known = own_tools(call)
    else:
        known = [(tool.name, call.input) for tool in tools if re.search(rf"(^|_){call.tool}$", tool.name)] or [(f"mcp__ralph_memory__{call.tool}", call.input)]
    for name, arguments in known:
        for tool in tools:
            if tool.name == name:
                return tool, arguments
    # The newest models of Codex have a single tool, which runs JavaScript.
    for tool in tools:
        if tool.name == "exec" and tool.custom:
            name, arguments = known[-1]
            return tool, f"text(JSON.stringify(await tools.{name}({json.dumps(arguments)})));"
    return None


# What the three interfaces stream, as (name of the event, data).

USAGE = {"input_tokens": 100, "output_tokens": 10}


def messages(number, model, text, call):
    if call:
        block, delta = {"type": "tool_use", "id": f"toolu_{number}", "name": call[0].name, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(call[1])}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": text}
    message = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": model, "content": [], "stop_reason": None, "stop_sequence": None, "usage": USAGE}
    events = [{"type": "message_start", "message": message},
              {"type": "content_block_start", "index": 0, "content_block": block}, {"type": "content_block_delta", "index": 0, "delta": delta}, {"type": "content_block_stop", "index": 0},
              {"type": "message_delta", "delta": {"stop_reason": "tool_use" if call else "end_turn", "stop_sequence": None}, "usage": USAGE}, {"type": "message_stop"}]
    return [(event["type"], event) for event in events]


def responses(number, model, text, call):
    if not call:
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": text, "annotations": []}]}
    elif call[0].custom:
        item = {"type": "custom_tool_call", "id": f"ctc_{number}", "call_id": f"call_{number}", "name": call[0].name, "input": call[1], "status": "completed"}
    else:
        item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}", "name": call[0].name, "arguments": json.dumps(call[1]), "status": "completed"}
        if call[0].namespace:
            item["namespace"] = call[0].namespace
    response = {"id": f"resp_{number}", "object": "response", "created_at": 0, "model": model, "status": "completed", "output": [item], "usage": {**USAGE, "total_tokens": 110}}
    events = [{"type": "response.created", "response": {**response, "status": "in_progress", "output": [], "usage": None}},
              {"type": "response.output_item.done", "output_index": 0, "item": item}, {"type": "response.completed", "response": response}]
    return [(event["type"], event) for event in events]


def completions(number, model, text, call):
    head = {"id": f"chatcmpl-{number}", "object": "chat.completion.chunk", "created": 0, "model": model}
    delta = {"role": "assistant", "content": text}
    if call:
        delta = {"role": "assistant", "tool_calls": [{"index": 0, "id": f"call_{number}", "type": "function", "function": {"name": call[0].name, "arguments": json.dumps(call[1])}}]}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return [(None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}),
            (None, {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if call else "stop"}]}),
            (None, {**head, "choices": [], "usage": usage}), (None, "[DONE]")]


INTERFACES = {"/v1/messages": messages, "/v1/responses": responses, "/v1/chat/completions": completions}


class Model(ThreadingHTTPServer):
    """The server. `play` begins a script; `requests` has what was asked since, without the client's housekeeping."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.lock, self.count = threading.Lock(), 0
        self.play([])
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def play(self, steps):
        with self.lock:
            self.steps, self.requests, self.own, self.unknown = list(steps), [], [], []

    def answer(self, request):
        """The number of an answer, its text, and its call as tool and input."""
        with self.lock:
            self.count += 1
            if request.housekeeping():
                self.own.append(request)
                return self.count, "A title", None
            self.requests.append(request)
            step = self.steps.pop(0) if self.steps else Say(EXHAUSTED)
        if callable(step):
            step = step(request)
        if isinstance(step, Say):
            return self.count, step.text.replace("TASK-ID", request.task_id()), None
        call = resolve(step, request.tools)
        return self.count, "" if call else f"The client does not offer {step.tool}.", call


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        # Codex asks for a list of models, and uses its own where there is none.
        self.send_error(404)

    def do_POST(self):
        path = self.path.split("?")[0]
        body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
        if path not in INTERFACES or not body.get("stream"):
            self.server.unknown.append(f"POST {self.path}")
            return self.send_error(404)
        number, text, call = self.server.answer(Request(body))
        events = INTERFACES[path](number, body.get("model"), text, call)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for name, data in events:
            head = f"event: {name}\n" if name else ""
            self.wfile.write(f"{head}data: {data if isinstance(data, str) else json.dumps(data)}\n\n".encode())

    def log_message(self, *_):
        pass
