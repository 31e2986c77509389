// Query profiles in shared memory: the score of each query column with each of the 32 codes.
//
// A tile is WIDTH = LANES * COLUMNS query columns; lane l of a group has the COLUMNS columns from
// l * COLUMNS on. A profile has a row for each code, cut into blocks of 16 bytes a lane: all lanes'
// first blocks, then all lanes' second blocks, and so on. Eight lanes side by side read 128
// consecutive bytes at a time, so that they never meet in a bank, whatever codes they look up.
// Where COLUMNS is not a multiple of four, the last two columns are blocks of 8 bytes, which 16
// lanes read at a time: with LANES = 8 two groups may meet, and wait as long as for 16 bytes.
#pragma once
#include "arithmetic.cuh"
#include "search.cuh"

// The score of a query's column with a code, plus the price of a gap's first residue, because that
// is what H wants that the tile keeps. Bounds want the score itself, but such that they can bear to
// lose that price. Columns past the query's end align with nothing. The threads of a warp look up
// the same code, so they read words that lie close together, or side by side.
template <class Number, bool IS_BOUND>
static __device__ __forceinline__ int score_of(
    const Search& search, int query, unsigned int column, int code)
{
    const unsigned int length = search.query_lengths[query];
    if (column >= length)
        return Number::LOWEST + search.gap_first;
    const unsigned char* const letters = search.queries[query];
    const unsigned int positions =
        IS_BOUND && search.halved ? length + search.query_lengths[!query] : length;
    const unsigned int place =
        letters ? code * CODES + letters[column] : code * positions + column;
    const int score = search.tables[query][place];
    return IS_BOUND ? max(score, Number::LOWEST + search.gap_first)
                    : max(score, Number::LOWEST) + search.gap_first;
}

// Two queries, or one with numbers of 32 bits, against one target: a word a column. Of one query in
// halves, the first half ends with the last column, where bounds pass on to the second (bound.cuh).
template <class Number_, int LANES_, int COLUMNS_, bool IS_BOUND = false> struct QueryProfile {
    using Number = Number_;
    static constexpr int LANES = LANES_, COLUMNS = COLUMNS_, WIDTH = LANES * COLUMNS;
    static constexpr int QUERIES = Number::HALVES, TARGETS = 1;
    static constexpr int HALVES_AT = COLUMNS / 4 * LANES * 16;
    static constexpr int ROW_BYTES = COLUMNS * LANES * 4;

    static __device__ __forceinline__ void build(
        uint4* profile, const Search& search, unsigned int first_column)
    {
        unsigned int* const words = reinterpret_cast<unsigned int*>(profile);
        const unsigned int longest = max(search.query_lengths[0], search.query_lengths[1]);
        const unsigned int empty = IS_BOUND && search.halved
            ? (longest + WIDTH - 1) / WIDTH * WIDTH - search.query_lengths[0] : 0;
        for (int i = threadIdx.x; i < CODES * ROW_BYTES / 4; i += blockDim.x) {
            const int code = i / (ROW_BYTES / 4), at = i % (ROW_BYTES / 4);
            const bool half = at >= HALVES_AT / 4;
            const int lane = half ? (at - HALVES_AT / 4) / 2 : at / 4 % LANES;
            const int place = half ? COLUMNS - 2 + at % 2 : at / (4 * LANES) * 4 + at % 4;
            const unsigned int column = first_column + lane * COLUMNS + place;
            const int low = score_of<Number, IS_BOUND>(search, 0, column - empty, code);
            words[i] = Number::pack(
                low, QUERIES == 2 ? score_of<Number, IS_BOUND>(search, 1, column, code) : 0);
        }
    }

    // Sets `scores` to those of columns `column` to `column + 3`, a multiple of four, or to
    // `column + 1` at the end. Of each target `rows` is where the lane's first block of 16 bytes is
    // for the row's code, and `halves` where its block of 8 bytes would be if it were the first.
    __device__ __forceinline__ void read(const char* const (&rows)[TARGETS],
        const char* const (&halves)[TARGETS], int column, unsigned int (&scores)[4])
    {
        if (column + 4 > COLUMNS) {
            const uint2 a = *reinterpret_cast<const uint2*>(halves[0] + HALVES_AT);
            scores[0] = a.x;
            scores[1] = a.y;
            return;
        }
        const uint4 a = *reinterpret_cast<const uint4*>(rows[0] + column / 4 * LANES * 16);
        scores[0] = a.x;
        scores[1] = a.y;
        scores[2] = a.z;
        scores[3] = a.w;
    }
};

