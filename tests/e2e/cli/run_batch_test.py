"""quire run-batch: files of requests, answered whatever happens on the way."""

import json
import signal
import subprocess
import time

import harness
from harness import CliTest

URLS = ["/v1/chat/completions", "/v1/completions", "/v1/responses"]


def request(custom_id, url=URLS[1], **body):
    body = {"model": "tiny", **body}
    return json.dumps({"custom_id": custom_id, "method": "POST", "url": url, "body": body}) + "\n"


def completion(custom_id, **body):
    return request(custom_id, prompt="hi", **{"max_tokens": 4, "temperature": 0, **body})


@harness.needs_tiny
class RunBatch(CliTest):
    def setUp(self):
        super().setUp()
        self.out = self.folder / "out.jsonl"

    def args(self, lines):
        return ["run-batch", harness.TINY, "--served-model-name", "tiny", "-i",
                self.file("in.jsonl", lines), "-o", self.out]

    def answers(self):
        rows = [json.loads(line) for line in self.out.read_text().splitlines()]
        return {row["custom_id"]: row for row in rows}

    def test_each_url_is_answered_as_by_the_server(self):
        chat = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 4, "temperature": 0}
        run = self.ok(*self.args(
            request("chat", URLS[0], **chat) + completion("text") +
            request("response", URLS[2], input="hi", max_output_tokens=4)))
        self.assertIn("3 requests answered, 0 of them with an error", run.err)
        answers = self.answers()
        self.assertEqual({a["response"]["status_code"] for a in answers.values()}, {200})
        body = {name: answer["response"]["body"] for name, answer in answers.items()}
        self.assertEqual(body["chat"]["object"], "chat.completion")
        self.assertEqual(body["response"]["object"], "response")
        text = self.ok("generate", harness.TINY, "-p", "hi", "--max-tokens", "4", "--temperature",
                       "0").out
        self.assertEqual(body["text"]["choices"][0]["text"], text)

    def test_errors_stay_with_their_lines(self):
        run = self.ok(*self.args("no json\n" + completion("a") + completion("b", max_tokens=-1) +
                                 completion("c", model="other") + request("d", "/v1/files") +
                                 completion("e", stream=True) + "\n"))
        self.assertIn("6 requests answered, 5 of them with an error", run.err)
        answers = self.answers()
        self.assertIsNone(answers["a"]["error"])
        self.assertIn("line 1, column", answers[None]["error"]["message"])
        self.assertIn("max_tokens", answers["b"]["error"]["message"])
        self.assertEqual(answers["b"]["response"]["status_code"], 400)
        self.assertEqual(answers["c"]["response"]["status_code"], 404)
        self.assertIn("line 5: url", answers["d"]["error"]["message"])
        self.assertIn("stream", answers["e"]["error"]["message"])

    def test_finished_lines_are_not_done_again(self):
        lines = completion("a") + "no json\n" + completion("b")
        self.ok(*self.args(lines))
        before = self.out.read_text()
        run = self.ok(*self.args(lines + completion("c")))
        self.assertIn("1 request answered", run.err)
        self.assertIn("3 done before", run.err)
        self.assertTrue(self.out.read_text().startswith(before))
        self.assertEqual(len(self.out.read_text().splitlines()), 4)

    def test_it_goes_on_after_a_kill(self):
        lines = "".join(completion(f"r{i}", max_tokens=100, ignore_eos=True) for i in range(40))
        args = [harness.BINARY, *map(str, self.args(lines)), "--max-num-seqs", "2"]
        for end in (signal.SIGKILL, signal.SIGINT):
            process = subprocess.Popen(args, env=harness.environment(), stderr=subprocess.PIPE)
            size = self.out.stat().st_size if self.out.exists() else 0
            deadline = time.monotonic() + 60
            while time.monotonic() < deadline and process.poll() is None:
                if self.out.exists() and self.out.stat().st_size > size:
                    break
                time.sleep(0.005)
            process.send_signal(end)
            process.communicate(timeout=60)
            if end == signal.SIGINT:
                self.assertIn(process.returncode, (0, 130))
        with self.out.open("a") as file:
            file.write('{"custom_id": "r39", "resp')  # as a cut-off write leaves it
        self.ok(*args[1:])
        ids = [json.loads(line)["custom_id"] for line in self.out.read_text().splitlines()]
        self.assertEqual(sorted(ids), sorted(f"r{i}" for i in range(40)))

    def test_what_cannot_be_used_is_refused_before_the_model_is_loaded(self):
        self.refused("run-batch", harness.TINY, says="--input-file")
        self.refused("run-batch", harness.TINY, "-i", "-", says="--output-file")
        self.refused("run-batch", harness.TINY, "-i", "-", "-o", "-", says="must be a file")
        self.refused("run-batch", harness.TINY, "-i", "/nonexistent", "-o", self.out,
                     says="No such file")
        self.assertFalse(self.out.exists())
        notes = self.file("notes", "my notes\n")
        self.refused("run-batch", harness.TINY, "-i", notes, "-o", notes, says="no answer of a batch")
        self.assertEqual(notes.read_text(), "my notes\n")

    def test_input_may_come_from_a_pipe(self):
        self.ok("run-batch", harness.TINY, "--served-model-name", "tiny", "-i", "-", "-o", self.out,
                "-q", stdin=completion("a"))
        self.assertEqual(list(self.answers()), ["a"])


if __name__ == "__main__":
    harness.main()
