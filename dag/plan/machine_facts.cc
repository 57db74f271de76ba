#include "dag/plan/machine_facts.h"

#include "dag/pipeline_file/config.h"
#include "dag/pipeline_file/pipeline_file.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

Result<MachineFacts> MachineFactsOf(const Graph& graph, const Snapshot& snapshot) {
  MachineFacts facts;
  for (const NodeId node : graph.nodes().ids()) {
    const StageSpec& spec = *graph[node].spec;
    Hasher hasher;
    hasher.UpdateField("pipe machine v1").UpdateField(spec.type->name).UpdateU64(spec.type->version);
    hasher.UpdateField(CanonicalConfig(spec.type->keys, spec.config).Dump());
    hasher.UpdateField(spec.type->publishes() ? LocationOfStage(spec) : std::string());
    for (const auto& [library, version] : spec.type->LibrariesOf(spec.config))
      hasher.UpdateField(library).UpdateField(version);
    bool is_whole = true;
    if (const auto files = snapshot.side_files.find(spec.name); files != snapshot.side_files.end())
      for (const Snapshot::SideFile& file : files->second) {
        if (file.missing.code() == Code::kUnavailable) return file.missing;
        is_whole = is_whole && file.missing.ok();
        hasher.UpdateField(file.name).UpdateU64(file.digest.high).UpdateU64(file.digest.low);
      }
    if (is_whole) facts.emplace(spec.name, hasher.Finish());
  }
  return facts;
}

}  // namespace pipeline
