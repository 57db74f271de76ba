#include "stages/export/packed/best_fit_packer.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "base/str.h"

namespace pipeline {

namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

class BestFitPacker final : public RowPacker {
 public:
  BestFitPacker(const RowRules& rules, TakeRow row, std::unique_ptr<TargetWeights> weights)
      : RowPacker(std::move(weights)), rules_(rules), take_(std::move(row)) {}

 private:
  /// At most seq_len ids of one document.
  struct Piece {
    std::uint64_t begin = 0;  // in ids_
    PackedRowFacts facts;     // its length, and bytes and characters of its text
    bool continues = false;   // the document began in an earlier piece
  };

  std::size_t Room() const override { return rules_.seq_len - open_.facts.length; }

  Status Take(std::span<const std::uint32_t> ids, std::string_view text, bool scored) override {
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    if (has_weights()) id_weights_.insert(id_weights_.end(), ids.size(), scored ? 1 : 0);
    open_.facts.length += static_cast<std::uint32_t>(ids.size());
    if (scored) RETURN_IF_ERROR(CountText(text, open_.facts));
    // The end of the line follows in any case: a document never ends here.
    return open_.facts.length == rules_.seq_len ? ClosePiece(false) : Status();
  }

  Status GiveRest() override {
    const std::vector<std::uint32_t> row_of = Fit();
    // A linked list of the pieces of each row, in their order.
    std::vector<std::uint32_t> next(pieces_.size(), kNone), first(rows_, kNone);
    for (auto piece = static_cast<std::uint32_t>(pieces_.size()); piece-- > 0;)
      next[piece] = std::exchange(first[row_of[piece]], piece);
    for (std::uint32_t piece = 0; piece < pieces_.size(); ++piece)
      if (first[row_of[piece]] == piece) RETURN_IF_ERROR(Emit(piece, next));
    return {};
  }

  Status EndLine(bool of_document, bool scored) override {
    ids_.push_back(of_document ? rules_.eos_id : rules_.newline_id.value_or(rules_.eos_id));
    if (has_weights()) id_weights_.push_back(scored ? 1 : 0);
    ++open_.facts.length;
    if (scored) RETURN_IF_ERROR(CountText("\n", open_.facts));
    return of_document || open_.facts.length == rules_.seq_len ? ClosePiece(of_document) : Status();
  }

  Status ClosePiece(bool ends_document) {
    if (pieces_.size() == kNone)
      return Status(Code::kResourceExhausted,
                    "packed rows: a partition has 2^32 documents; lower `partition` of the source");
    pieces_.push_back(open_);
    open_ = {ids_.size(), {}, !ends_document};
    return {};
  }

  /// Returns the row of each piece, and counts the rows in rows_.
  std::vector<std::uint32_t> Fit() {
    std::vector<std::uint32_t> order(pieces_.size()), row_of(pieces_.size());
    for (std::uint32_t piece = 0; piece < order.size(); ++piece) order[piece] = piece;
    std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) {
      return pieces_[a].facts.length > pieces_[b].facts.length;
    });
    std::set<std::pair<std::uint32_t, std::uint32_t>> open;  // room and row
    for (const std::uint32_t piece : order) {
      const std::uint32_t length = pieces_[piece].facts.length;
      const auto best = open.lower_bound({length, 0});
      if (best == open.end()) {
        row_of[piece] = rows_++;
        if (length < rules_.seq_len) open.emplace(rules_.seq_len - length, row_of[piece]);
        continue;
      }
      auto taken = open.extract(best);
      row_of[piece] = taken.value().second;
      taken.value().first -= length;
      if (taken.value().first > 0) open.insert(std::move(taken));
    }
    return row_of;
  }

  /// Emits the row whose first piece is `piece`.
  Status Emit(std::uint32_t piece, const std::vector<std::uint32_t>& next) {
    const Piece& front = pieces_[piece];
    row_.assign(1, front.continues ? ids_[front.begin - 1] : rules_.eos_id);
    if (has_weights()) row_weights_.assign(1, 0);
    segments_.clear();
    PackedRowFacts facts;
    std::uint64_t bytes = 0;
    for (bool first = true; piece != kNone; piece = next[piece], first = false) {
      const Piece& part = pieces_[piece];
      if (!first || !part.continues) segments_.push_back(static_cast<std::uint32_t>(row_.size()));
      const auto begin = ids_.begin() + static_cast<std::ptrdiff_t>(part.begin);
      row_.insert(row_.end(), begin, begin + part.facts.length);
      for (std::uint64_t at = part.begin; has_weights() && at < part.begin + part.facts.length; ++at)
        row_weights_.push_back(id_weights_[at]);
      bytes += part.facts.bytes;
      facts.chars += part.facts.chars;
    }
    if (bytes > UINT32_MAX)
      return Status(Code::kResourceExhausted,
                    "packed rows: the text of one row has 4 GiB; give a smaller `seq_len`");
    facts.bytes = static_cast<std::uint32_t>(bytes);
    facts.length = static_cast<std::uint32_t>(row_.size());
    row_.resize(rules_.seq_len + std::size_t{1}, rules_.fill_id);
    if (has_weights()) row_weights_.resize(row_.size());
    return take_(row_, facts, segments_, row_weights_);
  }

  const RowRules rules_;
  const TakeRow take_;
  std::vector<std::uint32_t> ids_;        // of all pieces, one behind the other
  std::vector<std::uint8_t> id_weights_;  // of these ids; empty: rows have none
  std::vector<Piece> pieces_;             // in the order of the corpus
  Piece open_;                            // the piece that receives ids
  std::uint32_t rows_ = 0;
  std::vector<std::uint32_t> row_, segments_, row_weights_;  // used in Emit alone
};

}  // namespace

std::unique_ptr<RowPacker> NewBestFitPacker(const RowRules& rules, TakeRow row,
                                            std::unique_ptr<TargetWeights> weights) {
  return std::make_unique<BestFitPacker>(rules, std::move(row), std::move(weights));
}

}  // namespace pipeline
