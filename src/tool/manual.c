/* Man pages and completions, made from the tables of verbs and options, so that they cannot fall behind. */
#include <stdio.h>
#include <string.h>

#include "tool/tool.h"

/* What a page says beside its options. */
static const struct { const char *verb, *text, *example; } pages[] = {
    {"run", "Compiles the model, or finds it in the cache, and runs it once. Inputs that are not given are made up from the seed, and a note says so. Without -o the "
            "name, type, shape, minimum, maximum and mean of each output are printed; with it one file an output is written.",
     "opfuse run model.onnx --data test_data_set_0 -o out/"},
    {"verify", "Runs the generated code and the evaluator, which computes the graph as read, node by node, in double precision, on the same inputs and compares; where the data "
               "set has stored outputs, with these too. Exit status 3 where something differs.",
     "opfuse verify model.onnx --data test_data_set_0 --all"},
    {"check", "Reads and types the model, compiles nothing, and tells every problem at once, what each size is determined by and which sizes must agree.", "opfuse check model.onnx"},
    {"explain", "Tells which nodes became one kernel, the bytes before and after, and for every use of a value one verdict with its rule and reason.",
     "opfuse explain model.onnx --json"},
    {"build", "Writes a compiled model that needs nothing of opfuse: a shared object (FILE.so) or a static library (FILE.a) with its header, or a folder of plain C with weights, "
              "self-test and Makefile (DIR/).",
     "opfuse build model.onnx --target=x86-64-v4,x86-64-v3,generic -o net/"},
    {"bench", "Times the model and its unfused build in turns on the same inputs.", "opfuse bench model.onnx --runs 50"},
    {"profile", "Runs the model with a clock around each step and tells time, bytes, FLOPs and the limit that binds, dearest step first. With -o FILE.json events for trace "
                "viewers, with -o FILE.folded stacks for flame graphs.",
     "opfuse profile model.onnx --threads 1"},
    {"tune", "Compiles, for each distinct kernel of the model, the dearest first, candidates of other schedules (register and cache tiles, algorithm, unrolling, prefetch, width of the "
             "vectors, compiler), checks their numbers against those of the usual schedule within the bound, times them on what the kernel reads in the model, and keeps what is faster "
             "in a database that run, build and all other verbs use from then on. It may be interrupted at any moment without losing what was found; what was measured once is not measured "
             "again. Several may run at once on one database. Without a model, --import and --export merge and write the database as text.",
     "opfuse tune model.onnx --budget 2m"},
    {"graph", "Draws the graph as read or with its kernels as clusters, by Graphviz, or writes it as ONNX.", "opfuse graph model.onnx -o kernels.svg"},
    {"diff", "Runs both sides on the same inputs and compares every value that has the same name in both, in the order in which the first computes them; the first that differs is marked. "
             "A side is a model, or a folder of .npy and .pb files that any engine has written. With --against one model is compared under two policies. Exit status 3 where something differs.",
     "opfuse diff model.onnx outputs_of_another_engine/ --data test_data_set_0"},
    {"ranges", "Evaluates the model on every data set and tells for each value its least and largest number, how many NaN and infinities there were, and where float16 would overflow.",
     "opfuse ranges model.onnx --data data/"},
    {"match", "Tells for each pattern of --patterns its matches in the model as read, which of them are taken, overlapped by others or refused and why, and for each place where the "
              "pattern began to match and did not go on the node where it stopped and the reason.",
     "opfuse match model.onnx --patterns my.patterns"},
    {"ops", "Lists the supported operators with versions, types, form and kind.", "opfuse ops --json"},
    {"report", "Writes one self-contained page: the graph as read beside the kernels, what each kernel computes, reads and writes, its C text, the workspace over time, and for every use of a "
               "value that was not fused the reason and what would allow it. It needs no network. With --profile the model is run too, as by opfuse profile: the page then has a roofline plot, "
               "a table of times and limits, and for each slow step a sentence of diagnosis.",
     "opfuse report model.onnx -o report.html"},
    {"rules", "Lists the rules that decide about every use of a value, with the sentence that explain prints and what would allow what a rule refuses. Fields in braces stand for the nodes at hand.",
     "opfuse rules"},
    {"doctor", "Tells what this machine offers: compiler, features of the processor, the row of the machine table, cache, Graphviz. Exit status 1 where something is missing.",
     "opfuse doctor"},
};

