#include "stages/download.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>

#include "base/str.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFileScheme = "file://";

/// "https" of "https://host/path"; empty for a path.
std::string_view SchemeOf(std::string_view url) {
  const std::size_t end = url.find("://");
  if (end == std::string_view::npos || end == 0) return {};
  const std::string_view scheme = url.substr(0, end);
  const bool letters = std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '+';
  });
  return letters ? scheme : std::string_view();
}

Status CheckUrl(std::string_view url) {
  if (url.empty()) return Status(Code::kInvalidArgument, "url: empty; name a file");
  const std::string_view scheme = SchemeOf(url);
  if (scheme.empty()) return {};
  if (scheme == "http" || scheme == "https" || scheme == "gs") {
    ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(url));
    if (uri.LastPart().empty())
      return Status(Code::kInvalidArgument, StrCat("url: ", ShownUrl(url), ": names no file"));
    return {};
  }
  if (scheme != "file")
    return Status(Code::kInvalidArgument,
                  StrCat("url: ", ShownUrl(url), ": knows https, http, gs and file, and paths"));
  if (url.substr(kFileScheme.size(), 1) != "/")
    return Status(Code::kInvalidArgument,
                  StrCat("url: ", url, ": names a host; a file of this machine is file:///path"));
  return Uri::Parse(url).status();
}

bool HasWildcard(std::string_view text) { return text.find_first_of("*?") != std::string_view::npos; }

/// Every path that `pattern` describes, by name. As in a shell, a leading `.` is only matched by itself.
Result<std::vector<std::string>> Expand(const fs::path& pattern) {
  std::vector<fs::path> found = {fs::path()};
  for (const fs::path& part : pattern) {
    std::vector<fs::path> next;
    for (const fs::path& parent : found) {
      std::error_code error;
      if (!HasWildcard(part.native())) {
        if (fs::exists(parent / part, error)) next.push_back(parent / part);
        continue;
      }
      fs::directory_iterator entry(parent.empty() ? fs::path(".") : parent, error);
      for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (name[0] == '.' && part.native()[0] != '.') continue;
        if (MatchesPattern(part.native(), name)) next.push_back(parent / name);
      }
      if (error && error != std::errc::not_a_directory)
        return SystemError(StrCat("download: ", parent.string()), error.value());
    }
    found = std::move(next);
  }
  std::vector<std::string> paths;
  for (const fs::path& path : found) paths.push_back(path.string());
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<LocalInput> Input(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found)
    return Status(Code::kNotFound, StrCat("download: ", path, ": no such file; relative paths begin in the ",
                                          "directory that pipe was started in"));
  if (error) return SystemError(StrCat("download: ", path), error.value());
  if (status.type() == fs::file_type::directory)
    return Status(Code::kInvalidArgument,
                  StrCat("download: ", path, ": is a directory; name its files, e.g. ",
                         (fs::path(path) / "*").string()));
  if (status.type() != fs::file_type::regular)
    return Status(Code::kInvalidArgument,
                  StrCat("download: ", path, ": is no regular file; it could not be read twice"));
  return LocalInput{path, fs::path(path).filename().string()};
}

Result<std::vector<LocalInput>> LocalInputs(const Json& config) {
  std::vector<LocalInput> inputs;
  for (const Json& element : config["url"].AsArray()) {
    const std::string_view url = element.AsString();
    RETURN_IF_ERROR(CheckUrl(url));
    const bool is_path = SchemeOf(url).empty();
    std::vector<std::string> paths = {std::string(url)};
    if (!is_path) {
      ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(url));
      if (uri.scheme != Uri::Scheme::kFile) {
        inputs.push_back({std::string(url), std::string(uri.LastPart())});
        continue;
      }
      paths = {uri.path};
    }
    std::error_code ignored;  // a name that cannot be looked at is reported by Input
    if (is_path && HasWildcard(url) && !fs::exists(paths[0], ignored)) {
      ASSIGN_OR_RETURN(paths, Expand(paths[0]));
      if (paths.empty())
        return Status(Code::kNotFound,
                      StrCat("download: ", url, ": no file has such a name; relative paths begin ",
                             "in the directory that pipe was started in"));
    }
    for (const std::string& path : paths) {
      ASSIGN_OR_RETURN(LocalInput input, Input(path));
      inputs.push_back(std::move(input));
    }
  }
  return inputs;
}

Status CheckUrls(const Json& config) {
  const Json::Array& urls = config["url"].AsArray();
  if (urls.empty()) return Status(Code::kInvalidArgument, "url: an empty list; name at least one file");
  for (const Json& url : urls) RETURN_IF_ERROR(CheckUrl(url.AsString()));
  return {};
}

}  // namespace

StageType DownloadType() {
  StageType type;
  type.name = "download";
  type.help = "The files of a corpus: where they come from.";
  type.keys = {
      // What the files hold enters the recipe, not where they lie.
      {"url", ValueType::kStrings, "", Effect::kNone,
       "Paths, or https://, http://, gs:// and file:// URLs; in paths, * and ? stand for any name and are "
       "read in "
       "the "
       "order of the names."},
      {"size", ValueType::kBytes, "~", Effect::kNone,
       "Bytes of all files, for forecasts where nobody can be asked."},
      {"text_size", ValueType::kBytes, "~", Effect::kNone, "Bytes of the text in them, for forecasts."},
  };
  type.takes = Flow::kNothing;
  type.gives = Flow::kFiles;
  type.check = [](const Json& config, Schema&) { return CheckUrls(config); };
  type.local_inputs = LocalInputs;
  type.make = JobFactory([](const StageContext& context) -> Result<std::unique_ptr<JobStage>> {
    return Status(Code::kInvalidArgument,
                  StrCat(context.name, ": nothing to fetch: local files are read where they lie"));
  });
  return type;
}

}  // namespace pipeline
