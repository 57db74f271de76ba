#include "stages/shards/measured_writer.h"

#include <utility>

#include "base/crc32c.h"

namespace pipeline {

namespace {
constexpr std::size_t kBufferBytes = 128 << 10;  // still in the L2 cache when it is hashed
}

Result<std::unique_ptr<MeasuredWriter>> MeasuredWriter::Create(Store& store, std::string name,
                                                               const Condition& condition) {
  ASSIGN_OR_RETURN(std::unique_ptr<ObjectWriter> writer, store.Create(name, condition));
  return std::unique_ptr<MeasuredWriter>(new MeasuredWriter(std::move(name), std::move(writer)));
}

MeasuredWriter::MeasuredWriter(std::string name, std::unique_ptr<ObjectWriter> writer)
    : writer_(std::move(writer)) {
  object_.name = std::move(name);
}

Status MeasuredWriter::Append(std::string_view bytes) {
  if (buffer_.size() + bytes.size() <= kBufferBytes) {
    buffer_.append(bytes);
    return {};
  }
  RETURN_IF_ERROR(Pass(buffer_));
  buffer_.clear();
  if (bytes.size() > kBufferBytes / 2) return Pass(bytes);
  buffer_.assign(bytes);
  return {};
}

Status MeasuredWriter::Pass(std::string_view bytes) {
  if (bytes.empty()) return {};
  object_.bytes += bytes.size();
  object_.crc32c = Crc32c(bytes, object_.crc32c);
  hasher_.Update(bytes);
  return writer_->Append(bytes);
}

Result<StoredObject> MeasuredWriter::Commit(std::stop_token stop) {
  RETURN_IF_ERROR(Pass(buffer_));
  object_.digest = hasher_.Finish();
  ASSIGN_OR_RETURN(const ObjectInfo info, writer_->Commit(std::move(stop)));
  if (info.size != object_.bytes || (info.crc32c && *info.crc32c != object_.crc32c))
    return Status(Code::kDataLoss,
                  object_.name + ": was stored with another length or checksum than written");
  return std::move(object_);
}

}  // namespace pipeline
