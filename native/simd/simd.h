// A register full of floats or doubles, and the exponential on it. A kernel header: see kernels.cpp.
//
// GCC and Clang have vector types for this; other compilers get plain arrays.
#pragma once

#include <math.h>
#include <string.h>

#include <cstdint>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#ifndef CRFKIT_ISA
#error "simd.h belongs to the kernels: include it from native/simd/kernels.cpp only"
#endif

#if defined(__GNUC__)
#define CRFKIT_INLINE inline __attribute__((always_inline))
#define CRFKIT_UNROLL _Pragma("GCC unroll 16")
#else
#define CRFKIT_INLINE inline
#define CRFKIT_UNROLL
#endif

namespace crfkit::CRFKIT_ISA {

// Bytes in a Pack: what one register of the instruction set holds. (Half an AVX-512 register for float: rows
// of labels are short, and a wider Pack would be padding.)
#if defined(__AVX512F__)
constexpr int kFloatBytes = 32, kDoubleBytes = 64;
#elif defined(__AVX__)
constexpr int kFloatBytes = 32, kDoubleBytes = 32;
#else
constexpr int kFloatBytes = 16, kDoubleBytes = 16;
#endif

template <class Real>
struct Lanes;

#if defined(__GNUC__)

template <>
struct Lanes<float> {
  static constexpr int count = kFloatBytes / 4;
  typedef float Pack __attribute__((vector_size(kFloatBytes)));
  typedef float Loose __attribute__((vector_size(kFloatBytes), aligned(4), may_alias));  // anywhere in memory
  typedef int32_t Bits __attribute__((vector_size(kFloatBytes)));
};
template <>
struct Lanes<double> {
  static constexpr int count = kDoubleBytes / 8;
  typedef double Pack __attribute__((vector_size(kDoubleBytes)));
  typedef double Loose __attribute__((vector_size(kDoubleBytes), aligned(8), may_alias));
  typedef int64_t Bits __attribute__((vector_size(kDoubleBytes)));
};

template <class Real>
using Pack = typename Lanes<Real>::Pack;

template <class Real>
CRFKIT_INLINE Pack<Real> load(const Real* p) {
  return *reinterpret_cast<const typename Lanes<Real>::Loose*>(p);
}
template <class Real>
CRFKIT_INLINE void store(Real* p, Pack<Real> v) {
  *reinterpret_cast<typename Lanes<Real>::Loose*>(p) = v;
}
template <class Real>
CRFKIT_INLINE Pack<Real> splat(Real x) {
  return x - Pack<Real>{};
}
// Stores lanes that hold whole numbers.
CRFKIT_INLINE void store_whole(uint16_t* p, Pack<double> v) {
  typedef uint16_t Short __attribute__((vector_size(kDoubleBytes / 4), aligned(2), may_alias));
  *reinterpret_cast<Short*>(p) = __builtin_convertvector(v, Short);
}
// Returns a > b ? x : y, lane by lane.
template <class V>
CRFKIT_INLINE V select_greater(V a, V b, V x, V y) {
  return a > b ? x : y;
}
// 2^n for lanes of whole n + 1.5 * 2^23 (float) or n + 1.5 * 2^52 (double): n stands in the low bits.
CRFKIT_INLINE Pack<float> power_of_two(Pack<float> shifted) {
  typedef Lanes<float>::Bits Bits;
  return (Pack<float>)(((Bits)shifted + 127) << 23);
}
CRFKIT_INLINE Pack<double> power_of_two(Pack<double> shifted) {
  typedef Lanes<double>::Bits Bits;
  return (Pack<double>)(((Bits)shifted + 1023) << 52);
}
// x = 2^n m with √½ <= m < √2, for normal x > 0; returns m, and n as a number.
CRFKIT_INLINE Pack<double> split_power(Pack<double> x, Pack<double>& n) {
  typedef uint64_t Raw __attribute__((vector_size(kDoubleBytes)));
  const Raw biased = ((Raw)x + (0x3ff0000000000000u - 0x3fe6a09e667f3bcdu)) >> 52;  // n + 1023
  n = (Pack<double>)(biased + 0x4338000000000000u) - (6755399441055744.0 + 1023.0);
  return (Pack<double>)((Raw)x - (biased << 52) + 0x3ff0000000000000u);
}

#else

template <class Real>
struct Plain {
  Real lane[kFloatBytes / sizeof(float)];
  Real& operator[](int i) { return lane[i]; }
  Real operator[](int i) const { return lane[i]; }
};
template <class Real>
using Pack = Plain<Real>;
template <>
struct Lanes<float> {
  static constexpr int count = kFloatBytes / 4;
};
template <>
struct Lanes<double> {
  static constexpr int count = kFloatBytes / 4;
};
#define CRFKIT_LANEWISE(op)                                                          \
  template <class Real>                                                              \
  CRFKIT_INLINE Plain<Real> operator op(Plain<Real> a, Plain<Real> b) {              \
    for (int i = 0; i < Lanes<Real>::count; ++i) a.lane[i] = a.lane[i] op b.lane[i]; \
    return a;                                                                        \
  }                                                                                  \
  template <class Real>                                                              \
  CRFKIT_INLINE Plain<Real> operator op(Plain<Real> a, Real b) {                     \
    for (int i = 0; i < Lanes<Real>::count; ++i) a.lane[i] = a.lane[i] op b;         \
    return a;                                                                        \
  }                                                                                  \
  template <class Real>                                                              \
  CRFKIT_INLINE Plain<Real>& operator op## = (Plain<Real> & a, Plain<Real> b) {      \
    return a = a op b;                                                               \
  }
