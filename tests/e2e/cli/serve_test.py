"""quire serve: from the command line to the last signal, as clients and service managers see it."""

import http.client
import json
import os
import pathlib
import re
import select
import signal
import socket
import ssl
import subprocess
import threading
import time
import unittest

import harness
from harness import CliTest

# A long stream on the tiny model.
LONG = {"prompt": [1, 2, 3], "max_tokens": 7000, "ignore_eos": True, "stream": True,
        "temperature": 0}
FLAGS = ["--hf-overrides.max_position_embeddings", "8192", "--max-model-len", "8192"]


class Served:
    """A server that is ready; killed at the latest when the test is over."""

    def __init__(self, test, *args, model=harness.TINY, **env):
        self.test = test
        self.process = subprocess.Popen(
            [harness.BINARY, "serve", str(model), "--port", "0", *FLAGS, *map(str, args)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=harness.environment(**env))
        test.addCleanup(self.close)
        self.err = b""
        self.address = ""
        deadline = time.monotonic() + 60
        while b"\ncurl " not in b"\n" + self.err or not self.err.endswith(b"\n"):
            if time.monotonic() > deadline or self.process.poll() is not None:
                test.fail(f"not ready: {self.err}")
            self.read_some(0.2)
        self.address = re.search(rb"quire: serving .* at (\S+)\n", self.err)[1].decode()
        self.curl = re.search(rb"^curl .*$", self.err, re.M)[0].decode()
        port = re.search(r":(\d+)$", self.address)
        self.port = int(port[1]) if port else 0

    def read_some(self, patience):
        if select.select([self.process.stderr], [], [], patience)[0]:
            self.err += os.read(self.process.stderr.fileno(), 65536)

    def send(self, number):
        self.process.send_signal(number)

    def until(self, condition):
        """Waits until `condition()` holds."""
        deadline = time.monotonic() + 60
        while not condition():
            self.test.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def drain(self):
        """Asks it to end, and waits until it has understood."""
        self.send(signal.SIGTERM)
        self.until(lambda: self.ask("GET", "/health")[0] == 503)

    def wait(self, patience=60):
        while self.process.poll() is None and patience > 0:
            self.read_some(0.1)
            patience -= 0.1
        return self.process.wait(1)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process.stderr.close()

    def connection(self):
        return http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)

    def ask(self, method, path, body=None, headers=None):
        connection = self.connection()
        connection.request(method, path, None if body is None else json.dumps(body), headers or {})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, dict(answer.getheaders())

    def stream(self):
        """An open stream of which some events have come, and its text so far."""
        connection = self.connection()
        connection.request("POST", "/v1/completions", json.dumps(LONG))
        answer = connection.getresponse()
        text = b""
        while text.count(b"data: ") < 10:
            text += answer.read1(4096)
        return answer, text


