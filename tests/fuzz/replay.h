// The fuzzers of one program, which replays their inputs where the compiler has no libFuzzer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

struct Fuzzer {
  const char* name;  // of its file, without _fuzz.cc
  int (*run)(const std::uint8_t* data, std::size_t size);
};

/// Returns all fuzzers. CMake writes this function.
std::span<const Fuzzer> Fuzzers();
