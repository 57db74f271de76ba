// Where the dictionaries of segment_words lie on this machine. Names and places: stages/segment_words.md, 1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "spec/registry.h"

namespace pipeline {

/// Folders in which named dictionaries are looked for before those of the system, first one first.
using DictionaryPlaces = std::vector<std::string>;

/// kInvalidArgument where `dictionary` is neither a known name nor a path.
Status CheckDictionaryName(std::string_view dictionary);

/// The directory of the dictionary of this name or path. kNotFound says where it was looked for, what
/// it lacks, and what installs it.
Result<std::string> FindDictionary(std::string_view dictionary, const DictionaryPlaces& places);

/// The files of the dictionary that have a say in what comes out. Fails as FindDictionary does.
Result<std::vector<StageFile>> DictionaryFiles(std::string_view dictionary, const DictionaryPlaces& places);

/// Bytes that the dictionary takes when all of it was looked at; 0 where it is not there.
std::uint64_t DictionaryMemory(std::string_view dictionary, const DictionaryPlaces& places);

/// What gives this machine the dictionary of this name: "apt-get install mecab-ipadic-utf8". For a path,
/// what it must be.
std::string HowToInstall(std::string_view dictionary);

}  // namespace pipeline
