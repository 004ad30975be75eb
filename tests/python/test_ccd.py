"""The Python client against a real daemon. tests/run sets CCD_BIN; without it every test fails and says so."""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
CLIENT = os.path.join(HERE, "..", "..", "clients", "python", "ccd.py")
sys.path.insert(0, os.path.dirname(CLIENT))

import ccd  # noqa: E402


class Daemon(unittest.TestCase):
    """Each test has folders, and so a daemon, of its own."""

    def setUp(self):
        if not os.environ.get("CCD_BIN"):
            self.fail("CCD_BIN is not set: run ./tests/run, which builds ccd and sets it")
        self.folder = tempfile.TemporaryDirectory()
        base = os.path.realpath(self.folder.name)
        self.base = base
        self.env = dict(os.environ)
        for name, folder in (("RUNTIME", "run"), ("STATE", "state"), ("CACHE", "cache"), ("CONFIG", "config")):
            self.env["CCD_%s_DIR" % name] = os.path.join(base, folder)
        self.root = os.path.join(base, "project")
        os.mkdir(self.root)
        self.write("lib.py", "def helper():\n    return 1\n\n\ndef main():\n    return helper()\n")

    def tearDown(self):
        try:
            with ccd.Client(start=False, env=self.env) as client:
                client.call("daemon.retire", reason="the test is over", if_idle=False)
        except ccd.CcdError:
            pass
        deadline = time.monotonic() + 20
        while ccd._lock_holder(self.env) is not None and time.monotonic() < deadline:
            time.sleep(0.02)
        self.folder.cleanup()

    def write(self, name, text):
        with open(os.path.join(self.root, name), "w") as file:
            file.write(text)

    def client(self, **options):
        client = ccd.Client(env=self.env, **options)
        self.addCleanup(client.close)
        return client

    def run_cli(self, *arguments):
        return subprocess.run([sys.executable, "-B", CLIENT, *arguments], env=self.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, timeout=60)


