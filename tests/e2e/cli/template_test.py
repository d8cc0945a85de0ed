"""quire template."""

import json

import harness
from harness import CliTest, Run

MESSAGES = [{"role": "user", "content": "hi"}]


class Batches(CliTest):
    def render(self, *lines):
        text = "".join(json.dumps(line) + "\n" for line in lines)
        return self.ok("template", "--jsonl", stdin=text).lines()

    def test_a_line_may_bring_its_template(self):
        source = "{{ bos_token }}{% for m in messages %}{{ m.role }}={{ m.content }};{% endfor %}"
        rows = self.render({"template": source, "messages": MESSAGES, "bos_token": "<B>"},
                           {"template": "{{ x }}{{ add_generation_prompt }}", "messages": [],
                            "x": [1, "a"], "add_generation_prompt": True})
        self.assertEqual(rows, [{"text": "<B>user=hi;"}, {"text": "[1, 'a']True"}])

    def test_the_clock_is_the_lines_own(self):
        rows = self.render({"template": "{{ strftime_now('%Y-%m-%d %H:%M') }}", "messages": [],
                            "now": "2026-07-14T09:05:03"})
        self.assertEqual(rows, [{"text": "2026-07-14 09:05"}])

    def test_refusals_carry_the_templates_own_words(self):
        rows = self.render({"template": "a\n{{ raise_exception('not so') }}", "messages": []})
        self.assertIn("not so", rows[0]["error"])
        self.assertEqual((rows[0]["line"], type(rows[0]["column"])), (2, int))

    def test_syntax_errors_have_a_place(self):
        rows = self.render({"template": "ok\n  {% if %}", "messages": []})
        self.assertEqual(rows[0]["line"], 2)
        self.assertNotIn("text", rows[0])

    def test_bad_lines_are_answered_and_the_rest_is_done(self):
        good = json.dumps({"template": "x", "messages": []})
        bad = ["no json", "[]", '{"template": "x"}', '{"template": 5, "messages": []}',
               '{"template": "x", "messages": {}}', '{"template": "x", "messages": [], "now": "?"}',
               '{"template": "x", "messages": [], "add_generation_prompt": 1}']
        run = Run(["template", "--jsonl"], stdin="\n".join([*bad, good]))
        self.assertEqual(run.code, 2)
        self.assertIn("line 1", run.err)
        answers = run.lines()
        self.assertEqual(len(answers), len(bad) + 1)
        self.assertEqual(answers[-1], {"text": "x"})
        for answer in answers[:-1]:
            self.assertIn("error", answer)

    def test_hostile_templates_are_stopped(self):
        for source in ("{% for a in range(10000) %}{% for b in range(10000) %}x{% endfor %}"
                       "{% endfor %}", "{{ 'x' * 1000000000 }}",
                       "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "{{" * 10000,
                       "(" * 100000, "{% if x %}" * 20000):
            run = Run(["template", "--jsonl"],
                      stdin=json.dumps({"template": source, "messages": []}) + "\n")
            self.assertEqual(run.code, 0, run.err)
            answer = run.lines()[0]
            self.assertTrue("error" in answer or len(answer["text"]) < 1_000_000, source[:50])


class PlainJinja(CliTest):
    def test_a_file_is_rendered_with_its_context(self):
        path = self.file("t.jinja", "{% for i in list %}{{ i }},{% endfor %}\n{{ d.a }}")
        run = self.ok("template", "--render", path, "--context", '{"list": [1, 2], "d": {"a": 3}}')
        self.assertEqual(run.out, "1,2,3")  # as transformers does: no line feed after a block

    def test_what_cannot_be_rendered_is_one_sentence(self):
        path = self.file("t.jinja", "{{ x | nofilter }}")
        self.refused("template", "--render", path, says="t.jinja")
        self.refused("template", "--render", path, "--context", "{", says="--context")
        self.refused("template", "--render", path, "--context", "[]", says="--context")
        self.refused("template", "--render", self.folder / "none", says="none")
        self.refused("template", "--render", self.folder, says="folder")


@harness.needs_tiny
class OfAModel(CliTest):
    def test_a_question_is_rendered(self):
        run = self.ok("template", harness.TINY, "-p", "hi", "--system", "be kind")
        self.assertEqual(run.out,
                         "<s>system\nbe kind<|end|>\n<s>user\nhi<|end|>\n<s>assistant\n")
        run = self.ok("template", harness.TINY, "-p", "hi", "--no-add-generation-prompt")
        self.assertEqual(run.out, "<s>user\nhi<|end|>\n")

    def test_messages_come_from_a_file_or_standard_input(self):
        path = self.file("m.json", json.dumps(MESSAGES))
        expected = self.ok("template", harness.TINY, "-p", "hi").out
        self.assertEqual(self.ok("template", harness.TINY, "--messages", path).out, expected)
        self.assertEqual(
            self.ok("template", harness.TINY, "-", stdin=json.dumps({"messages": MESSAGES})).out,
            expected)

    def test_lines_without_a_template_take_the_models(self):
        run = self.ok("template", harness.TINY, "--jsonl",
                      stdin=json.dumps({"messages": MESSAGES}) + "\n")
        self.assertEqual(run.lines(), [{"text": "<s>user\nhi<|end|>\n"}])

    def test_the_final_message_can_be_continued(self):
        line = {"messages": MESSAGES, "continue_final_message": True}
        run = self.ok("template", harness.TINY, "--jsonl", stdin=json.dumps(line) + "\n")
        self.assertEqual(run.lines(), [{"text": "<s>user\nhi"}])

    def test_the_template_can_be_replaced_and_shown(self):
        path = self.file("t.jinja", "{{ messages[0].content }}!{{ extra }}")
        run = self.ok("template", harness.TINY, "-p", "hi", "--chat-template", path,
                      "--chat-template-kwargs.extra", "7")
        self.assertEqual(run.out, "hi!7")
        self.assertIn("messages", self.ok("template", harness.TINY, "--source").out)

    def test_a_conversation_must_be_given(self):
        self.refused("template", harness.TINY, says="no conversation")
        self.refused("template", harness.TINY, "-", stdin="{", says="line 1")
        self.refused("template", harness.TINY, "-", stdin="5", says="array")


if __name__ == "__main__":
    harness.main()
