"""The official Anthropic client against `quire serve` with the default model."""

import asyncio
import unittest

import anthropic

from served import ServedTest

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
WEATHER = {
    "name": "get_weather",
    "description": "weather of a city",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string", "maxLength": 12}},
        "required": ["city"],
        "additionalProperties": False,
    },
}


class AnthropicAsking(ServedTest):
    def setUp(self):
        self.client = anthropic.Anthropic(base_url=self.served.url, api_key="none", max_retries=0)
        self.addCleanup(self.client.close)

    def ask(self, **more):
        more = {"messages": QUESTION, "max_tokens": 5, "temperature": 0, **more}
        return self.client.messages.create(model=self.served.model, **more)


class AnthropicTest(AnthropicAsking):
    def test_message(self):
        reply = self.ask()
        self.assertEqual((reply.type, reply.role, reply.stop_reason),
                         ("message", "assistant", "max_tokens"))
        self.assertTrue(reply.content[0].text)
        self.assertEqual((reply.usage.input_tokens, reply.usage.output_tokens), (37, 5))

    def test_system_blocks_and_stop_sequences(self):
        reply = self.ask(system=[{"type": "text", "text": "You are brief."}],
                         stop_sequences=["a"], max_tokens=50)
        self.assertEqual((reply.stop_reason, reply.stop_sequence), ("stop_sequence", "a"))
        self.assertNotIn("a", reply.content[0].text)

    def test_stream_joins_to_the_whole(self):
        whole = self.ask()
        with self.client.messages.stream(
                model=self.served.model, messages=QUESTION, max_tokens=5,
                temperature=0) as stream:
            text = "".join(stream.text_stream)
            final = stream.get_final_message()
        self.assertEqual(text, whole.content[0].text)
        self.assertEqual(final.content[0].text, whole.content[0].text)
        self.assertEqual(final.usage.output_tokens, 5)
        self.assertEqual(final.stop_reason, "max_tokens")

    def test_raw_events_are_in_order(self):
        kinds = [event.type for event in self.ask(stream=True, max_tokens=3)]
        self.assertEqual(kinds[:2], ["message_start", "content_block_start"])
        self.assertEqual(kinds[-3:], ["content_block_stop", "message_delta", "message_stop"])
        self.assertEqual(set(kinds[2:-3]), {"content_block_delta"})

    def test_async(self):
        async def ask():
            async with anthropic.AsyncAnthropic(base_url=self.served.url, api_key="none",
                                                max_retries=0) as client:
                return await client.messages.create(
                    model=self.served.model, messages=QUESTION, max_tokens=4, temperature=0)

        self.assertTrue(asyncio.run(ask()).content[0].text)

    def test_count_tokens(self):
        count = self.client.messages.count_tokens(model=self.served.model, messages=QUESTION)
        self.assertEqual(count.input_tokens, 37)

    def test_tools_need_no_flag(self):
        self.assertTrue(self.ask(tools=[WEATHER]).content)

    def test_tools(self):
        self.constrains()
        reply = self.ask(tools=[WEATHER], tool_choice={"type": "any"}, max_tokens=80)
        call = reply.content[-1]
        self.assertEqual((reply.stop_reason, call.type, call.name),
                         ("tool_use", "tool_use", "get_weather"))
        self.assertEqual(list(call.input), ["city"])
        with self.client.messages.stream(
                model=self.served.model, messages=QUESTION, max_tokens=80, temperature=0,
                tools=[WEATHER], tool_choice={"type": "any"}) as stream:
            self.assertEqual(stream.get_final_message().content[-1].input, call.input)
        again = self.ask(tools=[WEATHER], tool_choice={"type": "none"}, messages=QUESTION + [
            {"role": "assistant", "content": [call.model_dump(include={"type", "id", "name", "input"})]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": call.id, "content": "sunny"}]}])
        self.assertTrue(again.content[0].text)

    def test_errors_have_the_clients_types(self):
        with self.assertRaises(anthropic.NotFoundError):
            self.client.messages.create(model="nope", messages=QUESTION, max_tokens=1)
        with self.assertRaises(anthropic.BadRequestError) as caught:
            self.ask(temperature=9)
        self.assertEqual(caught.exception.body["type"], "error")
        self.assertIn("temperature", caught.exception.body["error"]["message"])
        with self.assertRaises(anthropic.BadRequestError):
            self.ask(messages=[{"role": "user", "content": [
                {"type": "image", "source": {"type": "url", "url": "http://x"}}]}])
        with self.assertRaises(anthropic.BadRequestError) as caught:
            self.ask(stop_sequences=[""])
        self.assertIn("stop_sequences: ", caught.exception.body["error"]["message"])
        for ask in (lambda: self.client.messages.batches.list(),
                    lambda: self.client.messages.batches.retrieve("x")):
            with self.assertRaises(anthropic.NotFoundError) as caught:
                ask()
            self.assertEqual(caught.exception.body["error"]["type"], "not_found_error")


class ThinkingTest(AnthropicAsking):
    """A model that would think all the time."""

    flags = (*ServedTest.flags, "--reasoning-parser", "deepseek_r1")

    def test_a_budget_bounds_the_thinking(self):
        free = self.ask(max_tokens=30)
        self.assertEqual([block.type for block in free.content], ["thinking"])
        more = {"max_tokens": 30, "thinking": {"type": "enabled", "budget_tokens": 3}}
        bound = self.ask(**more)
        # A character may be cut where the budget ends.
        begun = bound.content[0].thinking.rstrip("\ufffd")
        self.assertLess(len(begun), len(free.content[0].thinking))
        self.assertTrue(free.content[0].thinking.startswith(begun))
        with self.client.messages.stream(
                model=self.served.model, messages=QUESTION, temperature=0, **more) as stream:
            streamed = stream.get_final_message()
        self.assertEqual(streamed.content, bound.content)
        self.assertEqual(streamed.usage.output_tokens, bound.usage.output_tokens)


if __name__ == "__main__":
    unittest.main()
