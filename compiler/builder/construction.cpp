// SPDX-License-Identifier: Apache-2.0
#include "compiler/builder/construction.h"

#include "compiler/builder/element_types.h"
#include "compiler/builder/promotion.h"
#include "compiler/ir/ascend_ops.h"
#include "compiler/ir/float_rounding.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <atomic>

namespace tilewright::builder {

std::unique_ptr<mlir::MLIRContext> Construction::makeContext() {
  // Compiling one kernel is too little work for a thread pool.
  auto made = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
  made->loadDialect<tile::TileDialect, ascend::AscendDialect, mlir::func::FuncDialect,
                    mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::scf::SCFDialect>();
  made->printOpOnDiagnostic(false); // messages are for users
  return made;
}

static int64_t nextIdentity() {
  static std::atomic<int32_t> count = 0;
  return ++count & 0x7FFFFFFF;
}

/// What a library of C can call a kernel: letters beyond ASCII, and all else that C's names lack, are `_`.
static std::string symbolOf(llvm::StringRef name) {
  std::string symbol = name.empty() || llvm::isDigit(name[0]) ? "_" : "";
  for (const char letter : name) {
    const bool isWithinLetter =
        (uint8_t(letter) & 0xC0) == 0x80; // of UTF-8, all but the first byte
    if (!isWithinLetter)
      symbol += llvm::isAlnum(letter) ? letter : '_';
  }
  return symbol;
}

Construction::Construction(std::string_view name, Place where)
    : context(makeContext()), ir(context.get()), kernelName(name), kernelPlace(where),
      place(std::move(where)), identity(nextIdentity()) {
  module = mlir::ModuleOp::create(location());
  ir.setInsertionPointToEnd(module->getBody());
  function =
      mlir::func::FuncOp::create(ir, location(), symbolOf(kernelName), ir.getFunctionType({}, {}));
  function->setAttr(tile::kKernelAttr, ir.getUnitAttr());
  mlir::Block* body = function.addEntryBlock();
  frames.push_back(
      {FrameKind::Function, 0, "kernel", place, function, body, {}, false, nullptr, false});
  ir.setInsertionPointToEnd(body);
}

// Errors

void Construction::report(Severity severity, std::string message, std::vector<Note> notes,
                          Fault fault) {
  constexpr ptrdiff_t most = 6, innermost = 3, outermost = 2;
  for (auto macro = macros.rbegin(); macro != macros.rend(); ++macro) {
    const bool isAmongMany = std::ssize(macros) > most && macro - macros.rbegin() >= innermost &&
                             macros.rend() - macro > outermost;
    if (!isAmongMany)
      notes.push_back({macro->callSite, "in the macro '" + macro->name + "', called here"});
  }
  // Both sides of an operation may be one buffer.
  for (auto note = notes.begin(); note != notes.end();) {
    const bool isRepeated = std::any_of(notes.begin(), note, [&](const Note& earlier) {
      return earlier.place == note->place && earlier.message == note->message;
    });
    note = isRepeated ? notes.erase(note) : note + 1;
  }
  const Place& where = place.isKnown() ? place : kernelPlace;
  // `k + k`, or a Python loop around a statement, would say the same twice.
  bool isKnown = std::any_of(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& other) {
    return other.place == where && other.message == message;
  });
  if (isKnown)
    return;
  diagnostics.push_back({severity, where, std::move(message), std::move(notes)});
  faults.push_back(fault);
}

bool Construction::hasErrors() const {
  return std::any_of(diagnostics.begin(), diagnostics.end(), [](const Diagnostic& diagnostic) {
    return diagnostic.severity <= Severity::Internal;
  });
}

static mlir::Location locationOf(mlir::MLIRContext* context, const Place& place) {
  if (place.file.empty())
    return mlir::UnknownLoc::get(context);
  auto file = mlir::StringAttr::get(context, place.file);
  auto line = unsigned(std::max(place.line, 0)), column = unsigned(std::max(place.column, 0));
  if (place.endColumn > place.column)
    return mlir::FileLineColRange::get(file, line, column, unsigned(place.endColumn));
  return mlir::FileLineColLoc::get(file, line, column);
}

mlir::Location Construction::location() const {
  mlir::MLIRContext* owner = context.get();
  mlir::Location here = locationOf(owner, place.isKnown() ? place : kernelPlace);
  for (auto macro = macros.rbegin(); macro != macros.rend(); ++macro) {
    here = mlir::NameLoc::get(mlir::StringAttr::get(owner, macro->name), here);
    here = mlir::CallSiteLoc::get(here, locationOf(owner, macro->callSite));
  }
  return here;
}

