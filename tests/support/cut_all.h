// Runs a LineCutter over a whole text and writes down what came out.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/str.h"
#include "formats/line_cutter.h"

namespace pipeline {

struct Cut {
  struct Record {
    std::string bytes;
    std::uint32_t partition = 0;
    std::uint64_t index = 0, document = 0, key = 0;
    std::uint32_t piece = 0;
    bool set_aside = false;
    bool operator==(const Record&) const = default;
  };
  struct Partition {
    std::uint32_t partition = 0;
    std::uint64_t raw_end = 0, document_end = 0;
    CutCounts counts;
    bool operator==(const Partition&) const = default;
  };
  std::vector<Record> records;
  std::vector<std::string> headers;
  std::vector<Partition> partitions;
  CutCounts outside;
  std::uint64_t raw_bytes = 0, documents = 0;
  LineEnds ends = LineEnds::kLf;  // of the last section
  std::string error;              // empty when it reached the end
  std::size_t most_memory = 0;

  bool SameAs(const Cut& other) const {
    return records == other.records && headers == other.headers && partitions == other.partitions &&
           outside == other.outside && raw_bytes == other.raw_bytes && documents == other.documents &&
           error == other.error;
  }
};

/// `chunk` says how many bytes to feed next; at least 1. A section ends before each of the offsets
/// `sections`, which ascend; those behind the first of them have `section_documents` at most.
inline Cut CutAll(std::string_view text, const LineRules& rules, const std::function<std::size_t()>& chunk,
                  const CutterStart& start = {}, std::vector<std::size_t> sections = {},
                  std::uint64_t section_documents = kNoLimit) {
  Cut cut;
  std::size_t fed = start.raw;
  LineCutter cutter(rules, start);
  text.remove_prefix(start.raw);
  std::string lent;  // overwritten by the next, so that a view kept too long shows
  while (true) {
    const Result<LineCutter::Event> event = cutter.Next();
    cut.most_memory = std::max(cut.most_memory, cutter.memory_bytes());
    if (!event.ok()) {
      cut.error = std::string(event.status().message());
      return cut;
    }
    switch (*event) {
      case LineCutter::Event::kNeedInput: {
        if (!sections.empty() && sections.front() == fed) {
          sections.erase(sections.begin());
          cutter.EndSection();
          break;
        }
        if (text.empty()) {
          cutter.FinishInput();
          break;
        }
        std::size_t bytes = std::min(chunk(), text.size());
        if (!sections.empty()) bytes = std::min(bytes, sections.front() - fed);
        fed += bytes;
        std::fill(lent.begin(), lent.end(), '#');
        lent = std::string(text.substr(0, bytes));
        cutter.Feed(lent);
        text.remove_prefix(bytes);
        break;
      }
      case LineCutter::Event::kRecord:
      case LineCutter::Event::kSetAside: {
        const CutRecord& record = cutter.record();
        cut.records.push_back({std::string(record.bytes), record.partition, record.index, record.document,
                               record.key, record.piece, *event == LineCutter::Event::kSetAside});
        break;
      }
      case LineCutter::Event::kHeader: cut.headers.emplace_back(cutter.record().bytes); break;
      case LineCutter::Event::kSectionEnd:
        if (section_documents != kNoLimit) cutter.LimitSection(cutter.documents() + section_documents);
        break;
      case LineCutter::Event::kPartitionEnd: {
        const CutEnd& end = cutter.partition_end();
        cut.partitions.push_back({end.partition, end.raw_end, end.document_end, cutter.TakeCounts()});
        break;
      }
      case LineCutter::Event::kInputEnd:
        cut.outside = cutter.outside();
        cut.raw_bytes = cutter.raw_bytes();
        cut.documents = cutter.documents();
        cut.ends = cutter.ends();
        return cut;
    }
  }
}

inline Cut CutAll(std::string_view text, const LineRules& rules = {}, std::size_t chunk = 1 << 16) {
  return CutAll(text, rules, [chunk] { return chunk; });
}

}  // namespace pipeline
