// For tests of /v1/chat/completions: where it is, and a body for it.
#pragma once

#include <string>
#include <string_view>

#include "base/strings.h"
#include "server/api_testing.h"

namespace quire {

inline constexpr const char* kPath = "/v1/chat/completions";

// Of one short message, or of `messages`; `more` are further members, each after a comma.
inline std::string Body(std::string_view more = "",
                        std::string_view messages = R"([{"role":"user","content":"hi"}])") {
  return StrCat(R"({"messages":)", messages, more, "}");
}

}  // namespace quire
