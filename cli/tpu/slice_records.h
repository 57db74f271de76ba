// The objects about a rented slice: intents and ends of attempts. Format: cli/tpu/tpu.md
#pragma once

#include <cstdint>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "base/json_fields.h"
#include "base/result.h"
#include "cli/tpu/slice_cloud.h"
#include "storage/store.h"

namespace pipeline {

/// Everything about the machine of one attempt, written before the machine is asked for.
struct SliceIntent {
  static constexpr std::string_view kForm = "pipe_tpu_intent";
  std::uint64_t number = 1;
  std::uint64_t refusals = 0;  // attempts before this one, in a row, that found no capacity
  SliceOrder order;
};

/// Why an attempt ends; written before its machine is deleted, and again once it is gone.
struct SliceEnd {
  static constexpr std::string_view kForm = "pipe_tpu_end";
  std::uint64_t number = 1;
  std::string reason;  // "capacity", "lost", "late", "down", "refused"
  std::string said;    // by the cloud, for people
};

template <class Fields, Of<SliceIntent> T>
void ListFields(Fields& fields, T& intent) {
  auto& order = intent.order;
  fields.Required("number", intent.number).Written("refusals", intent.refusals).Required("name", order.name);
  fields.Required("project", order.project).Required("zone", order.zone);
  fields.Required("type", order.type.name).Required("api_type", order.type.type);
  fields.Required("image", order.type.image).Required("slices", order.type.slices);
  fields.Written("queued", order.type.queued).Written("spot", order.spot);
  fields.Optional("network", order.network).Optional("subnetwork", order.subnetwork);
  fields.Optional("service_account", order.service_account).Written("external_ips", order.external_ips);
  fields.Required("most_seconds", order.most_seconds).Required("wait_seconds", order.wait_seconds);
  fields.Required("labels", order.labels);
}

template <class Fields, Of<SliceEnd> T>
void ListFields(Fields& fields, T& end) {
  fields.Required("number", end.number).Required("reason", end.reason).Optional("said", end.said);
}

/// The newest attempt.
struct NewestAttempt {
  std::uint64_t number = 0;           // 0: there was none
  std::optional<SliceIntent> intent;  // absent: there was none
  std::optional<SliceEnd> leave;      // absent: nobody has begun to delete its machine
  std::optional<SliceEnd> end;        // absent: it is open
  bool open() const { return intent.has_value() && !end.has_value(); }
};

/// The objects of one slice. `place` is rooted at them and outlives it. One thread, which holds the lease.
class SliceRecords {
 public:
  /// `key`: the text of `holder` there, which marks the machines of these records.
  SliceRecords(Store& place, std::string key) : place_(place), key_(std::move(key)) {}
  const std::string& key() const { return key_; }

  /// kDataLoss: an object is damaged. kFailedPrecondition: a newer program wrote it.
  Result<NewestAttempt> Read(const std::stop_token& stop) const;
  /// Create-only. kAlreadyExists: somebody else works here.
  Status Begin(const SliceIntent& intent, const std::stop_token& stop) const;
  /// Create-only; one that is there already stays.
  Status Leave(const SliceEnd& leave, const std::stop_token& stop) const;
  Status End(const SliceEnd& end, const std::stop_token& stop) const;

 private:
  Store& place_;
  const std::string key_;
};

}  // namespace pipeline
