#include "stages/export/packed/packed_info.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/json_fields.h"
#include "base/str.h"
#include "stages/export/packed/packed_labels.h"

namespace pipeline {

namespace {

constexpr std::string_view kVersionKey = "pipe_packed";
constexpr std::string_view kRowsKey = "rows", kDocumentsKey = "documents";
constexpr std::uint32_t kVersion = 1;         // of Examples in TFRecords, without segments
constexpr std::uint32_t kOtherVersion = 2;    // of all rows that a reader of version 1 would misread
constexpr std::uint32_t kWeightsVersion = 3;  // of rows with weights
constexpr std::uint32_t kDocumentsVersion = 4;

/// In the order of Packing.
constexpr std::array<std::string_view, 3> kPackings = {kStreamPacking, kBestFitPacking, kDocumentsPacking};

void Put(Json& json, const PackedInfo& info, const PackedTotals& totals) {
  json[info.documents() ? kDocumentsKey : kRowsKey] = totals.rows;
  json["tokens"] = totals.tokens;
  if (!info.documents()) json["targets"] = totals.tokens - totals.rows;
  json["bytes"] = totals.bytes;
  json["chars"] = totals.chars;
  if (info.weights) json["scored"] = totals.scored;
}

bool HasVocabulary(const PackedInfo& info) { return KindOf(info.tokenizer) == TokenizerKind::kVocabulary; }

std::uint32_t VersionOf(const PackedInfo& info) {
  if (info.documents()) return kDocumentsVersion;
  if (HasVocabulary(info)) return kNewestPacked;
  if (info.weights) return kWeightsVersion;
  return info.encoding == PackedEncoding::kExample && !info.segments ? kVersion : kOtherVersion;
}

Json ToJson(const PackedInfo& info, const PackedSplit& split) {
  Json json;
  Put(json, info, split.totals());
  if (info.best_fit()) json["padding"] = std::round(info.padding(split.totals()) * 1e6) / 1e6;
  json["left_out"] = split.left_out;
  Json::Array shards;
  for (const PackedShard& shard : split.shards) {
    Json& element = shards.emplace_back();
    Put(element, info, shard.totals);
    element["object"] = shard.object;
    element["index"] = shard.index;
  }
  json["shards"] = std::move(shards);
  return json;
}

/// A document has an id of text, and eos.
PackedTotals DocumentTotalsFromJson(JsonFields& fields, std::string_view where, Status& status) {
  const PackedTotals totals = {fields.Number(kDocumentsKey), fields.Number("tokens"), fields.Number("bytes"),
                               fields.Number("chars"), 0};
  if (status.ok() && totals.tokens / 2 < totals.rows)
    status =
        Status(Code::kDataLoss, StrCat(where, "tokens: ", totals.tokens, " in ", totals.rows, " documents"));
  return totals;
}

/// `info` has the packing and the weights.
PackedTotals TotalsFromJson(JsonFields& fields, std::string_view where, const PackedInfo& info,
                            Status& status) {
  if (info.documents()) return DocumentTotalsFromJson(fields, where, status);
  PackedTotals totals = {fields.Number(kRowsKey), fields.Number("tokens"), fields.Number("bytes"),
                         fields.Number("chars"), 0};
  const std::uint64_t targets = fields.Number("targets");
  if (status.ok() && (totals.tokens < totals.rows || targets != totals.tokens - totals.rows))
    status = Status(Code::kDataLoss, StrCat(where, "targets: ", targets, " with ", totals.tokens,
                                            " tokens in ", totals.rows, " rows"));
  if (info.weights) totals.scored = fields.Number("scored");
  if (status.ok() && totals.scored > targets)
    status = Status(Code::kDataLoss,
                    StrCat(where, "scored: ", totals.scored, ", where there are ", targets, " targets"));
  return totals;
}

PackedSplit SplitFromJson(const std::string& name, const Json& json, const PackedInfo& info, Status& status) {
  PackedSplit split;
  split.name = name;
  const std::string where = StrCat("splits.", name, '.');
  JsonFields fields(json, where, status);
  split.left_out = fields.Number("left_out");
  const PackedTotals totals = TotalsFromJson(fields, where, info, status);
  for (const Json& element : fields.Array("shards")) {
    const std::string inner = StrCat(where, "shards[", split.shards.size(), "].");
    JsonFields parts(element, inner, status);
    PackedShard& shard = split.shards.emplace_back();
    shard.object = parts.Text("object");
    shard.index = parts.Text("index");
    shard.totals = TotalsFromJson(parts, inner, info, status);
    if (!status.ok()) return split;
  }
  if (status.ok() && totals != split.totals())
    status =
        Status(Code::kDataLoss, StrCat("splits.", name, ": its totals are not the sums over its shards"));
  return split;
}

/// `info` has everything else.
Status ReadLabels(const Json& json, PackedInfo& info) {
  info.number_labels = json.is_string() && json.AsString() == kNumberLabels;
  if (!info.number_labels) {
    ASSIGN_OR_RETURN(info.labels, PackedLabelsFromJson(json));
  }
  if (!info.weights || !info.best_fit())
    return Status(Code::kDataLoss, "labels: rows with them have weights and the packing best_fit");
  if (info.tokenizer.eos_id < 0)
    return Status(Code::kDataLoss, "labels: the tokenizer has no eos, which stands behind each");
  if (info.number_labels) return {};
  const Status told_apart = CheckPackedLabels(info.labels, info.tokenizer);
  return told_apart.ok() ? Status() : Status(Code::kDataLoss, std::string(told_apart.message()));
}

std::optional<std::uint32_t> KnownId(std::int32_t id) {
  return id < 0 ? std::nullopt : std::optional(static_cast<std::uint32_t>(id));
}

}  // namespace

TokenizerFacts PackedTokenizer(TokenizerFacts facts) {
  const bool words = KindOf(facts) == TokenizerKind::kVocabulary;
  facts.model = words ? kBertVocabularyFile : kPackedModelFile;
  if (words) facts.eos_id = facts.sep_id;
  return facts;
}

RowRules PackedInfo::rules(bool has_labels) const {
  const std::optional<std::uint32_t> eos = KnownId(tokenizer.eos_id), newline = KnownId(tokenizer.newline_id);
  const bool words = HasVocabulary(*this);
  RowRules rules = {seq_len, eos.value_or(0), fill_id, newline};
  if (documents()) return rules;
  if (words) rules.begin = KnownId(tokenizer.cls_id);
  rules.before_label = words ? eos : newline;
  if (!newline && !words && !has_labels) rules.line_end = eos;
  return rules;
}

std::string_view PackingName(Packing packing) { return kPackings[static_cast<std::size_t>(packing)]; }

std::optional<Packing> PackingOf(std::string_view name) {
  const auto found = std::find(kPackings.begin(), kPackings.end(), name);
  if (found == kPackings.end()) return std::nullopt;
  return static_cast<Packing>(found - kPackings.begin());
}

PackedTotals& PackedTotals::operator+=(const PackedTotals& other) {
  rows += other.rows;
  tokens += other.tokens;
  bytes += other.bytes;
  chars += other.chars;
  scored += other.scored;
  return *this;
}

PackedTotals PackedSplit::totals() const {
  PackedTotals sum;
  for (const PackedShard& shard : shards) sum += shard.totals;
  return sum;
}

std::string_view PackedInfo::dtype() const {
  const std::uint32_t bytes = PackedIdBytes(encoding, tokenizer.vocab_size);
  if (bytes == 0) return "int64";
  if (bytes == 2) return "uint16";
  return encoding == PackedEncoding::kMmap ? "int32" : "uint32";
}

double PackedInfo::padding(const PackedTotals& totals) const {
  const double ids = static_cast<double>(totals.rows) * (static_cast<double>(seq_len) + 1);
  return ids > 0 ? 1 - static_cast<double>(totals.tokens) / ids : 0;
}

std::string PackedInfoJson(const PackedInfo& info) {
  Json json;
  json[kVersionKey] = VersionOf(info);
  if (!info.documents()) json["seq_len"] = info.seq_len;
  if (HasExamples(info.encoding)) json["feature"] = kPackedFeature;
  json["dtype"] = info.dtype();
  // A default value has no member, because earlier files have none of these members.
  if (info.encoding != PackedEncoding::kExample) json["encoding"] = PackedEncodingName(info.encoding);
  if (info.packing != Packing::kStream) json["packing"] = PackingName(info.packing);
  if (info.segments) json["segments"] = true;
  if (info.weights) json["weights"] = true;
  if (!info.labels.empty()) json["labels"] = PackedLabelsJson(info.labels);
  if (info.number_labels) json["labels"] = kNumberLabels;
  if (!info.documents()) json["fill_id"] = info.fill_id;
  json["tokenizer"] = ToJson(info.tokenizer);
  json["splits"] = Json::Object{};
  for (const PackedSplit& split : info.splits) json["splits"][split.name] = ToJson(info, split);
  return json.DumpPretty();
}

Result<PackedInfo> ParsePackedInfo(std::string_view text) {
  Result<Json> json = Json::Parse(text);
  if (!json.ok()) return Status(Code::kDataLoss, std::string(json.status().message()));
  Status status;
  JsonFields fields(*json, "", status);
  const std::uint64_t version = fields.Number(kVersionKey);
  if (status.ok() && (version < kVersion || version > kNewestPacked))
    return Status(Code::kFailedPrecondition, StrCat(kVersionKey, ": ", version, " where this program reads ",
                                                    kNewestPacked, "; use the program that wrote it"));
  PackedInfo info;
  const std::string_view encoding = (*json)["encoding"].AsString("example");
  const std::optional<PackedEncoding> known = PackedEncodingOf(encoding);
  if (!known) return Status(Code::kDataLoss, StrCat("encoding: '", encoding, "' is unknown"));
  info.encoding = *known;
  const std::string_view packing = (*json)["packing"].AsString(kStreamPacking);
  const std::optional<Packing> known_packing = PackingOf(packing);
  if (!known_packing) return Status(Code::kDataLoss, StrCat("packing: '", packing, "' is unknown"));
  info.packing = *known_packing;
  info.segments = (*json)["segments"].AsBool();
  info.weights = (*json)["weights"].AsBool();
  if (!info.documents()) {
    info.seq_len = fields.Number32("seq_len");
    info.fill_id = fields.Number32("fill_id");
  }
  const std::string feature =
      HasExamples(info.encoding) ? fields.Text("feature") : std::string(kPackedFeature);
  const std::string type = fields.Text("dtype");
  const Json& tokenizer = fields.Object("tokenizer");
  for (const auto& [name, split] : fields.Object("splits").AsObject())
    info.splits.push_back(SplitFromJson(name, split, info, status));
  if (!status.ok()) return status;
  ASSIGN_OR_RETURN(info.tokenizer, TokenizerFactsFromJson(tokenizer));
  if (version != VersionOf(info))
    return Status(Code::kDataLoss, StrCat(kVersionKey, ": ", version, " does not fit ",
                                          info.documents() ? kDocumentsPacking : "rows", " in ", encoding,
                                          HasVocabulary(info) ? " of a vocab.txt" : ""));
  if (HasVocabulary(info) && (info.tokenizer.cls_id < 0 || info.tokenizer.eos_id < 0))
    return Status(Code::kDataLoss, "tokenizer: rows of a vocab.txt have [CLS] and [SEP], which it lacks");
  if (feature != kPackedFeature || type != info.dtype())
    return Status(Code::kDataLoss, StrCat("rows have the feature ", feature, " of ", type, ", not ",
                                          kPackedFeature, " of ", info.dtype()));
  if (info.segments && !HasExamples(info.encoding))
    return Status(Code::kDataLoss, StrCat("segments: there is no room for them in ", encoding));
  if (info.weights && !HasExamples(info.encoding))
    return Status(Code::kDataLoss, StrCat("weights: there is no room for them in ", encoding));
  if (json->Has("labels")) RETURN_IF_ERROR(ReadLabels((*json)["labels"], info));
  if (info.encoding == PackedEncoding::kRaw16 && info.tokenizer.vocab_size > kMostOfRaw16)
    return Status(Code::kDataLoss,
                  StrCat("a vocabulary of ", info.tokenizer.vocab_size, " pieces does not fit raw16"));
  if (info.documents() && info.encoding != PackedEncoding::kMmap)
    return Status(Code::kDataLoss, StrCat("packing: documents do not lie in ", encoding));
  if (info.documents() && info.tokenizer.eos_id < 0)
    return Status(Code::kDataLoss, "packing: documents end with eos, which the tokenizer lacks");
  if (info.documents()) return info;
  if (info.seq_len == 0 || info.seq_len > kMaxSeqLen)
    return Status(Code::kDataLoss, StrCat("seq_len: ", info.seq_len, ": must be from 1 to ", kMaxSeqLen));
  if (info.fill_id >= info.tokenizer.vocab_size)
    return Status(Code::kDataLoss, StrCat("fill_id: ", info.fill_id, ", where the vocabulary has ",
                                          info.tokenizer.vocab_size, " pieces"));
  return info;
}

}  // namespace pipeline
