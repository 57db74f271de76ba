#include <gtest/gtest.h>

#include "plugins/train/hosts/slice_attributes.h"

namespace pipeline {
namespace {

using Addresses = std::vector<std::string>;

TEST(WorkerEndpointsTest, FormOfOlderMachinesHasTheAddressInItsThirdField) {
  EXPECT_EQ(*ParseWorkerEndpoints("unknown:unknown:10.0.0.11,unknown:unknown:10.0.0.12"),
            (Addresses{"10.0.0.11", "10.0.0.12"}));
}

TEST(WorkerEndpointsTest, FormOfNewerMachinesIsAListOfHosts) {
  EXPECT_EQ(*ParseWorkerEndpoints("instance-20260826-215213"), Addresses{"instance-20260826-215213"});
  EXPECT_EQ(*ParseWorkerEndpoints("host-0,10.0.0.12"), (Addresses{"host-0", "10.0.0.12"}));
}

TEST(WorkerEndpointsTest, ColonsOfIpv6DivideNothing) {
  EXPECT_EQ(*ParseWorkerEndpoints("unknown:unknown:fd00::1,unknown:unknown:[fd00::2]"),
            (Addresses{"fd00::1", "fd00::2"}));
  EXPECT_EQ(*ParseWorkerEndpoints("fd00::1,[fd00::2],2001:db8:1:2:3:4:5:6"),
            (Addresses{"fd00::1", "fd00::2", "2001:db8:1:2:3:4:5:6"}));
  EXPECT_EQ(*ParseWorkerEndpoints("::10.0.0.1"), Addresses{"::10.0.0.1"});
}

TEST(WorkerEndpointsTest, OtherFormsAreRefused) {
  for (const std::string_view text : {"", "host:8470", "a:b:", "a:b:10.0.0.1:8470", "a:b:10.0.0.1,",
                                      "a:b:10.0.0.1,,a:b:10.0.0.2", "[a:b:c", "a:b"})
    EXPECT_EQ(ParseWorkerEndpoints(text).status().code(), Code::kInvalidArgument) << text;
}

}  // namespace
}  // namespace pipeline
