// Every chat template of the reference data over every conversation, and the small Jinja cases.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/strings.h"
#include "tokenizer/chat_template.h"
#include "tokenizer/testing.h"

namespace quire {
namespace {

namespace fs = std::filesystem;

constexpr LocalTime kNow = {2026, 7, 14, 9, 5, 3, 0};

fs::path Root() {
  const fs::path data = testing::ReferenceData();
  return data.empty() ? data : data / "templates";
}

const Json& Member(const Json& object, std::string_view name) {
  static const Json* null = new Json();
  const Json* found = object.Find(name);
  return found == nullptr ? *null : *found;
}

bool Flag(const Json& object, std::string_view name) {
  const Json& value = Member(object, name);
  return value.is_bool() && value.boolean();
}

ChatInputs InputsOf(const Json& conversation) {
  ChatInputs inputs;
  inputs.messages = Member(conversation, "messages");
  inputs.tools = Member(conversation, "tools");
  inputs.documents = Member(conversation, "documents");
  inputs.add_generation_prompt = Flag(conversation, "add_generation_prompt");
  inputs.continue_final_message = Flag(conversation, "continue_final_message");
  for (const auto& [name, text] : {std::pair{"bos_token", "<BOS>"},
                                   {"eos_token", "<EOS>"},
                                   {"pad_token", "<PAD>"},
                                   {"unk_token", "<UNK>"}}) {
    inputs.variables.emplace_back(name, Json(text));
  }
  const Json& kwargs = Member(conversation, "kwargs");
  if (kwargs.is_object()) {
    for (const auto& [name, value] : kwargs.object()) inputs.variables.emplace_back(name, value);
  }
  inputs.now = kNow;
  return inputs;
}

// What is wrong with a result; "" where it is as the row wants it.
std::string Compare(const Json& row, const Result<std::string>& got, const TemplateError& error,
                    std::string_view text_key) {
  const Json* text = row.Find(text_key);
  if (text != nullptr) {
    if (!got.ok()) return StrCat("want a text, got: ", got.status().message());
    if (*got == text->string()) return "";
    std::size_t at = 0;
    while (at < got->size() && at < text->string().size() && (*got)[at] == text->string()[at]) ++at;
    const std::size_t from = at > 20 ? at - 20 : 0;
    return StrCat("differ at ", at, "\n  want …", Printable(text->string().substr(from), 120),
                  "\n  got  …", Printable(got->substr(from), 120));
  }
  if (got.ok()) {
    return StrCat("want the error ", row.Find("message")->string(), ", got ", Printable(*got, 100));
  }
  if (row.Find("error")->string() != "raise_exception") return "";
  if (!error.is_raised) return StrCat("want a raise_exception, got ", got.status().message());
  if (got.status().message() == row.Find("message")->string()) return "";
  return StrCat("want the message ", row.Find("message")->string(), ", got ",
                got.status().message());
}

TEST(GoldenTemplates, EveryConversationRendersAsTheOriginal) {
  if (Root().empty() || !fs::exists(Root() / "conversations.json")) {
    GTEST_SKIP() << "the reference templates are absent";
  }
  const auto conversations = ParseJson(testing::ReadText(Root() / "conversations.json"));
  ASSERT_TRUE(conversations.ok());
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(Root() / "expected"))
    paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  int num_renders = 0;
  for (const fs::path& path : paths) {
    const std::string name = path.stem().string();
    const auto source = testing::ReadText(Root() / "chat" / (name + ".jinja"));
    TemplateError error;
    const auto chat_template = ChatTemplate::Parse(source, &error);
    const std::vector<Json> rows = testing::ReadJsonLines(path);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      ++num_renders;
      const std::string& case_name = rows[i].Find("case")->string();
      if (!chat_template.ok()) {
        ADD_FAILURE() << name << ": " << chat_template.status().message();
        break;
      }
      error = {};
      const auto text = chat_template->Render(InputsOf(conversations->array()[i]), &error);
      const std::string fault = Compare(rows[i], text, error, "text");
      EXPECT_EQ(fault, "") << name << " " << case_name;
    }
  }
  EXPECT_GT(num_renders, 500);
}

TEST(GoldenTemplates, EveryPublishedTemplateParses) {
  if (Root().empty()) GTEST_SKIP() << "the reference templates are absent";
  for (const auto& entry : fs::directory_iterator(Root() / "chat")) {
    const auto parsed = ChatTemplate::Parse(testing::ReadText(entry.path()));
    EXPECT_TRUE(parsed.ok()) << entry.path() << ": " << parsed.status().message();
  }
}

TEST(GoldenTemplates, SmallCasesRenderAsJinja) {
  if (Root().empty() || !fs::exists(Root() / "units.jsonl")) {
    GTEST_SKIP() << "the reference templates are absent";
  }
  const auto context = ParseJson(testing::ReadText(Root() / "units.context.json"));
  ASSERT_TRUE(context.ok());
  for (const Json& row : testing::ReadJsonLines(Root() / "units.jsonl")) {
    TemplateError error;
    const std::string& source = row.Find("template")->string();
    const auto parsed = ChatTemplate::Parse(source, &error);
    const Result<std::string> text = parsed.ok() ? parsed->RenderContext(*context, kNow, {}, &error)
                                                 : Result<std::string>(parsed.status());
    const std::string fault = Compare(row, text, error, "expected");
    EXPECT_EQ(fault, "") << row.Find("i")->integer() << " " << source;
  }
}

}  // namespace
}  // namespace quire
