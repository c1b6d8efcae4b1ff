// Convolutions by Winograd's F(4x4, 3x3), with the points 0, 1, -1, 2, -2, and their gradients.
#pragma once

#include <algorithm>

#include "products.hpp"

namespace {

constexpr int TILES = 17;   // worked on at a time, at most
constexpr int POINTS = 36;  // values of a transformed 6x6 tile

// B^T d, on six values
INLINE void into(const Vec d[6], Vec v[6]) {
    const Vec even = d[4] - 4.f * d[2], odd = d[3] - 4.f * d[1];
    const Vec even2 = d[4] - d[2], odd2 = 2.f * (d[3] - d[1]);
    v[0] = 4.f * d[0] - 5.f * d[2] + d[4];
    v[1] = even + odd;
    v[2] = even - odd;
    v[3] = even2 + odd2;
    v[4] = even2 - odd2;
    v[5] = 4.f * d[1] - 5.f * d[3] + d[5];
}

// A^T m: six values to four
INLINE void out_of(const Vec m[6], Vec y[4]) {
    const Vec sum1 = m[1] + m[2], diff1 = m[1] - m[2], sum2 = m[3] + m[4], diff2 = m[3] - m[4];
    y[0] = m[0] + sum1 + sum2;
    y[1] = diff1 + 2.f * diff2;
    y[2] = sum1 + 4.f * sum2;
    y[3] = diff1 + 8.f * diff2 + m[5];
}

// A y: four values to six, the transpose of out_of
INLINE void back_into(const Vec y[4], Vec m[6]) {
    const Vec even = y[0] + y[2], odd = y[1] + y[3];
    const Vec even2 = y[0] + 4.f * y[2], odd2 = 2.f * y[1] + 8.f * y[3];
    m[0] = y[0];
    m[1] = even + odd;
    m[2] = even - odd;
    m[3] = even2 + odd2;
    m[4] = even2 - odd2;
    m[5] = y[3];
}

// G g: three weights to six
template <class T>
INLINE void weigh(const T g[3], T u[6]) {
    u[0] = g[0] * (1.f / 4);
    u[1] = (g[0] + g[1] + g[2]) * (-1.f / 6);
    u[2] = (g[0] - g[1] + g[2]) * (-1.f / 6);
    u[3] = (g[0] + 2.f * g[1] + 4.f * g[2]) * (1.f / 24);
    u[4] = (g[0] - 2.f * g[1] + 4.f * g[2]) * (1.f / 24);
    u[5] = g[2];
}

// G^T u: six values to three weights, the transpose of weigh
INLINE void weigh_back(const Vec u[6], Vec g[3]) {
    const Vec sum1 = (u[1] + u[2]) * (1.f / 6), diff1 = (u[1] - u[2]) * (1.f / 6);
    const Vec sum2 = (u[3] + u[4]) * (1.f / 24), diff2 = (u[3] - u[4]) * (1.f / 24);
    g[0] = u[0] * (1.f / 4) - sum1 + sum2;
    g[1] = 2.f * diff2 - diff1;
    g[2] = 4.f * sum2 - sum1 + u[5];
}

// Where an image lies: rows of `wide` pixels with a border of zeros, and how many 4x4 tiles cover it.
struct Grid {
    int height, width, down, across, wide, high;
    Grid(int h, int w) : height(h), width(w), down((h + 3) / 4), across((w + 3) / 4) {
        wide = 4 * across + 2;
        high = 4 * down + 2;
    }
    int tiles() const { return down * across; }
    int at_a_time() const {  // in groups of nearly equal size
        const int groups = (tiles() + TILES - 1) / TILES;
        return (tiles() + groups - 1) / groups;
    }
};

void transform_tiles(const Grid& grid, const float* x, int channels, int first, int count, float* into_V) {
    for (int t = 0; t < count; ++t) {
        const int tile = first + t;
        const float* corner = x + (4 * (tile / grid.across) * grid.wide + 4 * (tile % grid.across)) * channels;
        for (int c = 0; c < channels; c += LANES) {
            Vec half[6][6];
            for (int j = 0; j < 6; ++j) {
                Vec column[6], done[6];
                for (int i = 0; i < 6; ++i) column[i] = load(corner + (i * grid.wide + j) * channels + c);
                into(column, done);
                for (int i = 0; i < 6; ++i) half[i][j] = done[i];
            }
            for (int i = 0; i < 6; ++i) {
                Vec done[6];
                into(half[i], done);
                for (int j = 0; j < 6; ++j) store(into_V + ((i * 6 + j) * TILES + t) * channels + c, done[j]);
            }
        }
    }
}

// out (height x width x outs, dense) = leaky(x * kernel + bias)
void convolve(const Grid& grid, const float* x, int ins, int outs, const float* kernel_U, const float* bias, float slope,
              float* out, float* V, float* M) {
    const int most = grid.at_a_time();
    for (int first = 0; first < grid.tiles(); first += most) {
        const int count = std::min(most, grid.tiles() - first);
        transform_tiles(grid, x, ins, first, count, V);
        for (int k = 0; k < POINTS; ++k)
            for (int o = 0; o < outs; o += BLOCK)
                products<ROWS>(count, V + k * TILES * ins, ins, kernel_U + k * ins * outs + o, outs, ins,
                               M + k * TILES * outs + o, outs);
        for (int t = 0; t < count; ++t) {
            const int top = 4 * ((first + t) / grid.across), left = 4 * ((first + t) % grid.across);
            const int rows = std::min(4, grid.height - top), columns = std::min(4, grid.width - left);
            for (int c = 0; c < outs; c += LANES) {
                Vec half[4][6];
                for (int j = 0; j < 6; ++j) {
                    Vec column[6], done[4];
                    for (int i = 0; i < 6; ++i) column[i] = load(M + ((i * 6 + j) * TILES + t) * outs + c);
                    out_of(column, done);
                    for (int i = 0; i < 4; ++i) half[i][j] = done[i];
                }
                const Vec shift = bias ? load(bias + c) : Vec{};
                for (int i = 0; i < rows; ++i) {
                    Vec done[4];
                    out_of(half[i], done);
                    float* place = out + ((top + i) * grid.width + left) * outs + c;
                    for (int j = 0; j < columns; ++j) store(place + j * outs, leaky(done[j] + shift, slope));
                }
            }
        }
    }
}

// grad_U += the kernel's gradient in Winograd's form, from the input x and the gradient dz of the output
void convolve_gradient(const Grid& grid, const float* x, const float* dz, int ins, int outs, float* grad_U, float* V,
                       float* M) {
    const int most = grid.at_a_time();
    for (int first = 0; first < grid.tiles(); first += most) {
        const int count = std::min(most, grid.tiles() - first);
        transform_tiles(grid, x, ins, first, count, V);
        for (int t = 0; t < count; ++t) {
            const int top = 4 * ((first + t) / grid.across), left = 4 * ((first + t) % grid.across);
            const float* corner = dz + ((top + 1) * grid.wide + left + 1) * outs;
            for (int c = 0; c < outs; c += LANES) {
                Vec half[6][4];
                for (int j = 0; j < 4; ++j) {
                    Vec column[4], done[6];
                    for (int i = 0; i < 4; ++i) column[i] = load(corner + (i * grid.wide + j) * outs + c);
                    back_into(column, done);
                    for (int i = 0; i < 6; ++i) half[i][j] = done[i];
                }
                for (int i = 0; i < 6; ++i) {
                    Vec done[6];
                    back_into(half[i], done);
                    for (int j = 0; j < 6; ++j) store(M + ((i * 6 + j) * TILES + t) * outs + c, done[j]);
                }
            }
        }
        for (int k = 0; k < POINTS; ++k)
            for (int i = 0; i < ins; i += GRAD_ROWS)
                for (int o = 0; o < outs; o += BLOCK)
                    outer<GRAD_ROWS>(V + k * TILES * ins + i, ins, M + k * TILES * outs + o, outs, count,
                                     grad_U + (k * ins + i) * outs + o, outs);
    }
}

}  // namespace
