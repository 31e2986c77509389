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
#include "stream.cuh"

constexpr int SPARSE_LOSS = 3; // times `next`: by so much a sparse fill may see the best too small

// What a lane keeps from row to row; G and E pass to the right.
template <class Profile_> struct GotohLane {
    using Profile = Profile_;
    using Number = typename Profile::Number;
    static constexpr int COLUMNS = Profile::COLUMNS, ROWS = 1, WORDS = 2;
    static constexpr bool IS_BOUND = false, SPARSE = Number::SPARSE;

    unsigned int G[COLUMNS], F[COLUMNS];
    unsigned int corner; // G of the row above in the column left of the first
    unsigned int E;      // behind the last column
    unsigned int best;   // the largest G so far

    template <class Gap> static __device__ __forceinline__ unsigned int outside(const Gap& gap)
    {
        return gap.first();
    }

    __device__ __forceinline__ unsigned int passes(int word) const
    {
        return word ? E : G[COLUMNS - 1];
    }

    template <class Gap> __device__ __forceinline__ void clear(const Gap& gap)
    {
        corner = E = best = gap.first();
#pragma unroll
        for (int j = 0; j < COLUMNS; ++j)
            G[j] = F[j] = gap.first();
    }

    // By products, whose pipe has time.
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

    // With SPARSE the best is looked at in the `last` of four rows only.
    template <bool SPARSE, class Gap>
    __device__ __forceinline__ void rows(const char* const (&scores)[ROWS][Profile::TARGETS],
        const char* const (&halves)[ROWS][Profile::TARGETS], const unsigned int (&left)[WORDS],
        const Gap& gap, bool last)
    {
        unsigned int diagonal = corner;
        corner = left[0];
        E = left[1];
        Profile profile;
#pragma unroll
        for (int j = 0; j < COLUMNS; j += 4) {
            unsigned int four[4];
            profile.read(scores[0], halves[0], j, four);
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
