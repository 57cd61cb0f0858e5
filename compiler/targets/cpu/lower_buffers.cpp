// SPDX-License-Identifier: Apache-2.0
/// Turns buffers into pointers, and their elements into LLVM loads and stores.
///
///   %v = tile.load %As[%i, %j] in_bounds : !tile.buffer<64x32xf32, shared>
/// becomes
///   %0 = arith.muli %i, %c32      %1 = arith.addi %0, %j
///   %2 = llvm.getelementptr inbounds %As[%1] : f32
///   %v = llvm.load %2 {alias_scopes, noalias_scopes}
///
/// An access that is not known to be in bounds is put under an scf.if: it reads 0, or is dropped.
/// Alias scopes say that tensors, and buffers that share no scratch bytes, do not overlap; access
/// groups of parallel loops move over. Where memory is known by its address, what lies there may be any
/// buffer whose address was taken. It stands last of the passes that know buffers.
#include "compiler/ir/memory_ops.h"
#include "compiler/ir/thread_ops.h"
#include "compiler/passes/kernel_pass.h"
#include "compiler/targets/cpu/attributes.h"
#include "compiler/targets/cpu/check_lowered.h"
#include "compiler/targets/cpu/loops.h"
#include "compiler/targets/cpu/passes.h"
#include "compiler/targets/cpu/stream_stores.h"
#include "tilewright/kernel_abi.h"

#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/LLVMIR/LLVMDialect.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Dialect/Utils/StaticValueUtils.h>

namespace tilewright::cpu {
namespace {

using namespace mlir;
using tile::BufferType;

/// A buffer, taken apart.
struct Parts {
  Value pointer;
  SmallVector<Value> dims, strides;
  /// Which memory it is: the index in AliasScopes.
  unsigned memory = 0;
};

/// Whether a kernel takes the address of a buffer, or of a view of it.
bool isKnownByAddress(Value buffer) {
  return llvm::any_of(buffer.getUsers(), [](Operation* user) {
    auto view = dyn_cast<tile::ViewOp>(user);
    return isa<tile::AddressOp>(user) || (view && isKnownByAddress(view.getResult()));
  });
}

/// One alias scope per piece of memory; piece 0 is all of global memory (two tensors may overlap), and what
/// tensors at an address may lie in.
class AliasScopes {
public:
  explicit AliasScopes(func::FuncOp function) {
    MLIRContext* context = function.getContext();
    auto domain =
        LLVM::AliasScopeDomainAttr::get(context, StringAttr::get(context, function.getName()));
    scopes.push_back(LLVM::AliasScopeAttr::get(domain, StringAttr::get(context, "global")));
    const bool hasAddresses =
        function.walk([](tile::TensorAtOp) { return WalkResult::interrupt(); }).wasInterrupted();
    function.walk([&](tile::AllocOp op) {
      if (op->hasAttr(kOffsetAttr) && !op.getType().isGlobal())
        addAlloc(op, domain, hasAddresses && isKnownByAddress(op.getResult()));
    });
  }

  unsigned memoryOf(tile::AllocOp op) const {
    return memories.lookup(op);
  }

  template <typename Op> void mark(Op access, unsigned memory) const {
    SmallVector<Attribute> others;
    for (auto [number, scope] : llvm::enumerate(scopes))
      if (number != memory)
        others.push_back(scope);
    Builder builder(access.getContext());
    access.setAliasScopesAttr(builder.getArrayAttr(scopes[memory]));
    access.setNoaliasScopesAttr(builder.getArrayAttr(others));
  }

private:
  struct Piece {
    int64_t begin, end;
    unsigned memory;
  };

