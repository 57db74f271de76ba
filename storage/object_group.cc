#include "storage/object_group.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "storage/forwarding_store.h"
#include "storage/local_writer.h"

namespace pipeline {

struct ObjectGroup::Added {
  ObjectInfo promised;
  std::unique_ptr<ObjectWriter> writer;
};

class ObjectGroup::GroupWriter final : public ObjectWriter {
 public:
  GroupWriter(ObjectGroup& group, std::string name, std::unique_ptr<ObjectWriter> inner)
      : group_(group), inner_(std::move(inner)) {
    promised_.name = std::move(name);
  }
  Status Append(std::string_view bytes) override {
    promised_.size += bytes.size();
    return inner_->Append(bytes);
  }
  Status AppendFile(const ByteFile& file, std::stop_token stop) override {
    promised_.size += file.size();
    return inner_->AppendFile(file, std::move(stop));
  }
  Result<ObjectInfo> Commit(std::stop_token) override {
    if (!inner_) return Status(Code::kInternal, StrCat(promised_.name, ": its writer was used after Commit"));
    if (auto* local = dynamic_cast<LocalWriter*>(inner_.get())) RETURN_IF_ERROR(local->Finish());
    group_.added_.push_back({promised_, std::move(inner_)});
    return promised_;
  }

 private:
  ObjectGroup& group_;
  ObjectInfo promised_;
  std::unique_ptr<ObjectWriter> inner_;  // null after Commit
};

class ObjectGroup::GroupStore final : public ForwardingStore {
 public:
  GroupStore(ObjectGroup& group, Store& inner) : ForwardingStore(inner), group_(group) {}
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    ASSIGN_OR_RETURN(std::unique_ptr<ObjectWriter> writer,
                     ForwardingStore::Create(name, std::move(condition)));
    return std::unique_ptr<ObjectWriter>(
        std::make_unique<GroupWriter>(group_, std::string(name), std::move(writer)));
  }

 private:
  ObjectGroup& group_;
};

ObjectGroup::ObjectGroup() = default;
ObjectGroup::~ObjectGroup() = default;

std::unique_ptr<Store> ObjectGroup::Join(Store& store) { return std::make_unique<GroupStore>(*this, store); }

std::size_t ObjectGroup::size() const { return added_.size(); }

std::vector<Status> ObjectGroup::Commit(const std::stop_token& stop) {
  std::vector<Added> added = std::exchange(added_, {});
  std::vector<LocalWriter*> local;
  for (const Added& each : added)
    if (auto* writer = dynamic_cast<LocalWriter*>(each.writer.get())) local.push_back(writer);
  std::vector<Result<ObjectInfo>> results;
  if (local.size() == added.size()) {
    results = LocalWriter::CommitAll(local);
  } else {
    for (const Added& each : added) results.push_back(each.writer->Commit(stop));
  }
  std::vector<Status> outcomes;
  for (std::size_t at = 0; at < added.size(); ++at) {
    const ObjectInfo& promised = added[at].promised;
    if (results[at].ok() && results[at]->size != promised.size)
      outcomes.emplace_back(Code::kDataLoss, StrCat(promised.name, ": was stored with ", results[at]->size,
                                                    " bytes, and ", promised.size, " were written"));
    else
      outcomes.push_back(std::move(results[at]).status());
  }
  return outcomes;
}

}  // namespace pipeline