static const char exits[] = "# EXIT STATUS\n\n*0*\n\tDone and true.\n\n*1*\n\tAn error; one clear sentence stands on standard error.\n\n*2*\n\tWrong usage.\n\n*3*\n\tThe check does not hold.\n\n";

/* ---- man pages ---- */

/* scdoc gives a meaning to these. */
static void print_escaped(const char *text) {
    for (; *text; text++) {
        if (strchr("_*\\<>[]#`", *text)) print("\\");
        printf_out("%c", *text);
    }
}

static void print_options(unsigned groups) {
    option_text o;
    print("# OPTIONS\n\n");
    for (size_t i = 0; options_at(i, &o); i++) {
        if (!(o.groups & groups)) continue;
        print("*");
        print_escaped(o.name);
        print("*");
        if (o.argument) print(" ");
        if (o.argument) print_escaped(o.argument);
        print("\n\t");
        print_escaped(o.help);
        print("\n\n");
    }
}

static void print_see_also(const char *but) {
    print("# SEE ALSO\n\n");
    const char *between = "";
    if (but) {
        print("*opfuse*(1)");
        between = ", ";
    }
    for (size_t i = 0; i < n_verbs; i++) {
        if (but && strcmp(verbs[i].name, but) == 0) continue;
        printf_out("%s*opfuse-%s*(1)", between, verbs[i].name);
        between = ", ";
    }
    print(", *libopfuse*(3)\n");
}

static void print_main_page(void) {
    print("opfuse(1)\n\n# NAME\n\nopfuse - fuses the operators of ONNX models into kernels of C\n\n# SYNOPSIS\n\n*opfuse* VERB \\[ARGUMENTS\\] \\[OPTIONS\\]\n\n# DESCRIPTION\n\n"
          "Reads an ONNX model, decides which operators become one kernel, writes each kernel as C that a person can read, compiles and runs it, proves that the numbers did not "
          "change, and says why each pair of operators did or did not fuse.\n\n# VERBS\n\n");
    for (size_t i = 0; i < n_verbs; i++) {
        printf_out("*%s* ", verbs[i].name);
        print_escaped(verbs[i].arguments);
        print("\n\t");
        print_escaped(verbs[i].summary);
        printf_out(": *opfuse-%s*(1)\n\n", verbs[i].name);
    }
    print_options(FOR_ALL);
    print("# ENVIRONMENT\n\n*OPFUSE\\_CACHE*\n\tFolder of compiled programs; else *XDG\\_CACHE\\_HOME*/opfuse, else ~/.cache/opfuse.\n\n"
          "*CC*\n\tThe C compiler, with its arguments.\n\n");
    print(exits);
    print_see_also(NULL);
}

static int print_verb_page(const tool *t, const verb *v) {
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        if (strcmp(pages[i].verb, v->name) != 0) continue;
        printf_out("opfuse-%s(1)\n\n# NAME\n\nopfuse-%s - ", v->name, v->name);
        print_escaped(v->summary);
        printf_out("\n\n# SYNOPSIS\n\n*opfuse %s* ", v->name);
        print_escaped(v->arguments);
        print(" \\[OPTIONS\\]\n\n# DESCRIPTION\n\n");
        print_escaped(pages[i].text);
        print("\n\n");
        print_options(v->groups);
        printf_out("# EXAMPLE\n\n```\n%s\n```\n\n", pages[i].example);
        print(exits);
        print_see_also(v->name);
        return EXIT_TRUE;
    }
    complain(t, "internal", "the verb '%s' has no page in src/tool/manual.c", v->name);
    return EXIT_ERROR;
}

int print_manual(const tool *t, const char *page) {
    if (strcmp(page, "opfuse") == 0) {
        print_main_page();
        return EXIT_TRUE;
    }
    const verb *v = verb_find(page);
    if (v) return print_verb_page(t, v);
    complain(t, "usage", "there is no manual page '%s'", page);
    return EXIT_USAGE;
}

/* ---- completions ---- */

/* The words that an option's argument offers where it lists them: "fp32|fp16|int8" → fp32 fp16 int8; names in capitals stand
 * for something else. */
static void print_choices(const char *argument) {
    for (const char *at = argument; at && *at;) {
        size_t length = strcspn(at, "|");
        bool word = length && at[0] >= 'a' && at[0] <= 'z';
        if (word) printf_out("%.*s ", (int)length, at);
        at += length + (at[length] == '|');
    }
}

static bool has_choices(const option_text *o) { return o->argument && o->argument[0] >= 'a' && o->argument[0] <= 'z'; }

