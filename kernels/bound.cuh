// Upper bounds of scores, in about half of the operations: gaps are handled once in a block of two
// rows and two columns.
//
//            above         g   = max(G left, G above)
//              G           o   = g - first
//       d  v10 | v11       u00 = max(d + s00, o)      u01 = v10 above + s01
//         +----+----+      u10 = v01 left + s10       u11 = u00 + s11
//    v01  | 00 | 01 |      x   = max(u00, u01, u10)
// G  -----+----+----+      v01, v10, v11 = max(u01, o, x - first), and so on
//    v11  | 10 | 11 |      G   = max(0, g - 2 next, x, u11)
//         +----+----+
//
// d, u and v are numbers less `first`: as G they are what a gap that opens has, and cost no sum. So v
// is never below -first, which stands for H = 0. Each v is at least H - first of its cell, as u00 is
// of 00, and G at least each gap that leaves the block, if the same holds for what enters it:
//
//   H00   is that of a pair, which follows d, or of a gap that enters, at most g.
//   H01   is that of a pair, u01; or of a gap that enters from above, at most g, or opens in 00, at
//         most x. H10 likewise.
//   H11   is that of a pair, u11; or of a gap that was in 01 or 10, at most max(g, x), or opens
//         there: after a pair at x, after a gap lower than it.
//   G     A gap that enters passes two residues. One that opens in 00, 01 or 10 is at most x: after
//         a gap at g - first, and o is in u00. One that opens in 11 is at most u11, or lower than x.
//
// One query may be computed as two, its halves. An alignment of both parts in two at the last column
// of the first half: what it has there is at most `across`, the largest H there, also if it is in a
// gap, as G <= max(v01, v11) + first; what is left of it is an alignment of the second half. So no
// score is above the bound of a half, or the sum of `across` and the bound of the second.
//
// No H - first is above all G. Where gaps open in 11, docs/bound.md lets v feel it, which no gap
// needs: so no bound is above that of the page.
#pragma once
#include "stream.cuh"

// What a lane keeps from two rows to the next; v01, G and v11 pass to the right.
template <class Profile_> struct BoundLane {
    using Profile = Profile_;
    using Number = typename Profile::Number;
    static constexpr int COLUMNS = Profile::COLUMNS, BLOCKS = COLUMNS / 2, ROWS = 2, WORDS = 3;
    static constexpr bool IS_BOUND = true, SPARSE = false;

    unsigned int v10[BLOCKS], v11[BLOCKS], G[BLOCKS];
    unsigned int corner; // v11 of the block up and left of the first
    unsigned int v01;    // of the last block
    unsigned int best;   // the largest G so far
    unsigned int across; // the largest v01 and v11 of the last block so far

    // Also for G: the other one of a block is never below 0.
    template <class Gap> static __device__ __forceinline__ unsigned int outside(const Gap& gap)
    {
        return gap.first();
    }

    __device__ __forceinline__ unsigned int passes(int word) const
    {
        return word == 0 ? v01 : word == 1 ? G[BLOCKS - 1] : v11[BLOCKS - 1];
    }

    template <class Gap> __device__ __forceinline__ void clear(const Gap& gap)
    {
        corner = v01 = across = gap.first();
        best = 0;
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) {
            v10[b] = v11[b] = gap.first();
            G[b] = 0;
        }
    }

    // By products, whose pipe has time.
    template <class Gap>
    __device__ __forceinline__ void clear_if(bool forgets, const Gap& gap)
    {
        const unsigned int keep = hidden(!forgets), clean = forgets ? gap.first() : 0;
        corner = corner * keep + clean;
        v01 = v01 * keep + clean;
        across = across * keep + clean;
        best *= keep;
#pragma unroll
        for (int b = 0; b < BLOCKS; ++b) {
            v10[b] = v10[b] * keep + clean;
            v11[b] = v11[b] * keep + clean;
            G[b] *= keep;
        }
    }

    template <bool SPARSE, class Gap>
    __device__ __forceinline__ void rows(const char* const (&scores)[ROWS][Profile::TARGETS],
        const char* const (&halves)[ROWS][Profile::TARGETS], const unsigned int (&left)[WORDS],
        const Gap& gap, bool)
    {
        unsigned int d = corner, gaps = left[1];
        v01 = left[0];
        corner = left[2];
        Profile profiles[ROWS];
#pragma unroll
        for (int j = 0; j < COLUMNS; j += 4) {
            unsigned int s[ROWS][4];
            profiles[0].read(scores[0], halves[0], j, s[0]);
            profiles[1].read(scores[1], halves[1], j, s[1]);
#pragma unroll
            for (int k = 0; k < 4 && j + k < COLUMNS; k += 2) {
                const int b = (j + k) / 2;
                const unsigned int g = Number::highest(gaps, G[b]);
                const unsigned int o = Number::add(g, gap.first());
                const unsigned int u00 = Number::raise(d, s[0][k], o);
                const unsigned int u01 = Number::add(v10[b], s[0][k + 1]);
                const unsigned int u10 = Number::add(v01, s[1][k]);
                const unsigned int u11 = Number::add(u00, s[1][k + 1]);
                const unsigned int x = Number::highest(u00, u01, u10);
                const unsigned int y = Number::add(x, gap.first());
                d = v11[b];
                v01 = Number::highest(u01, o, y);
                v10[b] = Number::highest(u10, o, y);
                v11[b] = Number::highest(u11, o, y);
                gaps = G[b] = Number::cell(g, gap.two_next(), x, u11);
                if (b % 2)
                    best = Number::highest(best, G[b - 1], G[b]);
                else if (b == BLOCKS - 1)
                    best = Number::highest(best, G[b]);
            }
        }
        across = Number::highest(across, v01, v11[BLOCKS - 1]);
    }
};
