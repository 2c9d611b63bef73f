/* opfuse: the command line. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tool/tool.h"

#define COMPILES (FOR_ALL | FOR_COMPILING | FOR_INPUTS)

const verb verbs[] = {
    {"run", "MODEL", "runs a model and prints or writes its outputs", COMPILES | FOR_RUN | FOR_JSON, cmd_run},
    {"verify", "MODEL|--suite DIR", "compares generated code with the evaluator and with expected outputs", COMPILES | FOR_VERIFY, cmd_verify},
    {"check", "MODEL", "tells every problem of a model at once; compiles nothing", FOR_ALL | FOR_INPUTS | FOR_JSON, cmd_check},
    {"explain", "MODEL", "tells what became one kernel, what did not, and why", COMPILES | FOR_JSON | FOR_EXPLAIN, cmd_explain},
    {"build", "MODEL -o FILE.so|FILE.a|DIR/", "makes a shared object, a static library, or plain C to take away", COMPILES | FOR_BUILD, cmd_build},
    {"bench", "MODEL", "times the model and its unfused build in turns", COMPILES | FOR_BENCH | FOR_JSON, cmd_bench},
    {"profile", "MODEL", "tells where the time of a run goes, step by step, and what limits each", COMPILES | FOR_PROFILE | FOR_JSON, cmd_profile},
    {"tune", "MODEL|--export FILE|--import FILE", "searches for faster schedules of a model's kernels on this machine", COMPILES | FOR_TUNE, cmd_tune},
    {"graph", "MODEL -o FILE.svg|.dot|.onnx", "draws or writes the model, as read or with its kernels", COMPILES | FOR_GRAPH, cmd_graph},
    {"report", "MODEL -o FILE.html", "writes one page that shows the model before and after, and why", COMPILES | FOR_REPORT, cmd_report},
    {"diff", "A B", "compares two models, policies or folders of outputs, value by value", COMPILES | FOR_DIFF, cmd_diff},
    {"ranges", "MODEL", "tells least and largest number, NaN and infinities of every value over data sets", FOR_ALL | FOR_INPUTS, cmd_ranges},
    {"match", "MODEL", "tells where your patterns match, and where they nearly do", COMPILES | FOR_JSON, cmd_match},
    {"ops", "", "lists the supported operators", FOR_ALL | FOR_JSON | FOR_OPS, cmd_ops},
    {"rules", "", "lists the rules of fusion: what each says, and what would allow what it refuses", FOR_ALL | FOR_JSON | FOR_OPS, cmd_rules},
    {"doctor", "", "tells what this machine and this setting offer", FOR_ALL | FOR_COMPILING, cmd_doctor},
};
const size_t n_verbs = sizeof verbs / sizeof *verbs;

const verb *verb_find(const char *name) {
    for (size_t i = 0; i < n_verbs; i++)
        if (strcmp(verbs[i].name, name) == 0) return &verbs[i];
    return NULL;
}

static int no_verb(const tool *t, const char *name) {
    complain(t, "usage", "there is no verb '%s'; opfuse --help lists them", name);
    return EXIT_USAGE;
}

static int start(tool *t, int count, char **arguments) {
    if (count < 2) {
        fputs("usage: opfuse VERB …; opfuse --help tells more\n", stderr);
        return EXIT_USAGE;
    }
    const char *first = arguments[1];
    options_read_diag(t, count - 2, arguments + 2);
    if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 || strcmp(first, "help") == 0) {
        const verb *about = count > 2 ? verb_find(arguments[2]) : NULL;
        if (count > 2 && !about) return no_verb(t, arguments[2]);
        options_help(about);
        return EXIT_TRUE;
    }
    if (strcmp(first, "--version") == 0) {
        printf_out("opfuse %s\n", opf_version());
        return EXIT_TRUE;
    }
    if (strncmp(first, "--manual=", 9) == 0) return print_manual(t, first + 9);
    if (strncmp(first, "--completion=", 13) == 0) return print_completion(t, first + 13);
    t->verb = verb_find(first);
    if (!t->verb) return no_verb(t, first);
    int status = options_read(t, count - 2, arguments + 2);
    if (status) return status;
    if (t->version) {
        printf_out("opfuse %s\n", opf_version());
        return EXIT_TRUE;
    }
    if (t->help) {
        options_help(t->verb);
        return EXIT_TRUE;
    }
    return t->verb->run(t);
}

int main(int count, char **arguments) {
    signal(SIGPIPE, SIG_IGN); /* a reader that went away is an error like any other */
    tool t = {.context = opf_context_new(), .rtol = -1, .atol = -1, .warmup = 3, .runs = 20, .budget = 60};
    listen(&t);
    int status = start(&t, count, arguments);
    tell(&t);
    status = finish_output(status);
    opf_context_free(t.context);
    free(t.inputs);
    return status;
}