// One query against two targets, whose scores are put together when they are read. Eight columns
// lie two in a word and are picked out by byte permutations, on the pipe of the maxima. The others
// have a word each, which takes twice the reads, and are put together by multiplications. So
// neither the pipe nor the shared memory has to wait long for the other. Of 22 columns:
//
//     columns 0-3, 4-7, 8-11: a word each | 12-19: two in a word | 20, 21: a word each, 8 bytes
//                                           ^ SINGLE               ^ PACKED_END
template <class Number_, int LANES_, int COLUMNS_> struct PairProfile {
    using Number = Number_;
    static constexpr int LANES = LANES_, COLUMNS = COLUMNS_, WIDTH = LANES * COLUMNS;
    static constexpr int QUERIES = 1, TARGETS = 2;
    static constexpr int SINGLE = COLUMNS / 4 * 4 - 8, PACKED_END = SINGLE + 8;
    static constexpr int HALVES_AT = (SINGLE / 4 + 1) * LANES * 16;
    static constexpr int ROW_BYTES = HALVES_AT + (COLUMNS % 4 ? LANES * 8 : 0);

    uint4 blocks[TARGETS];

    static __device__ __forceinline__ void build(
        uint4* profile, const Search& search, unsigned int first_column)
    {
        unsigned int* const words = reinterpret_cast<unsigned int*>(profile);
        for (int i = threadIdx.x; i < CODES * ROW_BYTES / 4; i += blockDim.x) {
            const int code = i / (ROW_BYTES / 4), at = i % (ROW_BYTES / 4);
            const bool half = at >= HALVES_AT / 4;
            const int lane = half ? (at - HALVES_AT / 4) / 2 : at / 4 % LANES;
            const int word = at / (4 * LANES) * 4 + at % 4;
            const bool packed = !half && word >= SINGLE;
            const int low = half ? PACKED_END + at % 2 : packed ? 2 * word - SINGLE : word;
            const unsigned int column = first_column + lane * COLUMNS + low;
            words[i] = Number::pack(score_of<Number, false>(search, 0, column, code),
                packed ? score_of<Number, false>(search, 0, column + 1, code) : 0);
        }
    }

    __device__ __forceinline__ void read(const char* const (&rows)[TARGETS],
        const char* const (&halves)[TARGETS], int column, unsigned int (&scores)[4])
    {
        if (column == PACKED_END) {
            const uint2 a = *reinterpret_cast<const uint2*>(halves[0] + HALVES_AT);
            const uint2 b = *reinterpret_cast<const uint2*>(halves[1] + HALVES_AT);
            scores[0] = b.x * 0x10000 + a.x;
            scores[1] = b.y * 0x10000 + a.y;
            return;
        }
        if (column <= SINGLE)
            for (int target = 0; target < TARGETS; ++target)
                blocks[target] =
                    *reinterpret_cast<const uint4*>(rows[target] + column / 4 * LANES * 16);
        const uint4 &a = blocks[0], &b = blocks[1];
        if (column < SINGLE) {
            scores[0] = b.x * 0x10000 + a.x;
            scores[1] = b.y * 0x10000 + a.y;
            scores[2] = b.z * 0x10000 + a.z;
            scores[3] = b.w * 0x10000 + a.w;
        } else {
            const bool second = column > SINGLE;
            scores[0] = __byte_perm(second ? a.z : a.x, second ? b.z : b.x, 0x5410);
            scores[1] = __byte_perm(second ? a.z : a.x, second ? b.z : b.x, 0x7632);
            scores[2] = __byte_perm(second ? a.w : a.y, second ? b.w : b.y, 0x5410);
            scores[3] = __byte_perm(second ? a.w : a.y, second ? b.w : b.y, 0x7632);
        }
    }
};
