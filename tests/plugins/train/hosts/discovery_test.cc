#include "plugins/train/hosts/discovery.h"

#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "base/str.h"

namespace pipeline {
namespace {

using Addresses = std::vector<std::string>;
using Table = std::map<std::string, std::string, std::less<>>;

/// A machine with these variables and attributes. It counts what it is asked for.
class Machine {
 public:
  explicit Machine(Table variables, Table attributes = {}, bool has_metadata = true)
      : variables_(std::move(variables)), attributes_(std::move(attributes)), has_metadata_(has_metadata) {}

  Result<HostPosition> Find(const HostKeys& keys = {}) {
    HostMetadata metadata;
    metadata.present = has_metadata_;
    metadata.ask = [this](std::string_view path) -> Result<std::optional<std::string>> {
      asked_.emplace_back(path);
      if (!failure_.ok()) return failure_;
      constexpr std::string_view kFolder = "instance/attributes/";
      if (!path.starts_with(kFolder)) return Status(Code::kInternal, "an address outside of the attributes");
      return In(attributes_, path.substr(kFolder.size()));
    };
    return FindHost(
        keys,
        [this](const char* name) {
          ++variables_read_;
          return In(variables_, name);
        },
        metadata);
  }

  /// The message of the refusal. Each is one line that a terminal can show.
  std::string Refusal(const HostKeys& keys = {}) {
    const Result<HostPosition> found = Find(keys);
    if (found.ok()) return StrCat("found host ", found->host, " of ", found->hosts);
    EXPECT_EQ(found.status().code(), Code::kInvalidArgument);
    const std::string message(found.status().message());
    EXPECT_LT(message.size(), 400u);
    for (const char c : message) EXPECT_TRUE(static_cast<unsigned char>(c) >= ' ' && c != '\x7f') << message;
    return message;
  }

  void FailWith(Status failure) { failure_ = std::move(failure); }
  const Addresses& asked() const { return asked_; }
  int variables_read() const { return variables_read_; }

 private:
  static std::optional<std::string> In(const Table& table, std::string_view name) {
    const auto found = table.find(name);
    if (found == table.end()) return {};
    return found->second;
  }

