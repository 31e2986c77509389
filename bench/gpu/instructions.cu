// How many clocks an instruction takes when many warps issue nothing else, or a few in turn.
//
// A warp has eight accumulators. Each instruction changes the next of them and reads two others, so
// that none waits for the one just before it, and the compiler can leave none out: every result is
// read three times. What a stream holds in machine code is checked in test_gpu.py.
#include "arithmetic.cuh"

constexpr int ACCUMULATORS = 8, STREAM = 128, THREADS = 512, WARP = 32;

// Clock and time (ns) when a warp began and when it ended.
struct Span {
    unsigned long long begin, end, begin_time, end_time;
};

static __device__ __forceinline__ unsigned long long time_now()
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

// All warps of a CTA begin together.
static __device__ __forceinline__ Span begin_span()
{
    __syncthreads();
    Span span;
    span.begin_time = time_now();
    span.begin = clock64();
    return span;
}

static __device__ __forceinline__ void end_span(Span& span)
{
    span.end = clock64();
    span.end_time = time_now();
}

// What a thread's accumulators begin with.
static __device__ __forceinline__ void fill(
    unsigned int (&a)[ACCUMULATORS], const unsigned int* values)
{
#pragma unroll
    for (int i = 0; i < ACCUMULATORS; ++i)
        a[i] = values[(threadIdx.x + i) % THREADS];
}

// Every structure is one instruction; the comment tells which on compute capability 9.0.
struct Add { // VIADD.16x2
    static __device__ __forceinline__ unsigned int of(unsigned int a, unsigned int b, unsigned int)
    {
        return S16::add(a, b);
    }
};

struct AddMax { // VIADDMNMX.S16x2
    static __device__ __forceinline__ unsigned int of(
        unsigned int a, unsigned int b, unsigned int c)
    {
        return S16::raise(a, b, c);
    }
};

struct Max3 { // VIMNMX3.S16x2
    static __device__ __forceinline__ unsigned int of(
        unsigned int a, unsigned int b, unsigned int c)
    {
        return __vimax3_s16x2_relu(a, b, c);
    }
};

struct Permute { // PRMT
    static __device__ __forceinline__ unsigned int of(
        unsigned int a, unsigned int b, unsigned int c)
    {
        unsigned int r; // __byte_perm would clear the selectors' upper bits first
        asm("prmt.b32 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
        return r;
    }
};

struct Multiply { // IMAD
    static __device__ __forceinline__ unsigned int of(
        unsigned int a, unsigned int b, unsigned int c)
    {
        return a * b + c;
    }
};

struct HalfAdd { // HADD2 and HFMA2.MMA, between which the compiler divides them
    static __device__ __forceinline__ unsigned int of(unsigned int a, unsigned int b, unsigned int)
    {
        return half2_add(a, b);
    }
};

struct HalfFma { // HFMA2.RELU and HFMA2.MMA.RELU, likewise
    static __device__ __forceinline__ unsigned int of(
        unsigned int a, unsigned int b, unsigned int c)
    {
        return half2_fma_relu(a, b, c);
    }
};

struct HalfMax { // HMNMX2
    static __device__ __forceinline__ unsigned int of(unsigned int a, unsigned int b, unsigned int)
    {
        return half2_max(a, b);
    }
};

struct Shuffle { // SHFL.UP
    static __device__ __forceinline__ unsigned int of(unsigned int a, unsigned int, unsigned int)
    {
        return __shfl_up_sync(0xffffffffu, a, 1);
    }
};

template <class Operation>
static __device__ __forceinline__ void step(unsigned int (&a)[ACCUMULATORS], int place)
{
    unsigned int& changed = a[place % ACCUMULATORS];
    changed = Operation::of(
        changed, a[(place + 3) % ACCUMULATORS], a[(place + 5) % ACCUMULATORS]);
}

static __device__ __forceinline__ void write_down(
    Span* spans, unsigned int* values, unsigned int result, const Span& span)
{
    values[blockIdx.x * THREADS + threadIdx.x] = result;
    if (threadIdx.x % WARP == 0)
        spans[(blockIdx.x * THREADS + threadIdx.x) / WARP] = span;
}

// Issues so many operations in turn, at least STREAM in each round.
template <class... Operations>
__global__ void __launch_bounds__(THREADS, 1)
    issue(unsigned int* values, Span* spans, unsigned int rounds)
{
    unsigned int a[ACCUMULATORS], result = 0;
    fill(a, values);
    Span span = begin_span();
#pragma unroll 1
    for (unsigned int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int place = 0; place < STREAM;)
            (step<Operations>(a, place++), ...);
    }
    end_span(span);
#pragma unroll
    for (int i = 0; i < ACCUMULATORS; ++i)
        result ^= a[i];
    write_down(spans, values, result, span);
}

// Issues one operation over and over, STREAM in each round; each waits for the one before.
template <class Operation>
__global__ void __launch_bounds__(THREADS, 1)
    chain(unsigned int* values, Span* spans, unsigned int rounds)
{
    unsigned int a[ACCUMULATORS], result = values[threadIdx.x];
    fill(a, values);
    Span span = begin_span();
#pragma unroll 1
    for (unsigned int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int i = 0; i < STREAM; ++i)
            result = Operation::of(result, a[i % ACCUMULATORS], a[(i + 3) % ACCUMULATORS]);
    }
    end_span(span);
    write_down(spans, values, result, span);
}

struct Word { // LDS
    static __device__ __forceinline__ unsigned int of(unsigned int address)
    {
        unsigned int a;
        asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a) : "r"(address));
        return a;
    }
};

struct FourWords { // LDS.128
    static __device__ __forceinline__ unsigned int of(unsigned int address)
    {
        unsigned int a, b, c, d;
        asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(address));
        return a ^ b ^ c ^ d;
    }
};

// Loads from shared memory, STREAM in each round: each thread from its eight places (in bytes, below
// SPREAD), and from sixteen others that lie in the same banks.
constexpr int PLACES = 8, SPREAD = 16384, STRIDE = 1024;

template <class Load>
__global__ void __launch_bounds__(THREADS, 1)
    load(unsigned int* values, Span* spans, unsigned int rounds, const unsigned int* places)
{
    __shared__ uint4 memory[(SPREAD + STREAM / PLACES * STRIDE) / sizeof(uint4)];
    for (int i = threadIdx.x; i < sizeof(memory) / sizeof(uint4); i += THREADS)
        memory[i] = make_uint4(i, i, i, i);
    unsigned int addresses[PLACES], result = 0;
#pragma unroll
    for (int i = 0; i < PLACES; ++i)
        addresses[i] = static_cast<unsigned int>(__cvta_generic_to_shared(memory))
            + places[threadIdx.x * PLACES + i];
    Span span = begin_span();
#pragma unroll 1
    for (unsigned int round = 0; round < rounds; ++round) {
#pragma unroll
        for (int i = 0; i < STREAM; ++i)
            result ^= Load::of(addresses[i % PLACES] + i / PLACES * STRIDE);
    }
    end_span(span);
    write_down(spans, values, result, span);
}
