// Fields that go by another name inside than in the request of a client.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"

namespace quire {

// So that a refusal names what the client sent: "max_tokens: …" becomes "max_output_tokens: …" for
// one who sent that.
class FieldNames {
 public:
  // `inner` and what is inside it ("inner[1].x") are `outer` to the client. Of several rules for a
  // field the first one counts.
  void Add(std::string inner, std::string outer) {
    fields_.emplace_back(std::move(inner), std::move(outer));
  }
  // The part `inner` of a path (".function") under tools[i] is `outer` to the client.
  void AddOfTools(std::string inner, std::string outer) {
    of_tools_.emplace_back(std::move(inner), std::move(outer));
  }

  // What the client calls `field`.
  std::string Outer(std::string_view field) const;
  Status Translate(const Status& error) const;

 private:
  using Rules = std::vector<std::pair<std::string, std::string>>;
  Rules fields_;
  Rules of_tools_;
};

}  // namespace quire
