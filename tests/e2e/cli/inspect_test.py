"""quire inspect."""

import harness
from harness import CliTest


@harness.needs_tiny
class Inspect(CliTest):
    def test_facts_are_those_of_the_files(self):
        report = self.ok("inspect", harness.TINY, "--json").json()
        model = report["model"]
        self.assertEqual((model["layers"], model["hidden_size"], model["heads"],
                          model["kv_heads"], model["head_dim"]), (3, 64, 4, 2, 16))
        self.assertEqual((model["vocab_size"], model["context"]), (320, 512))
        self.assertEqual(report["architecture"], "LlamaForCausalLM")
        self.assertEqual(report["weights"]["types"][0]["type"], "BF16")
        size = (harness.TINY / "model.safetensors").stat().st_size
        self.assertEqual(report["files"]["bytes"], size)
        self.assertEqual(report["weights"]["parameters"] * 2, report["weights"]["bytes"])
        self.assertEqual([token["id"] for token in report["tokenizer"]["eos"]], [2, 3])
        self.assertEqual(report["chat_templates"][0]["name"], "default")

    def test_memory_follows_the_length_and_the_type(self):
        def memory(*flags):
            return self.ok("inspect", harness.TINY, "--json", *flags).json()["memory"]
        plain = memory("--kv-cache-dtype", "float32")
        self.assertEqual(plain["kv_bytes_per_token"], 3 * 2 * 16 * 2 * 4)
        self.assertEqual(plain["kv_bytes"], 512 * plain["kv_bytes_per_token"])
        half = memory("--kv-cache-dtype", "float16", "--max-model-len", "256")
        self.assertEqual(half["kv_bytes"] * 4, plain["kv_bytes"])
        for name in ("int8_per_token_head", "int8"):
            scaled = memory("--kv-cache-dtype", name)
            self.assertEqual(scaled["kv_bytes_per_token"], 3 * 2 * 2 * (16 + 4))
            self.assertEqual(scaled["kv_bytes"], 512 * scaled["kv_bytes_per_token"])

    def test_text_names_what_a_person_asks(self):
        text = self.ok("inspect", harness.TINY).out
        for word in ("LlamaForCausalLM", "BF16", "context", "512", "memory", "tokenizer", "BPE",
                     "chat template", "sampling"):
            self.assertIn(word, text)
        self.assertNotIn("lm_head", text)
        self.assertIn("lm_head.weight", self.ok("inspect", harness.TINY, "--tensors").out)

    def test_overrides_are_seen(self):
        report = self.ok("inspect", harness.TINY, "--json", "--hf-overrides.rope_theta",
                         "500000").json()
        self.assertEqual(report["model"]["rope_theta"], 500000)

    def test_unsupported_architectures_are_told_as_far_as_the_file_goes(self):
        report = self.ok("inspect", harness.DATA / "models-tiny" / "whisper", "--json").json()
        self.assertIn("error", report["model"])
        self.assertEqual(report["architecture"], "WhisperForConditionalGeneration")
        self.assertGreater(report["weights"]["parameters"], 0)
        self.assertIn("Whisper", self.ok("inspect", harness.DATA / "models-tiny" / "whisper").out)

    def test_unusable_lengths_are_refused(self):
        for length in ("x", "-5", "0", "1e3"):
            self.refused("inspect", harness.TINY, "--max-model-len", length,
                         says="max-model-len")


@harness.needs_default
class DefaultModel(CliTest):
    def test_the_default_model_is_taken_where_none_is_named(self):
        report = self.ok("inspect", "--json").json()
        self.assertEqual(report["files"]["format"], "GGUF")
        self.assertEqual(report["model"]["layers"], 30)
        self.assertEqual(report["path"], str(harness.DEFAULT_MODEL))


if __name__ == "__main__":
    harness.main()
