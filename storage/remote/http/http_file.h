// One file on a web server, read from any offset.
#pragma once

#include <memory>
#include <string>

#include "storage/remote/http/http_client.h"
#include "storage/remote/http/http_facts.h"
#include "storage/remote/http/ranged_file.h"

namespace pipeline {

/// Immutable. A reader resumes a broken transfer while the server returns the same ETag or Last-Modified;
/// otherwise it fails with kDataLoss.
class HttpFile final : public RangedFile {
 public:
  using RangedFile::Open;
  /// Asks the server; fails as AskFacts does, and with kFailedPrecondition and EncodedBody if the file
  /// cannot be had as it is stored. `client` is shared; the clock and pause of `means` outlive the file.
  static Result<std::unique_ptr<HttpFile>> Open(std::shared_ptr<HttpClient> client, std::string url,
                                                const HttpMeans& means = {}, std::stop_token stop = {});
  /// A file that the caller checks by its checksum at the end: no request before the first read, and ETag
  /// and Last-Modified are ignored. Readers fail with kFailedPrecondition and OtherSize if its size is not
  /// `size`.
  static std::unique_ptr<HttpFile> Pinned(std::shared_ptr<HttpClient> client, std::string url,
                                          std::uint64_t size, const HttpMeans& means);

  std::uint64_t size() const override { return facts_.size; }
  /// Sends no request before the first read.
  Result<std::unique_ptr<ByteReader>> OpenRange(std::uint64_t begin, std::uint64_t end,
                                                std::stop_token stop) const override;

  const HttpFacts& facts() const { return facts_; }
  const std::string& url() const { return url_; }  // may contain secrets

 private:
  class Reader;
  HttpFile(std::shared_ptr<HttpClient> client, std::string url, HttpFacts facts, bool is_pinned,
           const HttpMeans& means)
      : client_(std::move(client)),
        url_(std::move(url)),
        facts_(std::move(facts)),
        is_pinned_(is_pinned),
        means_(means) {}

  const std::shared_ptr<HttpClient> client_;
  const std::string url_;
  const HttpFacts facts_;
  const bool is_pinned_;
  const HttpMeans means_;
};

}  // namespace pipeline
