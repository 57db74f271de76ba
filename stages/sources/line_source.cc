#include "stages/sources/line_source.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "base/str.h"
#include "stages/sources/file_splits.h"
#include "stages/sources/line_number.h"
#include "stages/sources/line_reasons.h"
#include "stages/sources/member_pieces.h"
#include "stages/sources/scan_note.h"

namespace pipeline {

namespace {

constexpr std::size_t kFrontBytes = 64 << 10;

using Event = LineCutter::Event;

/// The size of a row that was set aside, or of a part of it.
ReasonSize SizeOf(std::string_view reason, std::string_view bytes) {
  if (reason != "dropped_quotes" || bytes.empty()) return {bytes.size()};
  // The end of the last line may be in it.
  return {bytes.size(), static_cast<std::uint64_t>(std::count(bytes.begin(), bytes.end() - 1, '\n'))};
}

class LineSource : public Source {
 public:
  LineSource(SourceRequest request, const LineRules& rules, DecodedInput input, const Subset& subset,
             const InputRules& opened, const std::optional<ColumnRules>& columns)
      : request_(std::move(request)),
        rules_(rules),
        subset_(subset),
        input_(std::move(input)),
        splits_(opened.splits),
        of_splits_(splits_ ? splits_->names().size() : 0),
        opened_(opened),
        cutter_(rules),
        columns_(columns ? std::optional<RowColumns>(*columns) : std::nullopt),
        before_(request_.note ? std::optional(ParseScanNote(*request_.note)) : std::nullopt),
        stop_with_(request_.stop, [this] { stop_.request_stop(); }) {}

  // Chooses where to begin, and begins.
  Status Start() {
    std::uint32_t first = 0;
    while (!request_.IsPastLast(first) && !request_.wanted(first) && request_.KnownEnd(first)) ++first;
    done_ = request_.IsPastLast(first);
    if (done_) return {};
    std::unique_ptr<ByteReader> reader;
    if ((input_.seekable() || HasPositionOf(first)) && first > 0) {
      ASSIGN_OR_RETURN(const std::optional<Encoding> known,
                       EncodingBefore(request_.KnownEnd(first - 1)->raw_end));
      if (known.value_or(Encoding::kUtf8) == Encoding::kUtf8) {
        ASSIGN_OR_RETURN(reader, ReaderBefore(first, known));
      }
    }
    if (begins_inside_ && request_.passed && before_) ContinueNote(cutter_.partitions());
    if (begins_inside_ && rules_.header) RETURN_IF_ERROR(LookAtFront());
    if (reader == nullptr) {
      ASSIGN_OR_RETURN(reader, input_.Read({0, LastByte()}, std::nullopt, choice_, stop_.get_token()));
    }
    auto ahead =
        ReadAhead::Open(std::move(reader), stop_,
                        request_.is_small ? ReadAhead::Where::kCallersThread : ReadAhead::Where::kOwnThread);
    text_ = std::make_unique<MemberPieces>(std::move(ahead), input_.members());
    return {};
  }

  Result<bool> Next(Batch& batch) override {
    Result<bool> more = Fill(batch);
    if (!more.ok()) return std::move(more).status().Annotate(request_.input.name);
    return more;
  }

  std::optional<InputEnd> End() const override { return end_; }
  bool decodes_on_one_thread() const override { return input_.decodes_on_one_thread(); }
  std::optional<std::uint64_t> bytes_to_cut() const override {
    const bool is_utf8 = !made_ || made_->encoding == Encoding::kUtf8;
    return is_utf8 && !members_are_long_ && !subset_.is_beginning() ? input_.bytes_to_cut() : std::nullopt;
  }
  std::string note() const override {
    return ToString(
        ScanNote{made_ ? std::optional(made_->offset) : std::nullopt, positions_, cutter_.ends()});
  }
  std::string note_before(std::uint64_t raw_end) const override {
    const std::optional<EncodingChoice::Made> made = choice_->made();
    if (opened_.encoding || !input_.seekable() || (made && made->encoding != Encoding::kUtf8)) return {};
    std::optional<std::uint64_t> offset = before_ ? before_->offset : std::nullopt;
    if (!offset && made) offset = made->offset;
    return ToString(ScanNote{offset && *offset < raw_end ? offset : std::nullopt, {}, cutter_.ends()});
  }

 private:
  // Whether it is known where decoding can begin for `partition`.
  bool HasPositionOf(std::uint32_t partition) const {
    return before_ && partition > 0 && partition <= before_->positions.size();
  }
  StreamPosition PositionOf(std::uint32_t partition) const {
    return HasPositionOf(partition) ? before_->positions[partition - 1] : StreamPosition();
  }

