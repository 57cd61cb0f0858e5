// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest.h"

#include "tilewright/kernel_abi.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>

namespace tilewright::runtime {

namespace {

using Json = nlohmann::json;

constexpr int64_t largestScratch = int64_t(1) << 40;
constexpr size_t largestRank = 32;

/// Reads fields of the manifest; remembers the first thing that is wrong.
class Reader {
public:
  std::string error;

  void fail(std::string_view where, std::string_view what) {
    if (error.empty())
      error = "manifest: '" + std::string(where) + "' " + std::string(what);
  }

  std::string text(const Json& object, const char* key) {
    auto found = object.find(key);
    if (found != object.end() && found->is_string())
      return found->get<std::string>();
    fail(key, "must be a string");
    return "";
  }

  int64_t integer(const Json& object, const char* key, int64_t least, int64_t most) {
    auto found = object.find(key);
    if (found != object.end() && found->is_number_integer() && isWithin(*found, least, most))
      return found->get<int64_t>();
    fail(key, "must be an integer from " + std::to_string(least) + " to " + std::to_string(most));
    return least;
  }

  /// False when it is missing.
  bool flag(const Json& object, const char* key) {
    auto found = object.find(key);
    if (found != object.end() && !found->is_boolean())
      fail(key, "must be true or false");
    return found != object.end() && found->is_boolean() && found->get<bool>();
  }

  /// An array, or an empty one when it is missing or null.
  Json list(const Json& object, const char* key) {
    auto found = object.find(key);
    if (found == object.end() || found->is_null())
      return Json::array();
    if (found->is_array())
      return *found;
    fail(key, "must be a list");
    return Json::array();
  }

  std::vector<Dim> dims(const Json& object, const char* key, size_t symbolCount) {
    std::vector<Dim> result;
    Json entries = list(object, key);
    if (entries.size() > largestRank)
      fail(key, "has too many dims");
    for (const Json& entry : entries)
      result.push_back(dim(entry, key, symbolCount));
    return result;
  }

private:
  static bool isWithin(const Json& number, int64_t least, int64_t most) {
    if (number.is_number_unsigned() && number.get<uint64_t>() > uint64_t(INT64_MAX))
      return false;
    return number.get<int64_t>() >= least && number.get<int64_t>() <= most;
  }

  int32_t symbol(const Json& number, const char* key, size_t symbolCount) {
    if (number.is_number_integer() && isWithin(number, 0, int64_t(symbolCount) - 1))
      return number.get<int32_t>();
    fail(key, "names a symbol that is not in 'symbols'");
    return 0;
  }

  /// Postfix: integers, {"symbol": number}, and "+", "*", "//", "ceildiv" or "%".
  void readCode(const Json& steps, const char* key, size_t symbolCount, Dim& result) {
    using Operation = Dim::Operation;
    static constexpr std::pair<std::string_view, Operation> operations[] = {
        {"+", Operation::Add},
        {"*", Operation::Multiply},
        {"//", Operation::FloorDivide},
        {"ceildiv", Operation::CeilDivide},
        {"%", Operation::Modulo}};
    size_t depth = 0;
    for (const Json& step : steps) {
      if (step.is_number_integer() && isWithin(step, INT64_MIN, INT64_MAX)) {
        result.code.push_back({Operation::Constant, step.get<int64_t>()});
        ++depth;
      } else if (step.is_object() && step.contains("symbol")) {
        const int32_t number = symbol(step["symbol"], key, symbolCount);
        result.code.push_back({Operation::Symbol, number});
        result.terms.emplace_back(1, number);
        ++depth;
      } else {
        const std::string name = step.is_string() ? step.get<std::string>() : "";
        const auto* found =
            std::ranges::find(operations, name, [](auto& entry) { return entry.first; });
        if (found == std::end(operations) || depth < 2)
          return fail(key, "has code that is no expression");
        result.code.push_back({found->second});
        --depth;
      }
    }
    if (depth != 1 || result.terms.empty())
      fail(key, "has code that is no expression");
  }

