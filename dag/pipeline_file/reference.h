// Descriptions of the pipeline file for people and for editors, made from the tables that its parser uses.
#pragma once

#include <string>

#include "base/json.h"

namespace pipeline {

class Registry;

/// Returns the reference page, in Markdown.
std::string ReferenceMarkdown(const Registry& registry);

/// Returns a JSON Schema (draft 2020-12) of the file before variables are replaced, as an editor reads it.
/// It accepts whatever the parser accepts; only the parser checks names, inputs, flows and sums.
Json PipelineSchema(const Registry& registry);

}  // namespace pipeline