  // Notes where decoding can begin for the partition that begins at `border`. False: readers of single
  // partitions would decode more than twice as much as one reader.
  bool NotePosition(std::uint64_t border) {
    const auto from = input_.DecodedFrom(border - std::min<std::uint64_t>(border, kLeastBorderBytes));
    if (!from) return true;
    positions_.push_back(*from);
    if (!input_.member_ends()) return true;  // one unit makes all partitions of a block
    decoded_beside_ += border - positions_.back().raw;
    return positions_.size() < 2 || decoded_beside_ <= border;
  }

  // The note of a scan that begins at partition `first` also has what an earlier scan noted before it.
  void ContinueNote(std::uint32_t first) {
    if (before_->offset) made_ = EncodingChoice::Made{Encoding::kUtf8, *before_->offset};
    for (std::uint32_t partition = 0; partition < first; ++partition) {
      const std::uint64_t border = request_.KnownEnd(partition)->raw_end;
      if (!input_.member_ends()) NotePosition(border);
      if (!input_.member_ends()) continue;
      positions_.push_back(before_->positions[partition]);
      decoded_beside_ += border - positions_.back().raw;
    }
  }

  // The offset up to which the text is probably needed.
  std::uint64_t LastByte() const {
    const auto end = request_.last_wanted ? request_.KnownEnd(*request_.last_wanted) : std::nullopt;
    return end ? end->raw_end : kNoLimit;
  }

  // Returns the encoding of the bytes before `border`; absent: all of them are ASCII.
  Result<std::optional<Encoding>> EncodingBefore(std::uint64_t border) {
    if (opened_.encoding) return opened_.encoding;
    if (before_)
      return before_->offset && *before_->offset < border ? std::optional(Encoding::kUtf8) : std::nullopt;
    const auto choice = std::make_shared<EncodingChoice>();
    ASSIGN_OR_RETURN(const auto reader, input_.Read({0, border}, std::nullopt, choice, stop_.get_token()));
    std::string buffer(kFrontBytes, '\0');
    for (std::uint64_t at = 0; at < border && !choice->made();) {
      ASSIGN_OR_RETURN(const std::size_t got, reader->Read(buffer));
      if (got == 0) break;
      at += got;
    }
    const std::optional<EncodingChoice::Made> made = choice->made();
    return made && made->offset < border ? std::optional(made->encoding) : std::nullopt;
  }

  // The line ends of a file, as its front decides on them, which is UTF-8 or ASCII.
  Result<LineEnds> EndsOfLines() {
    if (!rules_.cr_may_end_lines) return LineEnds::kLf;
    if (before_) return before_->ends;
    ASSIGN_OR_RETURN(const auto reader,
                     input_.Read({0, kFrontBytes}, Encoding::kUtf8, nullptr, stop_.get_token()));
    return FindLineEnds(*reader, stop_.get_token());
  }

  // A reader at `border`, where `partition` begins; null if it ends no document. Decodes from where its last
  // bytes are, or from further in front if a line of white space may begin there.
  Result<std::unique_ptr<ByteReader>> ReaderAt(std::uint32_t partition, std::uint64_t border,
                                               std::optional<Encoding> known, LineEnds ends) {
    const std::uint64_t least =
        border - std::min<std::uint64_t>(border, rules_.space_is_blank ? kBorderBytes : kLeastBorderBytes);
    StreamPosition from = PositionOf(partition);
    if (!input_.member_ends()) from = input_.DecodedFrom(border - kLeastBorderBytes).value_or(from);
    while (true) {
      const std::uint64_t begin = std::max(least, from.raw);
      ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> reader,
                       input_.Read({begin, LastByte()}, known, choice_, stop_.get_token(), from));
      std::string before(static_cast<std::size_t>(border - begin), '\0');
      RETURN_IF_ERROR(ReadExactly(*reader, before));
      if (EndsDocument(before, rules_, ends)) return reader;
      if (begin == least || !EndsDocument("\n" + before, rules_, ends)) return nullptr;
      while (from.raw > least) from = PositionOf(--partition);  // of partition 0 it is the front
    }
  }

