#include "stages/shards/corpus_order.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "dag/records/partition_output.h"
#include "stages/shards/shard_ranges.h"
#include "stages/shards/shard_writer.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxIndexBytes = std::uint64_t{1} << 30;  // of one partition

class CorpusOrderSink : public Sink {
 public:
  CorpusOrderSink(Store& artifact, PartitionId id, const ShardRules& rules)
      : artifact_(artifact), id_(id), rules_(rules), parts_(rules.splits.size()) {}

  Status Write(const Batch& batch) override {
    const std::size_t rows = batch.size();
    if (batch.payload.size() != rows || (!batch.split.empty() && batch.split.size() != rows))
      return Status(Code::kInternal, StrCat("shards: ", batch.payload.size(), " payloads and ",
                                            batch.split.size(), " splits for ", rows, " records"));
    // Neighbouring rows of one split are appended together; usually they are the whole batch.
    for (std::size_t row = 0; row < rows;) {
      const std::size_t split = batch.split.empty() ? 0 : batch.split[row];
      std::size_t last = batch.split.empty() ? rows : row + 1;
      while (last < rows && batch.split[last] == split) ++last;
      RETURN_IF_ERROR(Append(split, batch.payload, row, last));
      row = last;
    }
    return {};
  }

  Result<CommittedPartition> Commit(const PartitionEnd&, std::stop_token) override {
    CommittedPartition output;
    Hasher hasher;
    hasher.UpdateU64(id_.input).UpdateU64(id_.partition);
    for (std::size_t split = 0; split < parts_.size(); ++split) {
      if (!parts_[split]) continue;
      ASSIGN_OR_RETURN(ShardOutput part, parts_[split]->Commit({}));
      hasher.UpdateField(rules_.splits[split]).UpdateU64(part.records);
      hasher.UpdateU64(part.object.digest.high).UpdateU64(part.object.digest.low);
      output.objects.push_back(std::move(part.object));
      if (!part.index) continue;
      hasher.UpdateU64(part.index->digest.high).UpdateU64(part.index->digest.low);
      output.objects.push_back(std::move(*part.index));
    }
    output.digest = hasher.Finish();
    return output;
  }

 private:
  /// Appends the payloads [row, last), all of `split`.
  Status Append(std::size_t split, const BytesColumn& payload, std::size_t row, std::size_t last) {
    if (split >= parts_.size())
      return Status(Code::kInternal, StrCat("shards: split ", split, " where there are ", parts_.size()));
    std::unique_ptr<ShardWriter>& part = parts_[split];
    if (!part) {
      const std::string& name = rules_.splits[split];
      ASSIGN_OR_RETURN(
          part, ShardWriter::Create(artifact_,
                                    {CorpusPartName(id_, name),
                                     rules_.index ? CorpusPartIndexName(id_, name) : std::string()},
                                    rules_, {Condition::ReplaceAny(), Condition::ReplaceAny()}, false));
    }
    if (!rules_.index && !rules_.form) {
      const std::size_t begin = row == 0 ? 0 : payload.ends()[row - 1];
      return part->AppendRows(payload.joined().substr(begin, payload.ends()[last - 1] - begin), last - row);
    }
    for (; row < last; ++row) RETURN_IF_ERROR(part->Append(payload[row]));
    return {};
  }

  Store& artifact_;
  const PartitionId id_;
  const ShardRules rules_;
  std::vector<std::unique_ptr<ShardWriter>> parts_;  // by split; null: no row of it yet
};

/// A copy of an object of the artifact, under another name and uncommitted.
struct ObjectCopy {
  StoredObject from;
  std::string name;
  std::unique_ptr<ObjectWriter> writer;

  Result<StoredObject> Commit(const std::stop_token& stop) {
    ASSIGN_OR_RETURN(const ObjectInfo info, writer->Commit(stop));
    if (info.crc32c && *info.crc32c != from.crc32c)
      return OutputError(from.name,
                         Status(Code::kDataLoss, "its checksum differs from that of the written bytes"));
    StoredObject copied = from;
    copied.name = name;
    return copied;
  }
};

/// A shard that is the copy of a partition's part of a split.
class CopiedShard final : public UncommittedShard {
 public:
  CopiedShard(ObjectCopy shard, ShardOutput output) : shard_(std::move(shard)), output_(std::move(output)) {}