static void print_bash(void) {
    option_text o;
    print("# bash completion for opfuse, made by `opfuse --completion=bash`\n_opfuse() {\n    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} options=\n    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" = 1 ]; then\n        COMPREPLY=($(compgen -W \"");
    for (size_t i = 0; i < n_verbs; i++) printf_out("%s ", verbs[i].name);
    print("--help --version\" -- \"$word\"))\n        return\n    fi\n    case $before in\n");
    for (size_t i = 0; options_at(i, &o); i++) {
        if (!has_choices(&o)) continue;
        printf_out("        %s) COMPREPLY=($(compgen -W \"", o.name);
        print_choices(o.argument);
        print("\" -- \"$word\") $(compgen -f -- \"$word\")); return ;;\n");
    }
    print("    esac\n    case ${COMP_WORDS[1]} in\n");
    for (size_t v = 0; v < n_verbs; v++) {
        printf_out("        %s) options=\"", verbs[v].name);
        for (size_t i = 0; options_at(i, &o); i++)
            if (o.groups & verbs[v].groups) printf_out("%s ", o.name);
        print("\" ;;\n");
    }
    print("    esac\n    case $word in\n        -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n        *) COMPREPLY=($(compgen -f -- \"$word\")) ;;\n    esac\n}\n"
          "complete -o filenames -F _opfuse opfuse\n");
}

/* Inside of single quotes, where zsh and fish read; brackets and colons are marks of zsh's. */
static void print_described(const char *text, bool zsh) {
    for (; *text; text++) {
        if (*text == '\'') print("'\\'");
        else if (zsh && strchr("[]:", *text)) print("\\");
        printf_out("%c", *text);
    }
}

static void print_zsh(void) {
    option_text o;
    print("#compdef opfuse\n# zsh completion, made by `opfuse --completion=zsh`\n_opfuse() {\n    if (( CURRENT == 2 )); then\n        local -a verbs=(\n");
    for (size_t i = 0; i < n_verbs; i++) {
        printf_out("            '%s:", verbs[i].name);
        print_described(verbs[i].summary, true);
        print("'\n");
    }
    print("        )\n        _describe verb verbs\n        return\n    fi\n    local verb=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $verb in\n");
    for (size_t v = 0; v < n_verbs; v++) {
        printf_out("        %s) _arguments ", verbs[v].name);
        for (size_t i = 0; options_at(i, &o); i++) {
            if (!(o.groups & verbs[v].groups)) continue;
            printf_out("'*%s[", o.name);
            print_described(o.help, true);
            print("]");
            if (has_choices(&o)) {
                print(":value:(");
                print_choices(o.argument);
                print(")");
            } else if (o.argument) {
                print(":value:_files");
            }
            print("' ");
        }
        print("'*:file:_files' ;;\n");
    }
    print("    esac\n}\n_opfuse \"$@\"\n");
}

static void print_fish(void) {
    option_text o;
    print("# fish completion, made by `opfuse --completion=fish`\n");
    for (size_t i = 0; i < n_verbs; i++) {
        printf_out("complete -c opfuse -n __fish_use_subcommand -f -a %s -d '", verbs[i].name);
        print_described(verbs[i].summary, false);
        print("'\n");
    }
    for (size_t v = 0; v < n_verbs; v++)
        for (size_t i = 0; options_at(i, &o); i++) {
            if (!(o.groups & verbs[v].groups)) continue;
            bool is_long = strncmp(o.name, "--", 2) == 0;
            printf_out("complete -c opfuse -n '__fish_seen_subcommand_from %s' %s %s%s", verbs[v].name, is_long ? "-l" : "-s", o.name + (is_long ? 2 : 1), o.argument ? " -r" : "");
            if (has_choices(&o)) {
                print(" -a '");
                print_choices(o.argument);
                print("'");
            }
            print(" -d '");
            print_described(o.help, false);
            print("'\n");
        }
}

/* The verbs alone, for scripts. */
static void print_words(void) {
    for (size_t i = 0; i < n_verbs; i++) printf_out(i ? " %s" : "%s", verbs[i].name);
    print("\n");
}

int print_completion(const tool *t, const char *shell) {
    static const struct { const char *name; void (*print)(void); } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}, {"words", print_words}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (strcmp(shells[i].name, shell) != 0) continue;
        shells[i].print();
        return EXIT_TRUE;
    }
    complain(t, "usage", "there are completions for bash, zsh and fish, none for '%s'", shell);
    return EXIT_USAGE;
}
