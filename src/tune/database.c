/* The database of schedules, in SQLite. */
#include "tune/database.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { APPLICATION = 0x6f706673 /* "opfs" */, VERSION = 2, WAIT_MILLISECONDS = 20000 };

struct opf_database {
    sqlite3 *handle;
    int version;               /* of the file; 0: it is empty */
    opf_arena *arena;
    const char *path;
    opf_diags *diags;
};

static const char schema[] =
    "CREATE TABLE IF NOT EXISTS schedules (kernel TEXT NOT NULL, cpu TEXT NOT NULL, threads INTEGER NOT NULL, default_code TEXT NOT NULL, best_code TEXT NOT NULL,"
    " schedule TEXT NOT NULL, operators TEXT, default_ms REAL NOT NULL, best_ms REAL NOT NULL, date INTEGER NOT NULL,"
    " PRIMARY KEY (kernel, cpu, threads, default_code)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS trials (kernel TEXT NOT NULL, cpu TEXT NOT NULL, threads INTEGER NOT NULL, schedule TEXT NOT NULL, default_code TEXT NOT NULL,"
    " best_code TEXT NOT NULL, share REAL NOT NULL, date INTEGER NOT NULL, PRIMARY KEY (kernel, cpu, threads, schedule, default_code, best_code)) WITHOUT ROWID;";

/* Version 1 knew no codes: its trials are worth nothing, its schedules a look. */
static const char from_1[] = "ALTER TABLE schedules RENAME TO schedules_1; DROP TABLE trials;";
static const char take_1[] = "INSERT INTO schedules SELECT kernel, cpu, threads, '', '', schedule, operators, default_ms, best_ms, date FROM schedules_1; DROP TABLE schedules_1;";

const char *opf_database_default(const char *cache, opf_arena *arena) { return cache ? opf_arena_printf(arena, "%s/schedules.db", cache) : NULL; }

/* ---- problems ---- */

static opf_status trouble(const opf_database *d, const char *what) {
    opf_diag *diag = opf_diag_add(d->diags, OPF_ERROR, "schedule", (opf_place){d->path, NULL, NULL, -1}, "%s", what);
    opf_diag_hint(d->diags, diag, "--db FILE names another database of schedules, --db none does without; `opfuse tune` makes a new one where there is none");
    return OPF_ERROR_INPUT;
}

static opf_status sqlite_trouble(const opf_database *d) {
    int code = sqlite3_errcode(d->handle);
    if (code == SQLITE_NOTADB) return trouble(d, "the file is no database of schedules");
    if (code == SQLITE_CORRUPT) return trouble(d, "the database of schedules is damaged");
    if (code == SQLITE_BUSY) return trouble(d, "the database of schedules is held by another process");
    return trouble(d, opf_arena_printf(d->arena, "the database of schedules cannot be used: %s", sqlite3_errmsg(d->handle)));
}

/* ---- statements ---- */

static sqlite3_stmt *prepare(opf_database *d, const char *sql) {
    sqlite3_stmt *statement = NULL;
    return sqlite3_prepare_v2(d->handle, sql, -1, &statement, NULL) == SQLITE_OK ? statement : NULL;
}

static void bind_text(sqlite3_stmt *s, int at, const char *text) {
    if (text) sqlite3_bind_text(s, at, text, -1, SQLITE_TRANSIENT);
}

/* Runs to its end; the last status but rows. */
static opf_status finish(opf_database *d, sqlite3_stmt *s) {
    int code = s ? sqlite3_step(s) : SQLITE_ERROR;
    opf_status status = code == SQLITE_DONE || code == SQLITE_ROW ? OPF_OK : sqlite_trouble(d);
    sqlite3_finalize(s);
    return status;
}

/* ---- opening ---- */

/* Is it ours, and whole as far as a look tells? An empty file is nobody's. One statement, so one state of the file: another process may
 * make it ours at this moment. */
static opf_status check(opf_database *d, bool *empty) {
    sqlite3_stmt *s = prepare(d, "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_application_id, pragma_user_version");
    bool read = s && sqlite3_step(s) == SQLITE_ROW;
    int64_t application = read ? sqlite3_column_int64(s, 0) : 0, version = read ? sqlite3_column_int64(s, 1) : 0;
    *empty = read && sqlite3_column_int64(s, 2) == 0;
    opf_status status = read ? OPF_OK : sqlite_trouble(d);
    sqlite3_finalize(s);
    if (!read || (*empty && application == 0)) return status;
    if (application != APPLICATION) return trouble(d, "the file is a database of something else, not of schedules");
    if (version > VERSION) return trouble(d, "the database of schedules was made by a newer version of opfuse");
    d->version = (int)version;
    return OPF_OK;
}

