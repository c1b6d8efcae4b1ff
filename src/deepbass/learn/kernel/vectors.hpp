// Vectors of LANES floats, and the sizes that follow from them.
#pragma once

#include <cstdint>

#ifndef LANES
#define LANES 4
#endif

namespace {

constexpr int BLOCK = 16;          // channels in a block
constexpr int NV = BLOCK / LANES;  // vectors in a block
constexpr int ROWS = LANES == 16 ? 12 : LANES == 8 ? 6 : 3;  // rows of a product whose sums fit the registers
constexpr int GRAD_ROWS = LANES == 16 ? 8 : LANES == 8 ? 4 : 2;

typedef float Vec __attribute__((vector_size(LANES * 4)));
typedef float Loose __attribute__((vector_size(LANES * 4), aligned(4)));
typedef int32_t Ints __attribute__((vector_size(LANES * 4)));
typedef int16_t Keeps __attribute__((vector_size(LANES * 2), aligned(2)));
typedef uint32_t Words __attribute__((vector_size(32)));
typedef int16_t Shorts __attribute__((vector_size(32), aligned(2)));

#define INLINE static inline __attribute__((always_inline))

INLINE Vec load(const float* p) { return *reinterpret_cast<const Loose*>(p); }
INLINE void store(float* p, Vec v) { *reinterpret_cast<Loose*>(p) = v; }
INLINE Vec leaky(Vec v, float slope) {
    const Vec low = v * slope;
    return v > low ? v : low;
}
INLINE Vec masked(Vec v, const int16_t* keep) {
    const Ints bits = __builtin_convertvector(*reinterpret_cast<const Keeps*>(keep), Ints);
    return (Vec)((Ints)v & bits);
}
INLINE int padded(int channels) { return (channels + BLOCK - 1) / BLOCK * BLOCK; }

}  // namespace
