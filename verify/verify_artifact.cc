#include "verify/verify_artifact.h"

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <thread>
#include <utility>

#include "base/str.h"
#include "dag/place_log.h"
#include "formats/packed.h"
#include "formats/tfds.h"
#include "records/piece.h"
#include "verify/verify_bert.h"
#include "verify/verify_jsonl.h"
#include "verify/verify_object.h"
#include "verify/verify_packed.h"
#include "verify/verify_splits.h"
#include "verify/verify_tfdata.h"
#include "verify/verify_tfds.h"

namespace pipeline {

namespace {

constexpr std::string_view kPartitionSuffix = ".part";
constexpr std::uint64_t kMaxDescriptionBytes = std::uint64_t{1} << 30;

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
  Status cancelled;
};

class Verification {
 public:
  Verification(Store& store, const Manifest& manifest, std::stop_token stop)
      : store_(store),
        manifest_(manifest),
        stop_(std::move(stop)),
        tfds_(manifest.lineage.back().type == "write_tfds"),
        packed_(manifest.lineage.back().type == "write_packed"),
        jsonl_(manifest.lineage.back().type == "write_jsonl"),
        tfdata_(manifest.lineage.back().type == "write_tfdata"),
        bert_(manifest.lineage.back().type == "write_bert") {
    for (const ManifestShard& shard : manifest.shards) AddShard(shard);
    for (const Piece& piece : manifest.partitions)
      for (const StoredObject& object : piece.output.objects) AddPiece(piece, object);
    for (const StoredObject& object : manifest.sidecars) AddSidecar(object);
    for (const StoredObject& object : manifest.followers) AddSidecar(object);
  }

