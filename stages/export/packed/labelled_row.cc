#include "stages/export/packed/labelled_row.h"

#include <algorithm>

#include "base/str.h"
#include "stages/export/packed/number_label.h"
#include "text/utf8.h"

namespace pipeline {

LabelledRowCheck::LabelledRowCheck(const PackedInfo& info, const SentencePieceEncoder* tokenizer)
    : info_(info), tokenizer_(tokenizer) {
  for (const PackedLabel& label : info.labels) labels_.emplace(label.ids, &label);
}

std::optional<std::string> LabelledRowCheck::LabelOf(const std::vector<std::uint32_t>& ids) const {
  if (tokenizer_ == nullptr) {
    const auto label = labels_.find(ids);
    return label == labels_.end() ? std::nullopt : std::optional(label->second->name);
  }
  const Result<std::string> text = tokenizer_->Decode(ids);
  return text.ok() && NumberLabel(*text) == *text ? std::optional(*text) : std::nullopt;
}

std::string LabelledRowCheck::WrongWith(std::span<const std::uint32_t> ids,
                                        std::span<const std::uint32_t> weights, PackedRowFacts& found) const {
  const auto eos = static_cast<std::uint32_t>(info_.tokenizer.eos_id);
  found = {};
  std::size_t begin = 1;  // of the next document
  while (begin < ids.size()) {
    const auto behind = static_cast<std::ptrdiff_t>(begin);
    const bool filled = std::all_of(ids.begin() + behind, ids.end(),
                                    [this](std::uint32_t id) { return id == info_.fill_id; }) &&
                        std::count(weights.begin() + behind, weights.end(), 1u) == 0;
    if (filled) break;
    const auto end = static_cast<std::size_t>(std::find(ids.begin() + behind, ids.end(), eos) - ids.begin());
    if (end == ids.size()) return StrCat("the document with id ", begin, " has no end in the row");
    if (std::string wrong = WrongWithDocument(ids, weights, begin, end, found); !wrong.empty()) return wrong;
    begin = end + 1;
  }
  found.length = static_cast<std::uint32_t>(begin);
  return begin > 1 ? "" : "has no document";
}

std::string LabelledRowCheck::WrongWithDocument(std::span<const std::uint32_t> ids,
                                                std::span<const std::uint32_t> weights, std::size_t begin,
                                                std::size_t end, PackedRowFacts& found) const {
  const auto at = static_cast<std::size_t>(
      std::find(weights.begin() + static_cast<std::ptrdiff_t>(begin), weights.end(), 1u) - weights.begin());
  if (at >= end) return StrCat("the document with id ", begin, " has no scored label");
  for (std::size_t scored = at; scored <= end; ++scored)
    if (weights[scored] == 0) return StrCat("id ", scored, " is not scored, and id ", at, " before it is");
  const std::optional<std::string> label = LabelOf(
      {ids.begin() + static_cast<std::ptrdiff_t>(at), ids.begin() + static_cast<std::ptrdiff_t>(end)});
  if (!label && info_.number_labels)
    return StrCat("the scored ids ", at, " to ", end, " are not those of a number as rows have it");
  if (!label)
    return StrCat("the scored ids ", at, " to ", end, " are not those of a label of ", kPackedInfoFile);
  if (info_.tokenizer.newline_id >= 0 &&
      (at == begin || ids[at - 1] != static_cast<std::uint32_t>(info_.tokenizer.newline_id)))
    return StrCat("the label at id ", at, " is not a line of its own");
  found.bytes += static_cast<std::uint32_t>(label->size() + 1);
  found.chars += static_cast<std::uint32_t>(CountCharacters(*label) + 1);
  return {};
}

}  // namespace pipeline
