/* Contractions alone: GF/s and share of the peak for shapes of known models, one thread.
 *   tile [machine [compiler [case [cold|warm [exact]]]]]     machine: a row's name, "" for this CPU's; cold: the caches are swept before each
 *   run; exact: without Winograd's products
 * Built by CMake as bench_tile. */
#include <time.h>

#include "../test/unit/tile_case.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t); /* not wall time: others may use the core */
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static opf_dim n(tile_case *c, int64_t value) { return opf_int(c->pool, value); }

typedef struct shape {
    const char *name;
    int64_t m, n, k, batch;    /* product; or */
    int64_t ic, h, oc, kernel, stride, groups; /* convolution, h x h, pad kernel / 2 */
    bool runtime, transposed;  /* B no constant; B stored as [n, k] */
    enum { PLAIN, RELU, RESIDUAL, GELU } epilogue;
} shape;

static const shape shapes[] = {
    {.name = "matmul 128x768x3072", .m = 128, .n = 3072, .k = 768},
    {.name = "matmul + bias + gelu 128x768x3072", .m = 128, .n = 3072, .k = 768, .epilogue = GELU},
    {.name = "matmul 128x3072x768", .m = 128, .n = 768, .k = 3072},
    {.name = "matmul 128x768x768", .m = 128, .n = 768, .k = 768},
    {.name = "matmul 512^3 runtime B", .m = 512, .n = 512, .k = 512, .runtime = true},
    {.name = "matmul 197x768x768 + bias", .m = 197, .n = 768, .k = 768, .epilogue = RELU},
    {.name = "q k^T 12x128x64", .m = 128, .n = 128, .k = 64, .batch = 12, .runtime = true, .transposed = true},
    {.name = "p v 12x128x64", .m = 128, .n = 64, .k = 128, .batch = 12, .runtime = true},
    {.name = "vector 1x768x3072", .m = 1, .n = 3072, .k = 768},
    {.name = "rows 8x768x3072", .m = 8, .n = 3072, .k = 768},
    {.name = "conv 3x3 64 56^2 + relu", .ic = 64, .oc = 64, .h = 56, .kernel = 3, .stride = 1, .epilogue = RELU},
    {.name = "conv 3x3 128 28^2 + relu", .ic = 128, .oc = 128, .h = 28, .kernel = 3, .stride = 1, .epilogue = RELU},
    {.name = "conv 3x3 256 14^2 + relu", .ic = 256, .oc = 256, .h = 14, .kernel = 3, .stride = 1, .epilogue = RELU},
    {.name = "conv 3x3 512 7^2 + relu", .ic = 512, .oc = 512, .h = 7, .kernel = 3, .stride = 1, .epilogue = RELU},
    {.name = "conv 3x3 s2 128 56^2", .ic = 128, .oc = 128, .h = 56, .kernel = 3, .stride = 2, .epilogue = RELU},
    {.name = "conv 3x3 s2 256 28^2", .ic = 256, .oc = 256, .h = 28, .kernel = 3, .stride = 2, .epilogue = RELU},
    {.name = "conv 3x3 s2 512 14^2", .ic = 512, .oc = 512, .h = 14, .kernel = 3, .stride = 2, .epilogue = RELU},
    {.name = "conv 7x7 s2 3-64 224^2 + relu", .ic = 3, .oc = 64, .h = 224, .kernel = 7, .stride = 2, .epilogue = RELU},
    {.name = "conv 1x1 64-64 56^2 + relu", .ic = 64, .oc = 64, .h = 56, .kernel = 1, .stride = 1, .epilogue = RELU},
    {.name = "conv 1x1 64-256 56^2 + residual", .ic = 64, .oc = 256, .h = 56, .kernel = 1, .stride = 1, .epilogue = RESIDUAL},
    {.name = "conv 1x1 256-64 56^2 + relu", .ic = 256, .oc = 64, .h = 56, .kernel = 1, .stride = 1, .epilogue = RELU},
    {.name = "conv 1x1 512-128 28^2 + relu", .ic = 512, .oc = 128, .h = 28, .kernel = 1, .stride = 1, .epilogue = RELU},
    {.name = "conv 1x1 128-512 28^2 + residual", .ic = 128, .oc = 512, .h = 28, .kernel = 1, .stride = 1, .epilogue = RESIDUAL},
    {.name = "conv 1x1 1024-256 14^2 + relu", .ic = 1024, .oc = 256, .h = 14, .kernel = 1, .stride = 1, .epilogue = RELU},
    {.name = "conv 1x1 256-1024 14^2 + residual", .ic = 256, .oc = 1024, .h = 14, .kernel = 1, .stride = 1, .epilogue = RESIDUAL},
    {.name = "conv 1x1 2048-512 7^2 + relu", .ic = 2048, .oc = 512, .h = 7, .kernel = 1, .stride = 1, .epilogue = RELU},
    {.name = "conv 1x1 512-2048 7^2 + residual", .ic = 512, .oc = 2048, .h = 7, .kernel = 1, .stride = 1, .epilogue = RESIDUAL},
    {.name = "conv 1x1 s2 256-512 56^2", .ic = 256, .oc = 512, .h = 56, .kernel = 1, .stride = 2},
    {.name = "conv 1x1 g3 240-240 28^2", .ic = 240, .oc = 240, .h = 28, .kernel = 1, .stride = 1, .groups = 3},
    {.name = "conv 1x1 16-96 112^2 + relu", .ic = 16, .oc = 96, .h = 112, .kernel = 1, .stride = 1, .epilogue = RELU},
    {.name = "conv 1x1 144-24 56^2", .ic = 144, .oc = 24, .h = 56, .kernel = 1, .stride = 1},
    {.name = "conv 3x3 3-64 112^2 + relu", .ic = 3, .oc = 64, .h = 112, .kernel = 3, .stride = 1, .epilogue = RELU},
    {.name = "conv 3x3 8-16 56^2 + relu", .ic = 8, .oc = 16, .h = 56, .kernel = 3, .stride = 1, .epilogue = RELU},
    {.name = "conv 3x3 24-24 28^2 + relu", .ic = 24, .oc = 24, .h = 28, .kernel = 3, .stride = 1, .epilogue = RELU},
    {.name = "conv 3x3 16-64 54^2 + relu", .ic = 16, .oc = 64, .h = 54, .kernel = 3, .stride = 1, .epilogue = RELU},
};

