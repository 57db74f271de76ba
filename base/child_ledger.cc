#include "base/child_ledger.h"

#include <utility>

#include "base/mutex.h"

namespace pipeline {

namespace {

std::string& Owner() {
  thread_local std::string owner;
  return owner;
}

}  // namespace

ChildOwner::ChildOwner(std::string owner) : former_(std::exchange(Owner(), std::move(owner))) {}
ChildOwner::~ChildOwner() { Owner() = std::move(former_); }
std::string ChildOwner::Current() { return Owner(); }

ChildLedger& ChildLedger::Get() {
  static ChildLedger ledger;
  return ledger;
}

void ChildLedger::Began(pid_t child, const std::string& owner) {
  const Lock lock(mutex_);
  living_.insert_or_assign(child, owner);
}

void ChildLedger::Ended(pid_t child, const ProcessUse& use) {
  const Lock lock(mutex_);
  if (const auto ended = living_.extract(child)) ended_[ended.mapped()] += use;
}

std::map<pid_t, std::string> ChildLedger::Living() const {
  const Lock lock(mutex_);
  return living_;
}

ProcessUse ChildLedger::EndedOf(const std::string& owner) const {
  const Lock lock(mutex_);
  const auto found = ended_.find(owner);
  return found == ended_.end() ? ProcessUse() : found->second;
}

ProcessUse ChildLedger::TakeEnded(const std::string& owner) {
  const Lock lock(mutex_);
  const auto taken = ended_.extract(owner);
  return taken ? taken.mapped() : ProcessUse();
}

}  // namespace pipeline
