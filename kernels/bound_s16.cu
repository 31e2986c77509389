// Upper bounds for two queries, or for one in halves, against each target, in whole numbers of 16 bits.
#include "profile.cuh"
#include "work.cuh"

template <int LANES, int COLUMNS, int THREADS, int GAP_FIRST = 0, int GAP_NEXT = 0>
__global__ void __launch_bounds__(THREADS, 1) bound_s16(const Search search)
{
    SHARED_MEMORY(profile);
    using Lane = BoundLane<QueryProfile<S16, LANES, COLUMNS, true>>;
    search_all<Lane, Gap<S16, GAP_FIRST, GAP_NEXT>>(search, profile);
}
