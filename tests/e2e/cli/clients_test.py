"""quire chat --url and quire complete, against quire serve and against servers that misbehave."""

import contextlib
import http.server
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import harness
from harness import CliTest

GREEDY = ["--temperature", "0", "--max-tokens", "8"]


@contextlib.contextmanager
def quire_server(*flags):
    """The program's own server with the tiny model; gives its address."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen([harness.BINARY, "serve", str(harness.TINY), "--port", "0",
                                    "--served-model-name", "tiny", *map(str, flags)], stdout=log, stderr=log,
                                   env=harness.environment())
        try:
            yield address_in(log, process)
        finally:
            process.kill()
            process.wait()


def address_in(log, process):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        log.seek(0)
        found = re.search(rb"https?://127\.0\.0\.1:\d+", log.read())
        if found:
            return found.group().decode()
        time.sleep(0.02)
    log.seek(0)
    raise AssertionError(log.read())


class Stub(http.server.BaseHTTPRequestHandler):
    """Answers what the test has put into `answers`, by path; a callable is given the handler."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def do_GET(self):
        self.answer()

    def do_POST(self):
        self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        self.answer()

    def answer(self):
        self.server.headers.append(dict(self.headers))
        answer = self.server.answers.get(self.path, (404, b'{"error": {"message": "no route"}}'))
        if callable(answer):
            return answer(self)
        status, body = answer
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def stream(self, *events, chunk=None):
        """Begins a stream of the events, in pieces of `chunk` bytes."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        data = b"".join(b"data: " + e.encode() + b"\n\n" for e in events)
        for at in range(0, len(data), chunk or len(data)):
            self.wfile.write(data[at:at + (chunk or len(data))])
            self.wfile.flush()
        self.close_connection = True


@contextlib.contextmanager
def stub(answers):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stub)
    server.daemon_threads = True
    server.answers, server.bodies, server.headers = answers, [], []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        server.url = f"http://127.0.0.1:{server.server_port}"
        yield server
    finally:
        server.shutdown()
        server.server_close()


def delta(**members):
    return json.dumps({"choices": [{"index": 0, "delta": members}]})


STOP = json.dumps({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
USAGE = json.dumps({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}})


@harness.needs_tiny
class OwnServer(CliTest):
    def test_answers_are_those_of_the_engine_itself(self):
        with quire_server() as url:
            local = self.ok("chat", harness.TINY, "-p", "hi", *GREEDY)
            remote = self.ok("chat", "--url", url, "-p", "hi", *GREEDY)
            self.assertEqual(remote.out, local.out)
            self.assertIn("answer: 8 tokens", remote.err)
            local = self.ok("generate", harness.TINY, "-p", "once", *GREEDY)
            remote = self.ok("complete", "--url", url + "/v1/", "-p", "once", *GREEDY, "-q")
            self.assertEqual((remote.out, remote.err), (local.out, ""))
            lines = self.ok("complete", "tiny", "--url", url, *GREEDY, stdin="once\n\nonce\n")
            self.assertEqual(lines.out, (local.out + "\n") * 2)

    def test_a_conversation_keeps_its_commands(self):
        path = self.folder / "chat.json"
        with quire_server() as url:
            run = self.ok("chat", "--url", url, *GREEDY,
                          stdin=f"/system be kind\n/params max_tokens 2\none\n/regen\n/save {path}\n")
        messages = json.loads(path.read_text())["messages"]
        self.assertEqual([m["role"] for m in messages], ["system", "user", "assistant"])
        self.assertIn("answer: 2 tokens", run.err)

    def test_a_key_is_sent_and_asked_for(self):
        with quire_server("--api-key", "sesame") as url:
            self.refused("chat", "--url", url, "-p", "hi", says="--api-key")
            self.ok("chat", "--url", url, "-p", "hi", *GREEDY, "--api-key", "sesame")
            env = harness.environment(QUIRE_API_KEY="sesame")
            self.ok("complete", "--url", url, "-p", "hi", *GREEDY, env=env)

    def test_what_the_server_refuses_is_told_in_its_words(self):
        with quire_server() as url:
            self.refused("complete", "other", "--url", url, "-p", "hi", says="other")
            run = self.ok("chat", "--url", url, "--ignore-eos", *GREEDY,
                          stdin=f"{'license ' * 600}\nhi\n")
            self.assertIn("answers 400", run.err)
            self.assertIn("answer: 8 tokens", run.err)  # the conversation goes on

    def test_ctrl_c_ends_the_request_at_the_server(self):
        with quire_server(*harness.LONG[:4]) as url:
            process = subprocess.Popen([harness.BINARY, "complete", "--url", url, "-p", "hi",
                                        "--ignore-eos", "--max-tokens", "150000"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=harness.environment())
            os.read(process.stdout.fileno(), 10)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130)
            # The engine is free again: another answer comes at once.
            self.ok("complete", "--url", url, "-p", "hi", *GREEDY)


@harness.needs_tiny
@unittest.skipUnless(shutil.which("openssl"), "the openssl command is absent")
class Tls(CliTest):
    def test_only_a_trusted_server_of_that_name_is_talked_to(self):
        key, cert = self.folder / "key.pem", self.folder / "cert.pem"
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key,
                        "-out", cert, "-days", "2", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost"], check=True, capture_output=True)
        with quire_server("--ssl-keyfile", key, "--ssl-certfile", cert) as url:
            named = url.replace("http:", "https:").replace("127.0.0.1", "localhost")
            ask = ["complete", "tiny", "-p", "hi", *GREEDY, "--url"]
            trust = ["--ca-certs", cert]
            self.ok(*ask, named, *trust)
            self.refused(*ask, named, code=1, says="certificate verify failed")
            self.refused(*ask, named.replace("localhost", "127.0.0.1"), *trust, code=1,
                         says="certificate verify failed")
            self.refused(*ask, named, "--ca-certs", self.folder / "no", says="ca-certs")
            self.refused(*ask, url.replace("https:", "http:"), code=1, says="closed the connection")


class StubServer(CliTest):
    def chat(self, handler, *args, **kwargs):
        with stub({"/v1/chat/completions": handler}) as server:
            run = harness.Run(["chat", "m", "--url", server.url, "-p", "hi", *args], **kwargs)
        self.bodies, self.headers = server.bodies, server.headers
        return run

    def test_the_request_holds_what_was_said_and_no_more(self):
        run = self.chat(lambda h: h.stream(delta(content="ok"), STOP, "[DONE]"), "--top-k", "5",
                        "--system", "s", "--chat-template-kwargs.think", "false")
        self.assertEqual((run.code, run.out), (0, "ok\n"))
        self.assertEqual(self.bodies[0], {
            "model": "m", "top_k": 5, "stream": True, "stream_options": {"include_usage": True},
            "chat_template_kwargs": {"think": False},
            "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}]})
        self.assertNotIn("Authorization", self.headers[0])

    def test_events_may_be_cut_anywhere(self):
        run = self.chat(lambda h: h.stream(delta(content="größ"), delta(content="er"), STOP, USAGE,
                                           "[DONE]", chunk=3))
        self.assertEqual(run.out, "größer\n")
        self.assertIn("prompt: 3 tokens; answer: 2 tokens", run.err)

    def test_reasoning_is_not_the_answer_and_calls_are_shown(self):
        call = {"index": 0, "id": "x", "function": {"name": "f", "arguments": "{\"a\""}}
        rest = {"index": 0, "function": {"arguments": ": 1}"}}
        run = self.chat(lambda h: h.stream(delta(reasoning="hm"), delta(reasoning_content="hm"),
                                           delta(tool_calls=[call]), delta(tool_calls=[rest]), STOP))
        self.assertEqual(run.out, "f({\"a\": 1})\n\n")

    def test_failures_say_what_happened(self):
        error = json.dumps({"error": {"message": "the \x1b[2J engine died"}})
        cases = [
            (lambda h: h.stream(delta(content="a"), error), 1, "engine died"),
            (lambda h: h.stream(delta(content="a")), 1, "before the answer did"),
            (lambda h: h.stream("nonsense"), 1, "no JSON"),
            ((503, b'{"error": {"message": "loading"}}'), 1, "answers 503: loading"),
            ((404, b"<html>"), 2, "answers 404: <html>"),
            ((302, b""), 1, "answers 302"),
        ]
        for handler, code, words in cases:
            run = self.chat(handler)
            self.assertEqual(run.code, code, words)
            self.assertIn(words, run.err)
            self.assertNotIn("\x1b", run.err)

    def test_the_first_model_is_taken(self):
        models = json.dumps({"data": [{"id": "first"}, {"id": "second"}]}).encode()
        answer = lambda h: h.stream(delta(content="ok"), STOP)  # noqa: E731
        with stub({"/v1/models": (200, models), "/v1/chat/completions": answer}) as server:
            self.ok("chat", "--url", server.url, "-p", "hi")
        self.assertEqual(server.bodies[0]["model"], "first")
        with stub({"/v1/models": (200, b'{"data": []}')}) as server:
            self.refused("chat", "--url", server.url, "-p", "hi", code=1, says="names no model")

    def test_addresses_that_are_none_are_refused(self):
        for url in ("ftp://x", "http://", "http://a:b", "http://u@h", ""):
            self.refused("chat", "--url", url, "-p", "hi", says="--url")
            self.refused("complete", "--url", url, "-p", "hi", says="--url")
        self.refused("chat", "--url", "http://127.0.0.1:9", "-p", "hi", code=1, says="refused")
        self.refused("chat", "--url", "x:1", "--api-key", "a\nb", says="API key")
        self.refused("chat", "--url", "x:1", "--max-num-seqs", "2", says="--max-num-seqs")

    def test_prompts_have_a_bound(self):
        self.refused("complete", "--url", "x:1", "-f", "/dev/zero", says="longer than 64 MiB")
        self.refused("complete", "--url", "x:1", "-p", "a", "-f", "b", says="more than one prompt")


if __name__ == "__main__":
    harness.main()
