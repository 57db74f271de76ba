#include "storage/bundle_store.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "storage/memory_store.h"

namespace pipeline {

namespace {

constexpr std::size_t kMostOpen = 16;  // bundles whose files stay open for the next object

}  // namespace

BundleStore::BundleStore(std::unique_ptr<Store> inner) : inner_(std::move(inner)) {}
BundleStore::~BundleStore() = default;

Status BundleStore::Look() {
  {
    const Lock lock(mutex_);
    if (looked_) return {};
  }
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> listed, inner_->List(""));
  return TakeIn(listed);
}

/// Takes in bundles that are new. It forgets none: `listed` may be older than the last commit.
Status BundleStore::TakeIn(const std::vector<ObjectInfo>& listed) {
  for (const ObjectInfo& object : listed) {
    const std::optional<std::uint64_t> number = NumberOfBundle(object.name);
    if (!number) continue;
    {
      const Lock lock(mutex_);
      if (bundles_.contains(object.name)) continue;
    }
    Bundle bundle{*number, object.version, {}};
    Result<std::unique_ptr<ByteFile>> file = inner_->Open(object.name);
    if (file.status().code() == Code::kNotFound) continue;
    RETURN_IF_ERROR(file.status());
    Result<std::vector<BundledPart>> parts = ReadBundleParts(**file);
    if (!parts.ok() && parts.status().code() != Code::kDataLoss) return parts.status();
    bundle.damaged = !parts.ok();
    if (parts.ok()) bundle.parts = std::move(*parts);
    const Lock lock(mutex_);
    Add(object.name, std::move(bundle));
  }
  const Lock lock(mutex_);
  looked_ = true;
  for (const ObjectInfo& object : listed)
    if (places_.contains(object.name)) hidden_.insert(object.name);
  return {};
}

BundleStore::Place BundleStore::PlaceIn(const std::string& name, const Bundle& bundle,
                                        const BundledPart& part) {
  return {bundle.number, name, StrCat(bundle.version, '@', part.offset), part.offset, part.size};
}

void BundleStore::Add(const std::string& name, Bundle bundle) {
  next_ = std::max(next_, bundle.number + 1);
  for (const BundledPart& part : bundle.parts) places_[part.name].insert(PlaceIn(name, bundle, part));
  bundles_.insert_or_assign(name, std::move(bundle));
}

void BundleStore::Forget(const std::string& name) {
  const auto bundle = bundles_.find(name);
  if (bundle == bundles_.end()) return;
  for (const BundledPart& part : bundle->second.parts) {
    const auto places = places_.find(part.name);
    if (places == places_.end()) continue;
    std::erase_if(places->second, [&](const Place& place) { return place.bundle == name; });
    if (places->second.empty()) places_.erase(places);
  }
  bundles_.erase(bundle);
  std::erase_if(open_, [&](const OpenFile& open) { return open.bundle == name; });
}

/// Absent: no bundle has the object.
std::optional<BundleStore::Place> BundleStore::Find(std::string_view name) {
  const Lock lock(mutex_);
  const auto places = places_.find(name);
  return places == places_.end() ? std::nullopt : std::optional(*places->second.rbegin());
}

Result<std::shared_ptr<const ByteFile>> BundleStore::OpenBundle(const std::string& bundle) {
  const auto is_this = [&bundle](const OpenFile& open) { return open.bundle == bundle; };
  {
    const Lock lock(mutex_);
    if (const auto open = std::find_if(open_.begin(), open_.end(), is_this); open != open_.end()) {
      std::rotate(open, open + 1, open_.end());
      return open_.back().file;
    }
  }
  ASSIGN_OR_RETURN(std::shared_ptr<const ByteFile> file, inner_->Open(bundle));
  const Lock lock(mutex_);
  if (std::none_of(open_.begin(), open_.end(), is_this)) open_.push_back({bundle, file});
  if (open_.size() > kMostOpen) open_.erase(open_.begin());
  return file;
}

Result<std::string> BundleStore::Read(const Place& place) {
  ASSIGN_OR_RETURN(const std::shared_ptr<const ByteFile> file, OpenBundle(place.bundle));
  return ReadBytes(*file, place.offset, place.size);
}

