// A slice is rented and given back whatever the cloud does. Each row of "Life" in cli/tpu/tpu.md is a test.
#include "cli/tpu/slice_renter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>

#include "base/str.h"
#include "tests/cli/tpu/rented_world.h"
#include "tests/support/built_tree.h"
#include "tests/support/temp_dir.h"

namespace pipeline {
namespace {

using Wrong = TpuFault::Kind;

TpuFault Fault(std::string method, std::string part, Wrong kind, int times = 1) {
  TpuFault fault;
  fault.method = std::move(method), fault.part = std::move(part), fault.kind = kind, fault.times = times;
  return fault;
}

TpuFault Refusal(std::string method, std::string part, int status, std::string word, std::string message,
                 int times = 1) {
  TpuFault fault = Fault(std::move(method), std::move(part), Wrong::kAnswer, times);
  fault.status = status, fault.word = std::move(word), fault.message = std::move(message);
  return fault;
}

/// Nothing is left, no name came to be twice, and no person lost a machine.
void ExpectClean(const RentedWorld& world) {
  EXPECT_TRUE(world.cloud.Left().empty()) << world.cloud.Left().front().id;
  for (const std::string& name : world.cloud.Names()) EXPECT_EQ(world.cloud.Creations(name), 1) << name;
  EXPECT_EQ(world.cloud.PersonsLost(), 0);
}

bool Says(const Status& status, std::string_view part) {
  return status.message().find(part) != std::string_view::npos;
}

TEST(SliceRenterTest, ASliceIsReadyWithAllItsWorkersAndGivenBack) {
  for (const char* type : {"v3-8", "v2-32", "v5e-16", "2xv5e-16"}) {
    RentedWorld world;
    const Result<RentedSlice> slice = world.Up(RentedWorld::Wish(type));
    ASSERT_TRUE(slice.ok()) << type << ": " << slice.status().message();
    EXPECT_EQ(slice->order.name, "pipe-mine-1");
    EXPECT_EQ(slice->order.zone, "us-central1-a");
    EXPECT_EQ(slice->view.addresses.size(), slice->order.type.Describe() == "v2-32"      ? 4u
                                            : slice->order.type.Describe() == "2xv5e-16" ? 4u
                                            : slice->order.type.Describe() == "v5e-16"   ? 2u
                                                                                         : 1u);
    EXPECT_TRUE(world.Held().Read({})->open());
    ASSERT_TRUE(world.Down().ok());
    EXPECT_FALSE(world.Held().Read({})->open());
    ExpectClean(world);
  }
}

TEST(SliceRenterTest, UpAgainFindsTheSliceThatIsThere) {
  RentedWorld world;
  ASSERT_TRUE(world.Up(RentedWorld::Wish()).ok());
  const Result<RentedSlice> again = world.Up(RentedWorld::Wish());
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->order.name, "pipe-mine-1");
  const Status other = world.Up(RentedWorld::Wish("v2-8")).status();
  EXPECT_EQ(other.code(), Code::kFailedPrecondition);
  EXPECT_TRUE(Says(other, "is rented as v3-8 in us-central1-a")) << other.message();
}

TEST(SliceRenterTest, AZoneWithoutCapacityIsPassedOver) {
  for (const char* type : {"v3-8", "v5e-4"}) {
    RentedWorld world;
    world.cloud.SetCapacity("us-central1-a", 0);
    const Result<RentedSlice> slice = world.Up(RentedWorld::Wish(type));
    ASSERT_TRUE(slice.ok()) << slice.status().message();
    EXPECT_EQ(slice->order.zone, "us-central1-b");
    EXPECT_EQ(world.cloud.Left().size(), 1u);
    ASSERT_TRUE(world.Down().ok());
    ExpectClean(world);
  }
}

TEST(SliceRenterTest, StockOutForHoursIsWaitedFor) {
  RentedWorld world;
  for (const char* zone : {"us-central1-a", "us-central1-b", "europe-west4-a"})
    world.cloud.SetCapacity(zone, 0);
  // One command asks for hours of simulated time, and is stopped then.
  SliceWish wish = RentedWorld::Wish();
  ASSERT_EQ(world.Up(wish, 400).status().code(), Code::kCancelled);
  EXPECT_GT(world.cloud.now() - 1'800'000'000, 3 * 3600);
  EXPECT_LT(world.cloud.Requests().size(), 420u);
  world.cloud.SetCapacity("europe-west4-a", 5);
  const Result<RentedSlice> slice = world.Up(wish);
  ASSERT_TRUE(slice.ok()) << slice.status().message();
  EXPECT_EQ(slice->order.zone, "europe-west4-a");
  ASSERT_TRUE(world.Down().ok());
  ExpectClean(world);
}

TEST(SliceRenterTest, QuotaRightAndArgumentEndWithTheReasonAndTheRemedy) {
  struct Row {
    TpuFault fault;
    const char *reason, *remedy;
  };
  const Row rows[] = {
      {Refusal("POST", "nodes", 429, "RESOURCE_EXHAUSTED",
               "Quota limit 'X' has been exceeded. Limit: 0 in zone Z."),
       "Limit: 0", "ask for more quota of v3-8 in us-central1-a"},
      {Refusal("POST", "nodes", 403, "PERMISSION_DENIED", "Cloud TPU API has not been used"),
       "has not been used", "gcloud services enable tpu.googleapis.com"},
      {Refusal("POST", "nodes", 400, "INVALID_ARGUMENT", "The accelerator type does not exist"),
       "does not exist", "accelerator-types list --zone us-central1-a"},
      {Refusal("GET", "nodes", 403, "PERMISSION_DENIED", "Permission 'tpu.nodes.get' denied", 1'000),
       "tpu.nodes.get", "roles/tpu.admin"},
  };
  for (const Row& row : rows) {
    RentedWorld world;
    world.cloud.Fail(row.fault);
    const Status refused = world.Up(RentedWorld::Wish()).status();
    EXPECT_FALSE(refused.ok());
    EXPECT_TRUE(Says(refused, row.reason)) << refused.message();
    EXPECT_TRUE(Says(refused, row.remedy)) << refused.message();
    EXPECT_TRUE(world.cloud.Left().empty());
  }
}

TEST(SliceRenterTest, AFaultInsideTheCloudIsNoRefusal) {
  for (const int code : {13, 10, 4, 2, 14}) {
    RentedWorld world;
    TpuFault fault = Refusal("POST", "nodes", 200, "", "");
    fault.body = StrCat(R"({"name":"projects/corpus/locations/z/operations/o","done":true,"error":{"code":)",
                        code, R"(,"message":"an internal error has occurred"}})");
    world.cloud.Fail(fault);
    const Result<RentedSlice> slice = world.Up(RentedWorld::Wish());
    ASSERT_TRUE(slice.ok()) << code << ": " << slice.status().message();
    EXPECT_EQ(slice->order.zone, "us-central1-b");
    ASSERT_TRUE(world.Down().ok());
    ExpectClean(world);
  }
}

TEST(SliceRenterTest, AConflictWithoutAReasonIsTriedAgain) {
  RentedWorld world;
  world.cloud.Fail(Refusal("POST", "nodes", 409, "ABORTED", "unable to queue the operation", 2));
  ASSERT_TRUE(world.Up(RentedWorld::Wish()).ok());
  world.cloud.Fail(Refusal("DELETE", "nodes", 409, "ABORTED", "unable to queue the operation", 2));
  ASSERT_TRUE(world.Down().ok());
  ExpectClean(world);
}

TEST(SliceRenterTest, ARequestThatFailsInTheQueueTellsItsReason) {
  struct Row {
    const char* error;
    const char* reason;  // empty: another zone has it
  };
  for (const Row& row :
       {Row{R"({"code":8,"message":"Quota limit 'X' has been exceeded. Limit: 0 in zone Z."})",
            "ask for more quota"},
        Row{R"({"code":3,"message":"The image does not exist"})", "accelerator-types list"},
        Row{R"({"code":4,"message":"The request has expired"})", ""}, Row{R"({})", ""}}) {
    RentedWorld world;
    world.cloud.FailQueued("us-central1-a", row.error);
    const Result<RentedSlice> slice = world.Up(RentedWorld::Wish("v5e-16"));
    if (*row.reason == '\0') {
      ASSERT_TRUE(slice.ok()) << row.error << ": " << slice.status().message();
      EXPECT_EQ(slice->order.zone, "us-central1-b");
    } else {
      EXPECT_TRUE(Says(slice.status(), row.reason)) << slice.status().message();
    }
    ASSERT_TRUE(world.Down().ok());
    ExpectClean(world);
  }
}

TEST(SliceRenterTest, ARequestThatFailedIsGivenBackWithoutAFailure) {
  RentedWorld world;
  ASSERT_EQ(world.Up(RentedWorld::Wish("v5e-16"), 2).status().code(), Code::kCancelled);
  world.cloud.FailQueued("us-central1-a", R"({"code":3,"message":"The image does not exist"})");
  const Status down = world.Down();
  EXPECT_TRUE(down.ok()) << down.message();
  ExpectClean(world);
}

TEST(SliceRenterTest, DownWaitsForALateRequestAlsoIfItsFirstLookHasNoAnswer) {
  RentedWorld world;
  ASSERT_EQ(world.Up(RentedWorld::Wish(), 1).status().code(), Code::kCancelled);
  constexpr int kDropped = 60;  // the first look gives up after some forty
  world.cloud.Fail(Fault("GET", "nodes", Wrong::kDropBefore, kDropped));
  const std::size_t before = world.cloud.Requests().size();
  ASSERT_TRUE(world.Down().ok());
  const std::vector<std::string> requests = world.cloud.Requests();
  const auto looks =
      std::count_if(requests.begin() + static_cast<std::ptrdiff_t>(before), requests.end(),
                    [](const std::string& request) { return request.ends_with("nodes/pipe-mine-1"); });
  EXPECT_GE(looks - kDropped, 8);  // two minutes of looks, and not half of one
  ExpectClean(world);
}

TEST(SliceRenterTest, AnOutageOfMinutesEndsNothingAndOneOfAnHourIsTold) {
  RentedWorld world;
  ASSERT_EQ(world.Up(RentedWorld::Wish(), 3).status().code(), Code::kCancelled);
  world.cloud.Fail(Fault("GET", "", Wrong::kDropBefore, 30));
  ASSERT_TRUE(world.Up(RentedWorld::Wish()).ok());
  world.cloud.Fail(Fault("GET", "", Wrong::kDropBefore, 30));
  ASSERT_TRUE(world.Down().ok());
  ExpectClean(world);
  world.cloud.Fail(Fault("GET", "", Wrong::kDropBefore, 100'000));
  EXPECT_EQ(world.Up(RentedWorld::Wish()).status().code(), Code::kUnavailable);
}

TEST(SliceRenterTest, RequestsThatNobodyAnswersHaveAnEnd) {
  RentedWorld world;
  world.cloud.Fail(Refusal("POST", "us-central1-a", 503, "UNAVAILABLE", "no", 100'000));
  const Result<RentedSlice> slice = world.Up(RentedWorld::Wish());
  ASSERT_TRUE(slice.ok()) << slice.status().message();
  EXPECT_EQ(slice->order.zone, "us-central1-b");
  ASSERT_TRUE(world.Down().ok());
  ExpectClean(world);
}

TEST(SliceRenterTest, NothingIsAskedForUnderALostLease) {
  RentedWorld world;
  world.confirm = [] { return Status(Code::kFailedPrecondition, "another command has the records"); };
  EXPECT_EQ(world.Up(RentedWorld::Wish()).status().code(), Code::kFailedPrecondition);
  EXPECT_TRUE(world.cloud.Requests().empty());
  EXPECT_EQ(world.Held().Read({})->number, 0u);
}

TEST(SliceRenterTest, AWrongZoneIsARefusalAndNoWait) {
  RentedWorld world;
  SliceWish wish = RentedWorld::Wish();
  wish.zones = {"moon-east1-a"};
  const Status refused = world.Up(wish).status();
  EXPECT_TRUE(Says(refused, "moon-east1-a")) << refused.message();
  EXPECT_LT(world.cloud.now() - 1'800'000'000, 600);
}

TEST(SliceRenterTest, ACreateThatTimesOutAndSucceedsMakesOneMachine) {
  for (const Wrong kind : {Wrong::kDropAfter, Wrong::kDropBefore}) {
    RentedWorld world;
    world.cloud.Fail(Fault("POST", "nodes", kind));
    ASSERT_TRUE(world.Up(RentedWorld::Wish()).ok());
    EXPECT_EQ(world.cloud.Creations("pipe-mine-1"), 1);
    ASSERT_TRUE(world.Down().ok());
    ExpectClean(world);
  }
}

TEST(SliceRenterTest, ACreateThatArrivesLateIsNotLeftBehind) {
  RentedWorld world;
  TpuFault late = Fault("POST", "nodes", Wrong::kDropLate);
  late.seconds = 90;
  world.cloud.Fail(late);
  ASSERT_EQ(world.Up(RentedWorld::Wish(), 2).status().code(), Code::kCancelled);
  ASSERT_TRUE(world.Down().ok());
  world.cloud.Advance(std::chrono::seconds(300));
  ExpectClean(world);
}

TEST(SliceRenterTest, AStrangersMachineOfOurNameIsNeverTouched) {
  RentedWorld world;
  world.cloud.AddPersonsNode("us-central1-a", "pipe-mine-1");
  const Status refused = world.Up(RentedWorld::Wish()).status();
  EXPECT_TRUE(Says(refused, "`pipe` did not make it")) << refused.message();
  EXPECT_TRUE(world.Down().ok());
  EXPECT_EQ(world.cloud.PersonsLost(), 0);
  // The next attempt has another name.
  ASSERT_TRUE(world.Up(RentedWorld::Wish()).ok());
  ASSERT_TRUE(world.Down().ok());
  ExpectClean(world);
}

TEST(SliceRenterTest, EachStateOfAMachineThatIsLostLeadsToAnother) {
  for (const char* state : {"PREEMPTED", "TERMINATED", "STOPPED", "STOPPING", "HIDING", "HIDDEN", "UNKNOWN",
                            "A_STATE_OF_TOMORROW"}) {
    RentedWorld world;
    ASSERT_EQ(world.Up(RentedWorld::Wish(), 3).status().code(), Code::kCancelled);
    world.cloud.SetState("pipe-mine-1", state);
    const Result<RentedSlice> slice = world.Up(RentedWorld::Wish());
    ASSERT_TRUE(slice.ok()) << state << ": " << slice.status().message();
    EXPECT_EQ(slice->order.name, "pipe-mine-2") << state;
    EXPECT_EQ(world.cloud.Left().size(), 1u) << state;
    ASSERT_TRUE(world.Down().ok());
    ExpectClean(world);
  }
}

TEST(SliceRenterTest, AMachineThatIsRepairedForeverIsGivenUp) {
  RentedWorld world;
  ASSERT_EQ(world.Up(RentedWorld::Wish(), 3).status().code(), Code::kCancelled);
  world.cloud.SetState("pipe-mine-1", "REPAIRING");
  const Result<RentedSlice> slice = world.Up(RentedWorld::Wish());
  ASSERT_TRUE(slice.ok());
  EXPECT_EQ(slice->order.name, "pipe-mine-2");
  ASSERT_TRUE(world.Down().ok());
  ExpectClean(world);
}

TEST(SliceRenterTest, AMachineThatVanishesWithoutAStateIsLost) {
  RentedWorld world;
  ASSERT_EQ(world.Up(RentedWorld::Wish(), 3).status().code(), Code::kCancelled);
  world.cloud.Vanish("pipe-mine-1");
  // The command that saw it is dead, so the next one asks for it again.
  EXPECT_EQ(world.Up(RentedWorld::Wish())->order.name, "pipe-mine-1");
  ASSERT_TRUE(world.Down().ok());
  EXPECT_TRUE(world.cloud.Left().empty());
}

TEST(SliceRenterTest, ASuspendedQueuedResourceIsDeletedWithForce) {
  RentedWorld world;
  ASSERT_EQ(world.Up(RentedWorld::Wish("v5e-16"), 3).status().code(), Code::kCancelled);
  world.cloud.Preempt("pipe-mine-1");
  const Result<RentedSlice> slice = world.Up(RentedWorld::Wish("v5e-16"));
  ASSERT_TRUE(slice.ok()) << slice.status().message();
  EXPECT_EQ(slice->order.name, "pipe-mine-2");
  bool forced = false;
  for (const std::string& request : world.cloud.Requests())
    forced = forced ||
             (request.starts_with("DELETE") && request.ends_with("queuedResources/pipe-mine-1?force=true"));
  EXPECT_TRUE(forced);
  ASSERT_TRUE(world.Down().ok());
  ExpectClean(world);
}

TEST(SliceRenterTest, ADeleteThatLiesIsRepeated) {
  for (const Wrong kind : {Wrong::kLie, Wrong::kDropBefore, Wrong::kDropAfter}) {
    RentedWorld world;
    ASSERT_TRUE(world.Up(RentedWorld::Wish()).ok());
    world.cloud.Fail(Fault("DELETE", "nodes", kind, 3));
    ASSERT_TRUE(world.Down().ok());
    ExpectClean(world);
  }
}

TEST(SliceRenterTest, AMachineThatCannotBeDeletedIsNamed) {
  RentedWorld world;
  ASSERT_TRUE(world.Up(RentedWorld::Wish()).ok());
  world.cloud.Fail(Fault("DELETE", "nodes", Wrong::kLie, 100'000));
  const Status stuck = world.Down();
  EXPECT_TRUE(Says(stuck, "us-central1-a/pipe-mine-1: could not be deleted")) << stuck.message();
  EXPECT_TRUE(world.Held().Read({})->open());
}

TEST(SliceRenterTest, StormsOfRefusalsAreOutlasted) {
  RentedWorld world;
  for (const char* method : {"GET", "POST"}) {
    world.cloud.Fail(Refusal(method, "", 503, "UNAVAILABLE", "The service is currently unavailable.", 5));
    world.cloud.Fail(
        Refusal(method, "", 429, "RESOURCE_EXHAUSTED",
                "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute'", 5));
  }
  ASSERT_TRUE(world.Up(RentedWorld::Wish()).ok());
  ASSERT_TRUE(world.Down().ok());
  ExpectClean(world);
}

TEST(SliceRenterTest, AnOperationThatNeverEndsIsNotWaitedFor) {
  RentedWorld world;
  world.cloud.Fail(Refusal("GET", "operations", 200, "", "", 100'000));
  ASSERT_TRUE(world.Up(RentedWorld::Wish()).ok());
  ASSERT_TRUE(world.Down().ok());
  ExpectClean(world);
}

TEST(SliceRenterTest, AListThatLagsOrLeavesAZoneOutIsNoReasonToForget) {
  RentedWorld world;
  world.cloud.LagLists(30);
  ASSERT_TRUE(world.Up(RentedWorld::Wish()).ok());
  world.cloud.LeaveOut("europe-west4-a");
  const Status down = world.Down();
  EXPECT_TRUE(Says(down, "europe-west4-a")) << down.message();
  ExpectClean(world);
}

/// The requests of a whole life, without what is repeated.
std::string LifeOf(const RentedWorld& world) {
  std::string life, last;
  for (const std::string& request : world.cloud.Requests()) {
    const std::string line = request.substr(0, request.find(" {"));
    if (line != last) life += line + "\n";
    last = line;
  }
  return life;
}

TEST(SliceRenterTest, TheRequestsOfALifeAreThoseOfTheGoldenFiles) {
  for (const char* type : {"v3-8", "2xv5e-16"}) {
    RentedWorld world;
    world.cloud.SetCapacity("us-central1-a", 0);
    ASSERT_TRUE(world.Up(RentedWorld::Wish(type)).ok());
    ASSERT_TRUE(world.Down().ok());
    const std::string name = StrCat("life-", type, ".txt");
    const std::filesystem::path golden = std::filesystem::path(SourceDir()) / "tests/golden/tpu" / name;
    if (std::filesystem::exists(golden) && ReadFile(golden) == LifeOf(world)) continue;
    const std::filesystem::path left = std::filesystem::temp_directory_path() / name;
    WriteFile(left, LifeOf(world));
    ADD_FAILURE() << golden << " is not what is made now: " << left;
  }
}

/// A thousand slices, each with a fault and with commands that are killed at any request.
TEST(SliceRenterTest, AThousandLivesLeaveNothingBehind) {
  std::mt19937 random(20'261'201);
  const auto below = [&random](int most) { return static_cast<int>(random() % static_cast<unsigned>(most)); };
  const char* const types[] = {"v3-8", "v2-32", "v5e-16", "2xv5e-16"};
  const char* const methods[] = {"GET", "POST", "DELETE"};
  const Wrong kinds[] = {Wrong::kDropBefore, Wrong::kDropAfter, Wrong::kDropLate, Wrong::kLie};
  const char* const states[] = {"PREEMPTED", "TERMINATED", "UNKNOWN", "REPAIRING", "HIDDEN"};
  int killed = 0, ready = 0;
  for (int life = 0; life < 1000; ++life) {
    RentedWorld world;
    SCOPED_TRACE(life);
    world.cloud.AddPersonsNode("us-central1-a", "somebodys");
    if (below(4) == 0) world.cloud.SetCapacity("us-central1-a", 0);
    for (int fault = below(3); fault > 0; --fault) {
      TpuFault one = Fault(methods[below(3)], "", kinds[below(4)], 1 + below(3));
      if (one.method != "DELETE" && one.kind == Wrong::kLie) one.kind = Wrong::kDropBefore;
      one.seconds = 1 + below(100);
      world.cloud.Fail(one);
    }
    const SliceWish wish = RentedWorld::Wish(types[below(4)]);
    for (int command = below(4); command > 0; --command) {
      const Result<RentedSlice> slice = world.Up(wish, below(12), below(2) == 0);
      killed += slice.ok() ? 0 : 1;
      if (below(3) == 0)
        for (const FakeTpu::Machine& machine : world.cloud.Left()) {
          if (below(2) == 0)
            world.cloud.Preempt(machine.id);
          else
            world.cloud.SetState(machine.id, machine.queued ? "SUSPENDED" : states[below(5)]);
        }
    }
    if (below(3) > 0) {
      const Result<RentedSlice> slice = world.Up(wish);
      ASSERT_TRUE(slice.ok()) << slice.status().message();
      ++ready;
      ASSERT_LE(world.cloud.Left().size(), 1u);
    }
    for (int command = below(3); command > 0; --command)
      killed += world.Down(below(6), below(2) == 0).ok() ? 0 : 1;
    ASSERT_TRUE(world.Down().ok());
    world.cloud.Advance(std::chrono::seconds(600));
    ExpectClean(world);
    if (HasFailure()) {
      for (const std::string& line : world.told) std::printf("%s\n", line.c_str());
      for (const std::string& request : world.cloud.Requests())
        std::printf("%s\n", request.substr(0, 200).c_str());
      return;
    }
  }
  std::printf("1000 lives, %d commands killed, %d slices ready\n", killed, ready);
  EXPECT_GT(killed, 500);
  EXPECT_GT(ready, 500);
}

}  // namespace
}  // namespace pipeline
