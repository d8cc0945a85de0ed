// The report of `quire inspect` for a person.
#include <cstdio>

#include "apps/quire/inspect_report.h"
#include "apps/quire/terminal.h"
#include "base/strings.h"

namespace quire {

namespace {

constexpr std::size_t kLabelWidth = 16;

// Reports are made by InspectModel(), so the members that these read are there.
const Json& At(const Json& object, std::string_view name) {
  const Json* found = object.Find(name);
  QUIRE_CHECK(found != nullptr) << name;
  return *found;
}
std::int64_t Int(const Json& object, std::string_view name) { return At(object, name).integer(); }
std::string Text(const Json& object, std::string_view name) {
  const Json& value = At(object, name);
  return value.is_string() ? ForTerminal(value.string()) : value.is_null() ? "" : value.Dump();
}
std::string Bytes(const Json& object, std::string_view name) {
  return HumanBytes(static_cast<std::uint64_t>(Int(object, name)));
}

std::string Number(double value, const char* format) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// "134.5 M"
std::string HumanCount(std::int64_t count) {
  const auto value = static_cast<double>(count);
  if (count >= 1'000'000'000) return Number(value / 1e9, "%.2f B");
  if (count >= 1'000'000) return Number(value / 1e6, "%.1f M");
  if (count >= 1'000) return Number(value / 1e3, "%.1f k");
  return StrCat(count);
}

void Line(std::string& out, std::string label, std::string_view text) {
  label.resize(kLabelWidth, ' ');
  out += StrCat(label, text, "\n");
}

void AppendFiles(std::string& out, const Json& files) {
  const auto count = static_cast<std::int64_t>(At(files, "names").array().size());
  const Json* version = files.Find("version");
  Line(out, "format",
       StrCat(Text(files, "format"), version == nullptr ? "" : StrCat(" v", version->integer()),
              ", ", Plural(count, "file"), ", ", Bytes(files, "bytes")));
}

void AppendWeights(std::string& out, const Json& weights) {
  Line(out, "parameters",
       StrCat(HumanCount(Int(weights, "parameters")), " in ", Int(weights, "tensors"), " tensors, ",
              Bytes(weights, "bytes")));
  const auto total = static_cast<double>(Int(weights, "bytes"));
  for (const Json& type : At(weights, "types").array()) {
    std::string name = Text(type, "type");
    name.resize(8, ' ');
    const double share = total == 0 ? 0.0 : static_cast<double>(Int(type, "bytes")) / total;
    Line(out, "",
         StrCat(name, Bytes(type, "bytes"), ", ", Number(share * 100.0, "%.1f"), "%, ",
                Plural(Int(type, "tensors"), "tensor")));
  }
}

void AppendModel(std::string& out, const Json& model) {
  if (const Json* error = model.Find("error")) {
    Line(out, "cannot compute", ForTerminal(error->string()));
    return;
  }
  Line(out, "layers",
       StrCat(Int(model, "layers"), ", hidden ", Int(model, "hidden_size"), ", feed-forward ",
              Int(model, "intermediate_size")));
  Line(out, "attention",
       StrCat(Int(model, "heads"), " heads of ", Int(model, "head_dim"), ", ",
              Int(model, "kv_heads"), " for keys and values"));
  if (const Json* window = model.Find("sliding_window")) {
    Line(out, "",
         StrCat("sliding window of ", window->integer(), " in ",
                Int(model, "sliding_window_layers"), " layers"));
  }
  const std::string scaling = Text(model, "rope_scaling");
  Line(out, "context",
       StrCat(Int(model, "context"), " tokens, rotary base ",
              Number(At(model, "rope_theta").number(), "%g"),
              scaling == "none"
                  ? ""
                  : StrCat(", ", scaling, " × ", Number(At(model, "rope_factor").number(), "%g"))));
  Line(out, "vocabulary",
       StrCat(Int(model, "vocab_size"),
              At(model, "tied_embeddings").boolean() ? ", head tied to the embedding" : ""));
}

void AppendMemory(std::string& out, const Json& memory) {
  Line(out, "memory",
       StrCat(Bytes(memory, "total_bytes"), " for ", Int(memory, "tokens"), " tokens: weights ",
              Bytes(memory, "weight_bytes"), ", KV cache ", Bytes(memory, "kv_bytes"), " (",
              Bytes(memory, "kv_bytes_per_token"), " a token)"));
}

std::string TokenText(const Json& token) {
  return StrCat(Text(token, "text"), " (", Int(token, "id"), ")");
}

void AppendTokenizer(std::string& out, const Json& tokenizer) {
  if (const Json* error = tokenizer.Find("error")) {
    Line(out, "tokenizer", StrCat("none: ", ForTerminal(error->string())));
    return;
  }
  const std::string pre = Text(tokenizer, "pre_tokenizer");
  Line(out, "tokenizer",
       StrCat(Text(tokenizer, "model"), pre.empty() ? "" : StrCat(", ", pre), ", ",
              Int(tokenizer, "vocab_size"), " tokens, from ", Text(tokenizer, "source")));
  for (const char* name : {"bos", "pad", "unk"}) {
    const Json& token = At(tokenizer, name);
    if (token.is_object()) Line(out, StrCat("  ", name), TokenText(token));
  }
  std::string ends;
  for (const Json& token : At(tokenizer, "eos").array()) {
    ends += StrCat(ends.empty() ? "" : ", ", TokenText(token));
  }
  if (!ends.empty()) Line(out, "  eos", ends);
}

void AppendTemplates(std::string& out, const Json& templates) {
  std::string text;
  for (const Json& entry : templates.array()) {
    text +=
        StrCat(text.empty() ? "" : ", ", Text(entry, "name"), " (", Int(entry, "bytes"), " bytes)");
  }
  Line(out, "chat template", text.empty() ? "none" : text);
}

void AppendGeneration(std::string& out, const Json& generation) {
  std::string text;
  for (const auto& [name, value] : generation.object()) {
    text += StrCat(text.empty() ? "" : ", ", name, " ",
                   value.is_string() ? ForTerminal(value.string()) : value.Dump());
  }
  Line(out, "sampling", text.empty() ? "no defaults of its own" : text);
}

void AppendTensors(std::string& out, const Json& tensors) {
  out += "\ntensors\n";
  for (const Json& tensor : tensors.array()) {
    std::string type = Text(tensor, "type");
    type.resize(8, ' ');
    std::string shape = StrCat("[",
                               Join(
                                   [&] {
                                     std::vector<std::int64_t> sizes;
                                     for (const Json& size : At(tensor, "shape").array())
                                       sizes.push_back(size.integer());
                                     return sizes;
                                   }(),
                                   ", "),
                               "]");
    if (shape.size() < 18) shape.resize(18, ' ');
    out += StrCat("  ", type, shape, " ", Text(tensor, "name"), "\n");
  }
}

}  // namespace

std::string DescribeReport(const Json& report) {
  std::string out = Text(report, "path") + "\n";
  Line(out, "architecture", Text(report, "architecture"));
  AppendFiles(out, At(report, "files"));
  AppendWeights(out, At(report, "weights"));
  AppendModel(out, At(report, "model"));
  if (const Json* memory = report.Find("memory")) AppendMemory(out, *memory);
  AppendTokenizer(out, At(report, "tokenizer"));
  if (const Json* templates = report.Find("chat_templates")) AppendTemplates(out, *templates);
  AppendGeneration(out, At(report, "generation"));
  if (const Json* tensors = report.Find("tensors")) AppendTensors(out, *tensors);
  return out;
}

}  // namespace quire
