// Units of one plan share everything that depends on the number of inputs.
#include "cli/worker/package_run.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "base/str.h"
#include "cli/worker/planning.h"
#include "storage/remote/open_store.h"
#include "tests/support/compress.h"
#include "tests/support/counting_store.h"
#include "tests/support/temp_dir.h"

namespace {

// Memory that this program has asked for: a count of work that is the same on each machine.
std::atomic<std::uint64_t> requests{0}, requested_bytes{0};

}  // namespace

void* operator new(std::size_t bytes) {
  requests.fetch_add(1, std::memory_order_relaxed);
  requested_bytes.fetch_add(bytes, std::memory_order_relaxed);
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

using Lines = std::vector<std::string>;

/// A planned run over small files, and one worker.
class Planned {
 public:
  explicit Planned(int inputs, const std::string& text = "one line\n", const std::string& keys = "",
                   const std::function<std::string(std::string_view)>& pack = nullptr) {
    for (const char* const below : {"in", "scratch"}) std::filesystem::create_directory(dir_.path() / below);
    for (int number = 0; number < inputs; ++number)
      WriteFile(dir_.path() / "in" / StrCat(1000 + number, ".txt"),
                pack ? pack(StrCat(number, " ", text)) : StrCat(number, " ", text));
    request_.pipeline.file = "toy.yaml";
    request_.pipeline.work = dir_ / "work";
    request_.text =
        StrCat("pipe: 1\nname: toy\nlimits: { memory: 512MiB }\nstages:\n  source: { type: download, url: \"",
               dir_ / "in/*.txt", "\" }\n  lines: { type: decompress, input: source", keys,
               " }\n  text: { type: write_tfds, input: lines, name: toy, shards: 2, out: \"", dir_ / "out",
               "\" }\n");
    request_.directory = dir_.path().string();
    request_.package = dir_ / "package";
    loaded_ = LoadPipelineText(request_.text, request_.pipeline, LoadPurpose::kRun);
    package_ = OpenStore(request_.package).value();
    store_ = std::make_unique<CountingStore>(*package_);
    Plan();
  }

  void Plan() {
    run_.reset();
    const PlanningOutcome planned = PlanUnits(request_, *loaded_, display_, {});
    ASSERT_TRUE(planned.written.ok()) << planned.written.message();
    plan_ = ReadWorkPackage(*package_).value();
    auto run = PackageRun::Open(*store_, plan_, *loaded_, dir_ / "scratch", 1, loaded_->spec.memory_limit,
                                display_, "test", {});
    ASSERT_TRUE(run.ok()) << run.status().message();
    run_ = std::move(*run);
  }

  UnitEnd Run(const std::string& unit) { return run_->Run(unit, PackageRun::Others::kHaveNotBegun, {}); }
  Lines Offered() const {
    Lines units;
    for (const OfferedUnit& offered : plan_.units) units.push_back(offered.unit);
    return units;
  }
  Lines Records() const {
    Lines names;
    const auto records = package_->List("done/");
    for (const ObjectInfo& record : *records) names.push_back(record.name);
    return names;
  }
  CountingStore& store() { return *store_; }

 private:
  TempDir dir_;
  PlanningRequest request_;
  StatusDisplay display_{false};
  std::unique_ptr<LoadedPipeline> loaded_;
  std::unique_ptr<Store> package_;
  std::unique_ptr<CountingStore> store_;
  WorkPackage plan_;
  std::unique_ptr<PackageRun> run_;
};

struct Cost {
  std::uint64_t requests = UINT64_MAX, bytes = UINT64_MAX;
};

/// The cost of a unit behind the first one, the least of some: the number of threads that help may vary.
Cost CostOfUnit(int inputs) {
  Planned planned(inputs);
  const Lines units = planned.Offered();
  EXPECT_EQ(units.size(), static_cast<std::size_t>(inputs));
  Cost least;
  for (std::size_t at = units.size() - 9; at < units.size(); ++at) {
    const std::uint64_t requests_before = requests, bytes_before = requested_bytes;
    EXPECT_EQ(planned.Run(units[at]).code, 0) << units[at];
    if (at == units.size() - 9) continue;  // it prepares what the others share
    least.requests = std::min<std::uint64_t>(least.requests, requests - requests_before);
    least.bytes = std::min<std::uint64_t>(least.bytes, requested_bytes - bytes_before);
  }
  return least;
}

TEST(PackageRunTest, AUnitCostsTheSameWithManyInputs) {
  const Cost few = CostOfUnit(10), many = CostOfUnit(610);
  EXPECT_LT(many.requests, few.requests + 50);
  EXPECT_LT(many.bytes, few.bytes + 4000);
}

TEST(PackageRunTest, AUnitAsksTheWorkPackageForOneRecordAndNothingElse) {
  Planned planned(6);
  const Lines units = planned.Offered();
  EXPECT_EQ(planned.Run(units[0]).code, 0);
  CountingStore& store = planned.store();
  store.creations = store.reads = store.pages = store.removals = 0;
  for (std::size_t at = 1; at < units.size(); ++at) EXPECT_EQ(planned.Run(units[at]).code, 0);
  EXPECT_EQ(store.creations, units.size() - 1);
  EXPECT_EQ(store.reads + store.pages + store.removals, 0u);
  EXPECT_EQ(planned.Records().size(), units.size());
  planned.Plan();
  EXPECT_EQ(planned.Offered().size(), 1u) << "both shards";
  EXPECT_TRUE(planned.Records().empty());
  for (const std::string& unit : planned.Offered()) EXPECT_EQ(planned.Run(unit).code, 0) << unit;
  EXPECT_EQ(planned.Records().size(), 2u);
}

std::string Numbered(int lines) {
  std::string text;
  for (int line = 0; line < lines; ++line) text += StrCat("line ", line, " of the text\n\n");
  return text;
}

TEST(PackageRunTest, AnInputOfSeveralPartitionsHasARecordOfEach) {
  Planned planned(1, Numbered(50), ", partition: 400");
  EXPECT_EQ(planned.Run("text/0000-*").code, 0);
  EXPECT_EQ(planned.Records(), (Lines{"done/text/0000-*.json", "done/text/0000-00000.json",
                                      "done/text/0000-00001.json", "done/text/0000-00002.json"}));
}

TEST(PackageRunTest, AUnitThatFailsLaterLeavesTheRecordOfItsFirstPartition) {
  Planned planned(1, Numbered(20) + std::string(3000, 'x') + "\n",
                  ", partition: 400, max_record_bytes: 1024, on_long: fail");
  EXPECT_EQ(planned.Run("text/0000-*").code, 65);
  EXPECT_EQ(planned.Records(), Lines{"done/text/0000-00000.json"});
}

TEST(PackageRunTest, AUnitOfSeveralPartitionsIsDoneWhenAllOfThemAre) {
  std::string text;
  while (text.size() < (std::size_t{33} << 20)) text.append(std::size_t{1} << 19, 'x').append("\n\n");
  const auto in_two_blocks = [](std::string_view whole) { return XzCompress(whole, std::size_t{18} << 20); };
  Planned planned(1, text, ", partition: 4MiB", in_two_blocks);
  EXPECT_EQ(planned.Run("text/0000-*").code, 0);
  planned.Plan();
  ASSERT_EQ(planned.Offered(), (Lines{"text/0000-00000", "text/0000-00005"})) << "one for each block";
  Lines created;
  planned.store().created = [&created](std::string_view name) {
    if (name.starts_with("done/")) created.emplace_back(name);
  };
  EXPECT_EQ(planned.Run("text/0000-00005").code, 0);
  EXPECT_EQ(created, (Lines{"done/text/0000-00006.json", "done/text/0000-00007.json",
                            "done/text/0000-00008.json", "done/text/0000-00005.json"}));
}

TEST(PackageRunTest, AUnitThatIsDoneIsNotRunAgain) {
  Planned planned(2);
  EXPECT_EQ(planned.Run("text/0001-*").code, 0);
  const std::uint64_t records = planned.Records().size();
  EXPECT_EQ(planned.Run("text/0001-*").code, 0);
  EXPECT_EQ(planned.Records().size(), records);
  EXPECT_EQ(planned.Run("text/0007-*").code, 64) << "there is no such input";
  EXPECT_EQ(planned.Run("text/0001-00004").code, 64);
  EXPECT_EQ(planned.Run("text/train.s00000-of-00002").code, 64) << "not before the inputs are done";
  EXPECT_EQ(planned.Run("text/0000-*").code, 0) << "and the others go on";
}

}  // namespace
}  // namespace pipeline
