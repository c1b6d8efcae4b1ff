// Small matrix products, which are most of the work.
#pragma once

#include "vectors.hpp"

namespace {

// c (R rows, one block of columns) = a b, where a is read row by row.
template <int R>
INLINE void product(const float* a, int a_row, const float* b, int b_row, int depth, float* c, int c_row) {
    Vec sum[R][NV] = {};
    for (int k = 0; k < depth; ++k) {
        Vec right[NV];
        for (int v = 0; v < NV; ++v) right[v] = load(b + k * b_row + v * LANES);
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < NV; ++v) sum[r][v] += a[r * a_row + k] * right[v];
    }
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < NV; ++v) store(c + r * c_row + v * LANES, sum[r][v]);
}

template <int R>
INLINE void some_rows(int rows, const float* a, int a_row, const float* b, int b_row, int depth, float* c, int c_row) {
    if (rows == R) return product<R>(a, a_row, b, b_row, depth, c, c_row);
    if constexpr (R > 1) some_rows<R - 1>(rows, a, a_row, b, b_row, depth, c, c_row);
}

// The same for any number of rows: in parts of nearly equal size, for sums of a few rows only wait for each other.
template <int MOST_ROWS>
void products(int rows, const float* a, int a_row, const float* b, int b_row, int depth, float* c, int c_row) {
    for (int parts = (rows + MOST_ROWS - 1) / MOST_ROWS; parts; --parts) {
        const int now = (rows + parts - 1) / parts;
        some_rows<MOST_ROWS>(now, a, a_row, b, b_row, depth, c, c_row);
        a += now * a_row, c += now * c_row, rows -= now;
    }
}

// c (R rows, one block of columns) += a^T b, over depth rows of both.
template <int R>
INLINE void outer(const float* a, int a_row, const float* b, int b_row, int depth, float* c, int c_row) {
    Vec sum[R][NV];
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < NV; ++v) sum[r][v] = load(c + r * c_row + v * LANES);
    for (int k = 0; k < depth; ++k) {
        Vec right[NV];
        for (int v = 0; v < NV; ++v) right[v] = load(b + k * b_row + v * LANES);
        for (int r = 0; r < R; ++r)
            for (int v = 0; v < NV; ++v) sum[r][v] += a[k * a_row + r] * right[v];
    }
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < NV; ++v) store(c + r * c_row + v * LANES, sum[r][v]);
}

void multiply(const float* x, int ins, const float* weights, int outs, const float* bias, float slope, float* out) {
    for (int o = 0; o < outs; o += BLOCK) {
        Vec sum[4][NV] = {};  // four sums, for one would wait for itself
        for (int k = 0; k < ins; k += 4)
            for (int r = 0; r < 4; ++r)
                for (int v = 0; v < NV; ++v) sum[r][v] += x[k + r] * load(weights + (k + r) * outs + o + v * LANES);
        for (int v = 0; v < NV; ++v) {
            const Vec all = (sum[0][v] + sum[1][v]) + (sum[2][v] + sum[3][v]);
            store(out + o + v * LANES, leaky(all + load(bias + o + v * LANES), slope));
        }
    }
}

void multiply_back(const float* dz, int real_outs, const float* weights_T, int ins, float* dx) {
    for (int k = 0; k < ins; k += BLOCK) {
        Vec sum[NV] = {};
        for (int o = 0; o < real_outs; ++o)
            for (int v = 0; v < NV; ++v) sum[v] += dz[o] * load(weights_T + o * ins + k + v * LANES);
        for (int v = 0; v < NV; ++v) store(dx + k + v * LANES, sum[v]);
    }
}

}  // namespace
