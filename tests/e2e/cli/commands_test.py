"""Commands, flags and help: what needs no model, or only a wrong one."""

import json
import os
import pwd
import re
import subprocess

import harness
from harness import CliTest, Run

COMMANDS = [["chat"], ["complete"], ["generate"], ["run-batch"], ["inspect"],
            ["tokenize"], ["template"],
            ["bench", "machine"], ["bench", "kernels"], ["bench", "latency"],
            ["bench", "throughput"],
            ["eval", "perplexity"], ["eval", "logits"]]


class Commands(CliTest):
    def test_a_command_must_be_named(self):
        self.refused(says="quire help")

    def test_an_unknown_command_is_refused_with_the_nearest(self):
        self.refused("genrate", says=["genrate", "generate"])
        self.refused("xyzzy", says=["xyzzy", "help"])
        self.refused("eval", "perplexty", says="perplexity")
        self.refused("eval", says="perplexity")
        self.refused("help", "genrate", says="generate")

    def test_help_lists_what_there_is_and_nothing_else(self):
        text = self.ok("help").out
        for command in COMMANDS:
            self.assertIn(f"\n  {command[0]} ", text)
        listed = re.findall(r"^  ([a-z-]+)  +\S", text, re.MULTILINE)
        self.assertEqual(sorted(listed), sorted({command[0] for command in COMMANDS} |
                                                {"serve", "structured", "version", "help"}))
        self.assertEqual(text, self.ok("--help").out)
        self.assertEqual(text, self.ok("-h").out)

    def test_help_of_each_command_fits_eighty_columns(self):
        for command in COMMANDS + [["eval"]]:
            text = self.ok(*command, "--help").out
            self.assertTrue(text.startswith(f"Usage: quire {' '.join(command)}"), text[:80])
            for line in text.splitlines():
                self.assertLessEqual(len(line), 80, line)
            self.assertEqual(text, self.ok("help", *command).out)

    def test_help_lists_each_flag_once(self):
        for command in COMMANDS + [["serve"]]:
            names = re.findall(r"^ {2}(?:-\w, | {4})--(\S+)", self.ok(*command, "--help").out, re.M)
            self.assertEqual(sorted(names), sorted(set(names)), command)

    def test_help_shows_defaults(self):
        text = self.ok("generate", "--help").out
        self.assertRegex(text, r"--max-tokens INT(.|\n)*?\[16\]")
        self.assertIn("--[no-]mmap", text)

    def test_version_is_one_line(self):
        self.assertRegex(self.ok("version").out, r"^quire \d+\.\d+\.\d+\n$")
        self.assertEqual(self.ok("--version").out, self.ok("version").out)

    @harness.needs_full_device
    def test_a_full_disk_is_an_error(self):
        with open("/dev/full", "wb") as full:
            run = Run(["help"], stdout=full)
        self.assertEqual(run.code, 1)
        self.assertIn("No space left", run.err)

    def test_closed_streams_do_no_harm(self):
        for redirect in (">&-", "2>&-", "<&-", ">&- 2>&- <&-"):
            done = subprocess.run(["sh", "-c", f'"{harness.BINARY}" help {redirect}'],
                                  env=harness.environment(), stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=60, check=False)
            self.assertIn(done.returncode, (0, 1), redirect)


