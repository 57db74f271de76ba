#include "stages/verify/verify_artifact.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/mutex.h"
#include "base/str.h"
#include "dag/books/manifest.h"
#include "dag/location/location_names.h"
#include "dag/location/own_objects.h"
#include "dag/records/partition_output.h"
#include "stages/shards/shard_ranges.h"
#include "stages/verify/export_check.h"
#include "stages/verify/findings.h"
#include "stages/verify/verify_object.h"

namespace pipeline {

namespace {

void VerifyRecipes(const Lineage& lineage, const std::string& where, Findings& findings) {
  std::optional<Digest> input;
  for (const LineageStage& stage : lineage) {
    const std::string name = StrCat(where, "stage ", stage.stage);
    if (RecipeOf(stage, input) != stage.recipe)
      findings.Add(StrCat("lineage: ", name, ": its recipe is not that of the entries beside it"));
    for (const LineageInput& named_input : stage.named_inputs) {
      if (named_input.lineage.empty()) continue;
      if (named_input.lineage.back().recipe != named_input.digest)
        findings.Add(
            StrCat("lineage: ", name, ": its ", named_input.name, " has another recipe than its lineage"));
      VerifyRecipes(named_input.lineage, StrCat(name, ": ", named_input.name, ": "), findings);
    }
    input = stage.recipe;
  }
}

void VerifyPartitionSums(const Manifest& manifest, Findings& findings) {
  std::map<std::string, ArtifactTotals::Split, std::less<>> sums;
  for (const PartitionOutput& output : manifest.partitions)
    for (const auto& [name, split] : output.splits) {
      ArtifactTotals::Split& sum = sums[name];
      sum.records += split.records;
      sum.documents += split.documents;
      sum.bytes += split.bytes;
    }
  const auto differ = [&findings](const std::string& name, std::string_view what, std::uint64_t total,
                                  std::uint64_t sum) {
    if (total != sum)
      findings.Add(StrCat("split ", name, ": has ", total, " ", what, ", and its partitions ", sum));
  };
  for (const auto& [name, total] : manifest.splits) {
    const ArtifactTotals::Split& sum = sums[name];
    differ(name, "records", total.records, sum.records);
    differ(name, "documents", total.documents, sum.documents);
    differ(name, "bytes", total.bytes, sum.bytes);
  }
  for (const auto& [name, sum] : sums)
    if (!manifest.splits.contains(name)) findings.Add(StrCat("split ", name, ": has no totals"));
}

/// Checks that each recipe in the lineage matches the members beside it, named inputs included, and that
/// the totals of kept partitions are their sums. A seal proves more; it is checked when the manifest is
/// read.
void VerifyHead(const Manifest& manifest, Findings& findings) {
  VerifyRecipes(manifest.lineage, {}, findings);
  if (!manifest.partitions.empty()) VerifyPartitionSums(manifest, findings);
}

/// Checks the manifest against its own configuration: no split is empty, train has a multiple of `hosts`
/// shards, and every other split has at least `eval_batch` records.
void VerifySplits(const Manifest& manifest, Findings& findings) {
  struct Split {
    std::uint64_t shards = 0;
    std::uint64_t records = 0;
  };
  std::map<std::string_view, Split> splits;
  for (const ManifestShard& shard : manifest.shards) {
    Split& split = splits[shard.split];
    ++split.shards;
    split.records += shard.records;
  }
  const Json& config = manifest.lineage.back().config;
  const auto hosts = static_cast<std::uint64_t>(config["hosts"].AsInt(1));
  const auto eval_batch = static_cast<std::uint64_t>(config["eval_batch"].AsInt(0));
  for (const auto& [name, split] : splits) {
    const bool train = name == kTrainSplit;
    if (split.records == 0) findings.Add(StrCat("split ", name, ": has no records"));
    if (train && hosts > 0 && split.shards % hosts != 0)
      findings.Add(StrCat("split ", name, ": has ", split.shards, " shards for ", hosts,
                          " hosts, some of which would run out of data before the others"));
    if (!train && split.records > 0 && split.records < eval_batch)
      findings.Add(StrCat("split ", name, ": has ", split.records, " records, less than one batch of ",
                          eval_batch, " for evaluation"));
  }
}

constexpr std::string_view kPartitionSuffix = ".part";

/// One object to read.
struct Task {
  StoredObject object;
  std::function<Status(const std::shared_ptr<const ByteFile>& file, Findings& findings, ReadCounts& counts)>
      verify;
};

struct Outcome {
  Findings findings;
  ReadCounts counts;
  bool found = false;
  bool verified = false;  // by an earlier run; then this run does not read it
  bool good = false;
  Status cancelled;
};

class Verification {
 public:
  Verification(const StageTables& tables, Store& store, const Manifest& manifest, const VerifyRules& rules,
               std::stop_token stop)
      : types_(tables.types),
        store_(store),
        manifest_(manifest),
        rules_(rules),
        stop_(std::move(stop)),
        check_(MakeExportCheck(tables.exports, {store, manifest, stop_, rules.filter})) {
    for (const ManifestShard& shard : manifest.shards) AddShard(shard);
    for (const PartitionOutput& output : manifest.partitions)
      for (const StoredObject& object : output.committed.objects) AddPiece(output, object);
    beside_ = static_cast<std::ptrdiff_t>(tasks_.size());
    for (const StoredObject& object : manifest.sidecars) AddSidecar(object);
    for (const StoredObject& object : manifest.followers) AddSidecar(object);
  }

