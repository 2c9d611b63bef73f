/* Folders and files of the cache. */
#include "run/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"

enum { ABANDONED_AFTER_SECONDS = 600 };

static opf_status trouble(opf_diags *diags, const char *path, const char *what, const char *why) {
    opf_diag *diag = opf_diag_add(diags, OPF_ERROR, "cache", (opf_place){path, NULL, NULL, -1}, "%s: %s", what, why);
    opf_diag_hint(diags, diag, "--cache DIR names another folder");
    return OPF_ERROR_SYSTEM;
}

/* ---- where it is ---- */

static const char *from_environment(const char *name) {
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

const char *opf_cache_folder(const opf_compile_options *options, opf_arena *arena) {
    const char *base;
    if (options->cache && *options->cache) return opf_arena_string(arena, options->cache);
    if ((base = from_environment("OPFUSE_CACHE"))) return opf_arena_string(arena, base);
    if ((base = from_environment("XDG_CACHE_HOME"))) return opf_arena_printf(arena, "%s/opfuse", base);
    if ((base = from_environment("HOME"))) return opf_arena_printf(arena, "%s/.cache/opfuse", base);
    return NULL;
}

static opf_status make(const char *path, opf_diags *diags) {
    opf_diags *quiet = opf_diags_new();
    opf_status status = opf_folder_make(path, quiet);
    if (status != OPF_OK) status = trouble(diags, path, "the cache folder cannot be used", opf_diags_at(quiet, 0)->message);
    opf_diags_free(quiet);
    return status;
}

opf_status opf_cache_open(const char **out, const opf_compile_options *options, opf_arena *arena, opf_diags *diags) {
    const char *folder = opf_cache_folder(options, arena);
    if (!folder) return trouble(diags, NULL, "there is no folder for the cache", "neither OPFUSE_CACHE nor XDG_CACHE_HOME nor HOME is set");
    *out = folder;
    return make(folder, diags);
}

bool opf_cache_writable(const char *folder) {
    for (opf_text path = {0};;) {
        opf_text_add(&path, folder);
        while (path.length && !opf_file_exists(path.data)) { /* the nearest folder that is there */
            char *slash = strrchr(path.data, '/');
            path.length = slash ? (size_t)(slash - path.data) : 0;
            path.data[path.length] = '\0';
        }
        bool good = access(path.length ? path.data : folder[0] == '/' ? "/" : ".", W_OK) == 0;
        opf_text_free(&path);
        return good;
    }
}

/* ---- entries under way ---- */

/* Nobody holds the lock and it is old: its maker is gone. */
static void clear_abandoned(const char *making) {
    DIR *folder = opendir(making);
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (entry->d_name[0] == '.') continue;
        opf_text path = {0}, lock_path = {0};
        opf_text_printf(&path, "%s/%s", making, entry->d_name);
        opf_text_printf(&lock_path, "%s/lock", path.data);
        struct stat about;
        bool old = stat(path.data, &about) == 0 && time(NULL) - about.st_mtime > ABANDONED_AFTER_SECONDS;
        int lock = old ? open(lock_path.data, O_RDWR | O_CLOEXEC) : -1;
        if (old && (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) == 0)) opf_folder_remove(path.data);
        if (lock >= 0) close(lock);
        opf_text_free(&lock_path);
        opf_text_free(&path);
    }
    closedir(folder);
}

opf_status opf_cache_begin(const char **out, int *lock, const char *cache, opf_arena *arena, opf_diags *diags) {
    const char *making = opf_arena_printf(arena, "%s/making", cache);
    opf_status status = make(making, diags);
    if (status == OPF_OK) status = make(opf_arena_printf(arena, "%s/programs", cache), diags);
    if (status != OPF_OK) return status;
    clear_abandoned(making);
    char *folder = opf_arena_printf(arena, "%s/%ld-%llx-XXXXXX", making, (long)getpid(), (unsigned long long)opf_clock_now());
    if (!mkdtemp(folder)) return trouble(diags, making, "the cache folder cannot be written", strerror(errno));
    chmod(folder, 0755); /* mkdtemp's 0700 would keep other users of a shared cache out */
    *lock = open(opf_arena_printf(arena, "%s/lock", folder), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (*lock < 0 || flock(*lock, LOCK_EX) != 0) {
        status = trouble(diags, folder, "the cache folder cannot be written", strerror(errno));
        if (*lock >= 0) close(*lock);
        opf_folder_remove(folder);
        return status;
    }
    *out = folder;
    return OPF_OK;
}

opf_status opf_cache_publish(const char *folder, const char *entry, opf_diags *diags) {
    for (int attempt = 0; attempt < 2; attempt++) {
        if (rename(folder, entry) == 0) return OPF_OK;
        if (errno != ENOTEMPTY && errno != EEXIST && errno != ENOTDIR) break;
        /* Somebody was first. The caller has seen no usable entry of this name before, so give his the benefit of the doubt
         * only if it is whole; what is broken goes. */
        if (opf_cache_is_sealed(entry)) {
            opf_folder_remove(folder);
            return OPF_OK;
        }
        opf_folder_remove(entry);
    }
    return trouble(diags, entry, "the cache entry cannot be put in place", strerror(errno));
}

/* ---- files ---- */

opf_status opf_cache_write(const char *path, const void *data, size_t size, opf_diags *diags) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file < 0) return trouble(diags, path, "cannot be written", strerror(errno));
    const char *from = data;
    bool good = true;
    while (size > 0 && good) {
        ssize_t written = write(file, from, size);
        if (written < 0 && errno == EINTR) continue;
        good = written > 0;
        if (good) from += written, size -= (size_t)written;
    }
    int why = errno;
    good = close(file) == 0 && good;
    return good ? OPF_OK : trouble(diags, path, "cannot be written", strerror(why));
}

