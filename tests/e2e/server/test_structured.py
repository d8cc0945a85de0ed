"""Constraints over HTTP, in every spelling, with the default model."""

import json
import re
import unittest

import jsonschema

from served import ServedTest

MESSAGES = [{"role": "user", "content": "Name a city and say whether it is a capital."}]
CITY = {
    "type": "object",
    "properties": {"name": {"type": "string", "maxLength": 12}, "capital": {"type": "boolean"}},
    "required": ["name", "capital"],
    "additionalProperties": False,
}
YES_OR_NO = 'root ::= "yes" | "no"'
TAG = {
    "structures": [{"begin": "<city>", "schema": CITY, "end": "</city>"}],
    "triggers": ["<city>"],
}
TOOL = {"type": "function", "function": {"name": "look_up", "parameters": CITY}}


class StructuredTest(ServedTest):
    flags = ("--max-model-len", "2048", "--grammar-compile-timeout", "5")

    def ask(self, path, body, status=200):
        got, reply, _ = self.served.post(path, body)
        self.assertEqual(got, status, reply)
        return json.loads(reply)

    def complete(self, **more):
        body = {"prompt": "A city:", "max_tokens": 100, "temperature": 1.0, "seed": 3, **more}
        choice = self.ask("/v1/completions", body)["choices"][0]
        self.assertEqual(choice["finish_reason"], "stop", choice)
        return choice["text"]

    def chat(self, **more):
        body = {"messages": MESSAGES, "max_tokens": 100, "temperature": 1.0, "seed": 3, **more}
        return self.ask("/v1/chat/completions", body)["choices"][0]

    def check_city(self, text):
        jsonschema.validate(json.loads(text), CITY)

    def test_structured_outputs(self):
        for ask in (self.complete, lambda **more: self.chat(**more)["message"]["content"]):
            self.check_city(ask(structured_outputs={"json": CITY}))
            self.check_city(ask(structured_outputs={"json": json.dumps(CITY)}))
            self.assertIn(ask(structured_outputs={"choice": ["Paris", "Rome"]}), ("Paris", "Rome"))
            self.assertRegex(ask(structured_outputs={"regex": "[a-z]{3}[0-9]"}), "^[a-z]{3}[0-9]$")
            self.assertIn(ask(structured_outputs={"grammar": YES_OR_NO}), ("yes", "no"))

    def test_manner(self):
        text = self.complete(structured_outputs={"json": CITY, "disable_any_whitespace": True})
        self.check_city(text)
        self.assertNotIn("\n", text)
        text = self.complete(structured_outputs={"json": CITY, "whitespace_pattern": "\n"})
        self.check_city(text)
        self.assertEqual(text.count("\n"), len(re.findall("[{}:,]", text)) * 2 - 2)

    def test_old_names(self):
        self.check_city(self.complete(guided_json=CITY))
        self.assertIn(self.complete(guided_choice=["Paris", "Rome"]), ("Paris", "Rome"))
        self.assertRegex(self.complete(guided_regex="[0-9]{4}"), "^[0-9]{4}$")
        self.assertIn(self.complete(guided_grammar=YES_OR_NO), ("yes", "no"))

    def test_json_object(self):
        for more in ({"response_format": {"type": "json_object"}},
                     {"structured_outputs": {"json_object": True}},
                     {"guided_json_object": True}):
            choice = self.chat(max_tokens=300, **more)
            if choice["finish_reason"] == "stop":
                self.assertIsInstance(json.loads(choice["message"]["content"]), dict)
            else:
                self.assertEqual(choice["finish_reason"], "length")
                self.assertTrue(choice["message"]["content"].startswith("{"))

    def test_response_format(self):
        named = {"type": "json_schema",
                 "json_schema": {"name": "city", "strict": True, "schema": CITY}}
        self.check_city(self.chat(response_format=named)["message"]["content"])
        self.check_city(self.complete(response_format=named))
        self.assertTrue(self.chat(response_format={"type": "text"})["message"]["content"])

    def test_structural_tag(self):
        for more in ({"response_format": {"type": "structural_tag", **TAG}},
                     {"structured_outputs": {"structural_tag": json.dumps(TAG)}}):
            text = self.chat(**more)["message"]["content"]
            for inside in re.findall("<city>(.*?)</city>", text, re.S):
                self.check_city(inside)

    def test_tools(self):
        call = self.chat(tools=[TOOL], tool_choice="required")["message"]["tool_calls"][0]
        self.assertEqual(call["function"]["name"], "look_up")
        self.check_city(call["function"]["arguments"])
        named = {"type": "function", "function": {"name": "look_up"}}
        call = self.chat(tools=[TOOL], tool_choice=named)["message"]["tool_calls"][0]
        self.assertEqual(call["function"]["name"], "look_up")
        self.check_city(call["function"]["arguments"])

    def test_responses(self):
        body = {"input": "Name a city.", "max_output_tokens": 100,
                "text": {"format": {"type": "json_schema", "name": "city", "schema": CITY}}}
        reply = self.ask("/v1/responses", body)
        self.assertEqual(reply["status"], "completed", reply)
        message = [item for item in reply["output"] if item["type"] == "message"][0]
        self.check_city(message["content"][0]["text"])

    def test_stream(self):
        body = {"messages": MESSAGES, "max_tokens": 100, "stream": True, "temperature": 1.0,
                "seed": 3, "structured_outputs": {"json": CITY}}
        status, reply, _ = self.served.post("/v1/chat/completions", body)
        self.assertEqual(status, 200, reply)
        lines = [line[6:] for line in reply.decode().splitlines() if line.startswith("data: {")]
        choices = [choice for line in lines for choice in json.loads(line)["choices"]]
        self.check_city("".join(choice["delta"].get("content") or "" for choice in choices))
        self.assertEqual(choices[-1]["finish_reason"], "stop")

    def test_several_answers_with_logprobs_and_penalties(self):
        reply = self.ask("/v1/completions", {
            "prompt": "A city:", "n": 4, "max_tokens": 100, "temperature": 1.2, "seed": 5,
            "logprobs": 2, "presence_penalty": 0.5, "min_tokens": 3,
            "structured_outputs": {"json": CITY}})
        self.assertEqual(len(reply["choices"]), 4)
        for choice in reply["choices"]:
            self.assertEqual(choice["finish_reason"], "stop")
            self.check_city(choice["text"])

    def test_truncated_and_warned(self):
        body = {"prompt": "A city:", "max_tokens": 3, "structured_outputs": {"json": CITY}}
        for more in ({}, {"stream": True}):
            status, reply, headers = self.served.post("/v1/completions", {**body, **more})
            self.assertEqual(status, 200, reply)
            self.assertIn("max_tokens is 3", headers.get("Warning", ""))
            self.assertIn(b'"length"', reply)
        _, _, headers = self.served.post("/v1/completions", {**body, "max_tokens": 100})
        self.assertNotIn("Warning", headers)

    def test_what_cannot_be_is_refused(self):
        for constraint, parts in (
                ({"json": {"properties": {"a": {"unevaluatedItems": False}}}},
                 ("#/properties/a", "unevaluatedItems", "unsupported")),
                ({"json": {"allOf": [{"type": "string"}, {"type": "integer"}]}}, ("#", "admits")),
                ({"json": {"type": "strin"}}, ("type", "strin")),
                ({"json": {"pattern": "("}}, ("pattern",)),
                ({"json": "{"}, ("json",)),
                ({"regex": "(a"}, ("regex",)),
                ({"regex": "a(?=b)"}, ("unsupported",)),
                ({"grammar": "root ::= x"}, ("line 1", "x")),
                ({"grammar": "start: /a/"}, ("line 1",)),
                ({"choice": []}, ("choice",)),
                ({}, ("structured_outputs",)),
                ({"regex": "a", "choice": ["b"]}, ("one constraint",)),
                ({"json": CITY, "whitespace_pattern": "x"}, ("whitespace_pattern",))):
            with self.subTest(constraint=constraint):
                reply = self.ask("/v1/completions",
                                 {"prompt": "a", "max_tokens": 5,
                                  "structured_outputs": constraint}, status=400)
                for part in parts:
                    self.assertIn(part, reply["error"]["message"])
        bad_tool = {"type": "function",
                    "function": {"name": "f", "parameters": {"$dynamicRef": "#a"}}}
        reply = self.ask("/v1/chat/completions",
                         {"messages": MESSAGES, "tools": [bad_tool], "tool_choice": "required"},
                         status=400)
        self.assertIn("$dynamicRef", reply["error"]["message"])


