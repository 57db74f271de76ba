#include "cli/report/sample_collector.h"

#include <algorithm>
#include <string_view>

#include "base/utf8.h"

namespace pipeline {

/// The whole text of a record at one point. If a stage made several records of it: their texts, with line
/// ends between them.
struct RecordText {
  std::string text;
  std::vector<std::uint32_t> marks;
  bool there = false;
  bool operator==(const RecordText&) const = default;
};

namespace {

constexpr std::uint64_t kDenseStride = 64;
constexpr std::uint64_t kDenseRecords = 65'536;
constexpr std::uint64_t kStride = 2'048;
constexpr std::size_t kPairs = 8;             // kept per stage
constexpr std::size_t kShownBytes = 480;      // of a sample, about 160 characters of Japanese
constexpr std::size_t kLeadBytes = 120;       // of equal text before the first difference
constexpr std::size_t kReadBytes = 64 << 10;  // of one record; only the front of a longer one is compared

/// Spreads the bits of `value` over all 64: the finaliser of MurmurHash3.
std::uint64_t Mix(std::uint64_t value) {
  value = (value ^ value >> 33) * 0xff51afd7ed558ccdULL;
  value = (value ^ value >> 33) * 0xc4ceb9fe1a85ec53ULL;
  return value ^ value >> 33;
}

std::uint64_t OriginHash(PartitionId partition, std::uint64_t index) {
  return Mix(Mix(std::uint64_t{partition.input} << 32 | partition.partition) + index);
}

void AppendRow(const Batch& batch, std::size_t row, RecordText& whole) {
  if (whole.text.size() >= kReadBytes) return;
  if (whole.there) whole.text.push_back('\n');
  whole.there = true;
  const auto base = static_cast<std::uint32_t>(whole.text.size());
  whole.text.append(batch.text[row].substr(0, kReadBytes));
  const U32ListColumn& ends = batch.id_ends.empty() ? batch.cuts : batch.id_ends;
  if (ends.empty()) return;
  for (const std::uint32_t end : ends[row]) whole.marks.push_back(base + end);
}

RecordText At(const Batch& batch, std::uint64_t index) {
  RecordText whole;
  if (batch.text.size() != batch.heads.size()) return whole;  // no text at this point
  const auto begin =
      std::lower_bound(batch.heads.begin(), batch.heads.end(), index,
                       [](const RecordHead& head, std::uint64_t at) { return head.index < at; });
  for (auto head = begin; head != batch.heads.end() && head->index == index; ++head)
    AppendRow(batch, static_cast<std::size_t>(head - batch.heads.begin()), whole);
  return whole;
}

/// Returns at most kShownBytes of `whole` from `begin` on, cut between characters.
Sample Cut(const RecordText& whole, std::size_t begin) {
  Sample sample;
  sample.text = Utf8Front(std::string_view(whole.text).substr(begin), kShownBytes);
  const std::size_t end = begin + sample.text.size();
  sample.front = begin > 0;
  sample.back = end < whole.text.size();
  for (const std::uint32_t mark : whole.marks)
    if (mark > begin && mark <= end) sample.marks.push_back(static_cast<std::uint32_t>(mark - begin));
  return sample;
}

/// Returns the begin of both samples: a little before the first difference.
std::size_t WindowBegin(const RecordText& before, const RecordText& after) {
  const std::size_t both = std::min(before.text.size(), after.text.size());
  std::size_t same = 0;
  while (same < both && before.text[same] == after.text[same]) ++same;
  if (same == before.text.size() && same == after.text.size()) return 0;  // the marks alone differ
  return Utf8Front(before.text, same > kLeadBytes ? same - kLeadBytes : 0).size();
}

/// Keeps the kPairs pairs with the smallest hashes. Equal pairs, from text that many pages repeat, count as
/// one.
void Keep(std::vector<SamplePair>& pairs, SamplePair pair) {
  const auto same = std::find_if(pairs.begin(), pairs.end(), [&pair](const SamplePair& other) {
    return other.before == pair.before && other.after == pair.after;
  });
  if (same != pairs.end()) {
    if (same->hash <= pair.hash) return;
    pairs.erase(same);
  }
  const auto location =
      std::lower_bound(pairs.begin(), pairs.end(), pair,
                       [](const SamplePair& a, const SamplePair& b) { return a.hash < b.hash; });
  pairs.insert(location, std::move(pair));
  if (pairs.size() > kPairs) pairs.pop_back();
}

bool WouldKeep(const std::vector<SamplePair>& pairs, std::uint64_t hash) {
  return pairs.size() < kPairs || hash < pairs.back().hash;
}

}  // namespace

std::uint64_t SampleStride(PartitionId partition, std::uint64_t index) {
  const bool dense = partition == PartitionId{} && index < kDenseRecords;
  return dense ? kDenseStride : kStride;
}

class SampleCollector::Looking final : public BatchProbe {
 public:
  struct Record {
    std::uint64_t index = 0;
    std::uint64_t weight = 0;
    RecordText last = {};  // as the stage before left it
  };

