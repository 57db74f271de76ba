#include "dag/location/leftovers.h"

#include <utility>

#include "base/first_of.h"
#include "base/str.h"
#include "dag/location/own_objects.h"

namespace pipeline {

Status ListNames(const Publishing& by, Store& out, const std::vector<ObjectInfo>& there,
                 const std::vector<std::string>& planned, LocationNames& names, std::stop_token stop) {
  const Result<Manifest> manifest = ReadManifest(out, by.location, stop);
  ASSIGN_OR_RETURN(LocationContents contents, TellApart({out, there, manifest.ok() ? &*manifest : nullptr,
                                                         by.names, by.log, by.stage, by.location},
                                                        names));
  // Without a complete list nothing tells the objects of others from ours. With one, planning has refused
  // such objects, so these came later.
  const NameSet others(contents.others.begin(), contents.others.end());
  std::vector<std::string> taken;
  for (const std::string& name : planned)
    if (names.complete() && others.contains(name)) taken.push_back(name);
  if (!taken.empty())
    return Status(Code::kFailedPrecondition,
                  StrCat(by.location, ": no run wrote ", FirstOf(taken),
                         ", and this run would write over that; move it elsewhere and run again"));
  contents.ours.insert(contents.ours.end(), planned.begin(), planned.end());
  return names.Add(contents.ours, std::move(stop));
}

Status RemoveLeftovers(const Publishing& by, Store& out, const Manifest& manifest, LocationNames& names,
                       std::stop_token stop) {
  const std::vector<std::string> objects = NamesIn(manifest);
  const NameSet kept(objects.begin(), objects.end());
  RETURN_IF_ERROR(names.RemoveOthers(
      kept,
      [&](std::string_view name) {
        by.note(StrCat("removed ", by.location, "/", name,
                       ": left there by an earlier run, not part of the artifact"));
      },
      std::move(stop)));
  ASSIGN_OR_RETURN(std::vector<ObjectInfo> there, out.List(""));
  std::vector<std::string> others;
  for (ObjectInfo& object : OwnObjects(std::move(there)))
    if (object.name != kManifestName && !kept.contains(object.name)) others.push_back(std::move(object.name));
  if (!others.empty())
    by.note(StrCat(by.location, ": ", FirstOf(others), " beside the artifact ",
                   others.size() == 1 ? "stays" : "stay", ": no run wrote ",
                   others.size() == 1 ? "it" : "them"));
  return {};
}

}  // namespace pipeline
