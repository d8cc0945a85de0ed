"""The official OpenAI client against `quire serve` with the default model."""

import asyncio
import json
import unittest
from typing import Annotated

import openai
from pydantic import BaseModel, StringConstraints

from served import ServedTest

QUESTION = [{"role": "user", "content": "What is the capital of France?"}]
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "weather of a city",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "maxLength": 12}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


class City(BaseModel):
    name: Annotated[str, StringConstraints(max_length=12)]
    is_capital: bool


class ChatAsking(ServedTest):
    def setUp(self):
        self.client = openai.OpenAI(base_url=self.served.url + "/v1", api_key="none", max_retries=0)
        self.addCleanup(self.client.close)
        self.model = self.served.model

    def chat(self, **more):
        more = {"messages": QUESTION, "max_tokens": 12, "temperature": 0, **more}
        return self.client.chat.completions.create(model=self.model, **more)


class OpenAiTest(ChatAsking):
    def test_models(self):
        models = self.client.models.list().data
        self.assertEqual([model.id for model in models], [self.model])
        self.assertEqual(models[0].max_model_len, 2048)
        self.assertEqual(self.client.models.retrieve(self.model).id, self.model)
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("nope")

    def test_completion(self):
        reply = self.client.completions.create(
            model=self.model, prompt="The capital of France is", max_tokens=4, temperature=0,
            logprobs=2)
        self.assertIn("Paris", reply.choices[0].text)
        self.assertEqual(reply.choices[0].finish_reason, "length")
        self.assertEqual(reply.usage.completion_tokens, 4)
        logprobs = reply.choices[0].logprobs
        self.assertEqual("".join(logprobs.tokens), reply.choices[0].text)
        self.assertEqual(len(logprobs.top_logprobs), 4)
        for token, best in zip(logprobs.tokens, logprobs.top_logprobs):
            self.assertEqual(max(best, key=best.get), token)

    def test_completion_of_ids_equals_that_of_text(self):
        text = "The capital of France is"
        ids = json.loads(self.served.post("/tokenize", {"prompt": text})[1])["tokens"]
        prompts = [text, "One two three"]
        whole = self.client.completions.create(
            model=self.model, prompt=prompts, max_tokens=6, temperature=0)
        by_ids = self.client.completions.create(
            model=self.model, prompt=ids, max_tokens=6, temperature=0)
        self.assertEqual(whole.choices[0].text, by_ids.choices[0].text)
        self.assertEqual([choice.index for choice in whole.choices], [0, 1])

    def test_completion_stream_joins_to_the_whole(self):
        asked = dict(model=self.model, prompt="Once upon a time", max_tokens=20, temperature=0)
        whole = self.client.completions.create(**asked)
        chunks = list(self.client.completions.create(
            **asked, stream=True, stream_options={"include_usage": True}))
        text = "".join(c.choices[0].text for c in chunks if c.choices)
        self.assertEqual(text, whole.choices[0].text)
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage, whole.usage)
        self.assertEqual({c.id for c in chunks}, {chunks[0].id})

    def test_echo_with_logprobs(self):
        reply = self.client.completions.create(
            model=self.model, prompt="The capital of France", max_tokens=2, temperature=0,
            echo=True, logprobs=1)
        choice = reply.choices[0]
        self.assertTrue(choice.text.startswith("The capital of France"))
        self.assertEqual("".join(choice.logprobs.tokens), choice.text)
        self.assertIsNone(choice.logprobs.token_logprobs[0])
        for offset, token in zip(choice.logprobs.text_offset, choice.logprobs.tokens):
            self.assertEqual(choice.text[offset:offset + len(token)], token)

    def test_chat(self):
        reply = self.chat(max_completion_tokens=12, max_tokens=openai.NOT_GIVEN, seed=1, stop=["\n"])
        self.assertEqual(reply.choices[0].message.role, "assistant")
        self.assertTrue(reply.choices[0].message.content)
        self.assertEqual(reply.usage.prompt_tokens, 37)

    def test_chat_logprobs(self):
        reply = self.chat(logprobs=True, top_logprobs=3, max_tokens=5)
        content = reply.choices[0].logprobs.content
        self.assertEqual(len(content), reply.usage.completion_tokens)
        self.assertEqual("".join(entry.token for entry in content),
                         reply.choices[0].message.content)
        for entry in content:
            self.assertEqual(len(entry.top_logprobs), 3)
            self.assertEqual(bytes(entry.bytes).decode(), entry.token)

    def test_chat_stream(self):
        whole = self.chat()
        chunks = list(self.chat(stream=True))
        self.assertEqual(chunks[0].choices[0].delta.role, "assistant")
        self.assertEqual("".join(c.choices[0].delta.content or "" for c in chunks),
                         whole.choices[0].message.content)
        self.assertEqual(chunks[-1].choices[0].finish_reason, whole.choices[0].finish_reason)
        self.assertTrue(all(len(c.choices) == 1 for c in chunks))

    def test_chat_stream_helper(self):
        with self.client.chat.completions.stream(
                model=self.model, messages=QUESTION, max_tokens=50, temperature=0,
                stop=[" "]) as stream:
            kinds = {event.type for event in stream}
            final = stream.get_final_completion()
        self.assertIn("content.delta", kinds)
        self.assertTrue(final.choices[0].message.content)

    def test_many_answers(self):
        reply = self.chat(n=3, temperature=1, seed=5)
        self.assertEqual([choice.index for choice in reply.choices], [0, 1, 2])
        texts = {}
        for chunk in self.chat(n=3, temperature=1, seed=5, stream=True):
            for choice in chunk.choices:
                texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
        self.assertEqual([texts[i] for i in range(3)],
                         [choice.message.content for choice in reply.choices])

    def test_extra_fields(self):
        reply = self.chat(extra_body={"top_k": 1, "min_p": 0.1, "repetition_penalty": 1.1,
                                      "return_token_ids": True, "ignore_eos": True})
        self.assertEqual(len(reply.choices[0].token_ids), 12)
        self.assertEqual(len(reply.prompt_token_ids), 37)

    def test_logprobs_of_some_tokens(self):
        wanted = json.loads(self.served.post(
            "/tokenize", {"prompt": "Paris", "return_token_strs": True})[1])
        reply = self.client.completions.create(
            model=self.model, prompt="The capital of France is", max_tokens=1, temperature=0,
            extra_body={"logprob_token_ids": wanted["tokens"][:1]})
        best = reply.choices[0].logprobs.top_logprobs[0]
        self.assertEqual(set(best), {reply.choices[0].text, wanted["token_strs"][0]})
        chat = self.chat(logprobs=True, max_tokens=1,
                         extra_body={"logprob_token_ids": wanted["tokens"][:1]})
        self.assertIn(wanted["token_strs"][0], [
            each.token for each in chat.choices[0].logprobs.content[0].top_logprobs])

    def test_refusals_name_what_was_sent(self):
        cases = {
            "max_completion_tokens": dict(max_tokens=None, max_completion_tokens=99999),
            "reasoning_effort": dict(reasoning_effort="zz"),
            "response_format.json_schema.schema": dict(response_format={
                "type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "zz"}}}),
            "messages": dict(messages=[{"role": "user", "content": "word " * 20000}]),
        }
        for param, fields in cases.items():
            with self.assertRaises(openai.BadRequestError) as caught:
                self.chat(**fields)
            self.assertEqual(caught.exception.param, param)

    def test_rendering(self):
        for path, body in (
                ("/v1/chat/completions/render", {"messages": QUESTION}),
                ("/v1/responses/render", {"input": QUESTION}),
                ("/v1/messages/render",
                 {"model": self.model, "max_tokens": 1, "messages": QUESTION})):
            status, reply, _ = self.served.post(path, body)
            self.assertEqual(status, 200, reply)
            self.assertEqual(len(json.loads(reply)["token_ids"]), 37)
            self.assertIn("capital of France", json.loads(reply)["prompt_text"])

    def test_a_batch_of_chats_equals_the_chats(self):
        other = [{"role": "user", "content": "Name a colour."}]
        status, reply, _ = self.served.post("/v1/chat/completions/batch", {
            "messages": [QUESTION, other], "max_tokens": 8, "temperature": 0})
        self.assertEqual(status, 200, reply)
        texts = [choice["message"]["content"] for choice in json.loads(reply)["choices"]]
        self.assertEqual(texts, [
            self.chat(messages=messages, max_tokens=8).choices[0].message.content
            for messages in (QUESTION, other)])

    def test_beam_search(self):
        asked = dict(model=self.model, prompt="The capital of France is", max_tokens=6)
        reply = self.client.completions.create(
            **asked, n=3, extra_body={"use_beam_search": True})
        texts = [choice.text for choice in reply.choices]
        self.assertEqual(len(set(texts)), 3)
        one = self.client.completions.create(**asked, extra_body={"use_beam_search": True})
        greedy = self.client.completions.create(**asked, temperature=0)
        self.assertEqual(one.choices[0].text, greedy.choices[0].text)
        chat = self.chat(n=2, extra_body={"use_beam_search": True})
        self.assertEqual(len(chat.choices), 2)
        with self.assertRaises(openai.BadRequestError):
            self.chat(stream=True, extra_body={"use_beam_search": True})

    def test_async(self):
        async def ask():
            async with openai.AsyncOpenAI(base_url=self.served.url + "/v1", api_key="none",
                                          max_retries=0) as client:
                asked = dict(model=self.model, messages=QUESTION, max_tokens=8, temperature=0)
                wholes = await asyncio.gather(
                    *(client.chat.completions.create(**asked) for _ in range(8)))
                text = ""
                async for chunk in await client.chat.completions.create(**asked, stream=True):
                    text += chunk.choices[0].delta.content or ""
                return {whole.choices[0].message.content for whole in wholes} | {text}

        self.assertEqual(len(asyncio.run(ask())), 1)

    def test_tools_of_choice_none_and_auto(self):
        for choice in ("none", "auto"):
            reply = self.chat(tools=[WEATHER], tool_choice=choice)
            has_calls = bool(reply.choices[0].message.tool_calls)
            self.assertEqual(reply.choices[0].finish_reason == "tool_calls", has_calls)

    def test_tools_need_no_flag(self):
        reply = self.client.chat.completions.with_raw_response.create(
            model=self.model, messages=QUESTION, max_tokens=8, tools=[WEATHER])
        self.assertIn("tools", reply.headers["Warning"])
        self.assertEqual(len(reply.parse().choices), 1)

    def test_tools_required(self):
        self.constrains()
        reply = self.chat(tools=[WEATHER], tool_choice="required", max_tokens=80)
        call = reply.choices[0].message.tool_calls[0]
        self.assertEqual(call.function.name, "get_weather")
        self.assertEqual(list(json.loads(call.function.arguments)), ["city"])
        self.assertEqual(reply.choices[0].finish_reason, "tool_calls")
        arguments = ""
        for chunk in self.chat(tools=[WEATHER], tool_choice="required", max_tokens=80, stream=True):
            for part in chunk.choices[0].delta.tool_calls or []:
                arguments += part.function.arguments or ""
        self.assertEqual(arguments, call.function.arguments)

    def test_tools_named_and_their_answer(self):
        self.constrains()
        reply = self.chat(tools=[WEATHER], max_tokens=80, tool_choice={
            "type": "function", "function": {"name": "get_weather"}})
        message = reply.choices[0].message
        city = json.loads(message.tool_calls[0].function.arguments)["city"]
        again = self.chat(tools=[WEATHER], tool_choice="none", messages=QUESTION + [
            message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": message.tool_calls[0].id,
             "content": "sunny in " + city}])
        self.assertTrue(again.choices[0].message.content)

    def test_parse(self):
        self.constrains()
        reply = self.client.chat.completions.parse(
            model=self.model, max_tokens=100, temperature=0, response_format=City,
            messages=[{"role": "user", "content": "Paris, as JSON."}])
        self.assertIsInstance(reply.choices[0].message.parsed, City)

    def test_responses(self):
        reply = self.client.responses.create(
            model=self.model, input="What is the capital of France?", max_output_tokens=5,
            temperature=0, instructions="Be brief.", metadata={"a": "b"})
        self.assertEqual(reply.status, "incomplete")
        self.assertEqual(reply.incomplete_details.reason, "max_output_tokens")
        self.assertTrue(reply.output_text)
        self.assertEqual(reply.usage.output_tokens, 5)
        self.assertEqual(reply.metadata, {"a": "b"})
        kept = self.client.responses.retrieve(reply.id)
        self.assertEqual(kept.output_text, reply.output_text)
        again = self.client.responses.create(
            model=self.model, input="And of Spain?", previous_response_id=reply.id,
            max_output_tokens=8, temperature=0)
        self.assertGreater(again.usage.input_tokens, reply.usage.input_tokens)
        with self.assertRaises(openai.NotFoundError):
            self.client.responses.retrieve("resp_nope")
        with self.assertRaises(openai.BadRequestError):
            self.client.responses.cancel(reply.id)

    def test_responses_stream(self):
        asked = dict(model=self.model, input=QUESTION, max_output_tokens=6, temperature=0)
        whole = self.client.responses.create(**asked)
        with self.client.responses.stream(**asked) as stream:
            events = list(stream)
            final = stream.get_final_response()
        kinds = [event.type for event in events]
        self.assertEqual(kinds[:4], ["response.created", "response.in_progress",
                                     "response.output_item.added", "response.content_part.added"])
        self.assertEqual(kinds[-4:], ["response.output_text.done", "response.content_part.done",
                                      "response.output_item.done", "response.completed"])
        self.assertEqual([event.sequence_number for event in events], list(range(len(events))))
        self.assertEqual(final.output_text, whole.output_text)

    def test_responses_in_the_background(self):
        reply = self.client.responses.create(
            model=self.model, input="Count.", background=True, max_output_tokens=2000,
            extra_body={"ignore_eos": True})
        self.assertEqual(reply.status, "in_progress")
        self.assertEqual(self.client.responses.retrieve(reply.id).status, "in_progress")
        self.assertEqual(self.client.responses.cancel(reply.id).status, "cancelled")
        self.assertEqual(self.client.responses.retrieve(reply.id).status, "cancelled")

    def test_responses_stream_from_the_background(self):
        events = list(self.client.responses.create(
            model=self.model, input="Count.", background=True, stream=True, max_output_tokens=6,
            temperature=0))
        self.assertEqual(events[-1].type, "response.completed")
        again = list(self.client.responses.retrieve(events[0].response.id, stream=True))
        self.assertEqual(again, events)
        rest = list(self.client.responses.retrieve(
            events[0].response.id, stream=True, starting_after=4))
        self.assertEqual(rest, events[5:])
        plain = self.client.responses.create(model=self.model, input="a", max_output_tokens=1)
        with self.assertRaises(openai.BadRequestError) as caught:
            self.client.responses.retrieve(plain.id, stream=True)
        self.assertEqual(caught.exception.param, "stream")

    def test_responses_tools(self):
        self.constrains()
        tool = {"type": "function", "strict": True, **WEATHER["function"]}
        reply = self.client.responses.create(
            model=self.model, input="Weather in Paris?", tools=[tool], tool_choice="required",
            max_output_tokens=80, temperature=0)
        call = reply.output[-1]
        self.assertEqual((call.type, call.name), ("function_call", "get_weather"))
        again = self.client.responses.create(
            model=self.model, previous_response_id=reply.id, max_output_tokens=8, temperature=0,
            input=[{"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}])
        self.assertTrue(again.output_text)

    def test_responses_parse(self):
        self.constrains()
        reply = self.client.responses.parse(
            model=self.model, input="Paris, as JSON.", text_format=City, max_output_tokens=100,
            temperature=0)
        self.assertIsInstance(reply.output_parsed, City)

    def test_errors_have_the_clients_types(self):
        with self.assertRaises(openai.BadRequestError) as caught:
            self.chat(temperature=9)
        self.assertEqual(caught.exception.param, "temperature")
        with self.assertRaises(openai.NotFoundError):
            self.client.chat.completions.create(model="nope", messages=QUESTION)
        with self.assertRaises(openai.NotFoundError) as caught:
            self.client.embeddings.create(model=self.model, input="x")
        self.assertIn("pooling", str(caught.exception))

    def test_a_client_that_leaves_ends_its_request(self):
        stream = self.chat(max_tokens=1500, stream=True, extra_body={"ignore_eos": True})
        next(iter(stream))
        stream.close()
        for _ in range(100):
            if json.loads(self.served.get("/load")).get("server_load") == 0:
                break
        reply = self.chat(max_tokens=1)
        self.assertEqual(reply.usage.completion_tokens, 1)


class ThinkingTest(ChatAsking):
    """A model that would think all the time."""

    flags = (*ServedTest.flags, "--reasoning-parser", "deepseek_r1")

    def test_a_budget_bounds_the_reasoning(self):
        reply = self.chat(max_tokens=30, extra_body={"thinking_token_budget": 3})
        message = reply.choices[0].message
        self.assertTrue(message.reasoning)
        self.assertEqual(reply.usage.completion_tokens_details.reasoning_tokens, 3)
        joined = {"reasoning": "", "content": ""}
        for chunk in self.chat(max_tokens=30, stream=True,
                               extra_body={"thinking_token_budget": 3}):
            for name in joined:
                joined[name] += getattr(chunk.choices[0].delta, name, None) or ""
        self.assertEqual(joined, {"reasoning": message.reasoning, "content": message.content})

    def test_a_message_that_is_continued_tells_where_the_reasoning_is(self):
        for text, is_over in (("<think>The capital", False), ("<think>So</think>The capital", True)):
            reply = self.chat(
                messages=[*QUESTION, {"role": "assistant", "content": text}],
                extra_body={"continue_final_message": True, "add_generation_prompt": False,
                            "thinking_token_budget": 100})
            message = reply.choices[0].message
            told = message.content if is_over else message.reasoning
            self.assertIn(" of France", told)
            self.assertFalse(message.reasoning if is_over else message.content)


if __name__ == "__main__":
    unittest.main()