  void addAlloc(tile::AllocOp op, LLVM::AliasScopeDomainAttr domain, bool mayBeTensor) {
    const BufferType type = op.getType();
    const int64_t begin = op->getAttrOfType<IntegerAttr>(kOffsetAttr).getInt();
    const int64_t end = begin + (type.getNumElements() * type.getElementBits() + 7) / 8;
    std::optional<unsigned> memory;
    if (mayBeTensor)
      memory = 0;
    for (Piece& piece : pieces)
      if (begin < piece.end && piece.begin < end) {
        // Buffers that share bytes are one memory, and so are all that they touch.
        const unsigned kept = std::min(piece.memory, memory.value_or(piece.memory));
        join(piece.memory, kept);
        if (memory)
          join(*memory, kept);
        memory = kept;
      }
    if (!memory) {
      memory = unsigned(scopes.size());
      scopes.push_back(LLVM::AliasScopeAttr::get(domain, op.getSymNameAttr()));
    }
    pieces.push_back({begin, end, *memory});
    memories[op] = *memory;
  }

  void join(unsigned old, unsigned kept) {
    for (Piece& piece : pieces)
      if (piece.memory == old)
        piece.memory = kept;
    for (auto& entry : memories)
      if (entry.second == old)
        entry.second = kept;
  }

  SmallVector<Attribute> scopes;
  SmallVector<Piece> pieces;
  llvm::DenseMap<Operation*, unsigned> memories;
};

class BufferLowering {
public:
  explicit BufferLowering(func::FuncOp function)
      : function(function), scopes(function),
        pointer(LLVM::LLVMPointerType::get(function.getContext())) {}

  void lower() {
    SmallVector<Operation*> ops;
    function.walk<WalkOrder::PreOrder>([&](Operation* op) { ops.push_back(op); });
    for (Operation* op : ops) {
      ImplicitLocOpBuilder builder(op->getLoc(), op);
      if (auto cast = dyn_cast<UnrealizedConversionCastOp>(op))
        lowerCast(cast);
      else if (auto alloc = dyn_cast<tile::AllocOp>(op))
        lowerAlloc(builder, alloc);
      else if (auto view = dyn_cast<tile::ViewOp>(op))
        lowerView(builder, view);
      else if (auto tensor = dyn_cast<tile::TensorAtOp>(op))
        lowerTensorAt(builder, tensor);
      else if (auto place = dyn_cast<tile::AddressOp>(op))
        replace(op,
                LLVM::PtrToIntOp::create(builder, builder.getI64Type(),
                                         address(builder, place.getBuffer(), place.getIndices())));
      else if (auto dim = dyn_cast<tile::DimOp>(op))
        replace(op, parts(dim.getBuffer()).dims[dim.getDim()]);
      else if (auto load = dyn_cast<tile::LoadOp>(op))
        replace(op, lowerLoad(builder, load));
      else if (auto store = dyn_cast<tile::StoreOp>(op))
        lowerStore(builder, store);
      else if (auto atomic = dyn_cast<tile::AtomicOp>(op))
        lowerAtomic(builder, atomic);
      else if (isa<tile::SyncOp>(op)) // one thread runs the block
        dead.push_back(op);
    }
    for (Operation* op : llvm::reverse(dead))
      op->erase();
  }

private:
  Parts& parts(Value buffer) {
    return buffers.find(buffer)->second;
  }

  void replace(Operation* op, Value value) {
    op->getResult(0).replaceAllUsesWith(value);
    dead.push_back(op);
  }

  /// Either (pointer, dims, strides) to a buffer, or a buffer to its pointer.
  void lowerCast(UnrealizedConversionCastOp op) {
    if (auto type = dyn_cast<BufferType>(op.getResult(0).getType())) {
      const auto rank = unsigned(type.getRank());
      Parts result{op.getOperand(0), {}, {}, 0};
      result.dims.assign(op.operand_begin() + 1, op.operand_begin() + 1 + rank);
      result.strides.assign(op.operand_begin() + 1 + rank, op.operand_end());
      buffers[op.getResult(0)] = std::move(result);
      dead.push_back(op);
    } else if (isa<BufferType>(op.getOperand(0).getType())) {
      replace(op, parts(op.getOperand(0)).pointer);
    }
  }

  Parts denseParts(ImplicitLocOpBuilder& builder, Value base, SmallVector<Value> dims) const {
    IndexMath math(builder);
    Parts result{base, std::move(dims), {}, 0};
    result.strides.assign(result.dims.size(), Value());
    Value stride = math.constant(1);
    for (size_t dim = result.dims.size(); dim-- > 0; stride = math.mul(stride, result.dims[dim]))
      result.strides[dim] = stride;
    return result;
  }