class Flags(CliTest):
    def test_unknown_flags_are_refused_with_the_nearest(self):
        for command in COMMANDS:
            if command[-1] not in ("machine", "kernels"):  # which take no model
                self.refused(*command, "--modle", "x", says=["--modle", "--model"])
            self.refused(*command, "--qqqqqqqqqqqqqqqq", says="--help")

    def test_unusable_values_are_refused_by_name(self):
        for flag, value in [("--temperature", "hot"), ("--temperature", ""), ("--max-tokens", "x"),
                            ("--max-tokens", "1.5"), ("--n", "99999999999999"),
                            ("--logit-bias", "{"), ("--logit-bias", '{"x": 1}'),
                            ("--logit-bias", "[]"), ("--stop-token-ids", "1,x"),
                            ("--hf-overrides", "[1]"), ("--kv-cache-dtype", "int3"),
                            ("--dtype", "flaot32"), ("--threads", "many"),
                            ("--scheduling-policy", "random")]:
            name = flag.lstrip("-")
            run = self.refused("generate", "-p", "x", flag, value)
            self.assertIn(name, run.err.replace("_", "-"))

    @harness.needs_tiny
    def test_inputs_and_places_have_bounds_that_are_named(self):
        self.refused("generate", harness.TINY, "-f", "/dev/zero", says="longer than 64 MiB")
        self.refused("generate", harness.TINY, "-p", "a", "--threads", "4000", says="threads")
        self.refused("generate", harness.TINY, "-p", "a", "--tokenizer", "/nonexist",
                     says="/nonexist: no such file or folder")
        self.refused("eval", "logits", harness.TINY, "--output", "-", says="must be a file")
        self.assertFalse((self.folder / "-").exists())
        lines = self.file("p.jsonl", '{"prompt": "a"}\n{"prompt" "b"}\n')
        self.refused("generate", harness.TINY, "--prompts", lines, says="p.jsonl: line 2, column 1")
        run = self.refused("tokenize", harness.TINY, "--jsonl", stdin='{"text": "a"}\n{"text" 1}\n')
        self.assertIn("line 2, column 10", run.err)
        yarn = "--hf-overrides.rope_scaling.rope_type=yarn"
        self.refused("generate", harness.TINY, "-p", "a", yarn, says="factor: must be there")

    def test_without_home_the_user_s_own_folder_is_taken(self):
        env = harness.environment()
        del env["HOME"], env["QUIRE_CACHE"]
        run = self.refused("generate", "no-such-model", "-p", "a", env=env)
        home = pwd.getpwuid(os.getuid()).pw_dir
        self.assertIn(f"{home}/.cache/quire/models", run.err)

    def test_a_value_must_follow(self):
        self.refused("generate", "-p", says="--prompt")
        self.refused("generate", "--max-tokens", says="max-tokens")

    def test_a_prompt_must_be_given_once(self):
        self.refused("generate", says="-p TEXT")
        self.refused("generate", "-p", "a", "-f", "b", says="exclude each other")
        self.refused("generate", "a", "b", says="one argument too many")
        self.refused("generate", "-p", "a", "--num-prompts", "3", says="--prompts")

    def test_engine_options_are_checked_together(self):
        self.refused("generate", "-p", "a", "--max-num-seqs", "0")
        self.refused("generate", "-p", "a", "--block-size", "3")
        self.refused("generate", "-p", "a", "--gpu-memory-utilization", "2")


class WrongModels(CliTest):
    def test_misspelt_overrides_are_refused_with_the_nearest(self):
        run = self.refused("generate", "-p", "a", "--override-generation-config.temprature", "0")
        self.assertEqual(run.err, "quire: override-generation-config: temprature: there is no such "
                         "field; did you mean temperature?\n")

    def test_a_model_that_is_nowhere_is_one_sentence(self):
        for name in ("no-such-model", "org/no-such-model", "/nonexistent/path", "./nothing.gguf"):
            for command in (["generate", name, "-p", "a"], ["inspect", name],
                            ["tokenize", name, "a"], ["chat", name, "-p", "a"],
                            ["template", name, "-p", "a"]):
                self.refused(*command, says=name.rsplit("/", 1)[-1])

    def test_no_default_model_is_one_sentence(self):
        env = harness.environment(QUIRE_CACHE=str(self.folder))
        self.refused("generate", "-p", "a", env=env)

    def test_two_models_are_refused(self):
        self.refused("generate", "a", "--model", "b", "-p", "x", says="two models")

    def test_files_that_hold_no_model_are_refused(self):
        for name, content in [("empty.gguf", b""), ("text.gguf", b"hello"), ("cut.gguf", b"GGUF"),
                              ("huge.gguf", b"GGUF\3\0\0\0" + b"\xff" * 16),
                              ("pointer.gguf", b"version https://git-lfs.github.com/spec/v1\n")]:
            path = self.file(name, content)
            for command in (["generate", path, "-p", "a"], ["inspect", path],
                            ["tokenize", path, "a"]):
                self.refused(*command, says=name)

    def test_folders_that_hold_no_model_are_refused(self):
        self.refused("generate", self.folder, "-p", "a", says=str(self.folder))
        self.file("config.json", "{}")
        self.refused("generate", self.folder, "-p", "a")
        self.file("config.json", "{" * 100000)
        self.refused("generate", self.folder, "-p", "a")

    @harness.needs_tiny
    def test_damaged_weights_are_refused_by_name(self):
        for name in ("config.json", "tokenizer.json"):
            self.file(name, (harness.TINY / name).read_bytes())
        weights = (harness.TINY / "model.safetensors").read_bytes()
        for cut in (0, 7, 8, 100, len(weights) - 100):
            self.file("model.safetensors", weights[:cut])
            self.refused("generate", self.folder, "-p", "a", says="model.safetensors")
        self.file("model.safetensors", b"\xff" * 7 + b"\x7f" + weights[8:])
        self.refused("generate", self.folder, "-p", "a", says="model.safetensors")

    @harness.needs_tiny
    def test_an_architecture_that_is_not_supported_is_named(self):
        config = json.loads((harness.TINY / "config.json").read_text())
        config["architectures"] = ["LlamaForCausalLN"]
        config["model_type"] = "llamb"
        self.file("config.json", json.dumps(config))
        self.file("model.safetensors", (harness.TINY / "model.safetensors").read_bytes())
        self.refused("generate", self.folder, "-p", "a", says="LlamaForCausalLN")


if __name__ == "__main__":
    harness.main()
