// Who scores which pieces, and what becomes of the scores.
//
// A warp takes as many consecutive pieces as its groups hold, and every group goes on for as many
// steps as the longest of them needs, so that the warp never divides. Where one tile holds the
// query, each warp draws its next pieces from a counter as soon as it has done the last ones.
// Else a CTA draws a chunk of pieces and goes through it once for each tile, with barriers between,
// and each warp has the same pieces of the chunk in every tile.
//
// For each of its pieces (with two targets at a time: for each two) a chunk has an area of border
// rows: one for the best score so far, LANES rows of which the first LANES - 1 are written before
// the piece begins, the piece's rows and one more, LANES clean ones for what is read behind them.
//
// Whatever is not needed while a tile is filled is looked up again, or lies in shared memory behind
// the profile: no register is left for it.
#pragma once
#include "gotoh.cuh"
#include "search.cuh"

constexpr int WARP = 32;

// A CTA's chunk: places `first` to `end - 1` of the work list, and the border rows of an area.
struct Chunk {
    unsigned int first, end, area;
};

// The work list is that of all pieces, or `list`.
static __device__ __forceinline__ unsigned int work_count(const Search& search)
{
    return search.list ? *search.list_count : search.chunks[search.chunk_count];
}

static __device__ __forceinline__ unsigned int piece_at(const Search& search, unsigned int place)
{
    return search.list ? search.list[place] : place;
}

// The largest of the numbers that a warp's lanes have. The compiler knows that it is the same for
// all, and so that a loop of so many steps cannot divide the warp.
static __device__ __forceinline__ unsigned int highest_of_warp(unsigned int a)
{
#if __CUDA_ARCH__ >= 800
    __syncwarp();
    return __reduce_max_sync(FULL_WARP, a);
#else
    for (int other = WARP / 2; other > 0; other /= 2)
        a = max(a, __shfl_xor_sync(FULL_WARP, a, other));
    return a;
#endif
}

// The pieces of a group: `place` and, with two targets, the one behind it in the work list.
template <class Profile> struct Group {
    using Number = typename Profile::Number;
    static constexpr int LANES = Profile::LANES, TARGETS = Profile::TARGETS;

    const Search& search;
    unsigned int place;
    Residues residues[TARGETS]; // without words where there is no piece

    __device__ __forceinline__ Group(
        const Search& search, unsigned int warp_place, unsigned int end)
        : search(search), place(warp_place + threadIdx.x % WARP / LANES * TARGETS)
    {
#pragma unroll
        for (int target = 0; target < TARGETS; ++target) {
            residues[target].begin = residues[target].count = 0;
            if (place + target < end) {
                const unsigned int piece = piece_at(search, place + target);
                residues[target].begin = search.piece_starts[piece] * 4;
                residues[target].count = (search.piece_lengths[piece] + 3) / 4;
            }
        }
    }

    // Words of the longest piece in the warp.
    __device__ __forceinline__ unsigned int longest() const
    {
        return highest_of_warp(max(residues[0].count, residues[TARGETS - 1].count));
    }

    // The lowest G of a score that is not to be taken as it is: it may be wrong, or it is from a
    // sparse fill, and the true one may reach the cutoff, or be wrong.
    __device__ __forceinline__ int doubtful(bool sparse) const
    {
        const int score = sparse
            ? min(search.limit, search.cutoff) - SPARSE_LOSS * search.gap_next : search.limit;
        return score - search.gap_first;
    }

    // Writes down the best scores of the group, which are G. It is compared before gap_first is
    // added: an infinite one, which half precision may have, is the largest int.
    __device__ __forceinline__ void report(unsigned int best, bool sparse) const
    {
#pragma unroll
        for (int half = 0; half < Number::HALVES; ++half) {
            const int query = TARGETS == 1 ? half : 0, target = TARGETS == 1 ? 0 : half;
            if (residues[target].count == 0)
                continue;
            const unsigned int piece = piece_at(search, place + target);
            const int g = Number::number(best, half);
            if (Number::LIMITED && g >= doubtful(sparse))
                search.rescue[query][atomicAdd(&search.rescue_count[query], 1u)] = piece;
            else if (g > -search.gap_first)
                atomicMax(&search.scores[query][search.piece_targets[piece]],
                    g + search.gap_first);
        }
    }
};

// The largest of the numbers that the lanes of a group have.
template <class Profile>
static __device__ __forceinline__ unsigned int highest_of_group(unsigned int best)
{
#pragma unroll
    for (int other = Profile::LANES / 2; other > 0; other /= 2)
        best = Profile::Number::highest(best, __shfl_xor_sync(FULL_WARP, best, other));
    return best;
}

// Fills a tile, and looks at the best in every row, or if `sparse` in every fourth.
template <class Profile, bool BORDER>
static __device__ __forceinline__ unsigned int fill(
    bool sparse, const uint4* profile, const Search& search,
    Residues (&residues)[Profile::TARGETS], unsigned int longest,
    const Gap<typename Profile::Number>& gap, unsigned int best, uint2* border, bool reads,
    bool writes)
{
    if constexpr (Profile::Number::SPARSE)
        if (sparse)
            return fill<Profile, BORDER, true>(
                profile, search, residues, longest, gap, best, border, reads, writes);
    return fill<Profile, BORDER, false>(
        profile, search, residues, longest, gap, best, border, reads, writes);
}

