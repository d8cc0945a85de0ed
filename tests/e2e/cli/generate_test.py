"""quire generate."""

import json
import os
import signal
import subprocess
import time

import harness
from harness import CliTest, Run

GREEDY = ["--temperature", "0"]


class GenerateTest(CliTest):
    def generate(self, *args, **kwargs):
        return self.ok("generate", harness.TINY, *args, **kwargs)

    def batch(self, lines, *args, **kwargs):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        return self.ok("generate", harness.TINY, "--prompts", "-", "--json", *args, stdin=text,
                       **kwargs).lines()


@harness.needs_tiny
class Answers(GenerateTest):
    def test_greedy_tokens_are_the_references(self):
        prompts = json.loads((harness.TINY / "expected.json").read_text())["prompts"]
        answers = self.batch([{"ids": p["ids"], "temperature": 0} for p in prompts],
                             "--max-tokens", "32", "--ignore-eos", "--compute-dtype", "float32")
        for prompt, answer in zip(prompts, answers, strict=True):
            self.assertEqual(answer["token_ids"], prompt["greedy"], prompt["name"])
            self.assertEqual(answer["prompt_token_ids"], prompt["ids"])

    def test_text_alone_is_on_standard_output(self):
        answer = self.generate("-p", "The license", *GREEDY, "--json").json()
        run = self.generate("-p", "The license", *GREEDY)
        self.assertEqual(run.out, answer["text"])
        self.assertIn("tokens/s", run.err)
        self.assertEqual(self.generate("-p", "The license", *GREEDY, "--quiet").err, "")

    def test_the_prompt_comes_from_a_flag_a_file_or_standard_input(self):
        expected = self.generate("-p", "a\nb\n", *GREEDY).out
        path = self.file("prompt", "a\nb\n")
        self.assertEqual(self.generate("-f", path, *GREEDY).out, expected)
        self.assertEqual(self.generate("-", *GREEDY, stdin="a\nb\n").out, expected)
        self.assertEqual(self.ok("generate", "--model", harness.TINY, "-f", "-", *GREEDY,
                                 stdin="a\nb\n").out, expected)

    def test_lengths_are_exact(self):
        for count in (1, 2, 3, 17):
            answer = self.generate("-p", "a", *GREEDY, "--ignore-eos", "--max-tokens", count,
                                   "--json").json()
            self.assertEqual(len(answer["token_ids"]), count)
            self.assertEqual(answer["finish_reason"], "length")
            self.assertEqual(answer["usage"]["completion_tokens"], count)
        answer = self.generate("-p", "a", *GREEDY, "--ignore-eos", "--max-tokens", "none",
                               "--json").json()
        self.assertEqual(answer["usage"]["total_tokens"], 512)

    def test_sixteen_tokens_are_the_default(self):
        answer = self.generate("-p", "a", "--ignore-eos", "--json").json()
        self.assertEqual(len(answer["token_ids"]), 16)

    def test_stop_strings_end_the_text_before_them(self):
        whole = self.generate("-p", "The", *GREEDY, "--max-tokens", "40", "--ignore-eos").out
        stop = whole[len(whole) // 2:len(whole) // 2 + 2]
        before = whole[:whole.index(stop)]
        args = ["-p", "The", *GREEDY, "--max-tokens", "40", "--ignore-eos", "--stop", stop]
        self.assertEqual(self.generate(*args).out, before)
        answer = self.generate(*args, "--stop", "never met", "--json").json()
        self.assertEqual((answer["text"], answer["finish_reason"], answer["stop_reason"]),
                         (before, "stop", stop))
        kept = self.generate(*args, "--include-stop-str-in-output").out
        self.assertEqual(kept, before + stop)

    def test_stop_tokens_end_the_answer(self):
        ids = self.generate("-p", "The", *GREEDY, "--ignore-eos", "--json").json()["token_ids"]
        answer = self.generate("-p", "The", *GREEDY, "--ignore-eos", "--json",
                               "--stop-token-ids", ids[3]).json()
        self.assertEqual(answer["token_ids"], ids[:ids.index(ids[3]) + 1])
        self.assertEqual((answer["finish_reason"], answer["stop_reason"]), ("stop", ids[3]))

    def test_a_bias_chooses_the_token(self):
        answer = self.generate("-p", "a", *GREEDY, "--logit-bias", '{"70": 100}', "--max-tokens",
                               "3", "--json").json()
        self.assertEqual(answer["token_ids"], [70, 70, 70])
        answer = self.generate("-p", "a", "--allowed-token-ids", "71,72", "--json").json()
        self.assertLessEqual(set(answer["token_ids"]), {71, 72})

    def test_an_end_token_at_once_gives_an_empty_answer(self):
        answer = self.generate("-p", "a", *GREEDY, "--logit-bias", '{"2": 100}', "--json").json()
        self.assertEqual((answer["text"], answer["finish_reason"]), ("", "stop"))

    def test_logprobs_are_as_many_as_asked_for(self):
        answer = self.generate("-p", "The license", *GREEDY, "--logprobs", "3",
                               "--prompt-logprobs", "2", "--max-tokens", "4", "--json").json()
        self.assertEqual(len(answer["logprobs"]), 4)
        for chosen, position in zip(answer["token_ids"], answer["logprobs"], strict=True):
            self.assertEqual(len(position), 3)
            self.assertEqual(position[str(chosen)]["rank"], 1)
        self.assertEqual(len(answer["prompt_logprobs"]), answer["usage"]["prompt_tokens"])
        self.assertIsNone(answer["prompt_logprobs"][0])
        self.assertNotIn("logprobs", self.generate("-p", "a", "--json").json())

    def test_several_answers_stand_in_order(self):
        args = ["-p", "The", "--n", "3", "--temperature", "1", "--seed", "7", "--max-tokens", "8"]
        report = self.generate(*args, "--json").json()
        texts = [answer["text"] for answer in report["outputs"]]
        self.assertEqual([answer["index"] for answer in report["outputs"]], [0, 1, 2])
        self.assertEqual(report["text"], texts[0])
        self.assertEqual(report["usage"]["completion_tokens"],
                         sum(len(answer["token_ids"]) for answer in report["outputs"]))
        self.assertEqual(self.generate(*args).out, "\n".join(texts))

    def test_a_seed_repeats_itself(self):
        args = ["-p", "The", "--temperature", "1", "--max-tokens", "24"]
        first = self.generate(*args, "--seed", "1").out
        self.assertEqual(self.generate(*args, "--seed", "1").out, first)
        self.assertNotEqual(self.generate(*args, "--seed", "2").out, first)

    def test_threads_do_not_change_the_answer(self):
        texts = {self.generate("-p", "The license", *GREEDY, "--max-tokens", "32", "--threads",
                               count).out for count in (1, 2, 3)}
        self.assertEqual(len(texts), 1)


@harness.needs_tiny
class Batches(GenerateTest):
    def test_answers_come_in_the_order_of_the_prompts(self):
        lines = [{"prompt": "a" * (n % 7 + 1), "max_tokens": 40 - 3 * n, "temperature": 0}
                 for n in range(12)]
        together = self.batch(lines, "--ignore-eos")
        self.assertEqual([len(a["token_ids"]) for a in together], [40 - 3 * n for n in range(12)])
        for line, answer in zip(lines[:3], together, strict=False):
            alone = self.batch([line], "--ignore-eos")
            self.assertEqual(alone[0]["token_ids"], answer["token_ids"])

    def test_text_output_has_a_line_end_after_each(self):
        lines = "".join(json.dumps({"prompt": "a", "max_tokens": 3, "temperature": 0}) + "\n"
                        for _ in range(3))
        run = self.ok("generate", harness.TINY, "--prompts", "-", stdin=lines)
        text = self.generate("-p", "a", "--max-tokens", "3", *GREEDY).out
        self.assertEqual(run.out, (text + "\n") * 3)

    def test_only_as_many_as_asked_for(self):
        path = self.file("p.jsonl", '{"prompt": "a"}\n' * 5)
        run = self.ok("generate", harness.TINY, "--prompts", path, "--num-prompts", "2", "--json")
        self.assertEqual(len(run.lines()), 2)

    def test_one_prompt_that_is_refused_does_not_stop_the_others(self):
        lines = [{"prompt": "a"}, {"prompt": "b"}, {"ids": [5] * 513}, {"prompt": ""},
                 {"prompt": "c"}]
        text = "".join(json.dumps(line) + "\n" for line in lines)
        run = Run(["generate", harness.TINY, "--prompts", "-", "--json"], stdin=text)
        self.assertEqual(run.code, 2)
        self.assertIn("line 3", run.err)
        self.assertEqual(["error" in answer for answer in run.lines()],
                         [False, False, True, True, False])

    def test_files_that_cannot_be_read_are_refused_before_loading(self):
        path = self.file("p.jsonl", '{"prompt": "a"}\n{"promt": "a"}\n')
        self.refused("generate", harness.TINY, "--prompts", path, says=["p.jsonl", "line 2"])
        self.refused("generate", harness.TINY, "--prompts", self.folder / "no", says="No such file")
        self.refused("generate", harness.TINY, "--prompts", self.folder, says="folder")
        self.refused("generate", harness.TINY, "--prompts", "/dev/null", says="no prompts")


@harness.needs_tiny
class Refusals(GenerateTest):
    def test_parameters_out_of_range_are_named(self):
        for flag, value in [("temperature", "-1"), ("temperature", "3"), ("temperature", "nan"),
                            ("top-p", "0"), ("top-p", "1.5"), ("top-k", "-2"), ("min-p", "2"),
                            ("typical-p", "0"), ("presence-penalty", "5"),
                            ("frequency-penalty", "-3"), ("repetition-penalty", "0"), ("n", "0"),
                            ("max-tokens", "0"), ("min-tokens", "-1"), ("min-tokens", "17"),
                            ("logprobs", "-2"), ("logprobs", "1000"), ("prompt-logprobs", "21"),
                            ("stop", ""), ("bad-words", ""), ("stop-token-ids", "999999"),
                            ("logit-bias", '{"999999": 1}'), ("logit-bias", '{"-1": 1}'),
                            ("allowed-token-ids", "320"), ("logprob-token-ids", "320"),
                            ("truncate-prompt-tokens", "0")]:
            run = self.refused("generate", harness.TINY, "-p", "a", f"--{flag}", value)
            self.assertIn(flag.replace("-", "_"), run.err)
        self.refused("generate", harness.TINY, "-p", "a", "--n", "2", *GREEDY, says="n:")

    def test_prompts_that_cannot_be_run_are_refused(self):
        self.refused("generate", harness.TINY, "-p", "")
        self.refused("generate", harness.TINY, "-", stdin="license " * 2000, says="512")
        for ids in ([], [-1], [320], [2**40], [1] * 512):
            text = json.dumps({"ids": ids}) + "\n"
            run = Run(["generate", harness.TINY, "--prompts", "-"], stdin=text)
            self.assertEqual(run.code, 2, ids)

    def test_text_needs_a_tokenizer_and_ids_do_not(self):
        plain = harness.DATA / "models-tiny" / "llama-mha-tied-f32"
        self.refused("generate", plain, "-p", "a", says="tokenizer")
        run = self.ok("generate", plain, "--prompts", "-", "--json", *GREEDY,
                      stdin='{"ids": [5, 6], "logprobs": 1}\n')
        self.assertEqual(len(run.json()["token_ids"]), 16)

    def test_any_bytes_are_a_prompt(self):
        for content in (b"\xff", b"\xe8\xaa", b"\x00"):
            self.generate("-", *GREEDY, stdin=content)


@harness.needs_tiny
class Endings(GenerateTest):
    def start(self, *args, **kwargs):
        return subprocess.Popen([harness.BINARY, "generate", str(harness.TINY), "-p", "The",
                                 *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=harness.environment(), **kwargs)

    def finish(self, process):
        out = process.stdout.read() if not process.stdout.closed else b""
        err = process.stderr.read().decode()
        process.stderr.close()
        process.stdout.close()
        process.wait(timeout=60)
        return out, err

    def test_text_comes_while_it_is_made(self):
        process = self.start(*harness.LONG)
        self.assertNotEqual(os.read(process.stdout.fileno(), 100), b"")
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGINT)
        self.finish(process)

    def test_ctrl_c_ends_it_with_130(self):
        process = self.start(*harness.LONG)
        os.read(process.stdout.fileno(), 100)
        process.send_signal(signal.SIGINT)
        out, err = self.finish(process)
        self.assertEqual(process.returncode, 130)
        self.assertIn("tokens/s", err)
        out.decode("utf-8")

    def test_ctrl_c_in_a_batch_keeps_what_is_done(self):
        lines = '{"prompt": "a", "max_tokens": 1}\n{"prompt": "b"}\n'
        path = self.file("p.jsonl", lines)
        process = subprocess.Popen([harness.BINARY, "generate", str(harness.TINY), "--prompts",
                                    str(path), "--json", *harness.LONG], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=harness.environment())
        first = process.stdout.readline()
        self.assertEqual(len(json.loads(first)["token_ids"]), 1)
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, _ = self.finish(process)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(json.loads(out)["finish_reason"], "abort")

    def test_a_reader_that_goes_away_ends_it_with_an_error(self):
        process = self.start(*harness.LONG)
        os.read(process.stdout.fileno(), 10)
        process.stdout.close()
        _, err = self.finish(process)
        self.assertEqual(process.returncode, 1)
        self.assertIn("Broken pipe", err)

    @harness.needs_full_device
    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            for args in ([], ["--json"]):
                run = Run(["generate", harness.TINY, "-p", "a", *args], stdout=full)
                self.assertEqual(run.code, 1)
                self.assertIn("No space left", run.err)

    def test_closed_streams_do_no_harm(self):
        for redirect, codes in ((">&-", (1,)), ("2>&-", (0,)), ("<&-", (0,))):
            done = subprocess.run(["sh", "-c", f'"$0" generate "$1" -p a {redirect}',
                                   harness.BINARY, str(harness.TINY)], capture_output=True,
                                  env=harness.environment(), timeout=60, check=False)
            self.assertIn(done.returncode, codes, redirect)


@harness.needs_default
class OfTheDefaultModel(CliTest):
    def test_it_continues_a_sentence(self):
        run = self.ok("generate", "-p", "The capital of France is", *GREEDY, "--max-tokens", "3")
        self.assertTrue(run.out.startswith(" Paris."), run.out)


if __name__ == "__main__":
    harness.main()
