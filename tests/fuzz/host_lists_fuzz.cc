// Any bytes as a list of hosts in each of its forms, as `tpu-env`, and as the values of all sources at once:
// each list that is read has usable entries, not too many of them, and each refusal is one readable line.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/train/hosts/discovery.h"
#include "plugins/train/hosts/host_address.h"
#include "plugins/train/hosts/slice_attributes.h"
#include "tests/fuzz/require.h"

namespace {

using namespace pipeline;

using Names = std::vector<std::string>;

void CheckRefusal(const Status& status) {
  Require(status.code() == Code::kInvalidArgument && !status.message().empty() &&
          status.message().size() < 600);
  for (const char c : status.message()) Require(static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
}

std::string Joined(const Names& names) {
  std::string joined;
  for (const std::string& name : names) joined.append(joined.empty() ? "" : ",").append(name);
  return joined;
}

/// What was read is read again as itself.
void CheckList(const Result<Names>& list, Result<Names> (*parse)(std::string_view)) {
  if (!list.ok()) return CheckRefusal(list.status());
  Require(!list->empty() && list->size() <= kMostHosts);
  for (const std::string& name : *list) Require(IsHostName(name) || IsIpv6(name));
  const Result<Names> again = parse(Joined(*list));
  Require(again.ok() && *again == *list);
}

Result<Names> ParseProcesses(std::string_view text) { return ParseHostList(text, ParseProcessAddress); }

void CheckTpuEnv(std::string_view text) {
  for (const std::string_view key : {"MEGASCALE_NUM_SLICES", "A", ""}) {
    const std::optional<std::string_view> value = FindInTpuEnv(text, key);
    if (!value) continue;
    Require(!value->empty() && value->find('\n') == std::string_view::npos);
    Require(value->data() >= text.data() && value->data() + value->size() <= text.data() + text.size());
  }
}

/// Each line is the value of one source, in this order; the rest is `tpu-env`.
void CheckSources(std::string_view text) {
  constexpr std::string_view kNames[] = {
      "TPU_PROCESS_ADDRESSES", "TPU_WORKER_HOSTNAMES", "TPU_WORKER_ID", "worker-network-endpoints",
      "agent-worker-number",   "SLURM_NTASKS",         "SLURM_PROCID",  "SLURM_STEP_NODELIST",
      "MEGASCALE_NUM_SLICES"};
  std::vector<std::string_view> values;
  for (std::size_t line = 0; line < std::size(kNames); ++line) {
    values.push_back(text.substr(0, text.find('\n')));
    text.remove_prefix(values.back().size() + (values.back().size() < text.size() ? 1 : 0));
  }
  const auto value = [&](std::string_view name) -> std::optional<std::string> {
    for (std::size_t line = 0; line < std::size(kNames); ++line)
      if (kNames[line] == name && !values[line].empty()) return std::string(values[line]);
    if (name == "tpu-env") return std::string(text);
    return {};
  };
  HostMetadata metadata;
  metadata.present = true;
  metadata.ask = [&](std::string_view path) -> Result<std::optional<std::string>> {
    return value(path.substr(path.rfind('/') + 1));
  };
  const Result<HostPosition> found = FindHost({}, value, metadata);
  if (!found.ok()) return CheckRefusal(found.status());
  Require(found->hosts >= 1 && found->hosts <= kMostHosts && found->host >= 0 && found->host < found->hosts);
  Require(found->addresses.empty() || found->addresses.size() == static_cast<std::size_t>(found->hosts));
  Require(found->hosts == 1 || !found->address_of_leader.empty());
  Require(!found->source.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  CheckList(ParseNodeList(text), ParseNodeList);
  CheckList(ParseWorkerEndpoints(text), ParseWorkerEndpoints);
  CheckList(ParseProcesses(text), ParseProcesses);
  CheckTpuEnv(text);
  CheckSources(text);
  return 0;
}
