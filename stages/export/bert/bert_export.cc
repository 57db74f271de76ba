#include "stages/export/bert/bert_export.h"

#include <algorithm>

#include "stages/export/bert/bert.h"

namespace pipeline {

namespace {

class BertView final : public ExampleView {
 public:
  /// Counts the ids whose mask is not 0.
  std::optional<SeenIds> IdsOf(std::uint64_t index, const TfExample& example) const override {
    const TfInt64List* const mask = NumbersOf(example, kBertMask);
    if (mask == nullptr || NumbersOf(example, kBertIds) == nullptr) return ExampleView::IdsOf(index, example);
    return SeenIds{static_cast<std::uint64_t>(
        std::count_if(mask->begin(), mask->end(), [](std::int64_t one) { return one != 0; }))};
  }
};

std::unique_ptr<const ExportReader> ReadBert(const OpenBeside&) {
  return std::make_unique<ExampleReader>(std::make_unique<BertView>());
}

/// Accepts examples of other programs for the same trainer, too.
bool IsBertFile(const NamedFile& file) {
  return file.first != nullptr && NumbersOf(*file.first, kBertIds) != nullptr &&
         NumbersOf(*file.first, kBertMask) != nullptr;
}

}  // namespace

ExportFormat BertExport() {
  return {.stage = WriteBertType(), .verify = MakeBertCheck, .read = ReadBert, .claims = IsBertFile};
}

}  // namespace pipeline
