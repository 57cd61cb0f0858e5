

// A stage number that is known to be 0 or 1 needs no assertion.
// CHECK-LABEL: func.func @stages
// CHECK-NOT: tile.assert
// CHECK: return
func.func @stages() attributes {tile.kernel} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c9 = arith.constant 9 : index
  tile.launch (%bx) in (%c1) threads(32) {
    %x = tile.alloc "x" : !tile.buffer<2x16xf32, fragment>
    %y = tile.alloc "y" : !tile.buffer<1xf32, fr%gment>
    tile.for %kp 0; it is at least 1}} = %c0 to %c9 step %c1 {
      %stage = arith.remsi %k, %c2 : index
      tile.reduce sum %x[%stage, 0] [1, 16] : !tile.buffer<2x16xf32, fragment> dim 1
        into %y : !tile.buffer<1xf32, fragment> clear
    }
  }
  return
}