// Scopes

/// Ops go before the block's terminator, if it has one.
static void setInsertionPoint(mlir::OpBuilder& ir, mlir::Block* block) {
  if (!block->empty() && block->back().hasTrait<mlir::OpTrait::IsTerminator>())
    ir.setInsertionPoint(&block->back());
  else
    ir.setInsertionPointToEnd(block);
}

Frame& Construction::push(FrameKind kind, std::string name, mlir::Operation* op,
                          mlir::Block* block) {
  frames.push_back({kind,
                    nextSerial++,
                    std::move(name),
                    place,
                    op,
                    block ? block : frames.back().block,
                    {},
                    false,
                    nullptr,
                    false});
  setInsertionPoint(ir, frames.back().block);
  return frames.back();
}

std::optional<Frame> Construction::pop(FrameKind kind, std::string_view what) {
  if (frames.back().kind != kind) {
    report(Severity::Internal,
           std::string(what) + " ends here, but the innermost open scope is the " +
               frames.back().name,
           {{frames.back().place, "the " + frames.back().name + " starts here"}});
    return std::nullopt;
  }
  Frame closed = frames.back();
  frames.pop_back();
  resumeAtInnermost();
  return closed;
}

void Construction::resumeAtInnermost() {
  setInsertionPoint(ir, frames.back().block);
}

bool Construction::isOpen(int64_t serial) const {
  return std::any_of(frames.begin(), frames.end(),
                     [&](const Frame& frame) { return frame.serial == serial; });
}

const Frame* Construction::enclosing(FrameKind kind) const {
  auto found = std::find_if(frames.rbegin(), frames.rend(),
                            [&](const Frame& frame) { return frame.kind == kind; });
  return found == frames.rend() ? nullptr : &*found;
}

bool Construction::requireLaunch(std::string_view what) {
  if (isInLaunch())
    return true;
  if (hasLaunch)
    stateError(std::string(what) + " stands after the end of T.Kernel",
               {{launchPlace, "T.Kernel is here"}});
  else
    stateError(std::string(what) + " stands outside of T.Kernel; " + std::string(kWorkInLaunch));
  return false;
}

bool Construction::requireTileScope(std::string_view what) {
  if (!requireLaunch(what))
    return false;
  const Frame* parallel = enclosing(FrameKind::Parallel);
  if (!parallel)
    return true;
  stateError(std::string(what) +
                 " stands inside of T.Parallel, which holds code on single elements only",
             {{parallel->place, "T.Parallel is here"}});
  return false;
}

// Safe values

void Construction::openSafeValues() {
  SafeValueScope& scope = safeValueScopes.emplace_back();
  for (const BufferRecord& tensor : buffers)
    if (tensor.space == tile::MemorySpace::Global && tensor.ir)
      scope.uses[tensor.ir] = size_t(llvm::range_size(tensor.ir.getUses()));
}

void Construction::closeSafeValues() {
  if (safeValueScopes.empty())
    return;
  for (auto& [number, value] : llvm::reverse(safeValueScopes.back().before))
    buffers[number].safeValue = value;
  safeValueScopes.pop_back();
}

bool Construction::setSafeValue(BufferRecord& tensor, std::optional<Constant> value) {
  const size_t before = safeValueScopes.empty() ? 0 : safeValueScopes.back().uses.lookup(tensor.ir);
  if (size_t(llvm::range_size(tensor.ir.getUses())) != before)
    return false;
  if (!safeValueScopes.empty()) {
    const auto found =
        llvm::find_if(buffers, [&](const BufferRecord& each) { return &each == &tensor; });
    safeValueScopes.back().before.emplace_back(size_t(found - buffers.begin()), tensor.safeValue);
  }
  tensor.safeValue = value;
  return true;
}

// Records

Value Construction::add(mlir::Value value, Dtype dtype, bool isIndex, std::string_view name) {
  ValueRecord entry;
  entry.ir = value;
  entry.isIndex = isIndex;
  entry.frame = frames.back().serial;
  entry.name = name;
  entry.place = place;
  // Folding may give a constant op back.
  if (auto constant = value.getDefiningOp<mlir::arith::ConstantOp>())
    if (auto integer = mlir::dyn_cast<mlir::IntegerAttr>(constant.getValue());
        integer && !dtype.isFloat()) {
      bool isBool = dtype.kind() == ScalarKind::Bool;
      bool isUnsigned = isBool || !dtype.isSigned();
      const llvm::APInt& bits = integer.getValue();
      entry.constant =
          Constant::ofInteger(isUnsigned ? int64_t(bits.getZExtValue()) : bits.getSExtValue());
      entry.frame = 0;
    }
  values.push_back(std::move(entry));
  return HandleAccess::value(idOf(values.size() - 1), dtype);
}

