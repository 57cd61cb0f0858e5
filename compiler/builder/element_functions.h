// SPDX-License-Identifier: Apache-2.0
/// What T.tile.* computes per element.
#pragma once

#include "compiler/builder/construction.h"

#include <functional>

namespace tilewright::builder {

/// One element under computation. A source is read at the nest's position, or at another in flat
/// nests.
struct ElementCall {
  KernelBuilder& kernel;
  Construction& state;
  const Attributes& attributes;
  Dtype target;
  const std::vector<Value>& variables;
  std::vector<std::function<Value(std::optional<Value>)>> sources;
  std::vector<Dtype> dtypes;       ///< of the sources
  std::function<Value()> old;      ///< what the target held
  std::function<Value()> position; ///< the number of the element in the tile

  /// In the target's dtype.
  Value source(size_t number) const {
    Value value = sources[number](std::nullopt);
    return value.dtype() == target ? value : kernel.cast(value, target);
  }
  Value number(double value) const;
  /// The attribute `mode`, or the default.
  std::string mode(std::string_view otherwise) const;
};

struct ElementFunction {
  size_t arguments; ///< besides the target
  unsigned tiles;   ///< a bit per argument: it may be a tile
  unsigned scalars; ///< a bit per argument: it may be a scalar
  std::function<Value(const ElementCall&)> make;
  bool integersOnly = false;
  bool converts = false;      ///< the tiles' dtypes may differ
  bool broadcasts = false;    ///< T.tile.broadcast itself
  bool isSequence = false;    ///< of the number of the element in the tile
  bool perByte = false;       ///< a byte of the target stands for 8 elements
  size_t ownDtypes = 0;       ///< 1 if there is a mask
  size_t maskTile = SIZE_MAX; ///< its number among the tiles, the target first
};

/// Null if there is none of that name.
const ElementFunction* findElementFunction(std::string_view name);

} // namespace tilewright::builder
