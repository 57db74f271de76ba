#include "stages/sources/file_splits.h"

#include <algorithm>
#include <optional>

#include "base/str.h"
#include "dag/records/transform.h"
#include "formats/archive_reader.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kMostSplits = 256;  // column `split` is a u8

Status Refuse(std::string why) { return Status(Code::kInvalidArgument, StrCat("splits: ", why)); }

class SplitSource final : public Source {
 public:
  SplitSource(std::unique_ptr<Source> source, std::uint8_t split, std::string_view name)
      : source_(std::move(source)), split_(split), name_(name) {}

  Result<bool> Next(Batch& batch) override {
    ASSIGN_OR_RETURN(const bool more, source_->Next(batch));
    batch.split.assign(batch.size(), split_);
    return more;
  }
  std::optional<InputEnd> End() const override {
    std::optional<InputEnd> end = source_->End();
    if (end) end->outside.Add(SplitCount(name_));
    return end;
  }
  bool decodes_on_one_thread() const override { return source_->decodes_on_one_thread(); }
  std::optional<std::uint64_t> bytes_to_cut() const override { return source_->bytes_to_cut(); }
  std::string note() const override { return source_->note(); }
  std::string note_before(std::uint64_t raw_end) const override { return source_->note_before(raw_end); }

 private:
  const std::unique_ptr<Source> source_;
  const std::uint8_t split_;
  const std::string name_;
};

/// A batch is of one file or member, and so of one split; the records that `worker` makes of it are of this
/// split, too.
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
    return std::make_unique<SplitWorker>(std::move(worker));
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
    ASSIGN_OR_RETURN(const std::optional<std::uint8_t> split, splits_.Find(request.input.name));
    ASSIGN_OR_RETURN(std::unique_ptr<Source> source, stage_->Open(std::move(request)));
    if (!split) return source;
    return std::make_unique<SplitSource>(std::move(source), *split, splits_.names()[*split]);
  }
  const Transform* repair() const override { return repair_ ? &*repair_ : nullptr; }
  std::vector<bool> joined(const InputCuts& cuts) const override { return stage_->joined(cuts); }
  std::vector<FaultBound> bounds() const override { return stage_->bounds(); }
  std::vector<NeededColumn> needed() const override { return stage_->needed(); }
  std::optional<std::uint64_t> LineOf(const InputFile& file, PartitionId id, std::uint64_t index,
                                      const std::stop_token& stop) const override {
    return stage_->LineOf(file, id, index, stop);
  }

  // The names of the members of an archive are unknown before a run.
  Status CheckCounts(const ArtifactTotals& totals) const override {
    RETURN_IF_ERROR(stage_->CheckCounts(totals));
    std::string empty;
    bool counted = false;
    for (const std::string& name : splits_.names()) {
      if (totals.counts.reasons.contains(SplitCount(name)))
        counted = true;
      else
        empty += StrCat(empty.empty() ? "'" : ", '", name, "'");
    }
    if (!counted || empty.empty()) return {};
    return Refuse(StrCat(empty, ": no file and no text in an archive has a name that its pattern describes"));
  }

 private:
  const std::unique_ptr<SourceStage> stage_;
  const FileSplits splits_;
  std::optional<SplitRepair> repair_;
};

/// Returns whether the file may be an archive, according to its name and the key `archive`.
bool MayBeArchive(const Json& config, std::string_view file) {
  const std::string_view archive = config["archive"].AsString("none");
  return archive == "tar" || archive == "zip" || (archive == "auto" && ArchiveByName(file).has_value());
}

}  // namespace

ConfigKey FileSplitsKey() {
  return {
      "splits", ValueType::kMap, "~",
      "Splits by the names of files, or of the members of archives: {train: \"*train*\", test: \"*test*\"}, "
      "with * and ?, or a list of such patterns; each matches those of one split."};
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

Result<std::optional<std::uint8_t>> FileSplits::Find(std::string_view name) const {
  std::optional<std::uint8_t> found;
  for (std::size_t split = 0; split < splits_.size(); ++split) {
    const auto& patterns = splits_[split].second;
    if (std::none_of(patterns.begin(), patterns.end(),
                     [&](const std::string& pattern) { return MatchesPattern(pattern, name); }))
      continue;
    if (found)
      return Refuse(StrCat(Printable(name), ": matches the patterns of two splits, '", splits_[*found].first,
                           "' and '", splits_[split].first, "'; make one of them narrower"));
    found = static_cast<std::uint8_t>(split);
  }
  return found;
}

Result<std::uint8_t> FileSplits::Of(std::string_view file) const {
  ASSIGN_OR_RETURN(const std::optional<std::uint8_t> found, Find(file));
  if (found) return *found;
  return Refuse(StrCat(Printable(file), ": matches the pattern of no split; add one for it, or leave the ",
                       "file out of `url`"));
}

Result<std::uint8_t> FileSplits::OfMember(std::string_view member) const {
  ASSIGN_OR_RETURN(const std::optional<std::uint8_t> found, Find(member));
  if (found) return *found;
  return Refuse(StrCat("member '", Printable(member),
                       "' matches the pattern of no split; add one for it, or ",
                       "leave it out with `members`"));
}

std::string SplitCount(std::string_view split) { return StrCat("split_", split); }

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
  bool archives = false;
  for (const std::string& file : files) {
    const bool may_be_archive = MayBeArchive(config, file);
    const auto found = splits.Find(file);
    if (!found.ok() && may_be_archive)
      return Status(found.status().code(), StrCat(found.status().message(),
                                                  "; if it is an archive whose members have splits, write ",
                                                  "patterns with '/', which no name of a file has"));
    ASSIGN_OR_RETURN(const std::optional<std::uint8_t> split, found);
    if (!split && may_be_archive) {
      archives = true;
      continue;
    }
    if (!split) {
      const Status why = splits.Of(file).status();
      if (config["archive"].AsString() != "auto") return why;
      return Status(why.code(),
                    StrCat(why.message(), "; if it is an archive and its members have splits, say ",
                           "`archive: tar` or `zip`"));
    }
    seen[*split] = true;
  }
  if (archives) return {};
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
    const auto split = splits.ok() ? splits->Find(file) : splits.status();
    of_files.push_back(split.ok() && *split ? names[**split] : std::string());
  }
  return of_files;
}

Result<std::unique_ptr<SourceStage>> WithFileSplits(const Json& config, std::unique_ptr<SourceStage> stage) {
  if (!config.Has("splits")) return stage;
  ASSIGN_OR_RETURN(FileSplits splits, FileSplits::Make(config["splits"]));
  return std::make_unique<SplitSourceStage>(std::move(stage), std::move(splits));
}

}  // namespace pipeline