CRFKIT_LANEWISE(+)
CRFKIT_LANEWISE(-)
CRFKIT_LANEWISE(*)
CRFKIT_LANEWISE(/)
#undef CRFKIT_LANEWISE
template <class Real>
CRFKIT_INLINE Pack<Real> load(const Real* p) {
  Pack<Real> v;
  for (int i = 0; i < Lanes<Real>::count; ++i) v.lane[i] = p[i];
  return v;
}
template <class Real>
CRFKIT_INLINE void store(Real* p, Pack<Real> v) {
  for (int i = 0; i < Lanes<Real>::count; ++i) p[i] = v.lane[i];
}
CRFKIT_INLINE void store_whole(uint16_t* p, Pack<double> v) {
  for (int i = 0; i < Lanes<double>::count; ++i) p[i] = static_cast<uint16_t>(v.lane[i]);
}
template <class Real>
CRFKIT_INLINE Pack<Real> splat(Real x) {
  Pack<Real> v;
  for (int i = 0; i < Lanes<Real>::count; ++i) v.lane[i] = x;
  return v;
}
template <class Real>
CRFKIT_INLINE Plain<Real> select_greater(Plain<Real> a, Plain<Real> b, Plain<Real> x, Plain<Real> y) {
  for (int i = 0; i < Lanes<Real>::count; ++i) x.lane[i] = a.lane[i] > b.lane[i] ? x.lane[i] : y.lane[i];
  return x;
}
CRFKIT_INLINE Plain<float> power_of_two(Plain<float> shifted) {
  for (float& x : shifted.lane) x = ldexpf(1.0f, static_cast<int>(x - 12582912.0f));
  return shifted;
}
CRFKIT_INLINE Plain<double> power_of_two(Plain<double> shifted) {
  for (double& x : shifted.lane) x = ldexp(1.0, static_cast<int>(x - 6755399441055744.0));
  return shifted;
}
CRFKIT_INLINE Plain<double> split_power(Plain<double> x, Plain<double>& n) {
  for (int i = 0; i < Lanes<double>::count; ++i) {
    int power;
    x.lane[i] = 2 * frexp(x.lane[i], &power);
    n.lane[i] = power - 1;
    if (x.lane[i] >= 1.4142135623730951) x.lane[i] /= 2, n.lane[i] += 1;
  }
  return x;
}

#endif

template <class V>
CRFKIT_INLINE V larger(V a, V b) {
  return select_greater(a, b, a, b);
}

