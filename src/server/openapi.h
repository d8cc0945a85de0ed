// GET /openapi.json and /docs: what the routes take, made from the lists of fields that parse.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quire {

// What is said of a route.
struct RouteDoc {
  std::string_view method;
  std::string_view path;
  std::string_view summary;
  std::string_view request;  // the name of its body's schema; empty: no body
};

// Every route of the server whose description is fixed.
const std::vector<RouteDoc>& RouteDocs();

// An OpenAPI 3.1 document.
std::string OpenApiJson(std::string_view version);

// A page that shows the document without anything from elsewhere.
std::string DocsPage();

}  // namespace quire