static int same(tile_case *c, int tensor, const opf_expr *body) {
    const opf_stage *stage = c->group.stages.list.data[tensor - (int)c->group.stages.inputs.count];
    return tile_stage(c, stage->n_axes, 0, stage->extents, stage->axis_names, body);
}

static double build(tile_case *c, const shape *s) {
    opf_pool *pool = c->pool;
    int64_t oh = s->kernel ? (s->h + 2 * (s->kernel / 2) - s->kernel) / s->stride + 1 : 0;
    int channels = (int)(s->kernel ? s->oc : s->n), rank = s->kernel ? 4 : 2 + (s->batch > 0), bias = -1, residual = -1;
    if (s->epilogue) bias = tile_input(c, "bias", true, 1, (opf_dim[]){n(c, channels)});
    if (s->epilogue == RESIDUAL) residual = tile_input(c, "r", false, 4, (opf_dim[]){n(c, 1), n(c, s->oc), n(c, oh), n(c, oh)});
    int sum = s->kernel ? tile_add_conv(c, &(tile_conv){.ic = n(c, s->ic), .h = n(c, s->h), .w = n(c, s->h), .oc = s->oc, .kh = s->kernel, .kw = s->kernel,
                                                        .stride = s->stride, .pad = s->kernel / 2, .groups = s->groups})
                        : tile_add_product(c, &(tile_product){.batch = s->batch ? n(c, s->batch) : NULL, .m = n(c, s->m), .n = n(c, s->n), .k = n(c, s->k),
                                                              .b_constant = !s->runtime, .b_transposed = s->transposed});
    if (s->epilogue) {
        const opf_expr *x = opf_binary(pool, OPF_OP_ADD, tile_load_same(c, sum, rank), tile_load(c, bias, 1, (const opf_expr *[]){opf_var(pool, s->kernel ? 1 : rank - 1)}));
        if (residual >= 0) x = opf_binary(pool, OPF_OP_ADD, x, tile_load_same(c, residual, rank));
        sum = same(c, sum, x);
        x = tile_load_same(c, sum, rank);
        if (s->epilogue != GELU) x = opf_binary(pool, OPF_OP_MAX, x, opf_real(pool, OPF_FLOAT32, 0));
        else x = tile_mul(c, tile_mul(c, x, opf_real(pool, OPF_FLOAT32, 0.5)),
                          opf_binary(pool, OPF_OP_ADD, opf_unary(pool, OPF_OP_ERF, tile_mul(c, x, opf_real(pool, OPF_FLOAT32, 0.70710678))), opf_real(pool, OPF_FLOAT32, 1)));
        sum = same(c, sum, x);
    }
    tile_result(c, sum);
    if (s->kernel) return 2.0 * (double)(s->oc * s->ic / (s->groups ? s->groups : 1) * s->kernel * s->kernel * oh * oh);
    return 2.0 * (double)(s->m * s->n * s->k * (s->batch ? s->batch : 1));
}