Value Construction::addConstant(Constant constant, Dtype dtype, bool isLiteral) {
  ValueRecord entry;
  entry.constant = constant;
  entry.isLiteral = isLiteral;
  entry.place = place;
  values.push_back(std::move(entry));
  return HandleAccess::value(idOf(values.size() - 1), dtype);
}

Buffer Construction::add(BufferRecord record) {
  record.frame = frames.back().serial;
  record.place = place;
  buffers.push_back(std::move(record));
  return HandleAccess::buffer(idOf(buffers.size() - 1));
}

bool Construction::isUsable(Value value) {
  if (value.isPoison())
    return false;
  if (!isOurs(value)) {
    stateError("a value of another kernel is used");
    return false;
  }
  const ValueRecord& entry = record(value);
  if (isOpen(entry.frame))
    return true;
  if (!entry.name.empty())
    stateError("'" + entry.name + "' is used after its loop ended",
               {{entry.place, "the loop is here"}});
  else
    stateError("a value is used outside of the scope that computed it",
               {{entry.place, "it was computed here"}});
  return false;
}

bool Construction::isUsable(Buffer buffer) {
  if (buffer.isPoison())
    return false;
  if (!isOurs(buffer)) {
    stateError("a buffer of another kernel is used");
    return false;
  }
  const BufferRecord& entry = record(buffer);
  if (isOpen(entry.frame))
    return true;
  stateError("'" + entry.name + "' is used after its scope ended", {allocatedHere(entry)});
  return false;
}

bool Construction::isUsable(const Index& index) {
  const auto* value = std::get_if<Value>(&index);
  return !value || isUsable(*value);
}

Note Construction::allocatedHere(const BufferRecord& buffer) const {
  return {buffer.place,
          "'" + buffer.name + "' was " + (buffer.isArgument ? "declared" : "allocated") + " here"};
}

// Values

mlir::Value Construction::constantIr(Constant constant, mlir::Type type) {
  mlir::TypedAttr attribute;
  if (auto floating = mlir::dyn_cast<mlir::FloatType>(type)) {
    const double value = constant.isReal ? constant.real : double(constant.integer);
    if (mlir::isa<mlir::Float8E8M0FNUType>(type))
      attribute = ir.getFloatAttr(
          type, llvm::APFloat(floating.getFloatSemantics(), llvm::APInt(8, codeOfPower(value))));
    else
      attribute = ir.getFloatAttr(type, nearestNumber(floating, value));
  } else if (type.isIndex()) {
    attribute = ir.getIndexAttr(constant.integer);
  } else {
    unsigned width = type.getIntOrFloatBitWidth();
    attribute = ir.getIntegerAttr(type, llvm::APInt(64, uint64_t(constant.integer)).trunc(width));
  }
  mlir::Value& cached = constants[attribute];
  if (!cached) {
    // At the kernel's start, so that every scope may use it.
    mlir::OpBuilder::InsertionGuard guard(ir);
    mlir::Block& entry = function.getBody().front();
    mlir::Block::iterator position = entry.begin();
    while (position != entry.end() && mlir::isa<mlir::arith::ConstantOp>(*position))
      ++position;
    ir.setInsertionPoint(&entry, position);
    cached = mlir::arith::ConstantOp::create(ir, location(), attribute);
  }
  return cached;
}

mlir::Value Construction::toIr(Value value) {
  const ValueRecord& entry = record(value);
  if (entry.ir)
    return entry.ir;
  return constantIr(*entry.constant, scalarType(value.dtype(), context.get()));
}

