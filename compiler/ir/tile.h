// SPDX-License-Identifier: Apache-2.0
/// All of the tile dialect. Include one group's header instead where that is enough.
#pragma once

#include "compiler/ir/memory_ops.h"
#include "compiler/ir/structure_ops.h"
#include "compiler/ir/tensor_ops.h"
#include "compiler/ir/thread_ops.h"
