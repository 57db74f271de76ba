#include "stages/lines/exec_source.h"

#include <deque>
#include <optional>
#include <utility>

#include "base/digest.h"
#include "base/json.h"
#include "base/mutex.h"
#include "base/str.h"
#include "stages/lines/command_run.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::string_view kMember = "text";

constexpr std::size_t kKeyBytes = 1024;  // the first bytes of a document, which make its key
constexpr std::string_view kSameLines =
    "`lines: same` wants a line for each; say `lines: any` if there is no such order";

/// Returns the command for messages, such as "python3 'a b.py' x": at most about 200 bytes.
std::string Shown(const std::vector<std::string>& command) {
  std::string shown;
  for (const std::string& word : command) {
    if (shown.size() + word.size() > 200) return shown + " …";
    const bool quoted = word.empty() || word.find_first_of(" '\"$\\\n") != std::string::npos;
    shown += StrCat(shown.empty() ? "" : " ", quoted ? StrCat("'", word, "'") : word);
  }
  return shown;
}

/// Heads and columns, without the text, of the records that the command received and has not answered yet.
/// Safe from any thread.
class Unanswered {
 public:
  explicit Unanswered(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  /// Takes the heads and columns of `batch`; its text must be gone.
  Status Add(Batch batch) {
    const Lock lock(mutex_);
    if (batch.size() == 0) return {};
    bytes_ += BytesOf(batch);
    batches_.push_back(std::move(batch));
    if (bytes_ <= max_bytes_) return {};
    return Status(
        Code::kResourceExhausted,
        StrCat("holds back the answers of more records than are remembered (", HumanBytes(max_bytes_),
               "); use a smaller `partition` in the source, or `lines: any`"));
  }

  /// Appends the oldest to `out`; false: there is none.
  bool Take(Batch& out) {
    const Lock lock(mutex_);
    if (batches_.empty()) return false;
    out.AppendRow(batches_.front(), row_);
    if (++row_ == batches_.front().size()) {
      bytes_ -= BytesOf(batches_.front());
      batches_.pop_front();
      row_ = 0;
    }
    return true;
  }

 private:
  static std::size_t BytesOf(const Batch& batch) {
    return batch.size() * (sizeof(RecordHead) + 1) + batch.label.bytes() +
           batch.label.size() * sizeof(std::uint32_t);
  }

  const std::size_t max_bytes_;
  Mutex mutex_;
  std::deque<Batch> batches_ GUARDED_BY(mutex_);
  std::size_t bytes_ GUARDED_BY(mutex_) = 0;
  std::size_t row_ GUARDED_BY(mutex_) = 0;  // the next row of the first batch
};

/// The records that the writing thread has read so far.
struct FeedState {
  Mutex mutex;
  StageCounts origin GUARDED_BY(mutex);             // counts of stage 0 that Next has not forwarded yet
  std::uint64_t records GUARDED_BY(mutex) = 0;      // given to the command, or about to be
  std::uint64_t new_records GUARDED_BY(mutex) = 0;  // those that Next has not counted yet
  std::uint64_t new_bytes GUARDED_BY(mutex) = 0;    // their text
  std::optional<PartitionEnd> end GUARDED_BY(mutex);
};

class ExecSource final : public Source {
 public:
  ExecSource(const ExecRule& rule, ReaderRequest request)
      : rule_(rule),
        request_(std::move(request)),
        owner_(ChildOwner::Current()),
        unanswered_(rule.max_unanswered) {}
  // The threads of the run use the other members.
  ~ExecSource() override { run_.reset(); }

