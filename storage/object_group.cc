#include "storage/object_group.h"

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/str.h"
#include "storage/bundle_store.h"
#include "storage/forwarding_store.h"
#include "storage/local_writer.h"

namespace pipeline {

namespace {

constexpr std::size_t kMostBundled = 256
                                     << 10;  // bytes of an object; a larger one is worth a file of its own
constexpr std::size_t kMostHeld = 4 << 20;   // bytes of all objects that wait for their bundle

}  // namespace

struct ObjectGroup::Added {
  ObjectInfo promised;
  std::unique_ptr<ObjectWriter> writer;  // null: `bytes` go into a bundle of `bundles`
  BundleStore* bundles = nullptr;
  std::string bytes = {};
};

/// Writes an object of its own, or holds the bytes for a bundle as long as they are few.
class ObjectGroup::GroupWriter final : public ObjectWriter {
 public:
  /// `bundles`: null if the object cannot be in a bundle.
  GroupWriter(ObjectGroup& group, Store& store, BundleStore* bundles, std::string name, Condition condition)
      : group_(group), store_(store), bundles_(bundles), condition_(std::move(condition)) {
    promised_.name = std::move(name);
  }
  Status Begin() {
    ASSIGN_OR_RETURN(inner_, store_.Create(promised_.name, condition_));
    bundles_ = nullptr;
    return {};
  }
  Status Append(std::string_view bytes) override {
    promised_.size += bytes.size();
    if (bundles_ == nullptr) return inner_->Append(bytes);
    held_.append(bytes);
    if (held_.size() <= kMostBundled && group_.held_ + held_.size() <= kMostHeld) return {};
    RETURN_IF_ERROR(Begin());
    return inner_->Append(std::exchange(held_, {}));
  }
  Status AppendFile(const ByteFile& file, std::stop_token stop) override {
    if (bundles_ != nullptr) return ObjectWriter::AppendFile(file, std::move(stop));
    promised_.size += file.size();
    return inner_->AppendFile(file, std::move(stop));
  }
  Result<ObjectInfo> Commit(std::stop_token) override {
    if (!inner_ && bundles_ == nullptr)
      return Status(Code::kInternal, StrCat(promised_.name, ": its writer was used after Commit"));
    if (auto* local = dynamic_cast<LocalWriter*>(inner_.get())) RETURN_IF_ERROR(local->Finish());
    group_.held_ += held_.size();
    group_.added_.push_back(
        {promised_, std::move(inner_), std::exchange(bundles_, nullptr), std::move(held_)});
    return promised_;
  }

 private:
  ObjectGroup& group_;
  Store& store_;
  BundleStore* bundles_;  // null: the object is written by `inner_`
  const Condition condition_;
  ObjectInfo promised_;
  std::string held_;
  std::unique_ptr<ObjectWriter> inner_;  // null after Commit, too
};

class ObjectGroup::GroupStore final : public ForwardingStore {
 public:
  GroupStore(ObjectGroup& group, Store& inner)
      : ForwardingStore(inner), group_(group), inner_(inner), bundles_(dynamic_cast<BundleStore*>(&inner)) {}
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    const bool bundled =
        bundles_ != nullptr && condition.kind == Condition::Kind::kReplaceAny && CanBeBundled(name);
    auto writer = std::make_unique<GroupWriter>(group_, inner_, bundled ? bundles_ : nullptr,
                                                std::string(name), std::move(condition));
    if (!bundled) RETURN_IF_ERROR(writer->Begin());
    return writer;
  }

 private:
  ObjectGroup& group_;
  Store& inner_;
  BundleStore* const bundles_;  // null: `inner_` has no bundles
};

ObjectGroup::ObjectGroup() = default;
ObjectGroup::~ObjectGroup() = default;

std::unique_ptr<Store> ObjectGroup::Join(Store& store) { return std::make_unique<GroupStore>(*this, store); }

std::size_t ObjectGroup::size() const { return added_.size(); }

std::vector<Status> ObjectGroup::Commit(const std::stop_token& stop) {
  std::vector<Added> added = std::exchange(added_, {});
  held_ = 0;
  std::vector<Status> outcomes = CommitWriters(added, stop);
  std::map<BundleStore*, std::vector<std::size_t>> bundled;
  for (std::size_t at = 0; at < added.size(); ++at)
    if (!added[at].writer) bundled[added[at].bundles].push_back(at);
  for (const auto& [store, numbers] : bundled) {
    std::vector<BundleStore::Object> objects;
    for (const std::size_t at : numbers)
      objects.push_back({std::move(added[at].promised.name), std::move(added[at].bytes)});
    std::vector<Status> committed = store->CommitTogether(objects, stop);
    for (std::size_t at = 0; at < numbers.size(); ++at) outcomes[numbers[at]] = std::move(committed[at]);
  }
  return outcomes;
}

/// Commits the objects of their own.
std::vector<Status> ObjectGroup::CommitWriters(const std::vector<Added>& added, const std::stop_token& stop) {
  std::vector<std::size_t> numbers;
  std::vector<LocalWriter*> local;
  for (std::size_t at = 0; at < added.size(); ++at) {
    if (!added[at].writer) continue;
    numbers.push_back(at);
    if (auto* writer = dynamic_cast<LocalWriter*>(added[at].writer.get())) local.push_back(writer);
  }
  std::vector<Result<ObjectInfo>> results;
  if (local.size() == numbers.size()) {
    results = LocalWriter::CommitAll(local);
  } else {
    for (const std::size_t at : numbers) results.push_back(added[at].writer->Commit(stop));
  }
  std::vector<Status> outcomes(added.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const ObjectInfo& promised = added[numbers[i]].promised;
    if (results[i].ok() && results[i]->size != promised.size)
      outcomes[numbers[i]] =
          Status(Code::kDataLoss, StrCat(promised.name, ": was stored with ", results[i]->size,
                                         " bytes, and ", promised.size, " were written"));
    else
      outcomes[numbers[i]] = std::move(results[i]).status();
  }
  return outcomes;
}

}  // namespace pipeline
