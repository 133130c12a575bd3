/* Texts of a command line that an option collects, --set for one. */
#ifndef TLMALLOC_PLATFORM_CLI_TEXT_LIST_H
#define TLMALLOC_PLATFORM_CLI_TEXT_LIST_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct text_list {
    const char **items;
    size_t count;
} text_list;

/* Appends the text, which is not copied. False without host memory: the list is as it was. */
bool text_list_add(text_list *list, const char *text);
void text_list_clear(text_list *list);

#ifdef __cplusplus
}
#endif
#endif
