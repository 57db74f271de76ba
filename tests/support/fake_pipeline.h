// Pipeline files over the fake stages, parsed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dag/pipeline_file/pipeline_file.h"

namespace pipeline {

/// A file with `stages` below its head: "  source: { type: fetch, url: u }\n" stands on line 4.
std::string FakeFile(std::string_view stages);

/// What is wrong with `text` as people see it, its file being called "p.yaml".
std::vector<std::string> MistakesIn(std::string_view text, const ParseOptions& options = {});

/// `text` parsed; the test fails where it has mistakes, and the spec is then empty.
PipelineSpec ParseFake(std::string_view text, const ParseOptions& options = {});

}  // namespace pipeline
