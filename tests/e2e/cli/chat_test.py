"""quire chat, with questions from a flag, from lines and from a person at a terminal."""

import json
import os
import pty
import re
import select
import signal
import stat
import subprocess
import time

import harness
from harness import CliTest

GREEDY = ["--temperature", "0", "--max-tokens", "8"]


@harness.needs_tiny
class Lines(CliTest):
    def chat(self, stdin, *args):
        return self.ok("chat", harness.TINY, *GREEDY, *args, stdin=stdin)

    def saved(self, path):
        return json.loads(path.read_text())["messages"]

    def test_one_question_is_answered(self):
        run = self.ok("chat", harness.TINY, "-p", "hi", *GREEDY)
        prompt = self.ok("template", harness.TINY, "-p", "hi").out
        expected = self.ok("generate", harness.TINY, "-p", prompt, "--no-add-special-tokens",
                           *GREEDY).out
        self.assertEqual(run.out, expected + "\n")
        self.assertIn("tokens/s", run.err)
        self.assertEqual(self.ok("chat", harness.TINY, "-p", "hi", *GREEDY, "-q").err, "")

    def test_each_line_is_a_message_of_one_conversation(self):
        path = self.folder / "chat.json"
        run = self.chat(f"one\n\ntwo\n/save {path}\n")
        messages = self.saved(path)
        self.assertEqual([m["role"] for m in messages],
                         ["user", "assistant", "user", "assistant"])
        self.assertEqual([m["content"] for m in messages[::2]], ["one", "two"])
        self.assertEqual(run.out, "".join(m["content"] + "\n" for m in messages[1::2]))

    def test_the_system_message_is_set_and_replaced(self):
        path = self.folder / "chat.json"
        self.chat(f"/system be brief\n/system be kind\nhi\n/save {path}\n", "--system", "x")
        self.assertEqual(self.saved(path)[0], {"role": "system", "content": "be kind"})
        self.assertEqual([m["role"] for m in self.saved(path)], ["system", "user", "assistant"])

    def test_a_saved_conversation_is_taken_up(self):
        path = self.folder / "chat.json"
        again = self.folder / "again.json"
        self.chat(f"one\n/save {path}\n")
        self.chat(f"/load {path}\ntwo\n/save {again}\n")
        self.assertEqual(self.saved(again)[:2], self.saved(path))
        self.assertEqual(len(self.saved(again)), 4)

    def test_an_answer_is_given_again(self):
        path = self.folder / "chat.json"
        run = self.chat(f"one\n/regen\n/save {path}\n")
        self.assertEqual(len(self.saved(path)), 2)
        answers = run.out.split("\n")
        self.assertEqual(run.out, (self.saved(path)[1]["content"] + "\n") * 2, answers)

    def test_parameters_are_shown_and_set(self):
        run = self.chat("/params max_tokens 2\n/params max-tokens\n/params\nhi\n/params top_k x\n"
                        "/params temperature 9\n/params nonsense 1\n/params n 2\n")
        self.assertIn("max_tokens 2", run.err)
        self.assertIn("2 generated tokens", run.err)
        for word in ("top_k", "temperature: must be", "no such", "n: must be 1"):
            self.assertIn(word, run.err)

    def test_commands_that_cannot_be_done_keep_the_chat(self):
        run = self.chat("/lod x\n/load\n/load /nonexistent\n/save\n/save /nonexistent/x\n/regen\n"
                        "/help\nhi\n")
        for word in ("did you mean /load?", "a file name must follow", "No such file",
                     "no question yet", "/params"):
            self.assertIn(word, run.err)
        self.assertIn("tokens/s", run.err)

    def test_files_that_hold_no_conversation_change_nothing(self):
        good = self.folder / "good.json"
        for content in ("", "{", "5", '{"messages": 5}', '{"messages": [5]}',
                        '{"messages": [{"content": "x"}]}', "[" * 100000):
            bad = self.file("bad.json", content)
            self.chat(f"one\n/load {bad}\n/save {good}\n")
            self.assertEqual(len(self.saved(good)), 2, content[:40])

    def test_two_slashes_begin_a_message(self):
        path = self.folder / "chat.json"
        self.chat(f"//etc/passwd\n/save {path}\n")
        self.assertEqual(self.saved(path)[0]["content"], "/etc/passwd")

    def test_exit_ends_it(self):
        self.assertEqual(self.chat("/exit\nhi\n").out, "")

    def test_a_full_context_loses_nothing(self):
        path = self.folder / "chat.json"
        run = self.chat(f"one\n{'license ' * 600}\n/save {path}\nthree\n/save {path}\n")
        self.assertIn("the context is full", run.err)
        self.assertEqual([m["content"] for m in self.saved(path)[::2]], ["one", "three"])
        self.refused("chat", harness.TINY, "-p", "license " * 600, says="the context is full")

    def test_an_answer_may_fill_the_context(self):
        run = self.ok("chat", harness.TINY, "-p", "hi", "--temperature", "0", "--ignore-eos")
        self.assertIn("the context is full", run.err)

    def test_the_beginning_of_a_text_stands_once(self):
        # The template writes it; the tokenizer must not write it again.
        run = self.ok("chat", harness.TINY, "-p", "hi", *GREEDY)
        ids = self.ok("tokenize", harness.TINY, "<s>user\nhi<|end|>\n<s>assistant\n",
                      "--no-add-special-tokens", "--json").json()["ids"]
        self.assertIn(f"{len(ids)} prompt tokens", run.err)

    def test_what_cannot_chat_is_refused(self):
        self.refused("chat", harness.DATA / "models-tiny" / "llama-mha-tied-f32", "-p", "a",
                     says="tokenizer")
        for name in ("config.json", "model.safetensors", "tokenizer.json"):
            self.file(name, (harness.TINY / name).read_bytes())
        self.refused("chat", self.folder, "-p", "a", says="chat template")
        refusing = self.file("no.jinja", "{{ raise_exception('users must be polite') }}")
        self.refused("chat", self.folder, "-p", "a", "--chat-template", refusing,
                     says="users must be polite")

    def test_ctrl_c_at_one_question_ends_it_with_130(self):
        process = subprocess.Popen([harness.BINARY, "chat", str(harness.TINY), "-p", "hi",
                                    *harness.LONG], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   env=harness.environment())
        os.read(process.stdout.fileno(), 10)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)


