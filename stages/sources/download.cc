#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <system_error>

#include "base/checksum.h"
#include "base/enumeration.h"
#include "base/str.h"
#include "dag/pipeline_file/source_file.h"
#include "dag/pipeline_file/subset.h"
#include "stages/sources/source_stages.h"
#include "storage/percent.h"
#include "storage/uri.h"

namespace pipeline {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFileScheme = "file://";
constexpr std::string_view kStall = "stall", kSilence = "silence";
constexpr std::int64_t kStallSeconds = 60, kSilenceSeconds = 900, kMaxSeconds = 7 * 86'400;
constexpr std::int64_t kLeastRate = 4 << 10;  // bytes a second
constexpr std::int64_t kMaxConnections = 32;  // each takes memory, and hosts lock out clients that open more

/// Returns "https" for "https://host/path"; empty: a path.
std::string_view SchemeOf(std::string_view url) {
  const std::size_t end = url.find("://");
  if (end == std::string_view::npos || end == 0) return {};
  const std::string_view scheme = url.substr(0, end);
  const bool letters = std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return ('a' <= c && c <= 'z') || ('A' <= c && c <= 'Z') || ('0' <= c && c <= '9') || c == '+';
  });
  return letters ? scheme : std::string_view();
}

bool HasWildcard(std::string_view text) { return text.find_first_of("*?") != std::string_view::npos; }

/// Returns "https, http, gs and file", the best known ones first, with `after` behind each.
template <class Wanted>
std::string SchemeNames(std::string_view after, Wanted wanted) {
  std::vector<std::string> names;
  for (const Scheme* scheme : Schemes())
    if (wanted(*scheme)) names.insert(names.begin(), StrCat(scheme->name, after));
  return Enumeration(names, "and");
}

bool IsAny(const Scheme&) { return true; }
bool IsRemoteScheme(const Scheme& scheme) { return !scheme.is_local(); }

Status CheckUrl(std::string_view url) {
  if (url.empty()) return Status(Code::kInvalidArgument, "url: empty; name a file");
  const std::string_view scheme = SchemeOf(url);
  if (scheme.empty()) return {};
  const Scheme* known = FindScheme(scheme);
  if (known == nullptr)
    return Status(Code::kInvalidArgument, StrCat("url: ", ShownUrl(url), ": this program knows ",
                                                 SchemeNames("", IsAny), ", and paths"));
  if (!known->is_local()) {
    ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(url));
    if (uri.LastPart().empty())
      return Status(Code::kInvalidArgument, StrCat("url: ", ShownUrl(url), ": names no file"));
    return {};
  }
  if (url.substr(kFileScheme.size(), 1) != "/")
    return Status(Code::kInvalidArgument,
                  StrCat("url: ", url, ": names a host; a file of this machine is file:///path"));
  return Uri::Parse(url).status();
}

/// kInvalidArgument: a person wants folders of any depth, and each * would stand for names in one.
Status CheckPattern(std::string_view url) {
  const std::size_t stars = url.find("**");
  if (stars == std::string_view::npos) return {};
  const std::size_t behind = url.find_first_not_of('*', stars);
  const bool folder = behind != std::string_view::npos && url[behind] == '/';
  const std::string_view front = url.substr(0, stars);
  const std::string_view back =
      behind == std::string_view::npos ? std::string_view() : url.substr(behind + folder);
  const std::string one = StrCat(front, folder ? "" : "*", back);
  return Status(
      Code::kInvalidArgument,
      StrCat("url: ", url, ": ** does not stand for folders of any depth; list a pattern for each depth: [\"",
             one, "\", \"", front, "*/", folder ? "" : "*", back, "\", …]"));
}

/// Returns the pattern of the files in a directory: those with its commonest ending, or of its first folder.
std::string PatternIn(const fs::path& directory, int depth = 0) {
  constexpr int kDeepest = 8;
  std::map<std::string, std::size_t> endings;
  std::set<fs::path> folders;
  std::error_code error, gone;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with('.')) continue;
    if (at->is_regular_file(gone)) ++endings[at->path().extension().string()];
    if (at->is_directory(gone)) folders.insert(at->path());
  }
  const auto commonest = std::max_element(endings.begin(), endings.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
  if (commonest != endings.end()) return StrCat("*", commonest->first);
  return folders.empty() || depth == kDeepest ? "*" : StrCat("*/", PatternIn(*folders.begin(), depth + 1));
}