  Result<bool> Next(Batch& batch) override {
    if (closed_) return false;
    if (!run_)
      run_ = std::make_unique<CommandRun>(
          rule_.command, rule_.timeout, [this](std::string& bytes) { return Feed(bytes); }, request_.stop,
          owner_);
    batch.partition = request_.partition;
    while (!at_end_ && batch.text.bytes() + batch.size() < request_.batch_bytes) {
      if (Status status = Fill(batch); !status.ok()) return status;
    }
    StageCounts& own = batch.counts[request_.stage];
    own.records_out = batch.size();
    own.bytes_out = batch.text.bytes();
    const Lock lock(feed_.mutex);
    own.records_in = std::exchange(feed_.new_records, 0);
    own.bytes_in = std::exchange(feed_.new_bytes, 0);
    batch.counts[0] += std::exchange(feed_.origin, {});
    if (at_end_) {
      closed_ = batch.closes = true;
      batch.end = *feed_.end;
    }
    return true;
  }

  std::optional<InputEnd> End() const override { return std::nullopt; }

 private:
  // --- Called from the writing thread.

  Result<bool> Feed(std::string& bytes) {
    bytes.clear();
    if (fed_all_) return false;
    Batch batch;
    batch.Clear(request_.stage + 1);
    Result<bool> more = request_.records->Next(batch);
    if (!more.ok()) {
      origin_failed_ = true;
      return std::move(more).status();
    }
    if (!*more) return Status(Code::kInternal, "its partition did not close [this is a bug]");
    for (std::size_t row = 0; row < batch.size(); ++row)
      if (Status framed = AppendExecLine(rule_.framing, batch.text[row], bytes); !framed.ok())
        return std::move(framed).Annotate(StrCat("record ", batch.heads[row].index));
    {
      const Lock lock(feed_.mutex);
      feed_.origin += batch.counts[0];
      feed_.records += batch.size();
      feed_.new_records += batch.size();
      feed_.new_bytes += batch.text.bytes();
      if (batch.closes) feed_.end = batch.end;
    }
    fed_all_ = batch.closes;
    batch.text = {};
    batch.counts.clear();
    // This comes before the command sees the lines, so that an answer always finds its record.
    if (rule_.same_lines) RETURN_IF_ERROR(unanswered_.Add(std::move(batch)));
    return true;
  }

  // --- Called from the reading thread.

  /// Takes the next line of the buffer, or waits for more output.
  Status Fill(Batch& batch) {
    const std::size_t end = buffer_.find('\n', searched_);
    if (end != std::string::npos) {
      RETURN_IF_ERROR(TakeLine(std::string_view(buffer_).substr(begin_, end - begin_), batch));
      begin_ = searched_ = end + 1;
      return {};
    }
    if (buffer_.size() - begin_ > rule_.max_line)
      return Broken(Code::kResourceExhausted,
                    StrCat("line ", lines_ + 1, " is longer than ", HumanBytes(rule_.max_line)));
    buffer_.erase(0, begin_);
    begin_ = 0;
    searched_ = buffer_.size();
    Result<std::string> chunk = run_->Read();
    if (!chunk.ok()) return Where(std::move(chunk).status());
    if (!chunk->empty()) {
      output_bytes_ += chunk->size();
      if (output_bytes_ > rule_.max_output)
        return Broken(Code::kResourceExhausted,
                      StrCat("it wrote more than ", HumanBytes(rule_.max_output),
                             " for one partition; raise `max_output` if that is right"));
      buffer_ += *chunk;
      return {};
    }
    if (!buffer_.empty()) {
      RETURN_IF_ERROR(TakeLine(buffer_, batch));
      buffer_.clear();
      searched_ = 0;
    }
    at_end_ = true;
    return CheckLines();
  }

  Status TakeLine(std::string_view line, Batch& batch) {
    if (rule_.same_lines && !unanswered_.Take(batch))
      return Broken(Code::kInvalidArgument, StrCat("it wrote line ", lines_ + 1, " when it had been given ",
                                                   Given(), " records: ", kSameLines));
    if (Status read = ReadExecLine(rule_.framing, line, text_); !read.ok())
      return Broken(Code::kInvalidArgument, StrCat("its line ", lines_ + 1, " ", read.message()));
    if (!rule_.same_lines) {
      RecordHead head;
      head.index = head.document = lines_;
      head.key = Hash64(std::string_view(text_).substr(0, kKeyBytes));
      batch.heads.push_back(head);
    }
    ++lines_;
    if (IsCleanUtf8(text_)) {
      batch.text.Append(text_);
    } else {
      Repair(batch);
    }
    return {};
  }