  Table variables_, attributes_;
  bool has_metadata_;
  Status failure_;
  Addresses asked_;
  int variables_read_ = 0;
};

/// "1 of 4, leader a, source S".
std::string Found(Machine machine, const HostKeys& keys = {}) {
  const Result<HostPosition> found = machine.Find(keys);
  if (!found.ok()) return std::string(found.status().message());
  return StrCat(found->host, " of ", found->hosts, ", leader ",
                found->address_of_leader.empty() ? "unknown" : found->address_of_leader, ", source ",
                found->source);
}

const Table kGke = {{"TPU_WORKER_HOSTNAMES", "a.svc,b.svc,c.svc,d.svc"}, {"TPU_WORKER_ID", "2"}};
const Table kVm = {
    {"worker-network-endpoints", "unknown:unknown:10.0.0.1,unknown:unknown:10.0.0.2"},
    {"agent-worker-number", "1"},
    {"tpu-env", "ACCELERATOR_TYPE: 'v4-16'\nWORKER_ID: '1'\n"},
};
const Table kStep = {
    {"SLURM_NTASKS", "3"}, {"SLURM_PROCID", "1"}, {"SLURM_STEP_NODELIST", "tpu[01-02],gpu-2"}};

Table With(Table table, const Table& more) {
  for (const auto& [name, value] : more) table[name] = value;
  return table;
}

TEST(DiscoveryTest, MachineWithoutASourceIsTheOnlyHost) {
  EXPECT_EQ(Found(Machine({})), "0 of 1, leader unknown, source none");
}

TEST(DiscoveryTest, ProcessAddressesComeFirst) {
  const Table addresses = {{"TPU_PROCESS_ADDRESSES", "x:8476,[fd00::1]:8476,10.0.0.3:8476"}};
  EXPECT_EQ(Found(Machine(With(kGke, addresses), kVm)), "2 of 3, leader x, source TPU_PROCESS_ADDRESSES");
  EXPECT_EQ(Found(Machine(With(With(kGke, addresses), {{"CLOUD_TPU_TASK_ID", "1"}}))),
            "1 of 3, leader x, source TPU_PROCESS_ADDRESSES")
      << "CLOUD_TPU_TASK_ID precedes TPU_WORKER_ID";
  Machine machine(With(kGke, addresses));
  EXPECT_EQ(machine.Find()->addresses, (Addresses{"x", "fd00::1", "10.0.0.3"}));
}

TEST(DiscoveryTest, HostNamesOfGkeComeBeforeTheMetadata) {
  Machine machine(kGke, kVm);
  const Result<HostPosition> found = machine.Find();
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->host, 2);
  EXPECT_EQ(found->hosts, 4);
  EXPECT_EQ(found->address_of_leader, "a.svc");
  EXPECT_EQ(found->addresses, (Addresses{"a.svc", "b.svc", "c.svc", "d.svc"}));
  EXPECT_EQ(found->source, "TPU_WORKER_HOSTNAMES");
}

TEST(DiscoveryTest, EmptyVariableIsNotSet) {
  EXPECT_EQ(Found(Machine(
                {{"TPU_PROCESS_ADDRESSES", ""}, {"TPU_WORKER_HOSTNAMES", ""}, {"TPU_WORKER_ID", "0"}}, kVm)),
            "1 of 2, leader 10.0.0.1, source the metadata server");
}

TEST(DiscoveryTest, MetadataServerKnowsTheWorkersOfASlice) {
  EXPECT_EQ(Found(Machine(kStep, kVm)), "1 of 2, leader 10.0.0.1, source the metadata server");
  EXPECT_EQ(
      Found(Machine({}, {{"worker-network-endpoints", "t1v-w-0,t1v-w-1\n"}, {"agent-worker-number", "0\n"}})),
      "0 of 2, leader t1v-w-0, source the metadata server");
}

TEST(DiscoveryTest, MetadataServerIsAskedOnlyWhereItCanKnow) {
  Machine without(kStep, kVm, false);
  EXPECT_EQ(without.Find()->source, "SLURM_PROCID");
  EXPECT_TRUE(without.asked().empty());
  Machine skipped({{"TPU_SKIP_MDS_QUERY", "1"}}, kVm);
  EXPECT_EQ(skipped.Find()->source, "none");
  EXPECT_TRUE(skipped.asked().empty());
  for (const char* no : {"false", "False", "0", ""})
    EXPECT_EQ(Machine({{"TPU_SKIP_MDS_QUERY", no}}, kVm).Find()->hosts, 2) << no;
}

TEST(DiscoveryTest, EachAttributeIsAskedForAtMostOnce) {
  Machine several({}, With(kVm, {{"tpu-env",
                                  "MEGASCALE_NUM_SLICES: '2'\nMEGASCALE_SLICE_ID: '1'\n"
                                  "MEGASCALE_COORDINATOR_ADDRESS: '10.0.0.9'\n"}}));
  EXPECT_EQ(several.Find()->host, 3);
  EXPECT_EQ(several.asked(),
            (Addresses{"instance/attributes/worker-network-endpoints",
                       "instance/attributes/agent-worker-number", "instance/attributes/tpu-env"}));
  Machine plain({}, {});
  EXPECT_EQ(plain.Find()->hosts, 1);
  EXPECT_EQ(plain.asked(), Addresses{"instance/attributes/worker-network-endpoints"});
}

TEST(DiscoveryTest, FailureOfTheMetadataServerIsNoSingleHost) {
  Machine machine({}, kVm);
  machine.FailWith(Status(Code::kUnavailable, "status 503"));
  const Result<HostPosition> found = machine.Find();
  ASSERT_FALSE(found.ok());
  EXPECT_EQ(found.status().code(), Code::kUnavailable);
  EXPECT_EQ(found.status().message(),
            "the attribute worker-network-endpoints of the metadata server: status 503");
  EXPECT_EQ(machine.Find({.hosts = 2, .host = 1, .coordinator = {}})->host, 1) << "the keys need no server";
}

TEST(DiscoveryTest, ListWithOneEntryIsASingleHost) {
  EXPECT_EQ(Found(Machine(Table{{"TPU_WORKER_HOSTNAMES", "localhost"}, {"TPU_WORKER_ID", "0"}})),
            "0 of 1, leader localhost, source TPU_WORKER_HOSTNAMES");
  EXPECT_EQ(Found(Machine(Table{{"TPU_PROCESS_ADDRESSES", "local"}})),
            "0 of 1, leader local, source TPU_PROCESS_ADDRESSES");
  EXPECT_EQ(Found(Machine({}, {{"worker-network-endpoints", "instance-20260826-215213"}})),
            "0 of 1, leader instance-20260826-215213, source the metadata server");
}

TEST(DiscoveryTest, StepOfSlurmHasAHostForEachTask) {
  EXPECT_EQ(Found(Machine(kStep)), "1 of 3, leader tpu01, source SLURM_PROCID");
  EXPECT_EQ(Machine(kStep).Find()->addresses, (Addresses{"tpu01", "tpu02", "gpu-2"}));
  EXPECT_TRUE(Machine(With(kStep, {{"SLURM_NTASKS", "6"}})).Find()->addresses.empty())
      << "six tasks on three nodes: which are on which is unknown";
}

TEST(DiscoveryTest, ShellAndScriptOfSlurmAreSingleHosts) {
  Table script = kStep;
  script.erase("SLURM_STEP_NODELIST");
  EXPECT_EQ(Found(Machine(script)), "0 of 1, leader unknown, source none");
  EXPECT_EQ(Found(Machine(With(kStep, {{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}))),
            "0 of 1, leader unknown, source none")
      << "an interactive step of a job with three tasks";
  EXPECT_EQ(Found(Machine(With(kStep, {{"SLURM_NTASKS", "1"}, {"SLURM_PROCID", "0"}}))),
            "0 of 1, leader unknown, source none");
}

const Table kSlices = {{"MEGASCALE_NUM_SLICES", "3"},
                       {"MEGASCALE_SLICE_ID", "2"},
                       {"MEGASCALE_COORDINATOR_ADDRESS", "job-0-0.svc:8080"}};

TEST(DiscoveryTest, HostsOfAllSlicesAreNumberedSliceBySlice) {
  EXPECT_EQ(Found(Machine(With(kGke, kSlices))),
            "10 of 12, leader job-0-0.svc, source TPU_WORKER_HOSTNAMES and MEGASCALE_NUM_SLICES");
  EXPECT_TRUE(Machine(With(kGke, kSlices)).Find()->addresses.empty()) << "those of other slices are unknown";
  EXPECT_EQ(Found(Machine(With(kSlices, {{"TPU_WORKER_HOSTNAMES", "localhost"}}))),
            "2 of 3, leader job-0-0.svc, source TPU_WORKER_HOSTNAMES and MEGASCALE_NUM_SLICES")
      << "slices of one host each";
  EXPECT_EQ(Found(Machine(kSlices)), "2 of 3, leader job-0-0.svc, source MEGASCALE_NUM_SLICES");
}

TEST(DiscoveryTest, SlicesAreReadFromTheMetadataWhereTheEnvironmentHasNone) {
  const Table attributes =
      With(kVm, {{"tpu-env",
                  "MEGASCALE_COORDINATOR_ADDRESS: '10.0.9.1'\nMEGASCALE_NUM_SLICES: '2'\n"
                  "MEGASCALE_SLICE_ID: '1'\n"}});
  EXPECT_EQ(Found(Machine({}, attributes)),
            "3 of 4, leader 10.0.9.1, source the metadata server and MEGASCALE_NUM_SLICES in the attribute "
            "tpu-env of "
            "the metadata server");
  EXPECT_EQ(Machine({{"MEGASCALE_SLICE_ID", "0"}}, attributes).Find()->host, 1);
  EXPECT_EQ(Machine({{"MEGASCALE_NUM_SLICES", "1"}}, attributes).Find()->hosts, 2);
}

TEST(DiscoveryTest, TasksOfSlurmAreThoseOfAllSlices) {
  EXPECT_EQ(Found(Machine(With(kStep, kSlices))), "1 of 3, leader tpu01, source SLURM_PROCID");
}

TEST(DiscoveryTest, KeysForBothNumbersReadNothing) {
  Machine machine({{"TPU_WORKER_HOSTNAMES", ",,"}}, kVm);
  const Result<HostPosition> found = machine.Find({.hosts = 4, .host = 3, .coordinator = "10.0.0.1"});
  ASSERT_TRUE(found.ok()) << found.status().message();
  EXPECT_EQ(found->host, 3);
  EXPECT_EQ(found->hosts, 4);
  EXPECT_EQ(found->address_of_leader, "10.0.0.1");
  EXPECT_EQ(found->source, "the keys");
  EXPECT_EQ(machine.variables_read(), 0);
  EXPECT_TRUE(machine.asked().empty());
}

TEST(DiscoveryTest, KeyHostsKeepsTheNumberThatWasFound) {
  EXPECT_EQ(Found(Machine(kGke), {.hosts = 3, .host = {}, .coordinator = {}}),
            "2 of 3, leader a.svc, source the keys");
  EXPECT_EQ(Machine(kGke).Find({.hosts = 3, .host = {}, .coordinator = {}})->addresses.size(), 3u);
  EXPECT_EQ(Found(Machine(kGke), {.hosts = 8, .host = {}, .coordinator = {}}),
            "2 of 8, leader a.svc, source the keys");
  EXPECT_TRUE(Machine(kGke).Find({.hosts = 8, .host = {}, .coordinator = {}})->addresses.empty());
  EXPECT_EQ(Found(Machine(kGke), {.hosts = 4, .host = {}, .coordinator = {}}),
            "2 of 4, leader a.svc, source TPU_WORKER_HOSTNAMES");
  EXPECT_EQ(Machine(kGke).Refusal({.hosts = 2, .host = {}, .coordinator = {}}),
            "hosts is 2, and this is host 2 by TPU_WORKER_HOSTNAMES: do not start it here, or set the key "
            "`host` as "
            "well");
  EXPECT_EQ(Found(Machine({}), {.hosts = 1, .host = {}, .coordinator = {}}),
            "0 of 1, leader unknown, source none");
}

TEST(DiscoveryTest, KeyHostsAloneMakesNoTwoHostsNumberZero) {
  EXPECT_EQ(Machine({}).Refusal({.hosts = 2, .host = {}, .coordinator = {}}),
            "hosts is 2, and nothing gives the number of this one: set the key `host` on each of them, from "
            "0 to 1");
}

TEST(DiscoveryTest, KeyHostReplacesTheNumberAlone) {
  const HostKeys keys = {.hosts = {}, .host = 1, .coordinator = {}};
  EXPECT_EQ(Found(Machine(kGke), keys), "1 of 4, leader a.svc, source the keys");
  EXPECT_EQ(Found(Machine(With(kGke, {{"TPU_WORKER_ID", "none"}})), keys),
            "1 of 4, leader a.svc, source the keys")
      << "a number that does not count is not read";
  EXPECT_EQ(Found(Machine({}, {{"worker-network-endpoints", "a,b"}}), keys),
            "1 of 2, leader a, source the keys");
  EXPECT_EQ(Found(Machine(With(kStep, {{"SLURM_PROCID", "9"}})), keys),
            "1 of 3, leader tpu01, source the keys");
  Table slices = With(kGke, kSlices);
  slices.erase("MEGASCALE_SLICE_ID");
  EXPECT_EQ(Found(Machine(slices), keys), "1 of 12, leader job-0-0.svc, source the keys");
}

TEST(DiscoveryTest, KeyHostNeedsOtherHosts) {
  for (const std::int64_t host : {0, 1})
    EXPECT_EQ(
        Machine({}).Refusal({.hosts = {}, .host = host, .coordinator = {}}),
        StrCat("host is ", host, ", and nothing says that there are other hosts: set the key `hosts` too"));
  EXPECT_EQ(Machine(kGke).Refusal({.hosts = {}, .host = 4, .coordinator = {}}),
            "host is 4, and there are 4 hosts by TPU_WORKER_HOSTNAMES: it must be from 0 to 3, or set the "
            "key `hosts` "
            "too");
}

TEST(DiscoveryTest, KeysOutOfTheirBoundsAreRefused) {
  for (const std::int64_t hosts :
       {std::int64_t{0}, std::int64_t{-1}, std::int64_t{4097}, INT64_MAX, INT64_MIN})
    EXPECT_EQ(Machine({}).Refusal({.hosts = hosts, .host = 0, .coordinator = {}}),
              StrCat("hosts is ", hosts, ": it must be from 1 to 4096"));
  EXPECT_EQ(Machine({}).Refusal({.hosts = 4, .host = 4, .coordinator = {}}),
            "host is 4: it must be from 0 to 3, as `hosts` is one more; the first host is 0");
  for (const std::int64_t host : {std::int64_t{-1}, std::int64_t{4096}, INT64_MAX, INT64_MIN})
    EXPECT_EQ(Machine({}).Refusal({.hosts = {}, .host = host, .coordinator = {}}),
              StrCat("host is ", host, ": it must be from 0 to 4095; the first host is 0"));
  EXPECT_EQ(Machine({}).Find({.hosts = 4096, .host = 4095, .coordinator = {}})->host, 4095);
}

TEST(DiscoveryTest, KeyCoordinatorIsTheAddressOfTheLeader) {
  EXPECT_EQ(Found(Machine(kGke), {.hosts = {}, .host = {}, .coordinator = "[fd00::1]"}),
            "2 of 4, leader fd00::1, source TPU_WORKER_HOSTNAMES");
  Table slices = With(kGke, kSlices);
  slices.erase("MEGASCALE_COORDINATOR_ADDRESS");
  EXPECT_EQ(Machine(slices).Find({.hosts = {}, .host = {}, .coordinator = "x"})->address_of_leader, "x");
  for (const char* address : {"", "10.0.0.1:8476", "a,b", "a\nb"})
    EXPECT_NE(Machine(kGke)
                  .Refusal({.hosts = {}, .host = {}, .coordinator = address})
                  .find("it must be the name or address of host 0, without a port"),
              std::string::npos)
        << address;
}

struct DiscoveryMistake {
  Table variables;
  Table attributes;
  const char* message;
};
class DiscoveryMistakeTest : public testing::TestWithParam<DiscoveryMistake> {};

TEST_P(DiscoveryMistakeTest, IsNamedWithItsValueAndTheRemedy) {
  EXPECT_EQ(Machine(GetParam().variables, GetParam().attributes).Refusal(),
            StrCat(GetParam().message, "; correct it, or set the keys `hosts` and `host` of the stage"));
}

INSTANTIATE_TEST_SUITE_P(
    All, DiscoveryMistakeTest,
    testing::Values(
        DiscoveryMistake{
            {{"TPU_WORKER_HOSTNAMES", "a,b"}},
            {},
            "TPU_WORKER_HOSTNAMES is \"a,b\": it has 2 hosts, and TPU_WORKER_ID is not set, so nothing "
            "gives the "
            "number of this one"},
        DiscoveryMistake{{{"TPU_PROCESS_ADDRESSES", "a:1,b:1"}},
                         {},
                         "TPU_PROCESS_ADDRESSES is \"a:1,b:1\": it has 2 hosts, and CLOUD_TPU_TASK_ID and "
                         "TPU_WORKER_ID are "
                         "not set, so nothing gives the number of this one"},
        DiscoveryMistake{
            {},
            {{"worker-network-endpoints", "a,b"}},
            "the attribute worker-network-endpoints of the metadata server is \"a,b\": it has 2 hosts, "
            "and there "
            "is no attribute agent-worker-number, so nothing gives the number of this one"},
        DiscoveryMistake{
            With(kGke, {{"TPU_WORKER_ID", "4"}}),
            {},
            "TPU_WORKER_ID is \"4\": it must be a number from 0 to 3, as TPU_WORKER_HOSTNAMES has 4 hosts"},
        DiscoveryMistake{
            With(kGke, {{"TPU_WORKER_ID", "-1"}}),
            {},
            "TPU_WORKER_ID is \"-1\": it must be a number from 0 to 3, as TPU_WORKER_HOSTNAMES has 4 hosts"},
        DiscoveryMistake{
            With(kGke, {{"TPU_WORKER_ID", "one"}}),
            {},
            "TPU_WORKER_ID is \"one\": it must be a number from 0 to 3, as TPU_WORKER_HOSTNAMES has 4 hosts"},
        DiscoveryMistake{With(kGke, {{"TPU_WORKER_HOSTNAMES", "a,,b"}}),
                         {},
                         "TPU_WORKER_HOSTNAMES is \"a,,b\": an entry is empty"},
        DiscoveryMistake{
            With(kGke, {{"TPU_PROCESS_ADDRESSES", "a:99999999999"}}),
            {},
            "TPU_PROCESS_ADDRESSES is \"a:99999999999\": `a:99999999999` is no name or address of a host"},
        DiscoveryMistake{{{"TPU_PROCESS_ADDRESSES_PATH", "/etc/tpu"}},
                         kVm,
                         "TPU_PROCESS_ADDRESSES_PATH is \"/etc/tpu\": such a file is not read; set "
                         "TPU_PROCESS_ADDRESSES to "
                         "its content"},
        DiscoveryMistake{
            {},
            With(kVm, {{"worker-network-endpoints", "a:1"}}),
            "the attribute worker-network-endpoints of the metadata server is \"a:1\": `a:1` is no name "
            "or address "
            "of a host"},
        DiscoveryMistake{
            {},
            With(kVm, {{"agent-worker-number", "2"}}),
            "the attribute agent-worker-number of the metadata server is \"2\": it must be a number from "
            "0 to 1, as "
            "the attribute worker-network-endpoints of the metadata server has 2 hosts"},
        DiscoveryMistake{With(kStep, {{"SLURM_PROCID", "3"}}),
                         {},
                         "SLURM_PROCID is \"3\": it must be a number from 0 to 2, as SLURM_NTASKS is 3"},
        DiscoveryMistake{With(kStep, {{"SLURM_NTASKS", "4097"}}),
                         {},
                         "SLURM_NTASKS is \"4097\": it must be a number from 1 to 4096"},
        DiscoveryMistake{With(kStep, {{"SLURM_STEP_NODELIST", "tpu[3-1]"}}),
                         {},
                         "SLURM_STEP_NODELIST is \"tpu[3-1]\": the range `3-1` ends before it begins"},
        DiscoveryMistake{With(kStep, {{"SLURM_STEP_NODELIST", "[1-999999999]"}}),
                         {},
                         "SLURM_STEP_NODELIST is \"[1-999999999]\": it lists more than 4096 nodes"},
        DiscoveryMistake{With(With(kGke, kSlices), {{"MEGASCALE_NUM_SLICES", "0"}}),
                         {},
                         "MEGASCALE_NUM_SLICES is \"0\": it must be a number from 1 to 4096"},
        DiscoveryMistake{
            With(With(kGke, kSlices), {{"MEGASCALE_NUM_SLICES", "1025"}}),
            {},
            "MEGASCALE_NUM_SLICES is \"1025\": with 4 hosts in each slice there are more than 4096 hosts"},
        DiscoveryMistake{
            With(With(kGke, kSlices), {{"MEGASCALE_SLICE_ID", "3"}}),
            {},
            "MEGASCALE_SLICE_ID is \"3\": it must be a number from 0 to 2, as MEGASCALE_NUM_SLICES is 3"},
        DiscoveryMistake{With(With(kGke, kSlices), {{"MEGASCALE_SLICE_ID", ""}}),
                         {},
                         "MEGASCALE_NUM_SLICES is \"3\": there is no MEGASCALE_SLICE_ID beside it"},
        DiscoveryMistake{
            With(With(kGke, kSlices), {{"MEGASCALE_COORDINATOR_ADDRESS", ""}}),
            {},
            "MEGASCALE_NUM_SLICES is \"3\": there is no MEGASCALE_COORDINATOR_ADDRESS beside it"},
        DiscoveryMistake{With(With(kGke, kSlices), {{"MEGASCALE_COORDINATOR_ADDRESS", "a,b"}}),
                         {},
                         "MEGASCALE_COORDINATOR_ADDRESS is \"a,b\": `a,b` is no name or address of a host"},
        DiscoveryMistake{
            {},
            With(kVm, {{"tpu-env", "MEGASCALE_NUM_SLICES: 'two'"}}),
            "MEGASCALE_NUM_SLICES in the attribute tpu-env of the metadata server is \"two\": it must be "
            "a number "
            "from 1 to 4096"}));

TEST(DiscoveryTest, RefusalShowsNoControlCharactersAndNoLongValue) {
  for (const std::string& value :
       {std::string("a,\x1b[2J\n"),
        std::string("a,\xc2\x9b"
                    "2J"),
        std::string("\0,a", 3), "a," + std::string(200'000, '\a') + "b", std::string(200'000, '[')}) {
    for (const char* name : {"TPU_PROCESS_ADDRESSES", "TPU_WORKER_HOSTNAMES"})
      EXPECT_EQ(Machine({{name, value}}).Refusal().find("\xc2\x9b"), std::string::npos);
    EXPECT_EQ(Machine(With(kGke, {{"TPU_WORKER_ID", value}})).Refusal().find("TPU_WORKER_ID is \""), 0u);
    EXPECT_EQ(Machine({}, {{"worker-network-endpoints", value}}).Refusal().find("the attribute worker-"), 0u);
    EXPECT_EQ(Machine(With(kStep, {{"SLURM_STEP_NODELIST", value}})).Refusal().find("SLURM_STEP_NODELIST"),
              0u);
  }
}

}  // namespace
}  // namespace pipeline
