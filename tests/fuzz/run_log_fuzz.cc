// Any bytes as a run log: every line that is understood comes back from its own encoding. The checksum
// is put right first, so that the fuzzer gets behind it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "dag/books/run_log_line.h"

namespace pipeline {
namespace {

std::optional<LineHead> Scan(const std::string& sealed) {
  return ScanLine(std::string_view(sealed).substr(0, sealed.size() - 1));
}

template <class Decode>
void CheckRoundTrip(const LineHead& head, const Decode& decode) {
  const auto line = decode(head);
  if (!line) return;
  const std::string text = EncodeLine(*line);
  if (text.find('\n') != text.size() - 1) std::abort();
  const std::optional<LineHead> again = Scan(text);
  if (!again) std::abort();
  const auto same = decode(*again);
  if (!same || EncodeLine(*same) != text) std::abort();
}

void CheckLine(std::string_view line) {
  ScanLine(line);
  const std::size_t last_tab = line.rfind('\t');  // seeds end in a checksum
  for (const std::string_view body : {line, line.substr(0, last_tab)}) {
    const std::string sealed = SealLine(std::string(body));
    const std::optional<LineHead> head = Scan(sealed);
    if (!head) continue;
    CheckRoundTrip(*head, DecodeUnit);
    CheckRoundTrip(*head, DecodeSegment);
    CheckRoundTrip(*head, DecodeRun);
  }
}

}  // namespace
}  // namespace pipeline

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    pipeline::CheckLine(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
  }
  return 0;
}
