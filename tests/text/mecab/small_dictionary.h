// Dictionaries that a test makes, compiled by the library.
#pragma once

#include <fcntl.h>
#include <mecab.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "base/str.h"

namespace pipeline {

/// The text files of a dictionary. An empty member is not written.
struct SmallDictionary {
  std::string words, unknown, characters, costs;  // lex.csv, unk.def, char.def, matrix.def
  std::string settings = "cost-factor = 800\nbos-feature = BOS/EOS\n";
};

/// The library reports its progress, which nobody needs here.
class SilentOutput {
 public:
  SilentOutput() : saved_(dup(STDOUT_FILENO)) {
    Flush();
    const int nowhere = open("/dev/null", O_WRONLY);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
  }
  ~SilentOutput() {
    Flush();
    dup2(saved_, STDOUT_FILENO);
    close(saved_);
  }
  SilentOutput(const SilentOutput&) = delete;
  SilentOutput& operator=(const SilentOutput&) = delete;

 private:
  static void Flush() {
    std::cout.flush();
    std::fflush(stdout);
  }
  const int saved_;
};

/// Writes the dictionary into a directory that exists. The library ends the process if the text is wrong.
inline void Compile(const SmallDictionary& dictionary, const std::filesystem::path& directory) {
  const auto write = [&](const char* name, const std::string& text) {
    if (!text.empty()) std::ofstream(directory / name, std::ios::binary) << text;
  };
  write("lex.csv", dictionary.words);
  write("unk.def", dictionary.unknown);
  write("char.def", dictionary.characters);
  write("matrix.def", dictionary.costs);
  write("dicrc", dictionary.settings);
  write("pos-id.def", "* 0\n");
  std::array<std::string, 5> words = {"mecab-dict-index", StrCat("--dicdir=", directory.string()),
                                      StrCat("--outdir=", directory.string()), "--charset=utf-8",
                                      "--dictionary-charset=utf-8"};
  std::array<char*, 5> arguments;
  for (std::size_t at = 0; at < words.size(); ++at) arguments[at] = words[at].data();
  const SilentOutput silent;
  mecab_dict_index(static_cast<int>(arguments.size()), arguments.data());
}

}  // namespace pipeline
