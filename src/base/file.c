/* Files: mapped for reading; written beside and renamed. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"

static opf_status report(opf_diags *diags, const char *path, const char *what, const char *why) {
    opf_place place = OPF_NO_PLACE;
    place.file = path;
    opf_diag_add(diags, OPF_ERROR, "io", place, "%s: %s", what, why);
    return OPF_ERROR_SYSTEM;
}

opf_status opf_file_map(opf_mapping *out, const char *path, opf_diags *diags) {
    *out = (opf_mapping){0};
    /* O_NONBLOCK: a FIFO given by mistake must not wait for a writer. */
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0) return report(diags, path, "cannot be opened", strerror(errno));
    struct stat about;
    opf_status status = OPF_OK;
    if (fstat(file, &about) != 0) status = report(diags, path, "cannot be examined", strerror(errno));
    else if (S_ISDIR(about.st_mode)) status = report(diags, path, "cannot be read", "it is a folder");
    else if (!S_ISREG(about.st_mode)) status = report(diags, path, "cannot be read", "it is no regular file");
    else if (about.st_size > 0) {
        void *data = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
        if (data == MAP_FAILED) status = report(diags, path, "cannot be mapped", strerror(errno));
        else *out = (opf_mapping){data, (size_t)about.st_size};
    }
    close(file);
    return status;
}

void opf_file_unmap(opf_mapping *mapping) {
    if (mapping->data) munmap((void *)mapping->data, mapping->size);
    *mapping = (opf_mapping){0};
}

/* Page tables filled in one go: a page fault less for each few pages. */
void opf_file_expect(const void *data, size_t size) {
#ifdef MADV_POPULATE_READ
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = (uintptr_t)data / page * page;
    if (size) madvise((void *)first, (uintptr_t)data + size - first, MADV_POPULATE_READ);
#else
    (void)data, (void)size;
#endif
}

void opf_file_release(const void *data, size_t size) {
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), first = ((uintptr_t)data + page - 1) / page * page;
    uintptr_t end = ((uintptr_t)data + size) / page * page;
    if (first < end) madvise((void *)first, end - first, MADV_DONTNEED);
}

static bool write_all(int file, const char *data, size_t size) {
    while (size > 0) {
        ssize_t written = write(file, data, size);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) {
            if (written == 0) errno = ENOSPC;
            return false;
        }
        data += written;
        size -= (size_t)written;
    }
    return true;
}

/* A new file beside `path`, with the permissions that a plain new file gets. Its name in `name` (malloc). */
static int create_beside(char **name, const char *path) {
    size_t room = strlen(path) + 64;
    char *beside = malloc(room);
    if (!beside) opf_out_of_memory();
    *name = beside;
    for (int attempt = 0; attempt < 100; attempt++) {
        snprintf(beside, room, "%s.%ld-%llx.tmp", path, (long)getpid(), (unsigned long long)opf_clock_now() + (unsigned)attempt);
        int file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file >= 0 || errno != EEXIST) return file;
    }
    return -1;
}

static bool write_parts(int file, const opf_bytes *parts, size_t count) {
    bool good = true;
    for (size_t i = 0; i < count && good; i++) good = write_all(file, parts[i].data, parts[i].size);
    return good;
}

static opf_status write_beside(const char *path, const opf_bytes *parts, size_t count, opf_diags *diags) {
    char *beside;
    int file = create_beside(&beside, path);
    opf_status status = OPF_OK;
    if (file < 0) {
        status = report(diags, path, "cannot be created", strerror(errno));
    } else {
        bool good = write_parts(file, parts, count) && fsync(file) == 0;
        int why = errno;
        if (close(file) != 0 && good) {
            good = false;
            why = errno;
        }
        if (good && rename(beside, path) != 0) {
            good = false;
            why = errno;
        }
        if (!good) {
            unlink(beside);
            status = report(diags, path, "cannot be written", strerror(why));
        }
    }
    free(beside);
    return status;
}

/* Devices and pipes (/dev/null, /dev/stdout) must be written to, not replaced by a file. */
static opf_status write_through(const char *path, const opf_bytes *parts, size_t count, opf_diags *diags) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    if (file < 0) return report(diags, path, "cannot be opened for writing", strerror(errno));
    bool good = write_parts(file, parts, count);
    int why = errno;
    close(file);
    return good ? OPF_OK : report(diags, path, "cannot be written", strerror(why));
}

opf_status opf_file_write_parts(const char *path, const opf_bytes *parts, size_t count, opf_diags *diags) {
    struct stat about;
    if (stat(path, &about) != 0) return write_beside(path, parts, count, diags);
    if (S_ISDIR(about.st_mode)) return report(diags, path, "cannot be written", "it is a folder");
    if (!S_ISREG(about.st_mode)) return write_through(path, parts, count, diags);
    char *target = realpath(path, NULL); /* what a symbolic link names is replaced, not the link */
    opf_status status = write_beside(target ? target : path, parts, count, diags);
    free(target);
    return status;
}

opf_status opf_file_write(const char *path, const void *data, size_t size, opf_diags *diags) {
    return opf_file_write_parts(path, &(opf_bytes){data, size}, 1, diags);
}

static bool is_folder(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

opf_status opf_folder_make(const char *path, opf_diags *diags) {
    char *partial = strdup(path);
    if (!partial) opf_out_of_memory();
    opf_status status = OPF_OK;
    for (char *end = partial; *end && status == OPF_OK;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char after = *end;
        *end = '\0';
        int error = *partial && mkdir(partial, 0777) != 0 ? errno : 0;
        /* Judged by what stands there afterwards: another process may have made it meanwhile. */
        if (error && !is_folder(partial)) {
            const char *why = error == EEXIST ? "a file of this name is in the way" : strerror(error);
            status = report(diags, partial, "cannot be made a folder", why);
        }
        *end = after;
    }
    free(partial);
    return status;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where) {
    (void)about, (void)kind, (void)where;
    remove(path);
    return 0;
}

void opf_folder_remove(const char *path) { nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS); }

bool opf_file_exists(const char *path) { return access(path, F_OK) == 0; }

opf_status opf_folder_temporary(char **out, opf_arena *arena, opf_diags *diags) {
    const char *base = getenv("TMPDIR");
    if (!base || !*base) base = "/tmp";
    *out = opf_arena_printf(arena, "%s/opfuse-XXXXXX", base);
    if (!mkdtemp(*out)) {
        opf_status status = report(diags, base, "cannot hold a temporary folder", strerror(errno));
        *out = NULL;
        return status;
    }
    return OPF_OK;
}