  /// TwLaunch::workspace.
  Value workspace(ImplicitLocOpBuilder& builder) {
    Value launch = function.getArgument(function.getNumArguments() - 1);
    Value field =
        LLVM::GEPOp::create(builder, pointer, builder.getI8Type(), launch,
                            ArrayRef<LLVM::GEPArg>(int32_t(offsetof(TwLaunch, workspace))),
                            LLVM::GEPNoWrapFlags::inbounds);
    return LLVM::LoadOp::create(builder, pointer, field);
  }

  void lowerAlloc(ImplicitLocOpBuilder& builder, tile::AllocOp op) {
    const BufferType type = op.getType();
    IndexMath math(builder);
    SmallVector<Value> dims;
    for (int64_t dim : type.getShape())
      dims.push_back(math.constant(dim));
    Value base;
    auto offset = op->getAttrOfType<IntegerAttr>(kOffsetAttr);
    if (type.isGlobal()) {
      base = LLVM::GEPOp::create(builder, pointer, builder.getI8Type(), workspace(builder),
                                 ValueRange(wideConstant(builder, offset.getInt())),
                                 LLVM::GEPNoWrapFlags::inbounds);
    } else if (offset) {
      base = LLVM::GEPOp::create(builder, pointer, builder.getI8Type(), function.getArgument(1),
                                 ArrayRef<LLVM::GEPArg>(int32_t(offset.getInt())),
                                 LLVM::GEPNoWrapFlags::inbounds);
    } else {
      // A stack slot, in the entry block so that LLVM sees a register.
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(&function.getBody().front());
      Value one = arith::ConstantOp::create(builder, builder.getI64IntegerAttr(1));
      base = LLVM::AllocaOp::create(builder, pointer, storageType(type), one);
    }
    Parts result = denseParts(builder, base, dims);
    result.memory = scopes.memoryOf(op);
    buffers[op.getResult()] = std::move(result);
    dead.push_back(op);
  }

  void lowerView(ImplicitLocOpBuilder& builder, tile::ViewOp op) {
    const auto type = cast<BufferType>(op.getResult().getType());
    IndexMath math(builder);
    SmallVector<Value> dims;
    auto next = op.getDims().begin();
    for (int64_t dim : type.getShape())
      dims.push_back(ShapedType::isDynamic(dim) ? *next++ : math.constant(dim));
    Parts result = denseParts(builder, parts(op.getSource()).pointer, dims);
    result.memory = parts(op.getSource()).memory;
    buffers[op.getResult()] = std::move(result);
    dead.push_back(op);
  }

  void lowerTensorAt(ImplicitLocOpBuilder& builder, tile::TensorAtOp op) {
    const auto type = cast<BufferType>(op.getResult().getType());
    IndexMath math(builder);
    SmallVector<Value> dims;
    auto next = op.getDims().begin();
    for (int64_t dim : type.getShape())
      dims.push_back(ShapedType::isDynamic(dim) ? *next++ : math.constant(dim));
    Value base = LLVM::IntToPtrOp::create(builder, pointer, op.getAddress());
    Parts result = denseParts(builder, base, dims);
    if (type.getStrided())
      result.strides.assign(op.getStrides().begin(), op.getStrides().end());
    buffers[op.getResult()] = std::move(result);
    dead.push_back(op);
  }

  /// How an element lies in memory. bfloat16 counts as an integer, which is what it is until it
  /// becomes float32: LLVM 22 finds vectors of the type itself too dear, and leaves such loops scalar.
  static Type storageType(BufferType type) {
    Type scalar = type.getScalarType();
    const unsigned bits = std::max(8U, type.getElementBits());
    return bits == 8 || scalar.isBF16() ? Type(IntegerType::get(type.getContext(), bits)) : scalar;
  }

  static bool isPacked(Value buffer) {
    return cast<BufferType>(buffer.getType()).getElementBits() < 8;
  }

