// Upper bounds for two queries, or for one in halves, against each target, in half precision.
#include "profile.cuh"
#include "work.cuh"

template <int LANES, int COLUMNS, int THREADS>
__global__ void __launch_bounds__(THREADS, 1) bound_h2(const Search search)
{
    SHARED_MEMORY(profile);
    using Lane = BoundLane<QueryProfile<Half, LANES, COLUMNS, true>>;
    search_all<Lane, Gap<Half, 0, 0>>(search, profile);
}