class Terminal:
    """The program with a terminal of its own."""

    def __init__(self, args, env):
        self.seen = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execve(harness.BINARY, [harness.BINARY, *args], env)

    def send(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, pattern, timeout=60):
        """Reads until what came since the last call matches."""
        end = time.monotonic() + timeout
        while not re.search(pattern, self.seen):
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.fd], [], [], left)[0]:
                raise AssertionError(f"{pattern!r} did not come: {self.seen!r}")
            try:
                chunk = os.read(self.fd, 65536)
            except OSError:
                chunk = b""
            if not chunk:
                raise AssertionError(f"ended before {pattern!r}: {self.seen!r}")
            self.seen += chunk.decode("utf-8", "replace")
        found = re.search(pattern, self.seen)
        before, self.seen = self.seen[:found.end()], self.seen[found.end():]
        return before

    def exit_code(self):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    os.read(self.fd, 65536)
                except OSError:
                    pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError("it did not end")


@harness.needs_tiny
class AtATerminal(CliTest):
    def open(self, *args):
        env = harness.environment(XDG_STATE_HOME=str(self.folder / "state"))
        terminal = Terminal(["chat", str(harness.TINY), *args], env)
        terminal.wait_for("> ")
        return terminal

    def history(self):
        return self.folder / "state" / "quire" / "chat_history"

    def test_a_line_can_be_edited_and_comes_back(self):
        path = self.folder / "chat.json"
        terminal = self.open(*GREEDY)
        terminal.send("helo\x1b[Dl\r")  # left, then the missing letter
        terminal.wait_for(r"tokens/s")
        terminal.wait_for("> ")
        terminal.send("\x1b[A\r")  # the same again
        terminal.wait_for(r"tokens/s")
        terminal.send(f"/save {path}\r")
        terminal.wait_for("saved 4 messages")
        terminal.send("\x04")
        self.assertEqual(terminal.exit_code(), 0)
        messages = json.loads(path.read_text())["messages"]
        self.assertEqual([m["content"] for m in messages[::2]], ["hello", "hello"])

    def test_history_is_the_users_alone_and_outlives_the_program(self):
        terminal = self.open(*GREEDY)
        terminal.send("/params max_tokens 3\r")
        terminal.wait_for("max_tokens 3")
        terminal.send("/exit\r")
        self.assertEqual(terminal.exit_code(), 0)
        self.assertEqual(stat.S_IMODE(self.history().stat().st_mode), 0o600)
        terminal = self.open(*GREEDY)
        terminal.send("\x1b[A\x1b[A\r")
        terminal.wait_for("  max_tokens 3")
        terminal.send("\x04")
        self.assertEqual(terminal.exit_code(), 0)

    def test_a_paste_of_several_lines_is_one_message(self):
        path = self.folder / "chat.json"
        terminal = self.open(*GREEDY)
        terminal.send("\x1b[200~one\ttab\rtwo é\rthree\x1b[201~\r")
        terminal.wait_for("tokens/s")
        terminal.send(f"/save {path}\r")
        terminal.wait_for("saved 2 messages")
        terminal.send("/exit\r")
        self.assertEqual(terminal.exit_code(), 0)
        messages = json.loads(path.read_text())["messages"]
        self.assertEqual(messages[0]["content"], "one\ttab\ntwo é\nthree")

    def test_a_backslash_continues_the_line(self):
        path = self.folder / "chat.json"
        terminal = self.open(*GREEDY)
        terminal.send("one\\\r")
        terminal.wait_for("… ")
        terminal.send("two\r")
        terminal.wait_for("tokens/s")
        terminal.send(f"/save {path}\r")
        terminal.wait_for("saved 2 messages")
        terminal.send("/exit\r")
        self.assertEqual(terminal.exit_code(), 0)
        self.assertEqual(json.loads(path.read_text())["messages"][0]["content"], "one\ntwo")

    def test_ctrl_c_stops_the_answer_and_then_the_program(self):
        terminal = self.open(*harness.LONG)
        terminal.send("hi\r")
        terminal.wait_for(r"hi\r\n.")
        time.sleep(0.2)
        terminal.send("\x03")
        terminal.wait_for(r"\(stopped\)")
        terminal.wait_for("> ")
        terminal.send("/params max_tokens 2\r")
        terminal.wait_for("  max_tokens 2")
        terminal.send("again\r")
        terminal.wait_for("2 generated tokens")
        terminal.wait_for("> ")
        terminal.send("half a line")
        terminal.wait_for("half a line")  # an interrupt drops what is not read yet
        terminal.send("\x03")
        terminal.wait_for("> ")
        terminal.send("\x03")
        self.assertEqual(terminal.exit_code(), 130)


if __name__ == "__main__":
    harness.main()