@unittest.skipUnless(harness.TINY.is_dir(), f"{harness.TINY} is absent")
class Serve(CliTest):
    def test_the_printed_command_works_when_pasted(self):
        server = Served(self)
        self.assertEqual(server.ask("GET", "/health")[0], 200)
        done = subprocess.run(server.curl.replace("/v1/chat/completions", "/tokenize").replace(
            '"messages":[{"role":"user","content":"What is the capital of France?"}]',
            '"prompt":"a"'), shell=True, capture_output=True, check=True, timeout=60)
        self.assertIn("error" if b"error" in done.stdout else "tokens", done.stdout.decode())

    def test_a_stream_finishes_during_the_drain_and_new_work_is_refused(self):
        server = Served(self, "--shutdown-timeout", "60")
        answer, text = server.stream()
        server.drain()
        for method, path in (("GET", "/health"), ("POST", "/v1/completions")):
            status, body, headers = server.ask(method, path, {"prompt": [1]})
            self.assertEqual(status, 503, path)
            self.assertEqual(json.loads(body)["error"]["code"], 503)
            self.assertIn("Retry-After", headers)
        text += answer.read()
        self.assertIn(b'"finish_reason":"length"', text)
        self.assertTrue(text.endswith(b"data: [DONE]\n\n"), text[-200:])
        self.assertEqual(server.wait(), 0)

    def test_without_time_to_drain_streams_end_with_a_reason(self):
        for wait, num_signals in (("0", 1), ("60", 2)):
            server = Served(self, "--shutdown-timeout", wait)
            answer, text = server.stream()
            if num_signals > 1:
                server.drain()
            server.send(signal.SIGTERM)
            text += answer.read()
            self.assertIn(b'"error":{"message":', text[-300:])
            self.assertEqual(server.wait(), 0)

    def test_a_client_that_leaves_frees_its_place(self):
        server = Served(self)
        for _ in range(3):
            answer, _ = server.stream()
            answer.close()
        server.until(lambda: server.ask("GET", "/load")[1] == '{"server_load":0}')

    def test_the_beginning_of_a_text_stands_once_however_it_comes(self):
        # The model's template writes it, and its tokenizer is set to write it too.
        for path in harness.TINY.iterdir():
            self.file(path.name, path.read_bytes())
        tokenizer = json.loads((harness.TINY / "tokenizer.json").read_text())
        begin = [entry["id"] for entry in tokenizer["added_tokens"] if entry["content"] == "<s>"]
        tokenizer["post_processor"] = {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}},
                       {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}},
                     {"Sequence": {"id": "B", "type_id": 1}}],
            "special_tokens": {"<s>": {"id": "<s>", "ids": begin, "tokens": ["<s>"]}}}
        self.file("tokenizer.json", json.dumps(tokenizer))
        self.assertEqual(len(begin), 1)
        messages = [{"role": "user", "content": "hi"}]
        text = self.ok("template", self.folder, "-p", "hi").out
        offline = self.ok("tokenize", self.folder, text, "--no-add-special-tokens",
                          "--json").json()["ids"]
        told = self.ok("chat", self.folder, "-p", "hi", "--max-tokens", "1").err
        self.assertIn(f"{len(offline)} prompt tokens", told)
        server = Served(self, model=self.folder)

        def post(path, **body):
            status, reply, _ = server.ask("POST", path, body)
            self.assertEqual(status, 200, reply)
            return json.loads(reply)

        more = {"max_tokens": 1, "return_token_ids": True}
        chat = post("/v1/chat/completions", messages=messages, **more)["prompt_token_ids"]
        raw = post("/v1/completions", prompt="hi", **more)["choices"][0]["prompt_token_ids"]
        written = post("/v1/completions", prompt=text, add_special_tokens=False,
                       **more)["choices"][0]["prompt_token_ids"]
        self.assertEqual(chat, offline)
        self.assertEqual(written, offline)
        self.assertEqual(post("/tokenize", messages=messages)["tokens"], offline)
        self.assertEqual(post("/v1/chat/completions/render", messages=messages)["token_ids"],
                         offline)
        self.assertEqual(post("/tokenize", prompt="hi")["tokens"], raw)
        self.assertEqual(self.ok("tokenize", self.folder, "hi", "--json").json()["ids"], raw)
        for ids in (chat, raw, written):
            self.assertEqual(ids[:1], begin)
            self.assertNotEqual(ids[1:2], begin)

    def test_a_constraint_that_leaves_no_token_ends_with_an_error_that_names_it(self):
        server = Served(self)

        def ids_of(text):
            return self.ok("tokenize", harness.TINY, text, "--no-add-special-tokens",
                           "--json").json()["ids"]

        dead_ends = [
            ("structured_outputs", {"structured_outputs": {"choice": ["0"]}, "bad_words": ["0"]}),
            ("guided_regex", {"guided_regex": "0", "allowed_token_ids": ids_of("1")}),
            ("response_format", {"response_format": {"type": "json_object"},
                                 "allowed_token_ids": ids_of("1")})]
        for field, more in dead_ends:
            for path, prompt in (
                    ("/v1/completions", {"prompt": "a"}),
                    ("/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}]})):
                for stream in (False, True):
                    with self.subTest(field=field, path=path, stream=stream):
                        status, text, _ = server.ask(
                            "POST", path, {**prompt, **more, "max_tokens": 9, "stream": stream})
                        if text.startswith("data: "):
                            text = [line[6:] for line in text.splitlines()
                                    if line.startswith("data: {")][-1]
                        else:
                            self.assertEqual(status, 400, text)
                        error = json.loads(text)["error"]
                        self.assertEqual(error["code"], 400)
                        self.assertTrue(error["param"].startswith(field), error)
                        self.assertIn("leaves no token to choose", error["message"])
        status, text, _ = server.ask("POST", "/v1/completions", {"prompt": "a", "max_tokens": 2})
        self.assertEqual(status, 200, text)

    def test_keys_come_from_flags_files_and_the_environment_and_are_not_shown(self):
        keys = self.file("keys", "filekey\n\n  spaced \n")
        server = Served(self, "--api-key", "flagkey", "--api-key-file", keys,
                        QUIRE_API_KEY="ourkey", VLLM_API_KEY="theirkey")
        for key in ("flagkey", "filekey", "spaced", "ourkey", "theirkey"):
            status, _, _ = server.ask("GET", "/v1/models",
                                      headers={"Authorization": f"Bearer {key}"})
            self.assertEqual(status, 200, key)
        for path in ("/v1/models", "/metrics", "/version", "/load", "/openapi.json"):
            self.assertEqual(server.ask("GET", path)[0], 401, path)
        self.assertEqual(server.ask("POST", "/tokenize", {"prompt": "a"})[0], 401)
        self.assertEqual(server.ask("GET", "/health")[0], 200)
        server.send(signal.SIGTERM)
        self.assertEqual(server.wait(), 0)
        for key in (b"flagkey", b"filekey", b"ourkey", b"theirkey"):
            self.assertNotIn(key, server.err)
        self.assertIn("$QUIRE_API_KEY", server.curl)

    def test_the_admin_pauses_sleeps_and_resets(self):
        server = Served(self, "--enable-admin", QUIRE_ADMIN_KEY="admin")
        admin = {"Authorization": "Bearer admin"}
        self.assertEqual(server.ask("POST", "/sleep")[0], 401)
        self.assertEqual(server.ask("POST", "/sleep", headers=admin)[0], 200)
        self.assertEqual(server.ask("GET", "/is_sleeping", headers=admin)[1],
                         '{"is_sleeping":true}')
        self.assertEqual(server.ask("GET", "/health")[0], 503)
        prompt = {"prompt": [1, 2], "max_tokens": 2}
        self.assertEqual(server.ask("POST", "/v1/completions", prompt)[0], 503)
        self.assertIn('sleep_state="weights_offloaded"} 1.0', server.ask("GET", "/metrics")[1])
        self.assertEqual(server.ask("POST", "/wake_up", headers=admin)[0], 200)
        self.assertEqual(server.ask("POST", "/v1/completions", prompt)[0], 200)
        self.assertIn('sleep_state="awake"} 1.0', server.ask("GET", "/metrics")[1])
        self.assertEqual(server.ask("POST", "/reset_prefix_cache", headers=admin)[0], 200)
        self.assertEqual(server.ask("GET", "/health")[0], 200)

    def test_a_service_manager_hears_when_it_is_ready_and_when_it_ends(self):
        path = str(self.folder / "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(path)
            manager.settimeout(30)
            server = Served(self, NOTIFY_SOCKET=path)
            self.assertTrue(manager.recv(1000).startswith(b"READY=1\n"))
            server.send(signal.SIGTERM)
            self.assertEqual(manager.recv(1000), b"STOPPING=1")
            self.assertEqual(server.wait(), 0)

    def test_a_hangup_brings_the_new_certificate(self):
        key, cert = self.folder / "key.pem", self.folder / "cert.pem"

        def issue(name):
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                            "ec_paramgen_curve:P-256", "-nodes", "-days", "1", "-subj",
                            f"/CN={name}", "-keyout", key, "-out", cert], check=True,
                           capture_output=True)

        def serial():
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            with socket.create_connection(("127.0.0.1", server.port), 30) as plain:
                with context.wrap_socket(plain) as secure:
                    return secure.getpeercert(True)

        try:
            issue("one")
        except (OSError, subprocess.CalledProcessError):
            self.skipTest("openssl is absent")
        server = Served(self, "--ssl-keyfile", key, "--ssl-certfile", cert)
        self.assertTrue(server.address.startswith("https://"))
        first = serial()
        issue("two")
        server.send(signal.SIGHUP)
        server.until(lambda: serial() != first)

    def test_an_idle_server_sleeps(self):
        server = Served(self)
        server.ask("GET", "/health")

        def wakeups():
            tasks = pathlib.Path(f"/proc/{server.process.pid}/task")
            return sum(int(re.search(r"^voluntary_ctxt_switches:\s+(\d+)", text, re.M)[1])
                       for text in ((task / "status").read_text() for task in tasks.iterdir()))

        time.sleep(0.5)
        before = wakeups()
        time.sleep(2)
        # Whoever polls wakes many times a second; the line of the log comes every ten.
        self.assertLessEqual(wakeups() - before, 6)

    def test_what_cannot_be_used_is_refused_in_one_sentence(self):
        self.refused("serve", "--tensor-parallel-size", "2", says="one process")
        self.refused("serve", "--prot", "1", says="--port")
        self.refused("serve", "--uds", self.folder / ("x" * 200), says="--uds")
        self.refused("serve", "--config", self.file("a.yaml", "a: &x 1\n"), says="anchors")
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            self.refused("serve", harness.TINY, "--port", other.getsockname()[1],
                         says="cannot listen")


if __name__ == "__main__":
    harness.main()
