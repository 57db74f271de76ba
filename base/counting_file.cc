#include "base/counting_file.h"

#include <span>

namespace pipeline {

namespace {

class Reader final : public ByteReader {
 public:
  Reader(std::unique_ptr<ByteReader> input, std::shared_ptr<const CountingFile::Count> count)
      : input_(std::move(input)), count_(std::move(count)) {}
  Result<std::size_t> Read(std::span<char> out) override {
    Result<std::size_t> got = input_->Read(out);
    if (got.ok()) (*count_)(*got);
    return got;
  }

 private:
  const std::unique_ptr<ByteReader> input_;
  const std::shared_ptr<const CountingFile::Count> count_;
};

}  // namespace

Result<std::unique_ptr<ByteReader>> CountingFile::Open(std::uint64_t offset, std::stop_token stop) const {
  ASSIGN_OR_RETURN(std::unique_ptr<ByteReader> reader, file_->Open(offset, std::move(stop)));
  return std::make_unique<Reader>(std::move(reader), count_);
}

}  // namespace pipeline
