#include "plugins/train/external/event_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>

#include "base/byte_reader.h"
#include "base/file_descriptor.h"
#include "base/str.h"
#include "formats/proto_message.h"
#include "formats/tfrecord.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kMostRecord = 64 << 20;  // an event may have images
constexpr std::string_view kMark = "tfevents";   // in the name of each file, by TensorBoard's own rule

// Numbers of fields.
constexpr std::uint32_t kEventStep = 2, kEventSummary = 5, kSummaryValue = 1, kValueTag = 1, kValueSimple = 2,
                        kValueTensor = 8, kTensorType = 1, kTensorContent = 4, kTensorFloats = 5,
                        kTensorDoubles = 6;
constexpr std::uint64_t kFloat = 1, kDouble = 2;  // tensorflow.DataType

class FileReader final : public ByteReader {
 public:
  FileReader(int file, std::uint64_t at) : file_(file), at_(at) {}
  Result<std::size_t> Read(std::span<char> out) override {
    const ssize_t got =
        Uninterrupted([&] { return pread(file_, out.data(), out.size(), static_cast<off_t>(at_)); });
    if (got < 0) return SystemError("reading", errno);
    at_ += static_cast<std::uint64_t>(got);
    return static_cast<std::size_t>(got);
  }

 private:
  int file_;
  std::uint64_t at_;
};

template <class Number>
std::optional<double> First(std::optional<std::string_view> bytes) {
  Number number = 0;
  if (!bytes || bytes->size() < sizeof number) return {};
  static_assert(std::endian::native == std::endian::little);
  std::memcpy(&number, bytes->data(), sizeof number);
  return static_cast<double>(number);
}

/// The number of a tensor with one; both forms of repeated fields are bytes for ProtoMessage::Bytes or
/// fixed numbers.
std::optional<double> NumberOf(const ProtoMessage& tensor) {
  const std::uint64_t type = tensor.Varint(kTensorType).value_or(0);
  const auto content = tensor.Bytes(kTensorContent);
  if (type == kFloat) {
    if (const auto number = First<float>(content ? content : tensor.Bytes(kTensorFloats))) return number;
    if (const auto number = tensor.Float(kTensorFloats)) return *number;
  }
  if (type == kDouble) {
    if (const auto number = First<double>(content ? content : tensor.Bytes(kTensorDoubles))) return number;
    for (const ProtoMessage::Field& field : tensor.fields())
      if (field.number == kTensorDoubles && field.wire == ProtoMessage::Wire::kFixed64)
        return First<double>(field.bytes());
  }
  return {};
}

std::optional<double> NumberWith(std::string_view tag, const ProtoMessage& value) {
  if (value.Bytes(kValueTag) != tag) return {};
  if (const auto number = value.Float(kValueSimple)) return *number;
  const auto bytes = value.Bytes(kValueTensor);
  if (!bytes) return {};
  const Result<ProtoMessage> tensor = ProtoMessage::Parse(*bytes);
  return tensor.ok() ? NumberOf(*tensor) : std::nullopt;
}

}  // namespace

std::optional<EventScalar> ScalarOf(std::string_view event, std::string_view tag) {
  const Result<ProtoMessage> message = ProtoMessage::Parse(event);
  if (!message.ok()) return {};
  const std::uint64_t step = message->Varint(kEventStep).value_or(0);
  const auto summary = message->Bytes(kEventSummary);
  if (!summary || step > static_cast<std::uint64_t>(INT64_MAX)) return {};
  const Result<ProtoMessage> values = ProtoMessage::Parse(*summary);
  if (!values.ok()) return {};
  for (const ProtoMessage::Field& field : values->fields()) {
    if (field.number != kSummaryValue || field.wire != ProtoMessage::Wire::kBytes) continue;
    const Result<ProtoMessage> value = ProtoMessage::Parse(field.bytes());
    if (!value.ok()) continue;
    if (const auto number = NumberWith(tag, *value))
      return EventScalar{static_cast<std::int64_t>(step), *number};
  }
  return {};
}

std::int64_t EndOfRecords(const std::string& path, std::int64_t from, std::int64_t size, std::int64_t most) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return from;
  FileReader bytes(file.get(), static_cast<std::uint64_t>(from));
  TfRecordReader records(bytes, kMostRecord, static_cast<std::uint64_t>(from));
  std::int64_t end = from;
  while (true) {
    const auto record = records.Next();
    if (!record.ok() || !*record) return end;  // damaged, or being written
    const auto next = static_cast<std::int64_t>(records.offset());
    if (next > size || (end > from && next - from > most)) return end;
    end = next;
    if (end - from >= most) return end;
  }
}

std::vector<std::string> EventFiles::List() const {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::recursive_directory_iterator at(directory_, error), end; !error && at != end; at.increment(error))
    if (at->path().filename().string().find(kMark) != std::string::npos && at->is_regular_file(error))
      paths.push_back(at->path().string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

void EventFiles::Skip() {
  for (const std::string& path : List()) {
    std::error_code error;
    const std::uint64_t size = fs::file_size(path, error);
    if (!error) positions_[path] = {size, size};
  }
}

std::vector<EventScalar> EventFiles::Read() {
  std::vector<EventScalar> scalars;
  for (const std::string& path : List()) ReadFile(path, positions_[path], scalars);
  return scalars;
}

void EventFiles::ReadFile(const std::string& path, Position& at, std::vector<EventScalar>& scalars) const {
  std::error_code error;
  const std::uint64_t size = fs::file_size(path, error);
  if (error || size == at.size) return;
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return;
  FileReader bytes(file.get(), at.offset);
  TfRecordReader records(bytes, kMostRecord, at.offset);
  for (;;) {
    const Result<std::optional<std::string_view>> record = records.Next();
    // A record that is being written has no end yet: the next call reads it once the file has grown.
    if (!record.ok() || !*record) {
      at.size = size;
      return;
    }
    at.offset = records.offset();
    if (const auto scalar = ScalarOf(**record, tag_)) scalars.push_back(*scalar);
  }
}

std::string EventFiles::Unread() const {
  for (const auto& [path, at] : positions_) {
    std::error_code error;
    if (const std::uint64_t size = fs::file_size(path, error); !error && size > at.offset)
      return StrCat(path, ": at byte ", at.offset);
  }
  return {};
}

}  // namespace pipeline
