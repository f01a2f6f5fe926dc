/*-------------------------------------------------------------------------
 *
 * client.h
 *		The data of COPY ... FROM STDIN, as the client sends it.
 *
 * IDENTIFICATION
 *		src/client.h
 *
 *-------------------------------------------------------------------------
 */
#ifndef INGEST_CLIENT_H
#define INGEST_CLIENT_H

#include "postgres.h"

typedef struct IngestClient IngestClient;

/* in client.c */

/*
 * Begin, read, finish; the state is allocated in CurrentMemoryContext.  The
 * client is told that so many columns in text are expected.  A read returns 0
 * at the end of the data and may return less than asked for before.  Without
 * a finish, after an error, the server's main loop passes over what is left.
 */
extern IngestClient *ingest_client_begin(int columns);
extern size_t ingest_client_read(IngestClient *client, char *buf, size_t len);
extern void ingest_client_finish(IngestClient *client);

#endif							/* INGEST_CLIENT_H */
