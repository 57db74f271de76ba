#include "plugins/train/hosts/discovery.h"

#include <utility>
#include <vector>

#include "base/str.h"
#include "base/terminal_text.h"
#include "base/words.h"
#include "plugins/train/hosts/host_address.h"
#include "plugins/train/hosts/slice_attributes.h"

namespace pipeline {

namespace {

constexpr std::size_t kShownValue = 80;  // bytes of a value in a message
constexpr std::string_view kRemedy = "; correct it, or set the keys `hosts` and `host` of the stage";

/// A text and its source, for messages.
struct Value {
  std::string text;
  std::string source;
};

Status Refused(std::string message) { return Status(Code::kInvalidArgument, std::move(message)); }

/// The text is another's, so neither its length nor its control characters reach a terminal.
Status Malformed(const Value& value, std::string_view reason) {
  return Refused(StrCat(value.source, " is \"", Readable(TerminalText(value.text), kShownValue),
                        "\": ", reason, kRemedy));
}

/// `why` gives the reason of `most`; may be empty.
Result<int> NumberBetween(const Value& value, int least, int most, std::string_view why = {}) {
  const std::optional<int> number = ParseNumber<int>(Trimmed(value.text));
  if (!number || *number < least || *number > most)
    return Malformed(value, StrCat("it must be a number from ", least, " to ", most, why));
  return *number;
}

template <class T>
Result<T> Named(const Value& value, Result<T> parsed) {
  if (!parsed.ok()) return Malformed(value, parsed.status().message());
  return parsed;
}

/// The sources, each read when its turn comes.
class Search {
 public:
  Search(const HostKeys& keys, const HostEnvironment& environment, const HostMetadata& metadata)
      : keys_(keys), environment_(environment), metadata_(metadata) {}

  Result<HostPosition> Find() {
    ASSIGN_OR_RETURN(std::optional<HostPosition> slice, FindInSlice());
    if (slice) return AddSlices(std::move(*slice), true);
    // A machine that has no list of workers has no `tpu-env` either, and the tasks of Slurm are those of all
    // slices.
    ASSIGN_OR_RETURN(std::optional<HostPosition> step, FindInStep());
    if (step) return std::move(*step);
    return AddSlices({}, false);
  }

 private:
  std::optional<Value> Variable(const char* name) const {
    std::optional<std::string> text = environment_(name);
    if (!text || text->empty()) return {};
    return Value{std::move(*text), name};
  }

  /// Launchers set TPU_SKIP_MDS_QUERY where the metadata describes other hosts than those of this training.
  bool AsksMetadata() const {
    if (!metadata_.present) return false;
    const std::optional<Value> skip = Variable("TPU_SKIP_MDS_QUERY");
    return !skip || skip->text == "0" || skip->text == "false" || skip->text == "False";
  }

  Result<std::optional<Value>> Attribute(std::string_view name) const {
    if (!AsksMetadata()) return std::optional<Value>();
    const std::string source = StrCat("the attribute ", name, " of the metadata server");
    Result<std::optional<std::string>> answer = metadata_.ask(StrCat("instance/attributes/", name));
    if (!answer.ok()) return std::move(answer).status().Annotate(source);
    const std::string_view text = Trimmed(answer->has_value() ? **answer : std::string_view());
    if (text.empty()) return std::optional<Value>();
    return std::optional<Value>(Value{std::string(text), source});
  }

  /// Absent: no source knows a slice.
  Result<std::optional<HostPosition>> FindInSlice() const {
    const std::optional<Value> worker = Variable("TPU_WORKER_ID");
    if (const auto list = Variable("TPU_PROCESS_ADDRESSES")) {
      const std::optional<Value> task = Variable("CLOUD_TPU_TASK_ID");
      return Listed(*list, ParseHostList(list->text, ParseProcessAddress), task ? task : worker,
                    "CLOUD_TPU_TASK_ID and TPU_WORKER_ID are not set");
    }
    if (const auto list = Variable("TPU_WORKER_HOSTNAMES"))
      return Listed(*list, ParseHostList(list->text, ParseProcessAddress), worker,
                    "TPU_WORKER_ID is not set");
    if (const auto file = Variable("TPU_PROCESS_ADDRESSES_PATH"))
      return Malformed(*file, "such a file is not read; set TPU_PROCESS_ADDRESSES to its content");
    ASSIGN_OR_RETURN(const std::optional<Value> list, Attribute("worker-network-endpoints"));
    if (!list) return std::optional<HostPosition>();
    auto addresses = ParseWorkerEndpoints(list->text);
    std::optional<Value> number;
    if (addresses.ok() && addresses->size() > 1 && !keys_.host) {
      ASSIGN_OR_RETURN(number, Attribute("agent-worker-number"));
    }
    ASSIGN_OR_RETURN(std::optional<HostPosition> found, Listed(*list, std::move(addresses), number,
                                                               "there is no attribute agent-worker-number"));
    found->source = "the metadata server";
    return found;
  }