mlir::Value Construction::toIr(Value value, Dtype dtype) {
  const ValueRecord& entry = record(value);
  if (entry.constant) {
    if (auto folded = foldCast(*entry.constant, value.dtype(), dtype))
      return constantIr(*folded, scalarType(dtype, context.get()));
    // A literal real number keeps its digits until it is rounded to its dtype: here, once. All other real constants
    // are numbers of their dtype, and integers are exact: foldCast leaves them to us where the dtype is narrow.
    const bool isNarrow = dtype.isFloat() && dtype.bits() < 16;
    if (entry.constant->isReal && dtype.isFloat() && (entry.isLiteral || isNarrow))
      return constantIr(*entry.constant, scalarType(dtype, context.get()));
    if (!entry.constant->isReal && isNarrow && isExactInDouble(*entry.constant, value.dtype())) {
      auto exact = foldCast(*entry.constant, value.dtype(), Dtype(ScalarKind::Float64));
      return constantIr(*exact, scalarType(dtype, context.get()));
    }
  }
  if (!entry.isIndex || !entry.ir)
    return convertIr(toIr(value), value.dtype(), dtype);
  mlir::Type i64 = ir.getI64Type();
  mlir::Type type = scalarType(dtype, context.get());
  if (dtype.isInteger())
    return mlir::arith::IndexCastOp::create(ir, location(), type, entry.ir);
  return convertIr(mlir::arith::IndexCastOp::create(ir, location(), i64, entry.ir), Dtype::int64(),
                   dtype);
}

static mlir::Value convertInteger(mlir::OpBuilder& ir, mlir::Location loc, mlir::Value value,
                                  Dtype from, Dtype to, mlir::Type type) {
  bool isUnsigned = !from.isSigned(); // bool too
  if (to.isFloat())
    return isUnsigned ? mlir::Value(mlir::arith::UIToFPOp::create(ir, loc, type, value))
                      : mlir::Value(mlir::arith::SIToFPOp::create(ir, loc, type, value));
  unsigned before = value.getType().getIntOrFloatBitWidth(), after = type.getIntOrFloatBitWidth();
  if (before == after)
    return value;
  if (before > after)
    return mlir::arith::TruncIOp::create(ir, loc, type, value);
  return isUnsigned ? mlir::Value(mlir::arith::ExtUIOp::create(ir, loc, type, value))
                    : mlir::Value(mlir::arith::ExtSIOp::create(ir, loc, type, value));
}

mlir::Value Construction::convertIr(mlir::Value value, Dtype from, Dtype to) {
  if (from == to)
    return value;
  mlir::Location loc = location();
  mlir::Type type = scalarType(to, context.get());
  if (to.kind() == ScalarKind::Bool) {
    if (from.kind() == ScalarKind::Float8E8M0) // it has no 0 to compare with
      return convertIr(convertIr(value, from, Dtype::float32()), Dtype::float32(), to);
    mlir::Value zero = constantIr(Constant::ofInteger(0), value.getType());
    if (from.isFloat())
      return mlir::arith::CmpFOp::create(ir, loc, mlir::arith::CmpFPredicate::UNE, value, zero);
    return mlir::arith::CmpIOp::create(ir, loc, mlir::arith::CmpIPredicate::ne, value, zero);
  }
  if (!from.isFloat())
    return convertInteger(ir, loc, value, from, to, type);
  if (!to.isFloat())
    return to.isSigned() ? mlir::Value(mlir::arith::FPToSIOp::create(ir, loc, type, value))
                         : mlir::Value(mlir::arith::FPToUIOp::create(ir, loc, type, value));
  if (type == value.getType()) // tfloat32 is float32
    return value;
  // Two formats of one width (float16 and bfloat16, the 8-bit ones) meet in float32.
  const unsigned before = value.getType().getIntOrFloatBitWidth();
  const unsigned after = type.getIntOrFloatBitWidth();
  if (before == after)
    return convertIr(convertIr(value, from, Dtype::float32()), Dtype::float32(), to);
  return before < after ? mlir::Value(mlir::arith::ExtFOp::create(ir, loc, type, value))
                        : mlir::Value(mlir::arith::TruncFOp::create(ir, loc, type, value));
}

mlir::Value Construction::toBool(Value value) {
  if (record(value).isIndex) {
    mlir::Value zero = constantIr(Constant::ofInteger(0), ir.getIndexType());
    return mlir::arith::CmpIOp::create(ir, location(), mlir::arith::CmpIPredicate::ne, toIr(value),
                                       zero);
  }
  return toIr(value, Dtype::boolean());
}

