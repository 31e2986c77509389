// Compiles a CUDA kernel with g++ and runs it on the CPU, one fibre a thread: force-include this
// file and define SWDUAL_HOST. It gives the words of CUDA that the kernels of this project use.
//
// A kernel's dynamic shared memory is declared with SHARED_MEMORY(name), an array of uint4.
// `__shared__` is left out on purpose: the CTAs of a grid take turns, and a static variable would
// be one for all of them.

#pragma once

#include "host/grid.h"
#include "host/intrinsics.h"

#define __global__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define SHARED_MEMORY(name) uint4* const name = static_cast<uint4*>(host::shared_memory())

struct alignas(8) uint2 { unsigned int x, y; };
struct alignas(16) uint4 { unsigned int x, y, z, w; };

inline uint2 make_uint2(unsigned int x, unsigned int y) { return {x, y}; }

#define threadIdx (host::here.thread)
#define blockIdx (host::here.block)
#define blockDim (host::here.block_size)
#define gridDim (host::here.grid_size)

// Barriers ---------------------------------------------------------------------------------------

inline void __syncthreads() { host::synchronize_cta(); }
inline void __syncwarp(unsigned mask = ~0u) { host::exchange(mask, host::SYNC, 0); }

// What the lanes of a warp tell each other -------------------------------------------------------

namespace host {

// The value of lane `source`, which must be one of those that take part.
template <class T> T shuffled(unsigned mask, Operation operation, T value, int width, int source) {
    std::uint64_t bits = 0;
    static_assert(sizeof(T) <= sizeof bits);
    std::memcpy(&bits, &value, sizeof value);
    exchange(mask, Operation(operation + width), bits);
    bits = shown(source);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

inline int first_of(int width) { return lane() & ~(width - 1); }

}  // namespace host

template <class T> T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
    const int from = host::first_of(width) + (source & (width - 1));
    return host::shuffled(mask, host::SHUFFLE, value, width, from);
}
template <class T> T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    const int from = host::lane() - int(delta);
    const bool outside = from < host::first_of(width);
    return host::shuffled(mask, host::SHUFFLE_UP, value, width, outside ? host::lane() : from);
}
// A lane may not look into a later segment of `width` lanes, but into an earlier one.
template <class T> T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
    const int from = host::lane() ^ bits;
    const bool outside = from >= host::first_of(width) + width;
    return host::shuffled(mask, host::SHUFFLE_XOR, value, width, outside ? host::lane() : from);
}

// Memory -----------------------------------------------------------------------------------------

// Fibres take turns, so a plain read and write is atomic.
template <class T> T atomicAdd(T* address, T value) {
    const T before = *address;
    *address = before + value;
    return before;
}
template <class T> T atomicMax(T* address, T value) {
    const T before = *address;
    if (before < value) *address = value;
    return before;
}
