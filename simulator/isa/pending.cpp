// SPDX-License-Identifier: Apache-2.0
#include "simulator/isa/vector.h"
namespace tilewright::ascend::isa {
static std::string no(const VectorInstr& i, AccessList&) {
  return wrongTypes(i);
}
static void none(const VectorInstr&, const Context&) {}
const VectorGroup compareGroup = {no, none}, reduceGroup = {no, none}, reduceAllGroup = {no, none},
                  gatherGroup = {no, none}, rearrangeGroup = {no, none}, sortGroup = {no, none};
const char* nameOf(CubeOp) {
  return "cube";
}
std::string inspect(const CubeInstr&, AccessList&) {
  return "cube instructions are not supported yet";
}
void run(const CubeInstr&, const Context&) {}
} // namespace tilewright::ascend::isa
