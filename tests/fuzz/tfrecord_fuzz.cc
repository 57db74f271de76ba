// Whatever TfRecordReader takes for records is, framed again, what it was given; and any bytes come
// back from a frame.
#include <algorithm>
#include <string>
#include <string_view>

#include "formats/tfrecord.h"
#include "tests/fuzz/require.h"

namespace {

using namespace pipeline;

constexpr std::uint64_t kLimit = 1 << 16;

/// Gives 1 to 64 bytes at a time, as the bytes themselves say.
class UnevenReader final : public ByteReader {
 public:
  explicit UnevenReader(std::string_view bytes) : left_(bytes) {}
  Result<std::size_t> Read(std::span<char> out) override {
    if (left_.empty()) return std::size_t{0};
    const std::size_t step = 1 + (static_cast<unsigned char>(left_[0]) & 63u);
    const std::size_t size = left_.copy(out.data(), std::min(step, out.size()));
    left_.remove_prefix(size);
    return size;
  }

 private:
  std::string_view left_;
};

/// What the reader gives, framed again; `ok` says whether it came to the end.
std::string Again(std::string_view file, bool* ok) {
  UnevenReader input(file);
  TfRecordReader reader(input, kLimit);
  std::string again;
  for (;;) {
    const auto record = reader.Next();
    *ok = record.ok();
    if (!record.ok() || !record->has_value()) return again;
    Require((*record)->size() <= kLimit);
    AppendTfRecord(again, **record);
    Require(again.size() == reader.offset());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  bool ok = false;
  const std::string prefix = Again(bytes, &ok);
  Require(bytes.substr(0, prefix.size()) == prefix);
  Require(!ok || prefix.size() == size);

  std::string file;
  AppendTfRecord(file, bytes.substr(0, size / 2));
  AppendTfRecord(file, bytes.substr(size / 2));
  if (size / 2 + 1 <= kLimit) Require(Again(file, &ok) == file && ok);
  return 0;
}
