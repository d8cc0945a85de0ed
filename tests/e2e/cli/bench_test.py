"""quire bench: what is measured comes out whole; what it was is the machine's affair."""

import json
import unittest

import harness
from harness import CliTest

LOAD = ["--input-len", "8", "--output-len", "4"]


class Bench(CliTest):
    def test_the_machine_has_limits(self):
        limits = self.ok("bench", "machine", "--threads", "1", "--json").json()
        self.assertEqual(limits["threads"], 1)
        for name in ("memory_gb_per_s", "cache_gb_per_s", "f32_gop_per_s"):
            self.assertGreater(limits[name], 0.0, name)

    def test_kernels_are_held_against_the_machine(self):
        result = self.ok("bench", "kernels", "--only", "Q4_1 576x576", "--json").json()
        self.assertEqual([row["rows"] for row in result["kernels"]], [1, 4, 16, 64, 512])
        for row in result["kernels"]:
            self.assertEqual((row["op"], row["shape"]), ("matmul Q4_1", "576x576"))
            self.assertGreater(row["gop_per_s"], 0.0)
            self.assertIn(row["limit"], ("memory", "arithmetic"))
        self.refused("bench", "kernels", "--only", "Q9_9", says="Q9_9")

    def test_an_unknown_measurement_is_refused_with_the_nearest(self):
        self.refused("bench", "latncy", says="latency")
        self.refused("bench", says="quire bench --help")

    @unittest.skipUnless(harness.TINY.is_dir(), f"{harness.TINY} is absent")
    def test_latency_tells_what_each_run_took(self):
        path = self.folder / "latency.json"
        run = self.ok("bench", "latency", harness.TINY, *LOAD, "--batch-size", "3", "--num-iters",
                      "2", "--num-iters-warmup", "1", "--json", "--output-json", path)
        result = run.json()
        self.assertEqual(result, json.loads(path.read_text()))
        self.assertEqual(len(result["latencies"]), 2)
        self.assertAlmostEqual(result["avg_latency"], sum(result["latencies"]) / 2)
        self.assertEqual(list(result["percentiles"]), ["10", "25", "50", "75", "90", "99"])
        for name in ("prefill_tokens_per_s", "decode_tokens_per_s", "first_token_ms"):
            self.assertGreater(result[name], 0.0, name)

    @unittest.skipUnless(harness.TINY.is_dir(), f"{harness.TINY} is absent")
    def test_throughput_counts_every_token(self):
        result = self.ok("bench", "throughput", "--model", harness.TINY, *LOAD, "--num-prompts",
                         "20", "--max-num-seqs", "4", "--json").json()
        self.assertEqual(result["num_requests"], 20)
        self.assertEqual(result["total_num_tokens"], 20 * (8 + 4))
        self.assertAlmostEqual(result["requests_per_second"] * result["elapsed_time"], 20)

    @unittest.skipUnless(harness.TINY.is_dir(), f"{harness.TINY} is absent")
    def test_a_load_that_cannot_be_is_refused(self):
        self.refused("bench", "latency", harness.TINY, "--input-len", "100000", says="context")
        self.refused("bench", "latency", harness.TINY, "--input-len", "0", says="--input-len")
        self.refused("bench", "latency", harness.TINY, "--num-iters", "0", says="--num-iters")


if __name__ == "__main__":
    harness.main()
