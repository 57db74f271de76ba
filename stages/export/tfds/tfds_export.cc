#include "stages/export/tfds/tfds_export.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/digest.h"
#include "base/json.h"
#include "base/str.h"
#include "formats/label_names.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "stages/export/tfds/tfds.h"
#include "text/sentencepiece/sentencepiece_handle.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

void CompareSplit(const TfdsSplit& found, const TfdsSplit& expected, Findings& findings) {
  const auto add = [&](std::string_view what) { findings.Add(StrCat("split ", found.name, ": ", what)); };
  if (found.bytes != expected.bytes)
    add(StrCat("numBytes is ", found.bytes, " where the shards have ", expected.bytes));
  const std::size_t shards = expected.shard_lengths.size();
  if (found.shard_lengths.size() != shards)
    return add(StrCat("has ", found.shard_lengths.size(), " shards where the manifest has ", shards));
  for (std::size_t shard = 0; shard < shards; ++shard)
    if (found.shard_lengths[shard] != expected.shard_lengths[shard])
      add(StrCat("shardLengths[", shard, "] is ", found.shard_lengths[shard], " where the manifest says ",
                 expected.shard_lengths[shard]));
}

std::vector<std::string> ListOf(const Json& config, std::string_view key) {
  std::vector<std::string> list;
  for (const Json& element : config[key].AsArray()) list.emplace_back(element.AsString());
  return list;
}

bool IsOneCharacter(std::string_view text) {
  return !text.empty() && std::all_of(text.begin() + 1, text.end(), IsUtf8Tail);
}

/// The rules for each record.
struct ExampleRules {
  TfdsFeatures features;
  std::unique_ptr<const SentencePieceEncoder> tokenizer;  // null: lines may have any length
  std::size_t max_tokens = 0;                             // the end mark included
  // The filter of a trainer; the records that it would drop are counted.
  const SentencePieceEncoder* filter = nullptr;
  std::size_t filter_tokens = 0;
};

/// One thread at a time.
class ExampleCheck {
 public:
  explicit ExampleCheck(const ExampleRules& rules) : rules_(rules) {
    std::vector<std::string> names = rules.features.texts;
    if (rules.features.labels > 0) names.emplace_back(kTfdsLabelFeature);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) expected_ += StrCat(expected_.empty() ? "" : ", ", name);
  }

  /// Returns the fault of the record; empty: none.
  std::string Of(std::string_view bytes) {
    const Result<TfExample> example = ParseTfExample(bytes);
    if (!example.ok()) return std::string(example.status().message());
    std::string names;
    for (const auto& [name, feature] : *example) names += StrCat(names.empty() ? "" : ", ", name);
    if (names != expected_) return StrCat("its features are {", names, "}, not {", expected_, "}");
    if (rules_.features.labels > 0)
      if (std::string wrong = OfLabel(example->at(kTfdsLabelFeature)); !wrong.empty()) return wrong;
    for (const std::string& name : rules_.features.texts) {
      const auto* const texts = std::get_if<TfBytesList>(&example->at(name));
      if (texts == nullptr || texts->size() != 1) return StrCat("its feature ", name, " is not one text");
      if (std::string wrong = WrongWithText(texts->front()); !wrong.empty()) return wrong;
      if (std::string wrong = OfLength(texts->front()); !wrong.empty()) return wrong;
    }
    return {};
  }

  const LengthCounts& lengths() const { return lengths_; }

 private:
  std::string OfLabel(const TfFeature& feature) const {
    const auto* const numbers = std::get_if<TfInt64List>(&feature);
    if (numbers == nullptr || numbers->size() != 1)
      return StrCat("its feature ", kTfdsLabelFeature, " is not one number");
    if (numbers->front() < 0 || static_cast<std::uint64_t>(numbers->front()) >= rules_.features.labels)
      return StrCat("its label is ", numbers->front(), " where labels are below ", rules_.features.labels);
    return {};
  }

  std::string OfLength(std::string_view text) {
    std::size_t tokens = 0;
    const SentencePieceEncoder* counted_by = nullptr;
    const auto count = [&](const SentencePieceEncoder& encoder) -> Status {
      if (counted_by == &encoder) return {};
      ids_.clear(), ends_.clear();
      RETURN_IF_ERROR(encoder.Encode(text, scratch_, ids_, ends_));
      tokens = ids_.size() + 1;
      counted_by = &encoder;
      return {};
    };
    if (rules_.filter != nullptr) {
      if (const Status status = count(*rules_.filter); !status.ok()) return std::string(status.message());
      lengths_.Add(tokens, rules_.filter_tokens);
    }
    if (!rules_.tokenizer) return {};
    if (const Status status = count(*rules_.tokenizer); !status.ok()) return std::string(status.message());
    if (tokens <= rules_.max_tokens || IsOneCharacter(text)) return {};
    return StrCat("its text has ", tokens, " tokens where the trainer takes ", rules_.max_tokens);
  }

  const ExampleRules& rules_;
  LengthCounts lengths_;
  std::string expected_;  // names of all features
  SentencePieceEncoder::Scratch scratch_;
  std::vector<std::uint32_t> ids_, ends_;
};

