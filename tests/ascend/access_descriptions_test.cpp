// SPDX-License-Identifier: Apache-2.0
// What the dialect says of an instruction, its pipe and the bytes that it reads and writes, is held against what the
// host lists for the statement that is printed for it. Of bytes that the host lists none may be missing: where the
// compiler doesn't know of an access, it puts in no flag for it.
#include "compiler/ir/npu_ops.h"
#include "compiler/targets/ascend/build_library.h"
#include "compiler/targets/ascend/build_program.h"
#include "compiler/targets/ascend/passes.h"
#include "compiler/targets/ascend/pipeline.h"
#include "compiler/targets/ascend/print_kernel.h"
#include "simulator/launch.h"
#include "tests/ascend/access_descriptions.h"

#include <dlfcn.h>
#include <fstream>
#include <gtest/gtest.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/Parser/Parser.h>
#include <mlir/Pass/PassManager.h>
#include <set>

namespace tilewright::ascend {
namespace {

using namespace mlir;
using testing::Excess;
using testing::InstructionKernel;

/// Of the memories of a core, and of tensors in global memory, which are numbered behind those.
class ByteSet {
public:
  void add(unsigned space, uint64_t begin, uint64_t end) {
    begin += uint64_t{space} << kBits;
    end += uint64_t{space} << kBits;
    if (begin == end)
      return;
    auto next = runs.upper_bound(begin);
    if (next != runs.begin() && std::prev(next)->second >= begin)
      --next;
    while (next != runs.end() && next->first <= end) {
      begin = std::min(begin, next->first);
      end = std::max(end, next->second);
      next = runs.erase(next);
    }
    runs.emplace(begin, end);
  }
  void add(const ByteSet& other) {
    for (const auto& [begin, end] : other.runs)
      add(0, begin, end);
  }
  bool isWithin(const ByteSet& other) const {
    return std::ranges::all_of(runs, [&](const auto& run) {
      const auto behind = other.runs.upper_bound(run.first);
      return behind != other.runs.begin() && std::prev(behind)->second >= run.second;
    });
  }
  bool meets(const ByteSet& other) const {
    return std::ranges::any_of(runs, [&](const auto& run) {
      const auto behind = other.runs.lower_bound(run.second);
      return behind != other.runs.begin() && std::prev(behind)->second > run.first;
    });
  }
  void clear() {
    runs.clear();
  }
  bool operator==(const ByteSet& other) const = default;
  /// Of each run its memory, first byte and length.
  std::string text() const {
    std::string words;
    for (const auto& [begin, end] : runs)
      words += " " + std::to_string(begin >> kBits) + ":" +
               std::to_string(begin & ((uint64_t{1} << kBits) - 1)) + "+" +
               std::to_string(end - begin);
    return words;
  }

private:
  static constexpr unsigned kBits = 48;
  std::map<uint64_t, uint64_t> runs; ///< from the first byte to behind the last
};

struct Bytes {
  ByteSet read, written;
  ByteSet& of(bool isWrite) {
    return isWrite ? written : read;
  }
  bool isWithin(const Bytes& other) const {
    return read.isWithin(other.read) && written.isWithin(other.written);
  }
  bool operator==(const Bytes& other) const = default;
};

constexpr unsigned kFirstTensor = 100;

/// As the host numbers them (simulator/isa/instruction.h).
unsigned spaceOf(tile::MemorySpace space) {
  using enum tile::MemorySpace;
  switch (space) {
  case UB:
    return 1;
  case L1:
    return 2;
  case L0A:
    return 3;
  case L0B:
    return 4;
  case L0C:
    return 5;
  default:
    return 0;
  }
}

struct Described {
  Bytes all, beforeBarrier; ///< `beforeBarrier`: what no barrier inside holds back
  ByteSet doneAtBarrier, writtenBehind;
  unsigned pipe = 0;
  bool hasBarrier = false;
};

/// Global memory that the host knows.
class Tensors {
public:
  explicit Tensors(func::FuncOp kernel) {
    for (const Type type : kernel.getArgumentTypes())
      if (auto buffer = dyn_cast<tile::BufferType>(type)) {
        data.emplace_back(buffer.getNumElements() * buffer.getElementBits() / 8);
        addGlobalMemory(data.back().data(), data.back().size());
      }
  }
  Tensors(const Tensors&) = delete;
  Tensors& operator=(const Tensors&) = delete;
  ~Tensors() {
    for (std::vector<char>& each : data)
      removeGlobalMemory(each.data());
  }
  /// By number, as `kernel` takes them.
  std::pair<unsigned, uint64_t> placeOf(uint64_t address) const {
    for (unsigned i = 0; i < data.size(); ++i)
      if (const auto begin = reinterpret_cast<uint64_t>(data[i].data());
          address >= begin && address < begin + data[i].size())
        return {kFirstTensor + i, address - begin};
    return {0, address};
  }
  std::vector<std::vector<char>> data;
};

class AccessDescriptions : public ::testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    DialectRegistry registry;
    registry.insert<tile::TileDialect, AscendDialect, npu::NpuDialect, func::FuncDialect,
                    arith::ArithDialect, scf::SCFDialect>();
    context.appendDialectRegistry(registry);
    prepareContext(context);
    // NOLINTNEXTLINE(performance-unnecessary-value-param): a StreamHook is given the request.
    setStreamHook([](void*, LaunchRequest request) {
      LaunchOptions options;
      options.check = false; // nothing orders them
      options.threads = 1;
      options.listAccesses = true;
      report() = launch(request, options);
    });
  }
  static LaunchReport& report() {
    static LaunchReport last;
    return last;
  }

