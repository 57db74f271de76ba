#include "dag/location/location_names.h"

#include <cstddef>
#include <utility>

#include "base/commit_point.h"
#include "base/digest.h"
#include "base/json.h"
#include "base/log.h"
#include "base/str.h"
#include "dag/location/own_objects.h"
#include "storage/forwarding_store.h"

namespace pipeline {

namespace {

constexpr std::uint64_t kMaxPartBytes = std::uint64_t{64} << 20;  // larger parts are not read

class Listed final : public ForwardingStore {
 public:
  Listed(Store& out, LocationNames& names) : ForwardingStore(out), names_(names) {}
  Result<std::unique_ptr<ObjectWriter>> Create(std::string_view name, Condition condition) override {
    RETURN_IF_ERROR(names_.Add({std::string(name)}));
    return ForwardingStore::Create(name, std::move(condition));
  }

 private:
  LocationNames& names_;
};

}  // namespace

Result<std::unique_ptr<LocationNames>> LocationNames::Read(Store& out, const std::vector<ObjectInfo>& there,
                                                           std::stop_token stop) {
  std::unique_ptr<LocationNames> list(new LocationNames(out));
  const Lock lock(list->mutex_);
  for (const ObjectInfo& object : there) {
    if (!object.name.starts_with(kNamesPrefix)) continue;
    const Result<std::string> text = ReadObject(out, object, kMaxPartBytes, stop);
    if (!text.ok() && text.status().code() == Code::kNotFound) continue;  // a later part holds its names
    if (!text.ok() && text.status().code() != Code::kDataLoss &&
        text.status().code() != Code::kResourceExhausted)
      return text.status();
    std::optional<std::vector<std::string>> names = text.ok() ? ParseNamesPart(*text) : std::nullopt;
    (names ? list->parts_ : list->damaged_).insert(object.name);
    if (!names) continue;
    for (std::string& name : *names) list->names_.insert(std::move(name));
  }
  list->complete_ = list->damaged_.empty() && !list->parts_.empty();
  if (!list->damaged_.empty())
    LogWarning(StrCat(list->damaged_.size(), " of the lists below ", kNamesPrefix,
                      " are damaged; objects that only they name count as somebody else's and stay"));
  return list;
}

bool LocationNames::Has(std::string_view name) const {
  const Lock lock(mutex_);
  return names_.contains(name);
}

Status LocationNames::Write(const std::vector<NamesPart>& parts, const std::stop_token& stop) {
  for (const NamesPart& part : parts) {
    if (parts_.contains(part.object)) continue;
    // An existing object with this name has these bytes, or is damaged.
    RETURN_IF_ERROR(WriteObject(out_, part.object, part.text, Condition::ReplaceAny(), stop).status());
    parts_.insert(part.object);
  }
  PassCommitPoint("names.listed");
  return {};
}

Status LocationNames::Add(const std::vector<std::string>& names, std::stop_token stop) {
  const Lock lock(mutex_);
  NameSet missing;
  for (const std::string& name : names)
    if (!names_.contains(name)) missing.insert(name);
  if (missing.empty()) return {};
  RETURN_IF_ERROR(Write(NamesPartsOf(missing), stop));
  names_.merge(missing);
  return {};
}

Status LocationNames::RemoveOthers(const NameSet& kept,
                                   const std::function<void(std::string_view name)>& told,
                                   std::stop_token stop) {
  ASSIGN_OR_RETURN(std::vector<ObjectInfo> there, out_.List(""));
  const Lock lock(mutex_);
  const std::vector<NamesPart> parts = NamesPartsOf(kept);
  RETURN_IF_ERROR(Write(parts, stop));
  for (const ObjectInfo& object : OwnObjects(std::move(there))) {
    if (kept.contains(object.name) || !names_.contains(object.name)) continue;
    told(object.name);
    RETURN_IF_ERROR(out_.Remove(object.name));
  }
  NameSet before = std::exchange(parts_, {});
  before.insert(damaged_.begin(), damaged_.end());
  for (const NamesPart& part : parts) parts_.insert(part.object);
  for (const std::string& part : before)
    if (!parts_.contains(part)) RETURN_IF_ERROR(out_.Remove(part));
  names_ = kept;
  damaged_.clear();
  return {};
}

std::unique_ptr<Store> ListedStore(Store& out, LocationNames& names) {
  return std::make_unique<Listed>(out, names);
}

namespace {

constexpr std::string_view kFirstLine = "# pipe names v1\n";
constexpr std::size_t kPartBytes = std::size_t{16} << 20;  // a part is closed once it is larger

std::string LastLine(std::size_t count, std::string_view before) {
  return StrCat("# ", count, " names, ", DigestOf(before).ToHex(), "\n");
}

}  // namespace

std::optional<std::vector<std::string>> ParseNamesPart(std::string_view text) {
  if (!text.starts_with(kFirstLine) || !text.ends_with('\n')) return std::nullopt;
  const std::size_t last = text.rfind('\n', text.size() - 2) + 1;  // 0: there is only the first line
  std::vector<std::string> names;
  for (std::size_t at = kFirstLine.size(); at < last;) {
    const std::size_t end = text.find('\n', at);
    const Result<Json> name = Json::Parse(text.substr(at, end - at));
    if (!name.ok() || !name->is_string()) return std::nullopt;
    names.emplace_back(name->AsString());
    at = end + 1;
  }
  if (text.substr(last) != LastLine(names.size(), text.substr(0, last))) return std::nullopt;
  return names;
}

std::vector<NamesPart> NamesPartsOf(const NameSet& names) {
  std::vector<NamesPart> parts;
  for (auto name = names.begin(); name != names.end();) {
    std::string text(kFirstLine);
    std::size_t count = 0;
    for (; name != names.end() && text.size() < kPartBytes; ++name, ++count) {
      AppendJsonString(text, *name);
      text += '\n';
    }
    text += LastLine(count, text);
    std::string object = StrCat(kNamesPrefix, DigestOf(text).ToHex());
    parts.push_back({std::move(object), std::move(text)});
  }
  return parts;
}

}  // namespace pipeline
