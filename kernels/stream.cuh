// A group's tile, through which the rows of pieces pass: rows are a piece's residues, columns the
// query's. What a lane does with its rows, a recurrence, is in gotoh.cuh and bound.cuh:
//
//   ROWS                 rows that it does at a time, and by which a lane is behind its neighbour
//   WORDS                what passes to the right with them, in words
//   SPARSE               whether the best may be looked at less often
//   outside(gap)         what passes into the first column
//   passes(word)         what its last rows pass to the lane on its right
//   clear(gap), clear_if(forgets, gap)
//                        forgets all rows that there were, the latter if it `forgets`
//   rows(scores, halves, left, gap, last)
//                        does ROWS rows; `left` is what passes from the left, `scores` and `halves`
//                        are what the profile reads from for each row, and `last` tells whether
//                        they are the last of a step
//   best                 the largest number so far
//
// Lane l is ROWS * l rows behind lane 0: what it needs of the column to its left, its neighbour had
// just before.
#pragma once
#include "arithmetic.cuh"
#include "search.cuh"

constexpr unsigned int FULL_WARP = 0xffffffffu;
constexpr unsigned int FOUR_PADS = PAD * 0x01010101u;

// The words of a piece, of four residues each.
struct Words {
    unsigned int begin, count;
};

// The residues of pieces as one lane reads them, four rows at a time. Rows outside a piece's words
// hold PAD; behind its last residue, but in the same word, may stand residues of the same target
// that belong to the next piece: to score them here as well does no harm.
struct Residues {
    Words piece;
    unsigned int here, after; // the words that hold the lane's next rows

    __device__ __forceinline__ unsigned int word(const unsigned int* words, unsigned int at) const
    {
        return at < piece.count ? words[piece.begin + at] : FOUR_PADS;
    }
    // The codes of the lane's next four rows; `turn` is __byte_perm's selector for the lane, and
    // `at` the word of the piece that comes after those at hand.
    __device__ __forceinline__ unsigned int four(
        const unsigned int* words, unsigned int at, unsigned int turn)
    {
        const unsigned int codes = __byte_perm(here, after, turn);
        here = after;
        after = word(words, at);
        return codes;
    }
};

// The prices of a gap's first residue and of each further one, as numbers to add. Where they are
// known when the kernel is compiled, they are immediates: an instruction that reads a register less
// does not wait for the two banks of registers, each of which delivers one a clock. Where FIRST is
// 0, the prices are those given.
template <class Number, int FIRST, int NEXT> struct Gap {
    const unsigned int given_first, given_next, given_two_next;

    __device__ __forceinline__ Gap(int first_price, int next_price)
        : given_first(Number::pack(-first_price, -first_price)),
          given_next(Number::pack(-next_price, -next_price)),
          given_two_next(Number::add(given_next, given_next))
    {
    }
    __device__ __forceinline__ unsigned int first() const
    {
        return FIRST ? Number::pack(-FIRST, -FIRST) : given_first;
    }
    __device__ __forceinline__ unsigned int next() const
    {
        return FIRST ? Number::pack(-NEXT, -NEXT) : given_next;
    }
    __device__ __forceinline__ unsigned int two_next() const
    {
        return FIRST ? Number::pack(-2 * NEXT, -2 * NEXT) : given_two_next;
    }
};