  /// Instruction i stands on line i + 1.
  func::FuncOp prepare(const InstructionKernel& made) {
    module = parseSourceString<ModuleOp>(made.text(), &context);
    if (!module)
      return {};
    PassManager passes(&context);
    passes.addNestedPass<func::FuncOp>(
        createPlanMemory(*chips::findAscendChip("910B2"), /*mayShare=*/false));
    passes.addNestedPass<func::FuncOp>(createSplitCubeVector(/*combine=*/true));
    func::FuncOp kernel = *module->getOps<func::FuncOp>().begin();
    unsigned line = 0;
    kernel.walk([&](npu::Instruction op) {
      op->setLoc(FileLineColLoc::get(&context, "instructions.py", ++line, 1));
    });
    EXPECT_EQ(line, made.instructions.size());
    return succeeded(passes.run(*module)) ? *module->getOps<func::FuncOp>().begin()
                                          : func::FuncOp();
  }

  static unsigned lineOf(Operation* op) {
    auto place = dyn_cast<FileLineColLoc>(op->getLoc());
    return place ? place.getLine() : 0;
  }

  static ByteSet rowsOf(unsigned space, int64_t begin, int64_t end, int64_t rows, int64_t pitch) {
    ByteSet bytes;
    for (int64_t row = 0; row < rows; ++row)
      bytes.add(space, static_cast<uint64_t>(begin + row * pitch),
                static_cast<uint64_t>(end + row * pitch));
    return bytes;
  }

  /// A box of a tensor of up to two dims.
  static ByteSet bytesOf(const model::Access& access, tile::BufferType type, unsigned tensor) {
    const int64_t size = type.getElementBits() / 8;
    if (access.otherDims.empty())
      return rowsOf(tensor, access.begin * size, access.end * size, 1, 0);
    const model::Range& columns = access.otherDims.front();
    const int64_t pitch = type.getShape()[1], first = access.begin * pitch;
    return rowsOf(tensor, (first + columns.begin) * size, (first + columns.end) * size,
                  access.end - access.begin, pitch * size);
  }

  /// The analysis's own view of what the dialect says.
  static std::map<unsigned, Described> described(func::FuncOp kernel) {
    std::map<unsigned, Described> byLine;
    const std::unique_ptr<ModelOfKernel> model = buildProgram(kernel);
    for (const model::Node& node : model->program.nodes) {
      if (node.kind != model::NodeKind::Statement)
        continue;
      Operation* op = operationOf(&node);
      SmallVector<npu::Access> accesses;
      cast<npu::Instruction>(op).getAccesses(accesses);
      Described& one = byLine[lineOf(op)];
      one.pipe = static_cast<unsigned>(node.queue.pipe);
      one.hasBarrier = node.hasBarrier();
      EXPECT_EQ(accesses.size(), node.accesses.size());
      for (size_t i = 0; i < node.accesses.size(); ++i) {
        const model::Access& access = node.accesses[i];
        const npu::Access& told = accesses[i];
        EXPECT_TRUE(access.terms.empty());
        const ByteSet bytes =
            access.isGlobal
                ? bytesOf(access, told.type(),
                          kFirstTensor + cast<BlockArgument>(told.buffer).getArgNumber())
                : rowsOf(spaceOf(told.type().getSpace()), access.begin, access.end, access.rows,
                         access.pitch);
        one.all.of(access.isWrite).add(bytes);
        if (!access.isBehindBarrier)
          one.beforeBarrier.of(access.isWrite).add(bytes);
        if (access.isDoneAtBarrier)
          one.doneAtBarrier.add(bytes);
        if (access.isBehindBarrier && access.isWrite)
          one.writtenBehind.add(bytes);
      }
    }
    return byLine;
  }

  struct Listed {
    Bytes all, beforeBarrier;
    ByteSet behindBarrier; ///< written behind the last one
    std::set<unsigned> pipes;
    bool hasBarrier = false;
  };

