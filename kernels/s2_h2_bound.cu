// Upper bounds for one query against two targets at a time, in half precision.
#include "profile.cuh"
#include "work.cuh"

template <int LANES, int COLUMNS, int THREADS>
__global__ void __launch_bounds__(THREADS, 1) s2_h2_bound(const Search search)
{
    SHARED_MEMORY(profile);
    search_all<BoundLane<PairProfile<Half, LANES, COLUMNS, true>>, Gap<Half, 0, 0>>(search, profile);
}
