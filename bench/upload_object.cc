// One file becomes one object of a bucket, by our store or by libcurl as its manual shows it:
//   upload_object file FILE gs://BUCKET/NAME SPOOL      prints the seconds of AppendFile and of Commit, and
//   by how
//                                                       many KiB the most memory that was ever resident grew
//   upload_object append FILE gs://BUCKET/NAME SPOOL    the same by Append, as a stage writes
//   upload_object bare FILE URL BUCKET NAME             prints the seconds of start and PUT of the whole file
// Both in one resumable session and one request for all bytes, as the store does where nothing breaks.
#include <curl/curl.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "base/str.h"
#include "bench/ending.h"
#include "storage/local_file.h"
#include "storage/remote/open_store.h"
#include "storage/remote/remote_schemes.h"

namespace {

using pipeline::Result;
using pipeline::Status;

class Stopwatch {
 public:
  double Seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

/// VmHWM of this process, which unlike ru_maxrss does not know what it was forked from.
long PeakKib() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.substr(0, 6) == "VmHWM:") return std::stol(line.substr(6));
  return 0;
}

Status AppendBytes(pipeline::ObjectWriter& writer, const pipeline::LocalFile& file) {
  ASSIGN_OR_RETURN(const auto reader, file.Open(std::uint64_t{0}, std::stop_token()));
  std::string piece(256 << 10, '\0');
  for (;;) {
    ASSIGN_OR_RETURN(const std::size_t got, reader->Read(piece));
    if (got == 0) return {};
    RETURN_IF_ERROR(writer.Append(std::string_view(piece).substr(0, got)));
  }
}

Status ByStore(const char* how, const std::string& path, const std::string& place, const char* spool) {
  pipeline::StoreOpener opener({.spool = spool});
  const std::size_t slash = place.rfind('/');
  ASSIGN_OR_RETURN(const auto store, opener.Open(place.substr(0, slash)));
  ASSIGN_OR_RETURN(const auto file, pipeline::LocalFile::Open(path));
  const long before = PeakKib();
  const Stopwatch spooling;
  ASSIGN_OR_RETURN(const auto writer,
                   store->Create(place.substr(slash + 1), pipeline::Condition::CreateOnly()));
  if (std::strcmp(how, "file") == 0) {
    RETURN_IF_ERROR(writer->AppendFile(*file, {}));
  } else {
    RETURN_IF_ERROR(AppendBytes(*writer, *file));
  }
  const double spooled = spooling.Seconds();
  const Stopwatch committing;
  RETURN_IF_ERROR(writer->Commit().status());
  const double committed = committing.Seconds();
  std::printf("%.6f %.6f %ld\n", spooled, committed, PeakKib() - before);
  return {};
}

std::size_t FindLocation(char* line, std::size_t size, std::size_t count, void* found) {
  const std::string_view text(line, size * count);
  if (text.substr(0, 10) == "Location: ")
    *static_cast<std::string*>(found) = text.substr(10, text.find_first_of("\r\n") - 10);
  return text.size();
}

std::size_t Drop(char*, std::size_t size, std::size_t count, void*) { return size * count; }

bool Bare(const char* path, const std::string& url, const std::string& bucket, const std::string& name) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path, "rb"), &std::fclose);
  if (!file || std::fseek(file.get(), 0, SEEK_END) != 0) return false;
  const long size = std::ftell(file.get());
  std::rewind(file.get());
  std::setvbuf(file.get(), nullptr, _IONBF, 0);  // curl's own buffer is enough
  const Stopwatch watch;
  CURL* const curl = curl_easy_init();
  const auto set = [curl](CURLoption option, auto value) { curl_easy_setopt(curl, option, value); };
  std::string session;
  const std::string start =
      url + "/upload/storage/v1/b/" + bucket + "/o?uploadType=resumable&ifGenerationMatch=0&name=" + name;
  set(CURLOPT_URL, start.c_str());
  set(CURLOPT_POSTFIELDS, "{}");
  set(CURLOPT_HEADERFUNCTION, &FindLocation);
  set(CURLOPT_HEADERDATA, &session);
  set(CURLOPT_WRITEFUNCTION, &Drop);
  bool done = curl_easy_perform(curl) == CURLE_OK && !session.empty();
  const std::string range = pipeline::StrCat("Content-Range: bytes 0-", size - 1, "/", size);
  curl_slist* const headers = curl_slist_append(curl_slist_append(nullptr, range.c_str()), "Expect:");
  set(CURLOPT_URL, session.c_str());
  set(CURLOPT_UPLOAD, 1L);
  set(CURLOPT_READFUNCTION, &std::fread);
  set(CURLOPT_READDATA, file.get());
  set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(size));
  set(CURLOPT_UPLOAD_BUFFERSIZE, 512L << 10);
  set(CURLOPT_HTTPHEADER, headers);
  done = done && curl_easy_perform(curl) == CURLE_OK;
  long status = 0;
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
  const double seconds = watch.Seconds();
  curl_slist_free_all(headers);
  curl_easy_cleanup(curl);
  if (done && status == 200) std::printf("%.6f\n", seconds);
  return done && status == 200;
}

}  // namespace

int main(int argc, char** argv) {
  pipeline::InstallSchemes();
  if (argc == 5 && (std::strcmp(argv[1], "file") == 0 || std::strcmp(argv[1], "append") == 0)) {
    return pipeline::ExitCode("upload_object", ByStore(argv[1], argv[2], argv[3], argv[4]));
  }
  if (argc == 6 && std::strcmp(argv[1], "bare") == 0) return Bare(argv[2], argv[3], argv[4], argv[5]) ? 0 : 1;
  std::fputs("usage: upload_object file|append FILE PLACE SPOOL | bare FILE URL BUCKET NAME\n", stderr);
  return 2;
}
