/* Loops over the arrays of a node as vectors. Internal. */
#ifndef TLMALLOC_VECTOR_UNITS_H
#define TLMALLOC_VECTOR_UNITS_H

/* Compiles a function for several vector units, chosen when the program is loaded. Sanitizers need the plain one: their
 * runtime is not up yet when the choice is made. */
#if !defined __x86_64__ || !defined __linux__ || defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define FOR_EACH_VECTOR_UNIT
#elif defined __GNUC__ && !defined __clang__ && __GNUC__ < 12
#define FOR_EACH_VECTOR_UNIT
#elif defined __clang__
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer) ||          \
    __clang_major__ < 14
#define FOR_EACH_VECTOR_UNIT
#endif
#endif
#ifndef FOR_EACH_VECTOR_UNIT
#define FOR_EACH_VECTOR_UNIT __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#define IN_NODE static inline __attribute__((always_inline))

#endif
