/* Loops over the arrays of a node as vectors. Internal. */
#ifndef TLMALLOC_VECTOR_UNITS_H
#define TLMALLOC_VECTOR_UNITS_H

/* Compiles a function for several vector units, chosen when the program is loaded. Only gcc: clang 14 gives the chosen
 * function another name than the one that other files call. Not with sanitizers, whose runtime is not up yet when the
 * choice is made. */
#if defined __x86_64__ && defined __linux__ && defined __GNUC__ && __GNUC__ >= 12 && !defined __clang__ &&             \
    !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
#define FOR_EACH_VECTOR_UNIT __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define FOR_EACH_VECTOR_UNIT
#endif
#define IN_NODE static inline __attribute__((always_inline))

#endif