template <class Profile>
static __device__ __forceinline__ void search_in_one_tile(const Search& search, uint4* profile)
{
    using Number = typename Profile::Number;
    constexpr unsigned int PIECES = WARP / Profile::LANES * Profile::TARGETS;
    const Gap<Number> gap(search.gap_first, search.gap_next);
    Profile::build(profile, search, 0);
    __syncthreads();
    for (;;) {
        unsigned int place = 0;
        if (threadIdx.x % WARP == 0)
            place = atomicAdd(search.next, PIECES);
        place = __shfl_sync(FULL_WARP, place, 0);
        const unsigned int end = work_count(search);
        if (place >= end)
            return;
        Group<Profile> group(search, place, end);
        unsigned int highest = 0;
        bool look_at_all = !Number::SPARSE || search.cutoff == 0;
        if (!look_at_all) {
            const unsigned int best = fill<Profile, false>(true, profile, search, group.residues,
                group.longest(), gap, gap.first, nullptr, false, false);
            highest = highest_of_group<Profile>(best);
            const int g = max(Number::number(highest, 0), Number::number(highest, 1));
            look_at_all = highest_of_warp(g >= group.doubtful(true));
        }
        if (look_at_all) {
            const unsigned int best = fill<Profile, false>(false, profile, search, group.residues,
                group.longest(), gap, gap.first, nullptr, false, false);
            highest = highest_of_group<Profile>(best);
        }
        if (threadIdx.x % Profile::LANES == 0)
            group.report(highest, false);
    }
}

// Draws the CTA's next chunk; false if there is none.
template <class Profile>
static __device__ __forceinline__ bool draw(const Search& search, Chunk* chunk)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned int number = atomicAdd(search.next, 1u);
        if (search.list) {
            const unsigned int pieces = blockDim.x / Profile::LANES * Profile::TARGETS;
            const unsigned int total = *search.list_count;
            chunk->first = min(number * pieces, total);
            chunk->end = min(chunk->first + pieces, total);
        } else if (number < search.chunk_count) {
            chunk->first = search.chunks[number];
            chunk->end = search.chunks[number + 1];
        } else {
            chunk->first = chunk->end = 0;
        }
        if (chunk->first < chunk->end)
            chunk->area = search.border_rows
                / ((chunk->end - chunk->first + Profile::TARGETS - 1) / Profile::TARGETS);
    }
    __syncthreads();
    return chunk->first < chunk->end;
}

template <class Profile>
static __device__ __forceinline__ void search_in_tiles(
    const Search& search, uint4* profile, unsigned int tiles)
{
    using Number = typename Profile::Number;
    constexpr int LANES = Profile::LANES;
    constexpr unsigned int PIECES = WARP / LANES * Profile::TARGETS;
    const Gap<Number> gap(search.gap_first, search.gap_next);
    Chunk* const chunk = reinterpret_cast<Chunk*>(profile + CODES * Profile::ROW_BYTES / 16);
    while (draw<Profile>(search, chunk))
        for (unsigned int tile = 0; tile < tiles; ++tile) {
            __syncthreads();
            Profile::build(profile, search, tile * Profile::WIDTH);
            __syncthreads();
            for (unsigned int place = chunk->first + threadIdx.x / WARP * PIECES;
                 place < chunk->end; place += blockDim.x / WARP * PIECES) {
                Group<Profile> group(search, place, chunk->end);
                const bool any = group.residues[0].count > 0, last = tile + 1 == tiles;
                const unsigned int lane = threadIdx.x % LANES, rows = group.longest();
                uint2* const border = search.border + 1ull * blockIdx.x * search.border_rows
                    + 1ull * (group.place - chunk->first) / Profile::TARGETS * chunk->area;
                unsigned int best = gap.first;
                if (any && tile > 0)
                    best = border[0].x;
                else if (any)
                    border[LANES + 4 * rows + 1 + lane] = make_uint2(gap.first, gap.first);
                const bool sparse = Number::SPARSE && rows <= search.sparse_words;
                const bool reads = any && tile > 0 && lane == 0;
                const bool writes = any && !last && lane == LANES - 1;
                best = fill<Profile, true>(sparse, profile, search, group.residues, rows, gap,
                    best, border + LANES - lane, reads, writes);
                best = highest_of_group<Profile>(best);
                if (lane == 0 && any && !last)
                    border[0].x = best;
                else if (lane == 0 && any)
                    group.report(best, sparse);
            }
        }
}

// What every kernel does.
template <class Profile>
static __device__ __forceinline__ void search_all(const Search& search, uint4* profile)
{
    const unsigned int longest = max(search.query_lengths[0], search.query_lengths[1]);
    const unsigned int tiles = (longest + Profile::WIDTH - 1) / Profile::WIDTH;
    if (tiles <= 1)
        search_in_one_tile<Profile>(search, profile);
    else
        search_in_tiles<Profile>(search, profile, tiles);
}
