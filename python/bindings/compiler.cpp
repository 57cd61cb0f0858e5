// SPDX-License-Identifier: Apache-2.0
// The module `tilewright._compiler`: tilewright/builder.h and tilewright/compile.h in Python, and
// nothing else. python/tilewright/_compiler.pyi is its interface.
#include "python/bindings/compilation.h"
#include "python/bindings/interpret.h"
#include "python/bindings/work.h"

#include "tilewright/builder.h"
#include "tilewright/compile.h"

#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

namespace nb = nanobind;
using namespace nb::literals;

namespace tilewright {
namespace {

using Indices = std::vector<Index>;

Dtype dtypeOf(std::string_view name) {
  if (auto dtype = Dtype::parse(name))
    return *dtype;
  throw nb::value_error(("there is no dtype '" + std::string(name) + "'").c_str());
}

/// A Value, or a Python bool, int or float (or what converts to one, as NumPy's scalars) as a
/// literal. The dtype, if any, is that of the literal.
Value lift(KernelBuilder& builder, nb::handle object, std::optional<Dtype> dtype = {}) {
  if (nb::isinstance<Value>(object))
    return nb::cast<Value>(object);
  if (PyBool_Check(object.ptr()))
    return dtype ? builder.constant(int64_t(object.is(Py_True)), dtype)
                 : builder.constant(object.is(Py_True));
  if (PyIndex_Check(object.ptr())) {
    nb::object integer = nb::steal(PyNumber_Index(object.ptr()));
    if (!integer)
      throw nb::python_error();
    int overflow = 0;
    int64_t value = PyLong_AsLongLongAndOverflow(integer.ptr(), &overflow);
    if (overflow > 0 && (!dtype || dtype->kind() == ScalarKind::UInt64)) {
      const uint64_t larger = PyLong_AsUnsignedLongLong(integer.ptr());
      overflow = PyErr_Occurred() ? 1 : 0;
      PyErr_Clear();
      if (!overflow && !dtype)
        return builder.constant(larger);
      value = int64_t(larger);
    }
    if (overflow != 0) {
      builder.error("the integer " + std::string(nb::str(integer).c_str()) + " does not fit " +
                    (dtype ? dtype->name() : "int64"));
      return {};
    }
    return builder.constant(value, dtype);
  }
  double real = PyFloat_AsDouble(object.ptr());
  if (real == -1.0 && PyErr_Occurred())
    throw nb::python_error();
  return builder.constant(real, dtype);
}

const char* severityWord(Severity severity) {
  return severity == Severity::Internal ? "internal" : severityName(severity);
}

const char* faultWord(Fault fault) {
  switch (fault) {
  case Fault::Value:
    return "value";
  case Fault::Type:
    return "type";
  case Fault::Index:
    return "index";
  case Fault::State:
    return "state";
  }
  return "value";
}

Severity severityOf(std::string_view word) {
  for (Severity severity : {Severity::Error, Severity::Unsupported, Severity::Internal,
                            Severity::Warning, Severity::Remark})
    if (word == severityWord(severity))
      return severity;
  throw nb::value_error("severity is error, unsupported, internal, warning or remark");
}

void bindPlaces(nb::module_& module) {
  nb::class_<Place>(module, "Place")
      .def(
          "__init__",
          [](Place* self, std::string file, int32_t line, int32_t column, int32_t endColumn) {
            new (self) Place{std::move(file), line, column, endColumn};
          },
          "file"_a = "", "line"_a = 0, "column"_a = 0, "end_column"_a = 0)
      .def_rw("file", &Place::file)
      .def_rw("line", &Place::line)
      .def_rw("column", &Place::column)
      .def_rw("end_column", &Place::endColumn)
      .def("__eq__", [](const Place& a, const Place& b) { return a == b; })
      .def("__repr__", [](const Place& place) { return render(place); });
  nb::class_<Note>(module, "Note")
      .def(
          "__init__",
          [](Note* self, Place place, std::string message) {
            new (self) Note{std::move(place), std::move(message)};
          },
          "place"_a, "message"_a)
      .def_rw("place", &Note::place)
      .def_rw("message", &Note::message);
  nb::class_<Diagnostic>(module, "Diagnostic")
      .def(
          "__init__",
          [](Diagnostic* self, std::string_view severity, Place place, std::string message,
             std::vector<Note> notes) {
            new (self) Diagnostic{severityOf(severity), std::move(place), std::move(message),
                                  std::move(notes)};
          },
          "severity"_a, "place"_a, "message"_a, "notes"_a = std::vector<Note>{})
      .def_prop_rw(
          "severity", [](const Diagnostic& self) { return severityWord(self.severity); },
          [](Diagnostic& self, std::string_view word) { self.severity = severityOf(word); })
      .def_rw("place", &Diagnostic::place)
      .def_rw("message", &Diagnostic::message)
      .def_rw("notes", &Diagnostic::notes)
      .def(
          "render", [](const Diagnostic& self, bool color) { return render(self, color); },
          "color"_a = false)
      .def("__repr__", [](const Diagnostic& self) { return render(self, false); });
}

void bindHandles(nb::module_& module) {
  nb::class_<Value>(module, "Value")
      .def_prop_ro("is_poison", &Value::isPoison)
      .def_prop_ro("dtype", [](const Value& value) { return value.dtype().name(); });
  nb::class_<Buffer>(module, "Buffer").def_prop_ro("is_poison", &Buffer::isPoison);
  nb::class_<Region>(module, "Region")
      .def(
          "__init__",
          [](Region* self, Buffer buffer, Indices offsets, Indices extents,
             std::vector<bool> dropped) {
            new (self) Region{buffer, std::move(offsets), std::move(extents), std::move(dropped)};
          },
          "buffer"_a, "offsets"_a, "extents"_a = Indices{}, "dropped"_a = std::vector<bool>{})
      .def_rw("buffer", &Region::buffer)
      .def_ro("offsets", &Region::offsets)
      .def_ro("extents", &Region::extents)
      .def_ro("dropped", &Region::dropped);
  nb::enum_<LoopKind>(module, "LoopKind")
      .value("Serial", LoopKind::Serial)
      .value("Unroll", LoopKind::Unroll)
      .value("Vectorized", LoopKind::Vectorized)
      .value("Pipelined", LoopKind::Pipelined)
      .value("Persistent", LoopKind::Persistent);
  nb::class_<KernelModule>(module, "KernelModule")
      .def_prop_ro("name", &KernelModule::name)
      .def("text", &KernelModule::text, "places"_a = false);
}

void bindArguments(nb::class_<KernelBuilder>& builder) {
  builder
      .def(
          "__init__",
          [](KernelBuilder* self, std::string_view name, Place place) {
            new (self) KernelBuilder(name, std::move(place));
          },
          "name"_a, "place"_a = Place{})
      .def(
          "at",
          [](KernelBuilder& self, std::string file, int32_t line, int32_t column,
             int32_t endColumn) { self.at({std::move(file), line, column, endColumn}); },
          "file"_a, "line"_a, "column"_a, "end_column"_a = 0)
      .def_prop_ro("place", [](const KernelBuilder& self) { return self.place(); })
      .def("name_value", &KernelBuilder::nameValue, "value"_a, "name"_a)
      .def("enter_macro", &KernelBuilder::enterMacro, "name"_a, "call_site"_a)
      .def("leave_macro", &KernelBuilder::leaveMacro)
      .def("error", &KernelBuilder::error, "message"_a, "notes"_a = std::vector<Note>{})
      .def_prop_ro("diagnostics", [](const KernelBuilder& self) { return self.diagnostics(); })
      .def_prop_ro("faults",
                   [](const KernelBuilder& self) {
                     nb::list words;
                     for (Fault fault : self.faults())
                       words.append(faultWord(fault));
                     return words;
                   })
      .def_prop_ro("has_errors", &KernelBuilder::hasErrors)
      .def(
          "symbol",
          [](KernelBuilder& self, std::string_view name, std::string_view dtype) {
            return self.symbol(name, dtypeOf(dtype));
          },
          "name"_a, "dtype"_a = "int32")
      .def(
          "tensor",
          [](KernelBuilder& self, std::string_view name, const Indices& shape,
             std::string_view dtype, const Indices& strides, std::string_view scope) {
            return self.tensor(name, shape, dtypeOf(dtype), strides, scope);
          },
          "name"_a, "shape"_a, "dtype"_a, "strides"_a = Indices{}, "scope"_a = "global")
      .def(
          "scalar",
          [](KernelBuilder& self, std::string_view name, std::string_view dtype) {
            return self.scalar(name, dtypeOf(dtype));
          },
          "name"_a, "dtype"_a)
      .def(
          "pointer",
          [](KernelBuilder& self, std::string_view name, std::optional<std::string_view> dtype) {
            return self.pointer(name, dtype ? std::optional(dtypeOf(*dtype)) : std::nullopt);
          },
          "name"_a, "dtype"_a = nb::none())
      .def(
          "begin_launch",
          [](KernelBuilder& self, const Indices& grid, const Indices& threads,
             const Attributes& attributes) { return self.beginLaunch(grid, threads, attributes); },
          "grid"_a, "threads"_a, "attributes"_a = Attributes{})
      .def("end_launch", &KernelBuilder::endLaunch)
      .def("thread_binding", &KernelBuilder::threadBinding, "dim"_a)
      .def(
          "shuffle",
          [](KernelBuilder& self, std::string_view kind, const nb::object& value,
             const nb::object& lane, int64_t width) {
            return self.shuffle(kind, lift(self, value), lift(self, lane), width);
          },
          "kind"_a, "value"_a, "lane"_a, "width"_a = 32)
      .def(
          "vote",
          [](KernelBuilder& self, std::string_view kind, std::string_view scope,
             const nb::object& condition) { return self.vote(kind, scope, lift(self, condition)); },
          "kind"_a, "scope"_a, "condition"_a)
      .def("block_binding", &KernelBuilder::blockBinding, "dim"_a)
      .def("finish", &KernelBuilder::finish);
}

void bindMemory(nb::class_<KernelBuilder>& builder) {
  builder
      .def(
          "alloc",
          [](KernelBuilder& self, const std::vector<int64_t>& shape, std::string_view dtype,
             std::string_view scope,
             std::string_view name) { return self.alloc(shape, dtypeOf(dtype), scope, name); },
          "shape"_a, "dtype"_a, "scope"_a, "name"_a)
      .def(
          "alloc_sized",
          [](KernelBuilder& self, const Indices& shape, std::string_view dtype,
             std::string_view scope,
             std::string_view name) { return self.allocSized(shape, dtypeOf(dtype), scope, name); },
          "shape"_a, "dtype"_a, "scope"_a, "name"_a)
      .def(
          "alloc_var",
          [](KernelBuilder& self, std::string_view dtype, const nb::object& init,
             std::string_view name) {
            std::optional<Value> value;
            if (!init.is_none())
              value = lift(self, init);
            return self.allocVar(dtypeOf(dtype), value, name);
          },
          "dtype"_a, "init"_a.none(), "name"_a)
      .def(
          "view",
          [](KernelBuilder& self, Buffer source, const Indices& shape, std::string_view dtype) {
            return self.view(source, shape, dtypeOf(dtype));
          },
          "source"_a, "shape"_a, "dtype"_a)
      .def("annotate_layout", &KernelBuilder::annotateLayout, "buffer"_a, "layout"_a)
      .def(
          "annotate_safe_value",
          [](KernelBuilder& self, Buffer buffer, const nb::object& value) {
            self.annotateSafeValue(buffer, lift(self, value));
          },
          "buffer"_a, "value"_a)
      .def(
          "annotate_padding",
          [](KernelBuilder& self, Buffer buffer, const nb::object& value) {
            self.annotatePadding(buffer, lift(self, value));
          },
          "buffer"_a, "value"_a)
      .def("begin_block", &KernelBuilder::beginBlock)
      .def("end_block", &KernelBuilder::endBlock)
      .def("annotate_overlaps", &KernelBuilder::annotateOverlaps, "tensor"_a)
      .def("annotate_reducer", &KernelBuilder::annotateReducer, "tile"_a, "op"_a)
      .def("ends_update", &KernelBuilder::endsUpdate)
      .def("begin_assumption", &KernelBuilder::beginAssumption, "condition"_a, "holds"_a)
      .def("end_assumption", &KernelBuilder::endAssumption)
      .def("is_negative", &KernelBuilder::isNegative, "index"_a)
      .def("is_never_negative", &KernelBuilder::isNeverNegative, "index"_a)
      .def("annotate_address", &KernelBuilder::annotateAddress, "buffer"_a, "bytes"_a)
      .def(
          "tensor_at",
          [](KernelBuilder& self, const nb::object& address, const Indices& shape,
             std::string_view dtype, const Indices& strides, std::string_view name) {
            return self.tensorAt(lift(self, address), shape, dtypeOf(dtype), strides, name);
          },
          "address"_a, "shape"_a, "dtype"_a, "strides"_a = Indices{}, "name"_a = "tensor")
      .def(
          "address",
          [](KernelBuilder& self, Buffer buffer, const Indices& indices) {
            return self.address(buffer, indices);
          },
          "buffer"_a, "indices"_a)
      .def("rank", &KernelBuilder::rank, "buffer"_a)
      .def("shape", &KernelBuilder::shape, "buffer"_a)
      .def(
          "dtype", [](KernelBuilder& self, Buffer buffer) { return self.dtype(buffer).name(); },
          "buffer"_a)
      .def("scope", &KernelBuilder::scope, "buffer"_a)
      .def("name", &KernelBuilder::name, "buffer"_a);
}

void bindScalars(nb::class_<KernelBuilder>& builder) {
  builder
      .def(
          "constant",
          [](KernelBuilder& self, const nb::object& value, std::optional<std::string_view> dtype) {
            return lift(self, value, dtype ? std::optional(dtypeOf(*dtype)) : std::nullopt);
          },
          "value"_a, "dtype"_a = nb::none())
      .def("constant_value", &KernelBuilder::constantValue, "value"_a)
      .def("is_constant", &KernelBuilder::isConstant, "value"_a)
      .def(
          "binary",
          [](KernelBuilder& self, std::string_view op, const nb::object& left,
             const nb::object& right) {
            return self.binary(op, lift(self, left), lift(self, right));
          },
          "op"_a, "left"_a, "right"_a)
      .def(
          "unary",
          [](KernelBuilder& self, std::string_view op, const nb::object& operand) {
            return self.unary(op, lift(self, operand));
          },
          "op"_a, "operand"_a)
      .def(
          "fma",
          [](KernelBuilder& self, const nb::object& x, const nb::object& y, const nb::object& z) {
            return self.fma(lift(self, x), lift(self, y), lift(self, z));
          },
          "x"_a, "y"_a, "z"_a)
      .def(
          "cast",
          [](KernelBuilder& self, const nb::object& value, std::string_view dtype) {
            return self.cast(lift(self, value), dtypeOf(dtype));
          },
          "value"_a, "dtype"_a)
      .def(
          "reinterpret",
          [](KernelBuilder& self, const nb::object& value, std::string_view dtype) {
            return self.reinterpret(lift(self, value), dtypeOf(dtype));
          },
          "value"_a, "dtype"_a)
      .def(
          "select",
          [](KernelBuilder& self, const nb::object& condition, const nb::object& yes,
             const nb::object& no) {
            return self.select(lift(self, condition), lift(self, yes), lift(self, no));
          },
          "condition"_a, "when_true"_a, "when_false"_a)
      .def(
          "begin_select",
          [](KernelBuilder& self, const nb::object& condition) {
            self.beginSelect(lift(self, condition));
          },
          "condition"_a)
      .def(
          "else_select",
          [](KernelBuilder& self, const nb::object& value) { self.elseSelect(lift(self, value)); },
          "when_true"_a)
      .def(
          "end_select",
          [](KernelBuilder& self, const nb::object& value) {
            return self.endSelect(lift(self, value));
          },
          "when_false"_a)
      .def(
          "load",
          [](KernelBuilder& self, Buffer buffer, const Indices& indices) {
            return self.load(buffer, indices);
          },
          "buffer"_a, "indices"_a)
      .def(
          "store",
          [](KernelBuilder& self, Buffer buffer, const Indices& indices, const nb::object& value) {
            self.store(buffer, indices, lift(self, value));
          },
          "buffer"_a, "indices"_a, "value"_a);
}

void bindTiles(nb::class_<KernelBuilder>& builder) {
  builder
      .def(
          "copy",
          [](KernelBuilder& self, const Operand& source, const Operand& target,
             const Attributes& attributes, const nb::object& pad) {
            self.copy(source, target, attributes,
                      pad.is_none() ? std::nullopt : std::optional(lift(self, pad)));
          },
          "source"_a, "target"_a, "attributes"_a = Attributes{}, "pad"_a.none() = nb::none())
      .def(
          "fill",
          [](KernelBuilder& self, const Operand& target, const nb::object& value,
             const std::string& name) { self.fill(target, lift(self, value), name); },
          "target"_a, "value"_a, "name"_a = "T.fill")
      .def("gemm", &KernelBuilder::gemm, "a"_a, "b"_a, "c"_a, "transpose_a"_a, "transpose_b"_a,
           "clear_accum"_a = Index(int64_t{0}), "attributes"_a = Attributes{})
      .def(
          "compute",
          [](KernelBuilder& self, std::string_view function, const Operand& target,
             const std::vector<nb::object>& arguments, const Attributes& attributes) {
            std::vector<TileArgument> given;
            for (const nb::object& argument : arguments) {
              Operand tile;
              if (nb::try_cast(argument, tile, false))
                std::visit([&](const auto& part) { given.emplace_back(part); }, tile);
              else
                given.emplace_back(lift(self, argument));
            }
            self.compute(function, target, given, attributes);
          },
          "function"_a, "target"_a, "arguments"_a, "attributes"_a = Attributes{})
      .def(
          "reduce",
          [](KernelBuilder& self, std::string_view kind, const Operand& source,
             const Operand& target, int64_t dim, bool clear, const Attributes& attributes,
             const Indices& realShape) {
            self.reduce(kind, source, target, dim, clear, attributes, realShape);
          },
          "kind"_a, "source"_a, "target"_a, "dim"_a, "clear"_a, "attributes"_a = Attributes{},
          "real_shape"_a = Indices{})
      .def("scan", &KernelBuilder::scan, "kind"_a, "source"_a, "target"_a, "dim"_a, "reverse"_a)
      .def(
          "atomic",
          [](KernelBuilder& self, std::string_view kind, const Operand& target,
             const nb::object& value, const Attributes& attributes) {
            return self.atomic(kind, target, lift(self, value), attributes);
          },
          "kind"_a, "target"_a, "value"_a, "attributes"_a = Attributes{})
      .def("atomic_tile", &KernelBuilder::atomicTile, "kind"_a, "target"_a, "source"_a,
           "attributes"_a = Attributes{})
      .def(
          "print",
          [](KernelBuilder& self, std::optional<std::variant<Value, Buffer>> what,
             std::string_view message, const Attributes& attributes, std::string_view name) {
            if (!what)
              self.print(std::monostate{}, message, attributes, name);
            else
              std::visit([&](auto handle) { self.print(handle, message, attributes, name); },
                         *what);
          },
          "what"_a.none(), "message"_a, "attributes"_a = Attributes{}, "name"_a = "T.print")
      .def(
          "device_assert",
          [](KernelBuilder& self, const nb::object& condition, std::string_view message) {
            self.deviceAssert(lift(self, condition), message);
          },
          "condition"_a, "message"_a)
      .def(
          "wait_until",
          [](KernelBuilder& self, const nb::object& condition, std::string_view message) {
            self.waitUntil(lift(self, condition), message);
          },
          "condition"_a, "message"_a)
      .def(
          "assume",
          [](KernelBuilder& self, const nb::object& condition, bool isChecked) {
            self.assume(lift(self, condition), isChecked);
          },
          "condition"_a, "is_checked"_a = true)
      .def("barrier", &KernelBuilder::barrier, "scope"_a = "block", "number"_a = nb::none(),
           "thread_count"_a = nb::none())
      .def(
          "call_extern",
          [](KernelBuilder& self, std::string_view name, const std::vector<nb::object>& arguments,
             std::optional<std::string_view> result) {
            std::vector<Value> values;
            values.reserve(arguments.size());
            for (const nb::object& argument : arguments)
              values.push_back(lift(self, argument));
            return self.callExtern(name, values,
                                   result ? std::optional(dtypeOf(*result)) : std::nullopt);
          },
          "name"_a, "arguments"_a, "result"_a = nb::none());
}

void bindControl(nb::class_<KernelBuilder>& builder) {
  builder
      .def("begin_for", &KernelBuilder::beginFor, "kind"_a, "start"_a, "stop"_a, "step"_a, "name"_a,
           "attributes"_a = Attributes{})
      .def("end_for", &KernelBuilder::endFor)
      .def(
          "begin_parallel",
          [](KernelBuilder& self, const Indices& extents, const std::vector<std::string>& names,
             const Attributes& attributes) {
            return self.beginParallel(extents, names, attributes);
          },
          "extents"_a, "names"_a, "attributes"_a = Attributes{})
      .def("end_parallel", &KernelBuilder::endParallel)
      .def(
          "begin_if",
          [](KernelBuilder& self, const nb::object& condition) {
            self.beginIf(lift(self, condition));
          },
          "condition"_a)
      .def("begin_else", &KernelBuilder::beginElse)
      .def("end_if", &KernelBuilder::endIf)
      .def("begin_while", &KernelBuilder::beginWhile)
      .def(
          "while_condition",
          [](KernelBuilder& self, const nb::object& condition) {
            self.whileCondition(lift(self, condition));
          },
          "condition"_a)
      .def("end_while", &KernelBuilder::endWhile)
      .def("break_loop", &KernelBuilder::breakLoop)
      .def("continue_loop", &KernelBuilder::continueLoop);
}

void bindAscend(nb::class_<KernelBuilder>& builder) {
  builder.def("vector_id", &KernelBuilder::vectorId)
      .def("begin_scope", &KernelBuilder::beginScope, "agent"_a)
      .def("end_scope", &KernelBuilder::endScope)
      .def("set_flag", &KernelBuilder::setFlag, "source"_a, "target"_a, "event"_a,
           "name"_a = "T.set_flag")
      .def("wait_flag", &KernelBuilder::waitFlag, "source"_a, "target"_a, "event"_a,
           "name"_a = "T.wait_flag")
      .def("pipe_barrier", &KernelBuilder::pipeBarrier, "pipe"_a)
      .def("set_cross_flag", &KernelBuilder::setCrossFlag, "pipe"_a, "flag"_a, "mode"_a)
      .def("wait_cross_flag", &KernelBuilder::waitCrossFlag, "flag"_a, "pipe"_a)
      .def("sync_all", &KernelBuilder::syncAll)
      .def(
          "set_deq_scale",
          [](KernelBuilder& self, const nb::object& scale) { self.setDeqScale(lift(self, scale)); },
          "scale"_a)
      .def("import_source", &KernelBuilder::importSource, "text"_a)
      .def(
          "print_formatted",
          [](KernelBuilder& self, std::string_view format,
             const std::vector<nb::object>& arguments) {
            std::vector<Value> values;
            values.reserve(arguments.size());
            for (const nb::object& argument : arguments)
              values.push_back(lift(self, argument));
            self.printFormatted(format, values);
          },
          "format"_a, "arguments"_a)
      .def(
          "call_external",
          [](KernelBuilder& self, std::string_view function,
             const std::vector<nb::object>& arguments, std::string_view calledAs) {
            std::vector<std::variant<Value, KernelBuilder::Pointer>> given;
            using Rows = std::tuple<int64_t, int64_t, int64_t>;
            using Parts = std::tuple<Buffer, Index, std::string, Rows>;
            for (const nb::object& argument : arguments) {
              Parts parts;
              if (nb::isinstance<nb::tuple>(argument) && nb::try_cast(argument, parts)) {
                auto& [buffer, offset, access, rows] = parts;
                const auto [count, elements, pitch] = rows;
                given.emplace_back(
                    KernelBuilder::Pointer{buffer, offset, access, count, elements, pitch});
              } else {
                given.emplace_back(lift(self, argument));
              }
            }
            self.callExternal(function, given, calledAs);
          },
          "function"_a, "arguments"_a, "called_as"_a);
}

std::vector<std::pair<std::string, std::string>> inspect(std::shared_ptr<KernelModule> kernel,
                                                         CompileOptions options) {
  options.keepStages = true;
  options.buildLibrary = false;
  auto [artifact, diagnostics] = compileWatchingSignals(std::move(kernel), options, {});
  if (artifact)
    return std::move(artifact->stages);
  std::string text;
  for (const Diagnostic& diagnostic : diagnostics)
    text += render(diagnostic);
  throw nb::value_error(text.c_str());
}

void bindCompile(nb::module_& module) {
  nb::class_<CompileOptions>(module, "CompileOptions")
      .def(
          "__init__",
          [](CompileOptions* self, std::string target, std::string cpu, Attributes passConfigs,
             bool keepStages, bool buildLibrary) {
            new (self) CompileOptions{std::move(target), std::move(cpu), std::move(passConfigs),
                                      keepStages,        buildLibrary,   nullptr};
          },
          "target"_a = "cpu", "cpu"_a = "native", "pass_configs"_a = Attributes{},
          "keep_stages"_a = false, "build_library"_a = true)
      .def_rw("target", &CompileOptions::target)
      .def_rw("cpu", &CompileOptions::cpu)
      .def_rw("pass_configs", &CompileOptions::passConfigs)
      .def_rw("keep_stages", &CompileOptions::keepStages)
      .def_rw("build_library", &CompileOptions::buildLibrary);
  nb::class_<Artifact>(module, "Artifact")
      .def_ro("name", &Artifact::name)
      .def_prop_ro(
          "library",
          [](const Artifact& self) { return nb::bytes(self.library.data(), self.library.size()); })
      .def_ro("manifest", &Artifact::manifest)
      .def_ro("header", &Artifact::header)
      .def_ro("stages", &Artifact::stages)
      .def_ro("times", &Artifact::times);
  module.def("compile", &compileWatchingSignals, "kernel"_a, "options"_a = CompileOptions{},
             "is_cancelled"_a = nb::none());
  module.def("inspect", &inspect, "kernel"_a, "options"_a = CompileOptions{});
  module.def("unwritten_results", &unwrittenResults, "kernel"_a, "results"_a,
             "tells_updates"_a = false);
  module.def("drop_unused_tensors", &dropUnusedTensors, "kernel"_a, "kept"_a);
  module.def("host_cpu", &hostCpu);
  module.def("cpu_problem", &cpuProblem, "cpu"_a, "target"_a = "cpu");
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&endWithoutCompilations));
}

} // namespace
} // namespace tilewright

NB_MODULE(_compiler, module) {
  using namespace tilewright;
  module.doc() = "The kernel builder and the compiler; see _compiler.pyi.";
  bindPlaces(module);
  bindHandles(module);
  nb::class_<KernelBuilder> builder(module, "KernelBuilder");
  bindArguments(builder);
  bindMemory(builder);
  bindScalars(builder);
  bindTiles(builder);
  bindControl(builder);
  bindAscend(builder);
  bindCompile(module);
  bindInterpret(module);
  bindWork(module);
}
