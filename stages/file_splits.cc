#include "stages/file_splits.h"

#include <algorithm>
#include <optional>

#include "base/str.h"
#include "records/transform.h"

namespace pipeline {

namespace {

constexpr std::size_t kMostSplits = 256;  // column `split` is a u8

Status Refuse(std::string why) { return Status(Code::kInvalidArgument, StrCat("splits: ", why)); }

class SplitSource final : public Source {
 public:
  SplitSource(std::unique_ptr<Source> source, std::uint8_t split)
      : source_(std::move(source)), split_(split) {}

  Result<bool> Next(Batch& batch) override {
    ASSIGN_OR_RETURN(const bool more, source_->Next(batch));
    batch.split.assign(batch.size(), split_);
    return more;
  }
  std::optional<InputEnd> End() const override { return source_->End(); }

 private:
  const std::unique_ptr<Source> source_;
  const std::uint8_t split_;
};

/// A batch is of one file, and so of one split, whatever records are made of it.
class SplitWorker final : public Worker {
 public:
  explicit SplitWorker(std::unique_ptr<Worker> worker) : worker_(std::move(worker)) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    const std::uint8_t split = batch.split.empty() ? 0 : batch.split.front();
    batch.split.clear();
    RETURN_IF_ERROR(worker_->Apply(batch, stage, counts));
    batch.split.assign(batch.size(), split);
    return {};
  }

 private:
  const std::unique_ptr<Worker> worker_;
};

class SplitRepair final : public Transform {
 public:
  explicit SplitRepair(const Transform& repair) : repair_(repair) {}
  Result<std::unique_ptr<Worker>> NewWorker() const override {
    ASSIGN_OR_RETURN(std::unique_ptr<Worker> worker, repair_.NewWorker());
    return std::unique_ptr<Worker>(std::make_unique<SplitWorker>(std::move(worker)));
  }

 private:
  const Transform& repair_;
};

class SplitSourceStage final : public SourceStage {
 public:
  SplitSourceStage(std::unique_ptr<SourceStage> stage, FileSplits splits)
      : stage_(std::move(stage)), splits_(std::move(splits)) {
    if (stage_->repair() != nullptr) repair_.emplace(*stage_->repair());
  }

  Result<std::unique_ptr<Source>> Open(SourceRequest request) const override {
    ASSIGN_OR_RETURN(const std::uint8_t split, splits_.Of(request.input.name));
    ASSIGN_OR_RETURN(std::unique_ptr<Source> source, stage_->Open(std::move(request)));
    return std::unique_ptr<Source>(std::make_unique<SplitSource>(std::move(source), split));
  }
  const Transform* repair() const override { return repair_ ? &*repair_ : nullptr; }

 private:
  const std::unique_ptr<SourceStage> stage_;
  const FileSplits splits_;
  std::optional<SplitRepair> repair_;
};

}  // namespace

ConfigKey FileSplitsKey() {
  return {
      "splits", ValueType::kMap, "~", Effect::kBytes,
      "Splits by the names of the files: {train: \"*train*\", test: \"*test*\"}, with * and ?, or a list of "
      "such patterns; each file matches those of one split."};
}

Result<FileSplits> FileSplits::Make(const Json& splits) {
  FileSplits made;
  for (const auto& [name, value] : splits.AsObject()) {
    std::vector<std::string> patterns;
    if (value.is_string()) patterns.emplace_back(value.AsString());
    for (const Json& pattern : value.AsArray()) patterns.emplace_back(pattern.AsString());
    const bool good = !patterns.empty() && !name.empty() &&
                      std::none_of(patterns.begin(), patterns.end(),
                                   [](const std::string& pattern) { return pattern.empty(); });
    if (!good)
      return Refuse(StrCat("'", name, "': write a pattern of names of files, or a list of them, e.g. \"*",
                           name.empty() ? "train" : name, "*\""));
    made.splits_.emplace_back(name, std::move(patterns));
  }
  if (made.splits_.empty() || made.splits_.size() > kMostSplits)
    return Refuse(StrCat("there can be 1 to ", kMostSplits, " splits, not ", made.splits_.size()));
  return made;
}

std::vector<std::string> FileSplits::names() const {
  std::vector<std::string> names;
  for (const auto& [name, patterns] : splits_) names.push_back(name);
  return names;
}

Result<std::uint8_t> FileSplits::Of(std::string_view file) const {
  std::optional<std::size_t> found;
  for (std::size_t split = 0; split < splits_.size(); ++split) {
    const auto& patterns = splits_[split].second;
    if (std::none_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return MatchesPattern(pattern, file); }))
      continue;
    if (found)
      return Refuse(StrCat(file, ": matches the patterns of two splits, '", splits_[*found].first, "' and '",
                           splits_[split].first, "'; make one of them narrower"));
    found = split;
  }
  if (!found)
    return Refuse(StrCat(file, ": matches the pattern of no split; add one for it, or leave the file out of ",
                         "`url`"));
  return static_cast<std::uint8_t>(*found);
}

Status CheckFileSplits(const Json& config, Schema& schema) {
  if (!config.Has("splits")) return {};
  ASSIGN_OR_RETURN(const FileSplits splits, FileSplits::Make(config["splits"]));
  schema.columns["split"] = ColumnType::kU8;
  schema.splits = splits.names();
  return {};
}

Status CheckInputSplits(const Json& config, const std::vector<std::string>& files) {
  if (!config.Has("splits")) return {};
  ASSIGN_OR_RETURN(const FileSplits splits, FileSplits::Make(config["splits"]));
  const std::vector<std::string> names = splits.names();
  std::vector<bool> seen(names.size());
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(const std::uint8_t split, splits.Of(file));
    seen[split] = true;
  }
  for (std::size_t split = 0; split < names.size(); ++split)
    if (!seen[split])
      return Refuse(StrCat("'", names[split], "': no file matches its pattern, so it would be empty"));
  return {};
}

std::vector<std::string> SplitsOfFiles(const Json& config, const std::vector<std::string>& files) {
  std::vector<std::string> of_files;
  if (!config.Has("splits")) return of_files;
  const Result<FileSplits> splits = FileSplits::Make(config["splits"]);
  const std::vector<std::string> names = splits.ok() ? splits->names() : of_files;
  for (const std::string& file : files) {
    const Result<std::uint8_t> split = splits.ok() ? splits->Of(file) : splits.status();
    of_files.push_back(split.ok() ? names[*split] : std::string());
  }
  return of_files;
}

Result<std::unique_ptr<SourceStage>> WithFileSplits(const Json& config, std::unique_ptr<SourceStage> stage) {
  if (!config.Has("splits")) return stage;
  ASSIGN_OR_RETURN(FileSplits splits, FileSplits::Make(config["splits"]));
  return std::unique_ptr<SourceStage>(
      std::make_unique<SplitSourceStage>(std::move(stage), std::move(splits)));
}

}  // namespace pipeline