  /// The number of an element in its buffer's memory, as an i64.
  Value elementNumber(ImplicitLocOpBuilder& builder, Value buffer, ValueRange indices) {
    IndexMath math(builder);
    Value flat = math.constant(0);
    for (auto [index, stride] : llvm::zip(indices, parts(buffer).strides))
      flat = math.add(flat, math.mul(index, stride));
    return builder.createOrFold<arith::IndexCastOp>(builder.getI64Type(), flat);
  }

  Value address(ImplicitLocOpBuilder& builder, Value buffer, Value number) {
    if (isPacked(buffer)) // two to a byte, the first in its low half
      number = arith::ShRUIOp::create(builder, number, wideConstant(builder, 1));
    return LLVM::GEPOp::create(builder, pointer, storageType(cast<BufferType>(buffer.getType())),
                               parts(buffer).pointer, ValueRange(number),
                               LLVM::GEPNoWrapFlags::inbounds);
  }
  Value address(ImplicitLocOpBuilder& builder, Value buffer, ValueRange indices) {
    return address(builder, buffer, elementNumber(builder, buffer, indices));
  }

  static Value wideConstant(ImplicitLocOpBuilder& builder, int64_t value) {
    return arith::ConstantOp::create(builder, builder.getI64IntegerAttr(value));
  }
  static Value byteConstant(ImplicitLocOpBuilder& builder, int64_t value) {
    return arith::ConstantOp::create(builder, builder.getI8IntegerAttr(int8_t(value)));
  }

  /// The bits by which a packed element is shifted in its byte: 0 or 4.
  static Value shiftOf(ImplicitLocOpBuilder& builder, Value number) {
    Value odd = arith::AndIOp::create(builder, number, wideConstant(builder, 1));
    Value byte = arith::TruncIOp::create(builder, builder.getI8Type(), odd);
    return arith::ShLIOp::create(builder, byte, byteConstant(builder, 2));
  }

  Value readPacked(ImplicitLocOpBuilder& builder, tile::LoadOp op) {
    Value number = elementNumber(builder, op.getBuffer(), op.getIndices());
    auto byte = LLVM::LoadOp::create(builder, builder.getI8Type(),
                                     address(builder, op.getBuffer(), number));
    carryMetadata(byte, op, op.getBuffer());
    Value shifted = arith::ShRUIOp::create(builder, byte, shiftOf(builder, number));
    Value half = arith::TruncIOp::create(builder, builder.getI4Type(), shifted);
    return builder.createOrFold<arith::BitcastOp>(op.getType(), half);
  }

  /// Reads the byte, changes one half, and writes it back.
  void writePacked(ImplicitLocOpBuilder& builder, tile::StoreOp op) {
    Value number = elementNumber(builder, op.getBuffer(), op.getIndices());
    Value at = address(builder, op.getBuffer(), number), shift = shiftOf(builder, number);
    auto byte = LLVM::LoadOp::create(builder, builder.getI8Type(), at);
    carryMetadata(byte, op, op.getBuffer());
    Value mask = arith::ShLIOp::create(builder, byteConstant(builder, 0xF), shift);
    Value others = arith::AndIOp::create(
        builder, byte, arith::XOrIOp::create(builder, mask, byteConstant(builder, -1)));
    Value bits = builder.createOrFold<arith::BitcastOp>(builder.getI4Type(), op.getValue());
    Value half = arith::ExtUIOp::create(builder, builder.getI8Type(), bits);
    Value moved = arith::ShLIOp::create(builder, half, shift);
    auto store = LLVM::StoreOp::create(builder, arith::OrIOp::create(builder, others, moved), at);
    carryMetadata(store, op, op.getBuffer());
  }

  /// An i1 that says that all indices are within their dims; null if that is known.
  Value bounds(ImplicitLocOpBuilder& builder, Value buffer, ValueRange indices) {
    IndexMath math(builder);
    Value inside;
    for (auto [index, dim] : llvm::zip(indices, parts(buffer).dims)) {
      Value here = builder.createOrFold<arith::CmpIOp>(arith::CmpIPredicate::ult, index, dim);
      std::optional<int64_t> known = getConstantIntValue(here);
      if (!known || *known == 0)
        inside = math.both(inside, here);
    }
    return inside;
  }

