// Finds the dictionaries of segment_words on this machine. Names and paths: stages/lines/segment_words.md, 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "dag/pipeline_file/stage_type.h"

namespace pipeline {

/// Folders that are searched for named dictionaries before those of the system, in this order.
using DictionaryPlaces = std::vector<std::string>;

/// kInvalidArgument if `dictionary` is neither a known name nor a path.
Status CheckDictionaryName(std::string_view dictionary);

/// The directory of a dictionary, given its name or path. kNotFound names the searched directories, the
/// missing files, and the command that installs it.
Result<std::string> FindDictionary(std::string_view dictionary, const DictionaryPlaces& places);

/// The files of the dictionary that affect the output. Fails as FindDictionary does.
Result<std::vector<StageFile>> DictionaryFiles(std::string_view dictionary, const DictionaryPlaces& places);

/// Bytes of memory once the whole dictionary has been read; 0: it does not exist.
std::uint64_t DictionaryMemory(std::string_view dictionary, const DictionaryPlaces& places);

/// How to install the dictionary: "apt-get install mecab-naist-jdic". For a path: its requirements.
std::string HowToInstall(std::string_view dictionary);

}  // namespace pipeline
