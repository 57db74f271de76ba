#include "stages/sources/example_source.h"

#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include "base/digest.h"
#include "base/str.h"
#include "formats/tf_example.h"
#include "formats/tfrecord.h"
#include "stages/sources/input_keys.h"
#include "stages/sources/row_columns.h"
#include "stages/sources/row_text.h"
#include "text/utf8.h"

namespace pipeline {

namespace {

constexpr std::size_t kKeyBytes = 1024;

class ExampleSource : public Source {
 public:
  ExampleSource(SourceRequest request, const ExampleRules& rules)
      : request_(std::move(request)), rules_(rules) {}

  // Chooses the first partition to read, and opens the file there.
  Status Start() {
    std::uint32_t first = 0;
    while (!request_.IsPastLast(first) && !request_.wanted(first) && request_.KnownEnd(first)) ++first;
    done_ = request_.IsPastLast(first);
    if (done_) return {};
    std::uint64_t begin = 0;
    for (; first > 0; --first) {
      const std::optional<PartitionEnd> end = request_.KnownEnd(first - 1);
      if (!end) continue;
      partition_ = first;
      document_ = end->document_end;
      begin = end->raw_end;
      break;
    }
    ASSIGN_OR_RETURN(input_, request_.input.file->Open(begin, request_.stop));
    records_.emplace(*input_, rules_.max_record_bytes, begin);
    return {};
  }

  Result<bool> Next(Batch& batch) override {
    Result<bool> more = Fill(batch);
    if (!more.ok()) return std::move(more).status().Annotate(request_.input.name);
    return more;
  }

  std::optional<InputEnd> End() const override { return end_; }
  std::optional<std::uint64_t> bytes_to_cut() const override {
    if (rules_.subset.is_beginning()) return std::nullopt;
    return request_.input.file->size();
  }

 private:
  /// Returns the offset of the next record in the file.
  std::uint64_t at() const { return records_->offset(); }

  Result<bool> Fill(Batch& batch) {
    while (!done_) {
      if (!held_) {
        if (request_.stop.stop_requested()) return Status(Code::kCancelled, "stopped");
        const std::uint64_t from = at();
        Result<std::optional<std::string_view>> next = std::optional<std::string_view>();
        if (document_ < rules_.subset.documents) next = records_->Next();
        if (!next.ok()) return Damaged(std::move(next).status());
        if (!*next) {
          done_ = true;
          bool closes = false;
          if (in_partition_) {
            ASSIGN_OR_RETURN(closes, EndPartition(batch));
          }
          end_.emplace(InputEnd{partition_, from, document_, {}});
          if (closes) return Finish(batch);
          break;
        }
        held_ = **next;
        held_at_ = from;
        if (!std::exchange(in_partition_, true)) {
          partition_begin_ = from;
          index_ = 0;
          wanted_ = request_.wanted(partition_);
        }
      }
      if (wanted_) {
        if (IsFull(batch)) return Finish(batch);
        RETURN_IF_ERROR(Take(batch));
      }
      held_.reset();
      ++document_, ++index_;
      if (at() - partition_begin_ < rules_.partition_bytes) continue;
      ASSIGN_OR_RETURN(const bool closes, EndPartition(batch));
      if (closes) return Finish(batch);
    }
    return false;
  }

  // Returns whether the partition was wanted; then `batch` closes it.
  Result<bool> EndPartition(Batch& batch) {
    const std::uint32_t partition = partition_++;
    in_partition_ = false;
    done_ = done_ || request_.IsPastLast(partition_);
    if (!wanted_ && request_.passed) RETURN_IF_ERROR(request_.passed(partition, {at(), document_}));
    if (!wanted_) return false;
    batch.partition = {request_.number, partition};
    batch.closes = true;
    batch.end = {at(), document_};
    return true;
  }

  bool IsFull(const Batch& batch) {
    const bool empty = batch.heads.empty() && batch.quarantine.empty();
    if (empty) batch_bytes_ = 0;
    return !empty && batch_bytes_ + held_->size() > request_.batch_bytes;
  }

  // Moves the held record into the batch.
  Status Take(Batch& batch) {
    const std::string_view record = *held_;
    batch_bytes_ += record.size();
    batch.partition = {request_.number, partition_};
    ++taken_.records_in;
    taken_.bytes_in += record.size();
    text_.clear(), label_.clear(), absent_.clear();
    const BadRow bad = Read(record);
    const auto tell_absent = [&] {
      for (const std::string& name : absent_) {
        taken_.Add(name);
        // One record of a partition shows the features that there are, should all records be like it.
        if (index_ == 0) batch.quarantine.push_back({0, index_, 0, name, std::string(record)});
      }
    };
    if (bad.reason == kNoText) tell_absent();
    if (bad.reason.empty()) {
      const std::uint64_t key = Hash64(std::string_view(text_).substr(0, kKeyBytes));
      if (!rules_.subset.Has(key)) {
        taken_.Add("outside_subset");
        taken_.AddSize("outside_subset", {record.size()});
        return {};
      }
      batch.heads.push_back({index_, 0, document_, key});
      tell_absent();
      if (blank_lines_ > 0) taken_.Add("blank_lines", blank_lines_);
      batch.text.Append(text_);
      if (!rules_.label.empty()) batch.label.Append(label_);
      return {};
    }
    if (rules_.fail && bad.reason != kNoText)
      return Status(Code::kDataLoss, StrCat("record ", document_, " (from 0), at byte ", held_at_, ": ",
                                            bad.why, "; mend it, or set on_bad_row: quarantine"));
    taken_.Add(bad.reason);
    taken_.AddSize(bad.reason, {record.size()});
    batch.quarantine.push_back({0, index_, 0, std::string(bad.reason), std::string(record)});
    return {};
  }