// Folds the lanes onto each other by halves with fn(a, b) of two numbers.
template <class Real, class Fn>
CRFKIT_INLINE Real fold_lanes(const Pack<Real>& v, Fn&& fn) {
  Real lane[Lanes<Real>::count];
  store(lane, v);
  CRFKIT_UNROLL
  for (int half = Lanes<Real>::count / 2; half > 0; half /= 2) {
    CRFKIT_UNROLL
    for (int i = 0; i < half; ++i) lane[i] = fn(lane[i], lane[i + half]);
  }
  return lane[0];
}
template <class Real>
CRFKIT_INLINE Real sum_lanes(const Pack<Real>& v) {
  return fold_lanes<Real>(v, [](Real a, Real b) { return a + b; });
}
template <class Real>
CRFKIT_INLINE Real max_lanes(const Pack<Real>& v) {
  return fold_lanes<Real>(v, [](Real a, Real b) { return a > b ? a : b; });
}

template <class Real>
struct ExpConstants;
template <>
struct ExpConstants<float> {
  static constexpr float lowest = -87.0f;      // exp below it is flushed to 0
  static constexpr float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to a whole number
  static constexpr float ln2_high = 0.693145751953125f, ln2_low = 1.42860682030941723212e-6f;
  static constexpr int degree = 7;
};
template <>
struct ExpConstants<double> {
  static constexpr double lowest = -708.0;
  static constexpr double shift = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double ln2_high = 0.6931471803691238, ln2_low = 1.9082149292705877e-10;
  static constexpr int degree = 13;
};

constexpr double kInverseFactorial[] = {1.0,
                                        1.0,
                                        1.0 / 2,
                                        1.0 / 6,
                                        1.0 / 24,
                                        1.0 / 120,
                                        1.0 / 720,
                                        1.0 / 5040,
                                        1.0 / 40320,
                                        1.0 / 362880,
                                        1.0 / 3628800,
                                        1.0 / 39916800,
                                        1.0 / 479001600,
                                        1.0 / 6227020800.0};

// exp(x) for x <= 0 (and somewhat above), to about one unit in the last place; 0 below ExpConstants::lowest,
// so also for -inf. x = n ln 2 + r with |r| <= ln(2)/2, and exp(r) by its Taylor polynomial, whose remainder
// there is under 1e-8 (degree 7) and 1e-17 (degree 13).
template <class Real>
CRFKIT_INLINE Pack<Real> exponential(Pack<Real> x) {
  using E = ExpConstants<Real>;
  const Pack<Real> lowest = splat<Real>(E::lowest);
  const Pack<Real> y = larger(x, lowest);
  const Pack<Real> shifted = y * static_cast<Real>(1.4426950408889634) + E::shift;
  const Pack<Real> n = shifted - E::shift;
  const Pack<Real> r = (y - n * E::ln2_high) - n * E::ln2_low;
  Pack<Real> p = splat<Real>(static_cast<Real>(kInverseFactorial[E::degree]));
  CRFKIT_UNROLL
  for (int i = E::degree - 1; i >= 0; --i) p = p * r + static_cast<Real>(kInverseFactorial[i]);
  return select_greater(x, lowest, p * power_of_two(shifted), splat<Real>(0));
}

// log(x) of normal numbers x > 0, to about one unit in the last place: x = 2^n m, and with s = (m-1)/(m+1)
// log m = 2 (s + s³/3 + s⁵/5 + …), whose terms after s²³ are under 1e-19, because |s| <= 0.172.
CRFKIT_INLINE Pack<double> logarithm(Pack<double> x) {
  Pack<double> n;
  const Pack<double> m = split_power(x, n);
  const Pack<double> s = (m - 1.0) / (m + 1.0), z = s * s;
  Pack<double> p = splat(2.0 / 23);
  CRFKIT_UNROLL
  for (int i = 21; i >= 3; i -= 2) p = p * z + 2.0 / i;
  return n * ExpConstants<double>::ln2_high + (n * ExpConstants<double>::ln2_low + s * (p * z) + s * 2.0);
}

// While an object of this type exists, results below the smallest normal number are 0: such numbers make some
// processors a hundred times slower, and the kernels account for their loss.
struct FlushTiny {
#if defined(__SSE2__)
  unsigned saved;
  FlushTiny() : saved(_mm_getcsr()) { _mm_setcsr(saved | 0x8040u); }  // flush to zero, denormals are zero
  ~FlushTiny() { _mm_setcsr(saved); }
#else
  FlushTiny() {}
  ~FlushTiny() {}
#endif
  FlushTiny(const FlushTiny&) = delete;
  FlushTiny& operator=(const FlushTiny&) = delete;
};

}  // namespace crfkit::CRFKIT_ISA
