#!/usr/bin/env python3
"""The Python client of ccd: one file, standard library only, Python 3.8 or later.

    import ccd
    with ccd.Client() as daemon:                       # starts ccd where it does not run
        for symbol in daemon.call("graph.search", workspace="/path", query="parse")["symbols"]:
            print(symbol["rel"], symbol["name"])

Errors are CcdError: branch on its `kind` (a stable word), read its `data`. Kinds of the client, which
never come over the wire: not_running, sandbox_denied, start_failed, connection_lost.

On the command line:

    python3 ccd.py status
    python3 ccd.py call graph.search workspace=/path query=parse limit=5
"""

import collections
import errno
import json
import os
import select
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time

PROTOCOL = 1
BUILD = "0.1.0"
SOCKET_NAME = "ccd-1.sock"
SOCKET_PATH_MAX = 107
HELD = 3  # the exit code of a ccd that found another one at work
START_LIMIT_S = 5.0
RETIRE_LIMIT_S = 20.0
DYING_LIMIT_S = 1.0
DEADLINE_S = 65.0
LINE_LIMIT = 257 * 1024 * 1024
EVENT_QUEUE = 1024
ENV = ("PATH", "HOME", "LANG", "VIRTUAL_ENV", "CARGO_HOME", "RUSTUP_TOOLCHAIN", "GOPATH", "GOROOT")

# Calls that change nothing and may be asked twice.
READS = ("daemon.hello", "daemon.status", "daemon.doctor", "daemon.metrics", "daemon.methods",
         "workspace.open", "workspace.status", "workspace.list", "workspace.read",
         "edit.outcome", "edit.grammar", "ast.grep", "ast.explain", "ast.staged")


class CcdError(Exception):
    """An error of the daemon or of the client, in the shape that it has on the wire.

    kind: the stable word; code: groups kinds (0 for kinds of the client); data: the fields of the kind;
    retryable: whether the same call can succeed later without any change.
    """

    def __init__(self, kind, message, code=0, data=None):
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.code = code
        self.data = dict(data or {})
        self.data.setdefault("kind", kind)
        self.retryable = bool(self.data.get("retryable", kind in ("not_running", "connection_lost")))

    def __str__(self):
        return "%s (%s)" % (self.message, self.kind)

    def to_json(self):
        return {"code": self.code, "message": self.message, "data": self.data}


def _from_wire(error):
    data = error.get("data") if isinstance(error.get("data"), dict) else {}
    return CcdError(data.get("kind", "unknown"), error.get("message", ""), error.get("code", 0), data)


# Where things are. The daemon decides by the same rules.

def _xdg(env, name):
    value = env.get(name, "")
    return value if os.path.isabs(value) else None


def state_dir(env=None):
    """Logs, beside other state that must survive."""
    env = os.environ if env is None else env
    base = _xdg(env, "XDG_STATE_HOME") or os.path.join(_xdg(env, "HOME") or "/", ".local/state")
    return env.get("CCD_STATE_DIR") or os.path.join(base, "ccd")


def runtime_dir(env=None):
    """Socket and lock. Never TMPDIR: sandboxes change it from process to process."""
    env = os.environ if env is None else env
    # A relative value of ours is a mistake that the daemon will name: no other daemon is met instead.
    if env.get("CCD_RUNTIME_DIR"):
        return env["CCD_RUNTIME_DIR"]
    if _xdg(env, "XDG_RUNTIME_DIR"):
        return os.path.join(_xdg(env, "XDG_RUNTIME_DIR"), "ccd")
    return _login_dir() or os.path.join(state_dir(env), "run")


def _login_dir():
    """Below the folder of the login, if that is ours."""
    login = "/run/user/%d" % os.geteuid()
    try:
        found = os.lstat(login)
    except OSError:
        return None
    ours = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
    return os.path.join(login, "ccd") if ours else None


def socket_path(env=None):
    """The socket of this user's daemon."""
    env = os.environ if env is None else env
    path = os.path.join(runtime_dir(env), SOCKET_NAME)
    if len(os.fsencode(path)) <= SOCKET_PATH_MAX:
        return path
    fallback = _login_dir() or os.path.join(state_dir(env), "run")
    return os.path.join(fallback, "%016x-%s" % (_short_name(os.fsencode(runtime_dir(env))), SOCKET_NAME))