  /// Adds an index: a copy, or one in the published form. If neither is called, there is none.
  void AddIndex(ObjectCopy index) { copied_index_ = std::move(index); }
  void AddIndex(std::unique_ptr<FormedWriter> index) { formed_index_ = std::move(index); }

  Result<ShardOutput> Commit(const std::stop_token& stop) override {
    if (formed_index_) {
      ASSIGN_OR_RETURN(output_.index, formed_index_->Commit(stop));
    } else if (copied_index_) {
      ASSIGN_OR_RETURN(output_.index, copied_index_->Commit(stop));
    }
    ASSIGN_OR_RETURN(output_.object, shard_.Commit(stop));
    return std::move(output_);
  }

 private:
  ObjectCopy shard_;
  std::optional<ObjectCopy> copied_index_;
  std::unique_ptr<FormedWriter> formed_index_;
  ShardOutput output_;  // without its objects
};

class CorpusOrderPublication : public Publication {
 public:
  CorpusOrderPublication(const ShardRules& rules, Store& artifact, std::vector<Shard> shards,
                         std::vector<std::optional<CorpusPart>> origins)
      : rules_(rules), artifact_(artifact), shards_(std::move(shards)), origins_(std::move(origins)) {}

  const std::vector<Shard>& shards() const override { return shards_; }

  std::vector<std::vector<std::size_t>> Groups(std::uint64_t) const override {
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t shard = 0; shard < shards_.size(); ++shard) groups.push_back({shard});
    return groups;
  }

  std::unique_ptr<GroupWriter> OpenGroup(GroupRequest request) const override;

  Result<Sidecars> Describe(const std::vector<ShardOutput>& outputs) const override {
    return rules_.describe(shards_, outputs, std::vector<std::uint64_t>(rules_.splits.size()));
  }

 private:
  class Copier;

  const ShardRules rules_;
  Store& artifact_;
  const std::vector<Shard> shards_;
  const std::vector<std::optional<CorpusPart>> origins_;  // parallel
};

class CorpusOrderPublication::Copier final : public GroupWriter {
 public:
  Copier(const CorpusOrderPublication& plan, GroupRequest request)
      : plan_(plan), request_(std::move(request)) {}

  Result<std::unique_ptr<UncommittedShard>> WriteNext(const ShardConditions& conditions) override {
    if (request_.stop.stop_requested()) return Status(Code::kCancelled, "shards: stopped");
    const std::size_t shard = request_.shards[next_++];
    if (plan_.origins_[shard]) return WriteCopy(shard, conditions);
    const Shard& empty = plan_.shards_[shard];
    return ShardWriter::Create(*request_.out, {empty.object, empty.index}, plan_.rules_, conditions);
  }

 private:
  Result<std::unique_ptr<UncommittedShard>> WriteCopy(std::size_t shard,
                                                      const ShardConditions& conditions) const {
    const CorpusPart& origin = *plan_.origins_[shard];
    const Shard& wanted = plan_.shards_[shard];
    const std::optional<ShardIndex>& rules = plan_.rules_.index;
    ShardOutput output;
    output.records = origin.records;
    std::string entries;
    if (rules) {
      ASSIGN_OR_RETURN(entries, EntriesOf(origin, output.sums));
    }
    ASSIGN_OR_RETURN(ObjectCopy object, Copy(origin.object, wanted.object, conditions.shard));
    auto copied = std::make_unique<CopiedShard>(std::move(object), std::move(output));
    if (rules && rules->form) {
      ASSIGN_OR_RETURN(auto index,
                       FormedWriter::Create(*request_.out, wanted.index, conditions.index, rules->form));
      const std::size_t entry = IndexEntryBytes(rules->numbers);
      for (std::size_t at = 0; at < entries.size(); at += entry)
        RETURN_IF_ERROR(index->Append(std::string_view(entries).substr(at, entry)));
      copied->AddIndex(std::move(index));
    } else if (rules && !wanted.index.empty()) {
      ASSIGN_OR_RETURN(ObjectCopy index, Copy(*origin.index, wanted.index, conditions.index));
      copied->AddIndex(std::move(index));
    }
    return copied;
  }

