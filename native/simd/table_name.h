// The name of a table of kernels: CRFKIT_TABLE(kernels_) is kernels_avx2 where CRFKIT_ISA is avx2.
#pragma once

#define CRFKIT_PASTE_(a, b) a##b
#define CRFKIT_PASTE(a, b) CRFKIT_PASTE_(a, b)
#define CRFKIT_STRING_(a) #a
#define CRFKIT_STRING(a) CRFKIT_STRING_(a)

#define CRFKIT_TABLE(prefix) CRFKIT_PASTE(prefix, CRFKIT_ISA)
#define CRFKIT_ISA_NAME CRFKIT_STRING(CRFKIT_ISA)
