// The number types: how scores lie in a register of 32 bits, and what the recurrence does to them.
//
//   HALVES               scores in a register; they never mix
//   LIMITED              whether a score may be too large
//   SPARSE               whether the best may be looked at in every fourth row only (gotoh.cuh)
//   LOWEST               no score of a pair of residues lies below it, or is cut to it
//   pack(low, high)      a register of these numbers
//   number(a, half)      one of them again
//   add(a, b)            a + b
//   cell(d, s, e, f)     max(0, d + s, e, f)
//   raise(a, b, c)       max(a + b, c)
//   highest(a, b)        max(a, b); but for S32 also of three
//   watch(best, e, f, g_left, g)
//                        `best` raised to what stands for a cell and the one to its left: either
//                        their G, or this cell's E and F (gotoh.cuh tells why that is enough)
//
// In `cell` of the whole numbers the sum stands last: the compiler then adds on the pipe of the
// multipliers, which works beside the one of the maxima. Written first, the sum would be fused into
// a maximum, on the busier pipe.
#pragma once

// Values that the compiler cannot take apart, or compute before they are asked for: it would
// replace a multiplication by a choice, add the parts of an address in every row anew, and keep in
// registers what is needed between pieces only.
static __device__ __forceinline__ unsigned int hidden(unsigned int a)
{
    asm volatile("" : "+r"(a));
    return a;
}

template <class Words>
static __device__ __forceinline__ const char* hidden(const Words* shared)
{
#ifdef SWDUAL_HOST
    return reinterpret_cast<const char*>(shared);
#else
    const unsigned int address = static_cast<unsigned int>(__cvta_generic_to_shared(shared));
    return static_cast<const char*>(__cvta_shared_to_generic(hidden(address)));
#endif
}

// Whole numbers of 16 bits, for compute capability 9.0 and later.
struct S16 {
    static constexpr int HALVES = 2;
    static constexpr bool LIMITED = true, SPARSE = true;
    static constexpr int LOWEST = -32768;

    static __device__ __forceinline__ unsigned int pack(int low, int high)
    {
        return (low & 0xffff) | (static_cast<unsigned int>(high) << 16);
    }
    static __device__ __forceinline__ int number(unsigned int a, int half)
    {
        return static_cast<short>(half ? a >> 16 : a & 0xffff);
    }
    static __device__ __forceinline__ unsigned int add(unsigned int a, unsigned int b)
    {
        return __vadd2(a, b);
    }
    static __device__ __forceinline__ unsigned int cell(
        unsigned int d, unsigned int s, unsigned int e, unsigned int f)
    {
        return __vimax3_s16x2_relu(f, e, __vadd2(d, s));
    }
    static __device__ __forceinline__ unsigned int raise(
        unsigned int a, unsigned int b, unsigned int c)
    {
        return __viaddmax_s16x2(a, b, c);
    }
    static __device__ __forceinline__ unsigned int highest(unsigned int a, unsigned int b)
    {
        return __vmaxs2(a, b);
    }
    static __device__ __forceinline__ unsigned int highest(
        unsigned int a, unsigned int b, unsigned int c)
    {
        return __vimax3_s16x2(a, b, c);
    }
    static __device__ __forceinline__ unsigned int watch(
        unsigned int best, unsigned int, unsigned int, unsigned int g_left, unsigned int g)
    {
        return highest(best, g_left, g);
    }
};

// Whole numbers of 32 bits, one in a register, for every card.
struct S32 {
    static constexpr int HALVES = 1;
    static constexpr bool LIMITED = false, SPARSE = false;
    static constexpr int LOWEST = -(1 << 30);

    static __device__ __forceinline__ unsigned int pack(int low, int)
    {
        return static_cast<unsigned int>(low);
    }
    static __device__ __forceinline__ int number(unsigned int a, int)
    {
        return static_cast<int>(a);
    }
    static __device__ __forceinline__ unsigned int add(unsigned int a, unsigned int b)
    {
        return a + b;
    }
    static __device__ __forceinline__ unsigned int cell(
        unsigned int d, unsigned int s, unsigned int e, unsigned int f)
    {
        return __vimax3_s32_relu(number(f, 0), number(e, 0), number(d + s, 0));
    }
    static __device__ __forceinline__ unsigned int raise(
        unsigned int a, unsigned int b, unsigned int c)
    {
        return __viaddmax_s32(number(a, 0), number(b, 0), number(c, 0));
    }
    static __device__ __forceinline__ unsigned int highest(unsigned int a, unsigned int b)
    {
        return max(number(a, 0), number(b, 0));
    }
    static __device__ __forceinline__ unsigned int watch(
        unsigned int best, unsigned int, unsigned int, unsigned int g_left, unsigned int g)
    {
        return __vimax3_s32(number(best, 0), number(g_left, 0), number(g, 0));
    }
};

