#include "verify/verify_tfds.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/digest.h"
#include "base/json.h"
#include "base/str.h"
#include "formats/sentencepiece_model.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxModelBytes = std::uint64_t{1} << 30;
constexpr std::string_view kLabelsSource = "labels";  // what write_tfds calls its file of names

/// The splits as dataset_info.json must have them.
std::vector<TfdsSplit> SplitsOf(const Manifest& manifest) {
  std::vector<TfdsSplit> splits;
  for (const ManifestShard& shard : manifest.shards) {
    if (splits.empty() || splits.back().name != shard.split) splits.push_back({shard.split, {}, 0});
    splits.back().shard_lengths.push_back(shard.records);
    splits.back().bytes +=
        shard.object.bytes - std::min(shard.object.bytes, kTfRecordOverhead * shard.records);
  }
  return splits;
}

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

/// Whether records have labels, which the configuration names or a file did that it counts by.
bool HasLabels(const Manifest& manifest) {
  const LineageStage& stage = manifest.lineage.back();
  return stage.config.Has("labels") ||
         std::any_of(stage.sources.begin(), stage.sources.end(),
                     [](const auto& source) { return source.first == kLabelsSource; });
}

bool IsOneCharacter(std::string_view text) {
  return !text.empty() && std::all_of(text.begin() + 1, text.end(), IsUtf8Tail);
}

/// One thread at a time.
class ExampleCheck {
 public:
  explicit ExampleCheck(const TfdsShardCheck& check) : check_(check) {
    std::vector<std::string> names = check.features.texts;
    if (check.features.labels > 0) names.emplace_back(kTfdsLabelFeature);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) expected_ += StrCat(expected_.empty() ? "" : ", ", name);
  }

  /// What is wrong with the record; empty where nothing is.
  std::string Of(std::string_view bytes) {
    const Result<TfExample> example = ParseTfExample(bytes);
    if (!example.ok()) return std::string(example.status().message());
    std::string names;
    for (const auto& [name, feature] : *example) names += StrCat(names.empty() ? "" : ", ", name);
    if (names != expected_) return StrCat("its features are {", names, "}, not {", expected_, "}");
    if (check_.features.labels > 0)
      if (std::string wrong = OfLabel(example->at(kTfdsLabelFeature)); !wrong.empty()) return wrong;
    for (const std::string& name : check_.features.texts) {
      const auto* const texts = std::get_if<TfBytesList>(&example->at(name));
      if (texts == nullptr || texts->size() != 1) return StrCat("its feature ", name, " is not one text");
      if (std::string wrong = WrongWithText(texts->front()); !wrong.empty()) return wrong;
      if (check_.tokenizer)
        if (std::string wrong = OfLength(texts->front()); !wrong.empty()) return wrong;
    }
    return {};
  }

 private:
  std::string OfLabel(const TfFeature& feature) const {
    const auto* const numbers = std::get_if<TfInt64List>(&feature);
    if (numbers == nullptr || numbers->size() != 1)
      return StrCat("its feature ", kTfdsLabelFeature, " is not one number");
    if (numbers->front() < 0 || static_cast<std::uint64_t>(numbers->front()) >= check_.features.labels)
      return StrCat("its label is ", numbers->front(), " of ", check_.features.labels);
    return {};
  }

  std::string OfLength(std::string_view text) {
    ids_.clear(), ends_.clear();
    if (const Status status = check_.tokenizer->Encode(text, scratch_, ids_, ends_); !status.ok())
      return std::string(status.message());
    if (ids_.size() < check_.max_tokens || IsOneCharacter(text)) return {};
    return StrCat("its text has ", ids_.size() + 1, " tokens where the trainer takes ", check_.max_tokens);
  }

  const TfdsShardCheck& check_;
  std::string expected_;  // names of all features
  SentencePieceEncoder::Scratch scratch_;
  std::vector<std::uint32_t> ids_, ends_;
};

