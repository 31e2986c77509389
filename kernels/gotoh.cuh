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

// The residues of a piece as one lane reads them, four rows at a time. Rows outside the piece's
// words hold PAD; behind its last residue, but in the same word, may stand residues of the same
// target that belong to the next piece: to score them here as well does no harm.
struct Residues {
    unsigned int begin, count; // the piece's words
    unsigned int here, after;  // the words that hold the lane's next rows

    __device__ __forceinline__ unsigned int word(const unsigned int* words, unsigned int at) const
    {
        return at < count ? words[begin + at] : FOUR_PADS;
    }
    // The codes of the lane's next four rows; `turn` is __byte_perm's selector for the lane, and
    // `at` the word that comes after those at hand.
    __device__ __forceinline__ unsigned int four(
        const unsigned int* words, unsigned int at, unsigned int turn)
    {
        const unsigned int codes = __byte_perm(here, after, turn);
        here = after;
        after = word(words, at);
        return codes;
    }
};

// The prices of a gap's first residue and of each further one, as numbers to add.
template <class Number> struct Gap {
    unsigned int first, next;

    __device__ __forceinline__ Gap(int first_price, int next_price)
        : first(Number::pack(-first_price, -first_price)),
          next(Number::pack(-next_price, -next_price))
    {
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

    __device__ __forceinline__ Lane(const Gap<Number>& gap, unsigned int best)
        : corner(gap.first), E(gap.first), best(best)
    {
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
            G[j] = F[j] = gap.first;
    }

    // One row; `left` is G, and E that of the column before the first, as its neighbour had them;
    // `scores` and `halves` are what the profile reads from.
    // With SPARSE the best is looked at in the `last` of four rows only.
    template <bool SPARSE>
    __device__ __forceinline__ void row(const char* const (&scores)[Profile::TARGETS],
        const char* const (&halves)[Profile::TARGETS], unsigned int left, const Gap<Number>& gap,
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
                G[j + k] = Number::add(h, gap.first);
                E = Number::raise(e, gap.next, G[j + k]);
                F[j + k] = Number::raise(f, gap.next, G[j + k]);
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

// Fills a group's tile, four rows a step, and returns the lane's largest G, but at least `best`.
//
// With BORDER the tile is one of several, and `border` the place of the lane's first row (LANES
// rows before the piece's first for the last lane, and so on). The lane that `writes`, the last,
// leaves there G and E behind its last column; the one that `reads`, the first, has taken over what
// the tile before left: it is LANES rows ahead of the other, so that one place serves both.
template <class Profile, bool BORDER, bool SPARSE>
static __device__ __forceinline__ unsigned int fill(
    const uint4* profile, const Search& search, Residues (&residues)[Profile::TARGETS],
    unsigned int longest, const Gap<typename Profile::Number>& gap, unsigned int best,
    uint2* border, bool reads, bool writes)
{
    constexpr int LANES = Profile::LANES;
    const unsigned int lane = threadIdx.x % LANES;
    const char* const scores = hidden(profile + lane);
    const char* const half_scores = hidden(reinterpret_cast<const uint2*>(profile) + lane);
    const unsigned int turn = 0x3210 + (4 - lane % 4) % 4 * 0x1111;

    // The first lane has no neighbour: it multiplies what it is given by 0 and adds the edge. That
    // is quicker than to choose, because products have a pipe of their own.
    const unsigned int inner = hidden(lane > 0);
    const unsigned int outside = lane > 0 ? 0 : gap.first;
    uint2 edge = make_uint2(outside, outside); // G and E left of the first column
    if (BORDER && reads)
        edge = border[0];

    // Lanes begin up to LANES rows early; word `ahead - steps` comes after those at hand.
    const unsigned int* const words = reinterpret_cast<const unsigned int*>(search.residues);
    unsigned int steps = longest + LANES / 4;
    const unsigned int ahead = steps + 2 - (lane + 3) / 4;
#pragma unroll
    for (int target = 0; target < Profile::TARGETS; ++target) {
        residues[target].here = residues[target].word(words, ahead - 2 - steps);
        residues[target].after = residues[target].word(words, ahead - 1 - steps);
    }

    Lane<Profile> state(gap, best);
    for (; steps > 0; --steps) {
        unsigned int codes[Profile::TARGETS];
#pragma unroll
        for (int target = 0; target < Profile::TARGETS; ++target)
            codes[target] = residues[target].four(words, ahead - steps, turn);
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
                __shfl_up_sync(FULL_WARP, state.G[Profile::COLUMNS - 1], 1, LANES) * inner + edge.x;
            state.E = __shfl_up_sync(FULL_WARP, state.E, 1, LANES) * inner + edge.y;
            if (BORDER && reads)
                edge = border[k + 1];
            state.template row<SPARSE>(rows, halves, left, gap, k == 3);
            if (BORDER && writes)
                border[k] = make_uint2(state.G[Profile::COLUMNS - 1], state.E);
        }
        border += 4;
    }
    return state.best;
}
