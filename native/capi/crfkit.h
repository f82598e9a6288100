/* Labels sequences with a model file of crfkit, CRFsuite, Wapiti or CRF++. Needs no Python.
 *
 *   crfkit_tagger *tagger = crfkit_open("addresses.crfkit");
 *   const char *tokens[] = {"12", "Main", "St."};
 *   int32_t labels[3];
 *   if (tagger == NULL || crfkit_tag_rows(tagger, tokens, 3, 1, labels, NULL) < 0)
 *     fprintf(stderr, "%s\n", crfkit_error());
 *   else
 *     puts(crfkit_label(tagger, labels[0]));
 *   crfkit_close(tagger);
 *
 * A tagger never changes after it was opened: any number of threads may share one. Texts are UTF-8. Functions
 * that can fail return NULL or -1; crfkit_error() then says why.
 */
#ifndef CRFKIT_H
#define CRFKIT_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(CRFKIT_BUILDS_LIBRARY)
#define CRFKIT_API __declspec(dllexport)
#elif defined(_WIN32)
#define CRFKIT_API __declspec(dllimport)
#else
#define CRFKIT_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct crfkit_tagger crfkit_tagger;

/* Opens a model file, or the bytes of one, which are copied. */
CRFKIT_API crfkit_tagger* crfkit_open(const char* path);
CRFKIT_API crfkit_tagger* crfkit_open_memory(const void* bytes, size_t size);

/* Frees a tagger. No call may use it any more; NULL is permitted. */
CRFKIT_API void crfkit_close(crfkit_tagger* tagger);

/* Returns what went wrong in the last call of this thread that failed; valid until its next one. */
CRFKIT_API const char* crfkit_error(void);

/* Labels have the ids 0 .. crfkit_label_count() - 1. Returns NULL for any other id. */
CRFKIT_API size_t crfkit_label_count(const crfkit_tagger* tagger);
CRFKIT_API const char* crfkit_label(const crfkit_tagger* tagger, int32_t id);

/* Labels tokens, or rows of cells, for a model that makes attributes itself (1) or takes tables (1).
 * cells: [n_rows * n_columns], row by row; NULL is a missing cell. Tokens are rows of one cell.
 * labels: [n_rows] gets the ids. probability: gets that of all labels together, unless NULL. */
CRFKIT_API int crfkit_takes_rows(const crfkit_tagger* tagger);
CRFKIT_API int crfkit_tag_rows(const crfkit_tagger* tagger, const char* const* cells, size_t n_rows,
                               size_t n_columns, int32_t* labels, double* probability);

/* Labels positions with attributes that the caller has made: position t has the attributes
 * ends[t - 1] .. ends[t] - 1, or for t = 0 those from 0 on. */
typedef struct {
  const char* name;
  double value;
} crfkit_attribute;

CRFKIT_API int crfkit_tag_items(const crfkit_tagger* tagger, const crfkit_attribute* attributes,
                                const size_t* ends, size_t n_items, int32_t* labels, double* probability);

#ifdef __cplusplus
}
#endif

#endif