  template <typename Op> void carryMetadata(Op access, Operation* from, Value buffer) {
    if (cast<BufferType>(buffer.getType()).getSpace() != tile::MemorySpace::Var)
      scopes.mark(access, parts(buffer).memory);
    if (Attribute group = from->getAttr(kAccessGroupAttr))
      access.setAccessGroupsAttr(Builder(access.getContext()).getArrayAttr(group));
  }

  /// The indices of an access; where elements lie apart (kApartAttr), those of its element.
  template <typename Op> SmallVector<Value> places(ImplicitLocOpBuilder& builder, Op op) {
    SmallVector<Value> indices(op.getIndices());
    auto apart = op->template getAttrOfType<IntegerAttr>(kApartAttr);
    if (!apart)
      return indices;
    IndexMath math(builder);
    Value group = math.constant(apart.getInt()), two = math.constant(2);
    Value within = arith::RemUIOp::create(builder, indices.back(), group);
    Value start = math.sub(indices.back(), within);
    Value odd = arith::RemUIOp::create(builder, within, two);
    Value half = math.mul(odd, math.constant(apart.getInt() / 2));
    indices.back() = math.add(math.add(start, half), arith::DivUIOp::create(builder, within, two));
    return indices;
  }

  Value readElement(ImplicitLocOpBuilder& builder, tile::LoadOp op) {
    if (isPacked(op.getBuffer()))
      return readPacked(builder, op);
    const auto type = cast<BufferType>(op.getBuffer().getType());
    auto load = LLVM::LoadOp::create(builder, storageType(type),
                                     address(builder, op.getBuffer(), places(builder, op)));
    carryMetadata(load, op, op.getBuffer());
    return fromStorage(builder, load, type.getScalarType());
  }

  /// What bits that lie in memory stand for. Any byte but 0 is true.
  static Value fromStorage(ImplicitLocOpBuilder& builder, Value bits, Type scalar) {
    if (scalar.isInteger(1))
      return convertElement(builder, bits, builder.getIntegerType(8, false), scalar);
    const unsigned width = scalar.getIntOrFloatBitWidth();
    if (width < bits.getType().getIntOrFloatBitWidth()) // 6 bits in a byte
      bits = arith::TruncIOp::create(builder, builder.getIntegerType(width), bits);
    return builder.createOrFold<arith::BitcastOp>(scalar, bits);
  }

  /// The bits that lie in memory for a value.
  static Value toStorage(ImplicitLocOpBuilder& builder, Value value, Type storage) {
    const unsigned width = value.getType().getIntOrFloatBitWidth();
    if (width == storage.getIntOrFloatBitWidth())
      return builder.createOrFold<arith::BitcastOp>(storage, value);
    // bool, and 6 bits in a byte
    Value bits = builder.createOrFold<arith::BitcastOp>(builder.getIntegerType(width), value);
    return arith::ExtUIOp::create(builder, storage, bits);
  }

  void writeElement(ImplicitLocOpBuilder& builder, tile::StoreOp op) {
    if (isPacked(op.getBuffer()))
      return writePacked(builder, op);
    const auto type = cast<BufferType>(op.getBuffer().getType());
    Value value = toStorage(builder, op.getValue(), storageType(type));
    auto store = LLVM::StoreOp::create(builder, value,
                                       address(builder, op.getBuffer(), places(builder, op)));
    carryMetadata(store, op, op.getBuffer());
    if (op->hasAttr(kStreamAttr))
      store->setAttr(LLVM::LLVMDialect::getMmraAttrName(),
                     LLVM::MMRATagAttr::get(op.getContext(), kStreamTag[0], kStreamTag[1]));
  }

  Value lowerLoad(ImplicitLocOpBuilder& builder, tile::LoadOp op) {
    Value inside;
    if (!op.getInBounds())
      inside = bounds(builder, op.getBuffer(), op.getIndices());
    if (!inside)
      return readElement(builder, op);
    auto branch = scf::IfOp::create(builder, op.getType(), inside, /*withElseRegion=*/true);
    builder.setInsertionPointToStart(&branch.getThenRegion().front());
    scf::YieldOp::create(builder, readElement(builder, op));
    builder.setInsertionPointToStart(&branch.getElseRegion().front());
    scf::YieldOp::create(builder, zero(builder, op.getType()));
    return branch.getResult(0);
  }

