// The recurrence over one tile: rows are a piece's residues, columns the query's.
//
//   H[i][j] = max(0, G[i-1][j-1] + score(i, j) + first, E[i][j], F[i][j])
//   G[i][j] = H[i][j] - first
//   E[i][j+1] = max(E[i][j] - next, G[i][j])
//   F[i+1][j] = max(F[i][j] - next, G[i][j])
//
// Only G is kept: it is what E and F want, and the profile gives scores with `first` added, so that
// H comes out right. F[i+1][j] can then wait until the next row wants it, at no cost in registers.
//
// Lane l is l rows behind lane 0: what it needs of the column to its left, its neighbour had one
// step before. A lane keeps G and F of its COLUMNS columns; E runs along the row.
//
// The best score is the largest G. It is as good to look at the E and F of every second column:
// E[i][j] is at least G[i][j-1], F[i][j] at least G[i-1][j], and no E or F is larger than every G.
// Together they have seen all columns in all rows but the last, and each lane goes on for at least
// one row behind the last residue.
//
// Where only scores that reach a cutoff are wanted, a sparse fill looks in every fourth row only,
// at F after that row. F[i+1][j] is at least G[i][j], and falls by at most `next` a row:
//
//     row 0   G ----------.         F >= G - 3 next
//     row 1      G -------|--.      F >= G - 2 next
//     row 2         G ----|--|--.   F >= G - next
//     row 3            G -|--|--|-. F >= G        <- best = max(best, F)
//
// No F is larger than every G. So what is seen of the best is at most 3 `next` too small, whatever
// the rows begin with, and for each lane, because all of its rows are in some step of four.
#pragma once
#include "arithmetic.cuh"
#include "search.cuh"

constexpr int SPARSE_LOSS = 3; // times `next`: by so much a sparse fill may see the best too small

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
    const unsigned int given_first, given_next;

    __device__ __forceinline__ Gap(int first_price, int next_price)
        : given_first(Number::pack(-first_price, -first_price)),
          given_next(Number::pack(-next_price, -next_price))
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
};

// What a lane keeps from row to row.
template <class Profile> struct Lane {
    using Number = typename Profile::Number;
    static constexpr int COLUMNS = Profile::COLUMNS;

    unsigned int G[COLUMNS], F[COLUMNS];
    unsigned int corner; // G of the row above in the column left of the first
    unsigned int E;      // behind the last column
    unsigned int best;   // the largest G so far

    // Forgets all rows that there were.
    template <class Gap> __device__ __forceinline__ void clear(const Gap& gap)
    {
        corner = E = best = gap.first();
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
            G[j] = F[j] = gap.first();
    }

    // The same if the lane is one that `forgets`, by products, whose pipe has time.
    template <class Gap>
    __device__ __forceinline__ void clear_if(bool forgets, const Gap& gap)
    {
        const unsigned int keep = hidden(!forgets), clean = forgets ? gap.first() : 0;
        corner = corner * keep + clean;
        E = E * keep + clean;
        best = best * keep + clean;
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j) {
            G[j] = G[j] * keep + clean;
            F[j] = F[j] * keep + clean;
        }
    }

    // One row; `left` is G, and E that of the column before the first, as its neighbour had them;
    // `scores` and `halves` are what the profile reads from.
    // With SPARSE the best is looked at in the `last` of four rows only.
    template <bool SPARSE, class Gap>
    __device__ __forceinline__ void row(const char* const (&scores)[Profile::TARGETS],
        const char* const (&halves)[Profile::TARGETS], unsigned int left, const Gap& gap,
        bool last)
    {
        unsigned int diagonal = corner;
        corner = left;
        Profile profile;
#pragma unroll
        for (int j = 0; j < COLUMNS; j += 4) {
            unsigned int four[4];
            profile.read(scores, halves, j, four);
#pragma unroll
            for (int k = 0; k < 4 && j + k < COLUMNS; ++k) {
                const unsigned int e = E, f = F[j + k];
                const unsigned int h = Number::cell(diagonal, four[k], e, f);
                diagonal = G[j + k];
                G[j + k] = Number::add(h, gap.first());
                E = Number::raise(e, gap.next(), G[j + k]);
                F[j + k] = Number::raise(f, gap.next(), G[j + k]);
                if constexpr (SPARSE) {
                    if (last && k % 2)
                        best = Number::highest(best, F[j + k - 1], F[j + k]);
                } else if (k % 2) {
                    best = Number::watch(best, e, f, G[j + k - 1], G[j + k]);
                }
            }
        }
    }
};