/// Returns every path that matches `pattern`, sorted by name. As in a shell, only a `.` matches a leading
/// `.`.
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
                         (fs::path(path) / PatternIn(path)).string()));
  if (status.type() != fs::file_type::regular)
    return Status(Code::kInvalidArgument,
                  StrCat("download: ", path, ": is no regular file; it could not be read twice"));
  return LocalInput{path, fs::path(path).filename().string()};
}

/// Marks a file without a known checksum in the list `checksum`.
constexpr std::string_view kNoChecksum = "none";

/// Returns the checksum of file `number`; empty: none.
std::string ChecksumOf(const Json& config, std::size_t number) {
  const Json::Array& checksums = config["checksum"].AsArray();
  if (number >= checksums.size() || checksums[number].AsString() == kNoChecksum) return {};
  const Result<Checksum> checksum = ParseChecksum(checksums[number].AsString());
  return checksum.ok() ? ToString(*checksum) : std::string();
}

/// Returns the address of the file `url` at a mirror: the mirror itself, or a file below it if it is a
/// directory.
Result<std::string> AtMirror(const std::string& mirror, const Uri& url) {
  if (mirror.back() != '/') return mirror;
  ASSIGN_OR_RETURN(const Uri directory, Uri::Parse(mirror));
  const bool encoded = url.scheme->form == Scheme::Form::kWeb;
  const bool wants_encoded = directory.scheme->form == Scheme::Form::kWeb;
  std::string name(url.LastPart());
  if (encoded && !wants_encoded) {
    const std::optional<std::string> decoded = PercentDecode(name);
    if (!decoded)
      return Status(Code::kInvalidArgument, StrCat("mirrors: '", name, "' is no name in a bucket"));
    name = *decoded;
  } else if (!encoded && wants_encoded) {
    name = PercentEncode(name);
  }
  return StrCat(mirror, name);
}

Result<LocalInput> RemoteInput(const Json& config, std::size_t number) {
  const std::string url(config["url"].AsArray()[number].AsString());
  ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(url));
  LocalInput input{url, std::string(uri.LastPart())};
  ASSIGN_OR_RETURN(const Subset subset, SubsetOf(config));
  input.in_part = subset.is_beginning();
  if (!input.in_part) input.checksum = ChecksumOf(config, number);
  input.is_pattern = uri.scheme->lists && HasWildcard(uri.path);
  if (input.is_pattern) RETURN_IF_ERROR(CheckPattern(url));
  input.connections = static_cast<int>(config["connections"].AsInt());
  input.rate = static_cast<std::uint64_t>(config["rate"].AsInt());
  input.least_rate = static_cast<std::uint64_t>(config["least_rate"].AsInt(kLeastRate));
  input.stall = static_cast<int>(config[kStall].AsInt(kStallSeconds));
  input.silence = static_cast<int>(config[kSilence].AsInt(kSilenceSeconds));
  for (const Json& mirror : config["mirrors"].AsArray()) {
    if (input.in_part) break;  // nothing would show that a mirror has the same file
    ASSIGN_OR_RETURN(std::string address, AtMirror(std::string(mirror.AsString()), uri));
    input.mirrors.push_back(std::move(address));
  }
  return input;
}

