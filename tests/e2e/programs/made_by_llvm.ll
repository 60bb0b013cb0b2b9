; SPDX-License-Identifier: Apache-2.0
; Executed by LLVM's JIT (lli): 500 blocks of 4,001 bytes below 0 to 8 calls of a function without a frame pointer.
declare ptr @malloc(i64)
declare void @free(ptr)
define void @made_leaf(i64 %size) noinline uwtable {
  %block = call ptr @malloc(i64 %size)
  call void @free(ptr %block)
  ret void
}
define i64 @made_deep(i64 %depth, i64 %size) noinline uwtable {
  %ends = icmp eq i64 %depth, 0
  br i1 %ends, label %last, label %more
last:
  call void @made_leaf(i64 %size)
  ret i64 1
more:
  %room = alloca [56 x i8]
  store volatile i8 1, ptr %room
  %less = sub i64 %depth, 1
  %below = call i64 @made_deep(i64 %less, i64 %size)
  %sum = add i64 %below, %depth
  ret i64 %sum
}
define i32 @main() uwtable {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %depth = urem i64 %i, 9
  %sum = call i64 @made_deep(i64 %depth, i64 4001)
  %next = add i64 %i, 1
  %again = icmp ult i64 %next, 500
  br i1 %again, label %loop, label %done
done:
  ret i32 0
}