  Result<VerifyReport> Run() {
    // Listed before anything is read: an object that changes during the run has another version then, and the
    // next run reads it again.
    ASSIGN_OR_RETURN(const std::vector<ObjectInfo> listed, store_.List(""));
    for (const ObjectInfo& object : listed) there_.emplace(object.name, object);
    VerifyHead(manifest_, of_manifest_);
    VerifySplits(manifest_, of_manifest_);
    check_->VerifyManifest(of_manifest_);
    outcomes_.reserve(tasks_.size());
    for (const Task& task : tasks_) {
      outcomes_.push_back(
          {Findings(task.object.name, Remedy()), {}, false, WasVerified(task.object), false, {}});
      if (!outcomes_.back().verified) to_read_ += task.object.bytes;
    }
    if (rules_.progress && to_read_ > 0) rules_.progress(0, to_read_);
    std::vector<std::thread> workers;
    const auto most = std::min(tasks_.size(), static_cast<std::size_t>(std::max(rules_.threads, 1)));
    for (std::size_t i = 1; i < most; ++i) workers.emplace_back([this] { Work(); });
    Work();
    for (std::thread& worker : workers) worker.join();
    Remember();
    return Report();
  }

 private:
  std::string Remedy(bool there = true) const {
    if (!manifest_.partitions.empty())
      return StrCat(there ? "delete it, and " : "", "a run that needs it makes it again");
    return StrCat("`pipe run FILE --force ", manifest_.stage(), "` makes the artifact again");
  }

  void AddShard(const ManifestShard& shard) {
    tasks_.push_back({shard.object, [&shard, this](const auto& file, Findings& findings, ReadCounts& counts) {
                        return check_->VerifyShard(*file, shard, findings, counts);
                      }});
  }

  void AddPiece(const PartitionOutput& output, const StoredObject& object) {
    tasks_.push_back(
        {object, [&output, &object, this](const auto& file, Findings& findings, ReadCounts& counts) {
           if (object.name == OutputName(output.id, kPartitionSuffix))
             return VerifyPartition(file, output, object, manifest_.schema, stop_, findings, counts);
           return VerifyBytes(*file, object, stop_, findings, counts);
         }});
  }

  void AddSidecar(const StoredObject& object) {
    tasks_.push_back(
        {object, [&object, this](const auto& file, Findings& findings, ReadCounts& counts) -> Status {
           RETURN_IF_ERROR(VerifyBytes(*file, object, stop_, findings, counts));
           return check_->VerifySidecar(object, findings);
         }});
  }

  bool WasVerified(const StoredObject& object) const {
    if (rules_.verified == nullptr) return false;
    const auto before = rules_.verified->find(object.name);
    const auto now = there_.find(object.name);
    return before != rules_.verified->end() && now != there_.end() &&
           IsVerified(before->second, object, now->second);
  }

  /// Reads from the last to the first: after a stop, a shard counts as verified if its description was read.
  void Work() {
    for (std::size_t next = next_++; next < tasks_.size() && !stop_.stop_requested(); next = next_++) {
      const std::size_t at = tasks_.size() - 1 - next;
      if (!outcomes_[at].verified) Read(tasks_[at], outcomes_[at]);
    }
  }

  void Read(const Task& task, Outcome& outcome) {
    Result<std::unique_ptr<ByteFile>> file = store_.Open(task.object.name);
    Status status =
        file.ok() ? task.verify(std::move(file).value(), outcome.findings, outcome.counts) : file.status();
    outcome.found = status.code() != Code::kNotFound;
    if (!outcome.found) {
      outcome.findings = Findings(task.object.name, Remedy(false));
      outcome.findings.Add("missing");
    } else if (status.code() == Code::kCancelled) {
      outcome.cancelled = std::move(status);
    } else if (!status.ok()) {
      outcome.findings.Add(StrCat("cannot be read: ", status.message()));
    }
    outcome.good = outcome.cancelled.ok() && outcome.findings.count() == 0;
    if (!rules_.progress) return;
    const Lock lock(mutex_);
    rules_.progress(done_ += task.object.bytes, to_read_);
  }

