/*-------------------------------------------------------------------------
 *
 * message.h
 *		Values in the messages between a backend and its background sessions.
 *
 * Both ends are the same library in the same server, so bytes are sent as
 * they lie in memory and text stays in the server's encoding (pq_sendstring()
 * would convert it to the client's).
 *
 * IDENTIFICATION
 *		src/message.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_MESSAGE_H
#define INGEST_MESSAGE_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "libpq/pqformat.h"

/* Append size bytes. */
static inline void
ingest_message_put(StringInfo buf, const void *value, size_t size)
{
	appendBinaryStringInfo(buf, value, size);
}

/* Take size bytes. */
static inline void
ingest_message_get(StringInfo buf, void *value, size_t size)
{
	memcpy(value, pq_getmsgbytes(buf, size), size);
}

/* Append a string, which may be NULL. */
static inline void
ingest_message_put_string(StringInfo buf, const char *value)
{
	int32		len = value ? (int32) strlen(value) : -1;

	ingest_message_put(buf, &len, sizeof(len));
	if (value)
		ingest_message_put(buf, value, len);
}

/* Take a string; the result is palloc'd or NULL. */
static inline char *
ingest_message_get_string(StringInfo buf)
{
	int32		len;

	ingest_message_get(buf, &len, sizeof(len));
	return len < 0 ? NULL : pnstrdup(pq_getmsgbytes(buf, len), len);
}

#endif							/* INGEST_MESSAGE_H */
