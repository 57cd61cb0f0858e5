// SPDX-License-Identifier: Apache-2.0
#include "compiler/ir/structure_ops.h"

#include "compiler/ir/tensor_ops.h"
#include "compiler/ir/thread_ops.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

using namespace mlir;
using namespace tilewright::tile;

#define GET_OP_CLASSES
#include "compiler/ir/structure_ops.cpp.inc"

void TileDialect::addStructureOps() {
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/structure_ops.cpp.inc"
      >();
}

/// On a check that no statement of the kernel asks for.
static constexpr llvm::StringLiteral kCheckAttr = "tile.check";

AssertOp AssertOp::check(OpBuilder& builder, Location place, Value condition, StringRef message) {
  auto made = create(builder, place, condition, message);
  made->setAttr(kCheckAttr, builder.getUnitAttr());
  return made;
}

std::string AssertOp::told(StringRef asked) {
  if ((*this)->hasAttr(kCheckAttr))
    return getMessage().str();
  return getMessage().empty() ? asked.str() : (asked + ": " + getMessage()).str();
}

/// Adds a region with one block of `arguments` index arguments, ended by a yield.
static void addBody(OpBuilder& builder, OperationState& state, unsigned arguments) {
  OpBuilder::InsertionGuard guard(builder);
  mlir::Region* body = state.addRegion();
  SmallVector<Type> types(arguments, builder.getIndexType());
  SmallVector<Location> places(arguments, state.location);
  builder.createBlock(body, body->end(), types, places);
  YieldOp::create(builder, state.location);
}

static ParseResult parseIndexBody(OpAsmParser& parser, OperationState& state,
                                  MutableArrayRef<OpAsmParser::Argument> arguments) {
  for (OpAsmParser::Argument& argument : arguments)
    argument.type = parser.getBuilder().getIndexType();
  mlir::Region* body = state.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  LaunchOp::ensureTerminator(*body, parser.getBuilder(), state.location);
  return success();
}

static void printBody(OpAsmPrinter& printer, mlir::Region& body) {
  printer << " ";
  printer.printRegion(body, /*printEntryBlockArgs=*/false, /*printBlockTerminators=*/false);
}

static LogicalResult verifyIndexArguments(Operation* op, Block& body, size_t count,
                                          StringRef what) {
  if (body.getNumArguments() != count)
    return op->emitOpError() << "has " << count << " " << what << " but its body takes "
                             << body.getNumArguments() << " numbers";
  for (BlockArgument argument : body.getArguments())
    if (!argument.getType().isIndex())
      return op->emitOpError() << "gives its body numbers of type index, not "
                               << argument.getType();
  return success();
}

// Launch
// -----------------------------------------------------------------------------------------------

void LaunchOp::build(OpBuilder& builder, OperationState& state, ValueRange grid,
                     ArrayRef<int64_t> threads, bool npu) {
  state.addOperands(grid);
  auto& properties = state.getOrAddProperties<Properties>();
  properties.threads = builder.getDenseI64ArrayAttr(threads);
  if (npu)
    properties.npu = builder.getUnitAttr();
  addBody(builder, state, grid.size());
}

int64_t LaunchOp::getThreadCount() {
  int64_t count = 1;
  for (int64_t extent : getThreads())
    count *= extent;
  return count;
}

ParseResult LaunchOp::parse(OpAsmParser& parser, OperationState& state) {
  SmallVector<OpAsmParser::Argument> ids;
  SmallVector<OpAsmParser::UnresolvedOperand> grid;
  SmallVector<int64_t> threads;
  if (parser.parseArgumentList(ids, OpAsmParser::Delimiter::Paren) || parser.parseKeyword("in") ||
      parser.parseOperandList(grid, OpAsmParser::Delimiter::Paren) ||
      parser.resolveOperands(grid, parser.getBuilder().getIndexType(), state.operands))
    return failure();
  auto parseThreads = [&]() -> ParseResult { return parser.parseInteger(threads.emplace_back()); };
  if (succeeded(parser.parseOptionalKeyword("threads")) &&
      parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren, parseThreads))
    return failure();
  auto& properties = state.getOrAddProperties<Properties>();
  properties.threads = parser.getBuilder().getDenseI64ArrayAttr(threads);
  if (succeeded(parser.parseOptionalKeyword("npu")))
    properties.npu = parser.getBuilder().getUnitAttr();
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  return parseIndexBody(parser, state, ids);
}

