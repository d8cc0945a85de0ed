#include <string_view>

#include "base/strings.h"
#include "server/openapi.h"

namespace quire {
namespace {

constexpr std::string_view kHead = R"(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Quire: routes</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
)";

constexpr std::string_view kStyle = R"(<style>
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
summary { cursor: pointer; padding: .4rem 0 }
code { font: 14px ui-monospace, monospace }
.method { display: inline-block; width: 3.5rem; font-weight: 600 }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1rem }
td { border-top: 1px solid #8884; padding: .25rem .5rem; vertical-align: top }
textarea { width: 100%; box-sizing: border-box; font: 14px ui-monospace, monospace }
pre { overflow: auto; max-height: 30rem; background: #8881; padding: .5rem }
</style>)";

constexpr std::string_view kBody = R"(</head><body>
<h1>Quire</h1>
<p>The routes of this server, read from <a href="openapi.json">openapi.json</a>.
<label>API key <input id="key" type="password" autocomplete="off"></label></p>
<div id="routes">…</div>
)";

// What the routes are drawn with.
constexpr std::string_view kParts = R"(<script>
"use strict";
const make = (tag, text) => {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  return node;
};
const headers = () => {
  const key = document.getElementById("key").value;
  return Object.assign({"Content-Type": "application/json"},
                       key ? {Authorization: "Bearer " + key} : {});
};
const kindOf = (schema) => schema.type ? [].concat(schema.type).join(" or ")
    : schema.enum ? schema.enum.map((x) => JSON.stringify(x)).join(" or ") : "any";
const fieldsOf = (schema) => {
  const table = make("table");
  for (const [name, field] of Object.entries(schema.properties || {})) {
    const row = table.insertRow();
    row.insertCell().append(make("code", name));
    row.insertCell().textContent = kindOf(field) +
        ("default" in field ? ", default " + JSON.stringify(field.default) : "") +
        ((schema.required || []).includes(name) ? ", required" : "");
    row.insertCell().textContent = field.description || "";
  }
  return table;
};
const tryOut = (method, path, takesBody) => {
  const box = make("div"), input = make("textarea"), button = make("button", "Send");
  const output = make("pre");
  input.rows = takesBody ? 4 : 1;
  input.value = takesBody ? "{}" : path;
  button.onclick = async () => {
    output.textContent = "…";
    try {
      const reply = await fetch(takesBody ? path : input.value, takesBody
          ? {method, headers: headers(), body: input.value} : {method, headers: headers()});
      output.textContent = reply.status + "\n" + await reply.text();
    } catch (error) { output.textContent = String(error); }
  };
  box.append(input, button, output);
  return box;
};
)";

constexpr std::string_view kRoutes =
    R"(fetch("openapi.json", {headers: headers()}).then((reply) => reply.json()).then((api) => {
  const routes = document.getElementById("routes");
  routes.textContent = "";
  for (const [path, operations] of Object.entries(api.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const details = make("details"), summary = make("summary");
      const name = make("span", method.toUpperCase());
      name.className = "method";
      summary.append(name, make("code", path), " ", operation.summary);
      details.append(summary);
      const body = operation.requestBody;
      if (body) {
        const ref = body.content["application/json"].schema.$ref.split("/").pop();
        details.append(fieldsOf(api.components.schemas[ref]));
      }
      details.append(tryOut(method.toUpperCase(), path, Boolean(body)));
      routes.append(details);
    }
  }
}).catch((error) => { document.getElementById("routes").textContent = String(error); });
</script></body></html>
)";

}  // namespace

std::string DocsPage() { return StrCat(kHead, kStyle, kBody, kParts, kRoutes); }

}  // namespace quire
