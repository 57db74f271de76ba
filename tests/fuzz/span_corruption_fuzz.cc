// Any text that may be cut comes back from its pairs, wherever its units end; any bytes are joined or
// refused.
#include <string>
#include <string_view>
#include <vector>

#include "stages/export/jsonl/jsonl.h"
#include "tests/fuzz/require.h"
#include "text/span_corruption.h"
#include "text/utf8.h"

using namespace pipeline;

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  (void)JoinSpans(bytes.substr(0, size / 2), bytes.substr(size / 2));
  (void)ParseJsonlRow(bytes, {"source", "target"});

  // The first byte says how long units are, if they are no words.
  if (size < 2 || bytes.find(kSentinelMark) != std::string_view::npos) return 0;
  std::string text;
  RepairUtf8(bytes.substr(1), text);
  if (text.find(kSentinelMark) != std::string::npos) return 0;
  std::vector<std::uint32_t> ends;
  if (const std::uint32_t step = data[0] % 8; step > 0)
    for (std::uint32_t end = step; end <= text.size(); end += step) ends.push_back(end);
  else
    WordEnds(text, ends);
  const std::vector<std::uint32_t> units = UnitEnds(text, ends);
  Require(units.empty() || units.back() == text.size());
  std::string joined;
  for (const SpanPair& pair : SpanCorruption({0.15, 3, 16}).Pairs(text, units, data[0])) {
    Require(IsCleanUtf8(pair.source) && IsCleanUtf8(pair.target));
    const auto part = JoinSpans(pair.source, pair.target);
    Require(part.has_value());
    joined += *part;
  }
  Require(units.size() < 2 || joined == text);

  const JsonlRow row({"source", "target"});
  std::string line = row.before(0);
  AppendJsonText(line, text);
  line += row.before(1);
  line += row.after();
  line.pop_back();
  const auto parsed = ParseJsonlRow(line, {"source", "target"});
  Require(parsed.ok() && parsed->front() == text && parsed->back().empty());
  return 0;
}
