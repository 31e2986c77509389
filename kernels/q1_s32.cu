// One query against each target, in whole numbers of 32 bits.
#include "profile.cuh"
#include "work.cuh"

template <int LANES, int COLUMNS, int THREADS, int GAP_FIRST = 0, int GAP_NEXT = 0>
__global__ void __launch_bounds__(THREADS, 1) q1_s32(const Search search)
{
    SHARED_MEMORY(profile);
    search_all<GotohLane<QueryProfile<S32, LANES, COLUMNS>>, Gap<S32, GAP_FIRST, GAP_NEXT>>(search, profile);
}
