/* A short text that is returned by value: part of a message. Internal to the core and the command line. */
#ifndef TLMALLOC_MODEL_BASE_PHRASE_H
#define TLMALLOC_MODEL_BASE_PHRASE_H

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tla_phrase {
    char text[256];
} tla_phrase;

/* As printf; cut where it is too long. */
tla_phrase tla_phrase_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The text in quotes on one line, escaped (escape.h), a long text cut. */
tla_phrase tla_quote(const char *text);

/* What a message says after the name of a file that cannot be read, with the errno of the failure. */
tla_phrase tla_cannot_read(int reason);

#ifdef __cplusplus
}
#endif
#endif
