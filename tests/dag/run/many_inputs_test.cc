// What a run costs for each input and shard, however many there are.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>

#include "base/str.h"
#include "dag/plan/plan.h"
#include "tests/dag/toy_file.h"
#include "tests/support/toy_run.h"

namespace {

// Memory that this program has asked for: a count of work that is the same on each machine.
std::atomic<std::uint64_t> asked_for{0};

}  // namespace

void* operator new(std::size_t bytes) {
  asked_for.fetch_add(bytes, std::memory_order_relaxed);
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
// As the one above: the library's own would take memory that `free` does not know to a sanitizer.
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  try {
    return operator new(bytes);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
// Inlined, g++ takes `free` for the wrong function.
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace pipeline {
namespace {

const std::string kInOrder =
    "  text: { type: write_tfds, input: docs, name: toy, shuffle: none, out: \"${out}\" }\n";

void AddFiles(const ToyPlace& place, int count) {
  for (int file = 0; file < count; ++file)
    WriteFile(place.path(StrCat("corpus-", 10'000 + file, ".txt")), StrCat("text ", file, "\n"));
}

/// Bytes of memory that a run over so many files asks for.
std::uint64_t CostOf(int files) {
  ToyPlace place;
  place.threads = 2;
  AddFiles(place, files);
  const std::uint64_t before = asked_for;
  place.Ok(kInOrder);
  return asked_for - before;
}

TEST(ManyInputsTest, AShardCostsTheSameHoweverManyThereAre) {
  const std::uint64_t few = CostOf(100), more = CostOf(200), most = CostOf(400);
  const double first = static_cast<double>(more - few) / 100, later = static_cast<double>(most - more) / 200;
  EXPECT_LT(later, 1.25 * first) << first << " bytes of memory for a shard, then " << later;
}

TEST(ManyInputsTest, WhatIsKeptOfEachInputIsAPartOfTheMemoryThatARunNeeds) {
  const auto needed = [](int files) {
    ToyPlace place;
    place.memory = std::uint64_t{1} << 20;
    AddFiles(place, files);
    const ToyOutcome outcome = place.Run(kToyText);
    const std::string why = outcome.failures.empty() ? "" : outcome.failures[0];
    const std::size_t at = why.find("give it ");
    EXPECT_NE(at, std::string::npos) << why;
    return at == std::string::npos ? 0 : std::stoi(why.substr(at + 8));
  };
  EXPECT_EQ(needed(400) - needed(0), 403 * 9 / 1024) << "MiB";
}

}  // namespace
}  // namespace pipeline
