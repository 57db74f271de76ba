#include "stages/export/packed/row_packer.h"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "base/str.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

class StreamPacker final : public RowPacker {
 public:
  StreamPacker(const RowRules& rules, TakeRow row, std::unique_ptr<TargetWeights> weights)
      : RowPacker(rules, std::move(weights)), take_(std::move(row)) {
    row_.reserve(std::size_t{rules.seq_len} + 1);
    BeginRow(rules.eos_id);
  }

 private:
  std::size_t Room() const override { return rules().seq_len + std::size_t{1} - row_.size(); }

  Status Take(std::span<const std::uint32_t> ids, std::string_view text, bool scored) override {
    BeginSegment();
    row_.insert(row_.end(), ids.begin(), ids.end());
    if (has_weights()) row_weights_.insert(row_weights_.end(), ids.size(), scored ? 1 : 0);
    if (scored) RETURN_IF_ERROR(CountText(text, facts_));
    return row_.size() > rules().seq_len ? Emit() : Status();
  }

  Status GiveRest() override { return row_.size() > 1 ? Emit() : Status(); }

  void BeginSegment() {
    if (!between_documents_) return;
    segments_.push_back(static_cast<std::uint32_t>(row_.size()));
    between_documents_ = false;
  }

  /// The end of a line counts as one byte and one character, whichever id encodes it.
  Status EndLine(std::optional<std::uint32_t> id, bool of_document, bool scored) override {
    if (scored) RETURN_IF_ERROR(CountText("\n", facts_));
    if (!id) return {};
    BeginSegment();
    row_.push_back(*id);
    between_documents_ = of_document;
    if (has_weights()) row_weights_.push_back(scored ? 1 : 0);
    return row_.size() > rules().seq_len ? Emit() : Status();
  }

  Status Emit() {
    facts_.length = static_cast<std::uint32_t>(row_.size());
    const std::uint32_t last = row_.back();
    row_.resize(rules().seq_len + std::size_t{1}, rules().fill_id);
    if (has_weights()) row_weights_.resize(row_.size());
    RETURN_IF_ERROR(take_(row_, facts_, segments_, row_weights_));
    segments_.clear();
    facts_ = {};
    BeginRow(last);
    return {};
  }

  void BeginRow(std::uint32_t context) {
    row_.assign(1, context);
    if (has_weights()) row_weights_.assign(1, 0);
  }

  const TakeRow take_;
  std::vector<std::uint32_t> row_;          // the ids of the open row; never full between calls
  std::vector<std::uint32_t> segments_;     // of the open row
  std::vector<std::uint32_t> row_weights_;  // of its ids; empty: rows have none
  PackedRowFacts facts_;                    // bytes and chars of the open row
  bool between_documents_ = true;           // the next id is the first of a document
};

/// Returns kInternal if ids, ends and text do not belong together.
Status CheckLine(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> ends,
                 std::string_view text) {
  if (ids.size() == ends.size() && (ends.empty() || ends.back() <= text.size()) &&
      std::is_sorted(ends.begin(), ends.end()))
    return {};
  return Status(Code::kInternal, StrCat("packed rows: ", ids.size(), " ids with ", ends.size(),
                                        " ends do not fit a text of ", text.size(), " bytes"));
}

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

class BestFitPacker final : public RowPacker {
 public:
  BestFitPacker(const RowRules& rules, TakeRow row, std::unique_ptr<TargetWeights> weights)
      : RowPacker(rules, std::move(weights)), take_(std::move(row)) {}

 private:
  /// At most seq_len ids of one document.
  struct Piece {
    std::uint64_t begin = 0;  // in ids_
    PackedRowFacts facts;     // its length, and bytes and characters of its text
    bool continues = false;   // the document began in an earlier piece
  };

  std::size_t Room() const override { return rules().seq_len - open_.facts.length; }

  Status Take(std::span<const std::uint32_t> ids, std::string_view text, bool scored) override {
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    if (has_weights()) id_weights_.insert(id_weights_.end(), ids.size(), scored ? 1 : 0);
    open_.facts.length += static_cast<std::uint32_t>(ids.size());
    if (scored) RETURN_IF_ERROR(CountText(text, open_.facts));
    // The end of the line follows in any case: a document never ends here.
    return open_.facts.length == rules().seq_len ? ClosePiece(false) : Status();
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

  Status EndLine(std::optional<std::uint32_t> id, bool of_document, bool scored) override {
    if (scored) RETURN_IF_ERROR(CountText("\n", open_.facts));
    if (!id) return {};
    ids_.push_back(*id);
    if (has_weights()) id_weights_.push_back(scored ? 1 : 0);
    ++open_.facts.length;
    return of_document || open_.facts.length == rules().seq_len ? ClosePiece(of_document) : Status();
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
        if (length < rules().seq_len) open.emplace(rules().seq_len - length, row_of[piece]);
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
    row_.assign(1, front.continues ? ids_[front.begin - 1] : rules().eos_id);
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
    row_.resize(rules().seq_len + std::size_t{1}, rules().fill_id);
    if (has_weights()) row_weights_.resize(row_.size());
    return take_(row_, facts, segments_, row_weights_);
  }

  const TakeRow take_;
  std::vector<std::uint32_t> ids_;        // of all pieces, one behind the other
  std::vector<std::uint8_t> id_weights_;  // of these ids; empty: rows have none
  std::vector<Piece> pieces_;             // in the order of the corpus
  Piece open_;                            // the piece that receives ids
  std::uint32_t rows_ = 0;
  std::vector<std::uint32_t> row_, segments_, row_weights_;  // used in Emit alone
};

class DocumentPacker final : public RowPacker {
 public:
  DocumentPacker(const RowRules& rules, TakeRow document)
      : RowPacker(rules, nullptr), take_(std::move(document)) {}