Result<std::vector<LocalInput>> LocalInputs(const Json& config) {
  ASSIGN_OR_RETURN(const Subset subset, SubsetOf(config));
  std::vector<LocalInput> inputs;
  Status missing;  // the first missing file
  const auto want = [&](std::string name, bool is_pattern, Status why) {
    if (missing.ok()) missing = std::move(why);
    inputs.push_back({name, fs::path(name).filename().string()});
    inputs.back().is_pattern = is_pattern;
  };
  const Json::Array& urls = config["url"].AsArray();
  for (std::size_t number = 0; number < urls.size(); ++number) {
    const std::string_view url = urls[number].AsString();
    RETURN_IF_ERROR(CheckUrl(url));
    const bool is_path = SchemeOf(url).empty();
    std::vector<std::string> paths = {std::string(url)};
    if (!is_path) {
      ASSIGN_OR_RETURN(const Uri uri, Uri::Parse(url));
      if (!uri.is_local()) {
        ASSIGN_OR_RETURN(LocalInput input, RemoteInput(config, number));
        inputs.push_back(std::move(input));
        continue;
      }
      paths = {uri.path};
    }
    std::error_code ignored;  // Input reports a name that cannot be read
    if (is_path && HasWildcard(url) && !fs::exists(paths[0], ignored)) {
      RETURN_IF_ERROR(CheckPattern(url));
      ASSIGN_OR_RETURN(paths, Expand(paths[0]));
      if (paths.empty())
        want(std::string(url), true,
             Status(Code::kNotFound,
                    StrCat("download: ", url, ": no file has such a name; relative paths begin ",
                           "in the directory that pipe was started in")));
    }
    const std::string checksum = ChecksumOf(config, number);
    if (!checksum.empty() && paths.size() > 1)
      return Status(Code::kInvalidArgument,
                    StrCat("download: ", url, ": stands for ", paths.size(), " files, and a checksum is ",
                           "that of one; name them one by one"));
    for (const std::string& path : paths) {
      Result<LocalInput> input = Input(path);
      if (input.status().code() == Code::kNotFound) {
        want(path, false, std::move(input).status());
        if (!subset.is_beginning()) inputs.back().checksum = checksum;
        continue;
      }
      if (!input.ok()) return std::move(input).status();
      if (!subset.is_beginning()) input->checksum = checksum;
      inputs.push_back(std::move(*input));
    }
  }
  if (!missing.ok()) return std::move(missing).With(std::make_shared<WantedFiles>(std::move(inputs)));
  return inputs;
}

Status CheckChecksums(const Json& config) {
  const std::size_t urls = config["url"].AsArray().size();
  const Json::Array& checksums = config["checksum"].AsArray();
  if (!checksums.empty() && checksums.size() != urls)
    return Status(Code::kInvalidArgument,
                  StrCat("checksum: ", checksums.size(), " for ", urls, " in `url`; write one for each, `",
                         kNoChecksum, "` where it is not known"));
  for (const Json& checksum : checksums)
    if (checksum.AsString() != kNoChecksum)
      RETURN_IF_ERROR(ParseChecksum(checksum.AsString()).status().Annotate("checksum"));
  return {};
}

Status CheckMirrors(const Json& config) {
  const Json::Array& mirrors = config["mirrors"].AsArray();
  if (mirrors.empty()) return {};
  const Json::Array& urls = config["url"].AsArray();
  for (std::size_t number = 0; number < urls.size(); ++number) {
    if (ChecksumOf(config, number).empty())
      return Status(Code::kInvalidArgument,
                    StrCat("mirrors: ", ShownUrl(urls[number].AsString()),
                           " has no checksum, and only that tells whether a mirror has the same file; ",
                           "add `checksum: sha256:DIGITS`"));
    if (!IsRemote(urls[number].AsString()))
      return Status(Code::kInvalidArgument, StrCat("mirrors: ", urls[number].AsString(),
                                                   " is read where it lies; put an address into `url`"));
  }
  for (const Json& mirror : mirrors) {
    const std::string address(mirror.AsString());
    const Result<Uri> uri = Uri::Parse(address);
    if (!uri.ok()) return Status(uri.status()).Annotate("mirrors");
    if (uri->is_local())
      return Status(Code::kInvalidArgument,
                    StrCat("mirrors: ", address, ": this program knows ", SchemeNames("", IsRemoteScheme)));
    if (address.back() != '/' && urls.size() > 1)
      return Status(Code::kInvalidArgument,
                    StrCat("mirrors: ", ShownUrl(address), ": is one file for ", urls.size(),
                           "; write the directory in which all of them lie, with a / at its end"));
    if (address.back() != '/' && uri->LastPart().empty())
      return Status(Code::kInvalidArgument, StrCat("mirrors: ", ShownUrl(address), ": names no file"));
  }
  return {};
}