  void Repair(Batch& batch) {
    const Utf8Damage damage = RepairUtf8(text_, batch.text.open_row());
    batch.text.CloseRow();
    const RecordHead& head = batch.heads.back();
    StageCounts& counts = batch.counts[request_.stage];
    const std::string_view reason = damage.invalid_utf8 > 0 ? "invalid_utf8" : "nul";
    counts.Add(reason);
    batch.quarantine.push_back({request_.stage, head.index, head.sub, std::string(reason), text_});
  }

  /// Returns the number of records that the command received. The lock must not be held while the run is
  /// abandoned, because the writing thread takes it before it ends.
  std::uint64_t Given() {
    const Lock lock(feed_.mutex);
    return feed_.records;
  }

  Status CheckLines() {
    const std::uint64_t given = Given();
    if (!rule_.same_lines || lines_ == given) return {};
    return Broken(Code::kInvalidArgument,
                  StrCat("it ended well, with ", lines_, " lines for ", given, " records: ", kSameLines));
  }

  // --- Messages.

  /// Returns a failure that the output of the command shows, and abandons the run, which is useless then.
  Status Broken(Code code, std::string what) {
    run_->Abandon();
    return Where(Status(code, std::move(what)));
  }

  Status Where(Status status) {
    // The caller can make the origin again, so that a failure of it stays as it is; a stop is no failure of
    // the command.
    if (origin_failed_ || status.code() == Code::kCancelled) return status;
    const std::string said = run_->said().empty() ? std::string("; it wrote nothing to stderr")
                                                  : StrCat("; the end of its stderr: ", run_->said());
    std::string words =
        StrCat("stage '", rule_.stage, "', command `", Shown(rule_.command), "`: ", status.message(), said);
    return std::move(status).Reword(std::move(words));
  }

  const ExecRule& rule_;
  const ReaderRequest request_;
  const std::string owner_;  // the owner of the command among the child processes
  Unanswered unanswered_;
  FeedState feed_;

  bool fed_all_ = false;        // used by the writing thread alone
  bool origin_failed_ = false;  // written by the writing thread, read after the run ended

  std::string buffer_;  // of stdout; lines before begin_ are taken
  std::size_t begin_ = 0;
  std::size_t searched_ = 0;  // there is no line end in [begin_, searched_)
  std::uint64_t output_bytes_ = 0;
  std::uint64_t lines_ = 0;
  std::string text_;  // of one record; keeps its memory
  bool at_end_ = false;
  bool closed_ = false;

  std::unique_ptr<CommandRun> run_;
};

}  // namespace

Status AppendExecLine(ExecFraming framing, std::string_view text, std::string& out) {
  if (framing == ExecFraming::kJson) {
    out += "{\"text\":";
    AppendJsonString(out, text);
    out += "}\n";
    return {};
  }
  if (text.find('\n') != std::string_view::npos)
    return Status(Code::kInvalidArgument, "holds a line end and cannot be a line; use `framing: json`");
  out.append(text).push_back('\n');
  return {};
}

Status ReadExecLine(ExecFraming framing, std::string_view line, std::string& text) {
  if (framing == ExecFraming::kLines) {
    text = line;
    return {};
  }
  const Result<Json> json = Json::Parse(line);
  if (!json.ok()) return Status(Code::kInvalidArgument, StrCat("is not JSON: ", json.status().message()));
  const Json& member = (*json)[kMember];
  if (!member.is_string()) return Status(Code::kInvalidArgument, "is no JSON object with a member \"text\"");
  text = member.AsString();
  return {};
}

std::unique_ptr<Source> OpenExecSource(const ExecRule& rule, ReaderRequest request) {
  return std::make_unique<ExecSource>(rule, std::move(request));
}

}  // namespace pipeline
