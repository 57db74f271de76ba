#include "stages/export/packed/megatron_shard.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/str.h"
#include "formats/megatron_index.h"
#include "stages/export/packed/packed.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kIdsAtOnce = 1 << 16;

/// Finds the faults in documents, a part of their ids at a time.
class DocumentCheck {
 public:
  /// `info` is of documents, and outlives it.
  explicit DocumentCheck(const PackedInfo& info)
      : info_(info), eos_(static_cast<std::uint32_t>(info.tokenizer.eos_id)) {}

  /// Call with the next ids of a document; `last`: it has no more. Returns what is wrong with it; empty:
  /// nothing, or nothing more.
  std::string WrongWith(std::span<const std::uint32_t> ids, bool last) {
    const std::uint64_t begin = std::exchange(at_, last ? 0 : at_ + ids.size());
    if (std::exchange(told_, told_ && !last)) return {};
    std::string wrong = WrongWithIds(ids, begin, last);
    told_ = !wrong.empty() && !last;
    return wrong;
  }

 private:
  /// `begin`: ids of the document before these.
  std::string WrongWithIds(std::span<const std::uint32_t> ids, std::uint64_t begin, bool last) const {
    for (std::size_t at = 0; at < ids.size(); ++at) {
      if (ids[at] >= info_.tokenizer.vocab_size)
        return StrCat("id ", begin + at, " is ", ids[at], " where the tokenizer has ",
                      info_.tokenizer.vocab_size, " pieces");
      if (ids[at] == eos_ && !(last && at + 1 == ids.size()))
        return StrCat("id ", begin + at, " is eos, and the document goes on");
    }
    if (!last) return {};
    if (begin + ids.size() < 2) return "has no id of text";
    return ids.back() == eos_ ? std::string() : StrCat("its last id is ", ids.back(), ", not eos");
  }

  const PackedInfo& info_;
  const std::uint32_t eos_;
  std::uint64_t at_ = 0;  // ids of the open document so far
  bool told_ = false;     // what is wrong with the open document
};

using TakeLength = std::function<Status(std::uint32_t ids)>;

/// Calls `take` for each sequence of the index. Fails as `take` does, or kCancelled.
Status ReadIndex(const MegatronShard& shard, const PackedInfo& info, Findings& findings,
                 const TakeLength& take) {
  const auto add = [&](std::string_view wrong) {
    findings.Add(StrCat("its index ", shard.index_name, " ", wrong));
  };
  const auto unusable = [&](const Status& why) {
    if (why.code() == Code::kCancelled) return why;
    add(StrCat("cannot be used: ", why.message()));
    return Status();
  };
  Result<MegatronIndexReader> index = MegatronIndexReader::Open(shard.index, shard.stop);
  if (!index.ok()) return unusable(index.status());
  if (index->type() != MegatronTypeOf(info.tokenizer.vocab_size))
    add(StrCat("says that an id has ", MegatronIdBytes(index->type()), " bytes, and each has ",
               PackedIdBytes(info.encoding, info.tokenizer.vocab_size)));
  if (index->sequences() != shard.sequences)
    add(StrCat("has ", index->sequences(), " sequences where the manifest says ", shard.sequences));
  for (;;) {
    const Result<std::optional<std::uint32_t>> next = index->Next();
    if (!next.ok()) return unusable(next.status());
    if (!*next) return {};
    RETURN_IF_ERROR(take(**next));
  }
}

}  // namespace

Status CheckMegatronRows(const MegatronShard& shard, const PackedInfo& info, Findings& findings) {
  const std::uint32_t row_ids = info.seq_len + 1;
  std::uint64_t sequence = 0;
  return ReadIndex(shard, info, findings, [&](std::uint32_t ids) -> Status {
    if (ids != row_ids)
      findings.Add(StrCat("its index ", shard.index_name, " says that sequence ", sequence, " has ", ids,
                          " ids where each row has ", row_ids));
    ++sequence;
    return {};
  });
}

Status CheckMegatronDocuments(const MegatronShard& shard, const PackedInfo& info, const PackedTotals* said,
                              Findings& findings, std::uint64_t& read) {
  const std::uint32_t id_bytes = PackedIdBytes(info.encoding, info.tokenizer.vocab_size);
  ASSIGN_OR_RETURN(const std::unique_ptr<ByteReader> reader, shard.ids.Open(0, shard.stop));
  DocumentCheck check(info);
  std::string bytes;
  std::vector<std::uint32_t> ids;
  std::uint64_t document = 0, offset = 0;
  const auto take = [&](std::uint32_t length) -> Status {
    const std::uint64_t begin = offset;
    offset += std::uint64_t{length} * id_bytes;
    if (offset > shard.ids.size()) return {};  // a finding below
    std::uint64_t left = length;
    do {
      bytes.resize(std::min(left, kIdsAtOnce) * id_bytes);
      RETURN_IF_ERROR(ReadExactly(*reader, bytes));
      RETURN_IF_ERROR(ParseRawIds(bytes, id_bytes, ids));
      left -= ids.size();
      if (const std::string wrong = check.WrongWith(ids, left == 0); !wrong.empty())
        findings.Add(StrCat("record ", document, " at byte ", begin, ": ", wrong));
    } while (left > 0);
    ++document;
    return {};
  };
  RETURN_IF_ERROR(ReadIndex(shard, info, findings, take));
  read += document;
  if (offset != shard.ids.size())
    findings.Add(StrCat("has ", shard.ids.size(), " bytes where its index has ids of ", offset, " bytes"));
  if (said != nullptr && said->tokens != offset / id_bytes)
    findings.Add(StrCat("its index counts ", offset / id_bytes, " tokens where ", kPackedInfoFile, " says ",
                        said->tokens));
  return {};
}

}  // namespace pipeline
