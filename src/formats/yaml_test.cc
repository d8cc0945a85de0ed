#include "formats/yaml.h"

#include <gtest/gtest.h>

#include "base/strings.h"

namespace quire {
namespace {

std::string Read(std::string_view text) {
  const auto json = ParseYaml(text);
  return json.ok() ? json->Dump() : "error: " + json.status().message();
}

TEST(Yaml, ReadsWhatConfigurationFilesHold) {
  EXPECT_EQ(Read("# a comment\n"
                 "model: org/name\n"
                 "port: 8001\n"
                 "gpu-memory-utilization: 0.5\n"
                 "enforce_eager: true\n"
                 "uds:\n"
                 "api-key: ['1', two]\n"
                 "hf-overrides:\n"
                 "  rope_scaling: {factor: 8, type: \"yarn\"}\n"
                 "stop:\n"
                 "- a\n"
                 "- 'true'\n"),
            R"({"model":"org/name","port":8001,"gpu-memory-utilization":0.5,"enforce_eager":true,)"
            R"("uds":null,"api-key":["1","two"],)"
            R"("hf-overrides":{"rope_scaling":{"factor":8,"type":"yarn"}},"stop":["a","true"]})");
  EXPECT_EQ(Read(""), "null");
  EXPECT_EQ(Read("{\"a\": [1, 2]}"), R"({"a":[1,2]})");
}

TEST(Yaml, LeavesTextThatIsNoNumber) {
  EXPECT_EQ(Read("[1.2.3, 4k, -, 1e, 0x10, 12:30, yes]"),
            R"(["1.2.3","4k","-","1e","0x10","12:30","yes"])");
}

TEST(Yaml, RefusesWhatCouldGrowOrMeanTwoThings) {
  EXPECT_EQ(Read("a: &x 1\nb: *x\n"), "error: line 1: anchors are not read");
  EXPECT_EQ(Read("a: !!python/object:os.system x\n"), "error: line 1: tags are not read");
  EXPECT_EQ(Read("a: 1\na: 2\n"), "error: line 2: a stands twice");
  EXPECT_EQ(Read("a: 1\n---\nb: 2\n"), "error: line 2: a second document begins");
  EXPECT_EQ(Read("[a]: 1\n"), "error: line 1: the name of a member must be a scalar");
  EXPECT_EQ(Read(std::string(10'000, '[')), "error: line 1: nested deeper than 32");
  EXPECT_NE(Read("a: [1\n").find("error: line "), std::string::npos);
  EXPECT_EQ(Read("a: \xff\n"), "error: YAML must be UTF-8");
  EXPECT_FALSE(ParseYaml("abc", {.max_bytes = 2}).ok());
}

}  // namespace
}  // namespace quire