  /// `no_number` says what is missing if `number` is absent.
  Result<std::optional<HostPosition>> Listed(const Value& list, Result<std::vector<std::string>> parsed,
                                             const std::optional<Value>& number,
                                             std::string_view no_number) const {
    HostPosition position;
    ASSIGN_OR_RETURN(position.addresses, Named(list, std::move(parsed)));
    position.hosts = static_cast<int>(position.addresses.size());
    position.address_of_leader = position.addresses.front();
    position.source = list.source;
    if (position.hosts > 1 && !keys_.host) {
      // Another worker than 0 would train as a second leader if a missing number counted as 0.
      if (!number)
        return Malformed(list, StrCat("it has ", position.hosts, " hosts, and ", no_number,
                                      ", so nothing gives the number of this one"));
      ASSIGN_OR_RETURN(position.host,
                       NumberBetween(*number, 0, position.hosts - 1,
                                     StrCat(", as ", list.source, " has ", position.hosts, " hosts")));
    }
    return std::optional<HostPosition>(std::move(position));
  }

  /// A step of Slurm with several tasks. A batch script has SLURM_NTASKS and SLURM_PROCID too, but it runs
  /// once: only a step has SLURM_STEP_NODELIST.
  Result<std::optional<HostPosition>> FindInStep() const {
    const std::optional<Value> nodes = Variable("SLURM_STEP_NODELIST"), number = Variable("SLURM_PROCID");
    // In a shell that `salloc` starts, SLURM_NTASKS is that of the job, and the step has one task.
    std::optional<Value> tasks = Variable("SLURM_STEP_NUM_TASKS");
    if (!tasks) tasks = Variable("SLURM_NTASKS");
    if (!nodes || !number || !tasks) return std::optional<HostPosition>();
    HostPosition position;
    ASSIGN_OR_RETURN(position.hosts, NumberBetween(*tasks, 1, kMostHosts));
    if (position.hosts == 1) return std::optional<HostPosition>();
    if (!keys_.host) {
      ASSIGN_OR_RETURN(position.host, NumberBetween(*number, 0, position.hosts - 1,
                                                    StrCat(", as ", tasks->source, " is ", position.hosts)));
    }
    ASSIGN_OR_RETURN(std::vector<std::string> names, Named(*nodes, ParseNodeList(Trimmed(nodes->text))));
    position.address_of_leader = names.front();
    // Nothing here tells which tasks share a node.
    if (names.size() == static_cast<std::size_t>(position.hosts)) position.addresses = std::move(names);
    position.source = number->source;
    return std::optional<HostPosition>(std::move(position));
  }

  /// From the environment, else a line of `tpu-env` if `in_metadata`. Each variable on its own, as JAX does
  /// it.
  Result<std::optional<Value>> SliceVariable(const char* name, bool in_metadata) {
    if (auto value = Variable(name); value || !in_metadata) return value;
    if (!tpu_env_) {
      ASSIGN_OR_RETURN(const std::optional<Value> attribute, Attribute("tpu-env"));
      tpu_env_ = attribute.value_or(Value{}).text;
    }
    const std::optional<std::string_view> text = FindInTpuEnv(*tpu_env_, name);
    if (!text) return std::optional<Value>();
    return std::optional<Value>(
        Value{std::string(*text), StrCat(name, " in the attribute tpu-env of the metadata server")});
  }