std::optional<Index> Construction::toIndex(const Index& index, std::string_view what) {
  if (std::holds_alternative<int64_t>(index))
    return index;
  Value value = std::get<Value>(index);
  if (!isUsable(value))
    return std::nullopt;
  if (!value.dtype().isInteger()) {
    typeError(std::string(what) + " must be an integer, but it is of dtype " +
              value.dtype().name());
    return std::nullopt;
  }
  const ValueRecord& entry = record(value);
  const bool isBeyondInt64 = // the bits of a uint64
      entry.constant && entry.constant->integer < 0 && !value.dtype().isSigned();
  if (entry.constant && !isBeyondInt64)
    return Index(entry.constant->integer);
  if (entry.isIndex)
    return index;
  mlir::Type type = ir.getIndexType();
  mlir::Value number = toIr(value);
  mlir::Value cast =
      value.dtype().isSigned()
          ? mlir::Value(mlir::arith::IndexCastOp::create(ir, location(), type, number))
          : mlir::Value(mlir::arith::IndexCastUIOp::create(ir, location(), type, number));
  return Index(add(cast, Dtype::int32(), true, entry.name));
}

Index Construction::indexOf(mlir::Value value) {
  Value handle = add(value, Dtype::int32(), true);
  if (record(handle).constant)
    return record(handle).constant->integer;
  return handle;
}

mlir::OpFoldResult Construction::foldResult(const Index& index) {
  if (const auto* known = std::get_if<int64_t>(&index))
    return ir.getIndexAttr(*known);
  return record(std::get<Value>(index)).ir;
}

mlir::Value Construction::indexIr(const Index& index) {
  if (const auto* known = std::get_if<int64_t>(&index))
    return constantIr(Constant::ofInteger(*known), ir.getIndexType());
  return record(std::get<Value>(index)).ir;
}

std::string Construction::text(const Index& index) const {
  if (const auto* known = std::get_if<int64_t>(&index))
    return std::to_string(*known);
  const ValueRecord& entry = record(std::get<Value>(index));
  return entry.name.empty() ? "?" : entry.name;
}

std::string Construction::text(const std::vector<Index>& shape) const {
  std::string joined;
  for (const Index& dim : shape)
    joined += (joined.empty() ? "" : ", ") + text(dim);
  return "(" + joined + ")";
}

bool Construction::isSame(const Index& left, const Index& right) const {
  if (std::holds_alternative<int64_t>(left) || std::holds_alternative<int64_t>(right))
    return left.index() == right.index() && std::get<int64_t>(left) == std::get<int64_t>(right);
  const ValueRecord& a = record(std::get<Value>(left));
  const ValueRecord& b = record(std::get<Value>(right));
  return a.ir == b.ir || (a.affine && a.affine == b.affine);
}

bool Construction::mayBeSame(const Index& left, const Index& right) const {
  const bool areKnown =
      std::holds_alternative<int64_t>(left) && std::holds_alternative<int64_t>(right);
  return !areKnown || isSame(left, right);
}

bool Construction::isCountedAs(const Index& left, const Index& right) const {
  return left.index() == right.index() && mayBeSame(left, right);
}

const Attribute* find(const Attributes& attributes, const std::string& key) {
  auto found = attributes.find(key);
  return found == attributes.end() ? nullptr : &found->second;
}

bool flag(const Attributes& attributes, const std::string& key) {
  const Attribute* given = find(attributes, key);
  return given && std::holds_alternative<bool>(*given) && std::get<bool>(*given);
}

static mlir::Attribute toIr(Construction& state, const Attribute& attribute) {
  mlir::OpBuilder& ir = state.ir;
  struct {
    mlir::OpBuilder& ir;
    mlir::Attribute operator()(bool value) {
      return ir.getBoolAttr(value);
    }
    mlir::Attribute operator()(int64_t value) {
      return ir.getI64IntegerAttr(value);
    }
    mlir::Attribute operator()(double value) {
      return ir.getF64FloatAttr(value);
    }
    mlir::Attribute operator()(const std::string& value) {
      return ir.getStringAttr(value);
    }
    mlir::Attribute operator()(const std::vector<int64_t>& value) {
      return ir.getDenseI64ArrayAttr(value);
    }
  } visitor{ir};
  return std::visit(visitor, attribute);
}

void annotate(Construction& state, mlir::Operation* op, std::string_view what,
              const Attributes& attributes, std::initializer_list<std::string_view> handled) {
  for (const auto& [key, value] : attributes) {
    if (std::find(handled.begin(), handled.end(), key) != handled.end())
      continue;
    std::string name = key;
    std::replace(name.begin(), name.end(), '.', '_');
    if (name.empty() || op->getInherentAttr(name)) {
      state.error(std::string(what) + " has no option '" + key + "'");
      continue;
    }
    op->setDiscardableAttr(state.ir.getStringAttr(name), toIr(state, value));
  }
}

} // namespace tilewright::builder
