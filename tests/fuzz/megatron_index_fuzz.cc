// The index of a Megatron data set: any bytes are read or refused; what was read, written again, is the same.
#include <string>
#include <string_view>

#include "formats/megatron_index.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const HeldFile file(bytes);
  auto index = MegatronIndexReader::Open(file, {});
  if (!index.ok()) {
    Require(index.status().code() == Code::kDataLoss);
    return 0;
  }
  MegatronIndexWriter again(index->type());
  for (std::uint64_t sequences = 0;; ++sequences) {
    const auto next = index->Next();
    if (!next.ok()) {
      Require(next.status().code() == Code::kDataLoss);
      return 0;
    }
    if (!*next) {
      Require(sequences == index->sequences());
      break;
    }
    again.Add(**next);
  }
  std::string written;
  Require(again
              .Finish([&written](std::string_view part) {
                written += part;
                return Status();
              })
              .ok());
  Require(written == bytes);
  return 0;
}
