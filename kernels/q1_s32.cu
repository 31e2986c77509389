// One query against each target, in whole numbers of 32 bits.
#include "profile.cuh"
#include "work.cuh"

template <int LANES, int COLUMNS, int THREADS>
__global__ void __launch_bounds__(THREADS, 1) q1_s32(const Search search)
{
    SHARED_MEMORY(profile);
    search_all<QueryProfile<S32, LANES, COLUMNS>>(search, profile);
}
