// The first convolution: few channels come in, so it is done directly.
#pragma once

#include "winograd.hpp"

namespace {

template <int R>
INLINE void direct(const float* x, int wide, int ins, const float* kernel, int outs, const float* bias, float slope,
                   float* out) {
    Vec sum[R][NV];
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < NV; ++v) sum[r][v] = load(bias + v * LANES);
    for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3 * ins; ++k) {  // the three pixels of a row lie side by side
            Vec right[NV];
            for (int v = 0; v < NV; ++v) right[v] = load(kernel + (i * 3 * ins + k) * outs + v * LANES);
            for (int r = 0; r < R; ++r)
                for (int v = 0; v < NV; ++v) sum[r][v] += x[i * wide * ins + r * ins + k] * right[v];
        }
    for (int r = 0; r < R; ++r)
        for (int v = 0; v < NV; ++v) store(out + r * outs + v * LANES, leaky(sum[r][v], slope));
}

void convolve_first(int height, int width, const float* x, int ins, const float* kernel, int outs, const float* bias,
                    float slope, float* out) {
    const int wide = width + 2;
    for (int i = 0; i < height; ++i)
        for (int o = 0; o < outs; o += BLOCK) {
            int j = 0;
            for (; j + GRAD_ROWS <= width; j += GRAD_ROWS)
                direct<GRAD_ROWS>(x + (i * wide + j) * ins, wide, ins, kernel + o, outs, bias + o, slope,
                                  out + (i * width + j) * outs + o);
            for (; j < width; ++j)
                direct<1>(x + (i * wide + j) * ins, wide, ins, kernel + o, outs, bias + o, slope,
                          out + (i * width + j) * outs + o);
        }
}

void convolve_first_gradient(const Grid& grid, const float* x, const float* dz, int ins, int outs, float* grad) {
    const int wide = grid.width + 2;
    for (int o = 0; o < outs; o += BLOCK)
        for (int i = 0; i < 3; ++i)
            for (int k = 0; k < ins; ++k) {
                float* place = grad + (i * 3 * ins + k) * outs + o;
                Vec sum[3][NV];
                for (int j = 0; j < 3; ++j)
                    for (int v = 0; v < NV; ++v) sum[j][v] = load(place + j * ins * outs + v * LANES);
                for (int row = 0; row < grid.height; ++row) {
                    const float* pixel = x + (row + i) * wide * ins + k;
                    const float* error = dz + ((row + 1) * grid.wide + 1) * outs + o;
                    for (int column = 0; column < grid.width; ++column)
                        for (int v = 0; v < NV; ++v) {
                            const Vec e = load(error + column * outs + v * LANES);
                            for (int j = 0; j < 3; ++j) sum[j][v] += pixel[(column + j) * ins] * e;
                        }
                }
                for (int j = 0; j < 3; ++j)
                    for (int v = 0; v < NV; ++v) store(place + j * ins * outs + v * LANES, sum[j][v]);
            }
}

}  // namespace
