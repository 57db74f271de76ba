// The trainer's reader of rows: any frame is read or refused, as formats/ reads or refuses it where both can
// say.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "formats/tfrecord.h"
#include "plugins/train/reader/crc32c.h"
#include "plugins/train/reader/row.h"
#include "stages/export/packed/packed.h"
#include "tests/fuzz/require.h"

namespace {

constexpr std::uint32_t kVocabulary = 1 << 20;

}  // namespace

// The first byte gives the length of the row, the second how many ids it has. What follows is read as a frame
// and, since nothing gets past a wrong CRC, as the data of one.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace pipeline;
  if (size < 2) return 0;
  const pipe_row_rules rules = {static_cast<std::uint32_t>(data[1]) + 2, kVocabulary, 0, 0, 0};
  const std::uint32_t length = 2 + data[0] % (rules.ids - 1);
  char error[kPipeErrorBytes] = "";
  std::vector<std::int32_t> tokens(rules.ids);

  Require(pipe_masked_crc32c(data, size) == pipe_masked_crc32c_portable(data, size));
  const std::vector<unsigned char> frame(data + 2,
                                         data + size);  // exactly so long, for the address sanitizer
  (void)pipe_row_read(&rules, frame.data(), frame.size(), length, 0, tokens.data(), nullptr, error);

  for (const std::uint32_t id_bytes : {2u, 4u}) {
    const pipe_row_rules raw = {rules.ids, kVocabulary, 0, id_bytes, 0};
    std::vector<std::uint32_t> read;
    if (pipe_row_read(&raw, frame.data(), frame.size(), length, 0, tokens.data(), nullptr, error) == 0)
      continue;
    Require(ParseRawIds({reinterpret_cast<const char*>(frame.data()), frame.size()}, id_bytes, read).ok());
    Require(std::equal(
        read.begin(), read.end(), tokens.begin(), tokens.end(),
        [](std::uint32_t id, std::int32_t token) { return token == static_cast<std::int32_t>(id); }));
  }

  const std::string_view example(reinterpret_cast<const char*>(data) + 2, size - 2);
  std::string record;
  AppendTfRecord(record, example);
  const std::vector<unsigned char> framed(record.begin(), record.end());
  std::vector<std::uint32_t> ids;
  if (pipe_row_read(&rules, framed.data(), framed.size(), length, 0, tokens.data(), nullptr, error) != 0) {
    Require(ParsePackedRow(example, ids).ok() && ids.size() == rules.ids);
    for (std::size_t at = 0; at < ids.size(); ++at)
      Require(static_cast<std::uint32_t>(tokens[at]) == ids[at]);
  } else {
    Require(error[0] != '\0');
  }

  const pipe_row_rules weighted = {rules.ids, kVocabulary, 0, 0, 1};
  std::vector<std::uint8_t> weights(rules.ids);
  std::vector<std::uint32_t> others;
  if (pipe_row_read(&weighted, framed.data(), framed.size(), length, 0, tokens.data(), weights.data(),
                    error) == 0)
    return 0;
  Require(ParsePackedRow(example, ids, nullptr, &others).ok() && others.size() == rules.ids);
  for (std::size_t at = 0; at < ids.size(); ++at) {
    Require(static_cast<std::uint32_t>(tokens[at]) == ids[at] && weights[at] == others[at]);
    Require(weights[at] == 0 || (weights[at] == 1 && at > 0 && at < length));
  }
  return 0;
}
