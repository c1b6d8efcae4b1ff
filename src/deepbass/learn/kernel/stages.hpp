// One sample's way through the stages of a chain, and back.
#pragma once

#include <cmath>
#include <cstring>

#include "direct.hpp"
#include "random.hpp"

extern "C" {
struct Stage {  // as the caller describes it
    int32_t linear, ins, height, width, outs, pool, cut, cut_after;
    float slope, scale, scale_after;
};
}

namespace {

constexpr int MOST = 64;  // stages of a chain

struct Layer : Stage {
    int in, out, out_height, out_width;       // padded channels; what the stage hands on
    int64_t weights, weights_back, bias;      // places in the packed weights
    int64_t grad, grad_bias;                  // places in the packed gradients
    int64_t x, act, dz;                       // places in the workspace: input, activation, gradient before it
    int64_t keep, keep_after;                 // places of masks, counted in 16-bit units
    bool first() const { return x == 0; }
    Grid grid() const { return Grid(height, width); }
    int inputs() const { return in * height * width; }        // of a linear stage
    int out_size() const { return out_height * out_width * out; }
    bool winograd() const { return !linear && !first(); }
};

struct Chain {
    Layer layer[MOST];
    int count, classes;
    int64_t packed = 0, grads = 0, work = 0, V, M, dx;

    int64_t input_size(const Layer& s) const {
        if (s.linear) return s.inputs();
        const Grid grid = s.grid();
        return s.first() ? int64_t(s.height + 2) * (s.width + 2) * s.in : int64_t(grid.high) * grid.wide * s.in;
    }