/* Runs the text; where another process makes the same change at this moment, a little later again: SQLite does not wait by itself
 * where two would wait for each other. */
static bool execute(opf_database *d, const char *sql) {
    int code;
    for (int waited = 0; (code = sqlite3_exec(d->handle, sql, NULL, NULL, NULL)) == SQLITE_BUSY && waited < WAIT_MILLISECONDS; waited += 10) {
        if (!sqlite3_get_autocommit(d->handle)) sqlite3_exec(d->handle, "ROLLBACK", NULL, NULL, NULL);
        sqlite3_sleep(10);
    }
    return code == SQLITE_OK;
}

/* Another process may have done the same since `check`: inside the transaction the version is asked once more. */
static opf_status make_tables(opf_database *d) {
    bool empty, good = execute(d, "BEGIN IMMEDIATE;"), old;
    opf_status status = good ? check(d, &empty) : sqlite_trouble(d);
    if (status != OPF_OK) return status;
    old = d->version == 1;
    char *text = sqlite3_mprintf("%s PRAGMA application_id = %d; PRAGMA user_version = %d; %s %s COMMIT;", old ? from_1 : "", APPLICATION, VERSION, schema, old ? take_1 : "");
    if (!text) opf_out_of_memory();
    good = execute(d, text);
    if (!good && !sqlite3_get_autocommit(d->handle)) sqlite3_exec(d->handle, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_free(text);
    d->version = VERSION;
    return good ? OPF_OK : sqlite_trouble(d);
}

static opf_status prepare_file(opf_database *d, bool write) {
    bool empty = false;
    sqlite3_busy_timeout(d->handle, WAIT_MILLISECONDS);
    opf_status status = check(d, &empty);
    if (status != OPF_OK || !write) return status;
    if (!execute(d, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;")) return sqlite_trouble(d);
    return empty || d->version < VERSION ? make_tables(d) : OPF_OK;
}

static opf_status make_folder(const char *path, opf_arena *arena, opf_diags *diags) {
    const char *slash = strrchr(path, '/');
    return slash && slash > path ? opf_folder_make(opf_arena_string_n(arena, path, (size_t)(slash - path)), diags) : OPF_OK;
}

opf_status opf_database_open(opf_database **out, const char *path, bool write, opf_diags *diags) {
    *out = NULL;
    if (!write && !opf_file_exists(path)) return OPF_OK;
    opf_arena *arena = opf_arena_new();
    opf_status status = write ? make_folder(path, arena, diags) : OPF_OK;
    if (status != OPF_OK) {
        opf_arena_free(arena);
        return status;
    }
    opf_database *d = OPF_NEW(arena, opf_database);
    *d = (opf_database){.arena = arena, .path = opf_arena_string(arena, path), .diags = diags};
    int flags = (write ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY) | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(path, &d->handle, flags, NULL);
    status = code == SQLITE_OK ? prepare_file(d, write) : sqlite_trouble(d);
    if (status != OPF_OK) opf_database_close(d);
    else *out = d;
    return status;
}

void opf_database_close(opf_database *d) {
    if (!d) return;
    sqlite3_close_v2(d->handle);
    opf_arena_free(d->arena);
}

/* ---- schedules ---- */

static const char *column_text(sqlite3_stmt *s, int at, opf_arena *arena) {
    const unsigned char *text = sqlite3_column_text(s, at);
    return text ? opf_arena_string(arena, (const char *)text) : NULL;
}

/* A row that is no schedule any more (another version had other choices) is not there. */
static void take_row(sqlite3_stmt *s, opf_tunings *out, opf_arena *arena) {
    opf_tuning t = {.kernel = column_text(s, 0, arena), .cpu = column_text(s, 1, arena), .threads = sqlite3_column_int(s, 2), .operators = column_text(s, 4, arena),
                    .default_ms = sqlite3_column_double(s, 5), .best_ms = sqlite3_column_double(s, 6), .date = sqlite3_column_int64(s, 7),
                    .default_code = column_text(s, 8, arena), .best_code = column_text(s, 9, arena)};
    const char *schedule = column_text(s, 3, arena);
    if (!t.default_code || !*t.default_code) t.default_code = t.best_code = NULL;
    if (!t.kernel || !schedule || opf_schedule_parse(&t.schedule, schedule, arena)) return;
    OPF_PUSH(arena, &out->list, t);
}

opf_status opf_database_find(opf_database *d, const char *kernel, const char *cpu, opf_tunings *out, opf_arena *arena) {
    *out = (opf_tunings){0};
    if (d->version < VERSION) return OPF_OK; /* read only: what was measured is not believed any more */
    sqlite3_stmt *s = prepare(d, "SELECT kernel, cpu, threads, schedule, operators, default_ms, best_ms, date, default_code, best_code FROM schedules"
                                 " WHERE (?1 IS NULL OR kernel = ?1) AND (?2 IS NULL OR cpu = ?2) ORDER BY kernel, cpu, threads, default_code");
    if (!s) return sqlite_trouble(d);
    bind_text(s, 1, kernel);
    bind_text(s, 2, cpu);
    int code;
    while ((code = sqlite3_step(s)) == SQLITE_ROW) take_row(s, out, arena);
    opf_status status = code == SQLITE_DONE ? OPF_OK : sqlite_trouble(d);
    sqlite3_finalize(s);
    return status;
}

static void bind_key(sqlite3_stmt *s, const char *kernel, const char *cpu, int threads) {
    bind_text(s, 1, kernel);
    bind_text(s, 2, cpu);
    sqlite3_bind_int(s, 3, threads);
}

/* Where a code is not told: "". */
static void bind_codes(sqlite3_stmt *s, int at, const opf_tuning *t) {
    bind_text(s, at, t->default_code ? t->default_code : "");
    bind_text(s, at + 1, t->best_code ? t->best_code : "");
}

static void bind_schedule(sqlite3_stmt *s, int at, const opf_schedule *schedule) {
    opf_text text = {0};
    opf_schedule_print(schedule, "=", " ", &text);
    bind_text(s, at, opf_text_string(&text));
    opf_text_free(&text);
}

opf_status opf_database_merge(opf_database *d, const opf_tuning *t, bool *taken) {
    sqlite3_stmt *s = prepare(d, "INSERT INTO schedules (kernel, cpu, threads, schedule, operators, default_ms, best_ms, date, default_code, best_code)"
                                 " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
                                 " ON CONFLICT (kernel, cpu, threads, default_code) DO UPDATE SET schedule = ?4, operators = ?5, default_ms = ?6, best_ms = ?7, date = ?8, best_code = ?10"
                                 " WHERE excluded.best_ms < schedules.best_ms");
    if (!s) return sqlite_trouble(d);
    bind_key(s, t->kernel, t->cpu, t->threads);
    bind_schedule(s, 4, &t->schedule);
    bind_text(s, 5, t->operators);
    sqlite3_bind_double(s, 6, t->default_ms);
    sqlite3_bind_double(s, 7, t->best_ms);
    sqlite3_bind_int64(s, 8, t->date);
    bind_codes(s, 9, t);
    opf_status status = finish(d, s);
    *taken = status == OPF_OK && sqlite3_changes(d->handle) > 0;
    return status;
}

opf_status opf_database_forget(opf_database *d, const opf_tuning *t) {
    sqlite3_stmt *s = prepare(d, "DELETE FROM schedules WHERE kernel = ?1 AND cpu = ?2 AND threads = ?3 AND default_code = ?4");
    if (s) bind_key(s, t->kernel, t->cpu, t->threads);
    if (s) bind_text(s, 4, t->default_code ? t->default_code : "");
    return finish(d, s);
}

/* ---- trials ---- */

opf_status opf_database_note(opf_database *d, const opf_tuning *t, double share) {
    sqlite3_stmt *s = prepare(d, "INSERT OR REPLACE INTO trials (kernel, cpu, threads, schedule, share, date, default_code, best_code) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
    if (!s) return sqlite_trouble(d);
    bind_key(s, t->kernel, t->cpu, t->threads);
    bind_schedule(s, 4, &t->schedule);
    sqlite3_bind_double(s, 5, share);
    sqlite3_bind_int64(s, 6, t->date);
    bind_codes(s, 7, t);
    return finish(d, s);
}

bool opf_database_tried(opf_database *d, const opf_tuning *t, double *share) {
    sqlite3_stmt *s = prepare(d, "SELECT share FROM trials WHERE kernel = ?1 AND cpu = ?2 AND threads = ?3 AND schedule = ?4 AND default_code = ?5 AND best_code = ?6");
    if (!s) return false;
    bind_key(s, t->kernel, t->cpu, t->threads);
    bind_schedule(s, 4, &t->schedule);
    bind_codes(s, 5, t);
    bool there = sqlite3_step(s) == SQLITE_ROW;
    if (there) *share = sqlite3_column_double(s, 0);
    sqlite3_finalize(s);
    return there;
}