// A group's tile, through which the rows of pieces pass, four a step.
//
// With BORDER the tile is one of several. The lane that `writes`, the last, leaves G and E behind
// its last column in the border; the one that `reads`, the first, has taken over what the tile
// before left: it is LANES rows ahead of the other, so that one place serves both.
template <class Profile, bool BORDER, class Gap> struct Stream {
    using Number = typename Profile::Number;
    static constexpr int LANES = Profile::LANES;
    static constexpr unsigned int READS = 1, WRITES = 2;

    const Gap& gap;
    const unsigned int* const words;
    const char* scores;
    const char* half_scores;
    const unsigned int turn;
    // The first lane has no neighbour: it multiplies what it is given by 0 and adds the edge. That
    // is quicker than to choose, because products have a pipe of their own.
    const unsigned int inner;
    uint2 edge; // G and E left of the first column
    Residues residues[Profile::TARGETS];
    unsigned int next; // the word of the pieces that comes after those at hand
    uint2* border;     // the place of the lane's next row
    unsigned int role; // what the lane does with the border: nothing, READS, or WRITES
    Lane<Profile> state;

    // The lanes are full of rows of PAD.
    __device__ __forceinline__ Stream(
        const uint4* profile, const Search& search, const Gap& gap)
        : gap(gap), words(reinterpret_cast<const unsigned int*>(search.residues)),
          turn(0x3210 + (4 - threadIdx.x % 4) % 4 * 0x1111),
          inner(hidden(threadIdx.x % LANES > 0)), next(0), border(nullptr), role(0)
    {
        set_profile(profile);
        const unsigned int outside = threadIdx.x % LANES > 0 ? 0 : gap.first();
        edge = make_uint2(outside, outside);
        state.clear(gap);
#pragma unroll
        for (int target = 0; target < Profile::TARGETS; ++target) {
            residues[target].here = residues[target].after = FOUR_PADS;
            residues[target].piece = {0, 0};
        }
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
        border = area + (4 - lane % 4);
        const bool reads = any && !first && lane == 0;
        role = reads ? READS : any && !last && lane == LANES - 1 ? WRITES : 0;
        if (any && first && lane < 4)
            area[4 * steps + 1 + lane] = make_uint2(gap.first(), gap.first());
        if (lane == 0)
            edge = reads ? border[0] : make_uint2(gap.first(), gap.first());
    }

    // The rows to come read nothing of the border.
    __device__ __forceinline__ void drop_border()
    {
        role = 0;
        if (threadIdx.x % LANES == 0)
            edge = make_uint2(gap.first(), gap.first());
    }

    // Does `steps` steps. The best is looked at in every row, or if `sparse` in every fourth.
    __device__ __forceinline__ void run(bool sparse, unsigned int steps)
    {
        if constexpr (Number::SPARSE)
            if (sparse) {
                run_as<true>(steps);
                return;
            }
        run_as<false>(steps);
    }

    template <bool SPARSE> __device__ __forceinline__ void run_as(unsigned int steps)
    {
        const bool reads = role == READS, writes = role == WRITES;
        for (; steps > 0; --steps, ++next) {
            unsigned int codes[Profile::TARGETS];
#pragma unroll
            for (int target = 0; target < Profile::TARGETS; ++target)
                codes[target] = residues[target].four(words, next, turn);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const char *rows[Profile::TARGETS], *halves[Profile::TARGETS];
#pragma unroll
                for (int target = 0; target < Profile::TARGETS; ++target) {
                    const unsigned int code = __byte_perm(codes[target], 0, 0x4440 + k);
                    rows[target] = scores + code * Profile::ROW_BYTES;
                    halves[target] = half_scores + code * Profile::ROW_BYTES;
                }
                const unsigned int left =
                    __shfl_up_sync(FULL_WARP, state.G[Profile::COLUMNS - 1], 1, LANES) * inner
                    + edge.x;
                state.E = __shfl_up_sync(FULL_WARP, state.E, 1, LANES) * inner + edge.y;
                if (BORDER && reads)
                    edge = border[k + 1];
                state.template row<SPARSE>(rows, halves, left, gap, k == 3);
                if (BORDER && writes)
                    border[k] = make_uint2(state.G[Profile::COLUMNS - 1], state.E);
            }
            if (BORDER)
                border += 4;
        }
    }
};
