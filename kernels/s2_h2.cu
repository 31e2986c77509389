// One query against two targets at a time, in half precision.
#include "profile.cuh"
#include "work.cuh"

template <int LANES, int COLUMNS, int THREADS>
__global__ void __launch_bounds__(THREADS, 1) s2_h2(const Search search)
{
    SHARED_MEMORY(profile);
    search_all<GotohLane<PairProfile<Half, LANES, COLUMNS>>, Gap<Half, 0, 0>>(search, profile);
}
