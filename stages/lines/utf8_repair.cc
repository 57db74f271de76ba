#include "stages/lines/utf8_repair.h"

#include <string>
#include <vector>

#include "base/str.h"
#include "text/encoding_guess.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

// Rows follow each other without a gap: if they are clean together and none begins inside a character, each
// is clean.
bool IsClean(const BytesColumn& text) {
  if (!IsCleanUtf8(text.joined())) return false;
  for (std::size_t row = 0; row < text.size(); ++row)
    if (!text[row].empty() && IsUtf8Tail(text[row].front())) return false;
  return true;
}

constexpr std::size_t kKeptBytes = 2 << 20;  // by a worker: the memory of a longer record is freed

/// Bytes of `text` that became U+FFFD in `repaired`.
std::uint64_t ReplacedBytes(std::string_view text, std::string_view repaired, const Utf8Damage& damage) {
  constexpr std::uint64_t kReplacementBytes = 3;
  return text.size() + kReplacementBytes * (damage.invalid_utf8 + damage.nul) - repaired.size();
}

/// Names the fault behind the clean bytes of a record.
std::string FaultAt(std::string_view text, std::size_t clean) {
  if (clean == text.size()) return "characters of ISO-2022-JP in a text that is not";
  return StrCat(text[clean] == '\0' ? "NUL" : "invalid UTF-8", " at byte ", clean);
}

class RepairWorker : public Worker {
 public:
  RepairWorker(InvalidUtf8 policy, bool finds_iso2022) : policy_(policy), finds_iso2022_(finds_iso2022) {}

  Status Apply(Batch& batch, std::uint32_t stage, StageCounts& counts) override {
    const bool escapes = finds_iso2022_ && batch.text.joined().find('\x1B') != std::string_view::npos;
    if (!escapes && IsClean(batch.text)) return {};
    text_.Clear();
    kept_.clear();
    for (std::size_t row = 0; row < batch.text.size(); ++row) {
      const std::string_view text = batch.text[row];
      const RecordHead head = batch.heads[row];
      const std::size_t clean = CleanUtf8Prefix(text);
      const bool is_foreign = escapes && clean == text.size() && HasIso2022Jp(text);
      if (clean < text.size() || is_foreign) {
        if (policy_ == InvalidUtf8::kFail) {
          batch.failed_index = head.index;
          return Status(Code::kDataLoss,
                        StrCat(FaultAt(text, clean), "; repair the text, or set invalid_utf8: replace"));
        }
        const bool dropped = policy_ == InvalidUtf8::kQuarantine;
        std::string& rows = text_.open_row();  // a repaired record may have three times the bytes: no copy
        const std::size_t begin = rows.size();
        const Utf8Damage damage = RepairUtf8(text, rows);
        const std::uint64_t replaced = ReplacedBytes(text, std::string_view(rows).substr(begin), damage);
        // A record counts once, because these counts become shares of records.
        const std::string_view reason = is_foreign                ? "iso_2022"
                                        : damage.invalid_utf8 > 0 ? "invalid_utf8"
                                                                  : "nul";
        const std::string counted = dropped ? StrCat("dropped_", reason) : std::string(reason);
        counts.Add(counted);
        counts.AddSize(counted, {dropped || is_foreign ? text.size() : replaced});
        batch.quarantine.push_back({stage, head.index, head.sub, std::string(reason), std::string(text)});
        if (dropped) {
          rows.resize(begin);
          continue;
        }
        text_.CloseRow();
      } else {
        text_.Append(text);
      }
      kept_.push_back(static_cast<std::uint32_t>(row));
    }
    batch.KeepBesideText(kept_);
    batch.text.Swap(text_);
    if (text_.bytes() > kKeptBytes) text_ = {};
    return {};
  }

 private:
  const InvalidUtf8 policy_;
  const bool finds_iso2022_;
  BytesColumn text_;
  std::vector<std::uint32_t> kept_;
};

}  // namespace

std::vector<Reason> RepairReasons() {
  return {{"invalid_utf8", "Invalid UTF-8 in it became U+FFFD."},
          {"nul", "A NUL in it became U+FFFD; it had no invalid UTF-8."},
          {"iso_2022", "It has characters of ISO-2022-JP in a text that is not, and stayed as it was."},
          Drop("dropped_invalid_utf8", "It had invalid UTF-8."),
          Drop("dropped_nul", "It had a NUL, and no invalid UTF-8."),
          Drop("dropped_iso_2022", "It had characters of ISO-2022-JP in a text that is not.")};
}

Result<std::unique_ptr<Worker>> Utf8Repair::NewWorker() const {
  return std::make_unique<RepairWorker>(policy_, finds_iso2022_);
}

}  // namespace pipeline
