"""quire eval."""

import json
import pathlib
import signal
import subprocess
import time

import harness
from harness import CliTest


@harness.needs_tiny
class Logits(CliTest):
    def prompts(self):
        return json.loads((harness.TINY / "expected.json").read_text())["prompts"]

    def test_the_file_holds_the_references_logits(self):
        prompts = self.prompts()
        out = self.folder / "out.safetensors"
        lines = "".join(json.dumps({"ids": p["ids"]}) + "\n" for p in prompts)
        self.ok("eval", "logits", harness.TINY, "--output", out, stdin=lines)
        tensors = harness.read_safetensors(out)
        expected = harness.read_safetensors(harness.TINY / "expected.safetensors")
        self.assertEqual(sorted(tensors), sorted(f"logits.{i}" for i in range(len(prompts))))
        for i, prompt in enumerate(prompts):
            shape, values = tensors[f"logits.{i}"]
            self.assertEqual(shape, [len(prompt["ids"]), 320])
            reference = expected[f"logits.{prompt['name']}"][1]
            worst = max(abs(a - b) for a, b in zip(values, reference, strict=True))
            self.assertLess(worst, 2e-4, prompt["name"])
        self.assertEqual([p.name for p in self.folder.iterdir()], ["out.safetensors"])

    def test_bad_lines_leave_no_file(self):
        out = self.folder / "out.safetensors"
        good = '{"ids": [1, 2]}\n'
        for bad in ("x", "[1]", "{}", '{"ids": 1}', '{"ids": []}', '{"ids": [1.5]}',
                    '{"ids": ["a"]}', '{"ids": [-1]}', '{"ids": [320]}', '{"ids": [99999999999]}',
                    json.dumps({"ids": [1] * 513}), "\n" + good):
            self.refused("eval", "logits", harness.TINY, "--output", out, stdin=good + bad + "\n",
                         says="line 2")
            self.assertEqual(list(self.folder.iterdir()), [], bad)

    def test_an_older_file_stays_where_the_new_one_fails(self):
        out = self.file("out.safetensors", "old")
        self.refused("eval", "logits", harness.TINY, "--output", out, stdin='{"ids": [320]}\n')
        self.assertEqual(out.read_text(), "old")

    def test_input_and_output_must_be_there(self):
        self.refused("eval", "logits", harness.TINY, stdin='{"ids": [1]}', says="--output")
        self.refused("eval", "logits", harness.TINY, "-o", self.folder / "a", says="no line")
        self.refused("eval", "logits", harness.TINY, "-o", self.folder / "no" / "a",
                     stdin='{"ids": [1]}', says="No such file")

    def test_a_last_line_without_an_end_counts(self):
        out = self.folder / "out.safetensors"
        self.ok("eval", "logits", harness.TINY, "-o", out, stdin='{"ids": [1]}\n{"ids": [2]}')
        self.assertEqual(len(harness.read_safetensors(out)), 2)

    def test_ctrl_c_leaves_no_file(self):
        out = self.folder / "out.safetensors"
        lines = (json.dumps({"ids": [5] * 512}) + "\n") * 20000
        process = subprocess.Popen([harness.BINARY, "eval", "logits", str(harness.TINY), "-o",
                                    str(out)], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=harness.environment())
        process.stdin.write(lines.encode())
        process.stdin.close()
        for _ in range(600):
            if any(self.folder.iterdir()):
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
        process.stderr.close()
        self.assertEqual(process.returncode, 130)
        self.assertEqual(list(self.folder.iterdir()), [])


@harness.needs_tiny
class Perplexity(CliTest):
    def test_numbers_belong_together(self):
        text = self.file("text", "The license of the work is the license of the work. " * 100)
        run = self.ok("eval", "perplexity", harness.TINY, text, "--window", "64", "--max-windows",
                      "4", "--json")
        report = run.json()
        self.assertEqual(len(report["windows"]), 4)
        self.assertEqual(report["num_tokens_all"], 4 * 63)
        self.assertEqual(report["num_tokens_second_half"], 4 * 31)
        self.assertAlmostEqual(report["nll_all"], sum(w["nll_all"] for w in report["windows"]))
        self.assertGreater(report["ppl_all_error"], 0)
        self.assertIn("±", self.ok("eval", "perplexity", harness.TINY, text, "--window",
                                   "64").out)

    def test_unusable_windows_are_refused(self):
        text = self.file("text", "short")
        self.refused("eval", "perplexity", harness.TINY, text, says="fewer than one window")
        self.refused("eval", "perplexity", harness.TINY, text, "--window", "1", says="--window")
        self.refused("eval", "perplexity", harness.TINY, text, "--window", "513", says="context")
        self.refused("eval", "perplexity", harness.TINY, self.folder / "none", says="none")
        self.refused("eval", "perplexity", says="no text")


@harness.needs_default
class OfTheDefaultModel(CliTest):
    def test_perplexity_is_the_references(self):
        path = harness.DATA / "smollm2" / "expected.json"
        if not path.is_file():
            self.skipTest(f"{path} is absent")
        expected = json.loads(path.read_text())["perplexity"]
        source = pathlib.Path(expected["file"])
        if not source.is_file():
            self.skipTest(f"{source} is absent")
        text = self.file("text", source.read_bytes()[expected["begin"]:expected["end"]])
        # One window of the three keeps this short; the golden tests look at all of them.
        run = self.ok("eval", "perplexity", text, "--json", "--max-windows", "1", timeout=200)
        self.assertEqual(run.json()["num_tokens"], expected["tokens"])
        nll = run.json()["windows"][0]["nll_all"]
        self.assertAlmostEqual(nll / expected["windows"][0]["nll_all"], 1.0, delta=0.01)


if __name__ == "__main__":
    harness.main()