/// Whether some object has this name.
bool Names(const std::vector<StoredObject>& objects, std::string_view name) {
  return std::any_of(objects.begin(), objects.end(),
                     [&](const StoredObject& object) { return object.name == name; });
}

void VerifySums(const Manifest& manifest, Findings& findings) {
  const bool equal = manifest.lineage.back().config["equal"].AsBool();
  for (const TfdsSplit& split : SplitsOf(manifest)) {
    std::uint64_t records = 0;
    for (const std::uint64_t length : split.shard_lengths) records += length;
    const auto total = manifest.splits.find(split.name);
    const std::uint64_t promised = total == manifest.splits.end() ? 0 : total->second.records;
    // `equal` leaves out the last rows of a split, fewer than it has shards.
    const std::uint64_t may_lack = equal ? split.shard_lengths.size() - 1 : 0;
    if (records > promised || promised - records > may_lack)
      findings.Add(StrCat("split ", split.name, ": its shards have ", records, " records of ", promised));
  }
}

}  // namespace

void VerifyTfdsManifest(const Manifest& manifest, Findings& findings) {
  const Json& name = manifest.lineage.back().config["name"];
  const ManifestShard* before = nullptr;
  for (const ManifestShard& shard : manifest.shards) {
    const bool follows = before != nullptr && before->split == shard.split;
    if (shard.number != (follows ? before->number + 1 : 0) || (follows && shard.count != before->count) ||
        (!follows && before != nullptr && before->number + 1 != before->count))
      findings.Add(StrCat("shard ", shard.object.name, ": number ", shard.number, " of ", shard.count,
                          " does not follow the one before"));
    if (const std::string expected = TfdsShardName(name.AsString(), shard.split, shard.number, shard.count);
        shard.object.name != expected)
      findings.Add(StrCat("shard ", shard.object.name, ": TensorFlow Datasets looks for ", expected));
    before = &shard;
  }
  if (before != nullptr && before->number + 1 != before->count)
    findings.Add(StrCat("split ", before->split, ": has ", before->number + 1, " shards of ", before->count));
  if (!Names(manifest.sidecars, kTfdsInfoFile)) findings.Add(StrCat("names no ", kTfdsInfoFile));
  if (HasLabels(manifest) && !Names(manifest.sidecars, kTfdsLabelsFile))
    findings.Add(StrCat("names no ", kTfdsLabelsFile));
  if (TfdsMaxTokens(manifest) > 0 && !Names(manifest.sidecars, kTfdsTokenizerFile))
    findings.Add(StrCat("names no ", kTfdsTokenizerFile));
  if (!Names(manifest.followers, kTfdsFeaturesFile)) findings.Add(StrCat("names no ", kTfdsFeaturesFile));
  VerifySums(manifest, findings);
}

void VerifyTfdsInfo(std::string_view text, const Manifest& manifest, Findings& findings) {
  const Result<TfdsInfo> info = ParseTfdsInfo(text);
  if (!info.ok()) return findings.Add(info.status().message());
  const Json& config = manifest.lineage.back().config;
  if (info->name != config["name"].AsString())
    findings.Add(StrCat("name is ", info->name, " where the manifest says ", config["name"].AsString()));
  if (info->version != config["version"].AsString(info->version))
    findings.Add(
        StrCat("version is ", info->version, " where the manifest says ", config["version"].AsString()));

  const std::vector<TfdsSplit> expected = SplitsOf(manifest);
  for (const TfdsSplit& split : info->splits) {
    const auto same = std::find_if(expected.begin(), expected.end(),
                                   [&](const TfdsSplit& other) { return other.name == split.name; });
    if (same == expected.end())
      findings.Add(StrCat("split ", split.name, ": has no shards in the manifest"));
    else
      CompareSplit(split, *same, findings);
  }
  for (const TfdsSplit& split : expected)
    if (std::none_of(info->splits.begin(), info->splits.end(),
                     [&](const TfdsSplit& other) { return other.name == split.name; }))
      findings.Add(StrCat("split ", split.name, ": missing"));
}