Status CheckConfig(const Json& config) {
  const Json::Array& urls = config["url"].AsArray();
  if (urls.empty()) return Status(Code::kInvalidArgument, "url: an empty list; name at least one file");
  for (const Json& url : urls) RETURN_IF_ERROR(CheckUrl(url.AsString()));
  RETURN_IF_ERROR(SubsetOf(config).status());
  RETURN_IF_ERROR(CheckChecksums(config));
  RETURN_IF_ERROR(CheckMirrors(config));
  if (const std::int64_t most = config["connections"].AsInt(1); most < 1 || most > kMaxConnections)
    return Status(Code::kInvalidArgument,
                  StrCat("connections: ", most, " is not from 1 to ", kMaxConnections));
  if (config["rate"].AsInt(1) < 1)
    return Status(Code::kInvalidArgument, "rate: nothing would ever arrive; leave it out for no limit");
  if (config["least_rate"].AsInt(kLeastRate) < 0)
    return Status(Code::kInvalidArgument, "least_rate: is below 0; 0 lets any rate pass");
  for (const auto& [key, usual] : {std::pair{kStall, kStallSeconds}, {kSilence, kSilenceSeconds}})
    if (const std::int64_t seconds = config[key].AsInt(usual); seconds < 1 || seconds > kMaxSeconds)
      return Status(Code::kInvalidArgument,
                    StrCat(key, ": ", seconds, " is not from 1 to ", kMaxSeconds, " seconds"));
  return {};
}

std::string UrlHelp() {
  const std::string lists =
      SchemeNames("://", [](const Scheme& scheme) { return !scheme.is_local() && scheme.lists; });
  return StrCat("Paths, or ", SchemeNames("://", IsAny), " URLs; in paths and ", lists,
                " URLs, * and ? stand for any name and are read in the order of the names.");
}

std::string ConnectionsHelp() {
  std::string text = "Transfers from one server at once, the parts of one file included; by default ";
  for (const Scheme* scheme : Schemes())
    if (scheme->connections > 1) text += StrCat(scheme->connections, " from ", scheme->name, "://, ");
  return text + "1 elsewhere.";
}

}  // namespace

StageType DownloadType() {
  static const std::string url_help = UrlHelp(), connections_help = ConnectionsHelp();
  StageType type;
  type.name = "download";
  type.help = "The files of a corpus: where they come from.";
  type.keys = {
      // The recipe has the contents of the files, and not their locations.
      {"url", ValueType::kStrings, "", url_help, Effect::kNone},
      {"checksum", ValueType::kStrings, "~",
       "The checksum of each file of `url`: sha256:DIGITS, md5:DIGITS or crc32c:DIGITS of its bytes as they "
       "are stored, or `none`; the file then counts by it, wherever it lies.",
       Effect::kNone},
      {"mirrors", ValueType::kStrings, "~",
       "Other addresses of the file, tried in this order; one that ends in / is a directory with all files "
       "of `url`; needs `checksum`.",
       Effect::kNone},
      {"connections", ValueType::kInteger, "~", connections_help, Effect::kNone},
      {"rate", ValueType::kBytes, "~", "Bytes a second at which the files arrive, all together, at most.",
       Effect::kNone},
      {"least_rate", ValueType::kBytes, "4KiB",
       "Bytes a second below which a transfer is begun anew, then left for the next mirror; where there is "
       "none "
       "it goes on, and says so.",
       Effect::kNone},
      {kStall, ValueType::kInteger, "60",
       "Seconds over which `least_rate` is measured, and for which a silent transfer is kept.",
       Effect::kNone},
      {kSilence, ValueType::kInteger, "900",
       "Seconds without a byte after which the run fails; the bytes that arrived are kept.", Effect::kNone},
      {"size", ValueType::kBytes, "~",
       "Bytes of all files, for forecasts if no server can tell; as if left out where --set changes "
       "`url`.",
       Effect::kNone, "url"},
      {"subset", ValueType::kString, "~",
       "Where the reader has a number here, so has this: a file that is read in part is held to no "
       "`checksum`, "
       "and has no `mirrors`; see --subset.",
       Effect::kNone},
      {"text_size", ValueType::kBytes, "~",
       "Bytes of the text in them, for forecasts; as if left out where --set changes `url`.", Effect::kNone,
       "url"},
  };
  type.takes = Flow::kNothing;
  type.gives = Flow::kFiles;
  type.check = [](const Json& config, Schema&) { return CheckConfig(config); };
  type.kind = FileListKind{.local_inputs = LocalInputs};
  return type;
}

}  // namespace pipeline
