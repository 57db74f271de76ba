// A record comes back from its line, and any line is a text or refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "stages/lines/exec_source.h"
#include "text/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeline;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::string text;
  for (const ExecFraming framing : {ExecFraming::kLines, ExecFraming::kJson}) {
    const Status read = ReadExecLine(framing, bytes, text);
    if (!read.ok() && read.code() != Code::kInvalidArgument) std::abort();
    std::string line;
    if (!AppendExecLine(framing, bytes, line).ok() || !IsCleanUtf8(bytes)) continue;
    if (line.empty() || line.find('\n') != line.size() - 1) std::abort();
    line.pop_back();
    if (!ReadExecLine(framing, line, text).ok() || text != bytes) std::abort();
  }
  return 0;
}