  void lowerStore(ImplicitLocOpBuilder& builder, tile::StoreOp op) {
    dead.push_back(op);
    Value inside;
    if (!op.getInBounds())
      inside = bounds(builder, op.getBuffer(), op.getIndices());
    if (inside) {
      auto branch = scf::IfOp::create(builder, inside);
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
    }
    writeElement(builder, op);
  }

  static LLVM::AtomicOrdering ordering(tile::MemoryOrder order) {
    switch (order) {
    case tile::MemoryOrder::Relaxed:
      return LLVM::AtomicOrdering::monotonic;
    case tile::MemoryOrder::Consume:
    case tile::MemoryOrder::Acquire:
      return LLVM::AtomicOrdering::acquire;
    case tile::MemoryOrder::Release:
      return LLVM::AtomicOrdering::release;
    case tile::MemoryOrder::AcqRel:
      return LLVM::AtomicOrdering::acq_rel;
    case tile::MemoryOrder::SeqCst:
      return LLVM::AtomicOrdering::seq_cst;
    }
    llvm_unreachable("all orders are above");
  }

  static LLVM::AtomicBinOp binaryKind(tile::AtomicKind kind, Type element) {
    const bool isFloat = isa<FloatType>(element),
               isUnsigned = element.isUnsignedInteger() || element.isInteger(1);
    switch (kind) {
    case tile::AtomicKind::Add:
      return isFloat                ? LLVM::AtomicBinOp::fadd
             : element.isInteger(1) ? LLVM::AtomicBinOp::_or // a sum that isn't 0 is true
                                    : LLVM::AtomicBinOp::add;
    case tile::AtomicKind::Max:
      return isFloat ? LLVM::AtomicBinOp::fmax
                     : (isUnsigned ? LLVM::AtomicBinOp::umax : LLVM::AtomicBinOp::max);
    case tile::AtomicKind::Min:
      return isFloat ? LLVM::AtomicBinOp::fmin
                     : (isUnsigned ? LLVM::AtomicBinOp::umin : LLVM::AtomicBinOp::min);
    case tile::AtomicKind::And:
      return LLVM::AtomicBinOp::_and;
    case tile::AtomicKind::Xor:
      return LLVM::AtomicBinOp::_xor;
    default:
      return LLVM::AtomicBinOp::_or;
    }
  }

  /// The value before, or null for a store.
  Value updateElement(ImplicitLocOpBuilder& builder, tile::AtomicOp op) {
    const auto type = cast<BufferType>(op.getBuffer().getType());
    Value at = address(builder, op.getBuffer(), op.getIndices());
    const unsigned bytes = type.getElementBits() / 8;
    const LLVM::AtomicOrdering order = ordering(op.getOrder());
    Type scalar = type.getScalarType();
    const bool isSmall = isa<FloatType>(scalar) && bytes < 4;
    Type stored = isSmall || scalar.isInteger(1) ? builder.getIntegerType(8 * bytes) : scalar;
    if (op.getKind() == tile::AtomicKind::Load) {
      auto load = LLVM::LoadOp::create(builder, stored, at, bytes);
      load.setOrdering(order);
      return fromStorage(builder, load, scalar);
    }
    if (isSmall && op.getKind() != tile::AtomicKind::Store)
      return exchangeUntilAlone(builder, op, at, stored);
    Value value = toStorage(builder, op.getValue(), stored);
    if (op.getKind() == tile::AtomicKind::Store) {
      auto store = LLVM::StoreOp::create(builder, value, at, bytes);
      store.setOrdering(order);
      return {};
    }
    Value before = LLVM::AtomicRMWOp::create(
        builder, binaryKind(op.getKind(), type.getElementType()), at, value, order);
    return fromStorage(builder, before, scalar);
  }

