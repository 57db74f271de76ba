// One request to a fake Google Cloud Storage, taken apart, and the operations that answer it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "tests/support/fake_gcs_faults.h"
#include "tests/support/fake_gcs_objects.h"
#include "tests/support/fake_gcs_uploads.h"
#include "tests/support/fake_moments.h"
#include "tests/support/http_server.h"

namespace pipeline {

/// The operation of a whole batch.
inline constexpr std::string_view kFakeBatch = "storage.batch";

/// What all requests share.
struct FakeGcsWorld {
  explicit FakeGcsWorld(const Clock& clock) : objects(clock) {}

  std::shared_ptr<FakeContent> NewContent() const { return std::make_shared<FakeContent>(keeping); }

  FakeKeeping keeping;
  std::uint64_t rewrite_bytes = std::uint64_t{1} << 40;  // in one call
  std::string url;
  FakeGcsObjects objects;
  FakeGcsUploads uploads;
  FakeGcsFaults faults;
  const Clock* dates = nullptr;  // for the header Date; null: answers bear none
  FakeMoments moments;
  std::atomic<std::uint64_t> read_bytes = 0;  // of objects, sent
};

struct FakeGcsCall {
  FakeGcsWorld& world;
  ServedExchange& exchange;
  std::string operation;  // as FakeGcsFaults names it
  std::string bucket;
  std::string object;  // of a compose, a rewrite and an insert: the one that is made; may be empty
  std::string source_bucket, source;  // of a rewrite
  FakeFault fault = {};
  bool in_batch = false;  // a part of a batch

  const ServedRequest& request() const { return exchange.request(); }
  std::string Argument(std::string_view name) const { return request().Argument(name).value_or(""); }
  bool Answer(const Json& body) const;
  bool Error(int status, std::string_view reason, std::string_view message) const;
  /// The error that goes with a status of FakeGcsObjects.
  bool Error(int status) const;
  /// The resource of what was made; or the answer is lost, as the fault has it.
  bool AnswerMade(const FakeObject& made) const;
  /// AnswerMade, or the error.
  bool AnswerOutcome(const FakeOutcome& outcome) const;
};

// tests/support/fake_gcs_media.cc: bytes on their way out.
void FakeRead(const FakeGcsCall& call);
// tests/support/fake_gcs_insert.cc: bytes on their way in.
void FakeInsertWhole(const FakeGcsCall& call);
void FakeInsertStart(const FakeGcsCall& call);
/// A chunk, a query or a cancellation, by the request.
void FakeInsertStep(const FakeGcsCall& call, const std::string& session);
// tests/support/fake_gcs_combine.cc: objects made of objects.
void FakeCompose(const FakeGcsCall& call);
void FakeRewrite(const FakeGcsCall& call);

}  // namespace pipeline
