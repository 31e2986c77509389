// Two queries against each target, in half precision.
#include "profile.cuh"
#include "work.cuh"

template <int LANES, int COLUMNS, int THREADS>
__global__ void __launch_bounds__(THREADS, 1) q2_h2(const Search search)
{
    SHARED_MEMORY(profile);
    search_all<GotohLane<QueryProfile<Half, LANES, COLUMNS>>, Gap<Half, 0, 0>>(search, profile);
}