  static std::map<unsigned, Listed> listed(const Tensors& tensors) {
    std::map<unsigned, Listed> byLine;
    for (const ListedAccess& access : report().accesses) {
      EXPECT_EQ(std::string(access.place.file), "instructions.py");
      Listed& one = byLine[access.place.line];
      if (access.isBarrier) {
        one.hasBarrier = true;
        one.behindBarrier.clear();
        continue;
      }
      one.pipes.insert(access.pipe);
      for (const auto& [begin, end] : access.bytes) {
        const auto [space, first] =
            access.space == 0 ? tensors.placeOf(begin) : std::pair(unsigned{access.space}, begin);
        const uint64_t behind = first + (end - begin);
        one.all.of(access.isWrite).add(space, first, behind);
        if (!one.hasBarrier)
          one.beforeBarrier.of(access.isWrite).add(space, first, behind);
        if (access.isWrite)
          one.behindBarrier.add(space, first, behind);
      }
    }
    return byLine;
  }

  static bool run(const std::string& source, const std::string& name, Tensors& tensors) {
    PassSession session;
    const std::optional<std::vector<char>> bytes = buildLibrary(source, session);
    EXPECT_TRUE(bytes) << session.problem;
    if (!bytes)
      return false;
    const std::string path =
        ::testing::TempDir() + "access_descriptions_" + std::to_string(getpid()) + name + ".so";
    std::ofstream(path, std::ios::binary).write(bytes->data(), std::ssize(*bytes));
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    std::remove(path.c_str());
    EXPECT_NE(library, nullptr) << dlerror();
    using Launch = void (*)(const uint64_t*, void*, uint32_t, void*);
    auto start =
        library ? reinterpret_cast<Launch>(dlsym(library, (name + "_launch").c_str())) : nullptr;
    EXPECT_NE(start, nullptr);
    if (!start)
      return false;
    std::vector<uint64_t> slots;
    slots.reserve(tensors.data.size() + 1);
    for (std::vector<char>& each : tensors.data)
      slots.push_back(reinterpret_cast<uint64_t>(each.data()));
    slots.push_back(5);
    start(slots.data(), nullptr, 1, nullptr);
    for (const Finding& finding : report().findings)
      ADD_FAILURE() << finding.text;
    return report().findings.empty();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_P(AccessDescriptions, NameWhatTheHostSees) {
  const InstructionKernel made =
      GetParam() ? testing::cubeInstructions() : testing::vectorInstructions();
  func::FuncOp kernel = prepare(made);
  ASSERT_TRUE(kernel) << made.text();
  Tensors tensors(kernel);
  const std::string source = printKernel(kernel, LineStyle::Directives);
  ASSERT_TRUE(run(source, made.name, tensors)) << source;
  const std::map<unsigned, Described> said = described(kernel);
  const std::map<unsigned, Listed> done = listed(tensors);
  std::set<Excess> missing, seen; // kinds of excess that no instruction has, and that one has
  for (unsigned line = 1; line <= made.instructions.size(); ++line) {
    const auto& [text, excess] = made.instructions[line - 1];
    SCOPED_TRACE(text);
    ASSERT_TRUE(said.contains(line) && done.contains(line)) << source;
    const Described& by = said.at(line);
    const Listed& is = done.at(line);
    EXPECT_EQ(is.pipes, std::set<unsigned>{by.pipe});
    const auto show = [&] {
      return "said: read" + by.all.read.text() + ", written" + by.all.written.text() +
             "\ndone: read" + is.all.read.text() + ", written" + is.all.written.text();
    };
    EXPECT_TRUE(is.all.isWithin(by.all)) << show();
    if (excess == Excess::None)
      EXPECT_TRUE(by.all.isWithin(is.all)) << show();
    else
      (by.all == is.all ? missing : seen).insert(excess);
    // What is said of a barrier inside.
    EXPECT_TRUE(!by.hasBarrier || is.hasBarrier);
    EXPECT_TRUE(is.beforeBarrier.isWithin(by.beforeBarrier) || !by.hasBarrier);
    if (!by.writtenBehind.meets(by.doneAtBarrier))
      EXPECT_FALSE(is.behindBarrier.meets(by.doneAtBarrier) && is.hasBarrier) << show();
  }
  for (const Excess excess : missing)
    EXPECT_TRUE(seen.contains(excess)) << static_cast<int>(excess) << " is exact now";
}

/// Each op of the dialect is there, but those that say what a kernel's author has said.
TEST_P(AccessDescriptions, AreOfAllInstructions) {
  std::set<std::string> all, tried;
  for (const RegisteredOperationName name : context.getRegisteredOperations())
    if (name.getDialectNamespace() == "npu" && name.hasInterface<npu::Instruction>())
      all.insert(name.getStringRef().str());
  for (const InstructionKernel& made :
       {testing::vectorInstructions(), testing::cubeInstructions()}) {
    OwningOpRef<ModuleOp> parsed = parseSourceString<ModuleOp>(made.text(), &context);
    ASSERT_TRUE(parsed) << made.text();
    parsed->walk([&](npu::Instruction op) { tried.insert(op->getName().getStringRef().str()); });
  }
  tried.insert("npu.call");
  EXPECT_EQ(all, tried);
}

INSTANTIATE_TEST_SUITE_P(Cores, AccessDescriptions, ::testing::Values(false, true));

} // namespace
} // namespace tilewright::ascend