  bool Finish(Batch& batch) {
    if (batch.counts.empty()) batch.counts.resize(1);
    StageCounts& counts = batch.counts[0];
    counts = std::exchange(taken_, {});
    counts.records_out = batch.size();
    counts.bytes_out = batch.text.bytes();
    return true;
  }

  // Fills text_ and label_ unless the record is bad.
  BadRow Read(std::string_view record) {
    const Result<TfExample> example = ParseTfExample(record);
    if (!example.ok()) return {"dropped_example", std::string(example.status().message())};
    bool first = true;
    blank_lines_ = 0;
    for (const std::string& name : rules_.text) {
      const auto found = example->find(name);
      const bool absent = found == example->end() || IsEmpty(found->second);
      if (absent && !rules_.may_lack) return Missing(name, *example);
      if (found == example->end()) absent_.push_back(AbsentColumn(name));
      field_.clear();
      if (!absent) {
        const TfBytesList* const values = std::get_if<TfBytesList>(&found->second);
        if (values == nullptr)
          return {"dropped_wrong_type", StrCat("feature '", name, "' has numbers, and a text is bytes")};
        for (std::size_t i = 0; i < values->size(); ++i) {
          if (i > 0) field_.push_back('\n');
          field_.append((*values)[i]);
        }
      }
      blank_lines_ += AppendPart(rules_, field_, first, text_);
    }
    if (!absent_.empty() && absent_.size() == rules_.text.size()) return {kNoText, {}};
    return rules_.label.empty() ? BadRow() : ReadLabel(*example);
  }

  BadRow ReadLabel(const TfExample& example) {
    const auto found = example.find(rules_.label);
    if (found == example.end() || IsEmpty(found->second)) return Missing(rules_.label, example);
    if (const auto* bytes = std::get_if<TfBytesList>(&found->second); bytes && bytes->size() == 1) {
      label_ = bytes->front();
      return {};
    }
    const auto* const numbers = std::get_if<TfInt64List>(&found->second);
    if (numbers == nullptr || numbers->size() != 1)
      return {"dropped_wrong_type",
              StrCat("feature '", rules_.label, "' is not one value of bytes or one integer")};
    const std::int64_t number = numbers->front();
    if (rules_.labels.empty()) {
      label_ = std::to_string(number);
      return {};
    }
    if (number < 0 || static_cast<std::uint64_t>(number) >= rules_.labels.size())
      return {"dropped_unknown_label", StrCat("label ", number, " has no name: there are ",
                                              rules_.labels.size(), ", for 0 to ", rules_.labels.size() - 1)};
    label_ = rules_.labels[static_cast<std::size_t>(number)];
    return {};
  }

  static bool IsEmpty(const TfFeature& feature) {
    return std::visit(
        [](const auto& list) {
          if constexpr (std::is_same_v<std::decay_t<decltype(list)>, std::monostate>)
            return true;
          else
            return list.empty();
        },
        feature);
  }

  static BadRow Missing(std::string_view name, const TfExample& example) {
    std::string names;
    for (const auto& [feature, values] : example) names += StrCat(names.empty() ? "" : ", ", feature);
    return {"dropped_no_field", StrCat("has no value of feature '", name, "'; its features are ",
                                       names.empty() ? "none" : Printable(names))};
  }

  Status Damaged(Status why) const {
    if (why.Detail<DamagedRecord>() == nullptr) return why;  // a failure of the file, and not of a record
    if (why.code() == Code::kResourceExhausted)
      return Status(Code::kFailedPrecondition, StrCat(why.message(), " (max_record_bytes); raise it"));
    if (why.code() == Code::kDataLoss && records_->offset() == 0)
      return Status(Code::kDataLoss,
                    StrCat(why.message(),
                           "; if the file is no TFRecord, or a compressed one, make it a plain one first"));
    return why;
  }

  const SourceRequest request_;
  const ExampleRules& rules_;
  std::unique_ptr<ByteReader> input_;
  std::optional<TfRecordReader> records_;
  std::optional<std::string_view> held_;  // read and not yet taken
  std::uint64_t held_at_ = 0;
  std::uint64_t document_ = 0;
  std::uint32_t partition_ = 0;  // the current partition, or the next one
  std::uint64_t partition_begin_ = 0;
  std::uint64_t index_ = 0;
  bool in_partition_ = false;
  bool wanted_ = false;
  bool done_ = false;
  std::size_t batch_bytes_ = 0;
  StageCounts taken_;  // since the last batch
  std::string text_;   // of the record that is read
  std::string field_;
  std::string label_;
  std::vector<std::string> absent_;  // reasons of the record that is read
  std::uint64_t blank_lines_ = 0;    // of that record, in fields
  std::optional<InputEnd> end_;
};

}  // namespace

std::string AbsentFeatureAdvice(std::string_view record, const std::string& name) {
  if (record.ends_with('\n')) record.remove_suffix(1);
  const Result<TfExample> example = ParseTfExample(record);
  if (record.empty() || !example.ok()) return ColumnsAdvice(name, {});
  std::vector<std::string_view> names;
  for (const auto& [feature, values] : *example) names.push_back(feature);
  return ColumnsAdvice(name, names);
}

Result<std::unique_ptr<Source>> OpenExampleSource(SourceRequest request, const ExampleRules& rules) {
  const std::string name = request.input.name;
  auto source = std::make_unique<ExampleSource>(std::move(request), rules);
  if (Status status = source->Start(); !status.ok()) return std::move(status).Annotate(name);
  return source;
}

}  // namespace pipeline
