#include "dag/books/work_dir.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/str.h"

namespace pipeline {

WorkDir::WorkDir(std::string path) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
}

Status WorkDir::Create() const {
  for (const std::string& directory : {path_, artifacts(), spool(), StrCat(path_, "/quarantine"), runs()}) {
    std::error_code error;
    std::filesystem::create_directories(directory, error);
    if (error) return SystemError(StrCat("making the work directory ", directory), error.value());
  }
  return {};
}

std::string WorkDir::log() const { return path_ + "/run.log"; }
std::string WorkDir::lock() const { return path_ + "/lock"; }
std::string WorkDir::artifacts() const { return path_ + "/artifacts"; }
std::string WorkDir::spool() const { return path_ + "/spool"; }
std::string WorkDir::sources() const { return path_ + "/sources"; }
std::string WorkDir::kept() const { return path_ + "/kept"; }
std::string WorkDir::cache() const { return path_ + "/cache"; }
std::string WorkDir::hosts() const { return path_ + "/hosts"; }
std::string WorkDir::host(int number) const { return StrCat(hosts(), '/', number); }
std::string WorkDir::runs() const { return path_ + "/runs"; }
std::string WorkDir::run(std::string_view id) const { return StrCat(runs(), '/', id); }

std::string WorkDir::artifact(std::string_view stage, const Digest& recipe) const {
  return StrCat(artifacts(), '/', ArtifactName(stage, recipe));
}

std::string WorkDir::ArtifactName(std::string_view stage, const Digest& recipe) {
  return StrCat(stage, '-', recipe.ToHex().substr(0, 16));
}

}  // namespace pipeline
