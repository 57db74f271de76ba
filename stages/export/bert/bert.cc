#include "stages/export/bert/bert.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "base/json.h"
#include "base/json_fields.h"
#include "base/str.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "stages/tokenizer/tokenizer_layout.h"

namespace pipeline {

namespace {

constexpr int kDigits = 5;
constexpr std::string_view kShardSuffix = ".tfrecord";

// Sorted by name, as in every example.
constexpr std::string_view kMaskedIds = "masked_lm_ids";
constexpr std::string_view kMaskedPositions = "masked_lm_positions";
constexpr std::string_view kMaskedWeights = "masked_lm_weights";
constexpr std::string_view kNextLabels = "next_sentence_labels";
constexpr std::string_view kSegmentIds = "segment_ids";

// Tags of an Example: fields of bytes.
constexpr char kFirst = 1 << 3 | 2;   // features, entry, key, values
constexpr char kSecond = 2 << 3 | 2;  // an entry's value
constexpr char kFloats = 2 << 3 | 2;
constexpr char kInt64s = 3 << 3 | 2;
constexpr std::string_view kOne("\x00\x00\x80\x3f", 4);  // 1.0f

constexpr std::size_t VarintSize(std::uint64_t number) {
  return (static_cast<std::size_t>(std::bit_width(number | 1)) + 6) / 7;
}
constexpr std::size_t SubSize(std::size_t bytes) { return 1 + VarintSize(bytes) + bytes; }

std::size_t VarintSizes(std::span<const std::uint32_t> numbers) {
  std::size_t size = 0;
  for (const std::uint32_t number : numbers) size += VarintSize(number);
  return size;
}

char* PutVarint(char* at, std::uint64_t number) {
  for (; number >= 0x80; number >>= 7) *at++ = static_cast<char>(number | 0x80);
  *at++ = static_cast<char>(number);
  return at;
}

char* PutSub(char* at, char tag, std::size_t bytes) {
  *at++ = tag;
  return PutVarint(at, bytes);
}

/// Returns the size of an entry with `values` bytes of values.
constexpr std::size_t EntrySize(std::string_view key, std::size_t values) {
  return SubSize(key.size()) + SubSize(SubSize(SubSize(values)));
}

/// Writes an entry without its values.
char* PutEntry(char* at, std::string_view key, char kind, std::size_t values) {
  const std::size_t list = SubSize(values);
  at = PutSub(at, kFirst, EntrySize(key, values));
  at = PutSub(at, kFirst, key.size());
  at = std::copy(key.begin(), key.end(), at);
  at = PutSub(at, kSecond, SubSize(list));
  at = PutSub(at, kind, list);
  return PutSub(at, kFirst, values);
}

/// Writes `numbers`; the zeros behind them, up to `length` numbers, exist already.
char* PutNumbers(char* at, std::span<const std::uint32_t> numbers, std::size_t length) {
  for (const std::uint32_t number : numbers) at = PutVarint(at, number);
  return at + (length - numbers.size());
}

Status Wrong(std::string_view why) {
  return Status(Code::kDataLoss, StrCat("not an example of BERT: ", why));
}

/// Returns the feature `name`, which must have `length` whole numbers.
Result<const TfInt64List*> Numbers(const TfExample& example, std::string_view name, std::size_t length) {
  const auto found = example.find(name);
  if (found == example.end()) return Wrong(StrCat("has no ", name));
  const auto* const list = std::get_if<TfInt64List>(&found->second);
  if (list == nullptr) return Wrong(StrCat(name, ": its values are not whole numbers"));
  if (list->size() != length)
    return Wrong(StrCat(name, ": has ", list->size(), " values where ", length, " were asked for"));
  for (const std::int64_t value : *list)
    if (value < 0 || value > UINT32_MAX) return Wrong(StrCat(name, ": has the value ", value));
  return list;
}

struct ModelSize {
  std::string_view name;
  int layers, hidden, heads;
};
// The published models: "Smaller BERT Models" of google-research/bert, and the two of the paper.
constexpr std::array<ModelSize, 6> kSizes = {{{"tiny", 2, 128, 2},
                                              {"mini", 4, 256, 4},
                                              {"small", 4, 512, 8},
                                              {"medium", 8, 512, 8},
                                              {"base", 12, 768, 12},
                                              {"large", 24, 1024, 16}}};

}  // namespace

void AppendBertExample(std::string& out, const BertInstance& instance, const BertLengths& lengths) {
  const std::size_t length = lengths.seq_len, predictions = lengths.predictions;
  const std::size_t ids = instance.ids.size(), masked = instance.positions.size();
  const std::size_t id_bytes = VarintSizes(instance.ids) + (length - ids);
  const std::size_t position_bytes = VarintSizes(instance.positions) + (predictions - masked);
  const std::size_t label_bytes = VarintSizes(instance.labels) + (predictions - masked);
  const std::size_t weight_bytes = 4 * predictions;
  const std::size_t features =
      SubSize(EntrySize(kBertIds, id_bytes)) + SubSize(EntrySize(kBertMask, length)) +
      SubSize(EntrySize(kMaskedIds, label_bytes)) + SubSize(EntrySize(kMaskedPositions, position_bytes)) +
      SubSize(EntrySize(kMaskedWeights, weight_bytes)) + SubSize(EntrySize(kNextLabels, 1)) +
      SubSize(EntrySize(kSegmentIds, length));
  AppendTfRecordHeader(out, SubSize(features));
  const std::size_t begin = out.size();
  out.resize(begin + SubSize(features));  // filled with 0
  char* at = out.data() + begin;
  at = PutSub(at, kFirst, features);
  at = PutEntry(at, kBertIds, kInt64s, id_bytes);
  at = PutNumbers(at, instance.ids, length);
  at = PutEntry(at, kBertMask, kInt64s, length);
  std::fill_n(at, ids, '\1');
  at = PutEntry(at + length, kMaskedIds, kInt64s, label_bytes);
  at = PutNumbers(at, instance.labels, predictions);
  at = PutEntry(at, kMaskedPositions, kInt64s, position_bytes);
  at = PutNumbers(at, instance.positions, predictions);
  at = PutEntry(at, kMaskedWeights, kFloats, weight_bytes);
  for (std::size_t i = 0; i < masked; ++i) std::copy(kOne.begin(), kOne.end(), at + 4 * i);
  at = PutEntry(at + weight_bytes, kNextLabels, kInt64s, 1);
  *at++ = instance.random_next ? '\1' : '\0';
  at = PutEntry(at, kSegmentIds, kInt64s, length);
  std::fill_n(at + instance.first_segment, ids - instance.first_segment, '\1');
  AppendTfRecordFooter(out, begin);
}

Result<BertRow> ParseBertExample(std::string_view example, const BertLengths& lengths) {
  ASSIGN_OR_RETURN(const TfExample features, ParseTfExample(example));
  if (features.size() != 7) return Wrong(StrCat("has ", features.size(), " features where 7 were asked for"));
  const std::size_t length = lengths.seq_len, predictions = lengths.predictions;
  ASSIGN_OR_RETURN(const TfInt64List* const ids, Numbers(features, kBertIds, length));
  ASSIGN_OR_RETURN(const TfInt64List* const mask, Numbers(features, kBertMask, length));
  ASSIGN_OR_RETURN(const TfInt64List* const segments, Numbers(features, kSegmentIds, length));
  ASSIGN_OR_RETURN(const TfInt64List* const positions, Numbers(features, kMaskedPositions, predictions));
  ASSIGN_OR_RETURN(const TfInt64List* const labels, Numbers(features, kMaskedIds, predictions));
  ASSIGN_OR_RETURN(const TfInt64List* const next, Numbers(features, kNextLabels, 1));
  const auto weights_at = features.find(kMaskedWeights);
  const auto* const weights =
      weights_at == features.end() ? nullptr : std::get_if<TfFloatList>(&weights_at->second);
  if (weights == nullptr || weights->size() != predictions)
    return Wrong(StrCat(kMaskedWeights, ": is no list of ", predictions, " floats"));

  const auto used = static_cast<std::size_t>(std::find(mask->begin(), mask->end(), 0) - mask->begin());
  const auto masked =
      static_cast<std::size_t>(std::find(weights->begin(), weights->end(), 0.0F) - weights->begin());
  const auto first =
      static_cast<std::size_t>(std::find(segments->begin(), segments->end(), 1) - segments->begin());
  const std::size_t first_segment = std::min(first, used);
  for (std::size_t at = used; at < length; ++at)
    if ((*mask)[at] != 0) return Wrong(StrCat(kBertMask, ": value ", at, " is ", (*mask)[at]));
  for (std::size_t at = 0; at < used; ++at)
    if ((*mask)[at] != 1) return Wrong(StrCat(kBertMask, ": value ", at, " is ", (*mask)[at]));
  for (std::size_t at = 0; at < length; ++at) {
    const bool real = at < used;
    if ((*segments)[at] != (real && at >= first_segment ? 1 : 0))
      return Wrong(StrCat(kSegmentIds, ": value ", at, " is ", (*segments)[at]));
    if (!real && (*ids)[at] != 0)
      return Wrong(StrCat(kBertIds, ": value ", at, " is not 0, although it is padding"));
  }
  for (std::size_t at = 0; at < predictions; ++at) {
    const bool real = at < masked;
    if ((*weights)[at] != (real ? 1.0F : 0.0F))
      return Wrong(StrCat(kMaskedWeights, ": value ", at, " is neither 0 nor 1, or follows a 0"));
    if (real ? (*positions)[at] >= static_cast<std::int64_t>(used) ||
                   (at > 0 && (*positions)[at] <= (*positions)[at - 1])
             : (*positions)[at] != 0)
      return Wrong(StrCat(kMaskedPositions, ": value ", at, " is ", (*positions)[at]));
    if (!real && (*labels)[at] != 0)
      return Wrong(StrCat(kMaskedIds, ": value ", at, " is not 0, although it is padding"));
  }
  if ((*next)[0] > 1) return Wrong(StrCat(kNextLabels, ": ", (*next)[0], " is neither 0 nor 1"));

  BertRow row;
  const auto copy = [](const TfInt64List& from, std::size_t count, std::vector<std::uint32_t>& to) {
    for (std::size_t at = 0; at < count; ++at) to.push_back(static_cast<std::uint32_t>(from[at]));
  };
  copy(*ids, used, row.ids);
  copy(*positions, masked, row.positions);
  copy(*labels, masked, row.labels);
  row.first_segment = static_cast<std::uint32_t>(first_segment);
  row.random_next = (*next)[0] == 1;
  return row;
}

std::string BertShardName(std::string_view split, std::uint32_t shard, std::uint32_t shards) {
  return StrCat(split, '-', ZeroPadded(shard, kDigits), "-of-", ZeroPadded(shards, kDigits), kShardSuffix);
}

std::vector<std::string_view> BertModelSizes() {
  std::vector<std::string_view> names;
  for (const ModelSize& size : kSizes) names.push_back(size.name);
  return names;
}

std::string BertConfigJson(std::string_view size, std::uint64_t vocab_size, std::uint64_t seq_len) {
  const ModelSize& model = *std::find_if(kSizes.begin(), kSizes.end() - 1,
                                         [&](const ModelSize& known) { return known.name == size; });
  Json json;
  json["attention_probs_dropout_prob"] = 0.1;
  json["hidden_act"] = "gelu";
  json["hidden_dropout_prob"] = 0.1;
  json["hidden_size"] = model.hidden;
  json["initializer_range"] = 0.02;
  json["intermediate_size"] = 4 * model.hidden;
  json["max_position_embeddings"] = std::max<std::uint64_t>(512, seq_len);
  json["num_attention_heads"] = model.heads;
  json["num_hidden_layers"] = model.layers;
  json["type_vocab_size"] = 2;
  json["vocab_size"] = vocab_size;
  return json.DumpPretty();
}

std::string BertInfoJson(const BertInfo& info, const Json& made) {
  Json json;
  json["max_seq_length"] = info.lengths.seq_len;
  json["max_predictions_per_seq"] = info.lengths.predictions;
  json["instances"] = made;
  json["tokenizer"] = ToJson(info.tokenizer);
  return json.DumpPretty();
}

Result<BertInfo> ParseBertInfo(std::string_view text) {
  Result<Json> json = Json::Parse(text);
  if (!json.ok()) return Status(Code::kDataLoss, StrCat("not JSON: ", json.status().message()));
  Status status;
  JsonFields fields(*json, "", status);
  BertInfo info;
  info.lengths.seq_len = fields.Number32("max_seq_length");
  info.lengths.predictions = fields.Number32("max_predictions_per_seq");
  if (!status.ok()) return status;
  ASSIGN_OR_RETURN(info.tokenizer, TokenizerFactsFromJson((*json)["tokenizer"]));
  return info;
}

Status CheckBertTokenizer(const TokenizerFacts& facts) {
  const auto refuse = [](std::string why) { return Status(Code::kFailedPrecondition, std::move(why)); };
  if (facts.layout != kBertLayout)
    return refuse(
        StrCat("a tokenizer of layout '", facts.layout,
               "' has no vocab.txt with [CLS], [SEP] and [MASK]; train one with `model: wordpiece` and "
               "`layout: bert`, or name a vocab.txt"));
  for (const auto& [piece, id] : {std::pair("[CLS]", facts.cls_id), std::pair("[SEP]", facts.sep_id),
                                  std::pair("[MASK]", facts.mask_id)})
    if (id < 0) return refuse(StrCat(facts.model, " has no piece ", piece, ", which examples of BERT need"));
  if (facts.pad_id != 0)
    return refuse(StrCat(facts.model, facts.pad_id < 0 ? " has no piece [PAD]" : " has [PAD] further down",
                         "; BERT pads with id 0, so [PAD] must be the first line"));
  return {};
}

}  // namespace pipeline
