// Morphemes of a text, by a plain loop around MeCab or by the stage with one of its engines; what
// segment_words is held against.
//
//   words bare|own|mecab DICTIONARY TEXT BYTES THREADS      of the first BYTES of TEXT; prints what all must
//   agree on

#include <mecab.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "dag/records/transform.h"
#include "stages/lines/dictionary.h"
#include "stages/lines/line_stages.h"

namespace pipeline {

namespace {

constexpr std::size_t kBatchBytes = 256 << 10;

[[noreturn]] void Die(std::string_view what) {
  std::fprintf(stderr, "words: %.*s\n", static_cast<int>(what.size()), what.data());
  std::exit(1);
}

/// Grows with each morpheme and its place; the last end of a line is its size in any case.
struct Sum {
  std::uint64_t morphemes = 0;
  std::uint64_t ends = 0;
  template <class Ends>
  void Add(const Ends& of_line) {
    morphemes += of_line.size();
    for (std::size_t i = 0; i + 1 < of_line.size(); ++i) ends += of_line[i] * (i + 1);
  }
};

using Lines = std::vector<std::string_view>;

/// Lines in runs of about kBatchBytes, which threads take one after the other.
std::vector<Lines> ReadRuns(const char* path, std::size_t bytes, std::string& text) {
  std::ifstream file(path);
  text.resize(bytes);
  file.read(text.data(), static_cast<std::streamsize>(bytes));
  text.resize(static_cast<std::size_t>(file.gcount()));
  text.resize(text.rfind('\n') + 1);
  std::vector<Lines> runs(1);
  std::size_t size = 0;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    if (end > 0) runs.back().push_back(rest.substr(0, end));
    size += end;
    rest.remove_prefix(end + 1);
    if (size >= kBatchBytes) runs.emplace_back(), size = 0;
  }
  if (size == 0 && runs.size() == 1) Die("no text");
  return runs;
}

template <class Loop>
Sum OnThreads(int threads, const Loop& loop) {
  std::vector<Sum> sums(static_cast<std::size_t>(threads));
  std::vector<std::thread> running;
  for (Sum& sum : sums) running.emplace_back([&loop, &sum] { loop(sum); });
  for (std::thread& thread : running) thread.join();
  Sum all;
  for (const Sum& sum : sums) all.morphemes += sum.morphemes, all.ends += sum.ends;
  return all;
}

Sum Bare(const std::string& directory, const std::string&, const std::vector<Lines>& runs, int threads) {
  std::array<std::string, 5> words = {"mecab", "-r", "/dev/null", "-d", directory};
  std::array<char*, 5> arguments;
  for (std::size_t i = 0; i < words.size(); ++i) arguments[i] = words[i].data();
  const std::unique_ptr<MeCab::Model> model(MeCab::createModel(5, arguments.data()));
  if (!model) Die(MeCab::getLastError());
  const std::unique_ptr<MeCab::Tagger> tagger(model->createTagger());
  std::atomic<std::size_t> next{0};
  return OnThreads(threads, [&](Sum& sum) {
    const std::unique_ptr<MeCab::Lattice> lattice(model->createLattice());
    std::vector<std::uint32_t> ends;
    for (std::size_t run = next++; run < runs.size(); run = next++) {
      for (const std::string_view line : runs[run]) {
        lattice->set_sentence(line.data(), line.size());
        if (!tagger->parse(lattice.get())) Die(lattice->what());
        ends.clear();
        std::uint32_t end = 0;
        for (const MeCab::Node* node = lattice->bos_node()->next; node->next; node = node->next)
          ends.push_back(end += node->rlength);
        sum.Add(ends);
      }
    }
  });
}

Sum Stage(const std::string& directory, const std::string& engine, const std::vector<Lines>& runs,
          int threads) {
  Json config;
  config["dictionary"] = directory;
  config["engine"] = engine;
  const StageType type = SegmentWordsType({});
  const auto transform = type.transform()->make({"words", config, {}});
  if (!transform.ok()) Die(transform.status().message());
  std::atomic<std::size_t> next{0};
  return OnThreads(threads, [&](Sum& sum) {
    const auto worker = (*transform)->NewWorker();
    Batch batch;
    for (std::size_t run = next++; run < runs.size(); run = next++) {
      batch.Clear(1);
      for (const std::string_view line : runs[run]) {
        batch.heads.emplace_back();
        batch.text.Append(line);
      }
      StageCounts counts;
      if (!(*worker)->Apply(batch, 0, counts).ok()) Die("the stage failed");
      for (std::size_t row = 0; row < batch.size(); ++row) sum.Add(batch.cuts[row]);
    }
  });
}

}  // namespace

}  // namespace pipeline

int main(int argc, char** argv) {
  using namespace pipeline;
  if (argc != 6) Die("usage: words bare|own|mecab DICTIONARY TEXT BYTES THREADS");
  const Result<std::string> directory = FindDictionary(argv[2], {});
  if (!directory.ok()) Die(directory.status().message());
  std::string text;
  const std::vector<Lines> runs = ReadRuns(argv[3], std::strtoull(argv[4], nullptr, 10), text);
  const auto loop = std::strcmp(argv[1], "bare") == 0 ? Bare : Stage;
  const Sum sum = loop(*directory, argv[1], runs, std::atoi(argv[5]));
  std::printf("%zu bytes, %llu morphemes, %llu\n", text.size(),
              static_cast<unsigned long long>(sum.morphemes), static_cast<unsigned long long>(sum.ends));
  return 0;
}
