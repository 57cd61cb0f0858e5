// SPDX-License-Identifier: Apache-2.0
#include "compiler/targets/ascend/describe_hazard.h"

#include "compiler/ir/npu_ops.h"
#include "compiler/targets/ascend/build_program.h"

namespace tilewright::ascend {

using namespace mlir;

namespace {

/// The instruction's name, and of vector instructions what they compute.
std::string nameOf(const model::Node* statement) {
  Operation* op = operationOf(statement);
  if (auto unary = dyn_cast<npu::UnaryOp>(op))
    return npu::stringifyUnaryKind(unary.getKind()).str();
  if (auto binary = dyn_cast<npu::BinaryOp>(op))
    return npu::stringifyBinaryKind(binary.getKind()).str();
  if (auto scalar = dyn_cast<npu::ScalarOp>(op))
    return npu::stringifyScalarKind(scalar.getKind()).str() + " of a scalar";
  if (auto function = dyn_cast<npu::FunctionOp>(op))
    return npu::stringifyFunctionKind(function.getKind()).str();
  return op->getName().stripDialect().str();
}

/// Whether the two have bytes in common in some iteration, as far as the ranges themselves say.
bool mayMeet(const model::Access& a, const model::Access& b) {
  if (a.memory != b.memory)
    return false;
  const bool isFixed = a.terms.empty() && b.terms.empty() && a.rows == 1 && b.rows == 1;
  return !isFixed || (a.begin < b.end && b.begin < a.end);
}

/// Whether `statement` writes what `other` touches.
bool doesWrite(const model::Node* statement, const model::Node* other) {
  for (const model::Access& access : statement->accesses)
    for (const model::Access& met : other->accesses)
      if (access.isWrite && mayMeet(access, met))
        return true;
  return false;
}

} // namespace

std::string describe(const model::Hazard& hazard) {
  const bool writes = doesWrite(hazard.later, hazard.earlier);
  const bool wrote = doesWrite(hazard.earlier, hazard.later);
  return nameOf(hazard.later) + (wrote || !writes ? " needs what " : " overwrites what ") +
         nameOf(hazard.earlier) + (hazard.carriedBy ? " of an earlier iteration" : "") +
         (wrote ? " writes" : " reads");
}

std::string describeHold(const model::Hazard& hazard) {
  return nameOf(hazard.later) + " waits for " + nameOf(hazard.earlier) +
         (hazard.carriedBy ? " of an earlier iteration" : "") +
         ", so that no flag is set twice in a row";
}

std::string describe(const model::Flag& flag) {
  const std::string number = std::to_string(flag.id);
  if (flag.isCross)
    return "cross-core flag " + number + " of the " +
           (flag.to.agent == model::Agent::Cube ? "cube core" : "vector cores");
  return "event " + number + " from " + model::nameOf(flag.from.pipe) + " to " +
         model::nameOf(flag.to.pipe);
}

} // namespace tilewright::ascend
