// Who scores which pieces, and what becomes of the scores.
//
// A warp takes as many consecutive pieces as its groups hold, and every group goes on for as many
// steps as the longest of them needs, so that the warp never divides. Where one tile holds the
// query, each warp draws its next pieces from a counter. Else a CTA draws a chunk of pieces and
// goes through it once for each tile, and each warp has the same pieces of it in every tile.
//
// For each of its pieces (with two targets at a time: for each two) a chunk has an area of border
// rows: one for the best score so far, three that are written before the piece begins, four for
// each of its steps, and one more. The last four are clean: nobody writes them.
//
// The state of a tile's columns takes nearly all registers. What is needed only between pieces is
// looked up again there: see `hidden`.
#pragma once
#include "bound.cuh"
#include "gotoh.cuh"
#include "search.cuh"

constexpr int WARP = 32;

// Pieces, and chunks, that are listed at a time where bounds are given up.
constexpr unsigned int GIVEN_UP = 512, GIVEN_UP_CHUNKS = 16;

// A CTA's chunk: places `first` to `end - 1` of the work list, and the border rows of an area; and
// the places of pieces that are only listed, since bounds are given up.
struct Chunk {
    unsigned int first, end, area, first_listed, end_listed;
};

// The pieces that leave a warp's lanes: their place, the end of the work list or chunk that they
// are from, and whether the tile is the last.
struct Leaving {
    unsigned int place, end, last_tile;
};

