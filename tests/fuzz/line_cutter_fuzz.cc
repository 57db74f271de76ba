// Whatever the bytes: chunks do not matter, nothing is lost, and every partition can be started at.

#include "tests/fuzz/require.h"
#include "tests/support/cut_all.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace pipeline;
  if (size < 4) return 0;
  LineRules rules;
  rules.documents = data[0] & 1 ? Documents::kLine : Documents::kBlankLine;
  rules.on_long = data[0] & 2 ? OnLong::kQuarantine : OnLong::kSplit;
  rules.space_is_blank = (data[0] & 4) != 0;
  rules.cr_may_end_lines = (data[0] & 8) != 0;
  rules.partition_bytes = 1u + data[1];
  rules.max_document_bytes = 1u + data[2];
  rules.max_record_bytes = 4u + data[3] % 64;
  const std::string_view text(reinterpret_cast<const char*>(data) + 4, size - 4);

  const Cut whole = CutAll(text, rules, text.size() + 1);
  Require(whole.SameAs(CutAll(text, rules, 1)));
  std::size_t step = 0;
  Require(whole.SameAs(CutAll(text, rules, [&] { return 1 + step++ % 7; })));
  if (!whole.error.empty()) return 0;

  // Every byte is in a record, or is a line end or white space in a blank line, or belongs to the byte order
  // mark.
  std::uint64_t bytes = 0, ends = 0;
  for (const Cut::Record& record : whole.records) bytes += record.bytes.size();
  for (const char byte : text) ends += byte == '\n' || (byte == '\r' && whole.ends == LineEnds::kCr);
  Require(bytes <= text.size() && text.size() - bytes >= ends);
  Require(rules.space_is_blank || text.size() - bytes <= 3 + 2 * (ends + 1));
  Require(whole.partitions.empty() == whole.records.empty());
  Require(whole.partitions.empty() || whole.partitions.back().raw_end == text.size());

  for (std::size_t p = 0; p < whole.partitions.size() && p < 8; ++p) {
    const Cut::Partition& before = whole.partitions[p];
    if (before.raw_end < text.size())
      Require(EndsDocument(text.substr(0, before.raw_end), rules, whole.ends) ==
              (before.counts.document_cut == 0));
    if (before.counts.document_cut > 0) continue;
    const Cut part = CutAll(text, rules, [] { return 3; },
                            {before.raw_end, before.document_end, before.partition + 1, whole.ends});
    Require(part.documents == whole.documents);
    Require(std::equal(part.partitions.begin(), part.partitions.end(),
                       whole.partitions.end() - static_cast<std::ptrdiff_t>(part.partitions.size()),
                       whole.partitions.end()));
    Require(part.records.size() <= whole.records.size() &&
            std::equal(part.records.begin(), part.records.end(),
                       whole.records.end() - static_cast<std::ptrdiff_t>(part.records.size()),
                       whole.records.end()));
  }
  return 0;
}