/// Verifies records with features.json, the names of the labels, and the tokenizer that measured the lines.
class TfdsCheck final : public ExportCheck {
 public:
  explicit TfdsCheck(const ExportLocation& artifact) : ExportCheck(artifact) {
    rules_.features = ReadFeatures();
    rules_.max_tokens = static_cast<std::size_t>(config()["max_tokens"].AsInt(0));
    if (rules_.max_tokens > 0) {
      auto tokenizer = ReadTokenizer(kTfdsTokenizerFile);
      if (tokenizer.ok())
        rules_.tokenizer = std::move(tokenizer).value();
      else
        no_tokenizer_ = std::move(tokenizer).status();
    }
    SetFilter();
  }

  std::size_t CountsAbove() const override { return rules_.filter != nullptr ? rules_.filter_tokens : 0; }

  void VerifyManifest(Findings& findings) const override {
    VerifyShardNames(std::bind_front(TfdsShardName, config()["name"].AsString()), findings);
    VerifyNames({kTfdsInfoFile, kTfdsFeaturesFile}, findings);
    if (TookLabels()) VerifyNames({kTfdsLabelsFile}, findings);
    if (rules_.max_tokens > 0) VerifyNames({kTfdsTokenizerFile}, findings);
    VerifyDescription(kTfdsTokenizerFile, no_tokenizer_, findings);
    VerifySums(findings, RecordsOf(manifest()));
  }

  /// Verifies that each record is an Example with the features, clean texts that are short enough, and the
  /// number of an existing label.
  Status VerifyShard(const ByteFile& file, const ManifestShard& shard, Findings& findings,
                     ReadCounts& counts) const override {
    ExampleCheck check(rules_);
    const Status status = VerifyRecords(
        file, shard, [&check](const ShardRecord& record) { return check.Of(record.bytes); }, stop(), findings,
        counts);
    counts.lengths += check.lengths();
    return status;
  }

  Status VerifySidecar(const StoredObject& object, Findings& findings) const override {
    const bool info = object.name == kTfdsInfoFile, labels = object.name == kTfdsLabelsFile;
    if (!info && !labels && object.name != kTfdsFeaturesFile) return {};
    ASSIGN_OR_RETURN(const std::string text, Read(object.name));
    if (info)
      VerifyInfo(text, findings);
    else if (labels)
      VerifyLabels(text, findings);
    else
      VerifyFeatures(text, findings);
    return {};
  }

 private:
  /// A trainer that filters by length reads records with one text and nothing else.
  void SetFilter() {
    if (rules_.features.texts.size() != 1 || rules_.features.labels > 0) return;
    const LengthFilter* const asked = filter();
    rules_.filter_tokens = asked != nullptr && asked->max_tokens > 0 ? asked->max_tokens : rules_.max_tokens;
    if (rules_.filter_tokens == 0) return;
    rules_.filter = asked != nullptr && asked->tokenizer ? asked->tokenizer.get() : rules_.tokenizer.get();
  }

  /// Returns the features in features.json. If that file is damaged, returns those that follow from the
  /// manifest and label.labels.txt, so that the damage is found in that file alone and not in every record.
  TfdsFeatures ReadFeatures() const {
    const StoredObject* const written = Find(kTfdsFeaturesFile);
    if (const Result<std::string> text = Read(kTfdsFeaturesFile);
        text.ok() && written != nullptr && written->digest == DigestOf(*text))
      if (Result<TfdsFeatures> features = ParseTfdsFeatures(*text); features.ok())
        return std::move(features).value();
    TfdsFeatures expected;
    if (config().Has("features"))
      expected.texts = ListOf(config(), "features");
    else if (!manifest().schema.field_names.empty())
      expected.texts = manifest().schema.field_names;
    expected.labels = config()["labels"].AsArray().size();
    if (expected.labels > 0) return expected;
    if (const auto names = Read(kTfdsLabelsFile, ParseLabelNames); names.ok())
      expected.labels = names->size();
    return expected;
  }