void LaunchOp::print(OpAsmPrinter& printer) {
  printer << " (";
  llvm::interleaveComma(getBlockIds(), printer);
  printer << ") in (";
  llvm::interleaveComma(getGrid(), printer);
  printer << ")";
  if (!getThreads().empty()) {
    printer << " threads(";
    llvm::interleaveComma(getThreads(), printer);
    printer << ")";
  }
  if (getNpu())
    printer << " npu";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"threads", "npu"});
  printBody(printer, getBody());
}

LogicalResult LaunchOp::verify() {
  size_t extents = getGrid().size();
  if (extents < 1 || extents > 3)
    return emitOpError() << "has 1 to 3 grid extents, not " << extents;
  if (getThreads().size() > 3)
    return emitOpError() << "has 1 to 3 thread extents, not " << getThreads().size();
  int64_t count = 1;
  for (int64_t extent : getThreads()) {
    if (extent < 1)
      return emitOpError() << "has a thread extent of " << extent << "; each is at least 1";
    if (llvm::MulOverflow(count, extent, count) || count > 1024)
      return emitOpError() << "has more than 1024 threads";
  }
  if (getNpu() && count > 2)
    return emitOpError() << "on an NPU has 1 or 2 threads, not " << count;
  return verifyIndexArguments(*this, *getBodyBlock(), extents, "grid extents");
}

// Loops
// ------------------------------------------------------------------------------------------------

void ForOp::build(OpBuilder& builder, OperationState& state, Value lower, Value upper, Value step,
                  LoopKind kind, int64_t numStages) {
  state.addOperands({lower, upper, step});
  auto& properties = state.getOrAddProperties<Properties>();
  properties.kind = LoopKindAttr::get(builder.getContext(), kind);
  properties.num_stages = builder.getI64IntegerAttr(numStages);
  addBody(builder, state, 1);
}

ParseResult ForOp::parse(OpAsmParser& parser, OperationState& state) {
  OpAsmParser::Argument variable;
  SmallVector<OpAsmParser::UnresolvedOperand, 3> bounds(3);
  if (parser.parseArgument(variable) || parser.parseEqual() || parser.parseOperand(bounds[0]) ||
      parser.parseKeyword("to") || parser.parseOperand(bounds[1]) || parser.parseKeyword("step") ||
      parser.parseOperand(bounds[2]) ||
      parser.resolveOperands(bounds, parser.getBuilder().getIndexType(), state.operands))
    return failure();
  StringRef kindName;
  auto& properties = state.getOrAddProperties<Properties>();
  SMLoc kindLoc = parser.getCurrentLocation();
  LoopKind kind = LoopKind::Serial;
  if (succeeded(parser.parseOptionalKeyword(
          &kindName, {"serial", "unroll", "vectorized", "pipelined", "persistent"})))
    kind = symbolizeLoopKind(kindName).value_or(LoopKind::Serial);
  properties.kind = LoopKindAttr::get(parser.getContext(), kind);
  int64_t stages = 0;
  if (succeeded(parser.parseOptionalLParen()) &&
      (parser.parseInteger(stages) || parser.parseRParen()))
    return failure();
  if (stages != 0 && kind != LoopKind::Pipelined)
    return parser.emitError(kindLoc) << "only a pipelined loop has stages";
  properties.num_stages = parser.getBuilder().getI64IntegerAttr(stages);
  if (parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  return parseIndexBody(parser, state, variable);
}

void ForOp::print(OpAsmPrinter& printer) {
  printer << " " << getInductionVar() << " = " << getLower() << " to " << getUpper() << " step "
          << getStep();
  if (getKind() != LoopKind::Serial)
    printer << " " << stringifyLoopKind(getKind());
  if (getNumStages() != 0)
    printer << "(" << getNumStages() << ")";
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"kind", "num_stages"});
  printBody(printer, getBody());
}

LogicalResult ForOp::verify() {
  if (int64_t(getNumStages()) < 0)
    return emitOpError() << "has " << int64_t(getNumStages())
                         << " stages; the number cannot be negative";
  if (getNumStages() != 0 && getKind() != LoopKind::Pipelined)
    return emitOpError() << "has " << getNumStages() << " stages; only a pipelined loop has any";
  if (std::optional<int64_t> step = getConstantIntValue(getStep()); step && *step < 1)
    return emitOpError() << "has step " << *step << "; it is at least 1";
  return verifyIndexArguments(*this, *getBodyBlock(), 1, "loop variables");
}

void WhileOp::build(OpBuilder& builder, OperationState& state) {
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(state.addRegion());
  addBody(builder, state, 0);
}

