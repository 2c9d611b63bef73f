/* Child processes. Input and outputs are anonymous files in memory: a child never blocks on a full pipe, so several may
 * run at once while nobody reads, and no signal comes from one that leaves its input unread. */
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

struct opf_process {
    pid_t id;
    int streams[3]; /* standard input, output, error */
};

static void close_streams(opf_process *process) {
    for (int i = 0; i < 3; i++)
        if (process->streams[i] >= 0) close(process->streams[i]);
}

static bool fill(int file, const char *input) {
    for (size_t left = strlen(input); left > 0;) {
        ssize_t written = write(file, input, left);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return false;
        input += written;
        left -= (size_t)written;
    }
    return lseek(file, 0, SEEK_SET) == 0;
}

static bool open_streams(opf_process *process, const char *input) {
    static const char *const names[] = {"input", "output", "error"};
    process->streams[0] = process->streams[1] = process->streams[2] = -1;
    for (int i = 0; i < 3; i++) {
        process->streams[i] = i == 0 && !input ? open("/dev/null", O_RDONLY | O_CLOEXEC) : memfd_create(names[i], MFD_CLOEXEC);
        if (process->streams[i] < 0) return false;
        if (process->streams[i] > 2) continue;
        /* The caller runs without standard streams: out of the way of the child's 0, 1 and 2. */
        int moved = fcntl(process->streams[i], F_DUPFD_CLOEXEC, 3);
        close(process->streams[i]);
        process->streams[i] = moved;
        if (moved < 0) return false;
    }
    return !input || fill(process->streams[0], input);
}

/* The child starts with default signals: a caller that ignores SIGPIPE or SIGINT must not change what a compiler does. */
static bool spawn(opf_process *process, const char *const *argv) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (posix_spawn_file_actions_init(&actions) != 0) return false;
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return false;
    }
    bool good = true;
    for (int i = 0; i < 3 && good; i++) good = posix_spawn_file_actions_adddup2(&actions, process->streams[i], i) == 0;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGINT);
    sigaddset(&usual, SIGTERM);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    good = good && posix_spawnp(&process->id, argv[0], &actions, &attributes, (char *const *)argv, environ) == 0;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return good;
}

opf_status opf_process_start(opf_process **out, const char *const *argv, const char *input) {
    *out = NULL;
    opf_process *process = calloc(1, sizeof *process);
    if (!process) opf_out_of_memory();
    if (!open_streams(process, input) || !spawn(process, argv)) {
        close_streams(process);
        free(process);
        return OPF_ERROR_SYSTEM;
    }
    *out = process;
    return OPF_OK;
}

static bool collect(int file, opf_text *out) {
    char buffer[16384];
    for (off_t at = 0;;) {
        ssize_t count = pread(file, buffer, sizeof buffer, at);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count == 0;
        opf_text_add_n(out, buffer, (size_t)count);
        at += count;
    }
}

opf_status opf_process_wait(opf_process *process, int *exit_code, opf_text *standard_output, opf_text *standard_error) {
    int state = 0;
    pid_t id;
    do id = waitpid(process->id, &state, 0);
    while (id < 0 && errno == EINTR);
    bool good = id == process->id;
    if (exit_code) *exit_code = !good ? 1 : WIFEXITED(state) ? WEXITSTATUS(state) : 128 + WTERMSIG(state);
    if (standard_output) good = collect(process->streams[1], standard_output) && good;
    if (standard_error) good = collect(process->streams[2], standard_error) && good;
    close_streams(process);
    free(process);
    return good ? OPF_OK : OPF_ERROR_SYSTEM;
}