    Chain(const Stage* stages, int n) : count(n), classes(stages[n - 1].outs) {
        int64_t masks = 0, widest = BLOCK, largest = BLOCK;
        for (int i = 0; i < n; ++i) {
            Layer& s = layer[i];
            static_cast<Stage&>(s) = stages[i];
            s.x = work;
            s.in = i == 0 && !s.linear ? s.ins : padded(s.ins);
            s.out = padded(s.outs);
            s.out_height = s.linear ? 1 : s.pool ? s.height / 2 : s.height;
            s.out_width = s.linear ? 1 : s.pool ? s.width / 2 : s.width;
            const Grid grid = s.grid();
            const int64_t size = s.linear ? int64_t(s.inputs()) * s.out : int64_t(s.first() ? 9 : POINTS) * s.in * s.out;
            s.weights = packed, packed += size;
            s.weights_back = packed, packed += s.first() ? 0 : size;
            s.bias = packed, packed += s.out;
            s.grad = grads, grads += size;
            s.grad_bias = grads, grads += s.out;
            work += input_size(s);
            const int64_t full = s.linear ? s.out : int64_t(s.height) * s.width * s.out;
            s.act = work, work += full;
            s.dz = work, work += s.linear ? s.out : int64_t(grid.high) * grid.wide * s.out;
            s.keep = masks, masks += s.cut ? full : 0;
            s.keep_after = masks, masks += s.cut_after ? s.out_size() : 0;
            widest = std::max<int64_t>({widest, s.in, s.out});
            largest = std::max<int64_t>({largest, s.out_size(), s.linear ? s.inputs() : 0});
        }
        V = work, work += POINTS * TILES * widest;
        M = work, work += POINTS * TILES * widest;
        dx = work, work += largest;
        for (int i = 0; i < n; ++i) layer[i].keep += 2 * work, layer[i].keep_after += 2 * work;
        work += (masks + 1) / 2;
    }
};

// Copy a sample (channels first) into the chain's first buffer.
void enter(const Chain& chain, const float* sample, float* work) {
    const Layer& s = chain.layer[0];
    float* x = work + s.x;
    if (s.linear) {
        std::memcpy(x, sample, sizeof(float) * s.ins);
        return;
    }
    for (int c = 0; c < s.ins; ++c)
        for (int i = 0; i < s.height; ++i)
            for (int j = 0; j < s.width; ++j)
                x[((i + 1) * (s.width + 2) + j + 1) * s.in + c] = sample[(c * s.height + i) * s.width + j];
}

// The stage's product and activation, before any dropout.
void activate(const Chain& chain, const Layer& s, const float* packed, float* work) {
    const float *weights = packed + s.weights, *bias = packed + s.bias, *x = work + s.x;
    if (s.linear)
        multiply(x, s.inputs(), weights, s.out, bias, s.slope, work + s.act);
    else if (s.first())
        convolve_first(s.height, s.width, x, s.in, weights, s.out, bias, s.slope, work + s.act);
    else
        convolve(s.grid(), x, s.in, s.out, weights, bias, s.slope, work + s.act, work + chain.V, work + chain.M);
}

// Where the stage's result goes: the next stage's input, or, after the last, over its own activation.
struct Place {
    float* start;
    int row;  // floats from one row of pixels to the next
    Place(const Chain& chain, const Layer& s, float* work) {
        const Layer* next = &s + 1;
        if (next == chain.layer + chain.count)
            start = work + s.act, row = 0;
        else if (next->linear)
            start = work + next->x, row = s.out_width * s.out;
        else {
            const Grid grid = next->grid();
            start = work + next->x + (grid.wide + 1) * s.out, row = grid.wide * s.out;
        }
    }
};

struct Masks {
    int16_t *before, *after;
    Masks(const Layer& s, float* work)
        : before(reinterpret_cast<int16_t*>(work) + s.keep), after(reinterpret_cast<int16_t*>(work) + s.keep_after) {}
};

INLINE Vec larger(Vec a, Vec b) { return a > b ? a : b; }

// Four neighbours of an activation, after dropout: what a pool chooses from.
template <bool CUT>
INLINE void gather(const float* act, const int16_t* keep, int64_t at, int64_t row, int step, float scale, Vec in[4]) {
    for (int k = 0; k < 4; ++k) {
        const int64_t there = at + k / 2 * row + k % 2 * step;
        in[k] = CUT ? masked(load(act + there), keep + there) * scale : load(act + there);
    }
}

template <bool CUT, bool POOL, bool AFTER>
void hand_on(const Layer& s, const float* act, const Masks masks, const Place to) {
    const int out = s.out, rows = s.out_height, columns = s.out_width;
    const int64_t row = int64_t(s.linear ? 1 : s.width) * out;
    const float scale = s.scale, scale_after = s.scale_after;
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
            for (int c = 0; c < out; c += LANES) {
                Vec v;
                if (POOL) {
                    Vec in[4];
                    gather<CUT>(act, masks.before, 2 * i * row + 2 * j * out + c, row, out, scale, in);
                    v = larger(larger(in[0], in[1]), larger(in[2], in[3]));
                } else {
                    const int64_t at = i * row + j * out + c;
                    v = CUT ? masked(load(act + at), masks.before + at) * scale : load(act + at);
                }
                if (AFTER) v = masked(v, masks.after + (int64_t(i) * columns + j) * out + c) * scale_after;
                store(to.start + i * to.row + j * out + c, v);
            }
}

// Dropout, pooling, dropout: from the activation to the next stage's input. Masks stay for the way back.
void finish(const Chain& chain, const Layer& s, Random* random, float* work) {
    const Masks masks(s, work);
    const bool cut = random && s.cut, after = random && s.cut_after;
    if (cut) random->keep(s.cut, s.linear ? s.out : int64_t(s.height) * s.width * s.out, masks.before);
    if (after) random->keep(s.cut_after, s.out_size(), masks.after);
    auto* hand = cut ? (s.pool ? (after ? hand_on<1, 1, 1> : hand_on<1, 1, 0>) : hand_on<1, 0, 0>)
                     : (s.pool ? (after ? hand_on<0, 1, 1> : hand_on<0, 1, 0>) : hand_on<0, 0, 0>);
    hand(s, work + s.act, masks, Place(chain, s, work));
}

template <bool CUT, bool POOL, bool AFTER>
void hand_back(const Layer& s, const float* act, const Masks masks, const float* dx, float* dz, const int dz_row) {
    const int out = s.out, rows = s.out_height, columns = s.out_width;
    const int64_t row = int64_t(s.linear ? 1 : s.width) * out;
    const float scale = s.scale, scale_after = s.scale_after, slope = s.slope;
    for (int i = 0; i < rows; ++i)
        for (int j = 0; j < columns; ++j)
            for (int c = 0; c < out; c += LANES) {
                const int64_t from = (int64_t(i) * columns + j) * out + c;
                Vec d = load(dx + from);
                if (AFTER) d = masked(d, masks.after + from) * scale_after;
                Vec in[4] = {}, best = {};
                if (POOL) {
                    gather<CUT>(act, masks.before, 2 * i * row + 2 * j * out + c, row, out, scale, in);
                    best = larger(larger(in[0], in[1]), larger(in[2], in[3]));
                }
                Ints open = ~Ints{};  // the first of equals takes the gradient, as in torch
                for (int k = 0; k < (POOL ? 4 : 1); ++k) {
                    const int y = POOL ? 2 * i + k / 2 : i, x = POOL ? 2 * j + k % 2 : j;
                    const int64_t there = y * row + x * out + c;
                    Vec g = d;
                    if (POOL) {
                        const Ints here = (in[k] == best) & open;
                        open &= ~here;
                        g = (Vec)((Ints)g & here);
                    }
                    g = load(act + there) > 0.f ? g : g * slope;
                    if (CUT) g = masked(g, masks.before + there) * scale;
                    store(dz + y * dz_row + x * out + c, g);
                }
            }
}

// The gradient before the stage's activation, from that of its result (dx).
void unfinish(const Layer& s, const float* dx, float* work) {
    const Masks masks(s, work);
    const Grid grid = s.grid();
    float* dz = work + s.dz + (s.linear ? 0 : (grid.wide + 1) * s.out);
    auto* hand = s.cut ? (s.pool ? (s.cut_after ? hand_back<1, 1, 1> : hand_back<1, 1, 0>) : hand_back<1, 0, 0>)
                       : (s.pool ? (s.cut_after ? hand_back<0, 1, 1> : hand_back<0, 1, 0>) : hand_back<0, 0, 0>);
    hand(s, work + s.act, masks, dx, dz, s.linear ? 0 : grid.wide * s.out);
}

// The gradients of a stage's weights and bias, added up; and of its input (dx), unless it is the first.
void learn(const Chain& chain, const Layer& s, const float* packed, float* grads, float* work) {
    const float *x = work + s.x, *dz = work + s.dz;
    float *grad = grads + s.grad, *grad_bias = grads + s.grad_bias, *dx = work + chain.dx;
    if (s.linear) {
        for (int o = 0; o < s.out; ++o) grad_bias[o] += dz[o];
        for (int k = 0; k < s.inputs(); ++k)
            for (int o = 0; o < s.out; o += LANES)
                store(grad + k * s.out + o, load(grad + k * s.out + o) + x[k] * load(dz + o));
        if (!s.first()) multiply_back(dz, s.outs, packed + s.weights_back, s.inputs(), dx);
        return;
    }
    const Grid grid = s.grid();
    for (int c = 0; c < s.out; c += LANES) {
        Vec sum = load(grad_bias + c);
        for (int i = 1; i <= s.height; ++i) {
            Vec line = {};
            for (int j = 1; j <= s.width; ++j) line += load(dz + (i * grid.wide + j) * s.out + c);
            sum += line;
        }
        store(grad_bias + c, sum);
    }
    if (s.first()) {
        convolve_first_gradient(grid, x, dz, s.in, s.out, grad);
        return;
    }
    convolve_gradient(grid, x, dz, s.in, s.out, grad, work + chain.V, work + chain.M);
    convolve(grid, dz, s.out, s.in, packed + s.weights_back, nullptr, 1.f, dx, work + chain.V, work + chain.M);
}

// dz of the last stage: softmax - one-hot, over the batch's size
void loss_gradient(const Layer& s, int label, float weight, float* work) {
    const float* logits = work + s.act;
    float* dz = work + s.dz;
    float top = logits[0], sum = 0.f;
    for (int c = 1; c < s.outs; ++c) top = std::max(top, logits[c]);
    for (int c = 0; c < s.outs; ++c) sum += dz[c] = std::exp(logits[c] - top);
    for (int c = 0; c < s.outs; ++c) dz[c] *= weight / sum;
    dz[label] -= weight;
}

}  // namespace
