// Any bytes as a bundle, and any names and sizes: what was listed is read back, and each part that is read
// lies in the file.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "storage/bundle_file.h"
#include "tests/fuzz/require.h"
#include "tests/support/map_store.h"

namespace {

using namespace pipeline;

void CheckRead(const std::string& bytes) {
  const Result<std::vector<BundledPart>> parts = ReadBundleParts(StringFile(bytes));
  if (!parts.ok()) {
    Require(parts.status().code() == Code::kDataLoss);
    return;
  }
  std::uint64_t end = 0;
  for (const BundledPart& part : *parts) {
    Require(CanBeBundled(part.name) && part.offset == end);
    end += part.size;
    Require(end <= bytes.size());
  }
}

void CheckListed(std::string_view text) {
  std::vector<BundledPart> parts;
  std::string bytes;
  while (!text.empty()) {
    const std::size_t size = static_cast<unsigned char>(text.front());
    const std::size_t end = std::min(text.find('\0', 1), text.size());
    if (const std::string_view name = text.substr(1, end - 1); CanBeBundled(name)) {
      parts.push_back({std::string(name), bytes.size(), size});
      bytes.append(size, 'x');
    }
    text.remove_prefix(end);
  }
  const Result<std::vector<BundledPart>> read = ReadBundleParts(StringFile(bytes + EncodeBundleEnd(parts)));
  Require(read.ok() && read->size() == parts.size());
  for (std::size_t at = 0; at < parts.size(); ++at)
    Require((*read)[at].name == parts[at].name && (*read)[at].offset == parts[at].offset &&
            (*read)[at].size == parts[at].size);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  CheckRead(text);
  CheckListed(text);
  return 0;
}
