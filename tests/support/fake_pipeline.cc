#include "tests/support/fake_pipeline.h"

#include <gtest/gtest.h>

#include "base/str.h"
#include "tests/support/fake_stages.h"

namespace pipeline {

std::string FakeFile(std::string_view stages) { return StrCat("pipe: 1\nname: fake\nstages:\n", stages); }

std::vector<std::string> MistakesIn(std::string_view text, const ParseOptions& options) {
  const ParsedPipeline parsed = ParsePipeline(text, "p.yaml", FakeRegistry(), options);
  EXPECT_NE(parsed.spec.has_value(), !parsed.mistakes.empty());
  std::vector<std::string> mistakes;
  for (const Mistake& mistake : parsed.mistakes) mistakes.push_back(ToString(mistake, "p.yaml"));
  return mistakes;
}

PipelineSpec ParseFake(std::string_view text, const ParseOptions& options) {
  ParsedPipeline parsed = ParsePipeline(text, "p.yaml", FakeRegistry(), options);
  for (const Mistake& mistake : parsed.mistakes) ADD_FAILURE() << ToString(mistake, "p.yaml");
  return parsed.spec ? std::move(*parsed.spec) : PipelineSpec{};
}

}  // namespace pipeline