  /// Shards are compared with their descriptions: if a description is wrong, no object that was read counts
  /// as verified.
  void Remember() {
    if (rules_.verified == nullptr) return;
    const bool described =
        of_manifest_.count() == 0 &&
        std::all_of(outcomes_.begin() + beside_, outcomes_.end(),
                    [](const Outcome& outcome) { return outcome.verified || outcome.good; });
    VerifiedObjects verified;
    for (std::size_t at = 0; at < tasks_.size(); ++at) {
      const StoredObject& object = tasks_[at].object;
      const auto info = there_.find(object.name);
      if (info == there_.end() || info->second.version.empty()) continue;
      if (outcomes_[at].verified || (described && outcomes_[at].good))
        verified[object.name] = {info->second.version, object.bytes, object.crc32c, info->second.ctime_ns};
    }
    *rules_.verified = std::move(verified);
  }

  Result<VerifyReport> Report() {
    if (stop_.stop_requested()) return Status(Code::kCancelled, "stopped");
    VerifyReport report;
    report.sealed = manifest_.sealed;
    report.max_tokens = check_->CountsAbove();
    const auto add = [&report](Findings& findings) {
      if (findings.count() > 0) report.findings.push_back(std::move(findings));
    };
    add(of_manifest_);
    for (Outcome& outcome : outcomes_) {
      if (!outcome.cancelled.ok()) return std::move(outcome.cancelled);
      report.objects += outcome.found ? 1 : 0;
      report.verified_before += outcome.verified ? 1 : 0;
      report.bytes += outcome.counts.bytes;
      report.lengths += outcome.counts.lengths;
      for (const auto& [split, records] : outcome.counts.records) report.records[split] += records;
      add(outcome.findings);
    }
    // The job of a plugin may keep other objects beside its artifact, such as the checkpoints of a training:
    // plugins/ABI.md, section 7.
    if (manifest_.lineage.back().type.find('.') != std::string::npos) return report;
    RETURN_IF_ERROR(FindStrays(report));
    return report;
  }

  /// Finds the objects at the location that the manifest does not name.
  Status FindStrays(VerifyReport& report) {
    std::vector<ObjectInfo> there;
    for (const auto& [name, info] : there_) there.push_back(info);
    ASSIGN_OR_RETURN(const std::unique_ptr<LocationNames> list, LocationNames::Read(store_, there, stop_));
    const LineageStage& made_by = manifest_.lineage.back();
    NameTests tests;
    if (const StageType* type = types_.Find(made_by.type))
      tests = NameTestsOf(*type, made_by.config, manifest_.schema.splits);
    if (!manifest_.partitions.empty())
      tests.own = [](std::string_view name) { return ParseOutputName(name).has_value(); };
    ASSIGN_OR_RETURN(LocationContents contents, TellApart({store_, there, nullptr, tests}, *list));
    for (const Task& task : tasks_) there_.erase(task.object.name);
    const auto add = [&report](const std::string& name, std::string_view remedy, std::string_view what) {
      report.strays.emplace_back(name, std::string(remedy));
      report.strays.back().Add(what);
    };
    for (const std::string& name : contents.ours)
      if (there_.contains(name))
        add(name, "remove it; a run that publishes there does",
            "an earlier run left it, and it is in no manifest, so not a part of the artifact");
    for (std::string& name : contents.others) {
      if (!there_.contains(name)) continue;
      if (IsInTheWay(tests, name))
        add(name, "move it elsewhere",
            "is in no manifest, and readers of the artifact would take it for a part of it");
      else
        report.beside.push_back(std::move(name));
    }
    return {};
  }

  const Registry& types_;
  Store& store_;
  const Manifest& manifest_;
  const VerifyRules& rules_;
  const std::stop_token stop_;
  const std::unique_ptr<const ExportCheck> check_;
  std::map<std::string, ObjectInfo, std::less<>> there_;  // listed before anything was read
  Findings of_manifest_{std::string(kManifestName), Remedy()};
  std::vector<Task> tasks_;
  std::vector<Outcome> outcomes_;  // parallel; each is touched by the thread that took its task
  std::ptrdiff_t beside_ = 0;      // the first task that is no shard or partition
  std::atomic<std::size_t> next_{0};
  std::uint64_t to_read_ = 0;  // bytes
  Mutex mutex_;
  std::uint64_t done_ GUARDED_BY(mutex_) = 0;  // of these bytes
};

}  // namespace

Result<VerifyReport> VerifyArtifact(const StageTables& tables, Store& store, const Manifest& manifest,
                                    const VerifyRules& rules, std::stop_token stop) {
  return Verification(tables, store, manifest, rules, std::move(stop)).Run();
}

}  // namespace pipeline
