"""A `quire serve` with the default model on a free port, for the client tests."""

import json
import os
import re
import subprocess
import time
import unittest
import urllib.error
import urllib.request

QUIRE = os.environ["QUIRE"]


class Served:
    """One server; stops when the program ends."""

    def __init__(self, *flags):
        self.process = subprocess.Popen(
            [QUIRE, "serve", "--port", "0", *flags],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = []
        self.url = None
        deadline = time.monotonic() + 60
        for line in self.process.stdout:
            self.lines.append(line)
            match = re.search(r"serving (\S+) at (http://\S+)", line)
            if match:
                self.model, self.url = match[1], match[2]
                break
            if time.monotonic() > deadline:
                break
        if self.url is None:
            self.stop()
            raise RuntimeError("the server did not start:\n" + "".join(self.lines))

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()

    def get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=60) as reply:
            return reply.read()

    def post(self, path, body, headers=()):
        """Status and body of a reply, whatever its status."""
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(
            self.url + path, data=data,
            headers={"Content-Type": "application/json", **dict(headers)})
        try:
            with urllib.request.urlopen(request, timeout=60) as reply:
                return reply.status, reply.read(), dict(reply.headers)
        except urllib.error.HTTPError as error:
            return error.code, error.read(), dict(error.headers)


class ServedTest(unittest.TestCase):
    """Tests of one server; what it had under way must be gone at the end."""

    flags = ("--max-model-len", "2048")

    @classmethod
    def setUpClass(cls):
        cls.served = Served(*cls.flags)
        cls.addClassCleanup(cls.served.stop)

    def tearDown(self):
        self.assertIsNone(self.served.process.poll(), "the server ended")

    def constrains(self):
        """Skips a test of an engine that does not constrain answers."""
        status, body, _ = self.served.post(
            "/v1/completions",
            {"prompt": "a", "max_tokens": 1, "structured_outputs": {"choice": ["a"]}})
        if status == 501:
            self.skipTest("this engine does not constrain answers")
        self.assertEqual(status, 200, body)