ParseResult WhileOp::parse(OpAsmParser& parser, OperationState& state) {
  mlir::Region* condition = state.addRegion();
  if (parser.parseRegion(*condition) || parser.parseKeyword("do") ||
      parseIndexBody(parser, state, {}))
    return failure();
  return parser.parseOptionalAttrDictWithKeyword(state.attributes);
}

void WhileOp::print(OpAsmPrinter& printer) {
  printer << " ";
  printer.printRegion(getCondition());
  printer << " do";
  printBody(printer, getBody());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs());
}

LogicalResult WhileOp::verify() {
  if (getCondition().front().empty() || !isa<ConditionOp>(getCondition().front().back()))
    return emitOpError() << "has a condition that ends with tile.condition";
  if (getBody().front().empty() || !isa<YieldOp>(getBody().front().back()))
    return emitOpError() << "has a body that ends with tile.yield";
  return success();
}

void ParallelOp::build(OpBuilder& builder, OperationState& state, ArrayRef<OpFoldResult> extents) {
  SmallVector<Value> dynamic;
  SmallVector<int64_t> fixed;
  dispatchIndexOpFoldResults(extents, dynamic, fixed);
  state.addOperands(dynamic);
  state.getOrAddProperties<Properties>().static_extents = builder.getDenseI64ArrayAttr(fixed);
  addBody(builder, state, extents.size());
}

SmallVector<OpFoldResult> ParallelOp::getMixedExtents() {
  Builder builder(getContext());
  return getMixedValues(getStaticExtents(), getExtents(), builder);
}

ParseResult ParallelOp::parse(OpAsmParser& parser, OperationState& state) {
  SmallVector<OpAsmParser::Argument> variables;
  SmallVector<OpAsmParser::UnresolvedOperand> extents;
  DenseI64ArrayAttr fixed;
  if (parser.parseArgumentList(variables, OpAsmParser::Delimiter::Paren) ||
      parser.parseKeyword("in") || parseDynamicIndexList(parser, extents, fixed) ||
      parser.resolveOperands(extents, parser.getBuilder().getIndexType(), state.operands) ||
      parser.parseOptionalAttrDictWithKeyword(state.attributes))
    return failure();
  state.getOrAddProperties<Properties>().static_extents = fixed;
  return parseIndexBody(parser, state, variables);
}

void ParallelOp::print(OpAsmPrinter& printer) {
  printer << " (";
  llvm::interleaveComma(getInductionVars(), printer);
  printer << ") in ";
  printDynamicIndexList(printer, *this, getExtents(), getStaticExtents());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {"static_extents"});
  printBody(printer, getBody());
}

LogicalResult ParallelOp::verify() {
  if (getStaticExtents().empty())
    return emitOpError() << "has at least one extent";
  if (size_t(llvm::count(getStaticExtents(), ShapedType::kDynamic)) != getExtents().size())
    return emitOpError() << "has another number of operands than of extents that are not static";
  for (int64_t extent : getStaticExtents())
    if (extent < 0 && !ShapedType::isDynamic(extent))
      return emitOpError() << "has extent " << extent << "; it cannot be negative";
  if (failed(verifyIndexArguments(*this, *getBodyBlock(), getStaticExtents().size(), "extents")))
    return failure();
  Operation* misplaced = nullptr;
  getBody().walk([&](Operation* nested) {
    bool isCollective = isTileOperation(nested) || isa<ParallelOp, LaunchOp, SyncOp>(nested);
    auto loop = dyn_cast<ForOp>(nested);
    if (!misplaced && (isCollective || (loop && loop.getKind() == LoopKind::Pipelined)))
      misplaced = nested;
  });
  if (!misplaced)
    return success();
  InFlightDiagnostic error = misplaced->emitOpError() << "cannot stand inside of a parallel loop";
  error.attachNote(getLoc()) << "the parallel loop is here";
  return error;
}

// Early exits
// ------------------------------------------------------------------------------------------

/// Finds the loop that an early exit leaves, through branches only.
static LogicalResult verifyEarlyExit(Operation* op) {
  for (Operation* parent = op->getParentOp(); parent; parent = parent->getParentOp()) {
    if (isa<ForOp, WhileOp>(parent))
      return success();
    if (isa<LaunchOp, ParallelOp>(parent) || !parent->getBlock())
      break;
  }
  return op->emitOpError() << "stands in no loop that it could leave";
}

LogicalResult BreakOp::verify() {
  return verifyEarlyExit(*this);
}
LogicalResult ContinueOp::verify() {
  return verifyEarlyExit(*this);
}
