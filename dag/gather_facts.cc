#include "dag/gather_facts.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <variant>

#include "base/json.h"
#include "base/str.h"
#include "dag/publisher.h"
#include "dag/unit_id.h"

namespace pipeline {

namespace {

Facts::Files FilesOf(const StageSpec& spec, const HashFile& hash, Status& interrupted) {
  Facts::Files files;
  Result<std::vector<LocalInput>> inputs = spec.type->local_inputs(spec.config);
  if (!inputs.ok()) {
    files.missing = std::move(inputs).status();
    return files;
  }
  for (const LocalInput& input : *inputs) {
    Result<SourceFile> file = hash(input);
    if (!file.ok()) {
      if (file.status().code() == Code::kCancelled) interrupted = file.status();
      files.missing = std::move(file).status();
      return files;
    }
    files.files.push_back(std::move(*file));
  }
  return files;
}

/// What stands at `place`.
Result<Facts::Published> PublishedAt(const Environment& environment, const std::string& place) {
  Facts::Published published;
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, environment.open_store(place));
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, store->List(""));
  std::map<std::string_view, std::uint64_t> sizes;
  for (const ObjectInfo& object : objects) sizes.emplace(object.name, object.size);
  if (!sizes.contains(kManifestName)) {
    published.foreign = !objects.empty() && !sizes.contains(kClaimName);
    return published;
  }
  Result<Manifest> manifest = ReadManifest(*store, place);
  if (!manifest.ok()) return std::move(manifest).status();
  const auto check = [&](const StoredObject& object) {
    const auto found = sizes.find(object.name);
    if (found != sizes.end() && found->second == object.bytes) return;
    if (published.whole) published.missing = object.name;
    published.whole = false;
  };
  for (const ManifestShard& shard : manifest->shards) check(shard.object);
  for (const StoredObject& sidecar : manifest->sidecars) check(sidecar);
  for (const StoredObject& follower : manifest->followers) check(follower);
  published.manifest = std::move(*manifest);
  return published;
}

/// The lineage and the place that the log's newest line of `stage` names.
struct LastLogged {
  const SegmentLine* segment = nullptr;
  std::string place;
};

bool IsShard(const UnitLine& line) {
  const std::optional<UnitId> unit = ParseUnitId(line.unit);
  return unit && std::holds_alternative<ShardId>(unit->part);
}

LastLogged LastOf(const RunLog& log, const std::string& stage) {
  LastLogged last;
  std::uint32_t newest = 0;
  for (const UnitLine* line : log.List(stage + "/")) {
    if (!line->place.empty() && line->segment >= newest && IsShard(*line)) last.place = line->place;
    if (line->segment > newest) newest = line->segment;
  }
  last.segment = log.FindSegment(newest);
  return last;
}

}  // namespace

Result<Facts> GatherFacts(const Graph& graph, const Environment& environment, const HashFile& hash) {
  Facts facts;
  for (const Node& node : graph.nodes()) {
    const StageSpec& spec = *node.spec;
    if (spec.type->gives == Flow::kFiles) {
      Status interrupted;
      facts.files.emplace(spec.name, FilesOf(spec, hash, interrupted));
      RETURN_IF_ERROR(interrupted);
      continue;
    }
    const LastLogged last = LastOf(*environment.log, spec.name);
    if (last.segment != nullptr) {
      ASSIGN_OR_RETURN(const Json json, Json::Parse(last.segment->lineage));
      ASSIGN_OR_RETURN(Lineage lineage, LineageFromJson(json));
      facts.logged.emplace(spec.name, std::move(lineage));
    }
    if (!spec.type->is_sink()) continue;
    const std::string place = PlaceOfStage(spec);
    ASSIGN_OR_RETURN(Facts::Published published, PublishedAt(environment, place));
    if (!published.manifest && !last.place.empty() && last.place != place) {
      // An older place that cannot be read is no reason to stop: it was only a chance to save work.
      const Result<Facts::Published> before = PublishedAt(environment, last.place);
      if (before.ok() && before->manifest && before->whole)
        facts.elsewhere.emplace(spec.name, Facts::Elsewhere{last.place, *before->manifest});
    }
    facts.published.emplace(spec.name, std::move(published));
  }
  facts.pieces = [&environment](const PieceKeys& keys, const std::string& directory) -> Result<Pieces> {
    ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, environment.work_store("artifacts/" + directory));
    return Pieces::Load(*environment.log, keys, *store);
  };
  return facts;
}

}  // namespace pipeline
