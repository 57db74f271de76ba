#include "stages/sources/wiki40b_text.h"

#include <cstdint>
#include <string>
#include <vector>

#include "formats/wiki40b.h"

namespace pipeline {

namespace {

class Wiki40bWorker final : public Worker {
 public:
  Wiki40bWorker(bool titles, std::unique_ptr<Worker> text) : titles_(titles), text_(std::move(text)) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    lines_.Clear(), kept_.clear();
    for (std::size_t row = 0; row < batch.size(); ++row) {
      std::string& out = lines_.open_row();
      const std::size_t begin = out.size();
      AppendWiki40bLines(batch.text[row], titles_, out);
      if (out.size() > begin) {
        lines_.CloseRow();
        kept_.push_back(static_cast<std::uint32_t>(row));
        continue;
      }
      const RecordHead& head = batch.heads[row];
      counts.Add("dropped_empty_text");
      batch.quarantine.push_back(
          {stage, head.index, head.sub, "dropped_empty_text", std::string(batch.text[row])});
    }
    if (kept_.size() < batch.size()) batch.KeepBesideText(kept_);
    batch.text.Swap(lines_);
    return text_->Apply(batch, stage, counts);
  }

 private:
  const bool titles_;
  const std::unique_ptr<Worker> text_;
  BytesColumn lines_;
  std::vector<std::uint32_t> kept_;
};

}  // namespace

Result<std::unique_ptr<Worker>> Wiki40bText::NewWorker() const {
  ASSIGN_OR_RETURN(std::unique_ptr<Worker> text, text_.NewWorker());
  return std::make_unique<Wiki40bWorker>(titles_, std::move(text));
}

}  // namespace pipeline