bool opf_cache_holds(const char *path, const void *data, size_t size) {
    opf_diags *quiet = opf_diags_new();
    opf_mapping mapping;
    bool same = false;
    if (opf_file_map(&mapping, path, quiet) == OPF_OK) {
        same = mapping.size == size && (size == 0 || memcmp(mapping.data, data, size) == 0);
        opf_file_unmap(&mapping);
    }
    opf_diags_free(quiet);
    return same;
}

/* ---- seals: what is loaded and run must be what the compiler wrote ---- */

enum { HASH_LENGTH = sizeof(opf_hash_text) - 1 };

static bool hash_of(opf_hash_text *out, const char *folder, const char *name, size_t length) {
    opf_text path = {0};
    opf_text_printf(&path, "%s/%.*s", folder, (int)length, name);
    opf_diags *quiet = opf_diags_new();
    opf_mapping mapping;
    bool good = opf_file_map(&mapping, opf_text_string(&path), quiet) == OPF_OK;
    if (good) *out = opf_hash_print(opf_hash_bytes(mapping.data, mapping.size));
    if (good) opf_file_unmap(&mapping);
    opf_diags_free(quiet);
    opf_text_free(&path);
    return good;
}

opf_status opf_cache_seal(const char *folder, const char *const *names, size_t count, opf_diags *diags) {
    opf_text seal = {0}, path = {0};
    opf_status status = OPF_OK;
    opf_text_printf(&path, "%s/seal", folder);
    for (size_t i = 0; i < count && status == OPF_OK; i++) {
        opf_hash_text hash;
        if (hash_of(&hash, folder, names[i], strlen(names[i]))) opf_text_printf(&seal, "%s %s\n", hash.text, names[i]);
        else status = trouble(diags, folder, "a file of the cache entry is missing", names[i]);
    }
    if (status == OPF_OK) status = opf_cache_write(path.data, opf_text_string(&seal), seal.length, diags);
    opf_text_free(&seal);
    opf_text_free(&path);
    return status;
}

/* One line of a seal, "HASH NAME"; its end in `*at`. */
static bool line_holds(const char *folder, const char **at, const char *end) {
    const char *line = *at, *stop = memchr(line, '\n', (size_t)(end - line));
    opf_hash_text hash;
    if (!stop || stop - line < HASH_LENGTH + 2) return false;
    *at = stop + 1;
    const char *name = line + HASH_LENGTH + 1;
    return hash_of(&hash, folder, name, (size_t)(stop - name)) && memcmp(hash.text, line, HASH_LENGTH) == 0;
}

bool opf_cache_is_sealed(const char *folder) {
    opf_text path = {0};
    opf_text_printf(&path, "%s/seal", folder);
    opf_diags *quiet = opf_diags_new();
    opf_mapping seal;
    bool good = opf_file_map(&seal, path.data, quiet) == OPF_OK && seal.size > 0;
    if (good) {
        const char *at = (const char *)seal.data, *end = at + seal.size;
        while (good && at < end) good = line_holds(folder, &at, end);
        opf_file_unmap(&seal);
    }
    opf_diags_free(quiet);
    opf_text_free(&path);
    return good;
}

/* ---- measuring ---- */

static void measure(const char *path, int depth, int64_t *entries, int64_t *bytes) {
    DIR *folder = opendir(path);
    if (!folder) return;
    for (struct dirent *entry; (entry = readdir(folder));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        opf_text inside = {0};
        opf_text_printf(&inside, "%s/%s", path, entry->d_name);
        struct stat about;
        if (lstat(inside.data, &about) == 0) {
            if (S_ISREG(about.st_mode)) *bytes += about.st_size;
            if (depth == 1) ++*entries;
            if (S_ISDIR(about.st_mode) && depth < 4) measure(inside.data, depth + 1, entries, bytes);
        }
        opf_text_free(&inside);
    }
    closedir(folder);
}

void opf_cache_measure(const char *folder, int64_t *entries, int64_t *bytes) {
    *entries = *bytes = 0;
    measure(folder, 0, entries, bytes);
}
