#include "dag/location/held_store.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>

#include "storage/forwarding_store.h"

namespace pipeline {

namespace {

using Check = std::function<Status(std::stop_token)>;

constexpr std::size_t kMostAtOnce = 100;  // objects that one removal after a check may take: a request's

class HeldWriter final : public ObjectWriter {
 public:
  HeldWriter(std::unique_ptr<ObjectWriter> inner, const Check& check)
      : inner_(std::move(inner)), check_(check) {}
  Status Append(std::string_view bytes) override { return inner_->Append(bytes); }
  Status AppendFile(const ByteFile& file, std::stop_token stop) override {
    return inner_->AppendFile(file, std::move(stop));
  }
  Result<ObjectInfo> Commit(std::stop_token stop) override {
    RETURN_IF_ERROR(check_(stop));
    return inner_->Commit(std::move(stop));
  }

 private:
  const std::unique_ptr<ObjectWriter> inner_;
  const Check check_;
};

class HeldStore final : public ForwardingStore {
 public:
  HeldStore(std::unique_ptr<Store> inner, Check check)
      : ForwardingStore(*inner), inner_(std::move(inner)), check_(std::move(check)) {}
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    ASSIGN_OR_RETURN(std::unique_ptr<ObjectWriter> writer,
                     ForwardingStore::Create(name, std::move(condition)));
    return std::make_unique<HeldWriter>(std::move(writer), check_);
  }
  Status Remove(std::string_view name) override {
    RETURN_IF_ERROR(check_({}));
    return ForwardingStore::Remove(name);
  }
  Status RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed) override {
    bool goes_on = true;
    while (!objects.empty() && goes_on) {
      RETURN_IF_ERROR(check_({}));
      const std::span<const ObjectInfo> some = objects.first(std::min(objects.size(), kMostAtOnce));
      RETURN_IF_ERROR(ForwardingStore::RemoveAll(some, [&] { return goes_on = removed() && goes_on; }));
      objects = objects.subspan(some.size());
    }
    return {};
  }
  Status Sweep(std::string_view prefix) override {
    RETURN_IF_ERROR(check_({}));
    return ForwardingStore::Sweep(prefix);
  }

 private:
  const std::unique_ptr<Store> inner_;
  const Check check_;
};

}  // namespace

std::unique_ptr<Store> HoldStore(std::unique_ptr<Store> inner, std::function<Status(std::stop_token)> check) {
  return std::make_unique<HeldStore>(std::move(inner), std::move(check));
}

}  // namespace pipeline
