// SPDX-License-Identifier: Apache-2.0
// A kernel's signature, launch and end.
#include "compiler/builder/built_kernel.h"
#include "compiler/builder/construction.h"
#include "compiler/builder/element_types.h"
#include "compiler/builder/operands.h"
#include "compiler/ir/address_attribute.h"
#include "compiler/ir/place_of.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

#include <algorithm>

namespace tilewright {

using builder::BufferRecord;
using builder::Constant;
using builder::FrameKind;

KernelBuilder::KernelBuilder(std::string_view name, Place place)
    : state(std::make_unique<State>(name, std::move(place))) {}
KernelBuilder::~KernelBuilder() = default;
KernelBuilder::KernelBuilder(KernelBuilder&&) noexcept = default;
KernelBuilder& KernelBuilder::operator=(KernelBuilder&&) noexcept = default;

void KernelBuilder::at(Place place) {
  state->place = std::move(place);
}
const Place& KernelBuilder::place() const {
  return state->place;
}

void KernelBuilder::enterMacro(std::string_view name, Place callSite) {
  state->macros.push_back({std::string(name), std::move(callSite)});
}
void KernelBuilder::leaveMacro() {
  if (!state->macros.empty())
    state->macros.pop_back();
}

void KernelBuilder::error(std::string message, std::vector<Note> notes) {
  state->error(std::move(message), std::move(notes));
}
const std::vector<Diagnostic>& KernelBuilder::diagnostics() const {
  return state->diagnostics;
}

const std::vector<Fault>& KernelBuilder::faults() const {
  return state->faults;
}
bool KernelBuilder::hasErrors() const {
  return state->hasErrors();
}

// Arguments

namespace {

/// Adds an argument of the function after those of its kind: tensors and scalars, then symbols.
mlir::Value addArgument(builder::Construction& state, mlir::Type type, bool isSymbol) {
  mlir::Block& entry = state.function.getBody().front();
  size_t position = state.argumentAttributes.size() + (isSymbol ? state.symbolNames.size() : 0);
  return entry.insertArgument(unsigned(position), type, state.location());
}

/// What stands for the scalar argument of a number until an extent holds it: then a symbol of its own does.
constexpr unsigned kFirstScalar = 1U << 24;

mlir::AffineExpr withSymbolsOfScalars(builder::Construction& state, mlir::AffineExpr expression) {
  llvm::DenseMap<mlir::AffineExpr, mlir::AffineExpr> symbols;
  expression.walk([&](mlir::AffineExpr part) {
    auto symbol = mlir::dyn_cast<mlir::AffineSymbolExpr>(part);
    if (!symbol || symbol.getPosition() < kFirstScalar)
      return;
    const size_t argument = symbol.getPosition() - kFirstScalar;
    auto [found, isNew] = state.symbolOfScalar.insert({argument, state.symbolNames.size()});
    if (isNew) {
      addArgument(state, state.ir.getIndexType(), true);
      state.symbolNames.push_back(
          mlir::cast<mlir::StringAttr>(state.argumentAttributes[argument].get(tile::kNameAttr))
              .str());
    }
    symbols[part] = state.ir.getAffineSymbolExpr(unsigned(found->second));
  });
  return symbols.empty() ? expression : expression.replace(symbols);
}

/// The affine form of a dim, or null where it has none.
mlir::AffineExpr affineOf(builder::Construction& state, const Index& dim) {
  if (const auto* known = std::get_if<int64_t>(&dim))
    return state.ir.getAffineConstantExpr(*known);
  mlir::AffineExpr affine = state.record(std::get<Value>(dim)).affine;
  return affine ? withSymbolsOfScalars(state, affine) : affine;
}

/// Checks one list of a tensor's dims or strides; false after an error.
bool resolveDims(builder::Construction& state, std::string_view tensor, std::string_view what,
                 std::span<const Index> given, std::vector<Index>& dims,
                 std::vector<mlir::AffineExpr>& affine) {
  for (size_t number = 0; number < given.size(); ++number) {
    std::string name =
        std::string(what) + " " + std::to_string(number) + " of '" + std::string(tensor) + "'";
    auto dim = state.toIndex(given[number], name);
    if (!dim)
      return false;
    const auto* known = std::get_if<int64_t>(&*dim);
    if (known && *known < 0) {
      state.error(name + " is " + std::to_string(*known) + ", but it cannot be negative");
      return false;
    }
    mlir::AffineExpr expression = affineOf(state, known ? *dim : given[number]);
    if (!expression) {
      state.error(
          name +
          " must be an integer, a symbol, a sum or product of these, or one divided by a constant");
      return false;
    }
    dims.push_back(*dim);
    affine.push_back(expression);
  }
  return true;
}

bool requireOutsideOfLaunch(builder::Construction& state, std::string_view what) {
  if (!state.isInLaunch())
    return true;
  state.stateError(std::string(what) + " must stand before T.Kernel",
                   {{state.launchPlace, "T.Kernel is here"}});
  return false;
}

} // namespace

Value KernelBuilder::symbol(std::string_view name, Dtype dtype) {
  if (!requireOutsideOfLaunch(*state, "the symbol '" + std::string(name) + "'"))
    return {};
  if (!dtype.isInteger()) {
    state->typeError("the symbol '" + std::string(name) +
                     "' must be an integer, but it is of dtype " + dtype.name());
    return {};
  }
  mlir::Value argument = addArgument(*state, state->ir.getIndexType(), true);
  Value value = state->add(argument, Dtype::int32(), true, name);
  state->record(value).frame = 0;
  state->record(value).affine = state->ir.getAffineSymbolExpr(unsigned(state->symbolNames.size()));
  state->symbolNames.emplace_back(name);
  return value;
}

Buffer KernelBuilder::tensor(std::string_view name, std::span<const Index> shape, Dtype dtype,
                             std::span<const Index> strides, std::string_view scope) {
  if (!requireOutsideOfLaunch(*state, "the tensor '" + std::string(name) + "'"))
    return {};
  auto space = builder::parseScope(scope);
  if (space != tile::MemorySpace::Global) {
    state->error("the tensor '" + std::string(name) +
                 "' must be in scope 'global', but it is in '" + std::string(scope) + "'");
    return {};
  }
  mlir::Type element = builder::elementType(dtype, state->context.get());
  if (!element) {
    state->report(Severity::Unsupported, "a tensor of dtype " + dtype.name() + " is not supported");
    return {};
  }
  if (!strides.empty() && strides.size() != shape.size()) {
    state->error("'" + std::string(name) + "' has " + std::to_string(shape.size()) + " dims but " +
                 std::to_string(strides.size()) + " strides");
    return {};
  }
  BufferRecord record;
  builder::Construction::Shape layout{state->argumentAttributes.size(), {}, {}};
  std::vector<Index> resolvedStrides;
  if (!resolveDims(*state, name, "dim", shape, record.shape, layout.dims) ||
      !resolveDims(*state, name, "stride", strides, resolvedStrides, layout.strides))
    return {};
  llvm::SmallVector<int64_t> dims;
  for (const Index& dim : record.shape) {
    const auto* known = std::get_if<int64_t>(&dim);
    dims.push_back(known ? *known : mlir::ShapedType::kDynamic);
  }
  if (!builder::hasFewElements(*state, name, dims))
    return {};
  auto type = tile::BufferType::get(dims, element, *space, !strides.empty());
  record.ir = addArgument(*state, type, false);
  mlir::NamedAttrList attributes;
  attributes.set(tile::kNameAttr, state->ir.getStringAttr(name));
  state->argumentAttributes.push_back(std::move(attributes));
  state->argumentShapes.push_back(std::move(layout));
  record.dtype = dtype;
  record.scope = scope;
  record.name = name;
  record.isArgument = true;
  return state->add(std::move(record));
}

Value KernelBuilder::scalar(std::string_view name, Dtype dtype) {
  if (!requireOutsideOfLaunch(*state, "the scalar '" + std::string(name) + "'"))
    return {};
  mlir::Type type = builder::scalarType(dtype, state->context.get());
  if (!type) {
    state->report(Severity::Unsupported, "a scalar of dtype " + dtype.name() + " is not supported");
    return {};
  }
  mlir::Value argument = addArgument(*state, type, false);
  mlir::NamedAttrList attributes;
  attributes.set(tile::kNameAttr, state->ir.getStringAttr(name));
  attributes.set(tile::kDtypeAttr,
                 mlir::TypeAttr::get(builder::elementType(dtype, state->context.get())));
  const size_t number = state->argumentAttributes.size();
  state->argumentAttributes.push_back(std::move(attributes));
  Value value = state->add(argument, dtype, false, name);
  state->record(value).frame = 0;
  if (dtype.isInteger() && dtype.bits() >= 32) // extents are computed in 64 bits: nothing wraps
    state->record(value).affine = state->ir.getAffineSymbolExpr(kFirstScalar + unsigned(number));
  return value;
}

Value KernelBuilder::pointer(std::string_view name, std::optional<Dtype> pointee) {
  mlir::Type element;
  if (pointee && !(element = builder::elementType(*pointee, state->context.get()))) {
    state->report(Severity::Unsupported, "a pointer to " + pointee->name() + " is not supported");
    return {};
  }
  Value value = scalar(name, *Dtype::parse("uint64"));
  if (value.isPoison())
    return value;
  state->argumentAttributes.back().set(tile::kAddressAttr, state->ir.getUnitAttr());
  if (element)
    state->argumentAttributes.back().set(tile::kPointeeAttr, mlir::TypeAttr::get(element));
  return value;
}

// Launch

namespace {

std::optional<llvm::SmallVector<int64_t>> resolveThreads(builder::Construction& state,
                                                         std::span<const Index> threads) {
  llvm::SmallVector<int64_t> extents;
  int64_t count = 1;
  for (const Index& extent : threads) {
    auto resolved = state.toIndex(extent, "the number of threads");
    if (!resolved)
      return std::nullopt;
    const auto* known = std::get_if<int64_t>(&*resolved);
    if (!known) {
      state.error("the number of threads must be known while building the kernel");
      return std::nullopt;
    }
    if (*known < 1) {
      state.error("the number of threads is " + std::to_string(*known) +
                  ", but it must be at least 1");
      return std::nullopt;
    }
    extents.push_back(*known);
    count = *known > 1024 ? 1025 : std::min<int64_t>(count * *known, 1025);
  }
  if (extents.size() <= 3 && count <= 1024)
    return extents;
  state.error(extents.size() > 3
                  ? "T.Kernel takes 1 to 3 thread extents, not " + std::to_string(extents.size())
                  : "T.Kernel asks for more than 1024 threads in a block");
  return std::nullopt;
}

std::optional<std::vector<Index>> resolveGrid(builder::Construction& state,
                                              std::span<const Index> grid) {
  if (grid.empty() || grid.size() > 3) {
    state.error("T.Kernel takes 1 to 3 grid extents, not " + std::to_string(grid.size()));
    return std::nullopt;
  }
  std::vector<Index> extents;
  for (const Index& extent : grid) {
    auto resolved = state.toIndex(extent, "a grid extent");
    if (!resolved)
      return std::nullopt;
    const auto* known = std::get_if<int64_t>(&*resolved);
    if (known && *known < 0) {
      state.error("a grid extent is " + std::to_string(*known) + ", but it cannot be negative");
      return std::nullopt;
    }
    extents.push_back(*resolved);
  }
  return extents;
}

/// A block of an NPU is an AI core: its number is one, and `threads` are its vector cores.
void checkNpuLaunch(builder::Construction& state, const std::vector<Index>& grid,
                    llvm::ArrayRef<int64_t> threads) {
  int64_t count = 1;
  for (int64_t extent : threads)
    count *= extent;
  if (grid.size() != 1)
    state.error("T.Kernel for an NPU takes 1 grid extent, not " + std::to_string(grid.size()));
  if (count > 2)
    state.error("T.Kernel for an NPU takes 1 or 2 threads, not " + std::to_string(count));
}

} // namespace

std::vector<Value> KernelBuilder::beginLaunch(std::span<const Index> grid,
                                              std::span<const Index> threads,
                                              const Attributes& attributes) {
  const bool isNested = state->isInLaunch();
  if (isNested)
    state->stateError("T.Kernel stands inside of another T.Kernel",
                      {{state->launchPlace, "the first T.Kernel is here"}});
  else if (state->frames.size() > 1)
    state->stateError("T.Kernel stands inside of a " + state->frames.back().name);
  auto extents = resolveGrid(*state, grid);
  auto threadExtents = resolveThreads(*state, threads);
  if (!isNested) {
    state->hasLaunch = true;
    state->launchPlace = state->place;
    state->deqScale = {};
  }
  // After an error the body is built all the same, for the errors in it.
  size_t count = extents ? extents->size() : std::clamp<size_t>(grid.size(), 1, 3);
  llvm::SmallVector<mlir::Value> operands;
  for (size_t dim = 0; dim < count; ++dim)
    operands.push_back(state->indexIr(extents ? (*extents)[dim] : Index(int64_t{1})));
  const Attribute* npu = builder::find(attributes, "npu");
  bool isNpu = npu && std::holds_alternative<bool>(*npu) && std::get<bool>(*npu);
  state->isNpu = isNpu;
  if (isNpu && extents && threadExtents)
    checkNpuLaunch(*state, *extents, *threadExtents);
  auto launch =
      tile::LaunchOp::create(state->ir, state->location(), operands,
                             threadExtents ? *threadExtents : llvm::SmallVector<int64_t>{}, isNpu);
  annotate(*state, launch, "T.Kernel", attributes, {"npu"});
  state->threadDims = threads.size();
  state->openSafeValues();
  state->push(FrameKind::Launch, "T.Kernel", launch, launch.getBodyBlock());
  std::vector<Value> ids;
  for (mlir::Value id : launch.getBlockIds())
    ids.push_back(state->add(id, Dtype::int32(), true));
  state->blockIds = ids;
  return ids;
}

void KernelBuilder::endLaunch() {
  if (state->pop(FrameKind::Launch, "T.Kernel"))
    state->closeSafeValues();
}

Value KernelBuilder::threadBinding(int dim) {
  if (!state->requireLaunch("a thread binding"))
    return {};
  if (dim < 0 || dim > 2) {
    state->error("thread dim is " + std::to_string(dim) + ", but it must be 0, 1 or 2");
    return {};
  }
  if (size_t(dim) >= std::max<size_t>(state->threadDims, 1))
    return state->addConstant(Constant::ofInteger(0), Dtype::int32());
  if (state->isNpu) {
    state->stateError(
        "in an is_npu kernel no thread has a number: each of its cores runs one; write "
        "T.Parallel over the elements, or tell the vector cores apart by vid, `with "
        "T.Kernel(blocks, is_npu=True) as (cid, vid):`");
    return {};
  }
  // In front of loops over elements, whose iterations are no thread's own: there it must be the same in all threads.
  const auto parallel = llvm::find_if(state->frames, [](const builder::Frame& frame) {
    return frame.kind == FrameKind::Parallel && frame.op;
  });
  const mlir::OpBuilder::InsertionGuard guard(state->ir);
  if (parallel != state->frames.end())
    state->ir.setInsertionPoint(parallel->op);
  return state->add(tile::ThreadIdOp::create(state->ir, state->location(), dim), Dtype::int32(),
                    true);
}

Value KernelBuilder::blockBinding(int dim) {
  if (!state->requireLaunch("a block binding"))
    return {};
  if (dim < 0 || dim > 2) {
    state->error("block dim is " + std::to_string(dim) + ", but it must be 0, 1 or 2");
    return {};
  }
  if (size_t(dim) >= state->blockIds.size())
    return state->addConstant(Constant::ofInteger(0), Dtype::int32());
  return state->blockIds[size_t(dim)];
}

// End

namespace {

/// Gives the function its arguments: tensors and scalars as declared, then the symbols.
void completeSignature(builder::Construction& state) {
  mlir::Block& entry = state.function.getBody().front();
  mlir::MLIRContext* context = state.context.get();
  size_t symbols = state.symbolNames.size();
  for (const auto& shape : state.argumentShapes) {
    mlir::NamedAttrList& attributes = state.argumentAttributes[shape.argument];
    auto isConstant = [](mlir::AffineExpr dim) { return mlir::isa<mlir::AffineConstantExpr>(dim); };
    if (!llvm::all_of(shape.dims, isConstant))
      attributes.set(tile::kShapeAttr, mlir::AffineMapAttr::get(mlir::AffineMap::get(
                                           0, unsigned(symbols), shape.dims, context)));
    if (!shape.strides.empty())
      attributes.set(tile::kStridesAttr, mlir::AffineMapAttr::get(mlir::AffineMap::get(
                                             0, unsigned(symbols), shape.strides, context)));
  }
  llvm::SmallVector<mlir::DictionaryAttr> all;
  for (auto& attributes : state.argumentAttributes)
    all.push_back(attributes.getDictionary(context));
  const size_t firstSymbol = all.size();
  for (const std::string& symbol : state.symbolNames)
    all.push_back(mlir::DictionaryAttr::get(
        context, mlir::NamedAttribute(mlir::StringAttr::get(context, tile::kSymbolAttr),
                                      mlir::StringAttr::get(context, symbol))));
  for (auto [argument, symbol] : state.symbolOfScalar) {
    mlir::NamedAttrList attributes(all[firstSymbol + symbol]);
    attributes.set(tile::kScalarAttr, state.argumentAttributes[argument].get(tile::kNameAttr));
    all[firstSymbol + symbol] = attributes.getDictionary(context);
  }
  state.function.setFunctionType(mlir::FunctionType::get(context, entry.getArgumentTypes(), {}));
  state.function.setAllArgAttrs(all);
}

/// What the verifier refuses is a rule that the builder lacks: the kernel's place, and an internal
/// error.
void verifyModule(builder::Construction& state) {
  mlir::ScopedDiagnosticHandler handler(state.context.get(), [&](mlir::Diagnostic& found) {
    Diagnostic diagnostic{Severity::Internal, placeOf(found.getLocation()), found.str(), {}};
    if (!diagnostic.place.isKnown())
      diagnostic.place = state.kernelPlace;
    for (mlir::Diagnostic& note : found.getNotes())
      diagnostic.notes.push_back({placeOf(note.getLocation()), note.str()});
    state.diagnostics.push_back(std::move(diagnostic));
    state.faults.push_back(Fault::State);
  });
  if (mlir::failed(mlir::verify(*state.module)) && !state.hasErrors())
    state.report(Severity::Internal, "the kernel's IR is not valid");
}

} // namespace

std::shared_ptr<KernelModule> KernelBuilder::finish() {
  if (state->isFinished)
    return nullptr;
  state->isFinished = true;
  builder::checkDoubtfulCalls(*state);
  state->place = state->kernelPlace;
  state->macros.clear();
  if (state->frames.size() > 1)
    state->report(
        Severity::Internal, "the kernel ends inside of a " + state->frames.back().name,
        {{state->frames.back().place, "the " + state->frames.back().name + " starts here"}});
  else if (!state->hasLaunch && !state->hasErrors())
    state->error("the kernel '" + state->kernelName + "' has no T.Kernel; " +
                 std::string(builder::kWorkInLaunch));
  if (state->hasErrors())
    return nullptr;
  mlir::func::ReturnOp::create(state->ir, state->location());
  completeSignature(*state);
  verifyModule(*state);
  if (state->hasErrors())
    return nullptr;
  auto kernel = std::make_shared<BuiltKernel>(state->kernelName, std::move(state->context),
                                              std::move(state->module));
  // The context is the kernel's now: whatever is still called on this builder meets a fresh one.
  auto fresh = std::make_unique<State>(state->kernelName, state->kernelPlace);
  fresh->diagnostics = std::move(state->diagnostics);
  fresh->faults = std::move(state->faults);
  fresh->isFinished = true;
  state = std::move(fresh);
  return kernel;
}

} // namespace tilewright