  // A reader at the latest known border at or before `partition` that ends a document, with the cutter
  // set to it; null where there is none. `known` as EncodingBefore says it.
  Result<std::unique_ptr<ByteReader>> ReaderBefore(std::uint32_t partition, std::optional<Encoding> known) {
    ASSIGN_OR_RETURN(const LineEnds ends, EndsOfLines());
    for (; partition > 0; --partition) {
      const std::optional<PartitionEnd> end = request_.KnownEnd(partition - 1);
      if (!end || end->raw_end < kLeastBorderBytes) continue;
      ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> reader, ReaderAt(partition, end->raw_end, known, ends));
      if (reader == nullptr) continue;
      cutter_ = LineCutter(rules_, {end->raw_end, end->document_end, partition, ends});
      begins_inside_ = true;
      return reader;
    }
    return nullptr;
  }

  Result<bool> Fill(Batch& batch) {
    while (!done_) {
      if (!held_) {
        Result<Event> next = cutter_.Next();
        if (!next.ok()) return InMember(std::move(next).status());
        held_ = *next;
      }
      switch (*held_) {
        case Event::kNeedInput: RETURN_IF_ERROR(FeedMembers()); break;
        case Event::kHeader: RETURN_IF_ERROR(InMember(columns_->TakeHeader(cutter_.record().bytes))); break;
        case Event::kSectionEnd: BeginMember(); break;
        case Event::kRecord:
        case Event::kSetAside:
          if (cutter_.record().index == 0) wanted_ = request_.wanted(cutter_.record().partition);
          if (!wanted_) break;
          if (!subset_.Has(cutter_.record().key)) {
            ++outside_subset_;
            reasons_.AddSize("outside_subset", {cutter_.record().bytes.size()});
            break;
          }
          if (IsFull(batch)) return Finish(batch);
          RETURN_IF_ERROR(InMember(Take(batch)));
          break;
        case Event::kPartitionEnd: {
          held_.reset();
          const CutEnd& end = cutter_.partition_end();
          done_ = request_.IsPastLast(end.partition + 1);
          if (!wanted_ && request_.passed) {
            members_are_long_ = !NotePosition(end.raw_end);
            if (members_are_long_) return false;
            RETURN_IF_ERROR(request_.passed(end.partition, {end.raw_end, end.document_end}));
          }
          RETURN_IF_ERROR(CheckBorder(end));
          if (wanted_) {
            batch.partition = {request_.number, end.partition};
            batch.closes = true;
            batch.end = {end.raw_end, end.document_end};
            return Finish(batch);
          }
          cutter_.TakeCounts();
          break;
        }
        case Event::kInputEnd: {
          done_ = true;
          if (begins_inside_) RETURN_IF_ERROR(LookAtFront());
          end_.emplace(InputEnd{cutter_.partitions(), cutter_.raw_bytes(), cutter_.documents(), {}});
          AddCutReasons(begins_inside_ ? outside_ : cutter_.outside(), end_->outside);
          // The number of members of a part of the input is unknown.
          if (input_.members() != nullptr && !subset_.is_beginning())
            RETURN_IF_ERROR(CountMembers(*input_.members(), end_->outside));
          for (std::size_t split = 0; split < of_splits_.size(); ++split)
            if (of_splits_[split].members > 0)
              end_->outside.Add(SplitCount(splits_->names()[split]), of_splits_[split].members);
          break;
        }
      }
      held_.reset();
    }
    return false;
  }

  // Checks that the partition ends where an earlier run recorded.
  Status CheckBorder(const CutEnd& cut) const {
    const std::optional<PartitionEnd> known = request_.KnownEnd(cut.partition);
    if (!known || (known->raw_end == cut.raw_end && known->document_end == cut.document_end)) return {};
    return Status(Code::kInvalidArgument,
                  StrCat("partition ", cut.partition, " ended at byte ", known->raw_end,
                         " of the text when an earlier run made it, and ends at byte ", cut.raw_end,
                         " now: that run read another encoding; run with --force to make all of it again"));
  }

  // The encoding of the line of the held event; absent where it is UTF-8, or ASCII in front of the first byte
  // that decided.
  std::optional<Encoding> Decoded() const {
    if (opened_.encoding) return *opened_.encoding == Encoding::kUtf8 ? std::nullopt : opened_.encoding;
    if (!made_ || made_->encoding == Encoding::kUtf8) return std::nullopt;
    return cutter_.raw_bytes() > member_.offset + made_->offset ? std::optional(made_->encoding)
                                                                : std::nullopt;
  }

  // Whether the record of the held event belongs into another batch.
  bool IsFull(const Batch& batch) {
    const bool empty = batch.heads.empty() && batch.quarantine.empty();
    if (empty) batch_bytes_ = 0;
    if (!batch.split.empty() && batch.split.front() != member_.split) return true;
    return !empty && batch_bytes_ + cutter_.record().bytes.size() > request_.batch_bytes;
  }

