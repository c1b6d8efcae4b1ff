// Forward and backward passes of chains of 3x3 convolutions and linear layers, with dropout, one sample at a time.
//
// A chain is a list of stages: a convolution (3x3, padding 1) or a linear layer, then leaky ReLU, dropout, 2x2 max
// pooling and dropout again, each optional. A sample goes through the whole chain, and back, while its activations
// lie in the processor's cache. Inside, channels come last and in blocks of 16, which fill the vector registers; the
// padding is zero everywhere. Inner convolutions are Winograd's F(4x4, 3x3), which needs a quarter of the
// multiplications. Dropout masks are drawn here, from 16 bits an activation, and depend on a sample's key alone:
// not on its neighbours, nor on the number of threads.
//
// Built once for every width of vector registers (LANES floats) that the machine may have.

#include "stages.hpp"

extern "C" {

// Tell how many floats the packed weights, one block's gradients, and one thread's workspace take.
void chain_sizes(const Stage* stages, int32_t count, int64_t* packed, int64_t* grads, int64_t* work) {
    const Chain chain(stages, count);
    *packed = chain.packed, *grads = chain.grads, *work = chain.work;
}

// Bring torch's weights and biases, stage after stage in one array, into the form that the passes read.
void chain_pack(const Stage* stages, int32_t count, const float* params, float* packed) {
    const Chain chain(stages, count);
    std::memset(packed, 0, sizeof(float) * chain.packed);
    for (int n = 0; n < count; ++n) {
        const Layer& s = chain.layer[n];
        float *to = packed + s.weights, *back = packed + s.weights_back;
        if (s.linear) {
            const int pixels = s.height * s.width;
            for (int o = 0; o < s.outs; ++o)
                for (int c = 0; c < s.ins; ++c)
                    for (int p = 0; p < pixels; ++p) {
                        const float w = *params++;
                        to[(p * s.in + c) * s.out + o] = w;
                        if (!s.first()) back[o * s.inputs() + p * s.in + c] = w;
                    }
        } else {
            for (int o = 0; o < s.outs; ++o)
                for (int c = 0; c < s.ins; ++c, params += 9) {
                    if (s.first()) {
                        for (int k = 0; k < 9; ++k) to[(k * s.in + c) * s.out + o] = params[k];
                        continue;
                    }
                    float g[3], half[3][6], u[6], flipped[6];
                    for (int i = 0; i < 3; ++i) weigh(params + 3 * i, half[i]);
                    for (int j = 0; j < 6; ++j) {
                        for (int i = 0; i < 3; ++i) g[i] = half[i][j];
                        weigh(g, u);
                        for (int i = 0; i < 6; ++i) to[((i * 6 + j) * s.in + c) * s.out + o] = u[i];
                    }
                    for (int i = 0; i < 3; ++i) {
                        for (int j = 0; j < 3; ++j) g[j] = params[8 - 3 * i - j];
                        weigh(g, half[i]);
                    }
                    for (int j = 0; j < 6; ++j) {
                        for (int i = 0; i < 3; ++i) g[i] = half[i][j];
                        weigh(g, flipped);
                        for (int i = 0; i < 6; ++i) back[((i * 6 + j) * s.out + o) * s.in + c] = flipped[i];
                    }
                }
        }
        for (int o = 0; o < s.outs; ++o) packed[s.bias + o] = *params++;
    }
}

// Make dropout passes [from, until) over samples, taking blocks of them until none is left: several threads may work on
// one call's arguments, each with its own workspace. from < 0: one pass without dropout. logits: sample, pass, class.
void chain_infer(const Stage* stages, int32_t count, const float* packed, const float* samples, const int64_t* ids,
                 int64_t n, uint64_t seed, int32_t from, int32_t until, float* logits, float* work, int64_t* next) {
    const Chain chain(stages, count);
    const int64_t size = int64_t(stages[0].ins) * stages[0].height * stages[0].width, block = 8;
    const bool drop = from >= 0;
    const int passes = drop ? until - from : 1;
    int hoisted = 0;  // stages without dropout at the start, and the next one's activation, are the same in every pass
    while (drop && hoisted + 1 < count && !stages[hoisted].cut && !stages[hoisted].cut_after) ++hoisted;
    for (;;) {
        const int64_t start = __atomic_fetch_add(next, block, __ATOMIC_RELAXED);
        if (start >= n) return;
        for (int64_t i = start; i < std::min(n, start + block); ++i) {
            enter(chain, samples + i * size, work);
            for (int s = 0; s <= hoisted; ++s) {
                activate(chain, chain.layer[s], packed, work);
                if (s < hoisted) finish(chain, chain.layer[s], nullptr, work);
            }
            for (int pass = 0; pass < passes; ++pass) {
                Random random(drop ? key_of(seed, ids[i], from + pass) : 0);
                for (int s = hoisted; s < count; ++s) {
                    const Layer& layer = chain.layer[s];
                    if (s > hoisted) activate(chain, layer, packed, work);
                    if (s + 1 == count) break;
                    finish(chain, layer, drop ? &random : nullptr, work);
                }
                const float* out = work + chain.layer[count - 1].act;
                std::memcpy(logits + (i * passes + pass) * chain.classes, out, sizeof(float) * chain.classes);
            }
        }
    }
}

// Add up the gradient of the mean cross-entropy over a batch of ``whole`` samples, in blocks whose sums are kept apart
// (their order, and so the rounding, does not hang on the number of threads, nor of machines). Given are n of its
// samples, from row ``first`` on, which begins a block. grads: blocks x parameters, in torch's form and order.
void chain_gradients(const Stage* stages, int32_t count, const float* packed, const float* samples,
                     const int64_t* labels, int64_t n, int64_t first, int64_t whole, int64_t block, uint64_t seed,
                     int64_t step, float* grads, int64_t parameters, float* logits, float* work, float* sums,
                     int64_t* next) {
    const Chain chain(stages, count);
    const int64_t size = int64_t(stages[0].ins) * stages[0].height * stages[0].width;
    const Layer& last = chain.layer[count - 1];
    for (;;) {
        const int64_t number = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
        if (number * block >= n) return;
        std::memset(sums, 0, sizeof(float) * chain.grads);
        for (int64_t i = number * block; i < std::min(n, (number + 1) * block); ++i) {
            enter(chain, samples + i * size, work);
            Random random(key_of(seed, first + i, step));
            for (int s = 0; s < count; ++s) {
                activate(chain, chain.layer[s], packed, work);
                if (s + 1 < count) finish(chain, chain.layer[s], &random, work);
            }
            std::memcpy(logits + i * chain.classes, work + last.act, sizeof(float) * chain.classes);
            loss_gradient(last, static_cast<int>(labels[i]), 1.f / static_cast<float>(whole), work);
            for (int s = count - 1; s >= 0; --s) {
                if (s + 1 < count) unfinish(chain.layer[s], work + chain.dx, work);
                learn(chain, chain.layer[s], packed, sums, work);
            }
        }
        float* out = grads + number * parameters;  // back into torch's form
        for (int l = 0; l < count; ++l) {
            const Layer& s = chain.layer[l];
            const float* from = sums + s.grad;
            if (s.linear) {
                const int pixels = s.height * s.width;
                for (int o = 0; o < s.outs; ++o)
                    for (int c = 0; c < s.ins; ++c)
                        for (int p = 0; p < pixels; ++p) *out++ = from[(p * s.in + c) * s.out + o];
            } else {
                for (int c = 0; c < s.ins; ++c)
                    for (int o = 0; o < s.out; o += LANES) {
                        Vec kernel[3][3];
                        if (s.first()) {
                            for (int k = 0; k < 9; ++k) kernel[k / 3][k % 3] = load(from + (k * s.in + c) * s.out + o);
                        } else {
                            Vec half[3][6];
                            for (int j = 0; j < 6; ++j) {
                                Vec column[6], done[3];
                                for (int i = 0; i < 6; ++i) column[i] = load(from + ((i * 6 + j) * s.in + c) * s.out + o);
                                weigh_back(column, done);
                                for (int i = 0; i < 3; ++i) half[i][j] = done[i];
                            }
                            for (int i = 0; i < 3; ++i) weigh_back(half[i], kernel[i]);
                        }
                        for (int lane = 0; lane < LANES && o + lane < s.outs; ++lane)
                            for (int k = 0; k < 9; ++k)
                                out[((o + lane) * s.ins + c) * 9 + k] = kernel[k / 3][k % 3][lane];
                    }
                out += int64_t(s.outs) * s.ins * 9;
            }
            for (int o = 0; o < s.outs; ++o) *out++ = sums[s.grad_bias + o];
        }
    }
}

// Show the masks that a sample meets, for tests: 0 or the scale, dropout after dropout, channels first.
void chain_masks(const Stage* stages, int32_t count, uint64_t seed, int64_t sample, int64_t pass, float* out, float* work) {
    const Chain chain(stages, count);
    Random random(key_of(seed, sample, pass));
    for (int l = 0; l + 1 < count; ++l) {
        const Layer& s = chain.layer[l];
        finish(chain, s, &random, work);
        const Masks masks(s, work);
        const int pixels = s.linear ? 1 : s.height * s.width;
        for (int c = 0; s.cut && c < s.outs; ++c)
            for (int p = 0; p < pixels; ++p) *out++ = masks.before[p * s.out + c] ? s.scale : 0.f;
        for (int c = 0; s.cut_after && c < s.outs; ++c)
            for (int p = 0; p < s.out_height * s.out_width; ++p) *out++ = masks.after[p * s.out + c] ? s.scale_after : 0.f;
    }
}

}  // extern "C"
