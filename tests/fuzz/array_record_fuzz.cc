// ArrayRecord: any bytes are read or refused; what was written of any records is read as they were, and a
// byte that was changed on the way changes no record silently.
#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "formats/array_record.h"
#include "tests/fuzz/require.h"

namespace {

class BytesFile final : public pipeline::ByteFile {
 public:
  explicit BytesFile(std::string bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  pipeline::Result<std::unique_ptr<pipeline::ByteReader>> Open(std::uint64_t offset,
                                                               std::stop_token) const override {
    const std::string_view all = bytes_;
    return std::unique_ptr<pipeline::ByteReader>(
        std::make_unique<Reader>(all.substr(std::min<std::uint64_t>(offset, all.size()))));
  }

 private:
  class Reader final : public pipeline::ByteReader {
   public:
    explicit Reader(std::string_view rest) : rest_(rest) {}
    pipeline::Result<std::size_t> Read(std::span<char> out) override {
      const std::size_t taken = rest_.copy(out.data(), out.size());
      rest_.remove_prefix(taken);
      return taken;
    }

   private:
    std::string_view rest_;
  };
  const std::string bytes_;
};

/// Every record that can be read, and whether all could.
std::pair<std::vector<std::string>, bool> Read(const std::string& bytes) {
  using namespace pipeline;
  std::vector<std::string> records;
  const BytesFile file(bytes);
  const auto reader = ArrayRecordReader::Open(file, {});
  if (!reader.ok()) {
    Require(reader.status().code() == Code::kDataLoss);
    return {records, false};
  }
  bool good = true;
  while (true) {
    const auto next = (*reader)->Next();
    if (next.ok() && !*next) return {records, good};
    if (next.ok())
      records.emplace_back(**next);
    else
      Require(next.status().code() == Code::kDataLoss), good = false;
  }
}

}  // namespace

// The bytes as a file; and, cut into records by their first bytes, written, with one byte of the file
// changed.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  (void)Read(bytes);
  if (size < 4 || size > 1 << 16) return 0;
  const std::size_t times = 1 + data[0] % 64, place = data[1] * 256u + data[2];
  std::vector<std::string> records;
  for (std::string_view rest = std::string_view(bytes).substr(3); !rest.empty();) {
    const std::size_t length = std::min<std::size_t>(static_cast<unsigned char>(rest[0]), rest.size());
    std::string record;
    for (std::size_t at = 0; at < times; ++at) record.append(rest.substr(0, length));
    records.push_back(std::move(record));
    rest.remove_prefix(std::max<std::size_t>(length, 1));
  }
  pipeline::ArrayRecordWriter writer;
  std::string file;
  for (const std::string& record : records) writer.Append(record, file);
  writer.Finish(file);
  pipeline::Require(Read(file) == std::pair(records, true));
  file[place * 37 % file.size()] ^= 1;
  const auto [found, good] = Read(file);
  pipeline::Require(!good || found == records);
  return 0;
}
