#include "tokenizer/chat_template.h"

#include <string>

#include <gtest/gtest.h>

#include "base/strings.h"

namespace quire {
namespace {

Json Chat(std::initializer_list<std::pair<const char*, const char*>> messages) {
  JsonArray array;
  for (const auto& [role, content] : messages) {
    array.push_back(JsonObject{{"role", Json(role)}, {"content", Json(content)}});
  }
  return array;
}

constexpr std::string_view kPlain =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}";

TEST(ChatTemplate, RendersMessagesAndTheGenerationPrompt) {
  const auto chat = ChatTemplate::Parse(kPlain);
  ASSERT_TRUE(chat.ok());
  ChatInputs inputs;
  inputs.messages = Chat({{"user", "Hi"}, {"assistant", "Hello"}});
  EXPECT_EQ(*chat->Render(inputs), "<user>Hi\n<assistant>Hello\n");
  inputs.add_generation_prompt = true;
  EXPECT_EQ(*chat->Render(inputs), "<user>Hi\n<assistant>Hello\n<assistant>");
}

TEST(ChatTemplate, ContinuesTheFinalMessage) {
  const auto chat = ChatTemplate::Parse(kPlain);
  ChatInputs inputs;
  inputs.messages = Chat({{"user", "Count"}, {"assistant", "one, "}});
  inputs.continue_final_message = true;
  EXPECT_EQ(*chat->Render(inputs), "<user>Count\n<assistant>one, ");
  inputs.messages = Json(JsonArray());
  EXPECT_FALSE(chat->Render(inputs).ok());
}

TEST(ChatTemplate, TellsWhereASyntaxErrorIs) {
  TemplateError error;
  EXPECT_FALSE(ChatTemplate::Parse("line one\n  {{ 1 + }}", &error).ok());
  EXPECT_EQ(error.line, 2);
  EXPECT_EQ(error.column, 10);
  EXPECT_NE(error.status.message().find("line 2, column 10"), std::string::npos);
}

TEST(ChatTemplate, TellsWhereARenderingFails) {
  const auto chat = ChatTemplate::Parse("ok\n{{ messages.x.y }}");
  TemplateError error;
  EXPECT_FALSE(chat->Render({}, &error).ok());
  EXPECT_EQ(error.line, 2);
  EXPECT_FALSE(error.is_raised);
}

TEST(ChatTemplate, ARefusalCarriesTheTemplatesOwnWords) {
  const auto chat = ChatTemplate::Parse("{{ raise_exception('roles must alternate') }}");
  TemplateError error;
  const auto text = chat->Render({}, &error);
  ASSERT_FALSE(text.ok());
  EXPECT_EQ(text.status().message(), "roles must alternate");
  EXPECT_TRUE(error.is_raised);
}

TEST(ChatTemplate, BoundsTheMessageThatATemplateRaises) {
  const auto chat = ChatTemplate::Parse("{{ raise_exception('é' * 100000) }}");
  ASSERT_TRUE(chat.ok());
  const std::string message = chat->Render({}).status().message();
  EXPECT_LT(message.size(), 1100U);
  EXPECT_TRUE(IsValidUtf8(message));
}

TEST(ChatTemplate, KnowsWhichVariablesItReads) {
  const auto chat = ChatTemplate::Parse("{{ tools }}{% if enable_thinking %}x{% endif %}");
  EXPECT_TRUE(chat->Uses("tools"));
  EXPECT_TRUE(chat->Uses("enable_thinking"));
  EXPECT_FALSE(chat->Uses("documents"));
}

TEST(ChatTemplate, KnowsWhetherItLooksAtContentParts) {
  EXPECT_FALSE(ChatTemplate::Parse(kPlain)->WantsContentParts());
  EXPECT_TRUE(ChatTemplate::Parse("{% for m in messages %}{% if m.content is string %}a{% endif %}"
                                  "{% endfor %}")
                  ->WantsContentParts());
  EXPECT_TRUE(ChatTemplate::Parse(
                  "{% for m in messages %}{% for p in m['content'] %}a{% endfor %}{% endfor %}")
                  ->WantsContentParts());
}

// Each would run or grow without end: into the limit that the test runner has for a program.
TEST(ChatTemplate, HostileTemplatesEnd) {
  const std::string_view templates[] = {
      "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}",
      "{% set ns = namespace(s='xxxxxxxxxxxxxxxx') %}{% for i in range(1000) %}"
      "{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
      "{{ 'x' * 10000000000 }}",
      "{{ [1] * 10000000000 }}",
      "{% macro m(x) %}{{ m(x) }}{% endmacro %}{{ m(1) }}",
      "{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}",
      "{% set ns = namespace(x=[]) %}{% for i in range(100000) %}{% set ns.x = [ns.x] %}"
      "{% endfor %}{{ ns.x }}",
      "{{ '%1000000000d' % 1 }}{{ 'x'.center(1000000000) }}",
      "{{ 'ab'.replace('', 'xxxxxxxxxxxxxxxx' * 1000000) }}",
      "{{ 9 ** 9 ** 9 ** 9 }}",
      "{% set ns = namespace() %}{% set ns.ns = [ns] %}{{ ns }}{{ ns.ns }}",
  };
  for (const std::string_view source : templates) {
    const auto chat = ChatTemplate::Parse(source);
    ASSERT_TRUE(chat.ok()) << source;
    const auto text = chat->Render({});
    if (text.ok()) {
      EXPECT_LT(text->size(), 4096u) << source;
    }
  }
}

TEST(ChatTemplate, DeepNestingIsRefused) {
  EXPECT_FALSE(ChatTemplate::Parse("{{ " + std::string(100'000, '(') + " }}").ok());
  EXPECT_FALSE(ChatTemplate::Parse("{{ " + std::string(100'000, '-') + "1 }}").ok());
  std::string blocks;
  for (int i = 0; i < 10'000; ++i) blocks += "{% if x %}";
  EXPECT_FALSE(ChatTemplate::Parse(blocks).ok());
  std::string nots = "{{ ";
  for (int i = 0; i < 100'000; ++i) nots += "not ";
  EXPECT_FALSE(ChatTemplate::Parse(nots + "1 }}").ok());
  std::string chain = "{{ x";
  for (int i = 0; i < 100'000; ++i) chain += "|d";
  const auto parsed = ChatTemplate::Parse(chain + " }}");
  if (parsed.ok()) {
    EXPECT_FALSE(parsed->Render({}).ok());
  }
}

TEST(LocalTime, ReadsIsoTimes) {
  const auto time = ParseLocalTime("2026-07-14T09:05:03.250");
  ASSERT_TRUE(time.ok());
  EXPECT_EQ(time->hour, 9);
  EXPECT_EQ(time->microsecond, 250'000);
  EXPECT_TRUE(ParseLocalTime("2026-07-14").ok());
  EXPECT_FALSE(ParseLocalTime("14.07.2026").ok());
  EXPECT_FALSE(ParseLocalTime("2026-13-01").ok());
}

TEST(ChatTemplate, ComputesAsPythonDoes) {
  const auto rendered = [](std::string_view source) {
    const auto chat = ChatTemplate::Parse(source);
    if (!chat.ok()) return chat.status().message();
    const auto text = chat->Render({.messages = Json(JsonArray())});
    return text.ok() ? *text : StrCat("error: ", text.status().message());
  };
  EXPECT_EQ(rendered("{{ 3 // 0.1 }} {{ -3 // 0.1 }} {{ 7.5 // 2 }} {{ 1e300 // 3 > 1 }}"),
            "29.0 -30.0 3.0 True");
  EXPECT_EQ(rendered("{{ nothing is callable }} {{ 'a' is callable }}"), "True False");
  EXPECT_EQ(rendered("{{ ['abcdefgh', 'ijklmnop'] | truncate(4) }}"), "['abcdefgh', 'ijklmnop']");
  EXPECT_EQ(rendered("{{ {'a': 'bcdefghijkl'} | truncate(4) }}"), "{'a': 'bcdefghijkl'}");
  EXPECT_EQ(rendered("{{ ['a', 'b'] | map('upper') | reverse }}"), "['B', 'A']");
  EXPECT_EQ(rendered("{{ '{:>3}|{}'.format(true, true) }}"), "  1|True");
  EXPECT_NE(rendered("{{ 5[1:] }}").find("'int' object is not subscriptable"), std::string::npos);
  EXPECT_NE(rendered("{{ {'a': 1}[:1] }}").find("unhashable type: 'slice'"), std::string::npos);
  EXPECT_NE(rendered("{{ 'abc'[1.5:] }}").find("slice indices"), std::string::npos);
}

TEST(ChatTemplate, FormatsWithPercentAsPythonDoes) {
  const auto rendered = [](std::string_view source) {
    const auto chat = ChatTemplate::Parse(source);
    const auto text = chat->Render({.messages = Json(JsonArray())});
    return text.ok() ? *text : text.status().message();
  };
  EXPECT_EQ(rendered("{{ '%5s|%-5s|%05d|%+.2f|%x|%%' % ('a', 'b', 42, 1.5, 255) }}"),
            "    a|b    |00042|+1.50|ff|%");
  EXPECT_EQ(rendered("{{ '%(k)s and %(k)r' % {'k': 'v'} }}"), "v and 'v'");
  EXPECT_NE(rendered("{{ '%s %s' % 'a' }}").find("not enough arguments"), std::string::npos);
  EXPECT_NE(rendered("{{ 'a' % 'b' }}").find("not all arguments"), std::string::npos);
  EXPECT_NE(rendered("{{ '%' % 1 }}").find("incomplete format"), std::string::npos);
}

}  // namespace
}  // namespace quire