static double fastest(tile_case *c, tile_buffers *b, double seconds, bool cold) {
    static char other[96 << 20];
    double best = 1e9, end = now() + seconds;
    do {
        if (cold) memset(other, (int)(best * 1e9), sizeof other);
        double t = now();
        tile_run(c, b, 1);
        t = now() - t;
        if (t < best) best = t;
    } while (now() < end);
    return best;
}

/* The peak: twelve sums of one vector each that wait for nothing but themselves. */
static double peak(tile_case *c, const char *compiler) {
    char source[] = "/tmp/opf-peak-XXXXXX.c", command[512], object[64];
    int file = mkstemps(source, 2);
    FILE *out = fdopen(file, "w");
    fprintf(out, "%s%s", opf_prelude_abi(), opf_prelude_kernels());
    fprintf(out, "void kernel(const opf_args *args, int part, int parts);\nvoid kernel(const opf_args *args, int part, int parts) {\n"
                 "    (void)part, (void)parts;\n    float *p = args->p[0];\n    opf_vf x = opf_vload(p);\n");
    for (int i = 0; i < 10; i++) fprintf(out, "    opf_vf s%d = {%d};\n", i, i);
    fprintf(out, "    for (int i = 0; i < 100000; i++) {\n");
    for (int i = 0; i < 10; i++) fprintf(out, "        s%d = opf_vfma(s%d, x, x);\n", i, i);
    fprintf(out, "    }\n    opf_vstore(p + 64, s0 + s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9);\n}\n");
    fclose(out);
    snprintf(object, sizeof object, "%.*s.so", (int)strlen(source) - 2, source);
    snprintf(command, sizeof command, "%s -std=c11 -O3 -ffp-contract=off %s -DOPF_LANES=%d -shared -fPIC %s -o %s", compiler, c->machine.flags, c->machine.lanes, source, object);
    if (system(command)) exit(1);
    void *library = dlopen(object, RTLD_NOW);
    unlink(source);
    unlink(object);
    void *symbol = dlsym(library, "kernel");
    memcpy(&c->kernel, &symbol, sizeof symbol);
    tile_buffers b = {.p = {tile_bytes(1024)}};
    memset(b.p[0], 0, 1024);
    double t = fastest(c, &b, 0.2, false);
    free(b.p[0]);
    return 2.0 * 10 * c->machine.lanes * 1e5 / t;
}

int main(int argc, char **argv) {
    const char *machine = argc > 1 ? argv[1] : "", *compiler = argc > 2 ? argv[2] : "cc", *only = argc > 3 ? argv[3] : "";
    tile_case *c = tile_case_new();
    if (opf_machine_choose(&c->machine, machine, c->arena, c->diags)) return 1;
    double top = peak(c, compiler);
    printf("%s, %s: peak %.1f GF/s\n", c->machine.name, compiler, top / 1e9);
    tile_case_free(c);
    for (size_t i = 0; i < OPF_COUNT(shapes); i++) {
        const char *why = "";
        if (!strstr(shapes[i].name, only)) continue;
        c = tile_case_new();
        if (argc > 5) c->module->accuracy = OPF_ACCURACY_EXACT;
        double flops = build(c, &shapes[i]);
        if (!tile_schedule(c, machine, &why) || !tile_compile(&c, 1, compiler, "")) {
            printf("%-36s %s\n", shapes[i].name, why);
        } else {
            tile_buffers b = tile_buffers_new(c, 1, true);
            double t = fastest(c, &b, 0.4, argc > 4 && strcmp(argv[4], "cold") == 0);
            printf("%-36s %8.3f ms %7.1f GF/s %5.1f %%  %s\n", shapes[i].name, t * 1e3, flops / t / 1e9, 100 * flops / t / top, c->nest.schedule);
            tile_buffers_free(&b);
        }
        fflush(stdout);
        tile_case_free(c);
    }
    return 0;
}
