/* The cache of compiled programs: cold, warm, damaged, contested, killed, full, forbidden. The programs here are C texts
 * without kernels; what matters is what becomes of them on disk. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "run/cache.h"

typedef struct fixture {
    opf_diags *diags;
    opf_module *module;
    opf_machine machine;
    opf_program program;
    char *folder;
    opf_compile_options options;
} fixture;

static int set_up(void **state) {
    fixture *f = calloc(1, sizeof *f);
    unsetenv("CC");
    f->diags = opf_diags_new();
    f->module = opf_module_new(f->diags, "model.onnx");
    f->machine = (opf_machine){.name = "generic", .flags = "", .lanes = 4, .vectors = 16};
    f->program = (opf_program){.module = f->module, .machine = &f->machine};
    if (opf_folder_temporary(&f->folder, f->module->arena, f->diags) != OPF_OK) return 1;
    f->options = (opf_compile_options){.cache = opf_arena_printf(f->module->arena, "%s/cache", f->folder), .jobs = 2};
    *state = f;
    return 0;
}

static int tear_down(void **state) {
    fixture *f = *state;
    opf_folder_remove(f->folder);
    opf_module_free(f->module);
    opf_diags_free(f->diags);
    free(f);
    return 0;
}

/* Two sources; the object's function `answer` gives `value`. */
static opf_sources *sources_of(fixture *f, int value) {
    static const char *names[] = {"kernels_0.c", "main.c"};
    opf_sources *s = OPF_NEW(f->module->arena, opf_sources);
    s->count = 2;
    s->names = names;
    s->texts = OPF_ARRAY(f->module->arena, opf_text, 2);
    opf_text_printf(&s->texts[0], "int kernel(void) { return %d; }\n", value);
    opf_text_add(&s->texts[1], "int kernel(void);\n__attribute__((visibility(\"default\"))) int answer(void) { return kernel(); }\n");
    return s;
}

static int answer_of(const char *object) {
    void *handle = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(handle);
    int (*answer)(void);
    *(void **)&answer = dlsym(handle, "answer");
    assert_non_null((void *)answer);
    int value = answer();
    dlclose(handle);
    return value;
}

static const char *compiled(fixture *f, int value, bool warm) {
    const char *object = NULL;
    opf_sources *s = sources_of(f, value);
    assert_int_equal(opf_compile(&object, &f->program, s, &f->options), OPF_OK);
    assert_int_equal(s->warm, warm);
    opf_sources_free(s);
    return object;
}

static int entries_below(const char *folder) {
    DIR *stream = opendir(folder);
    int n = 0;
    for (struct dirent *entry; stream && (entry = readdir(stream));) n += entry->d_name[0] != '.';
    if (stream) closedir(stream);
    return n;
}

static void second_compilation_is_warm(void **state) {
    fixture *f = *state;
    const char *first = compiled(f, 41, false), *second = compiled(f, 41, true), *other = compiled(f, 42, false);
    assert_string_equal(first, second);
    assert_string_not_equal(first, other);
    assert_int_equal(answer_of(first), 41);
    assert_int_equal(answer_of(other), 42);
    assert_int_equal(entries_below(opf_arena_printf(f->module->arena, "%s/making", f->options.cache)), 0);
}

static void other_flags_are_another_entry(void **state) {
    fixture *f = *state;
    const char *first = compiled(f, 1, false);
    f->machine.flags = "-funsigned-char";
    assert_string_not_equal(first, compiled(f, 1, false));
    f->options.compiler = "cc -DSOMETHING";
    compiled(f, 1, false);
    compiled(f, 1, true);
}

static void replace(const char *object, const char *name, const char *text) {
    char path[4096];
    snprintf(path, sizeof path, "%.*s/%s", (int)(strrchr(object, '/') - object), object, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void an_entry_with_other_sources_is_made_again(void **state) {
    fixture *f = *state;
    const char *object = compiled(f, 7, false);
    replace(object, "kernels_0.c", "int kernel(void) { return 8; }\n");
    assert_int_equal(answer_of(compiled(f, 7, false)), 7);
    assert_int_equal(unlink(object), 0);
    assert_int_equal(answer_of(compiled(f, 7, false)), 7);
    compiled(f, 7, true);
}

static void several_processes_at_once(void **state) {
    fixture *f = *state;
    enum { PROCESSES = 6 };
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i]) continue;
        const char *object = NULL;
        opf_status status = opf_compile(&object, &f->program, sources_of(f, 11), &f->options);
        _exit(status == OPF_OK && answer_of(object) == 11 ? 0 : 1);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int code;
        assert_int_equal(waitpid(children[i], &code, 0), children[i]);
        assert_int_equal(code, 0);
    }
    compiled(f, 11, true);
}

/* Killed at many moments: what lies in the cache afterwards is whole, and the next call succeeds. */
static void kill_at_any_moment(void **state) {
    fixture *f = *state;
    for (int i = 0; i < 12; i++) {
        pid_t child = fork();
        if (!child) {
            setpgid(0, 0);
            const char *object = NULL;
            opf_compile(&object, &f->program, sources_of(f, 20), &f->options);
            _exit(0);
        }
        setpgid(child, child);
        usleep((useconds_t)(8000 * i));
        kill(-child, SIGKILL);
        waitpid(child, NULL, 0);
        const char *programs = opf_arena_printf(f->module->arena, "%s/programs", f->options.cache);
        if (entries_below(programs)) { /* it was done before the signal came */
            assert_int_equal(answer_of(compiled(f, 20, true)), 20);
            opf_folder_remove(programs);
        }
    }
    assert_int_equal(answer_of(compiled(f, 20, false)), 20);
}