Result<std::unique_ptr<ByteFile>> BundleStore::Open(std::string_view name) {
  Result<std::unique_ptr<ByteFile>> own = inner_->Open(name);
  if (own.ok() || own.status().code() != Code::kNotFound) return own;
  RETURN_IF_ERROR(Look());
  const std::optional<Place> place = Find(name);
  if (!place) return own;
  ASSIGN_OR_RETURN(std::string bytes, Read(*place));
  return MemoryFile(std::make_shared<const std::string>(std::move(bytes)));
}

Result<std::unique_ptr<ObjectWriter>> BundleStore::Create(std::string_view name, Condition condition) {
  RETURN_IF_ERROR(Look());
  if (const std::optional<Place> place = Find(name)) {
    if (condition.kind != Condition::Kind::kReplaceAny) {
      ASSIGN_OR_RETURN(const std::optional<ObjectInfo> own, inner_->Stat(name));
      if (!own && condition.kind == Condition::Kind::kCreateOnly)
        return Status(Code::kAlreadyExists, StrCat(name, ": is there already"));
      if (!own && condition.version != place->version)
        return Status(Code::kFailedPrecondition, StrCat(name, ": was replaced by somebody else"));
      if (!own) condition = Condition::CreateOnly();
    }
    const Lock lock(mutex_);
    hidden_.emplace(name);
  }
  return inner_->Create(name, std::move(condition));
}

Result<std::optional<ObjectInfo>> BundleStore::Stat(std::string_view name) {
  ASSIGN_OR_RETURN(std::optional<ObjectInfo> own, inner_->Stat(name));
  if (own) return own;
  RETURN_IF_ERROR(Look());
  const std::optional<Place> place = Find(name);
  if (!place) return own;
  return std::optional(ObjectInfo{std::string(name), place->size, place->version, {}});
}

Result<std::vector<ObjectInfo>> BundleStore::List(std::string_view prefix) {
  // Bundles are beside their objects, whose names have no slash.
  const bool of_directory = prefix.find('/') != std::string_view::npos;
  ASSIGN_OR_RETURN(std::vector<ObjectInfo> listed, inner_->List(of_directory ? prefix : ""));
  if (of_directory) return listed;
  RETURN_IF_ERROR(TakeIn(listed));
  std::vector<ObjectInfo> objects;
  std::map<std::string_view, Place> bundled;  // names of listed bundles
  const Lock lock(mutex_);
  for (ObjectInfo& object : listed) {
    const auto bundle = bundles_.find(object.name);
    if (bundle == bundles_.end() || bundle->second.damaged) {
      if (object.name.starts_with(prefix)) objects.push_back(std::move(object));
      continue;
    }
    for (const BundledPart& part : bundle->second.parts) {
      if (!part.name.starts_with(prefix)) continue;
      Place place = PlaceIn(bundle->first, bundle->second, part);
      const auto [known, is_new] = bundled.try_emplace(part.name, place);
      if (!is_new && known->second < place) known->second = std::move(place);
    }
  }
  if (bundled.empty()) return objects;
  const auto by_name = [](const ObjectInfo& a, const ObjectInfo& b) { return a.name < b.name; };
  const std::size_t own = objects.size();
  for (const auto& [name, place] : bundled)
    if (!std::binary_search(objects.begin(), objects.begin() + static_cast<std::ptrdiff_t>(own),
                            ObjectInfo::Any(std::string(name)), by_name))
      objects.push_back({std::string(name), place.size, place.version, {}});
  std::inplace_merge(objects.begin(), objects.begin() + static_cast<std::ptrdiff_t>(own), objects.end(),
                     by_name);
  return objects;
}

Status BundleStore::Remove(std::string_view name) {
  return RemoveKnown(*this, ObjectInfo::Any(std::string(name)));
}

