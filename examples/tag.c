/* Labels the tokens on each line of standard input with a model that makes attributes itself.
 *
 *   cc tag.c $(pkg-config --cflags --libs crfkit) -o tag && echo "12 Main St." | ./tag addresses.crfkit
 *
 * docs/tagger.md says where pkg-config finds it.
 */
#include <crfkit.h>
#include <stdio.h>
#include <string.h>

enum { MOST_TOKENS = 1000 };

int main(int argc, char **argv) {
  static char line[1 << 16];
  const char *tokens[MOST_TOKENS];
  int32_t labels[MOST_TOKENS];

  if (argc != 2) {
    fprintf(stderr, "usage: tag MODEL\n");
    return 2;
  }
  crfkit_tagger *tagger = crfkit_open(argv[1]);
  if (tagger == NULL) {
    fprintf(stderr, "tag: %s\n", crfkit_error());
    return 1;
  }
  while (fgets(line, sizeof line, stdin) != NULL) {
    size_t n = 0;
    for (char *token = strtok(line, " \t\r\n"); token != NULL && n < MOST_TOKENS; token = strtok(NULL, " \t\r\n"))
      tokens[n++] = token;
    double probability;
    if (crfkit_tag_rows(tagger, tokens, n, 1, labels, &probability) < 0) {
      fprintf(stderr, "tag: %s\n", crfkit_error());
      crfkit_close(tagger);
      return 1;
    }
    for (size_t t = 0; t < n; t++) printf("%s/%s ", tokens[t], crfkit_label(tagger, labels[t]));
    printf("(%.3f)\n", probability);
  }
  crfkit_close(tagger);
  return 0;
}
