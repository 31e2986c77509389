// What a launch is given, and what the names mean.
#pragma once

constexpr int CODES = 32;
constexpr unsigned int PAD = 31;

// The fields are told in README.md.
struct Search {
    const unsigned char* residues;
    const unsigned int* piece_starts;
    const unsigned int* piece_lengths;
    const unsigned int* piece_targets;
    const unsigned int* chunks;
    const unsigned char* queries[2];
    const int* tables[2];
    int* scores[2];
    unsigned int* rescue[2];
    unsigned int* rescue_count;
    unsigned int* next;
    uint2* border;
    const unsigned int* list;
    const unsigned int* list_count;
    unsigned int chunk_count;
    unsigned int border_rows;
    unsigned int query_lengths[2];
    int gap_first, gap_next;
    int limit;
    int cutoff;
    unsigned int sparse_words;
    unsigned int patience;
    unsigned int halved;
    unsigned int cutoff_counts[2];
    const uint2* cutoffs[2];
};

#ifndef SWDUAL_HOST
#define SHARED_MEMORY(name) extern __shared__ uint4 name[]
#endif
