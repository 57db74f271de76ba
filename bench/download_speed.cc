// A download beside curl's, from a server on loopback that is faster than both:
//   download_speed serve BYTES         prints the address of a file so large; ends with its standard input
//   download_speed fetch URL PATH [N]  as a source arrives, over N connections; prints the seconds
//   download_speed crc                 prints the seconds that the CRC-32C of 100 MB takes, as pieces arrive
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>

#include "base/crc32c.h"
#include "base/str.h"
#include "bench/cpu_seconds.h"
#include "bench/ending.h"
#include "storage/remote/download/paced_file.h"
#include "storage/remote/download/parallel_file.h"
#include "storage/remote/http/arriving_file.h"
#include "storage/remote/http/http_file.h"
#include "tests/support/http_server.h"

namespace pipeline {
namespace {

using Seconds = std::chrono::duration<double>;

std::string Made(std::size_t bytes) {
  std::string made(bytes, '\0');
  std::uint64_t state = 1;
  for (char& c : made)
    c = static_cast<char>((state = state * 6364136223846793005u + 1442695040888963407u) >> 56);
  return made;
}

void Serve(std::uint64_t size) {
  const std::string piece = Made(4 << 20);  // the file is this again and again
  const auto answer = [&](ServedExchange& exchange) {
    const ServedRequest& request = exchange.request();
    const std::string range(request.Header("range"));
    std::uint64_t first = 0, last = size - 1;
    if (!range.empty()) {
      char* end = nullptr;
      first = std::strtoull(range.c_str() + std::strlen("bytes="), &end, 10);
      if (*end == '-' && end[1] != '\0') last = std::strtoull(end + 1, nullptr, 10);
    }
    std::vector<HttpHeader> headers = {{"ETag", "\"1\""}, {"Accept-Ranges", "bytes"}};
    if (!range.empty()) headers.push_back({"Content-Range", StrCat("bytes ", first, "-", last, "/", size)});
    bool goes_on = exchange.Begin(range.empty() ? 200 : 206, headers, last + 1 - first);
    if (request.method == "HEAD") return;
    for (std::uint64_t at = first; goes_on && at <= last;) {
      const std::size_t begin = static_cast<std::size_t>(at % piece.size());
      const std::string_view part =
          std::string_view(piece).substr(begin, static_cast<std::size_t>(last + 1 - at));
      goes_on = exchange.Write(part);
      at += part.size();
    }
  };
  const auto server = HttpServer::Start(answer);
  std::printf("%s/file\n", server->url().c_str());
  std::fflush(stdout);
  char ignored = 0;
  while (read(STDIN_FILENO, &ignored, 1) > 0) {
  }
}

Status Fetch(const std::string& url, const std::string& path, int connections) {
  const auto began = std::chrono::steady_clock::now();
  ASSIGN_OR_RETURN(std::shared_ptr<const RangedFile> file, HttpFile::Open(NewHttpClient(), url));
  file = std::make_shared<PacedFile>(std::move(file),
                                     PacedFile::Pace{"host", connections, std::make_shared<ServerGate>()});
  Download download;
  download.name = url;
  download.path = path;
  download.identity = "measured";
  ASSIGN_OR_RETURN(
      const auto arriving,
      ArrivingFile::Begin(std::make_shared<ParallelFile>(std::move(file), connections), std::move(download)));
  RETURN_IF_ERROR(arriving->WaitUntilWhole({}));
  std::printf("%.6f\n", Seconds(std::chrono::steady_clock::now() - began).count());
  return {};
}

void MeasureCrc() {
  const std::string piece = Made(256 << 10);  // what one look at a fast socket finds
  constexpr std::size_t kBytes = 10'000'000'000;
  const double began = CpuSeconds();
  std::uint32_t crc = 0;
  for (std::size_t done = 0; done < kBytes; done += piece.size()) crc = Crc32c(piece, crc);
  const double seconds = (CpuSeconds() - began) / (kBytes / 100e6);
  std::printf("%.9f\n", crc == 0 ? 0 : seconds);
}

int Run(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  if (what == "serve" && argc == 3) return Serve(std::strtoull(argv[2], nullptr, 10)), 0;
  if (what == "crc" && argc == 2) return MeasureCrc(), 0;
  if (what != "fetch" || argc < 4 || argc > 5) {
    std::fputs("usage: download_speed serve BYTES | fetch URL PATH [N] | crc\n", stderr);
    return 2;
  }
  return ExitCode("download_speed", Fetch(argv[2], argv[3], argc == 5 ? std::atoi(argv[4]) : 1));
}

}  // namespace
}  // namespace pipeline

int main(int argc, char** argv) { return pipeline::Run(argc, argv); }
