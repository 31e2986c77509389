// CUDA's integer intrinsics and PTX's half-precision instructions, from their published meaning.

#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __F16C__
#include <immintrin.h>
#endif

// Two numbers of 16 bits in a word ---------------------------------------------------------------

namespace host {

typedef unsigned short Pair __attribute__((vector_size(4)));  // sums wrap
typedef short SignedPair __attribute__((vector_size(4)));

template <class T> unsigned word(T pair) {
    static_assert(sizeof(T) == sizeof(unsigned));
    unsigned bits;
    std::memcpy(&bits, &pair, sizeof bits);
    return bits;
}
template <class T> T pair(unsigned bits) {
    T pair;
    std::memcpy(&pair, &bits, sizeof pair);
    return pair;
}

}  // namespace host

inline unsigned __vadd2(unsigned a, unsigned b) {
    return host::word<host::Pair>(host::pair<host::Pair>(a) + host::pair<host::Pair>(b));
}
inline unsigned __vmaxs2(unsigned a, unsigned b) {
    const auto x = host::pair<host::SignedPair>(a), y = host::pair<host::SignedPair>(b);
    return host::word(x > y ? x : y);
}
inline unsigned __vimax3_s16x2(unsigned a, unsigned b, unsigned c) {
    return __vmaxs2(__vmaxs2(a, b), c);
}
inline unsigned __vimax3_s16x2_relu(unsigned a, unsigned b, unsigned c) {
    return __vmaxs2(__vimax3_s16x2(a, b, c), 0);
}
inline unsigned __viaddmax_s16x2(unsigned a, unsigned b, unsigned c) {
    return __vmaxs2(__vadd2(a, b), c);
}

// One number of 32 bits --------------------------------------------------------------------------

inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }

inline int __vimax3_s32(int a, int b, int c) { return max(max(a, b), c); }
inline int __vimax3_s32_relu(int a, int b, int c) { return max(max(max(a, b), c), 0); }
// A sum that leaves 32 bits is an error of the kernel: the sanitizer sees it here.
inline int __viaddmax_s32(int a, int b, int c) { return max(a + b, c); }

// Bytes ------------------------------------------------------------------------------------------

// Each nibble of the selector, from the lowest, takes one of the eight bytes of b:a.
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned selector) {
    const std::uint64_t bytes = std::uint64_t(b) << 32 | a;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i)
        result |= unsigned(bytes >> 8 * (selector >> 4 * i & 7) & 0xff) << 8 * i;
    return result;
}

// Two numbers of half precision in a word --------------------------------------------------------

namespace host {

typedef std::uint16_t Half;  // the bits of one
typedef float Floats __attribute__((vector_size(16)));  // the first two count

inline double number(Half half) {
    const int exponent = half >> 10 & 31, digits = half & 0x3ff;
    const double size = exponent == 31  ? (digits ? NAN : INFINITY)
                        : exponent == 0 ? std::ldexp(digits, -24)
                                        : std::ldexp(digits | 0x400, exponent - 25);
    return half & 0x8000 ? -size : size;
}
inline Half rounded(double number) {  // to the nearest, ties to even
    if (number != number) return 0x7fff;
    const Half sign = std::signbit(number) ? 0x8000 : 0;
    const double size = std::fabs(number);
    if (size >= 65520) return sign | 0x7c00;
    int exponent;
    std::frexp(std::fmax(size, 0x1p-14), &exponent);  // subnormals share the least exponent
    const int digits = int(std::nearbyint(std::ldexp(size, 11 - exponent)));
    return Half(sign | (digits + ((exponent + 13) << 10)));
}
inline unsigned word_of(Half low, Half high) { return low | unsigned(high) << 16; }

inline Floats numbers(unsigned word) {
#ifdef __F16C__
    return _mm_cvtph_ps(_mm_cvtsi32_si128(int(word)));
#else
    return Floats{float(number(Half(word))), float(number(Half(word >> 16)))};
#endif
}
inline unsigned rounded(Floats numbers) {
#ifdef __F16C__
    return unsigned(_mm_cvtsi128_si32(_mm_cvtps_ph(numbers, _MM_FROUND_TO_NEAREST_INT)));
#else
    return word_of(rounded(double(numbers[0])), rounded(double(numbers[1])));
#endif
}

// The bits of the halves that are no number.
inline unsigned no_number(unsigned halves) {
    return word((pair<SignedPair>(halves) & 0x7fff) > 0x7c00);
}
// What is no number has many forms; results have one.
inline unsigned canonical(unsigned halves) {
    const unsigned none = no_number(halves);
    return none ? (halves & ~none) | (0x7fff7fff & none) : halves;
}
// Numbers as integers in the same order, -0 below +0; and back.
inline unsigned ordered(unsigned halves) {
    const SignedPair bits = pair<SignedPair>(halves);
    return word(bits ^ ((bits >> 15) & 0x7fff));
}
inline unsigned greatest(unsigned a, unsigned b) {
    const unsigned none_a = no_number(a), none_b = no_number(b);
    if (none_a | none_b) {
        const unsigned whole = b & none_a;  // any number comes before what is none
        b = (b & ~none_b) | (a & none_b);
        a = (a & ~none_a) | whole;
        a = canonical(a), b = canonical(b);
    }
    return ordered(__vmaxs2(ordered(a), ordered(b)));
}

// A product of two halves is exact in a float. So is the sum with a third but rarely not, which its
// error tells (Knuth's two-sum); then a double is taken. That holds the sum exactly, or the product
// is so much smaller than c that c is the nearest half to both.
inline unsigned multiply_add(unsigned a, unsigned b, unsigned c) {
    const Floats product = numbers(a) * numbers(b), added = numbers(c), sum = product + added;
    const Floats back = sum - product, error = (product - (sum - back)) + (added - back);
    if (error[0] == 0 && error[1] == 0) return rounded(sum);
    const auto one = [=](int shift) {
        const double product = number(Half(a >> shift)) * number(Half(b >> shift));
        return rounded(product + number(Half(c >> shift)));
    };
    return word_of(one(0), one(16));
}

}  // namespace host

// A float has more than twice a half's digits: a sum that passes through one is rounded as if once
// (Figueroa 1995).
inline unsigned half2_add(unsigned a, unsigned b) {
    return host::canonical(host::rounded(host::numbers(a) + host::numbers(b)));
}
inline unsigned half2_max(unsigned a, unsigned b) { return host::greatest(a, b); }
inline unsigned half2_fma_relu(unsigned a, unsigned b, unsigned c) {
    return __vmaxs2(host::canonical(host::multiply_add(a, b, c)), 0);
}

// Whole numbers in the two halves, rounded to the nearest.
inline unsigned half2_of(int low, int high) {
    const host::Floats floats{float(low), float(high)};
    if (double(floats[0]) == low && double(floats[1]) == high) return host::rounded(floats);
    return host::word_of(host::rounded(double(low)), host::rounded(double(high)));
}
// The lower half, cut towards zero; infinities give the outermost numbers, what is none gives 0.
inline int half_to_int(unsigned a) {
    const double number = host::number(host::Half(a));
    if (number != number) return 0;
    if (std::isinf(number)) return number > 0 ? 0x7fffffff : -0x7fffffff - 1;
    return int(number);
}
