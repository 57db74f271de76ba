// Runs a fuzzer's function over every file of a folder, for compilers without libFuzzer. A finding
// ends the program as it would there; an empty or missing folder fails, since it tests nothing.
#include "tests/fuzz/replay.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

int main(int argc, char** argv) {
  const std::span<const Fuzzer> fuzzers = Fuzzers();
  auto fuzzer = fuzzers.end();
  if (argc == 3)
    fuzzer = std::find_if(fuzzers.begin(), fuzzers.end(),
                          [&](const Fuzzer& known) { return std::string_view(argv[1]) == known.name; });
  if (fuzzer == fuzzers.end()) {
    std::fprintf(stderr,
                 "usage: %s FUZZER FOLDER; FUZZER is the name of a file of tests/fuzz without _fuzz.cc\n",
                 argv[0]);
    return 2;
  }
  const char* folder = argv[2];
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  if (files.empty()) {
    std::fprintf(stderr, "%s: no file to replay\n", folder);
    return 1;
  }
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    std::fprintf(stderr, "%s\n", file.c_str());  // the last one named is the one that failed
    std::ifstream stream(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(stream), {}};
    fuzzer->run(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  }
  std::fprintf(stderr, "%zu inputs replayed\n", files.size());
  return 0;
}