  Result<HostPosition> AddSlices(HostPosition position, bool in_metadata) {
    ASSIGN_OR_RETURN(const std::optional<Value> count, SliceVariable("MEGASCALE_NUM_SLICES", in_metadata));
    if (!count) return position;
    ASSIGN_OR_RETURN(const int slices, NumberBetween(*count, 1, kMostHosts));
    if (slices == 1) return position;
    if (position.hosts > kMostHosts / slices)
      return Malformed(*count, StrCat("with ", position.hosts, " hosts in each slice there are more than ",
                                      kMostHosts, " hosts"));
    if (!keys_.host) {
      ASSIGN_OR_RETURN(const std::optional<Value> slice, SliceVariable("MEGASCALE_SLICE_ID", in_metadata));
      if (!slice) return Malformed(*count, "there is no MEGASCALE_SLICE_ID beside it");
      ASSIGN_OR_RETURN(const int number,
                       NumberBetween(*slice, 0, slices - 1, StrCat(", as MEGASCALE_NUM_SLICES is ", slices)));
      position.host += number * position.hosts;
    }
    position.hosts *= slices;
    position.addresses.clear();  // those of this slice alone
    position.source =
        position.source == "none" ? count->source : StrCat(position.source, " and ", count->source);
    if (keys_.coordinator) return position;
    ASSIGN_OR_RETURN(const std::optional<Value> leader,
                     SliceVariable("MEGASCALE_COORDINATOR_ADDRESS", in_metadata));
    if (!leader) return Malformed(*count, "there is no MEGASCALE_COORDINATOR_ADDRESS beside it");
    ASSIGN_OR_RETURN(position.address_of_leader, Named(*leader, ParseProcessAddress(Trimmed(leader->text))));
    return position;
  }

  const HostKeys& keys_;
  const HostEnvironment& environment_;
  const HostMetadata& metadata_;
  std::optional<std::string> tpu_env_;  // asked for once; empty: there is none
};

/// `hosts` overrides the number that was found; the numbers of the hosts stay.
Status SetHosts(int hosts, HostPosition& position) {
  if (hosts > 1 && position.hosts == 1)
    return Refused(StrCat("hosts is ", hosts,
                          ", and nothing gives the number of this one: set the key `host` on each "
                          "of them, from 0 to ",
                          hosts - 1));
  if (position.host >= hosts)
    return Refused(StrCat("hosts is ", hosts, ", and this is host ", position.host, " by ", position.source,
                          ": do not start it here, or set the key `host` as well"));
  if (hosts == position.hosts) return {};
  position.hosts = hosts;
  if (position.addresses.size() < static_cast<std::size_t>(hosts))
    position.addresses.clear();
  else
    position.addresses.resize(static_cast<std::size_t>(hosts));
  position.source = "the keys";
  return {};
}

/// `host` overrides the number that was found.
Status SetHost(std::int64_t host, HostPosition& position) {
  if (position.hosts == 1)
    return Refused(
        StrCat("host is ", host, ", and nothing says that there are other hosts: set the key `hosts` too"));
  if (host >= position.hosts)
    return Refused(StrCat("host is ", host, ", and there are ", position.hosts, " hosts by ", position.source,
                          ": it must be from 0 to ", position.hosts - 1, ", or set the key `hosts` too"));
  position.host = static_cast<int>(host);
  position.source = "the keys";
  return {};
}

}  // namespace

Status CheckHostKeys(const HostKeys& keys) {
  if (keys.hosts && (*keys.hosts < 1 || *keys.hosts > kMostHosts))
    return Refused(StrCat("hosts is ", *keys.hosts, ": it must be from 1 to ", kMostHosts));
  const std::int64_t most = keys.hosts.value_or(kMostHosts) - 1;
  if (keys.host && (*keys.host < 0 || *keys.host > most))
    return Refused(StrCat("host is ", *keys.host, ": it must be from 0 to ", most,
                          keys.hosts ? ", as `hosts` is one more" : "", "; the first host is 0"));
  if (keys.coordinator && !ParseHostAddress(*keys.coordinator).ok())
    return Refused(StrCat("coordinator is \"", Readable(TerminalText(*keys.coordinator), kShownValue),
                          "\": it must be the name or address of host 0, without a port"));
  return {};
}

Result<HostPosition> FindHost(const HostKeys& keys, const HostEnvironment& environment,
                              const HostMetadata& metadata) {
  RETURN_IF_ERROR(CheckHostKeys(keys));
  HostPosition position;
  if (keys.hosts && keys.host) {
    position.hosts = static_cast<int>(*keys.hosts);
    position.host = static_cast<int>(*keys.host);
    position.source = "the keys";
  } else {
    ASSIGN_OR_RETURN(position, Search(keys, environment, metadata).Find());
    if (keys.hosts) RETURN_IF_ERROR(SetHosts(static_cast<int>(*keys.hosts), position));
    if (keys.host) RETURN_IF_ERROR(SetHost(*keys.host, position));
  }
  if (keys.coordinator) {
    ASSIGN_OR_RETURN(position.address_of_leader, ParseHostAddress(*keys.coordinator));
  }
  return position;
}

}  // namespace pipeline
