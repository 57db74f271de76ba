#include "cli/commands/commands.h"
#include "cli/terminal/standard_output.h"
#include "dag/pipeline_file/reference.h"
#include "stages/all/builtin.h"

namespace pipeline {

Command SchemaCommand() {
  return {
      .name = "schema",
      .help = "Print the JSON Schema of pipeline files, for editors",
      .run = [](const Call&) { return PrintText(PipelineSchema(BuiltinStages()).DumpPretty()); },
  };
}

Command ReferenceCommand() {
  return {
      .name = "reference",
      .help = "Print the reference page of all stages and their keys",
      .run = [](const Call&) { return PrintText(ReferenceMarkdown(BuiltinStages())); },
  };
}

}  // namespace pipeline