def _short_name(path):
    """FNV-1a, 64 bits, as the daemon has it."""
    found = 0xCBF29CE484222325
    for byte in path:
        found = ((found ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
    return found


def find_daemon(env=None):
    """The ccd that would be started: $CCD_BIN, else beside this file, else the first in PATH."""
    env = os.environ if env is None else env
    chosen = env.get("CCD_BIN")
    if chosen:
        if os.path.isabs(chosen) and _is_program(chosen):
            return chosen
        tried = ["$CCD_BIN = %s (not the absolute path of a program)" % chosen]
    else:
        tried = ["$CCD_BIN (not set)"]
        sibling = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ccd")
        if _is_program(sibling):
            return sibling
        tried.append(sibling)
        # An empty or relative entry means the working folder, and that may be a hostile checkout.
        folders = [folder for folder in env.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
        found = shutil.which("ccd", path=os.pathsep.join(folders)) if folders else None
        if found:
            return found
        tried.append("PATH = %s" % env.get("PATH", ""))
    raise CcdError(
        "start_failed",
        "No `ccd` was found (looked at: %s). Build it with `cargo build --release`, or set CCD_BIN to its "
        "absolute path." % "; ".join(tried),
        data={"tried": tried, "log_tail": ""},
    )


def _is_program(path):
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _log_tail(env):
    try:
        with open(os.path.join(state_dir(env), "log", "ccd.log"), "rb") as log:
            log.seek(0, os.SEEK_END)
            log.seek(max(0, log.tell() - 4096))
            return "\n".join(log.read(4096).decode("utf-8", "replace").splitlines()[-20:])
    except OSError:
        return ""


def _lock_holder(env):
    """The process that holds the daemon's lock (0: of another container), seen without touching it; None if nobody does."""
    try:
        inode = os.lstat(os.path.join(runtime_dir(env), "ccd.lock")).st_ino
        with open("/proc/locks") as table:
            for line in table:
                words = [word for word in line.split()[1:] if word != "->"]
                if words[:1] == ["FLOCK"] and words[4].rsplit(":", 1)[-1] == str(inode):
                    return int(words[3]) if words[3].isdigit() else 0
    except (OSError, IndexError, ValueError):
        pass
    return None


def _start(env, deadline):
    """Starts `ccd --detach`. Returns None once it serves, else its exit code and what it said when it gave up."""
    program = find_daemon(env)
    with tempfile.TemporaryFile() as words:
        try:
            child = subprocess.Popen([program, "--detach"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=words, cwd="/", env=dict(env))
        except OSError as error:
            raise CcdError("start_failed", "%s cannot be run: %s." % (program, error),
                           data={"log_tail": _log_tail(env)}) from error
        # The daemon goes on without us; whoever lives long enough takes its exit code.
        threading.Thread(target=child.wait, daemon=True).start()
        output = b""
        while time.monotonic() < deadline:
            readable, _, _ = select.select([child.stdout], [], [], max(0.0, deadline - time.monotonic()))
            if not readable:
                break
            chunk = os.read(child.stdout.fileno(), 4096)
            output += chunk
            if any(line.startswith(b"ready") for line in output.split(b"\n")[:-1]):
                child.stdout.close()
                return None
            if not chunk:
                child.stdout.close()
                while child.returncode is None and time.monotonic() < deadline:
                    time.sleep(0.01)
                words.seek(0)
                said = words.read(4096).decode("utf-8", "replace").strip() or "It said nothing."
                return child.returncode, "it ended at once (exit %s). %s" % (child.returncode, said)
        child.stdout.close()
    raise CcdError("start_failed",
                   "%s did not report that it serves within the time limit; it may still be starting." % program,
                   data={"log_tail": _log_tail(env)})


class Events:
    """The events of one subscription. Iterating waits for the next one, each time at most `timeout_s`."""

    def __init__(self, client, subscription, timeout_s):
        self.client = client
        self.subscription = subscription
        self.timeout_s = timeout_s
        self.queue = collections.deque(maxlen=EVENT_QUEUE)
        self.dropped = 0

    def __iter__(self):
        return self

    def __next__(self):
        event = self.next(self.timeout_s)
        if event is None:
            raise StopIteration
        return event

    def next(self, timeout_s):
        """The next event, or None after `timeout_s` seconds."""
        return self.client._next_event(self, timeout_s)

    def close(self):
        """Ends the subscription."""
        return self.client.call("events.unsubscribe", subscription=self.subscription)["unsubscribed"]

    def _put(self, event):
        if len(self.queue) == EVENT_QUEUE:
            self.dropped += 1
        self.queue.append(event)


class Client:
    """A connection to the daemon. It may be used from several threads; their calls take turns.

    start: start ccd where it does not run. timeout_s: how long one answer is waited for, where the call
    itself gives no `deadline_ms`. env: the environment to take folders and programs from.
    """

    def __init__(self, start=True, name="ccd.py", timeout_s=DEADLINE_S, env=None, connect=True):
        self.name = name
        self.timeout_s = timeout_s
        self.env = dict(os.environ if env is None else env)
        self._may_start = start
        self._lock = threading.RLock()
        self._socket = None
        self._buffer = b""
        self._next_id = 0
        self._subscriptions = {}
        self._early = collections.deque(maxlen=64)
        self.hello = None
        if connect:
            self.connect()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()

    # Connecting.

    def connect(self):
        """Connects, starting the daemon if need be, and says hello."""
        with self._lock:
            try:
                self._open_living()
            except CcdError as error:
                if error.kind == "not_running" and self._may_start:
                    self._start_and_open(time.monotonic() + START_LIMIT_S)
                elif error.kind == "retiring":
                    self._successor(None)
                else:
                    raise
            if self.hello.get("retiring"):
                self._successor(self.hello["instance"])
        return self

    def close(self):
        """Ends the connection; events streams end with it."""
        with self._lock:
            if self._socket is not None:
                self._socket.close()
            self._socket = None
            self._buffer = b""
            self._subscriptions.clear()

    def _open(self):
        self.close()
        path = socket_path(self.env)
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(2.0)
            connection.connect(path)
            self._check_peer(connection, path)
        except OSError as error:
            connection.close()
            raise self._not_connected(path, error) from error
        except CcdError:
            connection.close()
            raise
        self._socket = connection
        env = {name: self.env[name] for name in ENV if name in self.env}
        params = {"protocol": PROTOCOL, "client": {"name": self.name, "build": BUILD}, "env": env}
        try:
            params["cwd"] = os.getcwd()
        except OSError:
            pass
        try:
            self.hello = self._exchange("daemon.hello", params, 5.0)
        except CcdError:
            self.close()
            raise

    def _open_living(self):
        """Connects. A daemon that was just killed may still take a connection, which then breaks."""
        deadline = time.monotonic() + DYING_LIMIT_S
        while True:
            try:
                return self._open()
            except CcdError as error:
                if error.kind != "connection_lost" or time.monotonic() >= deadline:
                    raise
            time.sleep(0.02)

    @staticmethod
    def _check_peer(connection, path):
        credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        uid = struct.unpack("3i", credentials)[1]
        if uid != os.geteuid():
            raise CcdError("sandbox_denied", "%s is served by user %d, and this is user %d." % (path, uid, os.geteuid()),
                           data={"socket": path, "setting": "Set CCD_RUNTIME_DIR to a folder that only you can write."})

    @staticmethod
    def _not_connected(path, error):
        if error.errno in (errno.ENOENT, errno.ECONNREFUSED):
            return CcdError("not_running", "ccd is not running (no answer on %s)." % path, data={"socket": path})
        if error.errno in (errno.EPERM, errno.EACCES):
            setting = ("A sandbox that forbids Unix sockets must allow this path: `sandbox.network.allowUnixSockets` in "
                       "Claude Code, `permissions.*.network.unix_sockets` in Codex. Without a sandbox: its folder must "
                       "belong to you.")
            return CcdError("sandbox_denied", "The connection to %s is refused: %s. %s" % (path, error, setting),
                            data={"socket": path, "setting": setting})
        if len(os.fsencode(path)) > SOCKET_PATH_MAX:
            return CcdError("start_failed", "The socket path %s is longer than %d bytes. Set CCD_RUNTIME_DIR to a shorter "
                            "folder, for the daemon and for every client." % (path, SOCKET_PATH_MAX))
        return CcdError("connection_lost", "No connection to %s: %s." % (path, error))

    def _start_and_open(self, deadline):
        while True:
            refused = _start(self.env, deadline)
            held = refused is not None and refused[0] == HELD
            while True:
                try:
                    return self._open()
                except CcdError as error:
                    if error.kind not in ("not_running", "retiring"):
                        raise
                # Another one holds the lock: it is coming up and will answer, or ending and will leave the place to us.
                hope = refused is None or (held and _lock_holder(self.env) is not None)
                if not hope or time.monotonic() >= deadline:
                    break
                time.sleep(0.02)
            if not held or time.monotonic() >= deadline:
                raise CcdError("start_failed", "ccd could not be started: %s" % (refused[1] if refused else "it does not answer"),
                               data={"log_tail": _log_tail(self.env)})
            time.sleep(0.02)

    def _successor(self, instance):
        """Connects to the daemon that comes after `instance`, which is ending."""
        deadline = time.monotonic() + RETIRE_LIMIT_S
        while True:
            try:
                self._open()
                if self.hello["instance"] != instance and not self.hello.get("retiring"):
                    return
            except CcdError as error:
                if error.kind == "not_running" and self._may_start:
                    return self._start_and_open(deadline)
                if error.kind not in ("retiring", "connection_lost"):
                    raise
            if time.monotonic() >= deadline:
                raise CcdError("connection_lost", "The daemon is ending and no other has come.")
            time.sleep(0.02)

    # Calling.

    def call(self, method, **params):
        """Calls a method with its parameters by name and returns the result, a dict."""
        with self._lock:
            limit = self._limit(params)
            instance = (self.hello or {}).get("instance")
            try:
                self._connected()
                return self._exchange(method, params, limit)
            except CcdError as error:
                # What the daemon refused before it began is safe to repeat; a lost answer only for reads.
                again = error.kind == "retiring" or (error.kind == "connection_lost" and self._is_read(method))
                if not again or method == "daemon.retire":
                    raise
                if error.kind == "retiring":
                    self._successor(instance)
                else:
                    self.close()
                    self.connect()
            return self._exchange(method, params, limit)

    def batch(self, calls):
        """Calls [(method, params), ...] in order, in one message. Returns a result or a CcdError for each."""
        calls = list(calls)
        if not calls:
            return []
        with self._lock:
            self._connected()
            requests = [self._request(method, params) for method, params in calls]
            ids = [request["id"] for request in requests]
            self._send(requests)
            limit = sum(self._limit(params) for _, params in calls)
            answer = self._receive(lambda message: isinstance(message, list), time.monotonic() + limit, "a batch")
            if isinstance(answer, dict):
                raise _from_wire(answer["error"])
            by_id = {entry.get("id"): entry for entry in answer}
        outcome = []
        for number in ids:
            entry = by_id.get(number)
            if entry is None:
                outcome.append(CcdError("internal", "The batch has no answer to this call.", -32603))
            elif "error" in entry:
                outcome.append(_from_wire(entry["error"]))
            else:
                outcome.append(entry["result"])
        return outcome

    def subscribe(self, topics, timeout_s=60.0, **params):
        """Subscribes to events. Iterate over the result, or call its next(timeout_s)."""
        with self._lock:
            result = self.call("events.subscribe", topics=list(topics), **params)
            events = Events(self, result["subscription"], timeout_s)
            self._subscriptions[events.subscription] = events
            early, self._early = self._early, collections.deque(maxlen=64)
            for params in early:
                self._deliver(params)
            return events

    @staticmethod
    def _is_read(method):
        return method.startswith("graph.") or method in READS

    def _limit(self, params):
        asked = params.get("deadline_ms")
        # The daemon answers `deadline_exceeded` itself, and that says more.
        return asked / 1000.0 + 3.0 if isinstance(asked, (int, float)) else self.timeout_s

    def _connected(self):
        if self._socket is None:
            self.connect()

    def _request(self, method, params):
        self._next_id += 1
        return {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}

    def _exchange(self, method, params, limit):
        request = self._request(method, params)
        self._send(request)
        number = request["id"]
        try:
            answer = self._receive(lambda message: isinstance(message, dict) and message.get("id") == number,
                                   time.monotonic() + limit, method)
        except CcdError as error:
            if error.kind == "deadline_exceeded" and self._socket is not None:
                self._send({"jsonrpc": "2.0", "method": "rpc.cancel", "params": {"id": number}})
            raise
        if "error" in answer:
            raise _from_wire(answer["error"])
        return answer["result"]

    def _send(self, message):
        line = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"
        try:
            self._socket.settimeout(30.0)
            self._socket.sendall(line)
        except OSError as error:
            # What the daemon said before it closed tells more than the broken pipe.
            said = self._last_words()
            self.close()
            raise said or CcdError("connection_lost", "The connection to ccd ended: %s. Ask again." % error) from error

    def _last_words(self):
        try:
            answer = self._receive(lambda message: False, time.monotonic() + 0.2, "")
            return _from_wire(answer["error"])
        except (CcdError, OSError):
            return None

    def _receive(self, wanted, deadline, method):
        """The wanted message, or an error that has no id: it can only belong to the call under way."""
        while True:
            message = self._read(deadline, method)
            if wanted(message):
                return message
            if not isinstance(message, dict):
                continue
            if message.get("method") == "event":
                self._deliver(message.get("params") or {})
            elif message.get("id") is None and "error" in message:
                return message

    def _read(self, deadline, method):
        while b"\n" not in self._buffer:
            left = deadline - time.monotonic()
            if left <= 0:
                raise CcdError("deadline_exceeded", "%s was not answered in time. Ask for less, or give deadline_ms." % method,
                               1004, {"phase": "client"})
            try:
                self._socket.settimeout(left)
                chunk = self._socket.recv(1 << 18)
            except socket.timeout:
                continue
            except OSError as error:
                self.close()
                raise CcdError("connection_lost", "The connection to ccd ended: %s. Ask again." % error) from error
            if not chunk or len(self._buffer) > LINE_LIMIT:
                self.close()
                raise CcdError("connection_lost", "The connection to ccd ended before the answer of %s. The daemon may have "
                               "been restarted: ask again." % (method or "a call"))
            self._buffer += chunk
        line, self._buffer = self._buffer.split(b"\n", 1)
        try:
            return json.loads(line)
        except ValueError:
            return None

    def _deliver(self, params):
        events = self._subscriptions.get(params.get("subscription"))
        if events is None:
            self._early.append(params)
        else:
            events._put(params.get("result"))

    def _next_event(self, events, timeout_s):
        deadline = time.monotonic() + timeout_s
        while True:
            with self._lock:
                if events.queue:
                    return events.queue.popleft()
                if self._socket is None or events.subscription not in self._subscriptions:
                    raise CcdError("connection_lost", "The connection of this subscription has ended. Subscribe again.")
                left = deadline - time.monotonic()
                if left <= 0:
                    return None
                # In short steps, so that other threads get their turn.
                try:
                    message = self._read(time.monotonic() + min(left, 0.05), "an event")
                except CcdError as error:
                    if error.kind != "deadline_exceeded":
                        raise
                    continue
                if isinstance(message, dict) and message.get("method") == "event":
                    self._deliver(message.get("params") or {})


# The command line.

def _parameters(words):
    params = {}
    for word in words:
        key, equals, value = word.partition("=")
        if not equals or not key:
            raise ValueError("%r is not key=value" % word)
        try:
            params[key] = json.loads(value)
        except ValueError:
            params[key] = value
    return params


def main(arguments):
    """`status` (never starts the daemon) or `call METHOD key=json...`; exit codes as ccctl's."""
    usage = "usage: ccd.py status | ccd.py call METHOD [key=value or key=json]..."
    if arguments in (["-h"], ["--help"]):
        print(usage)
        return 0
    try:
        if arguments == ["status"]:
            method, params, start = "daemon.status", {}, False
        elif len(arguments) >= 2 and arguments[0] == "call":
            method, params, start = arguments[1], _parameters(arguments[2:]), True
        else:
            raise ValueError("a command is missing or unknown")
    except ValueError as error:
        print("error: %s\n%s" % (error, usage), file=sys.stderr)
        return 2
    try:
        with Client(start=start) as client:
            print(json.dumps(client.call(method, **params), indent=2, ensure_ascii=False))
        return 0
    except BrokenPipeError:
        # A reader that has had enough is no failure.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except CcdError as error:
        print("error: %s" % error.message, file=sys.stderr)
        fields = {key: value for key, value in error.data.items() if key not in ("kind", "retryable")}
        print("hint: kind %s%s" % (error.kind, ", " + json.dumps(fields, ensure_ascii=False) if fields else ""), file=sys.stderr)
        if error.kind in ("not_running", "sandbox_denied", "start_failed", "connection_lost"):
            return 3
        if error.kind in ("invalid_params", "invalid_request", "method_not_found"):
            return 2
        return 4 if error.kind in ("internal", "parse_error") else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
