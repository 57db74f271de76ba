// Any bytes as a pipeline file: never a crash, and either a pipeline or mistakes with places in the
// file.
#include <algorithm>
#include <cstdint>
#include <string_view>

#include "dag/pipeline_file/graph.h"
#include "dag/pipeline_file/pipeline_file.h"
#include "tests/fuzz/require.h"
#include "tests/support/fake_stages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ParseOptions options;
  options.environment = [](const std::string&) { return std::optional<std::string>("value"); };
  const ParsedPipeline parsed = ParsePipeline(text, "f", FakeRegistry(), options);
  Require(parsed.spec.has_value() == parsed.mistakes.empty());
  const auto lines = 1 + std::count(text.begin(), text.end(), '\n');
  for (const Mistake& mistake : parsed.mistakes) {
    Require(mistake.at.line >= 1 && mistake.at.line <= lines);
    Require(mistake.at.column >= 1 && static_cast<std::size_t>(mistake.at.column) <= size + 1);
    Require(!mistake.message.empty());
  }
  if (parsed.spec) {
    std::vector<Mistake> mistakes;
    const Graph graph = Graph::Build(parsed.spec->stages, mistakes);
    Require(mistakes.empty() && graph.nodes().size() == parsed.spec->stages.size());
    Require(!ToDot(graph, parsed.spec->name).empty() && !ToMermaid(graph, parsed.spec->name).empty());
  }
  return 0;
}
