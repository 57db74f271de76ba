// The pipeline file described from the tables that its parser uses, for people and for editors.
#pragma once

#include <string>

#include "base/json.h"
#include "spec/registry.h"

namespace pipeline {

/// The reference page, in Markdown.
std::string ReferenceMarkdown(const Registry& registry);

/// JSON Schema (draft 2020-12) of the file as an editor reads it: before variables are replaced. It
/// accepts whatever the parser accepts; names, inputs, flows and sums are the parser's alone.
Json PipelineSchema(const Registry& registry);

}  // namespace pipeline
