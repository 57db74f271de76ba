#include "storage/remote/download/parallel_file.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/str.h"
#include "storage/remote/download/paced_file.h"
#include "storage/remote/http/http_file.h"
#include "tests/storage/store_reading.h"
#include "tests/support/counted_pause.h"
#include "tests/support/http_server.h"
#include "tests/support/memory_file.h"

namespace pipeline {
namespace {

constexpr std::uint64_t kPart = 10'000;

/// Counts who reads from it at once; a part that is held comes when it is let go.
class CountingFile final : public RangedFile {
 public:
  explicit CountingFile(std::string bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t size() const override { return bytes_.size(); }
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                std::stop_token stop) const override {
    std::unique_lock lock(mutex_);
    begun_.push_back(begin);
    changed_.notify_all();
    if (refuses_parts && end - begin <= kPart && begin > 0 && end < size()) return refusal;
    if (!changed_.wait(lock, stop, [&] { return begin != held_; }))
      return Status(Code::kCancelled, "stopped");
    return std::unique_ptr<ByteReader>(
        std::make_unique<MemoryReader>(bytes_.substr(begin, end - begin), 777, std::move(stop)));
  }
  void Hold(std::uint64_t begin) {
    const std::scoped_lock lock(mutex_);
    held_ = begin;
    changed_.notify_all();
  }
  void WaitForBegun(std::size_t count) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_.size() >= count; });
  }
  std::vector<std::uint64_t> begun() const {
    const std::scoped_lock lock(mutex_);
    return begun_;
  }
  bool refuses_parts = false;
  Status refusal = Status(Code::kFailedPrecondition, "answers with all of it");

 private:
  const std::string bytes_;
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::uint64_t held_ = ~std::uint64_t{0};
  mutable std::vector<std::uint64_t> begun_;
};

std::string ReadFrom(const ByteFile& file, std::uint64_t offset, Status& status) {
  const auto reader = file.Open(offset, {});
  EXPECT_TRUE(reader.ok());
  return ReadAll(**reader, status, 3333);
}