  Looking(SampleCollector& collector, const std::vector<std::string>& stages, std::vector<Record> records)
      : collector_(collector), stages_(stages), records_(std::move(records)) {}

  void Left(std::uint32_t stage, const Batch& batch) override {
    const Lock lock(collector_.mutex_);
    Seen& seen = collector_.seen_[{stages_[stage], stages_.back()}];
    seen.ran = seen.ran || stage > 0;
    const bool has_text = batch.text.size() == batch.heads.size();
    for (Record& record : records_) {
      if (!has_text) {  // the record has another form now: it is not dropped
        record.last = {};
        continue;
      }
      RecordText now = At(batch, record.index);
      if (now.there) seen.text.profile.Add(now.text, record.weight);
      if (stage > 0 && record.last.there) Compare(batch.partition, record, now, seen.text);
      record.last = std::move(now);
    }
  }

 private:
  static void Compare(PartitionId partition, const Record& record, const RecordText& now, StageText& text) {
    if (now == record.last) return;
    (now.there ? text.changed : text.dropped) += record.weight;
    const std::uint64_t hash = OriginHash(partition, record.index);
    if (!WouldKeep(text.pairs, hash)) return;
    SamplePair pair;
    pair.hash = hash;
    const std::size_t begin = now.there ? WindowBegin(record.last, now) : 0;
    pair.before = Cut(record.last, begin);
    if (now.there) pair.after = Cut(now, begin);
    Keep(text.pairs, std::move(pair));
  }

  SampleCollector& collector_;
  const std::vector<std::string>& stages_;  // owned by the segment, which outlives the probe
  std::vector<Record> records_;
};

std::unique_ptr<BatchProbe> SampleCollector::Watch(const Batch& batch,
                                                   const std::vector<std::string>& stages) {
  if (batch.heads.empty()) return nullptr;
  const std::uint64_t last = batch.heads.back().index;
  std::vector<Looking::Record> records;
  std::uint64_t next = 0;
  for (std::uint64_t at = batch.heads.front().index; at <= last; at = next) {
    // One record of each block is picked; the block's number decides which one.
    const std::uint64_t stride = SampleStride(batch.partition, at);
    const std::uint64_t block = at / stride;
    const std::uint64_t pick = block * stride + OriginHash(batch.partition, ~block) % stride;
    next = (block + 1) * stride;
    if (pick >= at && pick <= last) records.push_back({pick, stride});
  }
  if (records.empty()) return nullptr;
  return std::make_unique<Looking>(*this, stages, std::move(records));
}

std::map<std::string, StageText> SampleCollector::Take() {
  const Lock lock(mutex_);
  std::map<std::string, StageText> texts;
  for (const bool ran : {true, false})
    for (auto& [key, seen] : seen_)
      if (seen.ran == ran) texts.try_emplace(key.first, std::move(seen.text));
  seen_.clear();
  return texts;
}

}  // namespace pipeline