// A group's tile, four rows a step.
//
// With BORDER the tile is one of several. The lane that `writes`, the last, leaves in the border what
// passes out of its last column; the one that `reads`, the first, has taken over what the tile
// before left: it is ahead of the other, so that one place serves both. A row has two words of it.
template <class Lane, bool BORDER, class Gap> struct Stream {
    using Profile = typename Lane::Profile;
    static constexpr int LANES = Profile::LANES, ROWS = Lane::ROWS, WORDS = Lane::WORDS;
    static constexpr unsigned int READS = 1, WRITES = 2;
    // The row of an area in which the last lane begins to write, and the first to read.
    static constexpr int FIRST_WRITTEN = 4 - (LANES - 1) * ROWS % 4, FIRST_READ = 4;

    const Gap& gap;
    const unsigned int* const words;
    const char* scores;
    const char* half_scores;
    const unsigned int turn;
    // The first lane has no neighbour: it multiplies what it is given by 0 and adds the edge. That
    // is quicker than to choose, because products have a pipe of their own.
    const unsigned int inner;
    unsigned int edge[WORDS]; // what passes into the first column
    Residues residues[Profile::TARGETS];
    unsigned int next; // the word of the pieces that comes after those at hand
    uint2* border;     // the place of the lane's next row
    unsigned int role; // what the lane does with the border: nothing, READS, or WRITES
    Lane state;

    // Rows by which the lane is behind the first.
    static __device__ __forceinline__ unsigned int behind()
    {
        return threadIdx.x % LANES * ROWS;
    }

    // The lanes are full of rows of PAD.
    __device__ __forceinline__ Stream(
        const uint4* profile, const Search& search, const Gap& gap)
        : gap(gap), words(reinterpret_cast<const unsigned int*>(search.residues)),
          turn(0x3210 + 3 * behind() % 4 * 0x1111),
          inner(hidden(threadIdx.x % LANES > 0)), next(0), border(nullptr), role(0)
    {
        set_profile(profile);
        state.clear(gap);
        // Behind the state: in front of it NVRTC 13.5 takes up to four registers more.
        set_edge(threadIdx.x % LANES > 0 ? 0 : Lane::outside(gap));
#pragma unroll
        for (int target = 0; target < Profile::TARGETS; ++target) {
            residues[target].here = residues[target].after = FOUR_PADS;
            residues[target].piece = {0, 0};
        }
    }

    __device__ __forceinline__ void set_edge(unsigned int number)
    {
#pragma unroll
        for (int word = 0; word < WORDS; ++word)
            edge[word] = number;
    }

    __device__ __forceinline__ void read_edge(const uint2* row)
    {
#pragma unroll
        for (int word = 0; word < WORDS; word += 2) {
            const uint2 two = row[word / 2];
            edge[word] = two.x;
            if (word + 1 < WORDS)
                edge[word + 1] = two.y;
        }
    }

    __device__ __forceinline__ void write_border(uint2* row) const
    {
#pragma unroll
        for (int word = 0; word < WORDS; word += 2)
            if (word + 1 < WORDS)
                row[word / 2] = make_uint2(state.passes(word), state.passes(word + 1));
            else
                row[word / 2].x = state.passes(word);
    }

    // The scores to come are those of a profile.
    __device__ __forceinline__ void set_profile(const uint4* profile)
    {
        scores = hidden(profile + threadIdx.x % LANES);
        half_scores = hidden(reinterpret_cast<const uint2*>(profile) + threadIdx.x % LANES);
    }

    // The words to come are those of a group's pieces.
    template <class Group> __device__ __forceinline__ void set_pieces(const Group& group)
    {
        next = 0;
#pragma unroll
        for (int target = 0; target < Profile::TARGETS; ++target)
            residues[target].piece = group.words(target);
    }

    // The rows to come, from up to three before a piece's first on, go with other rows of the
    // border, `area`, or with none. The first tile has none to read, but cleans what nobody writes.
    __device__ __forceinline__ void set_border(
        uint2* area, bool any, bool first, bool last, unsigned int steps)
    {
        const unsigned int lane = threadIdx.x % LANES;
        border = area + (4 - behind() % 4);
        const bool reads = any && !first && lane == 0;
        role = reads ? READS : any && !last && lane == LANES - 1 ? WRITES : 0;
        if (any && first && lane < 4)
            area[4 * steps + FIRST_WRITTEN + lane] =
                make_uint2(Lane::outside(gap), Lane::outside(gap));
        if (lane == 0) {
            if (reads)
                read_edge(border);
            else
                set_edge(Lane::outside(gap));
        }
    }

    // The rows to come read nothing of the border.
    __device__ __forceinline__ void drop_border()
    {
        role = 0;
        if (threadIdx.x % LANES == 0)
            set_edge(Lane::outside(gap));
    }

    // Does `steps` steps; if `sparse` with fewer looks at the best.
    __device__ __forceinline__ void run(bool sparse, unsigned int steps)
    {
        if constexpr (Lane::SPARSE)
            if (sparse) {
                run_as<true>(steps);
                return;
            }
        run_as<false>(steps);
    }

    template <bool SPARSE> __device__ __forceinline__ void run_as(unsigned int steps)
    {
        constexpr int TARGETS = Profile::TARGETS;
        const bool reads = role == READS, writes = role == WRITES;
        for (; steps > 0; --steps, ++next) {
            unsigned int codes[TARGETS];
#pragma unroll
            for (int target = 0; target < TARGETS; ++target)
                codes[target] = residues[target].four(words, next, turn);
#pragma unroll
            for (int k = 0; k < 4; k += ROWS) {
                const char *rows[ROWS][TARGETS], *halves[ROWS][TARGETS];
#pragma unroll
                for (int row = 0; row < ROWS; ++row)
#pragma unroll
                    for (int target = 0; target < TARGETS; ++target) {
                        const unsigned int code =
                            __byte_perm(codes[target], 0, 0x4440 + k + row);
                        rows[row][target] = scores + code * Profile::ROW_BYTES;
                        halves[row][target] = half_scores + code * Profile::ROW_BYTES;
                    }
                unsigned int left[WORDS];
#pragma unroll
                for (int word = 0; word < WORDS; ++word)
                    left[word] = __shfl_up_sync(FULL_WARP, state.passes(word), 1, LANES) * inner
                        + edge[word];
                if (BORDER && reads)
                    read_edge(border + k + ROWS);
                state.template rows<SPARSE>(rows, halves, left, gap, k + ROWS == 4);
                if (BORDER && writes)
                    write_border(border + k);
            }
            if (BORDER)
                border += 4;
        }
    }
};