  /// Returns the splits that dataset_info.json must have.
  std::vector<TfdsSplit> Splits() const {
    std::vector<TfdsSplit> splits;
    for (const ManifestShard& shard : manifest().shards) {
      if (splits.empty() || splits.back().name != shard.split) splits.push_back({shard.split, {}, 0});
      splits.back().shard_lengths.push_back(shard.records);
      splits.back().bytes +=
          shard.object.bytes - std::min(shard.object.bytes, kTfRecordOverhead * shard.records);
    }
    return splits;
  }

  void VerifyInfo(std::string_view text, Findings& findings) const {
    const Result<TfdsInfo> info = ParseTfdsInfo(text);
    if (!info.ok()) return findings.Add(info.status().message());
    const auto compare = [&](std::string_view key, std::string_view is, std::string_view said) {
      if (is != said) findings.Add(StrCat(key, " is ", is, " where the manifest says ", said));
    };
    compare("name", info->name, config()["name"].AsString());
    compare("version", info->version, config()["version"].AsString(info->version));
    const std::vector<TfdsSplit> expected = Splits();
    const auto find = [](const std::vector<TfdsSplit>& splits, std::string_view name) {
      return std::find_if(splits.begin(), splits.end(),
                          [&](const TfdsSplit& split) { return split.name == name; });
    };
    for (const TfdsSplit& split : info->splits) {
      const auto same = find(expected, split.name);
      if (same == expected.end())
        findings.Add(StrCat("split ", split.name, ": has no shards in the manifest"));
      else
        CompareSplit(split, *same, findings);
    }
    for (const TfdsSplit& split : expected)
      if (find(info->splits, split.name) == info->splits.end())
        findings.Add(StrCat("split ", split.name, ": missing"));
  }

  void VerifyFeatures(std::string_view text, Findings& findings) const {
    const Result<TfdsFeatures> found = ParseTfdsFeatures(text);
    if (!found.ok()) return findings.Add(found.status().message());
    if (config().Has("features")) {
      std::vector<std::string> expected = ListOf(config(), "features");
      std::sort(expected.begin(), expected.end());
      if (found->texts != expected) findings.Add("names other features than the manifest");
    }
    const std::size_t labels = config()["labels"].AsArray().size();
    if (!TookLabels() && found->labels > 0) findings.Add("has labels where the manifest has none");
    if (TookLabels() && (found->labels == 0 || (labels > 0 && labels != found->labels)))
      findings.Add(StrCat("has ", found->labels, " labels where the manifest has ",
                          labels > 0 ? std::to_string(labels) : "those of a file"));
  }

  void VerifyLabels(std::string_view text, Findings& findings) const {
    if (config().Has("labels") && text != LabelNamesText(ListOf(config(), "labels")))
      return findings.Add("does not name the labels that the manifest has, in their order");
    const Result<std::vector<std::string>> names = ParseLabelNames(text);
    if (!names.ok()) return findings.Add(names.status().message());
    if (names->size() != rules_.features.labels)
      findings.Add(StrCat("names ", names->size(), " labels where ", kTfdsFeaturesFile, " has ",
                          rules_.features.labels));
  }

  ExampleRules rules_;
  Status no_tokenizer_;  // not OK: the tokenizer cannot be read
};

std::unique_ptr<const ExportReader> ReadTfds(const OpenBeside&) { return std::make_unique<ExampleReader>(); }

/// Returns the limit of data sets of lines, which have one text and no label; absent: another data set.
std::optional<std::int64_t> LongestLine(const Json& config, const Schema& schema) {
  if (schema.columns.contains("label") || !schema.field_names.empty()) return std::nullopt;
  return config["max_tokens"].AsInt(0);
}

}  // namespace

ExportFormat TfdsExport() {
  return {.stage = WriteTfdsType(),
          .verify = NewCheck<TfdsCheck>,
          .read = ReadTfds,
          .signs = {kTfdsInfoFile, kTfdsFeaturesFile},
          .longest_line = LongestLine};
}

}  // namespace pipeline