  // Moves the record of the held event into the batch.
  Status Take(Batch& batch) {
    const CutRecord& record = cutter_.record();
    batch_bytes_ += record.bytes.size();
    batch.partition = {request_.number, record.partition};
    std::string_view reason;
    if (*held_ == Event::kSetAside) {
      reason = "long_quarantined";  // which the cutter counts
    } else if (!columns_) {
      batch.text.Append(record.bytes);
    } else {
      std::string_view row = record.bytes;
      if (cutter_.ends() == LineEnds::kCr && row.find('\r') != std::string_view::npos)
        row = row_ = WithLfEnds(row);
      Result<std::string_view> taken = columns_->Take(row, batch.text, batch.label);
      if (!taken.ok()) return std::move(taken).status().Annotate(PlaceOf(record));
      reason = *taken;
      if (!reason.empty()) reasons_.Add(reason);
      if (const std::uint64_t blank = columns_->TakeBlankLines(); blank > 0)
        reasons_.Add("blank_lines", blank);
    }
    if (!reason.empty()) reasons_.AddSize(reason, SizeOf(reason, record.bytes));
    if (const std::optional<Encoding> decoded = Decoded()) reasons_.Add(DecodedReason(*decoded));
    if (reason.empty()) {
      batch.heads.push_back({record.index, 0, record.document, record.key});
      if (splits_) batch.split.push_back(member_.split);
    } else {
      batch.quarantine.push_back({0, record.index, 0, std::string(reason), std::string(record.bytes)});
    }
    return {};
  }

  std::string PlaceOf(const CutRecord& record) const {
    std::optional<std::uint64_t> line;
    if (input_.members() == nullptr)
      line = LineAt(request_.input, rules_, opened_, record.begin, request_.stop);
    return line ? StrCat("line ", *line) : StrCat("row ", record.document, " (from 0)");
  }

  bool Finish(Batch& batch) {
    const CutCounts cut = cutter_.TakeCounts();
    if (batch.counts.empty()) batch.counts.resize(1);
    StageCounts& counts = batch.counts[0];
    counts.records_in = cut.lines;
    counts.bytes_in = cut.line_bytes;
    counts.records_out = batch.size();
    counts.bytes_out = batch.text.bytes();
    AddCutReasons(cut, counts);
    if (outside_subset_ > 0) counts.Add("outside_subset", std::exchange(outside_subset_, 0));
    counts += std::exchange(reasons_, {});
    return true;
  }

  // Begins the next archive member; all lines of the last one are out.
  void BeginMember() {
    if (splits_) of_splits_[member_.split].documents = DocumentsOfSplit();
    member_ = std::move(next_member_);
    made_.reset();
    member_document_ = cutter_.documents();
    if (!splits_) return;
    const std::uint64_t had = of_splits_[member_.split].documents;
    const std::uint64_t wanted = subset_.documents - std::min(subset_.documents, had);
    if (wanted < kNoLimit - member_document_) cutter_.LimitSection(member_document_ + wanted);
  }

  // Of the member's split.
  std::uint64_t DocumentsOfSplit() const {
    return of_splits_[member_.split].documents + cutter_.documents() - member_document_;
  }

  // True if every split has its documents, so the rest is not read.
  bool HasBeginnings() const {
    if (!splits_ || !subset_.is_beginning()) return false;
    for (std::size_t split = 0; split < of_splits_.size(); ++split)
      if ((split == member_.split ? DocumentsOfSplit() : of_splits_[split].documents) < subset_.documents)
        return false;
    return true;
  }

  // Feeds the cutter, and tells it where a member of an archive begins.
  Status FeedMembers() {
    if (HasBeginnings()) {
      cutter_.FinishInput();
      return {};
    }
    ASSIGN_OR_RETURN(MemberPieces::Piece piece, text_->Next());
    if (piece.border) {
      next_member_ = *std::move(piece.border);
      cutter_.EndSection();
      return {};
    }
    if (piece.bytes.empty()) {
      cutter_.FinishInput();
      return {};
    }
    if (!made_) FindChoice();
    if (splits_ && fed_ == member_.offset) ++of_splits_[member_.split].members;
    cutter_.Feed(piece.bytes);
    fed_ += piece.bytes.size();
    return {};
  }

  // The encoding is known only after these bytes were decoded.
  void FindChoice() {
    const EncodingChoice* const choice = input_.members() == nullptr ? choice_.get() : member_.choice.get();
    if (choice != nullptr) made_ = choice->made();
  }

