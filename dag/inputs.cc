#include "dag/inputs.h"

#include <string>

#include "base/str.h"

namespace pipeline {

Status CheckInputNames(const StageSpec& stage, const std::vector<SourceFile>& files) {
  if (!stage.type->check_inputs) return {};
  std::vector<std::string> names;
  for (const SourceFile& file : files) names.push_back(file.input.name);
  return stage.type->check_inputs(stage.config, names);
}

void CheckInputs(const Graph& graph, const Facts& facts, Plan& plan) {
  const auto spec = [&graph](int node) -> const StageSpec& {
    return *graph.nodes()[static_cast<std::size_t>(node)].spec;
  };
  const auto refuse = [&](int node, const Status& why, bool may_be_there = false) {
    (may_be_there ? plan.reports : plan.refusals)
        .push_back(StrCat("stage '", spec(node).name, "': ", why.message()));
  };
  for (const PlannedSegment& segment : plan.segments) {
    if (segment.state != PlannedSegment::State::kWanted || !segment.copy_from.empty()) continue;
    for (const int at : segment.chain)
      if (const auto taken = facts.taken.find(spec(at).name); taken != facts.taken.end())
        for (const Facts::TakenFile& file : taken->second)
          if (!file.missing.ok()) refuse(at, file.missing);
    if (segment.files < 0 || segment.pieces.complete()) continue;
    const auto files = facts.files.find(spec(segment.files).name);
    if (files == facts.files.end()) continue;
    const Status& missing = files->second.missing;
    if (!missing.ok()) {
      refuse(segment.files, missing, facts.offline && missing.code() == Code::kUnavailable);
      continue;
    }
    const int reader = segment.chain.front();
    if (const Status why = CheckInputNames(spec(reader), files->second.files); !why.ok()) refuse(reader, why);
  }
}

}  // namespace pipeline
