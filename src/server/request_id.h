// Names of requests in headers and logs.
#pragma once

#include <string>
#include <string_view>

namespace quire {

// 32 hexadecimal digits, different each time. Any thread.
std::string NewRequestId();

// `wanted` where it is one to 128 bytes of letters, digits and -_.:; otherwise a fresh one.
std::string SoundRequestId(std::string_view wanted);

}  // namespace quire