TfdsFeatures FeaturesOf(const Result<std::string>& features_json, const Result<std::string>& labels_text,
                        const Manifest& manifest) {
  // What was damaged is told where it lies, and not of every record.
  const auto is_whole = [&](const StoredObject& object) {
    return object.name == kTfdsFeaturesFile && object.digest == DigestOf(*features_json);
  };
  if (features_json.ok() && std::any_of(manifest.followers.begin(), manifest.followers.end(), is_whole))
    if (Result<TfdsFeatures> features = ParseTfdsFeatures(*features_json); features.ok())
      return std::move(features).value();
  TfdsFeatures expected;
  const Json& config = manifest.lineage.back().config;
  if (config.Has("features"))
    expected.texts = ListOf(config, "features");
  else if (!manifest.schema.field_names.empty())
    expected.texts = manifest.schema.field_names;
  expected.labels = config["labels"].AsArray().size();
  if (expected.labels > 0 || !labels_text.ok()) return expected;
  if (const Result<std::vector<std::string>> names = ParseTfdsLabels(*labels_text); names.ok())
    expected.labels = names->size();
  return expected;
}

void VerifyTfdsFeatures(std::string_view text, const Manifest& manifest, Findings& findings) {
  const Result<TfdsFeatures> found = ParseTfdsFeatures(text);
  if (!found.ok()) return findings.Add(found.status().message());
  const Json& config = manifest.lineage.back().config;
  if (config.Has("features")) {
    std::vector<std::string> expected = ListOf(config, "features");
    std::sort(expected.begin(), expected.end());
    if (found->texts != expected) findings.Add("names other features than the manifest");
  }
  const std::size_t labels = config["labels"].AsArray().size();
  if (!HasLabels(manifest) && found->labels > 0) findings.Add("has labels where the manifest has none");
  if (HasLabels(manifest) && (found->labels == 0 || (labels > 0 && labels != found->labels)))
    findings.Add(StrCat("has ", found->labels, " labels where the manifest has ",
                        labels > 0 ? std::to_string(labels) : "those of a file"));
}

void VerifyTfdsLabels(std::string_view text, const Manifest& manifest, std::size_t labels,
                      Findings& findings) {
  const Json& config = manifest.lineage.back().config;
  if (config.Has("labels") && text != TfdsLabelsText(ListOf(config, "labels")))
    return findings.Add("does not name the labels that the manifest has, in their order");
  const Result<std::vector<std::string>> names = ParseTfdsLabels(text);
  if (!names.ok()) return findings.Add(names.status().message());
  if (names->size() != labels)
    findings.Add(StrCat("names ", names->size(), " labels where ", kTfdsFeaturesFile, " has ", labels));
}

std::size_t TfdsMaxTokens(const Manifest& manifest) {
  return static_cast<std::size_t>(manifest.lineage.back().config["max_tokens"].AsInt(0));
}

Result<std::shared_ptr<const SentencePieceEncoder>> TfdsTokenizer(Store& store, const Manifest& manifest,
                                                                  const std::stop_token& stop) {
  if (TfdsMaxTokens(manifest) == 0) return std::shared_ptr<const SentencePieceEncoder>();
  ASSIGN_OR_RETURN(const std::string bytes, ReadObject(store, kTfdsTokenizerFile, kMaxModelBytes, stop));
  RETURN_IF_ERROR(SentencePieceModel::Parse(bytes).status());
  ASSIGN_OR_RETURN(std::unique_ptr<const SentencePieceEncoder> encoder, SentencePieceEncoder::Load(bytes));
  return std::shared_ptr<const SentencePieceEncoder>(std::move(encoder));
}

Status VerifyTfdsShard(const ByteFile& file, const ManifestShard& shard, const TfdsShardCheck& check,
                       const std::stop_token& stop, Findings& findings, ReadCounts& counts) {
  ExampleCheck wrong(check);
  return VerifyRecords(
      file, shard, [&wrong](const ShardRecord& record) { return wrong.Of(record.bytes); }, stop, findings,
      counts);
}

}  // namespace pipeline