  Status InMember(Status status) const {
    if (status.ok() || member_.name.empty()) return status;
    return std::move(status).Annotate(StrCat("member '", member_.name, "'"));
  }

  // The header, and what stands before the first record. Having begun after them, one must look.
  Status LookAtFront() {
    LineCutter cutter(rules_, {0, 0, 0, cutter_.ends()});
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader,
                     input_.Read({0, kFrontBytes}, Encoding::kUtf8, nullptr, stop_.get_token()));
    std::string buffer(kFrontBytes, '\0');
    while (true) {
      ASSIGN_OR_RETURN(const Event event, cutter.Next());
      if (event == Event::kHeader) {
        RETURN_IF_ERROR(columns_->TakeHeader(cutter.record().bytes));
      } else if (event != Event::kNeedInput) {
        outside_ = cutter.outside();
        return {};
      } else {
        if (stop_.stop_requested()) return Status(Code::kCancelled, "stopped");
        ASSIGN_OR_RETURN(const std::size_t got, reader->Read(buffer));
        if (got == 0)
          cutter.FinishInput();
        else
          cutter.Feed(std::string_view(buffer).substr(0, got));
      }
    }
  }

  /// What was seen of a split.
  struct OfSplit {
    std::uint64_t members = 0;    // that have text
    std::uint64_t documents = 0;  // in the members before this one
  };

  const SourceRequest request_;
  const LineRules rules_;
  const Subset subset_;
  const DecodedInput input_;
  const std::optional<FileSplits> splits_;  // of the members of an archive
  std::vector<OfSplit> of_splits_;
  const InputRules opened_;
  const std::shared_ptr<EncodingChoice> choice_ = std::make_shared<EncodingChoice>();  // of a file
  std::optional<EncodingChoice::Made> made_;  // of the file, or the member; where it is known
  LineCutter cutter_;
  std::optional<RowColumns> columns_;
  const std::optional<ScanNote> before_;   // of an earlier run
  std::vector<StreamPosition> positions_;  // by partition: where decoding can begin for the one behind it
  std::uint64_t decoded_beside_ = 0;       // bytes that readers of single partitions would decode beside them
  bool members_are_long_ = false;
  std::string row_;                   // with other line ends
  StageCounts reasons_;               // of rows and records, since the last batch
  std::uint64_t outside_subset_ = 0;  // records, since then
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> stop_with_;
  std::uint64_t fed_ = 0;              // since the beginning, which is 0 in an archive
  MemberBorders::Border member_;       // of the archive, whose text is cut; without name outside of archives
  MemberBorders::Border next_member_;  // valid until the section in front of it has ended
  std::uint64_t member_document_ = 0;  // its first one, or the next one
  CutCounts outside_;                  // by LookAtFront
  std::optional<Event> held_;          // told by the cutter, not yet dealt with
  std::size_t batch_bytes_ = 0;
  bool wanted_ = false;  // the cutter's partition
  bool begins_inside_ = false;
  bool done_ = false;
  std::optional<InputEnd> end_;
  std::unique_ptr<MemberPieces> text_;  // last: it reads from input_, perhaps on a thread of its own
};

}  // namespace

Result<std::unique_ptr<Source>> OpenLineSource(SourceRequest request, const LineRules& rules,
                                               const InputRules& input, const Subset& subset,
                                               const std::optional<ColumnRules>& columns) {
  const std::string name = request.input.name;
  InputRules opened = input;
  opened.from_front = subset.is_beginning();
  if (opened.splits) {  // of a file as a whole: the caller sees to that
    ASSIGN_OR_RETURN(const std::optional<std::uint8_t> whole, opened.splits->Find(name));
    if (whole) opened.splits.reset();
  }
  if (opened.splits)
    opened.archive.split_of = [splits = *opened.splits](std::string_view member) {
      return splits.OfMember(member);
    };
  Result<DecodedInput> decoded = DecodedInput::Open(request.input, opened, request.decoder_threads,
                                                    request.decoder_memory, request.stop);
  if (!decoded.ok()) return std::move(decoded).status().Annotate(name);
  if (opened.splits && decoded->members() == nullptr) return opened.splits->Of(name).status();
  LineRules cut = rules;
  if (!opened.splits) cut.max_documents = subset.documents;  // else of each split
  auto source = std::make_unique<LineSource>(std::move(request), cut, std::move(decoded).value(), subset,
                                             opened, columns);
  if (Status status = source->Start(); !status.ok()) return std::move(status).Annotate(name);
  return source;
}

}  // namespace pipeline
