#include <memory>
#include <string>

#include "cli/commands/commands.h"
#include "cli/terminal/exit_code.h"
#include "cli/terminal/standard_output.h"
#include "cli/workspace/pipeline_loader.h"
#include "dag/pipeline_file/graph.h"

namespace pipeline {

namespace {

struct GraphOptions {
  PipelineOptions pipeline;
  std::string format = "mermaid";
};

int Draw(const GraphOptions& options) {
  const std::unique_ptr<LoadedPipeline> loaded = LoadPipeline(options.pipeline, LoadPurpose::kRead);
  if (!loaded) return kExitRefused;
  return PrintText(options.format == "dot" ? ToDot(loaded->graph, loaded->spec.name)
                                           : ToMermaid(loaded->graph, loaded->spec.name));
}

}  // namespace

Command GraphCommand() {
  const auto options = std::make_shared<GraphOptions>();
  return {
      .name = "graph",
      .help = "Draw the stages and their inputs",
      .words = Joined(PipelineWords(options->pipeline), {{.flags = {"--format"},
                                                          .value = "TEXT",
                                                          .help = "mermaid or dot",
                                                          .choices = {"mermaid", "dot"},
                                                          .to = &options->format}}),
      .run = [options](const Call&) { return Draw(*options); },
  };
}

}  // namespace pipeline