  Result<VerifyReport> Run(int threads) {
    if (packed_) ReadPackedInfo();
    if (tfds_) ReadTfdsCheck();
    if (tfdata_) ReadTfdataInfo();
    if (bert_) ReadBertInfo();
    outcomes_.reserve(tasks_.size());
    for (const Task& task : tasks_)
      outcomes_.push_back({Findings(task.object.name, Remedy()), {}, false, {}});
    std::vector<std::thread> workers;
    const auto most = std::min(tasks_.size(), static_cast<std::size_t>(std::max(threads, 1)));
    for (std::size_t i = 1; i < most; ++i) workers.emplace_back([this] { Work(); });
    Work();
    for (std::thread& worker : workers) worker.join();
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
                        if (tfds_) return VerifyTfdsShard(*file, shard, tfds_check_, stop_, findings, counts);
                        if (jsonl_) return VerifyJsonlFile(*file, shard, manifest_, stop_, findings, counts);
                        if (tfdata_info_.ok())
                          return VerifyTfdataShard(*file, shard, *tfdata_info_, stop_, findings, counts);
                        if (bert_info_.ok())
                          return VerifyBertShard(*file, shard, *bert_info_, stop_, findings, counts);
                        if (packed_info_.ok())
                          return VerifyPackedShard(store_, *file, shard, *packed_info_, stop_, findings,
                                                   counts);
                        return VerifyBytes(*file, shard.object, stop_, findings, counts);
                      }});
  }

  void AddPiece(const Piece& piece, const StoredObject& object) {
    tasks_.push_back(
        {object, [&piece, &object, this](const auto& file, Findings& findings, ReadCounts& counts) {
           if (object.name == PieceName(piece.id, kPartitionSuffix))
             return VerifyPartition(file, piece, object, manifest_.schema, stop_, findings, counts);
           return VerifyBytes(*file, object, stop_, findings, counts);
         }});
  }

  void AddSidecar(const StoredObject& object) {
    tasks_.push_back(
        {object, [&object, this](const auto& file, Findings& findings, ReadCounts& counts) -> Status {
           RETURN_IF_ERROR(VerifyBytes(*file, object, stop_, findings, counts));
           if (packed_ && object.name == kPackedInfoFile) CheckPackedInfo(findings);
           if (tfdata_ && object.name == kTfdataInfoFile) CheckTfdataInfo(findings);
           if (tfdata_info_.ok() && IsTfdataFile(object.name)) {
             ASSIGN_OR_RETURN(const std::string bytes,
                              ReadObject(store_, object.name, kMaxDescriptionBytes, stop_));
             VerifyTfdataFile(object.name, bytes, *tfdata_info_, findings);
           }
           if (bert_ && object.name == kBertInfoFile) return CheckBertInfo(findings);
           if (!tfds_) return {};
           const bool info = object.name == kTfdsInfoFile, labels = object.name == kTfdsLabelsFile;
           if (!info && !labels && object.name != kTfdsFeaturesFile) return {};
           ASSIGN_OR_RETURN(const std::string text,
                            ReadObject(store_, object.name, kMaxDescriptionBytes, stop_));
           if (info)
             VerifyTfdsInfo(text, manifest_, findings);
           else if (labels)
             VerifyTfdsLabels(text, manifest_, tfds_check_.features.labels, findings);
           else
             VerifyTfdsFeatures(text, manifest_, findings);
           return {};
         }});
  }

  /// Before the threads start: every shard is held against it.
  void ReadPackedInfo() {
    const Result<std::string> text = ReadObject(store_, kPackedInfoFile, kMaxDescriptionBytes, stop_);
    packed_info_ = text.ok() ? ParsePackedInfo(*text) : text.status();
  }

  void ReadTfdsCheck() {
    const auto read = [&](std::string_view name) {
      return ReadObject(store_, name, kMaxDescriptionBytes, stop_);
    };
    tfds_check_.features = FeaturesOf(read(kTfdsFeaturesFile), read(kTfdsLabelsFile), manifest_);
    Result<std::shared_ptr<const SentencePieceEncoder>> tokenizer = TfdsTokenizer(store_, manifest_, stop_);
    if (tokenizer.ok())
      tfds_check_.tokenizer = std::move(tokenizer).value();
    else
      tokenizer_ = std::move(tokenizer).status();
    tfds_check_.max_tokens = TfdsMaxTokens(manifest_);
  }

  void ReadBertInfo() {
    const Result<std::string> text = ReadObject(store_, kBertInfoFile, kMaxDescriptionBytes, stop_);
    bert_info_ = text.ok() ? ParseBertInfo(*text) : text.status();
  }

  Status CheckBertInfo(Findings& findings) const {
    if (bert_info_.ok()) return VerifyBertInfo(store_, *bert_info_, manifest_, stop_, findings);
    findings.Add(StrCat(bert_info_.status().message(), ": the examples cannot be checked without it"));
    return {};
  }

  void CheckPackedInfo(Findings& findings) const {
    if (packed_info_.ok()) return VerifyPackedInfo(*packed_info_, manifest_, findings);
    findings.Add(StrCat(packed_info_.status().message(), ": the rows cannot be checked without it"));
  }

  void ReadTfdataInfo() {
    const Result<std::string> text = ReadObject(store_, kTfdataInfoFile, kMaxDescriptionBytes, stop_);
    tfdata_info_ = text.ok() ? ParseTfdataInfo(*text) : text.status();
  }

  void CheckTfdataInfo(Findings& findings) const {
    if (tfdata_info_.ok()) return VerifyTfdataInfo(*tfdata_info_, manifest_, findings);
    findings.Add(StrCat(tfdata_info_.status().message(), ": the ids cannot be checked without it"));
  }

  void Work() {
    for (std::size_t next = next_++; next < tasks_.size() && !stop_.stop_requested(); next = next_++) {
      const Task& task = tasks_[next];
      Outcome& outcome = outcomes_[next];
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
    }
  }

  Result<VerifyReport> Report() {
    if (stop_.stop_requested()) return Status(Code::kCancelled, "stopped");
    VerifyReport report;
    Findings manifest(std::string(kManifestName), Remedy());
    if (!tokenizer_.ok())
      manifest.Add(
          StrCat(kTfdsTokenizerFile, ": cannot be read, so no line was measured: ", tokenizer_.message()));
    VerifySplits(manifest_, manifest);
    if (tfds_)
      VerifyTfdsManifest(manifest_, manifest);
    else if (packed_)
      VerifyPackedManifest(manifest_, manifest);
    else if (jsonl_)
      VerifyJsonlManifest(manifest_, manifest);
    else if (tfdata_)
      VerifyTfdataManifest(manifest_, manifest);
    else if (bert_)
      VerifyBertManifest(manifest_, manifest);
    else if (!manifest_.shards.empty())
      manifest.Add(StrCat("made by a stage of type ", manifest_.lineage.back().type,
                          ", whose records this program cannot check"));
    const auto add = [&report](Findings& findings) {
      if (findings.count() > 0) report.findings.push_back(std::move(findings));
    };
    add(manifest);
    for (Outcome& outcome : outcomes_) {
      if (!outcome.cancelled.ok()) return std::move(outcome.cancelled);
      report.objects += outcome.found ? 1 : 0;
      report.bytes += outcome.counts.bytes;
      for (const auto& [split, records] : outcome.counts.records) report.records[split] += records;
      add(outcome.findings);
    }
    std::set<std::string_view> known = {kManifestName};
    for (const Task& task : tasks_) known.insert(task.object.name);
    ASSIGN_OR_RETURN(const std::vector<ObjectInfo> there, store_.List(""));
    // A plugin's job may keep more beside its artifact, as a training its checkpoints: plugins/ABI.md,
    // section 7.
    const bool of_plugin = manifest_.lineage.back().type.find('.') != std::string::npos;
    for (const ObjectInfo& object : there) {
      if (of_plugin) break;
      if (known.contains(object.name) || object.name.starts_with(kOwnPrefix)) continue;
      report.findings.emplace_back(object.name, "remove it, or move it elsewhere");
      report.findings.back().Add("is in no manifest, so not a part of the artifact");
    }
    return report;
  }

  Store& store_;
  const Manifest& manifest_;
  const std::stop_token stop_;
  const bool tfds_;
  TfdsShardCheck tfds_check_;  // of a TFDS data set; read before the threads start
  Status tokenizer_;           // why its tokenizer cannot be read
  const bool packed_;
  const bool jsonl_;
  const bool tfdata_;
  const bool bert_;
  Result<BertInfo> bert_info_ = Status(Code::kNotFound, "not of BERT");     // as packed_info_
  Result<PackedInfo> packed_info_ = Status(Code::kNotFound, "not packed");  // read before the threads start
  Result<TfdataInfo> tfdata_info_ = Status(Code::kNotFound, "no directories of ids");  // the same
  std::vector<Task> tasks_;
  std::vector<Outcome> outcomes_;  // parallel; each is touched by the thread that took its task
  std::atomic<std::size_t> next_{0};
};

}  // namespace

Result<VerifyReport> VerifyArtifact(Store& store, const Manifest& manifest, int threads,
                                    std::stop_token stop) {
  return Verification(store, manifest, std::move(stop)).Run(threads);
}

}  // namespace pipeline
