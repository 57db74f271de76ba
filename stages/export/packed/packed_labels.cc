#include "stages/export/packed/packed_labels.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>
#include <system_error>

#include "base/json_fields.h"
#include "base/str.h"
#include "base/words.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

Status Refused(std::string_view why) { return Status(Code::kInvalidArgument, StrCat("labels: ", why)); }

std::string Quoted(const PackedLabel& label) { return StrCat("'", Printable(label.name), "'"); }

Status CheckIds(const PackedLabel& label, const TokenizerFacts& tokenizer) {
  if (label.ids.empty())
    return Refused(
        StrCat(Quoted(label), " has no ids: its tokenizer sees no text in it; choose another name"));
  for (const std::uint32_t id : label.ids) {
    if (id >= tokenizer.vocab_size)
      return Refused(StrCat(Quoted(label), " has the id ", id, " where the tokenizer has ",
                            tokenizer.vocab_size, " pieces"));
    if (tokenizer.unk_id >= 0 && id == static_cast<std::uint32_t>(tokenizer.unk_id))
      return Refused(StrCat(Quoted(label), " has text for which the tokenizer has no piece, so that its ids ",
                            "do not give the name; choose another name",
                            KindOf(tokenizer) == TokenizerKind::kVocabulary
                                ? ""
                                : ", or a tokenizer with `byte_fallback: true`"));
    if (tokenizer.eos_id >= 0 && id == static_cast<std::uint32_t>(tokenizer.eos_id))
      return Refused(StrCat(Quoted(label), " has the id that ends documents; choose another name"));
  }
  return {};
}

/// Returns how many ids all labels have in common at their beginning.
std::size_t CommonIds(const std::vector<PackedLabel>& labels) {
  std::size_t common = labels.front().ids.size();
  for (const PackedLabel& label : labels) {
    const auto [at, other] = std::mismatch(label.ids.begin(), label.ids.end(), labels.front().ids.begin(),
                                           labels.front().ids.end());
    common = std::min(common, static_cast<std::size_t>(at - label.ids.begin()));
  }
  return common;
}

/// Checks that the first id behind those that all labels have in common tells them apart.
Status CheckTellingIds(const std::vector<PackedLabel>& labels) {
  const std::size_t at = CommonIds(labels);
  constexpr std::string_view kRemedy =
      "trainers decide by the first id behind those with which all names begin; choose names whose first "
      "pieces differ";
  std::map<std::uint32_t, const PackedLabel*> tellers;
  const PackedLabel* ended = nullptr;  // a label that has no such id
  const PackedLabel* longer = nullptr;
  for (const PackedLabel& label : labels) {
    (label.ids.size() > at ? longer : ended) = &label;
    if (label.ids.size() <= at) continue;
    const auto [same, added] = tellers.emplace(label.ids[at], &label);
    if (!added)
      return Refused(StrCat(Quoted(*same->second), " and ", Quoted(label), " have the same id ", at, ", ",
                            label.ids[at], ": ", kRemedy));
  }
  if (ended == nullptr) return {};
  return Refused(StrCat(Quoted(*ended), " ends where ", Quoted(*longer), " goes on: ", kRemedy));
}

// Outside of these an exponent is shorter, or as long.
constexpr double kLeastPlain = 1e-4;
constexpr double kAbovePlain = 1e16;

}  // namespace

Status TooFewLabels(std::size_t names) {
  return Refused(StrCat(names, names == 1 ? " name" : " names",
                        ", and there is nothing to choose among fewer than two; name all labels"));
}

Status CheckPackedLabels(const std::vector<PackedLabel>& labels, const TokenizerFacts& tokenizer) {
  if (labels.size() < 2) return TooFewLabels(labels.size());
  std::map<std::string_view, const PackedLabel*> names;
  std::map<std::vector<std::uint32_t>, const PackedLabel*> ids;
  for (const PackedLabel& label : labels) {
    RETURN_IF_ERROR(CheckIds(label, tokenizer));
    if (!names.emplace(label.name, &label).second) return Refused(StrCat(Quoted(label), " comes twice"));
    const auto [same, added] = ids.emplace(label.ids, &label);
    if (!added)
      return Refused(StrCat(Quoted(*same->second), " and ", Quoted(label),
                            " have the same ids; choose names that the tokenizer tells apart"));
  }
  return CheckTellingIds(labels);
}

Json PackedLabelsJson(const std::vector<PackedLabel>& labels) {
  Json::Array array;
  for (const PackedLabel& label : labels) {
    Json& element = array.emplace_back();
    element["name"] = label.name;
    element["ids"] = Json::Array(label.ids.begin(), label.ids.end());
  }
  return array;
}

Result<std::vector<PackedLabel>> PackedLabelsFromJson(const Json& json) {
  if (!json.is_array()) return Status(Code::kDataLoss, "labels: not a list");
  std::vector<PackedLabel> labels;
  Status status;
  for (const Json& element : json.AsArray()) {
    const std::string where = StrCat("labels[", labels.size(), "].");
    JsonFields fields(element, where, status);
    PackedLabel& label = labels.emplace_back();
    label.name = fields.Text("name");
    for (const Json& id : fields.Array("ids")) {
      if (!id.is_int() || id.AsInt() < 0 || id.AsInt() > UINT32_MAX)
        return Status(Code::kDataLoss, StrCat(where, "ids[", label.ids.size(), "]: ", id.Dump(), ", no id"));
      label.ids.push_back(static_cast<std::uint32_t>(id.AsInt()));
    }
    if (!status.ok()) return status;
  }
  return labels;
}

std::optional<std::string> NumberLabel(std::string_view label) {
  if (label.starts_with('+') && !label.starts_with("+-")) label.remove_prefix(1);
  const auto parsed = ParseNumber<double>(label);
  if (!parsed || !std::isfinite(*parsed)) return std::nullopt;
  const double number = *parsed == 0 ? 0 : *parsed;  // -0 is the same number
  const double size = std::abs(number);
  const bool plain = size == 0 || (size >= kLeastPlain && size < kAbovePlain);
  std::array<char, kLongestNumber> text;
  const auto [behind, full] = std::to_chars(text.data(), text.data() + text.size(), number,
                                            plain ? std::chars_format::fixed : std::chars_format::scientific);
  if (full != std::errc()) return std::nullopt;                    // no double is longer
  const char* const last = std::remove(text.data(), behind, '+');  // 1e+30 is 1e30
  return std::string(static_cast<const char*>(text.data()), last);
}

}  // namespace pipeline
