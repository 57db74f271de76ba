#include "stages/line_source.h"

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

#include "stages/decoded_input.h"
#include "stages/read_ahead.h"

namespace pipeline {

namespace {

constexpr std::size_t kFrontBytes = 64 << 10;

using Event = LineCutter::Event;

void AddReasons(const CutCounts& cut, StageCounts& counts) {
  const auto add = [&counts](std::string_view reason, std::uint64_t by) {
    if (by > 0) counts.Add(reason, by);
  };
  add("blank_lines", cut.blank_lines);
  add("bom", cut.bom);
  add("crlf", cut.crlf);
  add("long_split", cut.long_split);
  add("long_quarantined", cut.long_quarantined);
  add("document_cut", cut.document_cut);
}

class LineSource : public Source {
 public:
  LineSource(SourceRequest request, const LineRules& rules, DecodedInput input)
      : request_(std::move(request)),
        rules_(rules),
        input_(std::move(input)),
        cutter_(rules),
        stop_with_(request_.stop, [this] { stop_.request_stop(); }) {}

  // Chooses where to begin, and begins.
  Status Start() {
    std::uint32_t first = 0;
    while (!IsPastLast(first) && !request_.wanted(first) && KnownEnd(first)) ++first;
    done_ = IsPastLast(first);
    if (done_) return {};
    std::unique_ptr<ByteReader> reader;
    if (input_.seekable()) {
      ASSIGN_OR_RETURN(reader, ReaderBefore(first));
    }
    if (reader == nullptr) {
      ASSIGN_OR_RETURN(reader, input_.Read(0, stop_.get_token()));
    }
    text_ = std::make_unique<ReadAhead>(std::move(reader), stop_);
    return {};
  }

  Result<bool> Next(Batch& batch) override {
    Result<bool> more = Fill(batch);
    if (!more.ok()) return std::move(more).status().Annotate(request_.input.name);
    return more;
  }

  std::optional<InputEnd> End() const override { return end_; }

 private:
  bool IsPastLast(std::uint32_t partition) const {
    return request_.last_wanted && partition > *request_.last_wanted;
  }
  std::optional<PartitionEnd> KnownEnd(std::uint32_t partition) const {
    return request_.known_end ? request_.known_end(partition) : std::nullopt;
  }

  // A reader at the latest known border at or before `partition` that ends a document, with the cutter
  // set to it; null where there is none.
  Result<std::unique_ptr<ByteReader>> ReaderBefore(std::uint32_t partition) {
    for (; partition > 0; --partition) {
      const std::optional<PartitionEnd> end = KnownEnd(partition - 1);
      if (!end || end->raw_end < kBorderBytes) continue;
      ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> reader,
                       input_.Read(end->raw_end - kBorderBytes, stop_.get_token()));
      std::string before(kBorderBytes, '\0');
      RETURN_IF_ERROR(ReadExactly(*reader, before));
      if (!EndsDocument(before, rules_.documents)) continue;
      cutter_ = LineCutter(rules_, {end->raw_end, end->document_end, partition});
      begins_inside_ = true;
      return reader;
    }
    return std::unique_ptr<ByteReader>();
  }

  Result<bool> Fill(Batch& batch) {
    while (!done_) {
      if (!held_) {
        ASSIGN_OR_RETURN(held_, cutter_.Next());
      }
      switch (*held_) {
        case Event::kNeedInput: {
          ASSIGN_OR_RETURN(const std::string_view bytes, text_->Next());
          Feed(cutter_, bytes);
          break;
        }
        case Event::kRecord:
        case Event::kSetAside:
          if (cutter_.record().index == 0) wanted_ = request_.wanted(cutter_.record().partition);
          if (!wanted_) break;
          if (!Take(batch)) return Finish(batch);
          break;
        case Event::kPartitionEnd: {
          held_.reset();
          const CutEnd& end = cutter_.partition_end();
          done_ = IsPastLast(end.partition + 1);
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
          ASSIGN_OR_RETURN(const CutCounts outside, Outside());
          end_.emplace(InputEnd{cutter_.partitions(), cutter_.raw_bytes(), cutter_.documents(), {}});
          AddReasons(outside, end_->outside);
          break;
        }
      }
      held_.reset();
    }
    return false;
  }

  // Moves the record of the held event into the batch; false where the batch is full without it.
  bool Take(Batch& batch) {
    const CutRecord& record = cutter_.record();
    const bool empty = batch.heads.empty() && batch.quarantine.empty();
    if (empty) batch_bytes_ = 0;
    if (!empty && batch_bytes_ + record.bytes.size() > request_.batch_bytes) return false;
    batch_bytes_ += record.bytes.size();
    batch.partition = {request_.number, record.partition};
    if (*held_ == Event::kSetAside) {
      batch.quarantine.push_back({0, record.index, 0, "long_quarantined", std::string(record.bytes)});
    } else {
      batch.heads.push_back({record.index, 0, record.document, record.key});
      batch.text.Append(record.bytes);
    }
    return true;
  }

  bool Finish(Batch& batch) {
    const CutCounts cut = cutter_.TakeCounts();
    if (batch.counts.empty()) batch.counts.resize(1);
    StageCounts& counts = batch.counts[0];
    counts.records_in = cut.lines;
    counts.bytes_in = cut.line_bytes;
    counts.records_out = batch.size();
    counts.bytes_out = batch.text.bytes();
    AddReasons(cut, counts);
    return true;
  }

  static void Feed(LineCutter& cutter, std::string_view bytes) {
    if (bytes.empty())
      cutter.FinishInput();
    else
      cutter.Feed(bytes);
  }

  // What stands before the first record. Having begun after it, one must look.
  Result<CutCounts> Outside() {
    if (!begins_inside_) return cutter_.outside();
    LineCutter cutter(rules_);
    ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, input_.Read(0, stop_.get_token()));
    std::string buffer(kFrontBytes, '\0');
    while (true) {
      ASSIGN_OR_RETURN(const Event event, cutter.Next());
      if (event != Event::kNeedInput) return cutter.outside();
      ASSIGN_OR_RETURN(const std::size_t got, reader->Read(buffer));
      Feed(cutter, std::string_view(buffer).substr(0, got));
    }
  }

  const SourceRequest request_;
  const LineRules rules_;
  const DecodedInput input_;
  LineCutter cutter_;
  std::stop_source stop_;
  std::stop_callback<std::function<void()>> stop_with_;
  std::optional<Event> held_;  // told by the cutter, not yet dealt with
  std::size_t batch_bytes_ = 0;
  bool wanted_ = false;  // the cutter's partition
  bool begins_inside_ = false;
  bool done_ = false;
  std::optional<InputEnd> end_;
  std::unique_ptr<ReadAhead> text_;  // last: it reads from input_ on a thread of its own
};

}  // namespace

Result<std::unique_ptr<Source>> OpenLineSource(SourceRequest request, const LineRules& rules,
                                               std::optional<Compression> format) {
  const std::string name = request.input.name;
  Result<DecodedInput> input = DecodedInput::Open(request.input, format, request.decoder_threads,
                                                  request.decoder_memory, request.stop);
  if (!input.ok()) return std::move(input).status().Annotate(name);
  auto source = std::make_unique<LineSource>(std::move(request), rules, std::move(input).value());
  if (Status status = source->Start(); !status.ok()) return std::move(status).Annotate(name);
  return std::unique_ptr<Source>(std::move(source));
}

}  // namespace pipeline
