# status 0
# A built library with strings, sequences and sizes without a bound: the caller gives the memory.
opfuse build $root/test/cli/models/texts.onnx -o texts.so -q >/dev/null
opfuse build $root/test/cli/models/until.onnx -o until.so -q >/dev/null
cat >use.c <<END
#include "texts.h"
#include "until.h"
#include <stdio.h>
#include <stdlib.h>

static _Alignas(64) char workspace[1 << 16], room[1 << 16];

static void *grow(opf_heap *heap, size_t bytes) { /* never given back: the program is short */
    size_t size = bytes > 4096 ? bytes : 4096;
    heap->at = malloc(size);
    heap->end = heap->at + size;
    puts("more memory");
    return heap->at;
}

static int split(opf_heap heap) {
    const char *words[] = {"The quick fox", "a dog"}, *marked[2];
    int64_t words_dims[] = {2}, parts_dims[2], counts[2], number[2];
    unsigned char capital[2];
    const char *const *parts;
    const int64_t *const dims[] = {words_dims};
    const void *const inputs[] = {words};
    void *const outputs[] = {&parts, counts, marked, capital, number};
    int64_t *const output_dims[5] = {parts_dims};
    int problem = texts_run_dims(inputs, dims, outputs, output_dims, workspace, &heap);
    if (problem) printf("%s: %s\n", texts_problem(problem), heap.problem);
    if (problem) return problem;
    printf("%d by %d\n", (int)parts_dims[0], (int)parts_dims[1]);
    for (int k = 0; k < 6; k++) printf("'%s' ", parts[k]);
    for (int k = 0; k < 2; k++) printf("%d %s %d %d; ", (int)counts[k], marked[k], capital[k], (int)number[k]);
    puts("");
    return 0;
}

int main(void) {
    if (split(opf_heap_over(room, sizeof room))) return 1;
    if (!split(opf_heap_over(room, 16))) return 2;
    opf_heap heap = {.more = grow};
    float x[] = {1, 2}, limit = 20, *y;
    int64_t x_dims[] = {2}, y_dims[1];
    const int64_t *const dims[] = {x_dims, 0};
    const void *const inputs[] = {x, &limit};
    opf_list sums;
    void *const outputs[] = {&y, &sums};
    int64_t *const output_dims[] = {y_dims, 0};
    if (until_run_dims(inputs, dims, outputs, output_dims, workspace, &heap)) return 3;
    printf("%d: %g %g\n", (int)y_dims[0], y[0], y[1]);
    for (int k = 0; k < sums.length; k++) printf("%g ", *(const float *)sums.elements[k].data);
    puts("");
    return 0;
}
END
cc -std=c11 -Wall -Wextra -Werror use.c ./texts.so ./until.so -lm -o use
./use
for so in texts.so until.so; do nm -D --undefined-only $so | grep -E "malloc|calloc|realloc|free" || echo "no allocator"; done