class Connecting(Daemon):
    def test_without_a_daemon_and_without_a_start(self):
        with self.assertRaises(ccd.CcdError) as caught:
            self.client(start=False)
        self.assertEqual(caught.exception.kind, "not_running")
        self.assertTrue(caught.exception.data["socket"].endswith("ccd-1.sock"))

    def test_starts_the_daemon_and_meets_it_again(self):
        first = self.client()
        second = self.client(start=False)
        self.assertEqual(first.hello["instance"], second.hello["instance"])
        self.assertEqual(first.call("daemon.status")["pid"], first.hello["pid"])

    def test_many_that_start_at_once_meet_one_daemon(self):
        instances, errors = [], []

        def start():
            try:
                with ccd.Client(env=self.env) as client:
                    instances.append(client.hello["instance"])
            except ccd.CcdError as error:
                errors.append(error)

        threads = [threading.Thread(target=start) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(errors, [])
        self.assertEqual(len(set(instances)), 1)

    def test_a_program_that_gives_up_is_quoted(self):
        script = os.path.join(self.base, "ccd")
        with open(script, "w") as file:
            file.write("#!/bin/sh\necho 'the folder is not yours' >&2\nexit 7\n")
        os.chmod(script, 0o755)
        self.env["CCD_BIN"] = script
        begun = time.monotonic()
        with self.assertRaises(ccd.CcdError) as caught:
            self.client()
        self.assertEqual(caught.exception.kind, "start_failed")
        self.assertIn("the folder is not yours", caught.exception.message)
        self.assertLess(time.monotonic() - begun, 3)

    def test_no_program_names_the_three_places(self):
        self.env.pop("CCD_BIN")
        self.env["PATH"] = "/nonexistent"
        with self.assertRaises(ccd.CcdError) as caught:
            self.client()
        self.assertEqual((caught.exception.kind, len(caught.exception.data["tried"])), ("start_failed", 3))

    def test_a_read_survives_a_restart(self):
        client = self.client()
        instance = client.hello["instance"]
        with ccd.Client(env=self.env) as other:
            other.call("daemon.retire", reason="test", if_idle=False)
        deadline = time.monotonic() + 20
        while ccd._lock_holder(self.env) is not None and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertNotEqual(client.call("daemon.status")["instance"], instance)


class Calling(Daemon):
    def test_a_whole_round(self):
        client = self.client()
        client.call("workspace.open", root=self.root)
        client.call("graph.index", workspace=self.root)
        found = client.call("graph.search", workspace=self.root, query="helper")
        self.assertEqual([symbol["name"] for symbol in found["symbols"]], ["helper"])
        callers = client.call("graph.callers", workspace=self.root, symbol="helper")
        self.assertEqual([edge["from"]["name"] for edge in callers["edges"]], ["main"])

    def test_imports_and_ways(self):
        self.write("app.py", "from lib import main\n\n\ndef run():\n    return main()\n")
        client = self.client()
        client.call("graph.index", workspace=self.root)
        path = {name: os.path.join(self.root, name) for name in ("app.py", "lib.py")}
        imports = client.call("graph.imports", workspace=self.root, path=path["app.py"])
        self.assertEqual([edge["to"]["rel"] for edge in imports["edges"]], ["lib.py"])
        importers = client.call("graph.importers", workspace=self.root, path=path["lib.py"])
        self.assertEqual([edge["site"]["rel"] for edge in importers["edges"]], ["app.py"])
        way = client.call("graph.path", workspace=self.root, **{"from": "run", "to": "helper"})
        self.assertEqual([edge["to"]["name"] for edge in way["paths"][0]], ["main", "helper"])

    def test_errors_have_their_kind(self):
        client = self.client()
        for kind, code, method, params in (
            ("method_not_found", -32601, "graph.serach", {}),
            ("invalid_params", -32602, "graph.search", {"workspace": self.root, "query": "x", "colour": 1}),
            ("root_refused", 1105, "workspace.open", {"root": "/"}),
        ):
            with self.assertRaises(ccd.CcdError) as caught:
                client.call(method, **params)
            self.assertEqual((caught.exception.kind, caught.exception.code), (kind, code), caught.exception.data)
        self.assertTrue(client.call("daemon.status")["build"])

    def test_a_batch_answers_in_order_and_mixes_errors_in(self):
        status, wrong, listed = self.client().batch([("daemon.status", {}), ("no.such", {}), ("workspace.list", {})])
        self.assertIn("uptime_s", status)
        self.assertEqual(wrong.kind, "method_not_found")
        self.assertEqual(listed["workspaces"], [])

    def test_a_batch_that_is_too_long_fails_as_a_whole(self):
        client = self.client()
        with self.assertRaises(ccd.CcdError) as caught:
            client.batch([("daemon.status", {})] * 65)
        self.assertEqual(caught.exception.kind, "limit_exceeded")
        self.assertTrue(client.call("daemon.status"))


class Places(unittest.TestCase):
    def test_a_runtime_folder_of_a_long_path_has_the_socket_of_the_daemon(self):
        with open(os.path.join(HERE, "..", "socket-names.tsv"), encoding="utf-8") as table:
            rows = [row.rstrip("\n").split("\t") for row in table if not row.startswith("#")]
        for name, path in rows:
            if len(path) > 107:
                found = ccd.socket_path({"HOME": "/h", "CCD_RUNTIME_DIR": path})
                self.assertEqual(os.path.basename(found), name + "-ccd-1.sock", path)


class Subscribing(Daemon):
    def test_an_index_run_is_told(self):
        client = self.client()
        events = client.subscribe(["index.done"], timeout_s=20)
        client.call("graph.index", workspace=self.root)
        event = next(events)
        self.assertEqual(event["topic"], "index.done")
        self.assertEqual(event["data"]["root"], self.root)
        self.assertTrue(events.close())

    def test_waiting_ends_at_its_time(self):
        events = self.client().subscribe(["daemon.retiring"])
        begun = time.monotonic()
        self.assertIsNone(events.next(0.2))
        self.assertLess(time.monotonic() - begun, 5)


class Editing(Daemon):
    def test_a_write_is_seen_by_its_run_and_guarded_from_others(self):
        client = self.client()
        path = os.path.join(self.root, "lib.py")
        with self.assertRaises(ccd.CcdError) as caught:
            client.call("edit.write", path=path, workspace=self.root, run_id="a", content="x = 1\n")
        self.assertEqual(caught.exception.kind, "unseen_overwrite")
        version = caught.exception.data["version"]
        done = client.call("edit.write", path=path, workspace=self.root, run_id="a", content="x = 1\n", expect_version=version)
        self.assertTrue(done["applied"])
        self.assertEqual([(file["rel"], file["op"]) for file in done["files"]], [("lib.py", "update")])
        client.call("edit.write", path=path, workspace=self.root, run_id="a", content="x = 2\n")
        with open(path) as file:
            self.assertEqual(file.read(), "x = 2\n")


class CommandLine(Daemon):
    def test_status_never_starts(self):
        done = self.run_cli("status")
        self.assertEqual((done.returncode, done.stdout), (3, ""))
        self.assertIn("not running", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.env["CCD_RUNTIME_DIR"], "ccd-1.sock")))

    def test_call_prints_the_result(self):
        done = self.run_cli("call", "graph.outline", "path=%s" % os.path.join(self.root, "lib.py"), "depth=1",
                            "workspace=%s" % self.root)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual([symbol["name"] for symbol in json.loads(done.stdout)["symbols"]], ["helper", "main"])
        self.assertEqual(self.run_cli("call", "no.such").returncode, 2)
        self.assertEqual(self.run_cli("call", "graph.search", "query").returncode, 2)
        self.assertEqual(self.run_cli("status").returncode, 0)


if __name__ == "__main__":
    unittest.main()
