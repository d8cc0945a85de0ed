// The tables of formats: a row makes a format known under its name.
#pragma once

#include <span>

#include "server/reasoning_parser.h"
#include "server/tool_parser.h"

namespace quire {

std::span<const ToolFormat> ToolFormats();
std::span<const ReasoningFormat> ReasoningFormats();

// The parser of both for gpt-oss writes reasoning and calls alike, so that it stands alone.
bool IsHarmony(const ToolFormat& format);
bool IsHarmony(const ReasoningFormat& format);

}  // namespace quire