  /// Copies `from` to the object `name`.
  Result<ObjectCopy> Copy(const StoredObject& from, const std::string& name,
                          const Condition& condition) const {
    ObjectCopy copy = {from, name, nullptr};
    ASSIGN_OR_RETURN(copy.writer, request_.out->Create(name, condition));
    Result<std::unique_ptr<ByteFile>> file = plan_.artifact_.Open(from.name);
    if (!file.ok()) return OutputError(from.name, std::move(file).status());
    if ((*file)->size() != from.bytes)
      return OutputError(from.name, Status(Code::kDataLoss, StrCat("has ", (*file)->size(), " bytes where ",
                                                                   from.bytes, " were written")));
    RETURN_IF_ERROR(copy.writer->AppendFile(**file, request_.stop));
    return copy;
  }

  /// Returns the entries of the index of `origin`, and fills `sums` with their sums.
  Result<std::string> EntriesOf(const CorpusPart& origin, std::vector<std::uint64_t>& sums) const {
    const std::string& name = origin.index->name;
    Result<std::string> bytes = ReadObject(plan_.artifact_, name, kMaxIndexBytes, request_.stop);
    if (!bytes.ok()) return OutputError(name, bytes.status());
    Result<std::vector<std::uint64_t>> summed =
        SumIndex(*bytes, plan_.rules_.index_numbers(), origin.records);
    if (!summed.ok()) return OutputError(name, std::move(summed).status());
    sums = std::move(summed).value();
    return bytes;
  }

  const CorpusOrderPublication& plan_;
  const GroupRequest request_;
  std::size_t next_ = 0;  // position in GroupRequest::shards
};

std::unique_ptr<GroupWriter> CorpusOrderPublication::OpenGroup(GroupRequest request) const {
  return std::make_unique<Copier>(*this, std::move(request));
}

}  // namespace

std::string CorpusPartName(PartitionId id, std::string_view split) {
  return OutputName(id, StrCat('.', split, ".shard"));
}

std::string CorpusPartIndexName(PartitionId id, std::string_view split) {
  return OutputName(id, StrCat('.', split, ".index"));
}

Result<std::optional<CorpusPart>> CorpusPartOf(const ShardRules& rules, const PartitionOutput& output,
                                               const std::string& split) {
  CorpusPart part;
  const std::string wanted = CorpusPartName(output.id, split), index = CorpusPartIndexName(output.id, split);
  for (const StoredObject& object : output.committed.objects) {
    if (object.name == wanted) part.object = object;
    if (object.name == index) part.index = object;
  }
  if (part.object.name.empty()) return std::nullopt;
  const auto lacks = [&part](std::string_view what) {
    return OutputError(part.object.name, Status(Code::kDataLoss, StrCat("its log line has no ", what)));
  };
  if (rules.index) {  // a row need not be a record of the partition
    if (!part.index) return lacks("index of it");
    part.records = part.index->bytes / IndexEntryBytes(rules.index_numbers());
    return part;
  }
  const auto totals = output.splits.find(split);
  if (totals == output.splits.end()) return lacks("totals of this split");
  part.records = totals->second.records;
  return part;
}

std::unique_ptr<Sink> NewCorpusOrderSink(Store& artifact, PartitionId id, const ShardRules& rules) {
  return std::make_unique<CorpusOrderSink>(artifact, id, rules);
}

Result<std::unique_ptr<Publication>> PlanCorpusOrder(const ShardRules& rules, Store& artifact,
                                                     std::vector<PartitionOutput> outputs) {
  std::sort(outputs.begin(), outputs.end(),
            [](const PartitionOutput& a, const PartitionOutput& b) { return a.id < b.id; });
  std::vector<Shard> shards;
  std::vector<std::optional<CorpusPart>> origins;
  for (const std::string& split : rules.splits) {
    std::vector<Digest> digests;  // of the outputs, one for each shard
    std::uint64_t records = 0;
    for (const PartitionOutput& output : outputs) {
      ASSIGN_OR_RETURN(std::optional<CorpusPart> origin, CorpusPartOf(rules, output, split));
      if (!origin) continue;
      records += origin->records;
      digests.push_back(output.committed.digest);
      origins.push_back(std::move(origin));
    }
    RETURN_IF_ERROR(CheckEvalBatch(rules, split, records));
    if (digests.empty()) digests.emplace_back(), origins.emplace_back();
    const auto count = static_cast<std::uint32_t>(digests.size());
    for (std::uint32_t number = 0; number < count; ++number)
      shards.push_back(ShardOf(rules, split, number, count, digests[number]));
  }
  return std::make_unique<CorpusOrderPublication>(rules, artifact, std::move(shards), std::move(origins));
}

}  // namespace pipeline
