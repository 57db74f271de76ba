#include "tests/support/fake_gcs_uploads.h"

#include <algorithm>
#include <random>

#include "base/base64.h"
#include "base/str.h"

namespace pipeline {

std::string FakeGcsUploads::Add(std::shared_ptr<FakeSession> session) {
  const std::scoped_lock lock(mutex_);
  // As hard to guess as a real one: tests look for parts of it where it must not be.
  std::random_device device;
  std::string id = StrCat("session-", sessions_.size() + 1, "-");
  for (int i = 0; i < 6; ++i) id += ZeroPadded(device(), 10);
  sessions_.emplace(id, std::move(session));
  return id;
}

std::shared_ptr<FakeSession> FakeGcsUploads::Find(const std::string& id) const {
  const std::scoped_lock lock(mutex_);
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : found->second;
}

int FakeGcsUploads::open() const {
  const std::scoped_lock lock(mutex_);
  return static_cast<int>(std::count_if(sessions_.begin(), sessions_.end(), [](const auto& entry) {
    const std::scoped_lock one(entry.second->mutex);
    return !entry.second->done && entry.second->gone == 0 && entry.second->rewrite_calls == 0;
  }));
}

std::vector<std::string> FakeGcsUploads::ids() const {
  const std::scoped_lock lock(mutex_);
  std::vector<std::string> ids;
  for (const auto& [id, session] : sessions_) ids.push_back(id);
  return ids;
}

bool HashesHold(std::string_view declared, const Json& resource, const FakeContent& content) {
  const std::string crc = CrcText(content.crc32c());
  const std::string md5 = ToBase64(content.Md5());
  const auto holds = [](std::string_view said, std::string_view is) {
    return said.empty() || is.empty() || said == is;
  };
  while (!declared.empty()) {
    const std::string_view one = declared.substr(0, declared.find(','));
    declared.remove_prefix(std::min(one.size() + 1, declared.size()));
    const std::string_view name = one.substr(0, one.find('='));
    const std::string_view value = one.substr(std::min(name.size() + 1, one.size()));
    if ((name == "crc32c" && !holds(value, crc)) || (name == "md5" && !holds(value, md5))) return false;
  }
  return holds(resource["crc32c"].AsString(), crc) && holds(resource["md5Hash"].AsString(), md5);
}

}  // namespace pipeline