// Pairs of IEEE's half precision, without cuda_fp16.h, which the run-time compiler would have to be
// told the place of. The test build for the host brings its own.
#ifndef SWDUAL_HOST

static __device__ __forceinline__ unsigned int half2_of(int low, int high)
{
    unsigned int r;
    asm("{\n\t.reg .f16 a, b;\n\t"
        "cvt.rn.f16.s32 a, %1;\n\tcvt.rn.f16.s32 b, %2;\n\tmov.b32 %0, {a, b};\n\t}"
        : "=r"(r) : "r"(low), "r"(high));
    return r;
}

// The lower half towards zero; the largest or smallest number where it is infinite.
static __device__ __forceinline__ int half_to_int(unsigned int a)
{
    int r;
    asm("{\n\t.reg .f16 a, b;\n\t"
        "mov.b32 {a, b}, %1;\n\tcvt.rzi.s32.f16 %0, a;\n\t}"
        : "=r"(r) : "r"(a));
    return r;
}

static __device__ __forceinline__ unsigned int half2_add(unsigned int a, unsigned int b)
{
    unsigned int r;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

#if __CUDA_ARCH__ >= 800

static __device__ __forceinline__ unsigned int half2_max(unsigned int a, unsigned int b)
{
    unsigned int r;
    asm("max.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

// max(0, a * b + c), rounded once.
static __device__ __forceinline__ unsigned int half2_fma_relu(
    unsigned int a, unsigned int b, unsigned int c)
{
    unsigned int r;
    asm("fma.rn.relu.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return r;
}

#else

// Compute capability 7.5 compares halves but has no maximum of them: it chooses by a mask.
static __device__ __forceinline__ unsigned int half2_max(unsigned int a, unsigned int b)
{
    unsigned int greater;
    asm("set.gt.u32.f16x2 %0, %1, %2;" : "=r"(greater) : "r"(a), "r"(b));
    return (a & greater) | (b & ~greater);
}

static __device__ __forceinline__ unsigned int half2_fma_relu(
    unsigned int a, unsigned int b, unsigned int c)
{
    unsigned int r;
    asm("fma.rn.f16x2 %0, %1, %2, %3;" : "=r"(r) : "r"(a), "r"(b), "r"(c));
    return half2_max(r, 0);
}

#endif
#endif

// Whole numbers up to 2048 in half precision, for compute capability 7.5 to 8.9.
struct Half {
    static constexpr int HALVES = 2;
    static constexpr bool LIMITED = true, SPARSE = false;
    static constexpr int LOWEST = -2048;
    static constexpr unsigned int ONES = 0x3c003c00;

    static __device__ __forceinline__ unsigned int pack(int low, int high)
    {
        return half2_of(low, high);
    }
    static __device__ __forceinline__ int number(unsigned int a, int half)
    {
        return half_to_int(half ? a >> 16 : a & 0xffff);
    }
    static __device__ __forceinline__ unsigned int add(unsigned int a, unsigned int b)
    {
        return half2_add(a, b);
    }
    // The multiplication costs nothing, and brings the comparison with 0 for nothing.
    static __device__ __forceinline__ unsigned int cell(
        unsigned int d, unsigned int s, unsigned int e, unsigned int f)
    {
        return half2_max(half2_max(e, f), half2_fma_relu(d, ONES, s));
    }
    static __device__ __forceinline__ unsigned int raise(
        unsigned int a, unsigned int b, unsigned int c)
    {
        return half2_max(half2_add(a, b), c);
    }
    static __device__ __forceinline__ unsigned int highest(unsigned int a, unsigned int b)
    {
        return half2_max(a, b);
    }
    static __device__ __forceinline__ unsigned int highest(
        unsigned int a, unsigned int b, unsigned int c)
    {
        return half2_max(half2_max(b, c), a);
    }
    // One maximum instead of two: the inner one is that of `cell`.
    static __device__ __forceinline__ unsigned int watch(
        unsigned int best, unsigned int e, unsigned int f, unsigned int, unsigned int)
    {
        return half2_max(best, half2_max(e, f));
    }
};