Status BundleStore::RemoveAll(std::span<const ObjectInfo> objects, const std::function<bool()>& removed) {
  RETURN_IF_ERROR(Look());
  std::set<std::string, std::less<>> parts;  // that go at the end: they share files
  bool goes_on = true;
  Status status;
  while (!objects.empty() && goes_on && status.ok()) {
    std::size_t own = 0;
    bool hidden = false;
    {
      const Lock lock(mutex_);
      while (own < objects.size() && !places_.contains(objects[own].name)) ++own;
      hidden = own == 0 && hidden_.contains(objects.front().name);
    }
    if (own > 0) {
      status = inner_->RemoveAll(objects.first(own), [&] { return goes_on = removed() && goes_on; });
      objects = objects.subspan(own);
      continue;
    }
    if (hidden) status = inner_->Remove(objects.front().name);
    if (!status.ok()) break;
    parts.insert(objects.front().name);
    objects = objects.subspan(1);
    goes_on = removed();
  }
  Status gone = RemoveParts(parts);
  return status.ok() ? std::move(gone) : std::move(status);
}

/// Removes the bundles of these objects. Other objects in them are committed once more before.
Status BundleStore::RemoveParts(const std::set<std::string, std::less<>>& names) {
  std::vector<ObjectInfo> bundles;
  std::vector<std::pair<std::string, Place>> stay;
  {
    const Lock lock(mutex_);
    std::set<std::string> touched;
    for (const std::string& name : names)
      if (const auto places = places_.find(name); places != places_.end())
        for (const Place& place : places->second) touched.insert(place.bundle);
    for (const auto& [name, places] : places_)
      if (!names.contains(name) && touched.contains(places.rbegin()->bundle))
        stay.emplace_back(name, *places.rbegin());
    for (const std::string& bundle : touched) bundles.push_back({bundle, 0, bundles_.at(bundle).version, {}});
  }
  if (bundles.empty()) return {};
  std::vector<Object> again;
  for (const auto& [name, place] : stay) {
    ASSIGN_OR_RETURN(std::string bytes, Read(place));
    again.push_back({name, std::move(bytes)});
  }
  std::vector<const Object*> together;
  for (const Object& object : again) together.push_back(&object);
  if (!together.empty()) RETURN_IF_ERROR(CommitBundle(together, {}));
  RETURN_IF_ERROR(inner_->RemoveAll(bundles, [] { return true; }));
  const Lock lock(mutex_);
  for (const ObjectInfo& bundle : bundles) Forget(bundle.name);
  return {};
}

std::vector<Status> BundleStore::CommitTogether(std::span<const Object> objects,
                                                const std::stop_token& stop) {
  std::vector<Status> outcomes(objects.size());
  std::vector<const Object*> together;
  std::vector<std::size_t> numbers;
  for (std::size_t at = 0; at < objects.size(); ++at) {
    const Result<std::optional<ObjectInfo>> own = inner_->Stat(objects[at].name);
    if (own.ok() && !*own) {
      together.push_back(&objects[at]);
      numbers.push_back(at);
    } else {  // a bundle would be hidden by it
      outcomes[at] =
          own.ok() ? WriteObject(*inner_, objects[at].name, objects[at].bytes, Condition::ReplaceAny(), stop)
                         .status()
                   : own.status();
    }
  }
  if (together.empty()) return outcomes;
  const Status committed = CommitBundle(together, stop);
  for (const std::size_t at : numbers) outcomes[at] = committed;
  return outcomes;
}

Status BundleStore::CommitBundle(std::span<const Object* const> objects, const std::stop_token& stop) {
  RETURN_IF_ERROR(Look());
  Bundle bundle;
  std::string bytes;
  std::uint64_t size = 0;
  for (const Object* object : objects) size += object->bytes.size();
  bytes.reserve(size + 64 * objects.size());
  for (const Object* object : objects) {
    bundle.parts.push_back({object->name, bytes.size(), object->bytes.size()});
    bytes += object->bytes;
  }
  bytes += EncodeBundleEnd(bundle.parts);
  while (true) {
    {
      const Lock lock(mutex_);
      bundle.number = next_++;
    }
    const std::string name = BundleName(objects.front()->name, bundle.number);
    Result<ObjectInfo> written = WriteObject(*inner_, name, bytes, Condition::CreateOnly(), stop);
    if (written.status().code() == Code::kAlreadyExists) continue;  // another process took this number
    RETURN_IF_ERROR(written.status());
    bundle.version = std::move(written->version);
    const Lock lock(mutex_);
    Add(name, std::move(bundle));
    return {};
  }
}

}  // namespace pipeline