class ParallelFileTest : public testing::Test {
 protected:
  const std::string bytes_ = PatternBytes(205'000);
  const std::shared_ptr<CountingFile> file_ = std::make_shared<CountingFile>(bytes_);
  Status status_;
};

TEST_F(ParallelFileTest, TheBytesComeInTheirOrder) {
  for (const int connections : {1, 2, 4, 32})
    for (const std::uint64_t offset : {0u, 1u, 12'345u, 195'000u, 204'999u, 205'000u, 300'000u}) {
      const ParallelFile parallel(file_, connections, kPart);
      EXPECT_EQ(parallel.size(), bytes_.size());
      EXPECT_TRUE(ReadFrom(parallel, offset, status_) ==
                  bytes_.substr(std::min<std::size_t>(offset, bytes_.size())))
          << connections << " from " << offset;
      EXPECT_TRUE(status_.ok()) << status_.message();
    }
}

TEST_F(ParallelFileTest, NoMoreIsHeldThanAFewParts) {
  file_->Hold(0);
  const ParallelFile parallel(file_, 3, kPart);
  const auto reader = parallel.Open(0, {});
  std::string front(5, '\0');
  std::jthread first([&] { EXPECT_TRUE(ReadExactly(**reader, front).ok()); });
  file_->WaitForBegun(5);
  EXPECT_LE(file_->begun().size(), 5u) << "the first part did not come, and others pile up";
  file_->Hold(~std::uint64_t{0});
  first.join();
  EXPECT_EQ(front, bytes_.substr(0, 5));
  EXPECT_TRUE(front + ReadAll(**reader, status_) == bytes_);
}

TEST_F(ParallelFileTest, AServerThatGivesNoPartsIsReadOverOneConnection) {
  for (const Code code : {Code::kFailedPrecondition, Code::kPermissionDenied, Code::kUnavailable}) {
    file_->refuses_parts = true;
    file_->refusal = Status(code, "no parts");
    EXPECT_TRUE(ReadFrom(ParallelFile(file_, 4, kPart), 0, status_) == bytes_) << status_.message();
  }
  EXPECT_EQ(file_->begun().back(), kPart) << "the first part was thrown away";
}

TEST_F(ParallelFileTest, AStopEndsAllOfThem) {
  file_->Hold(0);
  const ParallelFile parallel(file_, 4, kPart);
  std::stop_source stop;
  const auto reader = parallel.Open(0, stop.get_token());
  std::jthread stopper([&] {
    file_->WaitForBegun(4);
    stop.request_stop();
  });
  std::string piece(10, '\0');
  EXPECT_EQ((*reader)->Read(piece).status().code(), Code::kCancelled);
  EXPECT_EQ((*reader)->Read(piece).status().code(), Code::kCancelled);
}

TEST_F(ParallelFileTest, AReaderThatIsGivenUpEndsItsTransfers) {
  file_->Hold(kPart);
  const ParallelFile parallel(file_, 4, kPart);
  const auto reader = parallel.Open(0, {});
  std::string piece(10, '\0');
  EXPECT_TRUE((*reader)->Read(piece).ok());
}

// ------------------------------------------------------------------------------- with a web server

/// Answers ranges of a file whose version a test changes.
class RangeServer {
 public:
  std::string bytes = PatternBytes(205'000);
  std::string etag = "\"one\"";
  std::size_t change_at = std::string::npos;  // the part that begins there is of another version
  bool ignores_ranges = false;

  void operator()(ServedExchange& exchange) {
    const std::string_view range = exchange.request().Header("range");
    std::size_t first = 0, last = bytes.size() - 1;
    if (!range.empty()) {
      first = std::stoul(std::string(range.substr(6)));
      if (range.back() != '-') last = std::stoul(std::string(range.substr(range.find('-') + 1)));
    }
    std::string version;
    {
      const std::scoped_lock lock(mutex_);
      if (first == change_at) etag = "\"two\"";
      version = etag;
    }
    const bool holds = exchange.request().Header("if-range") == version || range.empty();
    std::vector<HttpHeader> headers = {{"ETag", version}, {"Accept-Ranges", "bytes"}};
    if (ignores_ranges || range.empty() || !holds) {
      exchange.Begin(200, headers, bytes.size());
      exchange.Write(bytes);
      return;
    }
    headers.push_back({"Content-Range", StrCat("bytes ", first, "-", last, "/", bytes.size())});
    exchange.Begin(206, headers, last + 1 - first);
    exchange.Write(std::string_view(bytes).substr(first, last + 1 - first));
  }

 private:
  std::mutex mutex_;
};

class ParallelHttpTest : public testing::Test {
 protected:
  std::shared_ptr<HttpFile> Open() {
    auto file = HttpFile::Open(client_, server_->url() + "/f", {{.clock = &clock_, .pause = &pause_}});
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.ok() ? std::shared_ptr<HttpFile>(std::move(*file)) : nullptr;
  }
  RangeServer served_;
  std::unique_ptr<HttpServer> server_ = HttpServer::Start([this](ServedExchange& e) { served_(e); });
  std::shared_ptr<HttpClient> client_ = NewHttpClient();
  FakeClock clock_;
  CountedPause pause_{&clock_};
  Status status_;
};

TEST_F(ParallelHttpTest, PartsComeOverAsManyConnectionsAsWereAskedFor) {
  const ParallelFile parallel(Open(), 4, kPart);
  EXPECT_TRUE(ReadFrom(parallel, 0, status_) == served_.bytes) << status_.message();
  EXPECT_LE(server_->connections(), 4);
}

TEST_F(ParallelHttpTest, PartsOfTwoVersionsAreNeverPutTogether) {
  const auto file = Open();
  served_.change_at = 100'000;
  const std::string read = ReadFrom(ParallelFile(file, 3, kPart), 0, status_);
  EXPECT_EQ(status_.code(), Code::kDataLoss) << status_.message();
  EXPECT_LE(read.size(), 100'000u);
  EXPECT_TRUE(read == served_.bytes.substr(0, read.size()));
}

TEST_F(ParallelHttpTest, AServerThatAnswersWithAllOfItIsReadOnce) {
  const auto file = Open();
  served_.ignores_ranges = true;
  EXPECT_TRUE(ReadFrom(ParallelFile(file, 3, kPart), 0, status_) == served_.bytes) << status_.message();
}

// ---------------------------------------------------------------------------------------- manners

TEST(ServerGateTest, OnlySoManyAreLetInAndTheNextWhenOneLeaves) {
  ServerGate gate;
  auto first = gate.Enter("host", 2, {});
  auto second = gate.Enter("host", 2, {});
  auto other = gate.Enter("elsewhere", 1, {});
  ASSERT_TRUE(first.ok() && second.ok() && other.ok());
  std::stop_source stop;
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_EQ(gate.Enter("host", 2, stop.get_token()).status().code(), Code::kCancelled);
  EXPECT_TRUE(gate.Enter("host", 3, {}).ok());
  std::jthread leaver([&] { first->reset(); });
  EXPECT_TRUE(gate.Enter("host", 2, {}).ok());
}

TEST(PacedFileMannersTest, OneConnectionAtATimeReadsTheFilesOneAfterAnother) {
  const auto file = std::make_shared<CountingFile>(PatternBytes(5000));
  const auto gate = std::make_shared<ServerGate>();
  const PacedFile paced(file, {.server = "host", .connections = 1, .gate = gate});
  const auto first = paced.Open(0, {});
  Status status, other;
  std::string front(10, '\0');
  ASSERT_TRUE(ReadExactly(**first, front).ok());
  std::jthread second([&] { EXPECT_EQ(ReadFrom(paced, 0, other).size(), 5000u); });
  EXPECT_EQ(file->begun().size(), 1u);
  EXPECT_EQ(ReadAll(**first, status).size(), 4990u);
  second.join();
  EXPECT_EQ(file->begun().size(), 2u);
}

TEST(PacedFileMannersTest, AllTogetherKeepToTheRate) {
  FakeClock clock;
  CountedPause pause(&clock);
  const auto rate = std::make_shared<RateLimit>(100'000, clock, pause);
  const auto file = std::make_shared<CountingFile>(PatternBytes(500'000));
  const PacedFile paced(
      file, {.server = "host", .connections = 1, .gate = std::make_shared<ServerGate>(), .rate = rate});
  Status status;
  EXPECT_EQ(ReadFrom(paced, 0, status).size(), 500'000u);
  EXPECT_EQ(ReadFrom(paced, 0, status).size(), 500'000u);
  EXPECT_NEAR(static_cast<double>(pause.Sum().count()), 10'000, 200);
}

}  // namespace
}  // namespace pipeline
