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

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#ifndef LANES
#define LANES 4
#endif

namespace {

constexpr int BLOCK = 16;              // channels in a block
constexpr int NV = BLOCK / LANES;      // vectors in a block
constexpr int ROWS = LANES == 16 ? 12 : LANES == 8 ? 6 : 3;  // rows of a product whose sums fit the registers
constexpr int GRAD_ROWS = LANES == 16 ? 8 : LANES == 8 ? 4 : 2;
constexpr int TILES = 12;              // Winograd tiles worked on at a time
constexpr int POINTS = 36;             // values of a transformed 6x6 tile
constexpr int MOST = 64;               // stages of a chain

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

// Eight small generators side by side (sfc32): 256 bits a call, enough for 16 activations.
struct Random {
    Words a, b, c, counter;

    explicit Random(uint64_t key) {
        for (int lane = 0; lane < 8; ++lane) {
            const uint64_t first = mix(key), second = mix(key);
            a[lane] = static_cast<uint32_t>(first);
            b[lane] = static_cast<uint32_t>(first >> 32);
            c[lane] = static_cast<uint32_t>(second);
            counter[lane] = 1;
        }
        for (int round = 0; round < 12; ++round) next();
    }

    __attribute__((always_inline)) Words next() {
        const Words out = a + b + counter;
        counter += 1;
        a = b ^ (b >> 9);
        b = c + (c << 3);
        c = ((c << 21) | (c >> 11)) + out;
        return out;
    }

    // Write 16 bits a unit, all ones where it is kept: with probability 1 - cut / 65536.
    void keep(int cut, int64_t units, int16_t* out) {
        Random local = *this;  // in registers
        const int16_t bar = static_cast<int16_t>(cut - 32768);
        for (int64_t i = 0; i < units; i += BLOCK)
            *reinterpret_cast<Shorts*>(out + i) = (Shorts)local.next() >= bar;
        *this = local;
    }

    static uint64_t mix(uint64_t& state) {  // splitmix64
        uint64_t z = (state += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
};

uint64_t key_of(uint64_t seed, uint64_t sample, uint64_t pass) {
    uint64_t state = seed;
    state = Random::mix(state) + sample;
    state = Random::mix(state) + pass;
    return Random::mix(state);
}

// ---- small matrix products ------------------------------------------------------------------------------------

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
void products(int rows, const float* a, int a_row, const float* b, int b_row, int depth, float* c, int c_row) {
    int done = 0;
    for (; done + R <= rows; done += R) product<R>(a + done * a_row, a_row, b, b_row, depth, c + done * c_row, c_row);
    if constexpr (R > 1)
        if (done < rows) products<R / 2>(rows - done, a + done * a_row, a_row, b, b_row, depth, c + done * c_row, c_row);
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

// ---- Winograd's F(4x4, 3x3), with the points 0, 1, -1, 2, -2 ----------------------------------------------------

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
    for (int first = 0; first < grid.tiles(); first += TILES) {
        const int count = std::min(TILES, grid.tiles() - first);
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
    for (int first = 0; first < grid.tiles(); first += TILES) {
        const int count = std::min(TILES, grid.tiles() - first);
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

// ---- the first convolution: few channels come in, so it is done directly ---------------------------------------

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

// ---- linear layers ----------------------------------------------------------------------------------------------

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

// ---- a chain ----------------------------------------------------------------------------------------------------

}  // namespace

extern "C" {
struct Stage {  // as the caller describes it
    int32_t linear, ins, height, width, outs, pool, cut, cut_after;
    float slope, scale, scale_after;
};
}

namespace {

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

// ---- what the caller sees ---------------------------------------------------------------------------------------

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

// Add up the gradient of the mean cross-entropy over n samples, in blocks whose sums are kept apart (their order, and
// so the rounding, does not hang on the number of threads). grads: blocks x parameters, in torch's form and order.
void chain_train(const Stage* stages, int32_t count, const float* packed, const float* samples, const int64_t* labels,
                 int64_t n, int64_t block, uint64_t seed, int64_t step, float* grads, int64_t parameters, float* logits,
                 float* work, float* sums, int64_t* next) {
    const Chain chain(stages, count);
    const int64_t size = int64_t(stages[0].ins) * stages[0].height * stages[0].width;
    const Layer& last = chain.layer[count - 1];
    for (;;) {
        const int64_t number = __atomic_fetch_add(next, 1, __ATOMIC_RELAXED);
        if (number * block >= n) return;
        std::memset(sums, 0, sizeof(float) * chain.grads);
        for (int64_t i = number * block; i < std::min(n, (number + 1) * block); ++i) {
            enter(chain, samples + i * size, work);
            Random random(key_of(seed, i, step));
            for (int s = 0; s < count; ++s) {
                activate(chain, chain.layer[s], packed, work);
                if (s + 1 < count) finish(chain, chain.layer[s], &random, work);
            }
            std::memcpy(logits + i * chain.classes, work + last.act, sizeof(float) * chain.classes);
            loss_gradient(last, static_cast<int>(labels[i]), 1.f / static_cast<float>(n), work);
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