  /// Updates a float for which no machine has an atomic instruction: its bits are exchanged once nobody else has
  /// changed them since they were read. Gives the value before.
  Value exchangeUntilAlone(ImplicitLocOpBuilder& builder, tile::AtomicOp op, Value at, Type bits) {
    Type scalar = op.getValue().getType();
    auto first = LLVM::LoadOp::create(builder, bits, at, bits.getIntOrFloatBitWidth() / 8);
    first.setOrdering(LLVM::AtomicOrdering::monotonic);
    auto loop = scf::WhileOp::create(builder, TypeRange(bits), ValueRange(first.getResult()));
    OpBuilder::InsertionGuard guard(builder);
    Block* attempt =
        builder.createBlock(&loop.getBefore(), {}, TypeRange(bits), {builder.getLoc()});
    Value expected = attempt->getArgument(0);
    Value before = arith::BitcastOp::create(builder, scalar, expected);
    Value after = combined(builder, op.getKind(), before, op.getValue());
    auto exchange = LLVM::AtomicCmpXchgOp::create(
        builder, at, expected, arith::BitcastOp::create(builder, bits, after),
        ordering(op.getOrder()), LLVM::AtomicOrdering::monotonic);
    Value seen = LLVM::ExtractValueOp::create(builder, exchange, 0);
    Value isDone = LLVM::ExtractValueOp::create(builder, exchange, 1);
    Value yes = arith::ConstantOp::create(builder, builder.getBoolAttr(true));
    scf::ConditionOp::create(builder, arith::XOrIOp::create(builder, isDone, yes), seen);
    Block* again = builder.createBlock(&loop.getAfter(), {}, TypeRange(bits), {builder.getLoc()});
    scf::YieldOp::create(builder, again->getArguments());
    builder.setInsertionPointAfter(loop);
    return arith::BitcastOp::create(builder, scalar, loop.getResult(0));
  }

  static Value combined(ImplicitLocOpBuilder& builder, tile::AtomicKind kind, Value a, Value b) {
    if (kind == tile::AtomicKind::Add)
      return arith::AddFOp::create(builder, a, b);
    if (kind == tile::AtomicKind::Max)
      return arith::MaxNumFOp::create(builder, a, b);
    return arith::MinNumFOp::create(builder, a, b);
  }

  void lowerAtomic(ImplicitLocOpBuilder& builder, tile::AtomicOp op) {
    Value inside, old;
    if (!op.getInBounds())
      inside = bounds(builder, op.getBuffer(), op.getIndices());
    if (!inside) {
      old = updateElement(builder, op);
    } else {
      Type scalar = cast<BufferType>(op.getBuffer().getType()).getScalarType();
      const bool wanted = op.getPrevious() != nullptr;
      auto branch = wanted ? scf::IfOp::create(builder, scalar, inside, /*withElseRegion=*/true)
                           : scf::IfOp::create(builder, inside);
      builder.setInsertionPointToStart(&branch.getThenRegion().front());
      old = updateElement(builder, op);
      if (wanted) {
        scf::YieldOp::create(builder, old);
        builder.setInsertionPointToStart(&branch.getElseRegion().front());
        scf::YieldOp::create(builder, zero(builder, scalar));
        old = branch.getResult(0);
      }
    }
    if (op.getPrevious())
      op.getPrevious().replaceAllUsesWith(old);
    dead.push_back(op);
  }

  func::FuncOp function;
  AliasScopes scopes;
  Type pointer;
  llvm::DenseMap<Value, Parts> buffers;
  SmallVector<Operation*> dead;
};

struct LowerBuffers : KernelPass<LowerBuffers> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(LowerBuffers)
  static constexpr llvm::StringLiteral kArgument = "cpu-lower-buffers";
  static constexpr llvm::StringLiteral kDescription =
      "turn buffers into pointers, and their elements into loads and stores";
  void getDependentDialects(DialectRegistry& registry) const override {
    registry.insert<arith::ArithDialect, scf::SCFDialect, LLVM::LLVMDialect>();
  }

  void runOnOperation() override {
    if (failed(checkLowered(getOperation())))
      return signalPassFailure();
    BufferLowering(getOperation()).lower();
  }
};

} // namespace

std::unique_ptr<Pass> createLowerBuffers() {
  return std::make_unique<LowerBuffers>();
}

} // namespace tilewright::cpu
