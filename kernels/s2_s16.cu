// One query against two targets at a time, in whole numbers of 16 bits.
#include "profile.cuh"
#include "work.cuh"

template <int LANES, int COLUMNS, int THREADS, int GAP_FIRST = 0, int GAP_NEXT = 0>
__global__ void __launch_bounds__(THREADS, 1) s2_s16(const Search search)
{
    SHARED_MEMORY(profile);
    search_all<GotohLane<PairProfile<S16, LANES, COLUMNS>>, Gap<S16, GAP_FIRST, GAP_NEXT>>(search, profile);
}
