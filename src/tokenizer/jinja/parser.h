// From tokens to a syntax tree.
#pragma once

#include <memory>
#include <string_view>

#include "tokenizer/jinja/ast.h"

namespace quire::jinja {

// The template; null on a syntax error, told in `error`. Nesting is bounded.
std::unique_ptr<Template> ParseTemplate(std::string_view source, SyntaxError& error);

// Whether a filter, a test of the name exists (filters.cc, tests.cc).
bool HasFilter(std::string_view name);
bool HasTest(std::string_view name);

}  // namespace quire::jinja
