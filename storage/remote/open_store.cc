#include "storage/remote/open_store.h"

#include <algorithm>
#include <utility>

#include "base/str.h"
#include "storage/local_store.h"
#include "storage/remote/remote_schemes.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

/// The opener of the process: one identity and its token.
StoreOpener& SharedOpener() {
  static StoreOpener opener;
  return opener;
}

/// Part by part, each between two slashes; as in a shell, a leading `.` is only matched by itself.
bool MatchesPath(std::string_view pattern, std::string_view name) {
  for (;;) {
    const std::size_t pattern_end = std::min(pattern.find('/'), pattern.size());
    const std::size_t name_end = std::min(name.find('/'), name.size());
    const bool hidden = name.substr(0, 1) == "." && pattern.substr(0, 1) != ".";
    if (hidden || !MatchesPattern(pattern.substr(0, pattern_end), name.substr(0, name_end))) return false;
    const bool pattern_goes_on = pattern_end < pattern.size();
    if (pattern_goes_on != (name_end < name.size())) return false;
    if (!pattern_goes_on) return true;
    pattern.remove_prefix(pattern_end + 1);
    name.remove_prefix(name_end + 1);
  }
}

}  // namespace

RemoteOpener& StoreOpener::OpenerOf(const Uri& location) { return OpenerOf(RemoteSchemeOf(location)); }

RemoteOpener& StoreOpener::OpenerOf(const RemoteScheme& scheme) {
  const Lock lock(mutex_);
  std::unique_ptr<RemoteOpener>& opener = openers_[&scheme];
  if (opener == nullptr) opener = scheme.open(options_);
  return *opener;
}

Status StoreOpener::EndLeftUploads() {
  for (const RemoteScheme* scheme : RemoteSchemes()) RETURN_IF_ERROR(OpenerOf(*scheme).EndLeftUploads());
  return {};
}

Result<std::unique_ptr<Store>> StoreOpener::Open(std::string_view uri) {
  ASSIGN_OR_RETURN(const Uri place, Uri::Parse(uri));
  if (place.is_local()) return std::make_unique<LocalStore>(place.path);
  RemoteOpener& opener = OpenerOf(place);
  if (Status ready = opener.Prepare(); !ready.ok()) return std::move(ready).Annotate(uri);
  return opener.OpenStore(place);
}

Result<RemoteFile> StoreOpener::OpenFile(std::string_view uri, const RemoteAsk& ask, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Uri place, Uri::Parse(uri));
  if (place.is_local()) return Status(Code::kInvalidArgument, StrCat(uri, ": is on this machine"));
  RemoteOpener& opener = OpenerOf(place);
  if (place.scheme->lists) RETURN_IF_ERROR(opener.CheckName(place.path));
  if (Status ready = opener.Prepare(); !ready.ok()) return std::move(ready).Annotate(place.ToString());
  return opener.OpenFile(place, ask, std::move(stop));
}

Result<std::unique_ptr<Store>> OpenStore(std::string_view uri) { return SharedOpener().Open(uri); }

Result<RemoteFile> OpenRemoteFile(std::string_view uri, const RemoteAsk& ask, std::stop_token stop) {
  return SharedOpener().OpenFile(uri, ask, std::move(stop));
}

Result<EncodedTransfer> OpenEncoded(const std::string& uri, const RemoteAsk& ask, const HttpFacts* wanted,
                                    std::stop_token stop) {
  ASSIGN_OR_RETURN(const Uri place, Uri::Parse(uri));
  if (place.is_local()) return Status(Code::kInvalidArgument, StrCat(uri, ": is on this machine"));
  return SharedOpener().OpenerOf(place).OpenEncoded(uri, ask, wanted, std::move(stop));
}

Result<std::vector<std::string>> FindRemoteFiles(std::string_view pattern, std::stop_token stop) {
  ASSIGN_OR_RETURN(const Uri place, Uri::Parse(pattern));
  if (place.is_local() || !place.scheme->lists)
    return Status(Code::kInvalidArgument, StrCat(ShownUrl(pattern), ": what is there cannot be listed"));
  const RemoteScheme& scheme = RemoteSchemeOf(place);
  RemoteOpener& opener = SharedOpener().OpenerOf(place);
  if (Status ready = opener.Prepare(); !ready.ok()) return std::move(ready).Annotate(pattern);
  std::vector<std::string> names;
  bool is_name = false;
  Status unnamed;
  const auto visit = [&](const RemotePage& page) -> Status {
    for (const RemoteObject& object : page.objects) {
      is_name = is_name || object.name == place.path;
      if (object.MarksDirectory() || !MatchesPath(place.path, object.name)) continue;
      if (Status named = opener.CheckName(object.name); !named.ok() && unnamed.ok())
        unnamed = std::move(named);
      names.push_back(object.name);
    }
    return {};
  };
  const std::string_view prefix = std::string_view(place.path).substr(0, place.path.find_first_of("*?"));
  RETURN_IF_ERROR(opener.ListPages(place.authority, prefix, false, visit, std::move(stop)));
  if (is_name) names = {place.path};
  const std::string bucket = StrCat(scheme.name, "://", place.authority, "/");
  const std::string rename =
      scheme.rename_command.empty() ? std::string() : StrCat(" (`", scheme.rename_command, "`)");
  if (!is_name && !unnamed.ok())
    return Status(
        Code::kInvalidArgument,
        StrCat(pattern, ": stands for an object that cannot be read under its name: ", unnamed.message(),
               "; rename it", rename, ", or write the pattern so that it leaves it out"));
  if (names.empty())
    return Status(Code::kNotFound, StrCat(pattern, ": no object has such a name; `", scheme.list_command, " ",
                                          bucket, prefix, "` shows which there are"));
  std::sort(names.begin(), names.end());
  for (std::string& name : names) name = StrCat(bucket, name);
  return names;
}

}  // namespace pipeline
