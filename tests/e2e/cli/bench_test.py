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

    def test_a_warm_step_of_the_control_plane_allocates_nothing(self):
        result = self.ok("bench", "step", "--running", "32", "--steps", "200", "--json").json()
        self.assertEqual((result["running"], result["allocations_per_step"]), (32, 0))
        for name in ("us_per_step", "us_schedule", "us_build", "us_update"):
            self.assertGreater(result[name], 0.0, name)
        self.refused("bench", "step", "--running", "0", says="running")

    def test_a_trace_gives_the_same_plan_each_time(self):
        trace = harness.SOURCE / "tests" / "data" / "traces" / "shared_prefix.jsonl"
        command = ("bench", "replay", trace, "--max-num-batched-tokens", "64")
        text = self.ok(*command).out
        self.assertEqual(text, self.ok(*command).out)
        self.assertTrue(text.startswith("step 0  0.0000 s  64 tokens"), text)
        lines = [json.loads(line) for line in self.ok(*command, "--json").out.splitlines()]
        summary = lines.pop()["summary"]
        self.assertEqual((summary["finished"], summary["aborted"]), (5, 1))
        self.assertEqual(summary["steps"], len(lines))
        for step in lines:
            self.assertEqual(step["tokens"], sum(row["new"] for row in step["rows"]))
            self.assertLessEqual(step["tokens"], 64)

    def test_a_trace_with_a_slip_is_refused_with_its_line(self):
        path = self.folder / "trace.jsonl"
        path.write_text('{"prompt": 8}\n{"promt": 8}\n')
        self.refused("bench", "replay", path, says="line 2")
        self.refused("bench", "replay", path, "--step-time", "x", says="--step-time")

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