class SlowGrammarTest(ServedTest):
    flags = ("--max-model-len", "512", "--grammar-compile-timeout", "0.1",
             "--structured-outputs-config.backend", "xgrammar",
             "--structured-outputs-config.disable_any_whitespace", "true",
             "--structured-outputs-config.disable_additional_properties", "true")

    def complete(self, constraint):
        status, reply, _ = self.served.post("/v1/completions", {
            "prompt": "a", "max_tokens": 100, "temperature": 1.0, "seed": 1,
            "structured_outputs": constraint})
        return status, json.loads(reply)

    def test_a_grammar_that_takes_too_long_is_refused_and_others_are_served(self):
        slow = {"choice": [f"choice {7919 * i % 1000003}" for i in range(60000)]}
        for _ in range(2):
            status, reply = self.complete(slow)
            self.assertEqual(status, 400, reply)
            self.assertIn("--grammar-compile-timeout", reply["error"]["message"])
        status, reply = self.complete({"choice": ["yes"]})
        self.assertEqual((status, reply["choices"][0]["text"]), (200, "yes"))

    def test_the_servers_manner_holds_for_every_request(self):
        status, reply = self.complete({"json": {
            "type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}},
            "required": ["a", "b"]}})
        self.assertEqual(status, 200, reply)
        self.assertEqual(reply["choices"][0]["text"], '{"a": 1, "b": 2}')


if __name__ == "__main__":
    unittest.main()