static void what_a_killed_process_left_is_cleared(void **state) {
    fixture *f = *state;
    const char *left = opf_arena_printf(f->module->arena, "%s/making/1-1-abcdef", f->options.cache);
    assert_int_equal(opf_folder_make(left, f->diags), OPF_OK);
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    assert_int_equal(utimensat(AT_FDCWD, left, old, 0), 0);
    compiled(f, 3, false);
    assert_false(opf_file_exists(left));
}

static const char *only_error(fixture *f, const char *code) {
    assert_int_equal(opf_diags_errors(f->diags), 1);
    assert_string_equal(opf_diags_at(f->diags, 0)->code, code);
    return opf_diags_at(f->diags, 0)->message;
}

static void fails(fixture *f, int value) {
    const char *object = NULL;
    opf_sources *s = sources_of(f, value);
    assert_int_equal(opf_compile(&object, &f->program, s, &f->options), OPF_ERROR_SYSTEM);
    opf_sources_free(s);
}

static void a_missing_compiler_is_told(void **state) {
    fixture *f = *state;
    f->options.compiler = "/nowhere/cc";
    fails(f, 1);
    assert_string_equal(only_error(f, "compiler"), "the C compiler '/nowhere/cc' cannot be started");
    assert_non_null(opf_diags_at(f->diags, 0)->hint);
}

static void an_unusable_folder_is_told(void **state) {
    fixture *f = *state;
    const char *file = opf_arena_printf(f->module->arena, "%s/file", f->folder);
    assert_int_equal(opf_file_write(file, "x", 1, f->diags), OPF_OK);
    f->options.cache = opf_arena_printf(f->module->arena, "%s/below", file);
    fails(f, 1);
    assert_non_null(strstr(only_error(f, "cache"), "the cache folder cannot be used"));
    assert_string_equal(opf_diags_at(f->diags, 0)->hint, "--cache DIR names another folder");
}

/* Files cannot grow: as on a full disk, writes fail half-way. Nothing may stay behind. */
static void a_full_disk_leaves_nothing(void **state) {
    fixture *f = *state;
    pid_t child = fork();
    if (!child) {
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit limit = {.rlim_cur = 20, .rlim_max = 20};
        setrlimit(RLIMIT_FSIZE, &limit);
        const char *object = NULL;
        opf_status status = opf_compile(&object, &f->program, sources_of(f, 9), &f->options);
        _exit(status == OPF_ERROR_SYSTEM && opf_diags_errors(f->diags) == 1 ? 0 : 1);
    }
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_int_equal(code, 0);
    assert_int_equal(entries_below(opf_arena_printf(f->module->arena, "%s/programs", f->options.cache)), 0);
    assert_int_equal(entries_below(opf_arena_printf(f->module->arena, "%s/making", f->options.cache)), 0);
    compiled(f, 9, false);
}

static void text_that_is_no_c_is_a_defect_told_with_the_compilers_words(void **state) {
    fixture *f = *state;
    const char *object = NULL;
    opf_sources *s = sources_of(f, 1);
    opf_text_add(&s->texts[0], "this is no C\n");
    assert_int_equal(opf_compile(&object, &f->program, s, &f->options), OPF_ERROR_INTERNAL);
    assert_non_null(strstr(only_error(f, "compiler"), "kernels_0.c"));
    assert_non_null(opf_diags_at(f->diags, 0)->details);
    assert_int_equal(entries_below(opf_arena_printf(f->module->arena, "%s/making", f->options.cache)), 0);
    opf_sources_free(s);
}

static void progress(void *data, const char *what, int done, int total) {
    int *last = data;
    assert_string_equal(what, "compiling");
    assert_int_equal(total, 2);
    assert_true(done >= *last);
    *last = done;
}

static void progress_reaches_the_end(void **state) {
    fixture *f = *state;
    int last = 0;
    f->options.progress = progress;
    f->options.progress_data = &last;
    compiled(f, 5, false);
    assert_int_equal(last, 2);
}

static void cache_is_measured(void **state) {
    fixture *f = *state;
    int64_t entries, bytes;
    compiled(f, 1, false);
    compiled(f, 2, false);
    opf_cache_measure(f->options.cache, &entries, &bytes);
    assert_int_equal(entries, 2);
    assert_true(bytes > 1000);
    assert_true(opf_cache_writable(f->options.cache));
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(second_compilation_is_warm), CASE(other_flags_are_another_entry), CASE(an_entry_with_other_sources_is_made_again),
        CASE(several_processes_at_once), CASE(kill_at_any_moment), CASE(what_a_killed_process_left_is_cleared),
        CASE(a_missing_compiler_is_told), CASE(an_unusable_folder_is_told), CASE(a_full_disk_leaves_nothing),
        CASE(text_that_is_no_c_is_a_defect_told_with_the_compilers_words), CASE(progress_reaches_the_end), CASE(cache_is_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
