// Dropout masks from many small random generators at once.
#pragma once

#include "vectors.hpp"

namespace {

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

}  // namespace
