// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/place_of.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

namespace tilewright {
namespace {

class PlaceOfTest : public testing::Test {
protected:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  mlir::StringAttr file = mlir::StringAttr::get(&context, "kernel.py");
  mlir::Location at(unsigned line, unsigned column) {
    return mlir::FileLineColLoc::get(file, line, column);
  }
};

TEST_F(PlaceOfTest, ReadsPointsAndRanges) {
  EXPECT_EQ(placeOf(at(3, 5)), (Place{"kernel.py", 3, 5, 0}));
  EXPECT_EQ(placeOf(mlir::FileLineColRange::get(file, 3, 5, 9)), (Place{"kernel.py", 3, 5, 9}));
  EXPECT_EQ(placeOf(mlir::FileLineColRange::get(file, 3, 5, 4, 9)), (Place{"kernel.py", 3, 5, 0}));
  EXPECT_FALSE(placeOf(mlir::UnknownLoc::get(&context)).isKnown());
}

TEST_F(PlaceOfTest, GivesTheInnermostPlaceAndItsCallSites) {
  mlir::Location inner = mlir::CallSiteLoc::get(named("load", at(30, 1)), at(20, 1));
  mlir::Location outer = mlir::CallSiteLoc::get(named("step", inner), at(10, 1));
  EXPECT_EQ(placeOf(outer).line, 30);
  auto notes = callSitesOf(outer);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_EQ(notes[0].place.line, 20);
  EXPECT_EQ(notes[0].message, "in the macro 'load', called here");
  EXPECT_EQ(notes[1].place.line, 10);
  EXPECT_EQ(notes[1].message, "in the macro 'step', called here");
  EXPECT_TRUE(callSitesOf(at(1, 1)).empty());
}

TEST_F(PlaceOfTest, KnowsValuesByTheirNamesButNotMacros) {
  mlir::Location inMacro = mlir::CallSiteLoc::get(named("load", at(30, 1)), at(20, 1));
  EXPECT_EQ(nameOf(inMacro), "");
  EXPECT_EQ(nameOf(at(1, 1)), "");
  mlir::Location row = named("row", inMacro);
  EXPECT_EQ(nameOf(row), "row");
  EXPECT_EQ(placeOf(row).line, 30);
  ASSERT_EQ(callSitesOf(row).size(), 1U);
  EXPECT_EQ(callSitesOf(row)[0].message, "in the macro 'load', called here");
  mlir::Location fused = mlir::FusedLoc::get(&context, {row, at(1, 1)});
  EXPECT_EQ(nameOf(fused), "row");
  EXPECT_EQ(callSitesOf(fused).size(), 1U);
}

} // namespace
} // namespace tilewright
