#include "plugins/native/storage.h"

#include <utility>

#include "base/str.h"
#include "dag/books/location_log.h"
#include "stages/shards/measured_writer.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr int kMostTries = 3;  // for an object that is replaced while it is read

Status Cancelled() { return Status(Code::kCancelled, "stopped"); }

Status NotThere(const std::string& uri) {
  return Status(Code::kNotFound, StrCat(uri, ": there is no such object"));
}

/// An object: its store and its name there.
struct Location {
  std::unique_ptr<Store> store;
  std::string name;
};

Result<Location> LocationOf(const std::string& text, const StorageRules& rules) {
  ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(text));
  if (uri.is_local() && !uri.path.starts_with('/'))
    return Status(Code::kInvalidArgument, StrCat(text, ": an object's URI is an absolute path or a URL"));
  const std::string_view name = uri.LastPart();
  if (name.empty()) return Status(Code::kInvalidArgument, StrCat(text, ": names no object"));
  Uri above = uri;
  above.path.resize(uri.path.size() - name.size());
  if (above.scheme->form == Scheme::Form::kBucket && !above.path.empty()) above.path.pop_back();
  ASSIGN_OR_RETURN(std::unique_ptr<Store> store, rules.open_store(above.ToString()));
  return Location{std::move(store), std::string(name)};
}

class MeasuredPluginWriter final : public PluginWriter {
 public:
  MeasuredPluginWriter(const StorageRules& rules, std::string uri, std::stop_token stop,
                       std::unique_ptr<Store> store, std::unique_ptr<MeasuredWriter> writer)
      : rules_(rules),
        uri_(std::move(uri)),
        stop_(std::move(stop)),
        store_(std::move(store)),
        writer_(std::move(writer)) {}

  Status Append(std::string_view bytes) override {
    return stop_.stop_requested() ? Cancelled() : writer_->Append(bytes);
  }

  Status Commit() override {
    ASSIGN_OR_RETURN(const StoredObject committed, writer_->Commit(stop_));
    if (rules_.committed) rules_.committed(uri_, committed);
    return {};
  }

 private:
  const StorageRules& rules_;
  const std::string uri_;
  const std::stop_token stop_;  // of the run; never requested for a writer that goes on
  const std::unique_ptr<Store> store_;
  const std::unique_ptr<MeasuredWriter> writer_;  // writes to `store_`
};

}  // namespace

Result<std::uint64_t> PluginStorage::Size(const std::string& uri) const {
  ASSIGN_OR_RETURN(const Location location, LocationOf(uri, rules_));
  ASSIGN_OR_RETURN(const std::optional<ObjectInfo> info, location.store->Stat(location.name));
  return info ? Result<std::uint64_t>(info->size) : NotThere(uri);
}

Result<OpenObject> PluginStorage::Open(const std::string& uri, std::uint64_t offset) const {
  ASSIGN_OR_RETURN(const Location location, LocationOf(uri, rules_));
  OpenObject object;
  ASSIGN_OR_RETURN(object.file, location.store->Open(location.name));
  ASSIGN_OR_RETURN(object.reader, object.file->Open(offset, stop_));
  return object;
}

Result<std::unique_ptr<PluginWriter>> PluginStorage::Create(const std::string& uri, Creation creation,
                                                            AtStop at_stop) const {
  const std::stop_token stop = at_stop == AtStop::kEnds ? stop_ : std::stop_token();
  if (stop.stop_requested()) return Cancelled();
  ASSIGN_OR_RETURN(Location location, LocationOf(uri, rules_));
  std::optional<Condition> rule;
  if (rules_.condition) rule = rules_.condition(uri);
  if (!rule) rule = creation == Creation::kReplace ? Condition::ReplaceAny() : Condition::CreateOnly();
  ASSIGN_OR_RETURN(std::unique_ptr<MeasuredWriter> writer,
                   MeasuredWriter::Create(*location.store, location.name, *rule));
  return std::unique_ptr<PluginWriter>(std::make_unique<MeasuredPluginWriter>(
      rules_, uri, stop, std::move(location.store), std::move(writer)));
}

Result<std::vector<PluginStorage::Object>> PluginStorage::List(const std::string& uri) const {
  ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, rules_.open_store(uri));
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> all, store->List(""));
  std::vector<Object> objects;
  for (const ObjectInfo& object : all)
    if (!object.name.starts_with(kOwnPrefix)) objects.push_back({object.name, object.size});
  return objects;
}

Result<std::optional<PluginStorage::Whole>> PluginStorage::ReadWhole(const std::string& uri,
                                                                     std::uint64_t most) const {
  ASSIGN_OR_RETURN(const Location location, LocationOf(uri, rules_));
  for (int tries = 1;; ++tries) {
    // The version first: an object that is replaced meanwhile gets a version that a later write does not
    // find.
    ASSIGN_OR_RETURN(const std::optional<ObjectInfo> info, location.store->Stat(location.name));
    if (!info) return std::optional<Whole>();
    Result<std::string> bytes = ReadObject(*location.store, location.name, most, std::stop_token());
    // Another host may replace it between two requests.
    if (bytes.status().code() == Code::kDataLoss && tries < kMostTries) continue;
    if (!bytes.ok()) return std::move(bytes).status();
    return std::optional(Whole{std::move(*bytes), info->version});
  }
}

Result<std::string> PluginStorage::WriteWhole(const std::string& uri, std::string_view bytes,
                                              const std::string& known, AtStop at_stop) const {
  const std::stop_token stop = at_stop == AtStop::kEnds ? stop_ : std::stop_token();
  if (stop.stop_requested()) return Cancelled();
  ASSIGN_OR_RETURN(const Location location, LocationOf(uri, rules_));
  if (rules_.confirm)
    if (const Status held = rules_.confirm(uri); !held.ok())
      return Status(Code::kCancelled, std::string(held.message()));
  const Condition condition = known.empty() ? Condition::CreateOnly() : Condition::Replace(known);
  ASSIGN_OR_RETURN(const ObjectInfo written,
                   WriteObject(*location.store, location.name, bytes, condition, stop));
  return written.version;
}

Status PluginStorage::Remove(const std::string& uri) const {
  ASSIGN_OR_RETURN(const Location location, LocationOf(uri, rules_));
  RETURN_IF_ERROR(location.store->Remove(location.name));
  if (rules_.removed) rules_.removed(uri);
  return {};
}

}  // namespace pipeline
