#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/log.h"
#include "base/str.h"
#include "cli/workspace/workspace.h"
#include "dag/books/location_log.h"
#include "dag/books/manifest.h"
#include "dag/location/publishing.h"
#include "dag/pipeline_file/pipeline_file.h"
#include "dag/pipeline_file/stage_type.h"
#include "storage/local_store.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

constexpr std::size_t kRecipeDigits = 16;  // at the end of STAGE-RECIPE16

std::vector<std::filesystem::path> DirectoriesIn(const std::string& path) {
  std::vector<std::filesystem::path> directories;
  std::error_code error;  // mostly: there is no such directory
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    if (std::error_code gone; at->is_directory(gone) && !at->is_symlink(gone))
      directories.push_back(at->path());
  return directories;
}

/// The cache of objects removes its own.
Status SweepWorkDirectory(const WorkDir& directory) {
  RETURN_IF_ERROR(SweepDirectory(directory.path()));
  for (const std::filesystem::path& below : DirectoriesIn(directory.path()))
    if (below != std::filesystem::path(directory.cache()))
      RETURN_IF_ERROR(LocalStore(below.string()).Sweep(""));
  return {};
}

/// A directory in which no run has published belongs to somebody else.
Status SweepArtifact(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(StrCat(path, "/", kManifestName), ignored) &&
      !std::filesystem::exists(StrCat(path, "/", kOwnPrefix), ignored))
    return {};
  return LocalStore(path).Sweep("");
}

Status SweepRecipes(const std::string& out, std::string_view stage, const LeaseTerms& terms) {
  const std::string front = StrCat(stage, "-");
  for (const std::filesystem::path& at : DirectoriesIn(StrCat(out, "/", kRunLocation))) {
    const std::string name = at.filename().string();
    const std::string_view recipe = std::string_view(name).substr(std::min(front.size(), name.size()));
    if (!name.starts_with(front) || recipe.size() != kRecipeDigits ||
        recipe.find_first_not_of("0123456789abcdef") != std::string_view::npos)
      continue;
    RETURN_IF_ERROR(SweepArtifact(at.string()));
    RETURN_IF_ERROR(RemoveIfEmpty(at.string(), terms).status());
  }
  return {};
}

Status SweepStage(const StageSpec& spec, const LeaseTerms& terms) {
  if (spec.out.empty() || !spec.type->publishes()) return {};
  const std::string location = LocationOfStage(spec);
  ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(location.empty() ? spec.out : location));
  if (!uri.is_local()) return {};
  return location.empty() ? SweepRecipes(uri.path, spec.name, terms) : SweepArtifact(uri.path);
}

}  // namespace

void RemoveLeftBehind(const Workspace& workspace, const Graph& graph) {
  const auto warn = [](const Status& status) {
    if (!status.ok()) LogWarning(StrCat("what killed runs left behind stays for now: ", status.message()));
  };
  warn(SweepWorkDirectory(workspace.directory()));
  warn(workspace.EndLeftUploads());
  for (const Node& node : graph.nodes()) warn(SweepStage(*node.spec, workspace.environment().lease));
}

}  // namespace pipeline