  Dim dim(const Json& entry, const char* key, size_t symbolCount) {
    Dim result;
    if (entry.is_number_integer()) {
      if (!isWithin(entry, INT64_MIN, INT64_MAX))
        fail(key, "holds an integer beyond 64 bits");
      else
        result.constant = entry.get<int64_t>();
      return result;
    }
    if (!entry.is_object()) {
      fail(key, "must hold integers and expressions of symbols");
      return result;
    }
    if (entry.contains("product")) {
      result.isProduct = true;
      result.constant = entry.contains("factor") ? integer(entry, "factor", 1, INT64_MAX) : 1;
      for (const Json& number : list(entry, "product"))
        result.terms.emplace_back(1, symbol(number, key, symbolCount));
      if (result.terms.empty())
        fail(key, "has an empty product");
      return result;
    }
    if (entry.contains("code")) {
      readCode(list(entry, "code"), key, symbolCount, result);
      return result;
    }
    if (entry.contains("const"))
      result.constant = integer(entry, "const", INT64_MIN, INT64_MAX);
    for (const Json& term : list(entry, "terms")) {
      if (!term.is_array() || term.size() != 2 || !term[0].is_number_integer() ||
          !isWithin(term[0], INT64_MIN, INT64_MAX)) {
        fail(key, "has a term that is not [coefficient, symbol]");
        continue;
      }
      if (term[0].get<int64_t>() != 0)
        result.terms.emplace_back(term[0].get<int64_t>(), symbol(term[1], key, symbolCount));
    }
    return result;
  }
};

bool isIdentifier(std::string_view name) {
  return !name.empty() && !std::isdigit(uint8_t(name[0])) &&
         std::ranges::all_of(name, [](char c) { return std::isalnum(uint8_t(c)) || c == '_'; });
}

std::vector<std::vector<ScalarTest>> readCondition(Reader& reader, const Json& entry) {
  static constexpr std::array<std::string_view, 6> comparisons = {"==", "!=", "<", "<=", ">", ">="};
  const auto fail = [&] { reader.fail("needed_if", "holds what is no test of a scalar"); };
  std::vector<std::vector<ScalarTest>> cases;
  for (const Json& tests : reader.list(entry, "needed_if")) {
    cases.emplace_back();
    if (!tests.is_array())
      fail();
    for (const Json& test : tests.is_array() ? tests : Json::array()) {
      const bool isSound = test.is_array() && test.size() == 3 && test[0].is_number_unsigned() &&
                           test[1].is_string() && test[2].is_number_integer();
      const auto found =
          isSound ? std::ranges::find(comparisons, test[1].get<std::string>()) : comparisons.end();
      if (found == comparisons.end()) {
        fail();
        continue;
      }
      cases.back().push_back({test[0].get<size_t>(),
                              ScalarTest::Comparison(found - comparisons.begin()),
                              test[2].get<int64_t>()});
    }
  }
  return cases;
}

Param readParam(Reader& reader, const Json& entry, size_t symbolCount) {
  Param param;
  std::string kind = reader.text(entry, "kind");
  param.name = reader.text(entry, "name");
  param.isTensor = kind == "tensor";
  if (!param.isTensor && kind != "scalar")
    reader.fail("kind", "must be 'tensor' or 'scalar', not '" + kind + "'");
  std::string dtype = reader.text(entry, "dtype");
  param.type = ElementType::find(dtype);
  if (!param.type)
    reader.fail("dtype", "is '" + dtype + "', which can't be passed");
  if (entry.contains("used"))
    param.used = entry["used"].is_boolean() ? entry["used"].get<bool>() : true;
  if (!param.isTensor) {
    param.isAddress = entry.contains("used");
    if (param.type &&
        (param.type->bits < 8 || param.type->code == DlFloat4E2M1FN ||
         param.type->code == DlFloat8E8M0FNU || param.type->code == DlFloat8E4M3B11FNUZ))
      reader.fail("dtype", "is '" + dtype + "', which can't be passed as a scalar");
    if (entry.contains("shape"))
      for (const Dim& dim : reader.dims(entry, "shape", 0))
        param.pointeeShape.push_back(dim.constant);
    if (entry.contains("pointee")) {
      const std::string pointee = reader.text(entry, "pointee");
      param.pointee = ElementType::find(pointee);
      if (!param.pointee)
        reader.fail("pointee", "is '" + pointee + "', which can't be passed");
    }
    return param;
  }
  param.shape = reader.dims(entry, "shape", symbolCount);
  if (entry.contains("strides") && !entry["strides"].is_null()) {
    param.strides = reader.dims(entry, "strides", symbolCount);
    if (param.strides->size() != param.shape.size())
      reader.fail("strides", "must have one entry per dim of 'shape'");
  }
  if (entry.contains("align"))
    param.align = reader.integer(entry, "align", 1, 4096);
  if ((param.align & (param.align - 1)) != 0)
    reader.fail("align", "must be a power of two");
  if (entry.contains("written"))
    param.written = entry["written"].is_boolean() && entry["written"].get<bool>();
  if (entry.contains("needed_if"))
    param.neededIf = readCondition(reader, entry);
  param.mayOverlap = reader.flag(entry, "overlaps");
  for (const Json& other : reader.list(entry, "apart"))
    if (other.is_number_unsigned())
      param.apartFrom.push_back(other.get<size_t>());
    else
      reader.fail("apart", "must hold numbers of parameters");
  return param;
}

/// That tests compare integers and bools.
void checkTests(Reader& reader, const Manifest& manifest) {
  const auto isInteger = [&](const ScalarTest& test) {
    if (test.param >= manifest.params.size() || manifest.params[test.param].isTensor)
      return false;
    const ElementType* type = manifest.params[test.param].type;
    return type && (type->code == DlInt || type->code == DlUInt || type->code == DlBool);
  };
  for (const Param& param : manifest.params)
    for (const auto& tests : param.neededIf.value_or(std::vector<std::vector<ScalarTest>>()))
      if (!std::ranges::all_of(tests, isInteger))
        reader.fail("needed_if", "names a parameter that is no integer");
}

std::vector<LaunchSpec> readLaunches(Reader& reader, const Json& root) {
  std::vector<LaunchSpec> launches;
  for (const Json& entry : reader.list(root, "launches")) {
    const bool isSound = entry.is_object() && entry.value("cooperative", Json(false)).is_boolean();
    if (!isSound)
      reader.fail("launches", "must hold objects with a boolean 'cooperative'");
    launches.push_back({isSound && entry.value("cooperative", false)});
    if (isSound && entry.contains("line"))
      launches.back().place = reader.text(entry, "file") + ":" +
                              std::to_string(reader.integer(entry, "line", 1, INT32_MAX)) + ":" +
                              std::to_string(reader.integer(entry, "column", 1, INT32_MAX));
  }
  if (launches.empty())
    reader.fail("launches", "must have one entry at least");
  return launches;
}

/// Pairs of a symbol's number and that of an integer parameter.
void readScalarSymbols(Reader& reader, const Json& root, Manifest& manifest) {
  if (!root.contains("scalar_symbols"))
    return;
  for (const Json& entry : reader.list(root, "scalar_symbols")) {
    const bool isPair = entry.is_array() && entry.size() == 2 && entry[0].is_number_unsigned() &&
                        entry[0].get<uint64_t>() < manifest.symbols.size() &&
                        entry[1].is_number_unsigned() &&
                        entry[1].get<uint64_t>() < manifest.params.size();
    const Param* param = isPair ? &manifest.params[entry[1].get<size_t>()] : nullptr;
    const bool isInteger = param && !param->isTensor && param->type &&
                           (param->type->code == DlInt || param->type->code == DlUInt);
    if (isInteger)
      manifest.scalarSymbols.emplace_back(entry[0].get<int32_t>(), entry[1].get<int32_t>());
    else
      reader.fail("scalar_symbols", "must hold pairs of a symbol and an integer parameter");
  }
}

/// Whether a number lies in this slot: slots are of tensors, then of scalars, then of symbols.
bool isNumberSlot(const Manifest& manifest, const Json& slot) {
  const auto tensors = size_t(std::ranges::count_if(manifest.params, &Param::isTensor));
  const size_t count = manifest.params.size() + manifest.symbols.size();
  return slot.is_number_unsigned() && slot.get<uint64_t>() >= tensors &&
         slot.get<uint64_t>() < count;
}

void readLimits(Reader& reader, const Json& root, Manifest& manifest) {
  const auto failSlot = [&] { reader.fail("limits", "names a slot that holds no number"); };
  for (const Json& entry : reader.list(root, "limits")) {
    if (!entry.is_object()) {
      reader.fail("limits", "must hold objects");
      continue;
    }
    ArgumentLimit limit;
    limit.launch =
        size_t(reader.integer(entry, "launch", 0, int64_t(manifest.launches.size()) - 1));
    limit.most = reader.integer(entry, "most", INT64_MIN, INT64_MAX);
    limit.tile = reader.text(entry, "tile");
    limit.fills = reader.flag(entry, "fills");
    limit.multiplies = reader.flag(entry, "multiplies");
    limit.tilePlace = reader.text(entry, "tile_place");
    limit.copyPlace = reader.text(entry, "copy_place");
    if (const Json slot = entry.value("slot", Json()); isNumberSlot(manifest, slot))
      limit.slot = slot.get<size_t>();
    else
      failSlot();
    for (const Json& other : reader.list(entry, "where")) {
      if (other.is_array() && other.size() == 2 && isNumberSlot(manifest, other[0]) &&
          other[1].is_number_integer())
        limit.where.emplace_back(other[0].get<size_t>(), other[1].get<int64_t>());
      else
        failSlot();
    }
    manifest.limits.push_back(std::move(limit));
  }
}

} // namespace

std::optional<Manifest> Manifest::parse(std::string_view json, std::string& error) {
  Json root = Json::parse(json, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) {
    error = "manifest: not a JSON object";
    return std::nullopt;
  }
  Reader reader;
  Manifest manifest;
  reader.integer(root, "format", 1, TW_KERNEL_FORMAT);
  manifest.name = reader.text(root, "name");
  if (!isIdentifier(manifest.name))
    reader.fail("name", "must be a C identifier");
  manifest.target = reader.text(root, "target");
  if (root.contains("cpu"))
    manifest.cpu = reader.text(root, "cpu");
  if (root.contains("scratch_bytes"))
    manifest.scratchBytes = reader.integer(root, "scratch_bytes", 0, largestScratch);
  if (root.contains("workspace_bytes"))
    manifest.workspaceBytes = reader.integer(root, "workspace_bytes", 0, largestScratch);
  if (root.contains("launches"))
    manifest.launches = readLaunches(reader, root);
  if (root.contains("cores_per_block"))
    manifest.coresPerBlock = reader.integer(root, "cores_per_block", 1, 2);
  manifest.usesTiles = reader.flag(root, "tiles");
  manifest.isRelaxed = reader.flag(root, "relaxed");
  for (const Json& symbol : reader.list(root, "symbols")) {
    if (symbol.is_string())
      manifest.symbols.push_back(symbol.get<std::string>());
    else
      reader.fail("symbols", "must hold strings");
  }
  if (root.contains("unread_symbols"))
    for (const Json& entry : reader.list(root, "unread_symbols")) {
      if (entry.is_number_integer() && entry.get<int64_t>() >= 0 &&
          entry.get<int64_t>() < int64_t(manifest.symbols.size()))
        manifest.unreadSymbols.push_back(int32_t(entry.get<int64_t>()));
      else
        reader.fail("unread_symbols", "must hold numbers of symbols");
    }
  for (const Json& entry : reader.list(root, "params")) {
    if (entry.is_object())
      manifest.params.push_back(readParam(reader, entry, manifest.symbols.size()));
    else
      reader.fail("params", "must hold objects");
  }
  checkTests(reader, manifest);
  readScalarSymbols(reader, root, manifest);
  readLimits(reader, root, manifest);
  for (const Json& entry : reader.list(root, "asserts")) {
    if (!entry.is_object()) {
      reader.fail("asserts", "must hold objects");
      continue;
    }
    manifest.asserts.push_back({reader.text(entry, "message"), reader.text(entry, "file"),
                                int32_t(reader.integer(entry, "line", 0, INT32_MAX)),
                                int32_t(reader.integer(entry, "column", 0, INT32_MAX)),
                                reader.flag(entry, "tells")});
  }
  std::vector<int64_t> outputs;
  for (const Json& entry : reader.list(root, "out_idx")) {
    if (entry.is_number_integer())
      outputs.push_back(entry.get<int64_t>());
    else
      reader.fail("out_idx", "must hold integers");
  }
  if (!reader.error.empty()) {
    error = reader.error;
    return std::nullopt;
  }
  if (!manifest.setOutputs(outputs, error))
    return std::nullopt;
  return manifest;
}

/// Which parameters are tensors, in their order.
static std::vector<int32_t> tensorsOf(const std::vector<Param>& params) {
  std::vector<int32_t> tensors;
  for (size_t at = 0; at < params.size(); ++at)
    if (params[at].isTensor)
      tensors.push_back(static_cast<int32_t>(at));
  return tensors;
}

/// Why a number of out_idx or workspace_idx names no tensor. Who has counted tensors alone is told the number.
static std::string noTensorAt(const std::vector<Param>& params, int64_t number, int64_t param) {
  const auto count = int64_t(params.size());
  if (param < 0 || param >= count)
    return " is out of range for " + std::to_string(count) + " parameters";
  const std::vector<int32_t> tensors = tensorsOf(params);
  std::string text = " is '" + params[size_t(param)].name + "', which is no tensor";
  const int64_t tensor = number < 0 ? number + int64_t(tensors.size()) : number;
  if (tensor < 0 || tensor >= int64_t(tensors.size()))
    return text;
  const int64_t meant = tensors[size_t(tensor)];
  return text + "; scalars count, too: '" + params[size_t(meant)].name + "' is " +
         std::to_string(number < 0 ? meant - count : meant);
}

/// The parameters that these numbers are when tensors alone count; nothing if one is none, or two are one.
static std::optional<std::vector<int32_t>> amongTensors(const std::vector<Param>& params,
                                                        std::span<const int64_t> numbers) {
  const std::vector<int32_t> tensors = tensorsOf(params);
  std::vector<int32_t> found;
  const auto count = int64_t(tensors.size());
  for (const int64_t number : numbers) {
    const int64_t tensor = number < 0 ? number + count : number;
    if (tensor < 0 || tensor >= count ||
        std::ranges::find(found, tensors[size_t(tensor)]) != found.end())
      return std::nullopt;
    found.push_back(tensors[size_t(tensor)]);
  }
  return found;
}

/// Of two entries of out_idx and workspace_idx, `first` and `second`, that name one parameter.
static std::string sayOfSame(const std::string& first, const std::string& second,
                             const std::string& parameter) {
  return first == second ? first + " names " + parameter + ", twice"
                         : first + " and " + second + " both name " + parameter;
}

bool Manifest::setOutputs(std::span<const int64_t> numbers, std::string& error, size_t results) {
  const auto listOf = [&](size_t at) { return at < results ? "out_idx" : "workspace_idx"; };
  const auto count = int64_t(params.size());
  outIdx.clear();
  // The documents of TileLang-Ascend count tensors alone: so do all numbers where one would be a scalar.
  const bool hasScalar = std::ranges::any_of(numbers, [&](int64_t number) {
    const int64_t param = number < 0 ? number + count : number;
    return param >= 0 && param < count && !params[size_t(param)].isTensor;
  });
  if (target == "ascend" && hasScalar)
    if (std::optional<std::vector<int32_t>> tensors = amongTensors(params, numbers)) {
      outIdx = std::move(*tensors);
      return true;
    }
  for (const int64_t number : numbers) {
    const int64_t param = number < 0 ? number + count : number;
    if (param < 0 || param >= count || !params[size_t(param)].isTensor) {
      error = name + ": " + listOf(outIdx.size()) + " " + std::to_string(number) +
              noTensorAt(params, number, param);
      return false;
    }
    outIdx.push_back(int32_t(param));
  }
  for (size_t at = 0; at < outIdx.size(); ++at) {
    const auto before = size_t(std::ranges::find(outIdx, outIdx[at]) - outIdx.begin());
    if (before == at)
      continue;
    const std::string first = listOf(before), second = listOf(at),
                      parameter = "parameter " + std::to_string(outIdx[at]) + ", '" +
                                  params[size_t(outIdx[at])].name + "'";
    error = name;
    error += ": ";
    error += sayOfSame(first, second, parameter);
    return false;
  }
  return true;
}

} // namespace tilewright::runtime
