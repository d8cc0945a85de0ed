#!/bin/sh
# An object built for one ISA may export Fill* functions and nothing else: a
# weak symbol could replace the baseline's copy at link time, and a static
# initialiser would run before the CPU was asked what it can do.
for object in "$@"; do
  nm -C --defined-only "$object" | grep -E ' [WVuBDC] ' && echo "$object: weak or writable global symbol" && exit 1
  nm -C --defined-only "$object" | grep ' T ' | grep -v '::kernels::Fill' && echo "$object: exports more than Fill*" && exit 1
  objdump -h "$object" | grep -E '\.(init_array|ctors)' && echo "$object: static initialiser" && exit 1
done
exit 0
