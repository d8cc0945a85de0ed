"""quire tokenize."""

import json

import harness
from harness import CliTest


@harness.needs_tiny
class Tokenize(CliTest):
    def test_ids_are_the_originals(self):
        rows = json.loads((harness.TINY / "tokenizer_expected.json").read_text())
        lines = "".join(json.dumps({"text": row["text"], "add_special_tokens": False}) + "\n"
                        for row in rows)
        answers = self.ok("tokenize", harness.TINY, "--jsonl", stdin=lines).lines()
        self.assertEqual([a["ids"] for a in answers], [row["ids"] for row in rows])
        for answer in answers:
            self.assertEqual(len(answer["ids"]), len(answer["pieces"]))

    def test_text_comes_from_an_argument_a_file_or_standard_input(self):
        ids = self.ok("tokenize", harness.TINY, "The license", "--json").json()["ids"]
        path = self.file("text", "The license")
        for args, stdin in [(["-p", "The license"], ""), (["-f", path], ""), (["-"], "The license"),
                            (["-f", "-"], "The license")]:
            run = self.ok("tokenize", harness.TINY, *args, "--json", stdin=stdin)
            self.assertEqual(run.json()["ids"], ids, args)

    def test_text_output_shows_pieces_ids_and_counts(self):
        run = self.ok("tokenize", harness.TINY, "é\n")
        pieces, ids, counts = run.out.splitlines()
        self.assertTrue(pieces.startswith("pieces"))
        self.assertTrue(ids.startswith("ids"))
        self.assertIn("2 characters, 3 bytes", counts)
        self.assertNotIn("\x1b", run.out)

    def test_decoding_gives_the_text_back(self):
        text = "The license é 🧪\n"
        ids = self.ok("tokenize", harness.TINY, text, "--json").json()["ids"]
        shown = [str(i) for i in ids]
        self.assertEqual(self.ok("tokenize", harness.TINY, "--decode", *shown).out, text)
        self.assertEqual(self.ok("tokenize", harness.TINY, "--decode", json.dumps(ids)).out, text)
        self.assertEqual(
            self.ok("tokenize", harness.TINY, "--decode", "-", stdin=" ".join(shown)).out, text)

    def test_deltas_and_rest_are_the_whole_text(self):
        text = "a 🧪 é license"
        ids = self.ok("tokenize", harness.TINY, text, "--json").json()["ids"]
        lines = "".join(json.dumps({"ids": ids[:n]}) + "\n" for n in range(len(ids) + 1))
        for n, row in enumerate(self.ok("tokenize", harness.TINY, "--jsonl", "--decode",
                                        stdin=lines).lines()):
            self.assertEqual(len(row["deltas"]), n)
            self.assertEqual("".join(row["deltas"]) + row["rest"], row["text"])
            for delta in row["deltas"]:
                self.assertNotIn("\ufffd", delta)

    def test_special_tokens_are_added_and_recognised_as_asked(self):
        lines = [{"text": "<s>", "add_special_tokens": False},
                 {"text": "<s>", "add_special_tokens": False, "parse_special": False}]
        run = self.ok("tokenize", harness.TINY, "--jsonl",
                      stdin="".join(json.dumps(line) + "\n" for line in lines))
        taken, plain = run.lines()
        self.assertEqual(taken["ids"], [1])
        self.assertGreater(len(plain["ids"]), 1)

    def test_bad_lines_are_answered_and_the_rest_is_done(self):
        lines = ['{"text": "a"}', "no json", "[1]", '{"txt": "a"}', '{"text": 5}', "",
                 '{"text": "b"}', "{" * 5000, '{"text": "\\ud800"}']
        run = harness.Run(["tokenize", harness.TINY, "--jsonl"], stdin="\n".join(lines))
        answers = run.lines()
        self.assertEqual(run.code, 2)
        self.assertIn("line 2", run.err)
        self.assertEqual(len(answers), 8)
        self.assertEqual([("ids" in a) for a in answers[:6]],
                         [True, False, False, False, False, True])
        for answer in answers:
            self.assertTrue(("ids" in answer) != ("error" in answer))

    def test_bad_ids_are_refused(self):
        for value in ("[1, 2.5]", "[\"x\"]", "5", "[99999999999]"):
            run = harness.Run(["tokenize", harness.TINY, "--jsonl", "--decode"],
                              stdin='{"ids": %s}\n' % value)
            self.assertEqual(run.code, 2, value)
            self.assertIn("error", run.lines()[0])
        self.refused("tokenize", harness.TINY, "--decode", "1", "x", says="x")
        self.refused("tokenize", harness.TINY, "--decode", says="no ids")

    def test_ids_without_a_token_give_nothing(self):
        run = self.ok("tokenize", harness.TINY, "--jsonl", "--decode",
                      stdin='{"ids": [-1, 999999, 2147483647]}\n')
        self.assertEqual(run.lines()[0]["text"], "")

    def test_any_bytes_are_text(self):
        for content in (b"\xff\xfe", b"\xe8\xaa", b"\x00\x00", b"", bytes(range(256))):
            run = self.ok("tokenize", harness.TINY, "-", "--json", stdin=content)
            self.assertIn("ids", run.json())

    def test_a_long_word_is_quick(self):
        run = self.ok("tokenize", harness.TINY, "-", "--json", stdin=b"a" * 1_000_000)
        self.assertGreater(len(run.json()["ids"]), 1000)

    def test_a_folder_with_a_tokenizer_alone_will_do(self):
        self.file("tokenizer.json", (harness.TINY / "tokenizer.json").read_bytes())
        self.assertEqual(self.ok("tokenize", self.folder, "abc", "--json").json(),
                         self.ok("tokenize", harness.TINY, "abc", "--json").json())

    def test_too_many_arguments_are_refused(self):
        self.refused("tokenize", harness.TINY, "two", "words", says="quotes")
        self.refused("tokenize", harness.TINY, says="no text")


class Vocabularies(CliTest):
    def test_a_gguf_of_vocabulary_only_will_do(self):
        files = sorted((harness.DATA / "tokenizers" / "gguf").glob("*gpt-2*.gguf"))
        if not files:
            self.skipTest(f"{harness.DATA / 'tokenizers' / 'gguf'} is absent")
        run = self.ok("tokenize", files[0], "Hello world", "--json", "--no-add-special-tokens")
        self.assertEqual(run.json()["ids"], [15496, 995])


if __name__ == "__main__":
    harness.main()