// What lies in shared memory behind the profiles: the CTA's chunk, the best that each lane has
// handed over, of bounds also what passes across, and the pieces that leave each warp. No address of
// it is kept in a register.
template <bool IS_BOUND> struct SharedState {
    const uint4* const place;

    __device__ __forceinline__ Chunk& chunk() const
    {
        return *reinterpret_cast<Chunk*>(const_cast<char*>(hidden(place)));
    }
    __device__ __forceinline__ unsigned int& best() const
    {
        return reinterpret_cast<unsigned int*>(&chunk() + 1)[hidden(threadIdx.x)];
    }
    __device__ __forceinline__ unsigned int& across(int other = 0) const
    {
        return (&best())[blockDim.x + other];
    }
    __device__ __forceinline__ Leaving& leaving() const
    {
        unsigned int* const bests = reinterpret_cast<unsigned int*>(&chunk() + 1);
        return reinterpret_cast<Leaving*>(
            bests + (1 + IS_BOUND) * blockDim.x)[hidden(threadIdx.x) / WARP];
    }
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

// How many queries bounds are for: halves are of one.
static __device__ __forceinline__ int query_count(const Search& search)
{
    return 1 + (search.query_lengths[1] > 0 && !search.halved);
}

// Lists a piece for the kernel that scores it again.
static __device__ __forceinline__ void list_piece(
    const Search& search, int query, unsigned int piece)
{
    search.rescue[query][atomicAdd(&search.rescue_count[query], 1u)] = piece;
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
template <class Lane> struct Group {
    using Profile = typename Lane::Profile;
    using Number = typename Lane::Number;
    static constexpr int LANES = Profile::LANES, TARGETS = Profile::TARGETS;

    const Search& search;
    unsigned int place, end;

    __device__ __forceinline__ Group(
        const Search& search, unsigned int warp_place, unsigned int end)
        : search(search), place(warp_place + threadIdx.x % WARP / LANES * TARGETS), end(end)
    {
    }

    // The words of a piece; none where there is no piece.
    __device__ __forceinline__ Words words(int target) const
    {
        if (place + target >= end)
            return {0, 0};
        const unsigned int piece = piece_at(search, place + target);
        return {search.piece_starts[piece] * 4, (search.piece_lengths[piece] + 3) / 4};
    }

    __device__ __forceinline__ bool any() const { return place < end; }

    // Words of the longest piece in the warp.
    __device__ __forceinline__ unsigned int longest() const
    {
        return highest_of_warp(max(words(0).count, words(TARGETS - 1).count));
    }

    // The lowest score that a piece must have to be wanted, by the length of its target; a window's
    // is not above that. Where it is shorter than all lengths of the table, the first counts.
    __device__ __forceinline__ int cutoff_of(int query, unsigned int piece) const
    {
        const uint2* const table = search.cutoffs[query];
        const unsigned int length = search.piece_lengths[piece];
        unsigned int low = 0, high = search.cutoff_counts[query];
        while (high - low > 1) {
            const unsigned int middle = (low + high) / 2;
            if (table[middle].x <= length)
                low = middle;
            else
                high = middle;
        }
        return table[low].y;
    }

    // The lowest G of a score that is not to be taken as it is: it may be wrong, or it is from a
    // sparse fill, and the true one may reach the cutoff, or be wrong.
    __device__ __forceinline__ int doubtful(bool sparse) const
    {
        const int score = sparse
            ? min(search.limit, search.cutoff) - SPARSE_LOSS * search.gap_next : search.limit;
        return score - search.gap_first;
    }

    // Lists the group's piece for the queries whose cutoff it may reach. `best` and what passes
    // `across` are G; they stand for numbers larger by gap_first.
    __device__ __forceinline__ void report_bounds(unsigned int best, unsigned int across) const
    {
        const unsigned int piece = piece_at(search, place);
        int bounds[] = {Number::number(best, 0), Number::number(best, 1)};
        if (search.halved) {
            const int passed = min(Number::number(across, 0), search.limit) + search.gap_first;
            bounds[0] =
                max(max(bounds[0], bounds[1]), min(bounds[1], search.limit) + passed);
        }
#pragma unroll
        for (int query = 0; query < 2; ++query)
            if (query < query_count(search)
                && bounds[query] >= min(search.limit, cutoff_of(query, piece)) - search.gap_first)
                list_piece(search, query, piece);
    }

    // Writes down the best scores of the group, which are G. It is compared before gap_first is
    // added: an infinite one, which half precision may have, is the largest int.
    __device__ __forceinline__ void report(unsigned int best, bool sparse) const
    {
#pragma unroll
        for (int half = 0; half < Number::HALVES; ++half) {
            const int query = TARGETS == 1 ? half : 0, target = TARGETS == 1 ? 0 : half;
            if (place + target >= end)
                continue;
            const unsigned int piece = piece_at(search, place + target);
            const int g = Number::number(best, half);
            if (Number::LIMITED && g >= doubtful(sparse))
                list_piece(search, query, piece);
            else if (g > -search.gap_first)
                atomicMax(&search.scores[query][search.piece_targets[piece]],
                    g + search.gap_first);
        }
    }
};

// The border rows of a group's pieces.
template <class Lane>
static __device__ __forceinline__ uint2* area_of(
    const Search& search, const Chunk& chunk, const Group<Lane>& group)
{
    return search.border + 1ull * blockIdx.x * search.border_rows
        + 1ull * (group.place - chunk.first) / Group<Lane>::TARGETS * chunk.area;
}

// The largest of the numbers that the lanes of a group have.
template <class Profile>
static __device__ __forceinline__ unsigned int highest_of_group(unsigned int best)
{
#pragma unroll
    for (int other = Profile::LANES / 2; other > 0; other /= 2)
        best = Profile::Number::highest(best, __shfl_xor_sync(FULL_WARP, best, other));
    return best;
}

// Whether bounds are not worth their time: of the pieces that were drawn before, more than one in
// three may reach its cutoff.
static __device__ __forceinline__ bool gives_up(const Search& search, unsigned int drawn)
{
    const volatile unsigned int* const listed = search.rescue_count;
    const bool two = query_count(search) == 2;
    const unsigned long long left = listed[0] + (two ? listed[1] : 0);
    return left > search.patience && 3 * left > (two ? 2ull : 1ull) * drawn;
}

// Lists pieces of the work list for every query, by `threads` of which this is number `thread`.
static __device__ __forceinline__ void list_all(const Search& search, unsigned int first,
    unsigned int end, unsigned int thread, unsigned int threads)
{
#pragma unroll 1
    for (unsigned int place = first; place < end; place += threads)
#pragma unroll
        for (int query = 0; query < 2; ++query)
            if (query < query_count(search) && place + thread < end)
                list_piece(search, query, piece_at(search, place + thread));
}

// Draws a warp's next pieces; their place is behind the end if there are none. Where bounds are
// given up, many more are drawn and only listed.
template <class Lane>
static __device__ __forceinline__ unsigned int draw_pieces(
    const Search& search, unsigned int pieces, unsigned int end)
{
    const unsigned int thread = threadIdx.x % WARP;
    const unsigned int place = highest_of_warp(thread ? 0 : atomicAdd(search.next, pieces));
    if (Lane::IS_BOUND) {
        unsigned int more = thread ? 0 : end;
        if (thread == 0 && place < end && gives_up(search, place))
            more = atomicAdd(search.next, GIVEN_UP);
        more = highest_of_warp(more);
        if (more < end)
            list_all(search, more, min(more + GIVEN_UP, end), thread, WARP);
    }
    return place;
}

// Draws the CTA's next chunk, which ends at 0 if there is none. Where bounds are given up, many more
// are drawn and only listed.
template <class Lane>
static __device__ __forceinline__ void draw(const Search& search, Chunk& chunk)
{
    using Profile = typename Lane::Profile;
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned int number = atomicAdd(search.next, 1u);
        unsigned int first = 0, end = 0;
        if (search.list) {
            const unsigned int pieces = blockDim.x / Profile::LANES * Profile::TARGETS;
            first = number * pieces;
            end = min(first + pieces, *search.list_count);
        } else if (number < search.chunk_count) {
            first = search.chunks[number];
            end = search.chunks[number + 1];
        }
        const unsigned int groups = (end - first + Profile::TARGETS - 1) / Profile::TARGETS;
        chunk = first < end ? Chunk{first, end, search.border_rows / groups, 0, 0}
                            : Chunk{0, 0, 0, 0, 0};
        if (Lane::IS_BOUND && first < end && gives_up(search, first)) {
            const unsigned int more = atomicAdd(search.next, GIVEN_UP_CHUNKS);
            chunk.first_listed = search.chunks[min(more, search.chunk_count)];
            chunk.end_listed = search.chunks[min(more + GIVEN_UP_CHUNKS, search.chunk_count)];
        }
    }
    __syncthreads();
    if (Lane::IS_BOUND)
        list_all(search, chunk.first_listed, chunk.end_listed, threadIdx.x, blockDim.x);
}

// The pieces of a warp follow one another through its lanes. Those that enter come right behind
// those that leave, with at least one word of PAD between, and both are in the lanes for a while.
// A lane that is four rows behind another is a step later with all it does; of the three lanes
// between, each has in a step some rows of the word before. With 16 lanes:
//
//      step   0  1  2  3  4  5  6  7      a    a word of the pieces that leave
//   lane  0   a  a  -  b  b  b  b  b      b    of those that enter
//   lane  4      a  a  -  b  b  b  b      -    of PAD
//   lane  8         a  a  -  b  b  b
//   lane 12            a  a  -  b  b
//
// At the end of the step in which lane l, a multiple of four, has the last rows of PAD, lanes l to
// l + 3 hand over their best and forget all rows: the last that each of them had was one of PAD,
// and none has had a row of the pieces that enter. Of bounds, whose lanes are two rows behind one
// another, these are lanes l and l + 1, l a multiple of two.
//
// A lane takes a word to hand two steps before the word's first row. So pieces enter in RAMP runs
// of one step: before run i lanes 4i - 3 to 4i turn to the words of those that enter, and lanes
// 4i - 8 to 4i - 5 forget. Then all that is left of their words passes in one run.
//
// With BORDER the query has several `tiles`. The last pieces of a tile are still in the lanes when
// the first enter the next one, so that there are two profiles, used in turn. When a profile is
// overwritten, no lane needs it any more: each warp has let pieces, or none, enter the tile since.
template <class Lane, bool BORDER, class Gap>
static __device__ __forceinline__ void pass_pieces(
    const Search& search, uint4* profiles, unsigned int tiles)
{
    using Profile = typename Lane::Profile;
    using Number = typename Lane::Number;
    constexpr int LANES = Profile::LANES, PROFILE = CODES * Profile::ROW_BYTES / 16;
    constexpr unsigned int PIECES = WARP / LANES * Profile::TARGETS;
    constexpr unsigned int RAMP = LANES * Lane::ROWS / 4 + 2;
    const unsigned int lane = threadIdx.x % LANES, behind = lane * Lane::ROWS;
    const SharedState<Lane::IS_BOUND> shared{profiles + (1 + BORDER) * PROFILE};
    const Gap gap(search.gap_first, search.gap_next);
    if (!BORDER) {
        Profile::build(profiles, search, 0);
        __syncthreads();
    }
    Stream<Lane, BORDER, Gap> stream(profiles, search, gap);

    // All that decides where a warp goes is the same for its lanes, as the compiler can see: else
    // it would look in every row whether they are together.
    unsigned int end = BORDER ? 0 : highest_of_warp(work_count(search));
    const bool sparse = Lane::SPARSE && search.cutoff > 0;
    unsigned int place = end; // of the pieces that enter
    bool sparse_now = sparse, sparse_before; // how they are looked at
    bool again = false; // those that have left enter again, with a look at every row
    unsigned int tile = tiles - 1, parity = 1;
    const unsigned int stride = blockDim.x / WARP * PIECES;
    for (;;) {
        const Leaving entered = {place, end, tile + 1 == tiles};
        sparse_before = sparse_now;
        sparse_now = sparse && !again;
        if (again) {
            place = highest_of_warp(shared.leaving().place);
        } else if (!BORDER) {
            place = draw_pieces<Lane>(search, PIECES, end);
        } else {
            place += stride;
            if (place >= end) {
                if (++tile == tiles) {
                    tile = 0;
                    stream.drop_border();
                    draw<Lane>(search, shared.chunk());
                } else {
                    __syncthreads();
                }
                parity ^= 1;
                Profile::build(profiles + parity * PROFILE, search, tile * Profile::WIDTH);
                __syncthreads();
                end = highest_of_warp(shared.chunk().end);
                place = highest_of_warp(shared.chunk().first + threadIdx.x / WARP * PIECES);
            }
        }
        shared.leaving() = entered;
        const unsigned int longest = Group<Lane>(search, place, end).longest();
        unsigned int rest = max(longest + 1, RAMP) - RAMP; // steps after the pieces have entered
        if (BORDER)
            sparse_now = sparse_now && longest <= search.sparse_words;
        // The first lane reads the last border rows two steps after it has taken their words to
        // hand. Only then they may be another chunk's.
        if (BORDER && tile + 1 == tiles && place + stride >= end)
            rest += 2;
#pragma unroll 1
        for (unsigned int i = 0; i <= RAMP; ++i) {
            const Group<Lane> entering(search, hidden(place), end);
            __syncwarp(); // lanes see what others have left in the border
            if ((behind + 3) / 4 == i)
                stream.set_pieces(entering);
            if (i >= 2 && i < RAMP) {
                const bool forgets = behind / 4 + 2 == i;
                if (forgets)
                    shared.best() = stream.state.best;
                if constexpr (Lane::IS_BOUND)
                    if (forgets)
                        shared.across() = stream.state.across;
                stream.state.clear_if(forgets, gap);
                if (BORDER && forgets) {
                    stream.set_profile(profiles + parity * PROFILE);
                    stream.set_border(area_of(search, shared.chunk(), entering), entering.any(),
                        tile == 0, tile + 1 == tiles, rest + RAMP);
                }
            }
            if (i == RAMP) {
                const Leaving noted = shared.leaving();
                const Group<Lane> leaving(search, noted.place, noted.end);
                const unsigned int best = highest_of_group<Profile>(shared.best());
                if (!BORDER) {
                    const int g =
                        max(Number::number(best, 0), Number::number(best, Number::HALVES - 1));
                    again = highest_of_warp(sparse_before && g >= leaving.doubtful(true));
                }
                if (lane == 0 && leaving.any() && !again) {
                    if (noted.last_tile && Lane::IS_BOUND)
                        leaving.report_bounds(best, shared.across(LANES - 1));
                    else if (noted.last_tile)
                        leaving.report(best, BORDER && sparse_before);
                    else
                        area_of(search, shared.chunk(), leaving)->x = best;
                }
                if (BORDER && lane == 0 && entering.any() && tile > 0)
                    stream.state.best = Number::highest(
                        stream.state.best, area_of(search, shared.chunk(), entering)->x);
                if ((BORDER ? end == 0 : place >= end) && !again)
                    return;
            }
            stream.run(sparse_now & (sparse_before | (i == RAMP)), i < RAMP ? 1 : rest);
        }
    }
}

// What every kernel does.
template <class Lane, class Gap>
static __device__ __forceinline__ void search_all(const Search& search, uint4* profiles)
{
    constexpr unsigned int WIDTH = Lane::Profile::WIDTH;
    const unsigned int longest = max(search.query_lengths[0], search.query_lengths[1]);
    const unsigned int tiles = (longest + WIDTH - 1) / WIDTH;
    if (tiles <= 1)
        pass_pieces<Lane, false, Gap>(search, profiles, 1);
    else
        pass_pieces<Lane, true, Gap>(search, profiles, tiles);
}