  std::uint64_t empty_documents() const override { return empty_documents_; }

 private:
  std::size_t Room() const override { return std::numeric_limits<std::size_t>::max(); }

  Status Take(std::span<const std::uint32_t> ids, std::string_view text, bool) override {
    RETURN_IF_ERROR(CheckRoom(ids.size()));
    ids_.insert(ids_.end(), ids.begin(), ids.end());
    has_text_ = true;
    return CountText(text, facts_);
  }

  /// The end of a line without an id counts as well.
  Status EndLine(std::optional<std::uint32_t> id, bool of_document, bool) override {
    RETURN_IF_ERROR(CountText("\n", facts_));
    if (of_document) return Emit();
    if (!id) return {};
    RETURN_IF_ERROR(CheckRoom(1));
    ids_.push_back(*id);
    return {};
  }

  Status GiveRest() override { return {}; }

  /// For so many ids more, and eos.
  Status CheckRoom(std::size_t more) const {
    if (ids_.size() + more < kMostDocumentIds) return {};
    return Status(Code::kResourceExhausted,
                  StrCat("packed documents: a document has more than ", kMostDocumentIds,
                         " ids with its eos; let a shorter part of the text be a document"));
  }

  Status Emit() {
    Status taken;
    if (has_text_) {
      ids_.push_back(rules().eos_id);
      facts_.length = static_cast<std::uint32_t>(ids_.size());
      taken = take_(ids_, facts_, {}, {});
    } else {
      ++empty_documents_;
    }
    ids_.clear();
    facts_ = {};
    has_text_ = false;
    return taken;
  }

  const TakeRow take_;
  std::vector<std::uint32_t> ids_;  // of the open document
  PackedRowFacts facts_;            // its bytes and characters
  bool has_text_ = false;           // it has an id of text
  std::uint64_t empty_documents_ = 0;
};

}  // namespace

Status RowPacker::Add(std::span<const std::uint32_t> ids, std::span<const std::uint32_t> ends,
                      std::string_view text, std::uint64_t document) {
  const bool begins = !in_line_ || document != document_;
  if (in_line_) RETURN_IF_ERROR(Close(begins));
  in_line_ = true;
  document_ = document;
  if (begins && rules_.begin) RETURN_IF_ERROR(Take({&*rules_.begin, 1}, {}, !weights_));
  RETURN_IF_ERROR(CheckLine(ids, ends, text));
  of_line_.clear();
  if (weights_) weights_->Weigh(ids, of_line_);
  if (weights_ && of_line_.size() != ids.size())
    return Status(Code::kInternal,
                  StrCat("packed rows: ", of_line_.size(), " weights for ", ids.size(), " ids"));
  std::size_t begin = 0;  // in the text
  for (std::size_t at = 0; at < ids.size();) {
    const std::size_t count = CountAlike(at, at + std::min(ids.size() - at, Room()));
    const std::size_t end = ends[at + count - 1];
    RETURN_IF_ERROR(Take(ids.subspan(at, count), text.substr(begin, end - begin), !weights_ || of_line_[at]));
    at += count;
    begin = end;
  }
  return {};
}

Status RowPacker::Finish() {
  if (in_line_) RETURN_IF_ERROR(Close(true));
  return GiveRest();
}

Status RowPacker::Close(bool of_document) {
  const std::optional<std::uint32_t> id = of_document ? rules_.eos_id : rules_.line_end;
  if (!weights_) return EndLine(id, of_document, true);
  const bool scored = weights_->WeighEnd(of_document);
  scored_ += scored && id ? 1 : 0;
  if (of_document && std::exchange(scored_before_, scored_) == scored_) ++unscored_documents_;
  return EndLine(id, of_document, scored);
}

std::size_t RowPacker::CountAlike(std::size_t at, std::size_t end) {
  if (!weights_) return end - at;
  std::size_t count = 1;
  while (at + count < end && of_line_[at + count] == of_line_[at]) ++count;
  if (of_line_[at]) scored_ += count;
  return count;
}

std::unique_ptr<RowPacker> NewStreamPacker(const RowRules& rules, TakeRow row,
                                           std::unique_ptr<TargetWeights> weights) {
  return std::make_unique<StreamPacker>(rules, std::move(row), std::move(weights));
}

Status CountText(std::string_view text, PackedRowFacts& facts) {
  const std::uint64_t bytes = facts.bytes + std::uint64_t{text.size()};
  if (bytes > UINT32_MAX)
    return Status(Code::kResourceExhausted,
                  "packed rows: the text of one row or document has 4 GiB; give a smaller `seq_len`, or "
                  "shorter documents");
  facts.bytes = static_cast<std::uint32_t>(bytes);
  facts.chars += static_cast<std::uint32_t>(
      std::count_if(text.begin(), text.end(), [](char byte) { return !IsUtf8Tail(byte); }));
  return {};
}

std::unique_ptr<RowPacker> NewDocumentPacker(const RowRules& rules, TakeRow document) {
  return std::make_unique<DocumentPacker>(rules, std::move(document));
}

std::unique_ptr<RowPacker> NewBestFitPacker(const RowRules& rules, TakeRow row,
                                            std::unique_ptr<TargetWeights> weights) {
  return std::make_unique<BestFitPacker>(rules, std::move(row), std::move(weights));
}

}  // namespace pipeline
