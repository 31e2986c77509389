// Which targets score at least `bar`, as numbers that sort by descending score, then by place in
// the input: score * 2^32 + (2^32 - 1 - ordinal). `count` counts all of them, `keys` has the first
// `capacity`, in no order.

extern "C" __global__ void keys(
    const int* scores, const unsigned int* ordinals, unsigned int targets, int bar,
    unsigned long long* keys, unsigned int capacity, unsigned int* count)
{
    for (unsigned int target = blockIdx.x * blockDim.x + threadIdx.x; target < targets;
         target += gridDim.x * blockDim.x) {
        const int score = scores[target];
        if (score < bar)
            continue;
        const unsigned int at = atomicAdd(count, 1u);
        if (at < capacity)
            keys[at] = static_cast<unsigned long long>(score) << 32 | ~ordinals[target];
    }
}
