#include "stages/lines/dictionary.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "base/str.h"

namespace pipeline {

namespace {

struct KnownDictionary {
  std::string_view name;
  std::array<std::string_view, 2> directories;  // its folders, the better one first; the second may be empty
  std::string_view install;
};
constexpr std::array<KnownDictionary, 4> kKnown = {{
    {"ipadic",
     {"ipadic-utf8", "ipadic"},
     "apt-get install mecab-ipadic-utf8, or install our package text2lm_ipadic"},
    {"unidic", {"unidic", ""}, "apt-get install unidic-mecab (5 GB on disk)"},
    {"naist", {"naist-jdic", ""}, "apt-get install mecab-naist-jdic"},
    {"ko", {"mecab-ko-dic", ""}, "install our package text2lm_ko_dic, or in a clone run ./dev dictionaries"},
}};

// Debian's directory, then the output of `mecab-config --dicdir` on Debian, on Fedora and for a MeCab that
// was compiled by hand.
constexpr std::array<std::string_view, 7> kSystemPlaces = {"/var/lib/mecab/dic",
                                                           "/usr/share/mecab/dic",
                                                           "/usr/lib/x86_64-linux-gnu/mecab/dic",
                                                           "/usr/lib/aarch64-linux-gnu/mecab/dic",
                                                           "/usr/lib/mecab/dic",
                                                           "/usr/lib64/mecab/dic",
                                                           "/usr/local/lib/mecab/dic"};

constexpr std::array<std::string_view, 5> kFiles = {"sys.dic", "unk.dic", "matrix.bin", "char.bin", "dicrc"};

const KnownDictionary* Known(std::string_view name) {
  const auto found = std::find_if(kKnown.begin(), kKnown.end(),
                                  [name](const KnownDictionary& known) { return known.name == name; });
  return found == kKnown.end() ? nullptr : &*found;
}

bool IsPath(std::string_view dictionary) { return dictionary.find('/') != std::string_view::npos; }

bool IsFile(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

Status CheckComplete(std::string_view dictionary, const std::string& directory) {
  for (const std::string_view file : kFiles)
    if (!IsFile(StrCat(directory, "/", file)))
      return Status(Code::kNotFound, StrCat("dictionary '", dictionary, "': ", directory, " holds no file ",
                                            file, "; ", HowToInstall(dictionary)));
  return {};
}

}  // namespace

Status CheckDictionaryName(std::string_view dictionary) {
  if (Known(dictionary) != nullptr || IsPath(dictionary)) return {};
  return Status(Code::kInvalidArgument,
                StrCat("dictionary: '", dictionary,
                       "' is none of ipadic, unidic, naist and ko; to name a directory write a path with "
                       "a / in it"));
}

std::string HowToInstall(std::string_view dictionary) {
  const KnownDictionary* known = Known(dictionary);
  return known != nullptr ? std::string(known->install)
                          : "name the directory that mecab-dict-index wrote, made with -t utf-8";
}

Result<std::string> FindDictionary(std::string_view dictionary, const DictionaryPlaces& places) {
  RETURN_IF_ERROR(CheckDictionaryName(dictionary));
  if (IsPath(dictionary)) {
    std::string directory(dictionary);
    RETURN_IF_ERROR(CheckComplete(dictionary, directory));
    return directory;
  }
  std::vector<std::string> where = places;
  where.insert(where.end(), kSystemPlaces.begin(), kSystemPlaces.end());
  for (const std::string_view name : Known(dictionary)->directories) {
    for (const std::string& place : where) {
      std::string directory = StrCat(place, "/", name);
      if (name.empty() || !IsFile(StrCat(directory, "/sys.dic"))) continue;
      RETURN_IF_ERROR(CheckComplete(dictionary, directory));
      return directory;
    }
  }
  std::string looked;
  for (const std::string& place : where) looked += StrCat(looked.empty() ? "" : ", ", place);
  return Status(Code::kNotFound,
                StrCat("dictionary '", dictionary, "' is not on this machine: no folder ",
                       Known(dictionary)->directories[0], " in ", looked, "; ", HowToInstall(dictionary)));
}

Result<std::vector<StageFile>> DictionaryFiles(std::string_view dictionary, const DictionaryPlaces& places) {
  ASSIGN_OR_RETURN(const std::string directory, FindDictionary(dictionary, places));
  std::vector<StageFile> files;
  files.reserve(kFiles.size());
  // A dictionary with a name belongs to the machine; a directory belongs to the user.
  for (const std::string_view file : kFiles)
    files.push_back({StrCat("dictionary ", IsPath(dictionary) ? "" : StrCat(dictionary, "/"), file),
                     StrCat(directory, "/", file), !IsPath(dictionary)});
  return files;
}

std::uint64_t DictionaryMemory(std::string_view dictionary, const DictionaryPlaces& places) {
  const Result<std::vector<StageFile>> files = DictionaryFiles(dictionary, places);
  std::uint64_t bytes = 0;
  if (!files.ok()) return bytes;
  for (const StageFile& file : *files) {
    std::error_code error;
    const std::uintmax_t size = std::filesystem::file_size(file.path, error);
    if (!error) bytes += size;
  }
  return bytes;
}

}  // namespace pipeline
